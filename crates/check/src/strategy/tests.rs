//! The laws of the experiments, on a forged filesystem with its metadata scattered as ocfs2's is.

use blockio::Buffered;
use forge::Image as _;
use forge::ext4::{Ext4, FeatureEdits, FsType, Options};
use forge::population::Profile;

use super::*;
use crate::ext4::GroupMap;

mod chained;

const KIB: u64 = 1 << 10;

/// 512 MiB in 64 groups of 8 MiB, each with 32 KiB of inodes and its own bitmaps; 6,000 files in 100 directories.
struct Volume {
    _folder: tempfile::TempDir,
    source: Buffered,
}

impl Volume {
    fn new() -> Volume {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let options = Options {
            block_size: Some(1024),
            inodes: Some(8192),
            features: FeatureEdits {
                names: vec!["^flex_bg".into(), "^resize_inode".into()],
            },
            spread: true,
            ..Options::new(512 << 20, FsType::Ext4)
        };
        let profile = Profile::parse("profile", "files = 6000\nper_directory = 60").unwrap();
        let forged = Ext4::new(options, profile).unwrap();
        forged.write(&image, &forge::Silent).unwrap();
        Volume {
            source: Buffered::open(&image).unwrap(),
            _folder: folder,
        }
    }

    fn map(&self) -> GroupMap {
        GroupMap::of(&self.source).unwrap()
    }

    fn read(&self, strategy: Strategy) -> Reading {
        let reading = read(&self.source, self.map(), &strategy).unwrap();
        assert!(
            reading.steps.iter().all(|step| step.faults == 0),
            "{reading:?}"
        );
        reading
    }
}

fn of(reading: &Reading, step: Step) -> &Figures {
    reading.steps.iter().find(|of| of.step == step).unwrap()
}

/// A strategy whose cache holds a third of the inode tables.
fn small() -> Strategy {
    Strategy {
        precache: false,
        chains: 8,
        scan_buffer: 4096,
        ..Strategy::vanilla(512 * KIB)
    }
}

#[test]
fn all_metadata_is_met_once() {
    let volume = Volume::new();
    let reading = volume.read(small());
    assert_eq!(of(&reading, Step::Clusters).objects, 64);
    assert_eq!(of(&reading, Step::Inodes).objects, 64);
    // Root, lost+found, the journal's and 7 to 11 are not all in use: files, directories, and a few.
    let inodes = of(&reading, Step::Scan).objects;
    assert!((6_100..6_110).contains(&inodes), "{inodes}");
    assert!(of(&reading, Step::Directories).objects >= 100 * 3);
    let disk: u64 = reading.steps.iter().map(|step| step.disk_bytes).sum();
    assert_eq!(disk, reading.metadata_bytes);
}

/// With a cache below the tables they are read twice, with one above them once.
#[test]
fn precache_reads_twice_what_does_not_fit() {
    let volume = Volume::new();
    let tables = |reading: &Reading| {
        of(reading, Step::Inodes).disk_bytes + of(reading, Step::Scan).disk_bytes
    };
    let without = volume.read(small());
    let with = volume.read(Strategy {
        precache: true,
        ..small()
    });
    let table_bytes = of(&without, Step::Scan).disk_bytes;
    assert!(table_bytes > 2 * small().cache);
    // A table or two are still there when the scan comes by.
    let again = tables(&with) - tables(&without);
    assert!(
        again <= table_bytes && again * 10 >= table_bytes * 9,
        "{again} of {table_bytes}"
    );

    let large = Strategy {
        cache: 64 << 20,
        ..small()
    };
    let without = volume.read(large);
    let with = volume.read(Strategy {
        precache: true,
        ..large
    });
    assert_eq!(tables(&with), tables(&without));
    assert_eq!(of(&with, Step::Scan).disk_bytes, 0);
    assert_eq!(of(&with, Step::Scan).cache_bytes, table_bytes);
}

/// The same bytes in the same number of requests, in an order that travels a fraction as far: 8 chains of 8 links cross the volume
/// eight times there and seven times back, all heads, then all seconds, once there. Verification then runs from the cache.
#[test]
fn prefill_changes_the_order_not_the_bytes() {
    let volume = Volume::new();
    let without = volume.read(small());
    let with = volume.read(Strategy {
        prefill: true,
        ..small()
    });
    assert_eq!((without.links, with.links), (8, 8));
    for step in [Step::Clusters, Step::Inodes] {
        let (a, b) = (of(&without, step), of(&with, step));
        assert_eq!(a.disk_bytes, b.disk_bytes, "{step:?}");
        assert_eq!(a.disk_bytes, 64 * KIB);
        assert_eq!((a.requests, b.requests), (64, 64));
        assert_eq!((a.cache_bytes, b.cache_bytes), (0, 64 * KIB));
        assert_eq!((a.batched, b.batched), (1, 8));
        assert!(
            b.seek_bytes * 4 < a.seek_bytes,
            "{step:?}: {} without, {} with",
            a.seek_bytes,
            b.seek_bytes
        );
    }
}

/// Chains of one link leave prefill nothing to bring forward: the same order either way.
#[test]
fn without_a_second_link_prefill_changes_no_order() {
    let volume = Volume::new();
    let read = |prefill| {
        volume.read(Strategy {
            prefill,
            chains: 243,
            ..small()
        })
    };
    let (without, with) = (read(false), read(true));
    assert_eq!(with.links, 1);
    let travelled = |reading: &Reading| of(reading, Step::Clusters).seek_bytes;
    assert_eq!(travelled(&without), travelled(&with));
}

/// A cache too small for all bitmaps holds a level of them, and one too small for a level is not filled ahead: no block is
/// read twice in either.
#[test]
fn prefill_asks_for_no_more_than_the_cache_holds() {
    let volume = Volume::new();
    let read = |cache| {
        let reading = volume.read(Strategy {
            prefill: true,
            cache,
            ..small()
        });
        of(&reading, Step::Clusters).clone()
    };
    let whole = read(64 * KIB);
    let level = read(8 * KIB);
    let none = read(7 * KIB);
    for figures in [&whole, &level, &none] {
        assert_eq!(figures.disk_bytes, 64 * KIB, "{figures:?}");
    }
    assert_eq!((whole.batched, whole.cache_bytes), (8, 64 * KIB));
    assert_eq!((level.batched, level.cache_bytes), (8, 64 * KIB));
    assert_eq!((none.batched, none.cache_bytes), (1, 0));
    assert_eq!(whole.seek_bytes, level.seek_bytes);
}

/// The bitmap of an unused group is read, as every descriptor is, and has nothing to verify.
#[test]
fn bitmaps_never_used_are_read_and_not_verified() {
    let volume = Volume::new();
    let reading = volume.read(small());
    let mut map = volume.map();
    for step in [Step::Clusters, Step::Inodes] {
        let all: Vec<_> = map.heads(step, u32::MAX);
        let used = all
            .into_iter()
            .filter(|at| map.verify(step, *at, None).verifiable);
        let figures = of(&reading, step);
        assert_eq!(figures.objects, 64);
        assert_eq!(figures.verified, used.count() as u64, "{step:?}");
    }
    for step in [Step::Scan, Step::Directories] {
        let figures = of(&reading, step);
        assert_eq!(figures.objects, figures.verified);
    }
}

#[test]
fn a_larger_scan_buffer_changes_requests_not_bytes() {
    let volume = Volume::new();
    let scan = |scan_buffer| {
        let reading = volume.read(Strategy {
            scan_buffer,
            ..small()
        });
        of(&reading, Step::Scan).clone()
    };
    let (small, large) = (scan(4 << 10), scan(32 << 10));
    assert_eq!(small.disk_bytes, large.disk_bytes);
    assert_eq!(small.objects, large.objects);
    assert!(small.requests >= 6 * large.requests, "{small:?} {large:?}");
}

#[test]
fn a_batch_of_directory_blocks_is_fewer_requests_unless_it_does_not_fit() {
    let volume = Volume::new();
    let entries = |batch, cache| {
        let reading = volume.read(Strategy {
            batch,
            cache,
            ..small()
        });
        of(&reading, Step::Directories).clone()
    };
    let one = entries(1, 512 * KIB);
    let many = entries(512, 512 * KIB);
    assert_eq!(one.disk_bytes, many.disk_bytes);
    assert!(many.requests * 2 < one.requests, "{one:?} {many:?}");
    assert_eq!(many.cache_bytes, many.objects * KIB);
    assert_eq!((one.batched, many.batched), (1, many.objects.min(512)));
    let too_many = entries(1024, 512 * KIB);
    assert_eq!((too_many.requests, too_many.batched), (one.requests, 1));
}

#[test]
fn who_watches_hears_of_each_step_and_may_end_it() {
    let volume = Volume::new();
    let mut events = Vec::new();
    let mut goes = [0; Step::ALL.len()];
    let reading = read_watched(&volume.source, volume.map(), &small(), &mut |moment| {
        match moment {
            Moment::Begins(step) => events.push(format!("{} begins", step.name())),
            Moment::Goes(step) => goes[step as usize] += 1,
            Moment::Ended(figures) => {
                events.push(format!("{} {}", figures.step.name(), figures.disk_bytes));
            }
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    // Every group, every buffer that was read, every directory block.
    let blocks = of(&reading, Step::Directories).objects;
    let of_step = |step: Step| goes[step as usize];
    assert_eq!(of_step(Step::Clusters), 64);
    assert_eq!(of_step(Step::Inodes), 64);
    assert_eq!(of_step(Step::Directories), blocks);
    assert!(of_step(Step::Scan) >= of(&reading, Step::Scan).requests);
    let reported = reading.steps.iter().flat_map(|of| {
        let name = of.step.name();
        [
            format!("{name} begins"),
            format!("{name} {}", of.disk_bytes),
        ]
    });
    assert_eq!(events, reported.collect::<Vec<_>>());
    // Between two steps, and in the middle of one.
    for most in [3, 100] {
        let mut reported = 0;
        let stopped = read_watched(&volume.source, volume.map(), &small(), &mut |_| {
            reported += 1;
            if reported < most {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        assert!(matches!(stopped, Err(Error::Stopped { .. })), "{stopped:?}");
        assert_eq!(reported, most);
    }
}

#[test]
fn what_is_no_filesystem_is_one_clear_line() {
    let noise = blockio::Ram::new(&[7; 8192]);
    let message = GroupMap::of(&noise).err().unwrap().to_string();
    assert!(
        message.contains("fslab check") && !message.contains('\n'),
        "{message}"
    );
    let short = blockio::Ram::new(&[0; 100]);
    assert!(GroupMap::of(&short).is_err());
}
