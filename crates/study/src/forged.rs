//! What a forged volume can be asked for: `volume = "forged"`.
//!
//! Nothing is mounted and no kernel writes, so only what reads an unmounted filesystem can be measured: a scan, or the check after a fill.

use fskind::Family;

use crate::error::Problem;
use crate::model::{Cell, FilesystemKind, Volume, WorkloadSpec};
use crate::placed::Placed;
use params::scan::Population;

/// Bytes of an inode of OCFS2, which is a block.
const OCFS2_INODE: f64 = 4096.0;

/// The families that `fslab forge` writes.
const FAMILIES: [Family; 2] = [Family::Ext, Family::Ocfs2];

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
        WorkloadSpec::Scan(_) => {}
        WorkloadSpec::Fill(_) if cell.check.is_some() => {}
        WorkloadSpec::Fill(_) => {
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

/// Inodes that are forged.
pub(crate) fn inodes(cell: &Cell) -> f64 {
    cell.workload.parameters().inodes().unwrap_or(0) as f64
}

/// Bytes that the image of a forged volume takes on its disk: inodes, directories and descriptors; the contents of files are holes.
pub(crate) fn image_bytes(cell: &Cell) -> f64 {
    /// Share of the device that bitmaps and descriptors take.
    const DESCRIPTORS: f64 = 1.0 / 16_384.0;
    /// Journal, superblocks, the beginning of tables.
    const FIXED: f64 = 64.0 * 1_048_576.0;
    let (inode, directory) = match cell.filesystem.kind.family() {
        Family::Ocfs2 => (OCFS2_INODE, 0.0),
        _ => (256.0_f64.max(inode_size(cell)), 64.0),
    };
    let size = cell.device.size.get() as f64;
    FIXED + inodes(cell) * (inode + directory) + size * DESCRIPTORS
}

/// mke2fs's `-I`.
fn inode_size(cell: &Cell) -> f64 {
    let words = &cell.filesystem.mkfs;
    let at = words.iter().position(|word| word == "-I");
    let value = at.and_then(|at| words.get(at + 1)?.parse().ok());
    value.unwrap_or(256.0)
}

/// Whether two cells read the same image.
pub fn same_image(a: &Cell, b: &Cell) -> bool {
    let population = |cell: &Cell| match &cell.workload {
        WorkloadSpec::Scan(spec) => Some((spec.population(), spec.population)),
        WorkloadSpec::Fill(fill) => Some((fill.clone(), Population::Plain)),
        _ => None,
    };
    a.volume.is_forged()
        && b.volume.is_forged()
        && a.filesystem == b.filesystem
        && a.device.size == b.device.size
        && population(a) == population(b)
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
    fn what_cannot_be_forged_is_refused_with_the_next_step() {
        let of = |study: &str, set: &[&str]| {
            let all: Vec<&str> = [&["volume=forged"], set].concat();
            plan(study, &all).err().unwrap_or_default()
        };
        let refused = [
            of("fsck-io", &["filesystem=btrfs"]),
            of("fsck-io", &["set-1.population=paper-2011"]),
            of("journal", &["filesystem=ext4"]),
            of("fsck-scale", &["filesystem=ext4"]),
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
