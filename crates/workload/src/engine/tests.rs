use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::*;
use crate::buffer::PATTERN;

const RECORD: usize = 4096;

fn wait_until(mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < testkit::HANGS, "waited too long");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn engine(kind: Kind, depth: u32) -> Box<dyn Engine> {
    let buffer = Buffer::for_child(0, RECORD, RECORD * depth as usize, 4096).unwrap();
    make(kind, depth, RECORD, buffer).unwrap()
}

struct Bench {
    file: File,
    flags: Flags,
    done: Counter,
}

impl Bench {
    fn new() -> Bench {
        Bench {
            file: tempfile::tempfile().unwrap(),
            flags: Flags::default(),
            done: Counter::default(),
        }
    }

    fn job<'a>(&'a self, direction: Direction, order: Order<'a>) -> Job<'a> {
        Job {
            file: self.file.as_fd(),
            direction,
            record: RECORD,
            order,
            flags: &self.flags,
            done: &self.done,
            payload: None,
        }
    }
}

#[test]
fn every_engine_writes_and_reads_every_record_once() {
    for (kind, depth) in [
        (Kind::Sync, 1),
        (Kind::Aio, 1),
        (Kind::Aio, 7),
        (Kind::IoUring, 1),
        (Kind::IoUring, 7),
    ] {
        let bench = Bench::new();
        let whole = Run {
            counted: 50,
            position: 50,
            short: 0,
            stopped: false,
        };
        let order = crate::throughput::permutation(50);
        for order in [Order::Sequential(50), Order::Random(&order)] {
            for direction in [Direction::Write, Direction::Read] {
                let mut latency = Latency::default();
                rustix::fs::seek(&bench.file, rustix::fs::SeekFrom::Start(0)).unwrap();
                let job = bench.job(direction, order);
                let run = engine(kind, depth).run(&job, 0, STONEWALL | ABORT, Some(&mut latency));
                assert_eq!(run.unwrap(), whole, "{kind:?} {depth} {order:?}");
                assert_eq!((bench.done.get(), latency.count()), (50, 50));
            }
        }
        let mut content = Vec::new();
        rustix::fs::seek(&bench.file, rustix::fs::SeekFrom::Start(0)).unwrap();
        std::io::Read::read_to_end(&mut &bench.file, &mut content).unwrap();
        assert_eq!(content, vec![PATTERN; 50 * RECORD], "{kind:?} {depth}");
    }
}

#[test]
fn a_record_in_flight_when_the_flag_rises_does_not_count() {
    for (kind, depth) in [(Kind::Sync, 1), (Kind::Aio, 1), (Kind::IoUring, 1)] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let (flags, done) = (Flags::default(), Counter::default());
        let run = std::thread::scope(|scope| {
            let (say, thread) = std::sync::mpsc::channel();
            let (reader, flags, done) = (&reader, &flags, &done);
            let child = scope.spawn(move || {
                say.send(rustix::thread::gettid()).unwrap();
                let job = Job {
                    file: reader.as_fd(),
                    direction: Direction::Read,
                    record: RECORD,
                    order: Order::Sequential(100),
                    flags,
                    done,
                    payload: None,
                };
                engine(kind, depth).run(&job, 0, STONEWALL, None).unwrap()
            });
            let thread = thread.recv().unwrap().as_raw_nonzero();
            writer.write_all(&[1; 2 * RECORD]).unwrap();
            wait_until(|| done.get() == 2);
            // The third record has begun when its thread sleeps.
            let stat = format!("/proc/self/task/{thread}/stat");
            wait_until(|| std::fs::read_to_string(&stat).unwrap().contains(") S "));
            flags.raise(STONEWALL);
            writer.write_all(&[1; RECORD]).unwrap();
            child.join().unwrap()
        });
        let expected = Run {
            counted: 2,
            position: 3,
            short: 0,
            stopped: true,
        };
        assert_eq!(run, expected, "{kind:?}");
    }
}

#[test]
fn a_flag_that_is_not_watched_stops_nothing_and_a_raised_one_lets_nothing_begin() {
    for kind in [Kind::Sync, Kind::Aio, Kind::IoUring, Kind::Null] {
        let bench = Bench::new();
        bench.flags.raise(STONEWALL);
        let job = bench.job(Direction::Write, Order::Sequential(5));
        let run = engine(kind, 1)
            .run(&job, 0, STONEWALL | ABORT, None)
            .unwrap();
        let nothing = Run {
            stopped: true,
            ..Run::default()
        };
        assert_eq!(run, nothing, "{kind:?}");
        let run = engine(kind, 1).run(&job, 2, ABORT, None).unwrap();
        assert_eq!(
            (run.position, run.counted, run.stopped),
            (5, 3, false),
            "{kind:?}"
        );
    }
}

#[test]
fn reading_beyond_the_end_fails_and_says_where() {
    for (kind, depth) in [(Kind::Sync, 1), (Kind::Aio, 4), (Kind::IoUring, 4)] {
        let bench = Bench::new();
        bench.file.set_len(2 * RECORD as u64 + 100).unwrap();
        let job = bench.job(Direction::Read, Order::Sequential(9));
        let failure = engine(kind, depth).run(&job, 0, ABORT, None).unwrap_err();
        assert_eq!(failure.transferred, 2 * RECORD as u64, "{kind:?}");
        assert_eq!(failure.source.kind(), io::ErrorKind::UnexpectedEof);
        assert!(failure.offset >= 2 * RECORD as u64);
    }
}

#[test]
fn a_short_read_is_continued_and_counted() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let (flags, done) = (Flags::default(), Counter::default());
    let job = Job {
        file: reader.as_fd(),
        direction: Direction::Read,
        record: RECORD,
        order: Order::Sequential(1),
        flags: &flags,
        done: &done,
        payload: None,
    };
    // A pipe cannot be read at an offset, so continuing it must fail: proof that it was tried.
    writer.write_all(&[1; 100]).unwrap();
    let failure = engine(Kind::Sync, 1).run(&job, 0, ABORT, None).unwrap_err();
    assert_eq!(failure.source.raw_os_error(), Some(libc::ESPIPE));

    let file = tempfile::tempfile().unwrap();
    file.set_len(3 * RECORD as u64).unwrap();
    let mut bytes = [9; RECORD];
    finish_short(
        file.as_fd(),
        Direction::Write,
        &mut bytes,
        4000,
        RECORD as u64,
    )
    .unwrap();
    let mut back = [1; RECORD];
    finish_short(file.as_fd(), Direction::Read, &mut back, 0, RECORD as u64).unwrap();
    assert!(back[..4000].iter().all(|b| *b == 0) && back[4000..].iter().all(|b| *b == 9));
}

#[test]
fn capabilities_say_what_each_can_do() {
    for kind in [Kind::Sync, Kind::Aio, Kind::IoUring, Kind::Null] {
        assert_eq!(engine(kind, 1).capabilities(), kind.capabilities());
    }
    assert!(Kind::Sync.capabilities().direct && !Kind::Null.capabilities().transfers);
    assert_eq!(
        serde_json::to_string(&Kind::IoUring).unwrap(),
        "\"io_uring\""
    );
}

/// Puts its number into each record and looks for it; finds fault with record `wrong`.
struct Numbered {
    wrong: Option<u64>,
}

impl Payload for Numbered {
    fn fill(&self, record: u64, bytes: &mut [u8]) {
        bytes.fill(record as u8);
    }

    fn check(&self, record: u64, bytes: &[u8]) -> io::Result<()> {
        let good = bytes.iter().all(|b| *b == record as u8) && self.wrong != Some(record);
        if good {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("not {record}"),
        ))
    }
}

#[test]
fn every_engine_fills_what_it_writes_and_checks_what_it_reads() {
    for (kind, depth) in [
        (Kind::Sync, 1),
        (Kind::Aio, 1),
        (Kind::Aio, 7),
        (Kind::IoUring, 1),
        (Kind::IoUring, 7),
    ] {
        let bench = Bench::new();
        let order = crate::throughput::permutation(50);
        for (direction, wrong, fails) in [
            (Direction::Write, Some(30), false),
            (Direction::Read, None, false),
            (Direction::Read, Some(30), true),
        ] {
            for order in [Order::Sequential(50), Order::Random(&order)] {
                rustix::fs::seek(&bench.file, rustix::fs::SeekFrom::Start(0)).unwrap();
                let payload = Numbered { wrong };
                let mut job = bench.job(direction, order);
                job.payload = Some(&payload);
                match engine(kind, depth).run(&job, 0, ABORT, None) {
                    Ok(run) => assert_eq!((run.position, fails), (50, false)),
                    Err(failure) => {
                        assert!(fails, "{kind:?} {depth} {failure:?}");
                        assert_eq!(failure.offset, 30 * RECORD as u64);
                        assert_eq!(failure.source.to_string(), "not 30");
                    }
                }
            }
        }
        let mut content = vec![0; 50 * RECORD];
        std::os::unix::fs::FileExt::read_exact_at(&bench.file, &mut content, 0).unwrap();
        for (record, bytes) in content.chunks(RECORD).enumerate() {
            assert!(bytes.iter().all(|b| usize::from(*b) == record), "{kind:?}");
        }
    }
}
