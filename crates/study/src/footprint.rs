//! What a workload puts on the disk: space at its peak, bytes written and read, files touched.
//!
//! `throughput` is exact. `tree` is an expectation: which operations a sequence draws is known
//! only by drawing it, so each of the seven is taken to come `runs / 7` times. Creations less
//! deletions, and compiled trees less cleaned ones, are random walks whose reach grows with the
//! root of the number of steps; that gives the peak.

use crate::model::{
    AgeSpec, Cell, FillSpec, Plan, Reader, ScanSpec, StreamSpec, StreamTest, ThroughputSpec,
    TreeSpec, WorkloadSpec,
};
use crate::units::Bytes;

/// Bytes, files and operations of one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Footprint {
    /// Most bytes on the filesystem at one time, the filesystem's own structures aside.
    pub peak: f64,
    /// Bytes written in sequence.
    pub written: f64,
    /// Bytes written in random order.
    pub written_randomly: f64,
    /// Bytes read in sequence.
    pub read: f64,
    /// Bytes read in random order.
    pub read_randomly: f64,
    /// Files created, read, looked up or removed.
    pub files: f64,
    /// Files there at the end: what a check has to visit.
    pub kept: f64,
    /// Small reads that are each waited for, beside the bytes in `read`.
    pub requests: f64,
    /// Waits for all data to reach the disk.
    pub syncs: f64,
    /// Seconds of rest.
    pub rest: f64,
}

/// A working set of compilebench: files and bytes (its four data sets, reduced at start).
#[derive(Clone, Copy)]
struct Set {
    files: f64,
    bytes: f64,
}

impl Set {
    const fn new(files: u32, bytes: f64) -> Set {
        Set {
            files: files as f64,
            bytes,
        }
    }

    /// Space with each file's last block half empty.
    fn on_disk(self) -> f64 {
        const HALF_BLOCK: f64 = 2048.0;
        self.bytes + self.files * HALF_BLOCK
    }
}

const MIB: f64 = Bytes::MIB as f64;
const UNPATCHED: Set = Set::new(21_280, 222.37 * MIB);
const PATCHED: Set = Set::new(6136, 109.67 * MIB);
const COMPILED: Set = Set::new(3263, 680.63 * MIB);
const PATCHED_COMPILED: Set = Set::new(2573, 691.60 * MIB);

/// Bytes that the largest trial of a plan keeps on disk at its peak: held against RAM, it tells
/// whether caches can serve everything.
pub fn working_set(plan: &Plan) -> u64 {
    plan.cells
        .iter()
        .map(|cell| of(&cell.workload).peak as u64)
        .max()
        .unwrap_or(0)
}

/// What one trial of a workload needs and does on any filesystem: of a scan, its population.
pub fn of(workload: &WorkloadSpec) -> Footprint {
    match workload {
        WorkloadSpec::Throughput(spec) => throughput(spec),
        WorkloadSpec::Tree(spec) => tree(spec),
        WorkloadSpec::Stream(spec) => stream(spec),
        WorkloadSpec::Fill(spec) => fill(spec),
        WorkloadSpec::Age(spec) => age(spec),
        WorkloadSpec::Scan(spec) => fill(&spec.population()),
    }
}

fn stream(spec: &StreamSpec) -> Footprint {
    let all = spec.block.get() as f64 * spec.count as f64;
    let part = |wanted: bool| if wanted { all } else { 0.0 };
    Footprint {
        peak: all,
        written: part(spec.test != StreamTest::Read),
        read: part(spec.test != StreamTest::Write),
        files: 1.0,
        kept: 1.0,
        syncs: 2.0,
        ..Footprint::default()
    }
}

/// Files of `size` bytes on disk: whole blocks, and an inode each.
fn small_files(files: f64, size: Bytes) -> f64 {
    const BLOCK: u64 = 4096;
    const INODE: f64 = 512.0;
    files * (size.get().next_multiple_of(BLOCK) as f64 + INODE)
}

fn fill(spec: &FillSpec) -> Footprint {
    let each = spec.files as f64 * f64::from(spec.processes);
    let files = each * f64::from(spec.iterations);
    // fs_mark keeps what an iteration wrote when more follow.
    let keeps = spec.keep || spec.iterations > 1 || spec.until_full;
    let there = if keeps { files } else { each };
    Footprint {
        // -F ends where the disk does.
        peak: if spec.until_full {
            0.0
        } else {
            small_files(there, spec.size)
        },
        written: files * spec.size.get() as f64,
        files,
        kept: if keeps { files } else { 0.0 },
        syncs: if spec.sync_method == 0 { 1.0 } else { files },
        ..Footprint::default()
    }
}

fn age(spec: &AgeSpec) -> Footprint {
    let rounds = f64::from(spec.rounds);
    let added = rounds * spec.files as f64 * f64::from(spec.processes);
    let again = f64::from(spec.step) * rounds * (rounds + 1.0) / 2.0 * spec.per_directory as f64;
    Footprint {
        peak: small_files(added, spec.size),
        written: (added + again) * spec.size.get() as f64,
        // What is added again was removed first.
        files: added + 2.0 * again,
        kept: added,
        syncs: 3.0 * rounds,
        ..Footprint::default()
    }
}

/// What one trial of a cell needs and does: [`of`] its workload, and what depends on the filesystem as well.
pub fn of_cell(cell: &Cell) -> Footprint {
    match &cell.workload {
        WorkloadSpec::Scan(spec) => scan(spec, &Volume::of(cell)),
        workload => of(workload),
    }
}

/// How an ext filesystem is made, as far as its words for mkfs and the size of the device say it.
struct Volume {
    /// Bytes of an inode.
    inode: f64,
    /// Groups of 128 MiB, as blocks of 4 KiB make them.
    groups: f64,
    /// Bytes of inode tables that mkfs writes.
    tables: f64,
}

impl Volume {
    /// mke2fs's own: inodes of 256 bytes, one for each 16 KiB.
    fn of(cell: &Cell) -> Volume {
        let words = &cell.filesystem.mkfs;
        let number = |option: &str, default: f64| {
            let at = words.iter().position(|word| word == option);
            let value = at.and_then(|at| words.get(at + 1)?.parse().ok());
            value.unwrap_or(default)
        };
        let size = cell.device.size.get() as f64;
        let inode = number("-I", 256.0);
        let at_once = words.iter().any(|w| w.contains("lazy_itable_init=0"));
        Volume {
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

/// The population, and its metadata read: by a checker once; for the model before that once more, in the way that costs least, for
/// its size. Tables are
/// read again with precache and a cache that does not hold them. Directories are a block each; a request of a buffer, of a table or of a
/// bitmap is waited for, whatever its size.
fn scan(spec: &ScanSpec, volume: &Volume) -> Footprint {
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
        // Blocks that lie alone, and tables by the kernel's readahead of 128 KiB at least.
        (once, bitmaps + directories + in_groups(MIB / 8.0))
    };
    let filled = fill(&spec.population());
    Footprint {
        // A loop image holds the tables from mkfs on.
        peak: filled.peak + volume.tables,
        written: filled.written + volume.tables,
        read,
        requests,
        ..filled
    }
}

fn throughput(spec: &ThroughputSpec) -> Footprint {
    // Six tests, a sync and a rest after each, and another before each of the random two.
    const SYNCS: f64 = 8.0;
    let all = spec.size.get() as f64 * f64::from(spec.threads);
    Footprint {
        peak: all,
        written: 2.0 * all,
        written_randomly: all,
        read: 2.0 * all,
        read_randomly: all,
        files: f64::from(spec.threads),
        kept: f64::from(spec.threads),
        requests: 0.0,
        syncs: SYNCS,
        rest: SYNCS * spec.settle_seconds,
    }
}

fn tree(spec: &TreeSpec) -> Footprint {
    const OPERATIONS: f64 = 7.0;
    let (initial, runs, scale) = (f64::from(spec.initial), f64::from(spec.runs), spec.scale);
    let each = runs / OPERATIONS;
    let walk = (2.0 * each).sqrt();
    let compiled = walk.min(initial + walk);
    let patch = f64::midpoint(PATCHED.bytes, PATCHED_COMPILED.bytes);
    let patch_files = f64::midpoint(PATCHED.files, PATCHED_COMPILED.files);
    // The scratch trees that fix the order of files are written before everything else.
    let scratch = UNPATCHED.bytes + PATCHED.bytes + PATCHED_COMPILED.bytes;
    let peak = UNPATCHED.on_disk() * (initial + walk) + PATCHED_COMPILED.on_disk() * compiled;
    let bytes =
        scratch + initial * UNPATCHED.bytes + each * (UNPATCHED.bytes + COMPILED.bytes + patch);
    let operations = initial + 5.0 * each;
    Footprint {
        peak: scale * peak,
        written: scale * bytes,
        read: scale * each * (UNPATCHED.bytes + patch),
        files: scale * (operations * UNPATCHED.files + 2.0 * each * patch_files),
        kept: scale * (UNPATCHED.files * (initial + walk) + PATCHED_COMPILED.files * compiled),
        syncs: if spec.sync { runs } else { 0.0 },
        ..Footprint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compilebench(initial: u32, runs: u32, scale: f64) -> Footprint {
        of(&WorkloadSpec::Tree(TreeSpec {
            initial,
            runs,
            scale,
            ..TreeSpec::default()
        }))
    }

    #[test]
    fn iozone_moves_each_byte_six_times() {
        let footprint = of(&WorkloadSpec::Throughput(ThroughputSpec {
            threads: 8,
            ..ThroughputSpec::default()
        }));
        let all = 16.0 * 1024.0 * MIB;
        assert_eq!(footprint.peak, all);
        assert_eq!(footprint.written + footprint.written_randomly, 3.0 * all);
        assert_eq!(footprint.read + footprint.read_randomly, 3.0 * all);
        assert_eq!(footprint.rest, 16.0);
    }

    #[test]
    fn a_stream_is_written_once_and_read_once() {
        let stream = |test| {
            of(&WorkloadSpec::Stream(StreamSpec {
                block: Bytes(4 << 20),
                count: 100,
                test,
                ..StreamSpec::default()
            }))
        };
        let both = stream(StreamTest::WriteRead);
        let all = 400.0 * MIB;
        assert_eq!((both.peak, both.written, both.read), (all, all, all));
        assert_eq!(stream(StreamTest::Write).read, 0.0);
    }

    #[test]
    fn the_paper_fill_is_half_of_its_disk() {
        // 105 M files of 400,000 bytes: 42.0 TB of 78.8 TB.
        let fill = of(&WorkloadSpec::Fill(FillSpec {
            files: 35_000_000,
            processes: 3,
            size: Bytes(400_000),
            sync_method: 0,
            keep: true,
            ..FillSpec::default()
        }));
        assert_eq!(fill.written, 42.0e12);
        assert_eq!((fill.files, fill.kept, fill.syncs), (105e6, 105e6, 1.0));
        assert!((fill.peak / 42.2e12 - 1.0).abs() < 0.01, "{fill:?}");
    }

    #[test]
    fn ageing_adds_again_what_it_removed() {
        let aged = of(&WorkloadSpec::Age(AgeSpec::default()));
        // 700 x (1 + 2 + 3 + 4 + 5) directories of 1,000 files.
        assert_eq!(aged.kept, 105e6);
        assert_eq!(aged.files, 105e6 + 2.0 * 10.5e6);
    }

    #[test]
    fn a_scan_fills_and_reads_its_metadata() {
        let volume = Volume {
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
        assert_eq!(once.read, tables + rest / 2.0, "nobody measures before");
        // Measuring: bitmaps, a table a group, half a batch. Reading: bitmaps, buffers of 32 KiB, directories.
        let measured = 256.0 + 128.0 + 500.0 / 1024.0;
        assert_eq!(
            without.requests,
            measured + 256.0 + tables / 32_768.0 + 500.0
        );
        assert_eq!(scan(true, 0.25).requests, without.requests + 128.0);
    }

    #[test]
    fn a_volume_is_as_its_words_make_it() {
        let plan = crate::plan(
            &crate::Study::load("fsck-io").unwrap(),
            &crate::Overrides::default(),
        )
        .unwrap();
        let volume = Volume::of(&plan.cells[0]);
        assert_eq!((volume.inode, volume.groups), (4096.0, 1024.0));
        assert_eq!(volume.tables, 4096.0 * MIB);
    }

    #[test]
    fn compilebench_is_near_what_its_known_sequence_does() {
        // -i 10 -r 30 with the original data sets: about 9.2 GiB written, 5.0 GiB at the peak.
        let gib = 1024.0 * MIB;
        let footprint = compilebench(10, 30, 1.0);
        assert!(
            (footprint.written / gib / 9.2 - 1.0).abs() < 0.2,
            "{footprint:?}"
        );
        assert!(
            (footprint.peak / gib / 5.0 - 1.0).abs() < 0.2,
            "{footprint:?}"
        );
        let small = compilebench(10, 30, 0.02);
        assert!((small.peak / footprint.peak - 0.02).abs() < 1e-9);
    }
}
