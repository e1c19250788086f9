use super::*;
use crate::model::{Completion, Model, Request, Usage};
use crate::timeline::{Serial, Timeline};

/// A device that serves one request at a time in 5 ms.
#[derive(Default)]
pub(super) struct Fixed {
    server: Serial,
    done: Timeline<u64>,
}

const SERVICE: u64 = 5_000_000;
const MS: u64 = 1_000_000;

impl Model for Fixed {
    fn capacity(&self) -> u64 {
        1 << 30
    }
    fn submit(&mut self, now: Nanoseconds, request: Request) {
        let at = self.server.occupy(now, SERVICE);
        self.done.push(at, request.tag);
    }
    fn next_event(&self) -> Option<Nanoseconds> {
        self.done.next()
    }
    fn advance(&mut self, now: Nanoseconds, done: &mut Vec<Completion>) {
        while let Some((at, tag)) = self.done.pop_due(now) {
            done.push(Completion { tag, at });
        }
    }
    fn usage(&self, parts: &mut Vec<Usage>) {
        parts.push(Usage {
            part: "disk",
            busy: self.server.busy,
            ..Usage::default()
        });
    }
}

fn recorded(process: u32, submitted: u64, completed: u64) -> Recorded {
    Recorded {
        process,
        submitted: submitted * MS,
        completed: Some(completed * MS),
        op: Op::Read,
        offset: submitted * 4096,
        len: 4096,
        fua: false,
    }
}

/// One process, depth 1: 2 ms of service and 1 ms of think time.
fn loop_of(count: u64) -> Vec<Recorded> {
    (0..count)
        .map(|i| recorded(1, 100 + 3 * i, 102 + 3 * i))
        .collect()
}

fn elapsed(record: &[Recorded], mode: Mode) -> u64 {
    replay(&mut Fixed::default(), record, Options::new(mode))
        .unwrap()
        .elapsed
        / MS
}

const DEPENDENT: Mode = Mode::Dependent { think_limit: None };

#[test]
fn at_depth_one_the_modes_keep_what_they_promise() {
    let record = loop_of(50);
    // Service and think time each, without the last think.
    assert_eq!(elapsed(&record, DEPENDENT), 50 * 6 - 1);
    assert_eq!(elapsed(&record, Mode::Closed), 50 * 5);
    assert_eq!(elapsed(&record, Mode::Saturate { depth: 4 }), 50 * 5);
    // Every 3 ms, served in 5 ms: the queue grows.
    assert_eq!(elapsed(&record, Mode::Open), 50 * 5);
    let slow: Vec<Recorded> = (0..10).map(|i| recorded(1, 10 * i, 10 * i + 2)).collect();
    assert_eq!(elapsed(&slow, Mode::Open), 95);
}

#[test]
fn the_processor_scales_think_times_alone() {
    let record = loop_of(50);
    let options = Options {
        cpu: 3.0,
        ..Options::new(DEPENDENT)
    };
    let result = replay(&mut Fixed::default(), &record, options).unwrap();
    assert_eq!(result.elapsed / MS, 50 * 8 - 3);
    assert_eq!((result.bound.by_completion, result.bound.by_time), (49, 1));
    assert_eq!(result.responses.mean(), SERVICE as f64);
    assert!((result.busiest() - 250.0 / 397.0).abs() < 1e-6);
}

#[test]
fn a_burst_has_one_dependency() {
    // Two requests at once after each completion of both.
    let record: Vec<Recorded> = (0..10)
        .flat_map(|i| [recorded(1, 4 * i, 4 * i + 2), recorded(1, 4 * i, 4 * i + 3)])
        .collect();
    let (after, bound) = dependency::dependencies(&record, None);
    assert_eq!(after[1], After::Submission(0, 0));
    assert_eq!(after[2], After::Completion(1, MS));
    assert_eq!(
        (bound.by_completion, bound.by_burst, bound.by_time),
        (9, 10, 1)
    );
    assert_eq!(elapsed(&record, DEPENDENT), 10 * 11 - 1);
}

#[test]
fn a_long_gap_is_a_timer_and_not_think_time() {
    let mut record = loop_of(99);
    record.push(recorded(1, 10_000, 10_002));
    let (after, bound) = dependency::dependencies(&record, None);
    assert_eq!(
        after[99],
        After::Submission(98, (10_000 - 100 - 3 * 98) * MS)
    );
    assert_eq!(bound.by_time, 2);
    let (after, _) = dependency::dependencies(&record, Some(u64::MAX));
    assert!(matches!(after[99], After::Completion(98, _)));
}

#[test]
fn processes_do_not_wait_for_each_other_but_a_flush_waits_for_all() {
    let mut record = vec![recorded(1, 0, 9), recorded(2, 1, 8), recorded(2, 9, 10)];
    let (after, _) = dependency::dependencies(&record, None);
    assert_eq!(after[1], After::Start(MS));
    assert_eq!(after[2], After::Completion(1, MS));
    record[2].op = Op::Flush;
    // 5 ms each in turn; the flush is submitted when both are done, and its think time has passed.
    assert_eq!(elapsed(&record, DEPENDENT), 16);
}

#[test]
fn recorded_depth_is_kept() {
    // Three in flight from the start, then one more for each completion.
    let mut record: Vec<Recorded> = (0..3).map(|i| recorded(1, 0, 10 + i)).collect();
    record.push(recorded(1, 10, 20));
    let result = replay(&mut Fixed::default(), &record, Options::new(Mode::Closed)).unwrap();
    assert_eq!((result.requests, result.elapsed / MS), (4, 20));
    // The third waits for the two before it, and so does the fourth.
    assert_eq!(result.responses.longest() / MS, 15);
}

#[test]
fn requests_beyond_the_device_are_refused_or_placed() {
    let mut record = loop_of(3);
    record[1].offset = 3 << 30;
    let run = |place| {
        let options = Options {
            place,
            ..Options::new(Mode::Closed)
        };
        replay(&mut Fixed::default(), &record, options).map(|result| result.requests)
    };
    assert!(matches!(
        run(Place::Keep),
        Err(Error::DoesNotFit { index: 1, .. })
    ));
    assert_eq!((run(Place::Scale), run(Place::Wrap)), (Ok(3), Ok(3)));
    record.swap(0, 2);
    let unordered = replay(&mut Fixed::default(), &record, Options::new(Mode::Open));
    assert!(matches!(unordered, Err(Error::OutOfOrder { index: 1 })));
}

proptest::proptest! {
    #[test]
    fn every_request_of_any_record_is_done_once_in_every_mode(
        seeds in proptest::collection::vec((0_u32..4, 0_u64..20, 0_u64..30, 0_u8..10), 0..60),
    ) {
        let mut now = 0;
        let mut record = Vec::new();
        for (process, gap, service, kind) in seeds {
            now += gap;
            let mut request = recorded(process, now, now + service);
            request.offset %= 1 << 29;
            if kind == 0 {
                request.completed = None;
            } else if kind == 1 {
                request.op = Op::Flush;
            }
            record.push(request);
        }
        for mode in [Mode::Open, Mode::Closed, DEPENDENT, Mode::Saturate { depth: 3 }] {
            let result = replay(&mut Fixed::default(), &record, Options::new(mode)).unwrap();
            proptest::prop_assert_eq!(result.requests, record.len() as u64, "{:?}", mode);
            proptest::prop_assert_eq!(result.bytes, record.len() as u64 * 4096);
        }
    }
}
