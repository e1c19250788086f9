//! What the trials of a plan put on the disk: each workload's own footprint
//! ([`params::Parameters::footprint`]), and what depends on the filesystem as well.

pub use params::Footprint;

use fskind::Family;
use params::Parameters;

use crate::forged;
use crate::model::{Cell, Plan, Reader, ScanSpec, WorkloadSpec};
use crate::units::Bytes;

const MIB: f64 = Bytes::MIB as f64;

/// Bytes that the largest trial of a plan keeps on disk at its peak: compared with RAM, it shows
/// whether caches can serve everything.
pub fn working_set(plan: &Plan) -> u64 {
    let sets = plan.cells.iter().map(|cell| working_set_of(cell) as u64);
    sets.max().unwrap_or(0)
}

/// Bytes that a trial of a cell keeps on disk at its peak. Of a forged volume that is the image: the contents of its files are holes.
pub fn working_set_of(cell: &Cell) -> f64 {
    if cell.volume.is_forged() {
        forged::image_bytes(cell)
    } else {
        cell.workload.parameters().footprint().peak
    }
}

/// What one trial of a cell needs and does: its workload's footprint, and what depends on the filesystem as well.
pub fn of_cell(cell: &Cell) -> Footprint {
    let filled = match &cell.workload {
        WorkloadSpec::Scan(spec) => scan(spec, &Layout::of(cell)),
        workload => workload.parameters().footprint(),
    };
    if cell.volume.is_filled() {
        return filled;
    }
    // The image is written once; a trial reads.
    Footprint {
        peak: forged::image_bytes(cell),
        written: 0.0,
        written_randomly: 0.0,
        files: 0.0,
        syncs: 0.0,
        ..filled
    }
}

/// How a filesystem is laid out, as far as its words for mkfs and the size of the device say it.
struct Layout {
    /// Bytes of an inode.
    inode: f64,
    /// Groups of 128 MiB, as blocks of 4 KiB make them.
    groups: f64,
    /// Bytes of inode tables that mkfs writes.
    tables: f64,
}

impl Layout {
    /// mke2fs's own: inodes of 256 bytes, one for each 16 KiB. An inode of OCFS2 is a block of 4 KiB.
    fn of(cell: &Cell) -> Layout {
        let words = &cell.filesystem.mkfs;
        let number = |option: &str, default: f64| {
            let at = words.iter().position(|word| word == option);
            let value = at.and_then(|at| words.get(at + 1)?.parse().ok());
            value.unwrap_or(default)
        };
        let size = cell.device.size.get() as f64;
        let usual = match cell.filesystem.kind.family() {
            Family::Ocfs2 => 4096.0,
            _ => 256.0,
        };
        let inode = number("-I", usual);
        let at_once = words.iter().any(|w| w.contains("lazy_itable_init=0"));
        Layout {
            inode,
            groups: (size / (128.0 * MIB)).ceil(),
            tables: if at_once {
                size / number("-i", 16_384.0) * inode
            } else {
                0.0
            },
        }
    }
}

/// The population, and its metadata read: by a checker once; for the model before that once more, at the lowest cost, for
/// its size. Tables are
/// read again with precache and a cache that does not hold them. Directories are a block each; a request of a buffer, of a table or of a
/// bitmap is waited for, whatever its size.
fn scan(spec: &ScanSpec, volume: &Layout) -> Footprint {
    const BLOCK: f64 = 4096.0;
    const MOST: f64 = 4.0 * MIB;
    let directories = spec.directories() as f64;
    let tables = (spec.files as f64 + directories) * volume.inode;
    let bitmaps = 2.0 * volume.groups;
    let in_groups = |buffer: f64| (tables / buffer).max(volume.groups);
    let once = tables + (bitmaps + directories) * BLOCK;
    let model = spec.reader == Reader::Model;
    let (read, requests) = if model {
        let again = f64::from(u8::from(spec.precache && spec.cache < 1.0));
        let pass_0b = f64::from(u8::from(spec.precache)) * in_groups(MOST);
        let measured = bitmaps + in_groups(MOST) + directories / 1024.0;
        let buffer = spec.scan_buffer.get() as f64;
        let blocks = (directories / f64::from(spec.batch)).ceil();
        let passes = bitmaps + pass_0b + in_groups(buffer) + blocks;
        (2.0 * once + again * tables, measured + passes)
    } else {
        // Blocks that are alone, and tables by the kernel's readahead of 128 KiB at least.
        (once, bitmaps + directories + in_groups(MIB / 8.0))
    };
    let filled = spec.footprint();
    Footprint {
        // A loop image holds the tables from mkfs on.
        peak: filled.peak + volume.tables,
        written: filled.written + volume.tables,
        read,
        requests,
        ..filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_fills_and_reads_its_metadata() {
        let volume = Layout {
            inode: 4096.0,
            groups: 128.0,
            tables: 512.0 * MIB,
        };
        let scan = |precache, cache| {
            let spec = ScanSpec {
                files: 8000,
                per_directory: 16,
                precache,
                cache,
                ..ScanSpec::default()
            };
            scan(&spec, &volume)
        };
        let tables = 8500.0 * 4096.0;
        let rest = 2.0 * (256.0 + 500.0) * 4096.0;
        let without = scan(false, 0.25);
        assert_eq!((without.files, without.written), (8000.0, 512.0 * MIB));
        assert!(without.peak >= 512.0 * MIB, "{without:?}");
        assert_eq!(without.read, 2.0 * tables + rest);
        assert_eq!(scan(true, 0.25).read, 3.0 * tables + rest);
        assert_eq!(scan(true, 4.0).read, 2.0 * tables + rest);
        let whole_checker = ScanSpec {
            files: 8000,
            per_directory: 16,
            reader: Reader::Check,
            ..ScanSpec::default()
        };
        let once = super::scan(&whole_checker, &volume);
        assert_eq!(once.read, tables + rest / 2.0, "nothing is measured before");
        // Measuring: bitmaps, a table a group, half a batch. Reading: bitmaps, buffers of 32 KiB, directories.
        let measured = 256.0 + 128.0 + 500.0 / 1024.0;
        assert_eq!(
            without.requests,
            measured + 256.0 + tables / 32_768.0 + 500.0
        );
        assert_eq!(scan(true, 0.25).requests, without.requests + 128.0);
    }

    /// The image of the paper's 15.56 million files took 64,847 MB (2^20 bytes), a block of 4 KiB for each inode.
    #[test]
    fn the_working_set_of_a_forged_volume_is_its_image() {
        let overrides = crate::Overrides {
            profile: Some("paper-2011".into()),
            ..crate::Overrides::default()
        };
        let plan = crate::plan(&crate::Study::load("fsck-io").unwrap(), &overrides).unwrap();
        let image = working_set(&plan) as f64 / MIB;
        assert!((image / 64_847.0 - 1.0).abs() < 0.01, "{image} MB");
        let same = |cell: &Cell| working_set_of(cell) as u64 == working_set(&plan);
        assert!(plan.cells.iter().all(same));
    }

    #[test]
    fn a_volume_is_as_its_words_make_it() {
        let plan = crate::plan(
            &crate::Study::load("fsck-io").unwrap(),
            &crate::Overrides::default(),
        )
        .unwrap();
        let volume = Layout::of(&plan.cells[0]);
        assert_eq!((volume.inode, volume.groups), (4096.0, 1024.0));
        assert_eq!(volume.tables, 4096.0 * MIB);
    }
}
