use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::engine::{
    ABORT, Capabilities, Engine, Failure, Job, Kind, Latency, Null, Order, Run, STONEWALL, Sync,
};
use crate::mounted::Mounted;
use crate::{Progress, Silent};
use params::Bytes;
use progress::{Event, Recorder};

const K: u64 = 1024;

fn options(dir: &Path, threads: u32) -> ThroughputSpec {
    ThroughputSpec {
        threads,
        size: Bytes(64 * K),
        record: Bytes(4 * K),
        settle_seconds: 0.0,
        ..ThroughputSpec::new(dir)
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn phase(outcome: &Outcome, test: Test) -> &PhaseReport {
    outcome
        .phases
        .iter()
        .find(|p| p.name == test.name())
        .unwrap()
}

/// Child 0 runs freely; every other child does `free` records, begins one more, and holds it in
/// flight until the stonewall is up.
struct Held {
    inner: Sync,
    free: Option<u64>,
}

impl Engine for Held {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn run(
        &mut self,
        job: &Job<'_>,
        from: u64,
        watch: u32,
        latency: Option<&mut Latency>,
    ) -> Result<Run, Failure> {
        let Some(free) = self.free.take() else {
            return self.inner.run(job, from, watch, latency);
        };
        let until = |n: u64| Job {
            order: match job.order {
                Order::Sequential(_) => Order::Sequential(n),
                Order::Random(order) => Order::Random(&order[..n as usize]),
            },
            ..*job
        };
        self.inner.run(&until(free), from, 0, None)?;
        while !job.flags.up(STONEWALL | ABORT) {
            std::thread::yield_now();
        }
        let in_flight = self.inner.run(&until(free + 1), free, 0, None)?;
        Ok(Run {
            counted: free,
            stopped: true,
            ..in_flight
        })
    }
}

fn held(free: u64) -> impl Fn(u32, crate::buffer::Buffer) -> io::Result<Box<dyn Engine>> {
    move |child, buffer| {
        Ok(Box::new(Held {
            inner: Sync::new(buffer),
            free: (child > 0).then_some(free),
        }))
    }
}

#[test]
fn six_tests_in_order_whole_and_cleaned_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path(), 3);
    options.stonewall = false;
    let outcome = run(&options, &Silent).unwrap();
    let order: Vec<&str> = outcome.phases.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        order,
        [
            "initial_write",
            "rewrite",
            "read",
            "reread",
            "random_read",
            "random_write"
        ]
    );
    for phase in &outcome.phases {
        assert_eq!(phase.bytes, 3 * 64 * K);
        assert_eq!(
            (phase.bytes_asked, phase.bytes_transferred),
            (phase.bytes, phase.bytes)
        );
        assert_eq!(phase.operations, 48);
        assert_eq!(phase.threads.len(), 3);
        let writes = !phase.name.contains("read");
        let record = if writes { "write" } else { "read" };
        assert!(phase.figures[&format!("{record}_p999")] > 0.0);
        assert_eq!(phase.figures.contains_key("fsync_p99"), writes);
        let of = |operation: &str| {
            let found = phase.latency.iter().find(|l| l.operation == operation);
            found.map_or(0, |l| l.count)
        };
        let fsyncs = if writes { 3 } else { 0 };
        assert_eq!(
            [of(record), of("open"), of("close"), of("fsync")],
            [48, 3, 3, fsyncs]
        );
        let clocks = phase.clock_seconds;
        assert!(
            clocks.original < clocks.fsync && clocks.fsync < clocks.syncfs,
            "{clocks:?}"
        );
        let rates = phase.bytes_per_s;
        assert!(rates.original.unwrap() > rates.syncfs.unwrap(), "{rates:?}");
        assert!(rates.fsync.unwrap() > rates.syncfs.unwrap(), "{rates:?}");
        assert_eq!(rates.original, Some(phase.figures["children"]));
    }
    assert!(names(dir.path()).is_empty());
    assert!(outcome.warnings[0].contains("come from the page cache"));
    let is_warm = |outcome: &Outcome| {
        let seen = &phase(outcome, Test::Reread).evidence[0];
        println!("{}", seen.detail);
        seen.detail == "warm: 48 of 48 pages resident, 0 dirty"
    };
    // Another test may drop the whole machine's page cache.
    let mut again = std::iter::repeat_with(|| run(&options, &Silent).unwrap()).take(5);
    assert!(is_warm(&outcome) || again.any(|outcome| is_warm(&outcome)));
}

#[test]
fn figures_keep_iozones_invariants_with_stonewall() {
    let dir = tempfile::tempdir().unwrap();
    for threads in [1, 4] {
        let outcome = run(&options(dir.path(), threads), &Silent).unwrap();
        for phase in &outcome.phases {
            let f = &phase.figures;
            assert!(f["children"] >= f["parent"], "{} {f:?}", phase.name);
            assert!(f["min_xfer"] <= 64.0 * K as f64);
            let most = phase.threads.iter().map(|t| t.bytes).max();
            assert_eq!(most, Some(64 * K), "{}", phase.name);
            if threads == 1 {
                assert!(f["children"] == f["min"] && f["max"] == f["avg"]);
            }
        }
    }
}

#[test]
fn stonewalled_initial_and_random_writes_freeze_but_complete_their_files() {
    let dir = tempfile::tempdir().unwrap();
    for include_fsync in [false, true] {
        let mut options = options(dir.path(), 2);
        (options.keep, options.include_fsync) = (true, include_fsync);
        options.tests = vec![Test::InitialWrite, Test::RandomWrite];
        let outcome = run_with(&options, &Silent, &held(5)).unwrap();
        for phase in &outcome.phases {
            let slow = &phase.threads[1];
            assert_eq!(slow.bytes, 5 * 4 * K, "the sixth was in flight");
            assert_eq!(slow.bytes_transferred, 64 * K, "{}", phase.name);
            assert_eq!(phase.threads[0].bytes, 64 * K);
            assert_eq!(phase.figures["min_xfer"], 5.0 * 4.0 * K as f64);
        }
        for file in names(dir.path()) {
            let path = dir.path().join(file);
            assert_eq!(std::fs::metadata(path).unwrap().len(), 64 * K);
        }
    }
}

#[test]
fn stonewalled_rewrite_and_reads_stop_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path(), 2);
    options.tests = Test::ALL.to_vec();
    let outcome = run_with(&options, &Silent, &held(5)).unwrap();
    for test in [Test::Rewrite, Test::Read, Test::Reread, Test::RandomRead] {
        let phase = phase(&outcome, test);
        let slow = &phase.threads[1];
        assert_eq!(slow.bytes, 5 * 4 * K, "{}", phase.name);
        assert_eq!(slow.bytes_transferred, 6 * 4 * K, "{}", phase.name);
        assert_eq!(phase.bytes_transferred, 22 * 4 * K, "{}", phase.name);
    }
}

#[test]
fn fsync_and_close_move_into_clock_a_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    for (fsync, close) in [(true, false), (false, true), (true, true)] {
        let mut options = options(dir.path(), 1);
        (options.include_fsync, options.include_close) = (fsync, close);
        options.tests = vec![Test::InitialWrite];
        let outcome = run(&options, &Silent).unwrap();
        let phase = &outcome.phases[0];
        let (original, synced) = (phase.clock_seconds.original, phase.clock_seconds.fsync);
        let parent = phase.bytes as f64 / phase.figures["parent"];
        if fsync && close {
            // The parent's release is before the child's begin, by a wake-up.
            assert!(synced.unwrap() <= parent + 1e-6, "{synced:?} {parent}");
        } else {
            assert!(
                original < synced,
                "{fsync} {close}: {original:?} {synced:?}"
            );
        }
        if close && !fsync {
            assert!(
                synced.unwrap() > parent,
                "the added fsync is outside the parent's clock"
            );
        }
    }
}

#[test]
fn file_state_decides_about_leftovers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("iozone.DUMMY.0");
    let mut options = options(dir.path(), 1);
    (options.keep, options.tests) = (true, vec![Test::InitialWrite]);
    let after = |options: &ThroughputSpec| {
        std::fs::write(&path, vec![1; 100_000]).unwrap();
        let before = std::fs::metadata(&path).unwrap().ino();
        // A second name keeps the old inode alive, so its number is not given away again.
        let link = dir.path().join("link");
        std::fs::hard_link(&path, &link).unwrap();
        let outcome = run(options, &Silent).unwrap();
        let now = std::fs::metadata(&path).unwrap();
        std::fs::remove_file(link).unwrap();
        let seen = outcome.phases[0].evidence[0].clone();
        (now.ino() == before, now.len(), seen.holds, seen.detail)
    };
    let fresh = after(&options);
    assert_eq!(
        fresh,
        (
            false,
            64 * K,
            Some(true),
            "fresh: 1 of 1 were there and unlinked".into()
        )
    );
    options.file_state = FileState::Truncate;
    assert_eq!(after(&options).1, 64 * K);
    options.file_state = FileState::Reuse;
    let (same, len, holds, _) = after(&options);
    assert_eq!((same, len, holds), (true, 100_000, Some(false)));
    options.keep = false;
    run(&options, &Silent).unwrap();
    assert!(names(dir.path()).is_empty());
}

#[test]
fn reads_without_files_or_with_short_ones_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path(), 2);
    options.tests = vec![Test::Read];
    let error = run(&options, &Silent).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot open ") && error.contains("iozone.DUMMY."),
        "{error}"
    );
    for i in 0..2 {
        std::fs::write(dir.path().join(format!("iozone.DUMMY.{i}")), "short").unwrap();
    }
    let error = run(&options, &Silent).unwrap_err().to_string();
    assert!(
        error.contains("has 5 of 65536 bytes; run initial_write first"),
        "{error}"
    );
    // A run that wrote nothing removes nothing.
    assert_eq!(names(dir.path()).len(), 2);
}

#[test]
fn a_target_that_is_no_directory_and_sizes_beyond_the_disk_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = run(&options(&file, 1), &Silent).unwrap_err().to_string();
    assert!(error.contains("is not a directory"), "{error}");
    let mut huge = options(dir.path(), 8);
    huge.size = Bytes(1 << 55);
    huge.record = Bytes(16 << 20);
    huge.tests = vec![Test::InitialWrite];
    let error = run(&huge, &Silent).unwrap_err().to_string();
    assert!(
        error.contains("are larger than the") && error.contains("bytes free"),
        "{error}"
    );
    assert_eq!(names(dir.path()), ["file"]);
}

#[test]
fn direct_records_must_fit_the_alignment() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path(), 1);
    (options.direct, options.record) = (true, Bytes(1025));
    let error = run(&options, &Silent).unwrap_err().to_string();
    assert!(
        error.starts_with("record = 1025: O_DIRECT needs"),
        "{error}"
    );
    let error = super::preflight::target(&options).unwrap_err().to_string();
    assert!(error.starts_with("record = 1025: O_DIRECT on"), "{error}");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn direct_runs_of_both_engines_are_honoured_and_stay_out_of_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    for (engine, queue_depth) in [(Kind::Sync, 1), (Kind::Aio, 8), (Kind::IoUring, 8)] {
        let mut options = options(dir.path(), 2);
        (options.direct, options.engine, options.queue_depth) = (true, engine, queue_depth);
        let outcome = run(&options, &Silent).unwrap();
        for phase in &outcome.phases {
            let seen = phase
                .evidence
                .iter()
                .find(|e| e.name == "direct_io_honoured")
                .unwrap();
            assert_eq!(seen.holds, Some(true), "{}: {}", phase.name, seen.detail);
        }
        assert!(
            phase(&outcome, Test::Read).evidence[0]
                .detail
                .starts_with("cold: 0 of 32")
        );
    }
}

#[test]
fn null_engine_touches_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path(), 2);
    (options.engine, options.size) = (Kind::Null, Bytes(1 << 40));
    (options.record, options.tests) = (Bytes(16 << 20), vec![Test::InitialWrite, Test::RandomRead]);
    options.stonewall = false;
    let outcome = run(&options, &Silent).unwrap();
    assert_eq!(outcome.phases[0].operations, 2 * 65_536);
    assert_eq!(outcome.phases[1].bytes, 2 << 40);
    assert_eq!(outcome.phases[1].bytes_transferred, 0);
    assert!(names(dir.path()).is_empty());
}

/// Says stop once the phase has begun; forgets nothing.
#[derive(Default)]
struct Impatient {
    begun: AtomicBool,
    progress: Recorder,
}

impl Observer for Impatient {
    fn phase_started(&self, _: &str) {
        self.begun.store(true, Ordering::SeqCst);
    }
}

impl Progress for Impatient {
    fn inner(&self) -> &dyn Progress {
        &self.progress
    }
    fn cancelled(&self) -> bool {
        self.begun.load(Ordering::SeqCst)
    }
}

#[test]
fn an_interrupt_stops_everyone_and_cleans_up() {
    let dir = tempfile::tempdir().unwrap();
    let stubborn = |_, buffer| {
        let engine = Held {
            inner: Sync::new(buffer),
            free: Some(3),
        };
        Ok(Box::new(engine) as Box<dyn Engine>)
    };
    let observer = Impatient::default();
    let error = run_with(&options(dir.path(), 3), &observer, &stubborn).unwrap_err();
    assert!(
        matches!(&error, Error::Interrupted { phase } if phase == "initial_write"),
        "{error}"
    );
    assert_eq!(observer.progress.steps(), ["initial_write"]);
    assert!(names(dir.path()).is_empty());
}

struct Broken(fn() -> Result<Run, Failure>);

impl Engine for Broken {
    fn capabilities(&self) -> Capabilities {
        Kind::Sync.capabilities()
    }
    fn run(
        &mut self,
        _: &Job<'_>,
        _: u64,
        _: u32,
        _: Option<&mut Latency>,
    ) -> Result<Run, Failure> {
        (self.0)()
    }
}

/// Child 1 is broken, the others wait for a stonewall that never comes.
fn with_broken(how: fn() -> Result<Run, Failure>) -> Error {
    let dir = tempfile::tempdir().unwrap();
    let maker = move |child, buffer| {
        Ok(match child {
            1 => Box::new(Broken(how)) as Box<dyn Engine>,
            _ => Box::new(Held {
                inner: Sync::new(buffer),
                free: Some(2),
            }),
        })
    };
    let error = run_with(&options(dir.path(), 3), &Silent, &maker).unwrap_err();
    assert!(names(dir.path()).is_empty());
    error
}

#[test]
fn one_failing_child_stops_the_others_and_is_named() {
    let error = with_broken(|| {
        Err(Failure {
            transferred: 4096,
            offset: 4096,
            source: io::Error::from_raw_os_error(libc::EIO),
        })
    });
    let text = error.to_string();
    assert!(
        text.starts_with("cannot write ") && text.contains("iozone.DUMMY.1: Input"),
        "{text}"
    );
    let error = with_broken(|| {
        Err(Failure {
            transferred: 4096,
            offset: 4096,
            source: io::Error::from_raw_os_error(libc::ENOSPC),
        })
    });
    let text = error.to_string();
    assert!(
        text.contains("iozone.DUMMY.1 after 4096 of 65536 bytes"),
        "{text}"
    );
}

#[test]
fn a_child_that_panics_is_a_defect_and_hangs_no_other() {
    // Child 0 is an engine that cannot be made, so it fails before READY.
    let dir = tempfile::tempdir().unwrap();
    let maker = |_, _| Err(io::Error::from_raw_os_error(libc::EPERM));
    for (engine, hint) in [
        (Kind::IoUring, "kernel.io_uring_disabled"),
        (Kind::Aio, "fs.aio-max-nr"),
    ] {
        let options = ThroughputSpec {
            engine,
            ..options(dir.path(), 2)
        };
        let error = run_with(&options, &Silent, &maker).unwrap_err().to_string();
        assert!(
            error.contains(hint) && error.contains("use engine sync"),
            "{error}"
        );
    }

    let maker = |child, _| {
        assert_ne!(child, 1, "thrown before READY");
        Ok(Box::new(Null) as Box<dyn Engine>)
    };
    let error = run_with(&options(dir.path(), 2), &Silent, &maker).unwrap_err();
    assert!(
        matches!(&error, Error::Defect { what, reason, .. }
            if what == "child 1" && reason.contains("thrown before READY")),
        "{error}"
    );
}

/// Dies at the first look around, which a child that is long in coming makes one before BEGIN.
struct Dying;

impl Observer for Dying {}

impl Progress for Dying {
    fn cancelled(&self) -> bool {
        panic!("the observer dies")
    }
}

#[test]
fn an_observer_that_panics_hangs_no_child() {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path(), 2);
        let maker = |child, buffer| {
            if child == 1 {
                std::thread::sleep(Duration::from_millis(500));
            }
            Ok(Box::new(Sync::new(buffer)) as Box<dyn Engine>)
        };
        let run = || run_with(&options, &Dying, &maker).is_ok();
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err();
        sender.send((died, names(dir.path()))).unwrap();
    });
    let seen = receiver.recv_timeout(Duration::from_secs(60));
    assert_eq!(seen, Ok((true, Vec::new())), "(panicked, files left)");
}

/// Someone else fills the disk just before the phase begins.
struct Neighbour(PathBuf);

impl Progress for Neighbour {}

impl Observer for Neighbour {
    fn phase_started(&self, _: &str) {
        std::fs::write(&self.0, vec![1; 900 << 10]).unwrap();
    }
}

#[test]
fn a_disk_that_fills_up_in_mid_phase_is_named_and_cleaned_needs_root() {
    let Some(mounted) = Mounted::tmpfs("size=1m") else {
        return;
    };
    let dir = mounted.path();
    for (engine, queue_depth) in [(Kind::Sync, 1), (Kind::Aio, 4), (Kind::IoUring, 4)] {
        let mut options = options(&dir, 2);
        (options.size, options.engine, options.queue_depth) = (Bytes(256 * K), engine, queue_depth);
        mounted.is_empty_soon();
        let neighbour = Neighbour(dir.join("neighbour"));
        let error = run(&options, &neighbour).unwrap_err();
        let Error::NoSpace {
            phase,
            path,
            written,
            asked,
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!((phase.as_str(), *asked), ("initial_write", 256 * K));
        assert!(path.starts_with(&dir) && *written < 256 * K, "{error}");
        assert_eq!(names(&dir), ["neighbour"]);
        std::fs::remove_file(&neighbour.0).unwrap();
    }
}

#[test]
fn progress_covers_every_record_of_every_test() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path(), 2);
    options.tests = vec![Test::InitialWrite, Test::Read];
    let observed = Observed::default();
    run(&options, &observed).unwrap();
    let recorded = &observed.0;
    let records = 2 * 2 * options.records();
    assert_eq!(recorded.steps(), ["initial_write", "read"]);
    assert_eq!(recorded.events()[0], Event::Foresee(records));
    assert_eq!(recorded.advanced(), records);
}

#[derive(Default)]
struct Observed(Recorder);

impl Progress for Observed {
    fn inner(&self) -> &dyn Progress {
        &self.0
    }
}

impl Observer for Observed {}
