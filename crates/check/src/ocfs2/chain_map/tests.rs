//! The laws of the experiments, on volumes of the format on which they were made.

use blockio::Buffered;
use forge::Image as _;
use forge::ocfs2::{Ocfs2, Options};
use forge::population::Profile;

use super::*;
use crate::strategy::{self, Figures, Reading, Strategy};

/// Bytes of a block, and of a group of inodes.
const BLOCK: u64 = 4096;
const GROUP: u64 = 4 << 20;

/// A volume of 8 GiB in two cluster groups: 6,000 files in inline directories of 12 to 18, and in some of 300 to 400 with an index.
struct Made {
    _folder: tempfile::TempDir,
    source: Buffered,
}

impl Made {
    /// None without mkfs.ocfs2.
    fn new(features: &[&str]) -> Option<Made> {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let mut options = Options::new(8 << 30);
        options.block_size = Some(4096);
        options.slots = Some(2);
        options.used_slots = 2;
        options.features = features.iter().map(|&name| name.to_owned()).collect();
        let profile = "files = 6000\nper_directory = [[\"12-18\", 95], [\"300-400\", 5]]\n\
             file_size = [[\"1-3000\", 1], [\"5k-60k\", 1]]";
        let profile = Profile::parse("profile", profile).unwrap();
        let forged = Ocfs2::new(options, profile).unwrap();
        match forged.write(&image, &forge::Silent) {
            Ok(_) => {}
            Err(forge::Error::Start { .. }) => {
                testkit::skip!("needs mkfs.ocfs2");
                return None;
            }
            Err(error) => panic!("{error}"),
        }
        Some(Made {
            source: Buffered::open(&image).unwrap(),
            _folder: folder,
        })
    }

    fn read(&self, strategy: Strategy) -> Reading {
        let map = ChainMap::of(&self.source).unwrap();
        let reading = strategy::read(&self.source, map, &strategy).unwrap();
        for step in &reading.steps {
            assert_eq!(step.faults, 0, "{step:?}");
        }
        reading
    }
}

fn of(reading: &Reading, step: Step) -> &Figures {
    reading.steps.iter().find(|of| of.step == step).unwrap()
}

/// Vanilla with a cache of a third of the inodes.
fn vanilla() -> Strategy {
    Strategy::vanilla(8 << 20)
}

#[test]
fn every_structure_is_met_once() {
    for features in [&[][..], &["metaecc"]] {
        let Some(made) = Made::new(features) else {
            return;
        };
        let reading = made.read(Strategy {
            precache: false,
            ..vanilla()
        });
        // 2,097,152 clusters in groups of 32,256.
        assert_eq!(of(&reading, Step::Clusters).objects, 66);
        let groups = of(&reading, Step::Inodes).objects;
        assert!((7..=12).contains(&groups), "{groups}");
        assert!(of(&reading, Step::Extents).objects >= 2);
        let names: Vec<_> = reading.steps.iter().map(|step| step.step.name()).collect();
        assert_eq!(names, ["0a", "0b", "0c", "1", "2"]);
        let inodes = of(&reading, Step::Scan).objects;
        assert!((6_150..6_700).contains(&inodes), "{inodes}");
        // Pass 1 ends with the descriptors of the global bitmap.
        let scan = of(&reading, Step::Scan).disk_bytes;
        assert!(scan >= (groups - 2) * GROUP + 66 * BLOCK, "{scan}");
    }
}

#[test]
fn prefill_reads_the_same_bytes_on_a_shorter_way() {
    let Some(made) = Made::new(&[]) else {
        return;
    };
    let read = |prefill| {
        made.read(Strategy {
            precache: false,
            prefill,
            ..vanilla()
        })
    };
    let (without, with) = (read(false), read(true));
    for step in [Step::Clusters, Step::Inodes, Step::Extents] {
        let (a, b) = (of(&without, step), of(&with, step));
        assert_eq!((a.disk_bytes, a.objects), (b.disk_bytes, b.objects));
        assert!(b.seek_bytes <= a.seek_bytes, "{a:?} {b:?}");
    }
    assert_eq!(without.links, with.links);
    assert_eq!(without.metadata_bytes, with.metadata_bytes);
}

#[test]
fn precache_with_a_small_cache_reads_the_inodes_twice() {
    let Some(made) = Made::new(&[]) else {
        return;
    };
    let both = |precache, cache| {
        let reading = made.read(Strategy {
            precache,
            ..Strategy::vanilla(cache)
        });
        of(&reading, Step::Inodes).disk_bytes + of(&reading, Step::Scan).disk_bytes
    };
    let tables = of(&made.read(vanilla()), Step::Scan).disk_bytes;
    let again = both(true, 8 << 20) - both(false, 8 << 20);
    assert!(again * 10 > tables * 9, "{again} of {tables}");
    let large = 1 << 30;
    // Blocks of trees and indexes are in the groups of extent blocks, which precache has read by then.
    let (with, without) = (both(true, large), both(false, large));
    assert!(with.abs_diff(without) * 100 < without, "{with} {without}");
}

#[test]
fn a_larger_buffer_reads_the_same_bytes_in_fewer_requests() {
    let Some(made) = Made::new(&[]) else {
        return;
    };
    let read = |scan_buffer| {
        let reading = made.read(Strategy {
            precache: false,
            scan_buffer,
            ..vanilla()
        });
        let figures = of(&reading, Step::Scan);
        (figures.disk_bytes, figures.requests)
    };
    let (small, large) = (read(32 << 10), read(4 << 20));
    assert_eq!(small.0, large.0);
    assert!(large.1 * 4 < small.1, "{small:?} {large:?}");
}

/// Pass 2 reads an inode for each directory, and the blocks and the index of the large ones.
#[test]
fn directories_are_read_with_their_inodes_and_indexes() {
    let Some(made) = Made::new(&[]) else {
        return;
    };
    let reading = made.read(Strategy::improved(64 << 20));
    let inodes = of(&reading, Step::Scan).objects;
    let directories = of(&reading, Step::Directories);
    // All inodes but the 6,000 files and a few of the system are directories.
    assert!(directories.objects > inodes - 6_000, "{directories:?}");
    assert!(directories.batched > 1);
    // Each is in the cache when it is looked at, and some from pass 1 on.
    assert!(directories.cache_bytes >= directories.objects * BLOCK);
}

#[test]
fn a_source_without_a_volume_is_refused() {
    let error = ChainMap::of(&blockio::Ram::sparse(1 << 20)).err().unwrap();
    let words = error.to_string();
    assert!(words.contains("no usable OCFS2 superblock"), "{words}");
    assert!(!words.contains('\n'));
}
