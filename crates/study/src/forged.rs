//! What a forged volume can be asked for: `volume = "forged"`.
//!
//! Nothing is mounted and no kernel writes, so only what reads an unmounted filesystem can be measured: a scan, or the check after a fill or an
//! ageing.

use fskind::Family;

use crate::error::Problem;
use crate::model::{Cell, FilesystemKind, Order, Slot, Volume, WorkloadSpec};
use crate::placed::Placed;
use params::scan::Population;

/// Bytes of an inode of OCFS2, which is a block.
const OCFS2_INODE: f64 = 4096.0;

/// The families that `fslab forge` writes.
const FAMILIES: [Family; 3] = [Family::Ext, Family::Ocfs2, Family::Xfs];

/// The kinds of those families, between commas.
fn kinds() -> String {
    let known = |kind: &FilesystemKind| FAMILIES.contains(&kind.family());
    let kinds = FilesystemKind::ALL.iter().filter(|kind| known(kind));
    let names: Vec<&str> = kinds.map(|kind| kind.name()).collect();
    names.join(", ")
}

/// A cell that cannot be what it asks for, where its volume was written, or else its workload.
pub(crate) fn broken(placed: &Placed) -> Option<Problem> {
    let cell = &placed.cell;
    let message = match cell.volume {
        Volume::Filled => filled(cell)?,
        Volume::Forged => forged(cell)?,
    };
    let at = placed.volume.as_ref().unwrap_or_else(|| placed.place(""));
    Some(Problem::new(at, message))
}

fn filled(cell: &Cell) -> Option<String> {
    let WorkloadSpec::Scan(spec) = &cell.workload else {
        return None;
    };
    (spec.population != Population::Plain).then(|| {
        format!(
            "population = \"{}\" is written by fslab forge, not by the kernel (set volume = \"forged\", or leave it out)",
            spec.population.name()
        )
    })
}

fn forged(cell: &Cell) -> Option<String> {
    let kind = cell.filesystem.kind;
    let no = |why: String, next: &str| Some(format!("volume = \"forged\": {why} ({next})"));
    if !FAMILIES.contains(&kind.family()) {
        let why = format!("fslab forge writes {}, not {kind}", kinds());
        return no(why, "set volume = \"filled\", or choose one of these");
    }
    match &cell.workload {
        WorkloadSpec::Scan(spec)
            if spec.population == Population::Paper2011 && kind.family() != Family::Ocfs2 =>
        {
            let why = format!("the population \"paper-2011\" is one of OCFS2, not of {kind}");
            return no(why, "leave population out, or set filesystem = \"ocfs2\"");
        }
        WorkloadSpec::Scan(_) if kind.family() == Family::Xfs => {
            let why = "the readers of a scan know no XFS".to_owned();
            return no(why, "use a fill with check.enabled = true");
        }
        WorkloadSpec::Scan(_) => {}
        WorkloadSpec::Fill(_) | WorkloadSpec::Age(_) if cell.check.is_some() => {}
        WorkloadSpec::Fill(_) | WorkloadSpec::Age(_) => {
            let why = "no kernel fills it, so without a check nothing is measured".to_owned();
            return no(why, "set check.enabled = true");
        }
        other => {
            let why = format!(
                "the kind \"{}\" loads a mounted filesystem, and a forged one is not mounted",
                other.kind()
            );
            return no(why, "leave this workload out, or set volume = \"filled\"");
        }
    }
    if let Some(stack) = &cell.device.stack
        && !cell.device.is_modelled()
    {
        let why = format!("it is an image, and the device {} has layers", stack.name);
        return no(why, "set device = \"plain\", or model:NAME");
    }
    if let Some(kernel) = &cell.kernel {
        let why = format!("it is read on the host, and kernel {kernel} is a guest's");
        return no(why, "leave the kernel out");
    }
    let others = [
        (cell.crash.is_some(), "crash"),
        (cell.layout.is_some(), "layout"),
    ];
    let asked = others.into_iter().find(|(asked, _)| *asked);
    asked.and_then(|(_, section)| {
        let why = format!("[{section}] needs a filesystem that the kernel writes");
        no(why, "switch it off, or set volume = \"filled\"")
    })
}

/// Inodes that are forged. An ageing leaves about half of the files that it makes.
pub(crate) fn inodes(cell: &Cell) -> f64 {
    let inodes = cell.workload.parameters().inodes().unwrap_or(0) as f64;
    match &cell.workload {
        WorkloadSpec::Age(_) => inodes / 2.0,
        _ => inodes,
    }
}

/// Bytes that the image of a forged volume takes on its disk: inodes, directories and descriptors; the contents of files are holes.
pub fn image_bytes(cell: &Cell) -> f64 {
    /// Share of the device that bitmaps and descriptors take.
    const DESCRIPTORS: f64 = 1.0 / 16_384.0;
    /// Journal, superblocks, the beginning of tables.
    const FIXED: f64 = 64.0 * 1_048_576.0;
    let entry = entry_bytes(cell);
    let (inode, directory, descriptors) = match cell.filesystem.kind.family() {
        Family::Ocfs2 => (OCFS2_INODE, 0.0, DESCRIPTORS),
        Family::Xfs => (xfs_inode(cell), entry, 0.0),
        _ => (inode_size(cell), entry, DESCRIPTORS),
    };
    let size = cell.device.size.get() as f64;
    FIXED + inodes(cell) * (inode + directory) + size * descriptors
}

/// Bytes that a name takes in the blocks of its directory: a name of fs_mark has 40 bytes, one of a scan 16.
fn entry_bytes(cell: &Cell) -> f64 {
    match &cell.workload {
        WorkloadSpec::Scan(_) => 64.0,
        _ => 80.0,
    }
}

/// mke2fs's `-I`.
fn inode_size(cell: &Cell) -> f64 {
    let words = &cell.filesystem.mkfs;
    let at = words.iter().position(|word| word == "-I");
    let value = at.and_then(|at| words.get(at + 1)?.parse().ok());
    value.unwrap_or(256.0)
}

/// Bytes of an inode of XFS, and of its record of reverse mappings where there is one.
fn xfs_inode(cell: &Cell) -> f64 {
    let words = cell.filesystem.mkfs.iter().flat_map(|word| word.split(','));
    let words: Vec<&str> = words.collect();
    let has = |word: &str| words.contains(&word);
    let inside = words.iter().position(|word| *word == "-i");
    let after = inside.map_or(&[][..], |at| &words[at..]);
    let size = after.iter().find_map(|word| word.strip_prefix("size="));
    let usual = if has("crc=0") { 256.0 } else { 512.0 };
    let mappings = if has("rmapbt=1") { 25.0 } else { 0.0 };
    size.and_then(|size| size.parse().ok()).unwrap_or(usual) + mappings
}

/// Whether two cells read the same image.
pub fn same_image(a: &Cell, b: &Cell) -> bool {
    let same_files = match (&a.workload, &b.workload) {
        (WorkloadSpec::Scan(a), WorkloadSpec::Scan(b)) => {
            a.population() == b.population() && a.population == b.population
        }
        (WorkloadSpec::Fill(_), WorkloadSpec::Fill(_))
        | (WorkloadSpec::Age(_), WorkloadSpec::Age(_)) => a.workload == b.workload,
        _ => false,
    };
    same_files
        && a.volume.is_forged()
        && b.volume.is_forged()
        && a.filesystem == b.filesystem
        && a.device.size == b.device.size
}

/// The order of a plan whose volumes are all forged: within a block (in sequential order, within the run) the trials of one image follow its
/// first, so that it is written once. Images keep their order, and so do the trials of each.
pub(crate) fn together(cells: &[Cell], order: Order, slots: Vec<Slot>) -> Vec<Slot> {
    if !cells.iter().all(|cell| cell.volume.is_forged()) {
        return slots;
    }
    let image = |cell: &Cell| cells.iter().position(|known| same_image(known, cell));
    let images: Vec<Option<usize>> = cells.iter().map(image).collect();
    let part = |slot: &Slot| match order {
        Order::Blocked => slot.block,
        Order::Sequential => 0,
    };
    let of = |slot: &Slot| {
        (
            part(slot),
            images.get(slot.cell as usize).copied().flatten(),
        )
    };
    let mut firsts: Vec<(u32, Option<usize>)> = Vec::new();
    for slot in &slots {
        if !firsts.contains(&of(slot)) {
            firsts.push(of(slot));
        }
    }
    let mut sorted = slots;
    sorted.sort_by_key(|slot| firsts.iter().position(|first| *first == of(slot)));
    for (trial, slot) in (0..).zip(&mut sorted) {
        slot.trial = trial;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, Plan, Study};

    fn plan(study: &str, set: &[&str]) -> Result<Plan, String> {
        let study = Study::load(study).unwrap();
        let overrides = Overrides {
            profile: Some("quick".into()),
            set: set.iter().map(|&text| text.to_owned()).collect(),
            ..Overrides::default()
        };
        crate::plan(&study, &overrides).map_err(|error| error.to_string())
    }

    #[test]
    fn one_image_serves_all_sets_of_a_volume() {
        let forged = ["filesystem=ocfs2", "volume=forged"];
        let plan = plan("fsck-io", &forged).unwrap();
        assert!(plan.cells.len() > 30, "{}", plan.cells.len());
        let first = &plan.cells[0];
        assert!(plan.cells.iter().all(|cell| same_image(first, cell)));
        let mut other = first.clone();
        other.device.size = crate::Bytes(1 << 40);
        assert!(!same_image(first, &other));
        other.clone_from(first);
        other.volume = Volume::Filled;
        assert!(!same_image(first, &other));
    }

    #[test]
    fn trials_of_one_image_follow_each_other() {
        let forged = [
            "filesystem=xfs,ext4",
            "volume=forged",
            "memory=none",
            "checker=['own','fslab']",
            "fill.total_files=[4080,42000]",
        ];
        for order in ["sequential", "blocked"] {
            let order = format!("run.order={order}");
            let all: Vec<&str> = forged.iter().copied().chain([order.as_str()]).collect();
            let plan = plan("fsck-scale", &all).unwrap();
            let images: Vec<&Cell> = plan
                .slots
                .iter()
                .map(|slot| &plan.cells[slot.cell as usize])
                .collect();
            let changes = images.windows(2).filter(|two| !same_image(two[0], two[1]));
            let parts = if order.ends_with("blocked") {
                plan.blocks
            } else {
                1
            };
            // Two filesystems, two sizes with two numbers of files, and one ageing.
            let most = 10 * parts as usize - 1;
            assert!(changes.count() <= most, "{order}: {}", plan.slots.len());
            assert!((0..).zip(&plan.slots).all(|(nth, slot)| slot.trial == nth));
        }
    }

    #[test]
    fn what_cannot_be_forged_is_refused_with_the_next_step() {
        let of = |study: &str, set: &[&str]| {
            let all: Vec<&str> = [&["volume=forged"], set].concat();
            plan(study, &all).err().unwrap_or_default()
        };
        let refused = [
            of("fsck-io", &["filesystem=btrfs"]),
            of("fsck-io", &["set-1.population=paper-2011"]),
            of("journal", &["filesystem=ext4"]),
            of("fsck-scale", &["filesystem=btrfs"]),
            of("fsck-io", &["filesystem=xfs"]),
            of("fsck-io", &["filesystem=ocfs2", "kernel=6.1"]),
            of("fsck-io", &["filesystem=ocfs2", "crash.enabled=true"]),
            of("fsck-io", &["filesystem=ocfs2", "layout.enabled=true"]),
            plan("fsck-io", &["set-1.population=paper-2011"]).unwrap_err(),
            plan("fsck-io", &["volume=forge"]).unwrap_err(),
        ];
        insta::assert_snapshot!(refused.join("\n"));
    }

    #[test]
    fn the_volume_of_2011_takes_as_much_disk_as_its_inodes() {
        let study = Study::load("fsck-io").unwrap();
        let overrides = Overrides {
            profile: Some("paper-2011".into()),
            ..Overrides::default()
        };
        let plan = crate::plan(&study, &overrides).unwrap();
        let bytes = image_bytes(&plan.cells[0]) / f64::from(1 << 20);
        // 64,847 MiB were written for it.
        assert!((64_000.0..66_500.0).contains(&bytes), "{bytes}");
    }
}
