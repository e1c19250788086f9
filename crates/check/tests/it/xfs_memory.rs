//! XFS filesystems that name more than they have, held to a limit of memory: by themselves, because what other tests allocate meanwhile counts.

use blockio::{BlockSource, Mode};
use check::{Checker as _, Failure, Options, Silent, xfs};
use ondisk::xfs::Superblock;

use crate::bounds::{self, Bounds, Took};
use crate::common::alone;
use crate::xfs::disk::Disk;
use crate::xfs::volume::{forged, made, tools};

/// The limit of these checks, bytes.
const LIMIT: u64 = 64 << 20;
/// What a check may take beyond its limit, bytes (docs/check.md).
const BEYOND: u64 = 8 << 20;
/// Extents that an inode of 512 bytes has room for.
const EXTENTS: u64 = 19;

fn held(source: &dyn BlockSource, threads: usize) -> Took {
    let mut options = Options {
        sweep: bounds::sweep(),
        paths: false,
        memory: Some(LIMIT),
        ..Options::default()
    };
    options.threads = threads;
    let bounds = Bounds {
        memory: LIMIT + BEYOND,
        // A sector of each of two million groups, and a little more.
        reads: (1 << 30) + (1 << 20),
    };
    let what = format!("{threads} threads");
    bounds::check(source, &what, &xfs::Checker::default(), options, bounds)
}

/// Files that became directories of 40 million blocks each, all of them the same blocks.
#[test]
fn directories_larger_than_the_filesystem_are_left_out_before_they_are_listed() {
    if !tools() {
        return;
    }
    let _alone = alone();
    let image = forged(
        "64G",
        "",
        "files = 200\nper_directory = [[\"100-200\", 1]]\n",
    );
    let disk = Disk::open(&image.image);
    let files = disk.files();
    let changed = files.len();
    for ino in files {
        let starts = (0..EXTENTS).map(|nth| ((nth % 4) << disk.geo.agblk_log) + 1000);
        disk.huge_directory(ino, starts);
    }
    assert!(changed > 30, "{changed}");
    let source = blockio::open(&image.image, Mode::Buffered).unwrap().source;
    let mut seen = Vec::new();
    for threads in [1, 2] {
        let took = held(&*source, threads);
        let report = took.report.expect("it fits");
        let codes: Vec<_> = report
            .findings
            .tallies
            .iter()
            .map(|tally| (tally.problem.name, tally.count))
            .collect();
        println!(
            "{threads} threads: {} KiB, {:?}",
            took.memory >> 10,
            took.time
        );
        assert_eq!(report.verdicts.reference.as_ref().unwrap().exit_code, 1);
        let left_out = report
            .findings
            .list
            .iter()
            .find(|finding| finding.problem.name == "XFS-NAMED-LEFT-OUT");
        let note = left_out.and_then(|finding| finding.note.clone());
        assert_eq!(note, Some(format!("{changed} forks")));
        seen.push(codes);
    }
    // What is left out does not depend on the threads.
    assert_eq!(seen[0], seen[1]);
}

/// A superblock with two million groups of 64 blocks in a file that has no more than the first.
#[test]
fn groups_without_end_are_refused_before_they_take_memory() {
    if !tools() {
        return;
    }
    let _alone = alone();
    let words = [
        "-m",
        "crc=0,finobt=0",
        "-b",
        "size=512",
        "-n",
        "size=4096",
        "-i",
        "size=256",
    ];
    let image = made("1G", &words);
    let file = std::fs::File::options()
        .write(true)
        .open(&image.image)
        .unwrap();
    file.set_len(64 << 30).unwrap();
    let disk = Disk::open(&image.image);
    let blocks = (64_u64 << 30) / 512;
    disk.header(0, 0, |bytes| {
        let sb = Superblock::read_mut(bytes).unwrap();
        sb.sb_dblocks.set(blocks);
        sb.sb_agblocks.set(64);
        sb.sb_agcount.set((blocks / 64) as u32);
        sb.sb_agblklog = 6;
    });
    let source = blockio::open(&image.image, Mode::Buffered).unwrap().source;
    let options = Options {
        sweep: bounds::sweep(),
        memory: Some(LIMIT),
        ..Options::default()
    };
    let failure = xfs::Checker::default()
        .check(&*source, &options, &Silent)
        .unwrap_err();
    let Failure::Memory { needs, .. } = failure else {
        panic!("{failure}");
    };
    // A KiB and more for each.
    assert!(needs > blocks / 64 * 500, "{needs}");
    assert!(!failure.to_string().contains("damage"), "{failure}");
    let took = held(&*source, 2);
    assert!(
        took.report.is_none() && took.memory < 24 << 20,
        "{}",
        took.memory
    );
}
