use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::engine::Kind;
use crate::mounted::Mounted;
use crate::{Clocks, Progress, Silent};
use params::Bytes;

const K: u64 = 1024;

fn options(dir: &Path) -> StreamSpec {
    StreamSpec {
        block: Bytes(64 * K),
        count: 16,
        ..StreamSpec::new(dir)
    }
}

/// On a disk: nothing on a tmpfs is ever cold, and O_DIRECT differs.
fn disk() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn evidence<'a>(phase: &'a PhaseReport, name: &str) -> &'a Evidence {
    phase.evidence.iter().find(|e| e.name == name).unwrap()
}

/// Every engine at a depth, direct and not.
fn ways() -> Vec<(Kind, u32, bool)> {
    let engines = [
        (Kind::Sync, 1),
        (Kind::Aio, 1),
        (Kind::Aio, 5),
        (Kind::IoUring, 1),
        (Kind::IoUring, 5),
    ];
    engines
        .into_iter()
        .flat_map(|(kind, depth)| [(kind, depth, false), (kind, depth, true)])
        .collect()
}

#[test]
fn every_way_writes_and_verifies_every_content() {
    let dir = disk();
    for (engine, queue_depth, direct) in ways() {
        for content in [Content::Zero, Content::Pattern, Content::Random] {
            for (block, count) in [(4 * K, 40), (64 * K, 16), (1024 * K, 3)] {
                let options = StreamSpec {
                    engine,
                    queue_depth,
                    direct,
                    content,
                    block: Bytes(block),
                    count,
                    verify: true,
                    ..options(dir.path())
                };
                let outcome = run(&options, &Silent).unwrap();
                let [write, read] = &outcome.phases[..] else {
                    panic!("{:?}", outcome.phases)
                };
                assert_eq!((write.name.as_str(), read.name.as_str()), ("write", "read"));
                for phase in [write, read] {
                    assert_eq!((phase.bytes, phase.operations), (count * block, count));
                    assert_eq!(phase.bytes_transferred, phase.bytes_asked);
                    let Clocks {
                        original,
                        fsync,
                        syncfs,
                    } = phase.clock_seconds;
                    assert!(0.0 < original.unwrap() && original <= fsync && fsync <= syncfs);
                    assert!(phase.bytes_per_s.original >= phase.bytes_per_s.syncfs);
                }
                assert_eq!(evidence(read, "content_verified").holds, Some(true));
                if direct {
                    for phase in [write, read] {
                        let honoured = evidence(phase, "direct_io_honoured");
                        assert_eq!(honoured.holds, Some(true), "{honoured:?}");
                    }
                }
            }
        }
    }
    assert_eq!(names(dir.path()), [""; 0]);
}

/// Writes a verified file, lets `harm` at it, and reads it back.
fn harmed(harm: impl FnOnce(&std::fs::File)) -> (String, u64) {
    let dir = tempfile::tempdir().unwrap();
    let options = StreamSpec {
        verify: true,
        content: Content::Random,
        test: Test::Write,
        keep: true,
        ..options(dir.path())
    };
    run(&options, &Silent).unwrap();
    let path = options.path();
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    harm(&file);
    let read = StreamSpec {
        test: Test::Read,
        ..options
    };
    let error = run(&read, &Silent).unwrap_err();
    assert!(path.exists(), "a file that was not ours to write stays");
    let Error::Damaged { offset, .. } = error else {
        return (error.to_string(), u64::MAX);
    };
    (error.to_string(), offset)
}

#[test]
fn a_corrupted_byte_a_swap_and_a_truncation_are_found_at_their_offsets() {
    let at = 5 * 64 * K + 4711;
    let (message, offset) = harmed(|file| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1], at).unwrap();
    });
    assert_eq!(offset, at, "{message}");
    assert!(
        message.contains("is damaged at byte 332391: 0x"),
        "{message}"
    );

    let (message, offset) = harmed(|file| {
        let (mut a, mut b) = (vec![0; 65_536], vec![0; 65_536]);
        file.read_exact_at(&mut a, 3 * 65_536).unwrap();
        file.read_exact_at(&mut b, 7 * 65_536).unwrap();
        file.write_all_at(&b, 3 * 65_536).unwrap();
        file.write_all_at(&a, 7 * 65_536).unwrap();
    });
    assert_eq!(offset, 3 * 65_536, "{message}");
    assert!(
        message.contains("block 112 of byte 458752, whole, is in the place of block 48"),
        "{message}"
    );

    let (message, offset) = harmed(|file| {
        file.set_len(10 * 65_536).unwrap();
        file.set_len(16 * 65_536).unwrap();
    });
    assert_eq!(offset, 10 * 65_536, "{message}");
    assert!(message.contains("only zeros"), "{message}");

    let (message, _) = harmed(|file| file.set_len(1_000_000).unwrap());
    assert!(
        message.contains("it has 1000000 of 1048576 bytes; write it first"),
        "{message}"
    );
}

#[test]
fn what_an_earlier_run_left_is_not_taken_for_this_ones() {
    // A write that the filesystem loses: the observer puts the old bytes back between the phases.
    struct Old(Vec<u8>, std::path::PathBuf);
    impl Progress for Old {}
    impl Observer for Old {
        fn remount(&self) -> io::Result<Evidence> {
            let file = std::fs::OpenOptions::new().write(true).open(&self.1)?;
            file.write_all_at(&self.0, 8 * 65_536)?;
            Ok(Evidence {
                name: "cold_cache".into(),
                holds: Some(true),
                detail: "unmounted and mounted".into(),
            })
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    (options.verify, options.keep, options.test) = (true, true, Test::Write);
    run(&options, &Silent).unwrap();
    let mut old = vec![0; 4096];
    let file = std::fs::File::open(options.path()).unwrap();
    file.read_exact_at(&mut old, 8 * 65_536).unwrap();
    (options.test, options.keep) = (Test::WriteRead, false);
    let error = run(&options, &Old(old, options.path())).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, Error::Damaged { offset, .. } if offset == 8 * 65_536));
    assert!(message.contains("its write was lost"), "{message}");
    assert!(options.path().exists(), "evidence of damage is not removed");
}

#[test]
fn state_before_size_after_and_end_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    options.test = Test::Write;
    let state = |options: &StreamSpec| {
        let outcome = run(options, &Silent).unwrap();
        evidence(&outcome.phases[0], "file_state").detail.clone()
    };
    std::fs::write(options.path(), vec![7; 2 << 20]).unwrap();
    let inode = std::fs::metadata(options.path()).unwrap().ino();
    (options.reuse, options.keep) = (true, true);
    assert_eq!(
        state(&options),
        "reuse: 2097152 bytes were there and are written over"
    );
    let meta = std::fs::metadata(options.path()).unwrap();
    assert_eq!((meta.ino(), meta.len()), (inode, 2 << 20));
    options.reuse = false;
    assert_eq!(
        state(&options),
        "truncate: 2097152 bytes were there and were freed at open"
    );
    let meta = std::fs::metadata(options.path()).unwrap();
    assert_eq!((meta.ino(), meta.len()), (inode, 1 << 20));
    options.keep = false;
    state(&options);
    assert!(!options.path().exists());
    assert_eq!(state(&options), "fresh: it was not there");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn seek_and_skip_count_blocks_for_every_engine() {
    let dir = disk();
    for (engine, queue_depth, direct) in ways() {
        let mut options = StreamSpec {
            engine,
            queue_depth,
            direct,
            seek: 3,
            skip: 3,
            verify: true,
            keep: true,
            content: Content::Pattern,
            ..options(dir.path())
        };
        // Without `reuse` what is there is cut to its first three blocks.
        std::fs::write(options.path(), vec![1; 8 << 20]).unwrap();
        run(&options, &Silent).unwrap();
        let file = std::fs::read(options.path()).unwrap();
        assert_eq!(file.len() as u64, 19 * 64 * K);
        assert!(file[..3 * 65_536].iter().all(|b| *b == 1));
        assert_eq!(file[3 * 65_536], crate::buffer::PATTERN);
        // One block further on than the file has.
        (options.test, options.skip) = (Test::Read, 4);
        let message = run(&options, &Silent).unwrap_err().to_string();
        assert!(message.contains("1245184 of 1310720 bytes"), "{message}");
        // The third block is not of this run.
        options.skip = 2;
        let message = run(&options, &Silent).unwrap_err().to_string();
        assert!(
            message.contains("damaged at byte 131072: no block number"),
            "{message}"
        );
    }
}

#[test]
fn flushes_and_write_through_are_accepted_and_change_no_byte() {
    let dir = tempfile::tempdir().unwrap();
    for flush in [Flush::None, Flush::Fsync, Flush::Fdatasync] {
        for write_through in [WriteThrough::None, WriteThrough::Dsync, WriteThrough::Sync] {
            let options = StreamSpec {
                flush,
                write_through,
                verify: true,
                ..options(dir.path())
            };
            run(&options, &Silent).unwrap();
        }
    }
}

#[test]
fn the_flags_of_the_open_file_are_those_asked_for() {
    // The watcher's first call comes while the file is open; the block is large enough for that.
    struct Flags(std::path::PathBuf, Mutex<Vec<i64>>);
    impl Observer for Flags {}
    impl Progress for Flags {
        fn cancelled(&self) -> bool {
            for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
                if std::fs::read_link(entry.path()).ok().as_ref() != Some(&self.0) {
                    continue;
                }
                let number = entry.file_name().into_string().unwrap();
                let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"));
                let text = info.unwrap_or_default();
                let flags = text.lines().find_map(|l| l.strip_prefix("flags:"));
                let flags = flags.and_then(|f| i64::from_str_radix(f.trim(), 8).ok());
                self.1.lock().unwrap().extend(flags);
            }
            false
        }
    }
    let dir = disk();
    let mut options = options(dir.path());
    (options.direct, options.write_through, options.test) =
        (true, WriteThrough::Dsync, Test::Write);
    // Until it takes longer than a tick of the watcher.
    for count in [500, 5_000, 50_000] {
        options.count = count;
        let observer = Flags(options.path(), Mutex::default());
        run(&options, &observer).unwrap();
        let seen = observer.1.into_inner().unwrap();
        if let Some(flags) = seen.iter().find(|f| **f & i64::from(libc::O_WRONLY) != 0) {
            let asked = i64::from(libc::O_DIRECT | libc::O_DSYNC);
            assert_eq!(flags & asked, asked, "{flags:o}");
            return;
        }
    }
    panic!("the open file was never seen");
}

#[test]
fn without_a_remount_caches_are_dropped_and_it_is_reported() {
    struct Drops(AtomicU32);
    impl Progress for Drops {}
    impl Observer for Drops {
        fn drop_caches(&self, files: &[&Path]) -> io::Result<Evidence> {
            assert!(files[0].exists());
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Evidence {
                name: "cold_cache".into(),
                holds: Some(true),
                detail: "dropped".into(),
            })
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    let drops = Drops(AtomicU32::new(0));
    let outcome = run(&options, &drops).unwrap();
    let cold = evidence(&outcome.phases[1], "cold_cache");
    assert_eq!(
        cold.detail,
        "not unmounted (the filesystem cannot be unmounted here), caches dropped instead: dropped"
    );
    assert!(outcome.warnings.iter().any(|w| w.contains("not unmounted")));
    options.between = Between::Drop;
    let outcome = run(&options, &drops).unwrap();
    assert_eq!(evidence(&outcome.phases[1], "cold_cache").detail, "dropped");
    options.between = Between::Warm;
    let outcome = run(&options, &drops).unwrap();
    let names: Vec<&str> = outcome.phases[1]
        .evidence
        .iter()
        .map(|e| e.name.as_str())
        .collect();
    assert_eq!(names, ["cache_state"]);
    assert_eq!(drops.0.load(Ordering::Relaxed), 2);
}

#[test]
fn nothing_is_open_when_the_filesystem_is_unmounted_and_a_failure_there_ends_the_run() {
    struct Refuses(std::path::PathBuf);
    impl Progress for Refuses {}
    impl Observer for Refuses {
        fn remount(&self) -> io::Result<Evidence> {
            let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            let ours =
                open.filter(|e| std::fs::read_link(e.path()).is_ok_and(|p| p.starts_with(&self.0)));
            assert_eq!(ours.count(), 0);
            Err(io::Error::from_raw_os_error(libc::EBUSY))
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let message = run(&options(dir.path()), &Refuses(dir.path().to_owned()))
        .unwrap_err()
        .to_string();
    assert!(message.starts_with("cannot remount "), "{message}");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn what_is_no_file_or_not_there_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    std::fs::create_dir(options.path()).unwrap();
    for test in [Test::Write, Test::Read] {
        options.test = test;
        let message = run(&options, &Silent).unwrap_err().to_string();
        assert!(
            message.contains("it is a directory, not a regular file"),
            "{message}"
        );
    }
    std::fs::remove_dir(options.path()).unwrap();
    let message = run(&options, &Silent).unwrap_err().to_string();
    assert!(
        message.starts_with("cannot read ") && message.contains("create it first"),
        "{message}"
    );
    let real = dir.path().join("precious");
    std::fs::write(&real, "x").unwrap();
    std::os::unix::fs::symlink(&real, options.path()).unwrap();
    options.test = Test::Write;
    let message = run(&options, &Silent).unwrap_err().to_string();
    assert!(message.contains("a symbolic link"), "{message}");
    assert_eq!(std::fs::read(&real).unwrap(), b"x");
    options.dir = dir.path().join("none");
    let message = run(&options, &Silent).unwrap_err().to_string();
    assert!(message.starts_with("cannot examine "), "{message}");
}

#[test]
fn an_interrupt_ends_it_soon_and_removes_the_file() {
    struct Stops;
    impl Observer for Stops {}
    impl Progress for Stops {
        fn cancelled(&self) -> bool {
            std::thread::current().name() == Some("write-watch")
        }
    }
    let dir = disk();
    let options = StreamSpec {
        block: Bytes(512),
        count: 1 << 20,
        write_through: WriteThrough::Dsync,
        test: Test::Write,
        keep: true,
        ..options(dir.path())
    };
    let begin = std::time::Instant::now();
    let error = run(&options, &Stops).unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error}");
    assert!(begin.elapsed() < testkit::HANGS, "{:?}", begin.elapsed());
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn the_null_engine_touches_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let options = StreamSpec {
        engine: Kind::Null,
        count: 1 << 20,
        ..options(dir.path())
    };
    let outcome = run(&options, &Silent).unwrap();
    for phase in &outcome.phases {
        assert_eq!((phase.operations, phase.bytes_transferred), (1 << 20, 0));
        assert!(phase.evidence.is_empty());
    }
    assert_eq!(names(dir.path()), [""; 0]);
}

/// A neighbour that takes the space when the phase has begun.
struct Neighbour(std::path::PathBuf);
impl Progress for Neighbour {}

impl Observer for Neighbour {
    fn phase_started(&self, _: &str) {
        std::fs::write(self.0.join("neighbour"), vec![1; 512 << 10]).unwrap();
    }
}

#[test]
fn a_full_filesystem_is_reported_with_its_offset_and_nothing_is_kept_needs_root() {
    let Some(small) = Mounted::tmpfs("size=1m") else {
        return;
    };
    let dir = &small.path();
    let mut options = options(dir);
    (options.test, options.keep, options.count) = (Test::Write, true, 20);
    let message = run(&options, &Silent).unwrap_err().to_string();
    assert!(
        message.starts_with("count = 20: 20 blocks of 64k are 1310720 bytes, more than the"),
        "{message}"
    );
    for (engine, queue_depth) in [(Kind::Sync, 1), (Kind::Aio, 3), (Kind::IoUring, 3)] {
        (options.engine, options.queue_depth, options.count) = (engine, queue_depth, 15);
        small.is_empty_soon();
        let error = run(&options, &Neighbour(dir.clone())).unwrap_err();
        let message = error.to_string();
        let Error::NoSpace { written, asked, .. } = error else {
            panic!("{message}")
        };
        assert_eq!((written, asked), (512 * K, 15 * 64 * K), "{engine:?}");
        assert!(
            message.contains("after 524288 of 983040 bytes; free some space"),
            "{message}"
        );
        assert_eq!(names(dir), ["neighbour"]);
        std::fs::remove_file(dir.join("neighbour")).unwrap();
    }
}

#[test]
fn a_read_only_mount_is_reported_needs_root() {
    let Some(small) = Mounted::tmpfs("size=4m") else {
        return;
    };
    small.becomes_read_only();
    let message = run(&options(&small.path()), &Silent)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("Read-only file system") && message.contains("mount it read-write"),
        "{message}"
    );
}
