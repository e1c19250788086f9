//! What was read here, and what tells it from what was published.
//!
//! The passes have the names of fsck.ocfs2's, so that rows can be laid beside each other. Whoever reads `Pass 0a: Checking cluster
//! allocation chains` in a report about ext4 must be told what that was.

use study::Cell;

use super::published::{self, Theirs};
use super::{Group, Set, count};
use crate::fill::Sources;
use crate::numbers::{short, size};
use crate::published::Published;

/// A paragraph for each matter.
pub(super) fn of(
    sources: &Sources<'_>,
    groups: &[Group],
    beside: Option<&Published>,
) -> Vec<String> {
    let sets = || groups.iter().flat_map(|group| &group.sets);
    let mut legend = model(sources, sets().find(|set| !set.program), beside);
    legend.extend(sets().find(|set| set.program).map(program));
    legend
}

/// What the program read, and how far its rows go with the model's.
fn program(set: &Set) -> String {
    format!(
        "Read by fsck.ocfs2 itself: {} files on OCFS2, the check as it is run by hand, past the page cache, every figure as it \
         prints it. 0a: descriptors of cluster groups; 0b: of inode groups; 0c: of extent block groups; 1: inodes; 2: directory \
         blocks; all: its own sum with what it does besides. On OCFS2 a small file and a small directory lie in their inode; beside \
         the model's rows compare MB for each file, not seconds.",
        set.files
    )
}

/// What the model read.
fn model(sources: &Sources<'_>, set: Option<&Set>, beside: Option<&Published>) -> Vec<String> {
    let Some(set) = set else {
        return Vec::new();
    };
    let mut cells = sources.run.plan.cells.iter();
    let cell = cells.find(|cell| cell.id == set.cell);
    let mut legend = vec![
        format!(
            "Read by fslab's model of a checker, which has the four switches (`fslab check` has one way to read), past the \
             page cache{}. 0a: block bitmaps; 0b: inode bitmaps, with precache inode tables too; 1: inode tables; 2: directory \
             blocks; all: the sum of these.",
            population(set, cell)
        ),
        descriptors(set),
    ];
    legend.extend(beside.map(|found| theirs(found, set)));
    legend
}

/// `: 4000 files, inodes of 4096 bytes`.
fn population(set: &Set, cell: Option<&Cell>) -> String {
    let inode = cell.and_then(|cell| {
        let words = &cell.filesystem.mkfs;
        let at = words.iter().position(|word| word == "-I")?;
        words.get(at + 1)
    });
    let inode = inode.map_or_else(String::new, |inode| format!(" in inodes of {inode} bytes"));
    format!(": {} files{inode}", set.files)
}

/// What the descriptors are, how they are chained, and how many hold anything.
fn descriptors(set: &Set) -> String {
    let (chains, links) = set.chains;
    let chained = match links {
        Some(1.0) => "Chains of one link here: prefill has nothing to bring forward".to_owned(),
        links => format!(
            "ext4 has no chains: its groups are dealt to {chains}, of at most {} links",
            count(links)
        ),
    };
    let held = |name: &str| {
        let cost = set.pass(name).map(|pass| pass.median).unwrap_or_default();
        format!("{} of {}", count(cost.verified), count(cost.objects))
    };
    format!(
        "{chained}. {} block bitmaps and {} inode bitmaps held something to verify; those of groups never used are read like \
         all others.",
        held("0a"),
        held("0b")
    )
}

/// What is in his numbers and not in ours.
fn theirs(document: &Published, set: &Set) -> String {
    let short_of =
        |table: usize, column: &str, row: &str| published::row(document, table, column, row);
    let extents = "Pass 0c: Checking extent block allocation chains";
    let also = match short_of(0, "set 1", extents) {
        Some(Theirs { disk, real, .. }) => format!(
            " (in set 1, 0c alone is {disk:.0} MB and {} s)",
            short(real)
        ),
        None => String::new(),
    };
    let caches = [(0, "set 1"), (1, "vanilla")].map(|(table, column)| {
        let cache = published::value(document, table, column, "Overall", "cache_size_MB");
        let inodes = short_of(table, column, "Pass 1: Checking inodes and blocks");
        match (cache, inodes) {
            (Some(cache), Some(inodes)) => {
                format!("{cache:.0} MB for {:.0} MB of inodes", inodes.disk)
            }
            _ => "not printed".to_owned(),
        }
    });
    let ours = match (set.cache_size, set.metadata) {
        (Some(cache), Some(metadata)) => {
            format!("; here {} for {} of metadata", size(cache), size(metadata))
        }
        _ => String::new(),
    };
    format!(
        "Beside {}: compare x, not seconds. `all` has passes 0c, 3, 4a and 4b there{also}. The cache was {} on 16 September, {} \
         on 21 September{ours}. Before the larger buffer pass 1 read 32 KiB to 1 MiB at once there; 32k \
         here is the low end of that, from which a larger buffer gains more.",
        document.document.short(),
        caches[0],
        caches[1]
    )
}
