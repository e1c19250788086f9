//! What was read here, and how it differs from what was published.
//!
//! The passes have the names of fsck.ocfs2's, so that rows can be compared. The legend explains what
//! `Pass 0a: Checking cluster allocation chains` means in a report about ext4.

use study::Cell;

use super::published::{self, Theirs};
use super::{By, Group, Set, count};
use words::bytes_f64 as size;

use crate::fill::Sources;
use crate::numbers::short;
use crate::published::Published;

/// A paragraph for each matter.
pub(super) fn of(
    sources: &Sources<'_>,
    groups: &[Group],
    beside: Option<&Published>,
) -> Vec<String> {
    let sets = || groups.iter().flat_map(|group| &group.sets);
    let on = |by, ocfs2| sets().find(|set| set.by == by && set.on_ocfs2 == ocfs2);
    let mut legend = model(sources, on(By::Model, false), beside);
    legend.extend(on(By::Check, false).map(|_| CHECK.to_owned()));
    legend.extend(on(By::E2fsck, false).map(|_| E2FSCK.to_owned()));
    legend.extend(
        on(By::Model, true)
            .map(model_on_ocfs2)
            .into_iter()
            .flatten(),
    );
    legend.extend(
        on(By::Model, true)
            .zip(beside)
            .map(|(set, found)| theirs(found, set)),
    );
    legend.extend(on(By::Check, true).map(|_| CHECK_OCFS2.to_owned()));
    legend.extend(on(By::Ocfs2, true).map(ocfs2));
    legend
}

/// What `fslab check` reads on OCFS2.
const CHECK_OCFS2: &str = "Read by `fslab check` (fslab): the same volume, checked by all its passes, which are fsck.ocfs2's. Its pass 1 judges small \
    directories where it meets their inodes; its pass 2 reads the blocks of the others. It has no cache that counts, so what it reads twice comes from \
    disk twice. all: the sum of its passes.";

/// What the model read on OCFS2.
fn model_on_ocfs2(set: &Set) -> Vec<String> {
    let forged = if set.forged {
        ", written by `fslab forge`"
    } else {
        ""
    };
    let links = match set.chain_links {
        Some(1.0) => {
            "its longest chain has one link: prefill has nothing to bring forward".to_owned()
        }
        links => format!("its longest chain has {} links", count(links)),
    };
    vec![format!(
        "Read by fslab's model of fsck.ocfs2, which has the four switches (`fslab check` has one way to read), past the page cache: \
         an OCFS2 volume of {} files{forged}; {links}. 0a: descriptors of cluster groups; 0b: of inode groups, with precache the groups too; \
         0c: of extent block groups, likewise; 1: inode groups in the order of their chains, and then the descriptors of 0a once more, as \
         fsck.ocfs2 does; 2: the inode of each directory, and the blocks and indexes of those that have any; all: the sum of these.",
        set.files
    )]
}

/// What `fslab check` reads.
const CHECK: &str = "Read by `fslab check` (fslab): the same volume, checked by all its passes. Its 1 and 2 read what the model's 1 and 2 read, \
    and the blocks that these refer to (the resize inode has 4 MB of them where there are a thousand reserved descriptor blocks), and judge it; its 5 reads the block and inode bitmaps, which are 0a and 0b of the model. 3, 4 and the end go over what \
    it has learned. It has no cache, so what it reads twice comes from disk twice. all: the sum of its passes.";
/// What e2fsck reads, and whose figures these are.
const E2FSCK: &str = "Read by e2fsck: the same volume, through the page cache. Its passes are those of `fslab check`. Seconds are our \
    clock's, from heading to heading; bytes and requests the device's, with what the kernel read ahead; what its own and the \
    kernel's cache gave, and its seeks, were not counted. all: the program from start to end.";

/// What the program read, and how far its rows go with the model's.
fn ocfs2(set: &Set) -> String {
    format!(
        "Read by fsck.ocfs2 itself: {} files on OCFS2, the check as it is run by hand, past the page cache, every figure as it \
         prints it. 0a: descriptors of cluster groups; 0b: of inode groups; 0c: of extent block groups; 1: inodes; 2: directory \
         blocks; all: its own sum with what it does besides. Its cache was {}. On OCFS2 a small file and a small directory are in their inode; \
         beside rows of ext4 compare MB for each file, not seconds.",
        set.files,
        set.cache_size
            .map_or_else(|| "not printed".to_owned(), size)
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
    let (chains, links) = (set.chains, set.chain_links);
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
    let rest = if set.on_ocfs2 {
        "3, 4a and 4b"
    } else {
        "0c, 3, 4a and 4b"
    };
    let also = match short_of(0, "set 1", extents) {
        _ if set.on_ocfs2 => String::new(),
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
        "Beside {}: compare x, not seconds. `all` has passes {rest} there{also}. The cache was {} on 16 September, {} \
         on 21 September{ours}. Before the larger buffer pass 1 read 32 KiB to 1 MiB at once there; 32k \
         here is the low end of that, from which a larger buffer gains more.",
        document.document.short(),
        caches[0],
        caches[1]
    )
}
