mod kernel_threads;

use super::*;
use crate::noted::{Noted, Sent};

/// A device that serves one request at a time, in 5 ms.
pub(super) fn fixed() -> Noted {
    fixed_of(SERVICE)
}

fn fixed_of(service: u64) -> Noted {
    let mut device = Noted::new(0, 1 << 30, service, &Sent::default());
    device.in_turn = true;
    device
}

const SERVICE: u64 = 5_000_000;
const MS: u64 = 1_000_000;

fn recorded(process: u32, submitted: u64, completed: u64) -> Recorded {
    Recorded {
        process,
        submitted: submitted * MS,
        completed: Some(completed * MS),
        op: Op::Read,
        offset: submitted * 4096,
        len: 4096,
        fua: false,
        sender: Sender::Process,
    }
}

/// One process, depth 1: 2 ms of service and 1 ms of think time.
fn loop_of(count: u64) -> Vec<Recorded> {
    (0..count)
        .map(|i| recorded(1, 100 + 3 * i, 102 + 3 * i))
        .collect()
}

fn elapsed(record: &[Recorded], mode: Mode) -> u64 {
    replay(&mut fixed(), record, Options::new(mode))
        .unwrap()
        .elapsed
        / MS
}

const DEPENDENT: Mode = Mode::Dependent { think_limit: None };

fn bound(record: &[Recorded], think_limit: Option<u64>) -> Bound {
    let options = Options::new(Mode::Dependent { think_limit });
    replay(&mut fixed(), record, options).unwrap().bound
}

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
    let result = replay(&mut fixed(), &record, options).unwrap();
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
    let (kept, outline) = linked(&record).unwrap();
    let after = |i: usize| kept[i].after(outline.think_limit);
    assert_eq!((after(1), kept[0].next), (After::Submission, Some(1)));
    assert_eq!((after(2), kept[1].reaction), (After::Completion, Some(2)));
    assert_eq!((kept[2].gap, kept[0].reaction), (Some(MS), None));
    let bound = bound(&record, None);
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
    let (kept, outline) = linked(&record).unwrap();
    assert_eq!(outline.think_limit / MS, 1);
    assert_eq!(kept[99].after(outline.think_limit), After::Submission);
    assert_eq!(kept[98].next, Some(99));
    assert_eq!(
        kept[99].submitted - kept[98].submitted,
        (10_000 - 100 - 3 * 98) * MS
    );
    assert_eq!(bound(&record, None).by_time, 2);
    assert_eq!(kept[99].after(u64::MAX), After::Completion);
    assert_eq!(bound(&record, Some(u64::MAX)).by_time, 1);
}

#[test]
fn processes_do_not_wait_for_each_other_but_a_flush_waits_for_all() {
    let mut record = vec![recorded(1, 0, 9), recorded(2, 1, 8), recorded(2, 9, 10)];
    let (kept, outline) = linked(&record).unwrap();
    assert_eq!(outline.starts, [0, 1]);
    assert_eq!((kept[1].after(0), kept[1].submitted), (After::Start, MS));
    assert_eq!((kept[2].gap, kept[1].reaction), (Some(MS), Some(2)));
    record[2].op = Op::Flush;
    // 5 ms each in turn; the flush is submitted when both are done, and its think time has passed.
    assert_eq!(elapsed(&record, DEPENDENT), 16);
}

#[test]
fn recorded_depth_is_kept() {
    // Three in flight from the start, then one more for each completion.
    let mut record: Vec<Recorded> = (0..3).map(|i| recorded(1, 0, 10 + i)).collect();
    record.push(recorded(1, 10, 20));
    let result = replay(&mut fixed(), &record, Options::new(Mode::Closed)).unwrap();
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
        replay(&mut fixed(), &record, options).map(|result| result.requests)
    };
    assert!(matches!(
        run(Place::Keep),
        Err(Error::DoesNotFit { index: 1, .. })
    ));
    assert_eq!((run(Place::Scale), run(Place::Wrap)), (Ok(3), Ok(3)));
    record.swap(0, 2);
    let unordered = replay(&mut fixed(), &record, Options::new(Mode::Open));
    assert!(matches!(unordered, Err(Error::OutOfOrder { index: 1 })));
}

#[test]
fn places_are_kept_in_proportion_or_modulo_the_size() {
    const GIB: u64 = 1 << 30;
    let placed = |offsets: &[u64], place| {
        let record: Vec<Recorded> = offsets
            .iter()
            .map(|offset| Recorded {
                offset: *offset,
                ..recorded(1, 0, 1)
            })
            .collect();
        let mut model = fixed();
        let options = Options {
            place,
            ..Options::new(Mode::Open)
        };
        replay(&mut model, &record, options).unwrap();
        let sent = model.sent.lock().unwrap();
        sent.iter().map(|s| s.2).collect::<Vec<u64>>()
    };
    // Of a device of 4 GiB on one of 1 GiB.
    let large = [0, GIB, 2 * GIB + 20_480, 4 * GIB - 4096];
    assert_eq!(
        placed(&large, Place::Scale),
        [0, GIB / 4, GIB / 2 + 4096, GIB - 4096]
    );
    assert_eq!(placed(&large, Place::Wrap), [0, 0, 20_480, GIB - 4096]);
    // What fits stays, also where all could be spread out.
    let small = [4096, GIB / 2];
    for place in [Place::Keep, Place::Scale, Place::Wrap] {
        assert_eq!(placed(&small, place), small);
    }
}

/// Requests as they are computed, whose readings are counted: none is kept here.
struct Computed {
    depth: u32,
    count: u32,
    read: u64,
}

impl Requests for Computed {
    /// `depth` processes in turn, each with one request at a time and 1 ms of think time.
    fn get(&mut self, number: u32) -> Result<Kept, Error> {
        self.read += 1;
        let next = Some(number + self.depth).filter(|next| *next < self.count);
        let follows = number >= self.depth;
        Ok(Kept {
            submitted: u64::from(number / self.depth) * 3 * MS,
            op: if number % 1000 == 7 {
                Op::Flush
            } else {
                Op::Read
            },
            offset: u64::from(number % 1000) * 4096,
            len: 4096,
            fua: false,
            depth: self.depth - 1,
            gap: follows.then_some(MS),
            is_timed: false,
            follows,
            next,
            reaction: next,
            sibling: None,
        })
    }
}

#[test]
fn what_is_held_does_not_grow_with_the_record() {
    let held = |mode, count| {
        let mut requests = Computed {
            depth: 4,
            count,
            read: 0,
        };
        let outline = Outline {
            count,
            starts: (0..4).collect(),
            think_limit: MS,
            size: 1 << 22,
            structural: Structural::Scattered,
            recorded: None,
            open: 0,
        };
        // Serves as fast as was recorded, so that the queue of the open mode does not grow either.
        let mut model = fixed_of(MS / 2);
        let options = Options::new(mode);
        let result = replay_linked(
            &mut model,
            &mut requests,
            &outline,
            options,
            &mut |_, _, _| {},
        );
        let result = result.unwrap();
        assert_eq!(result.requests, u64::from(count), "{mode:?}");
        assert!(requests.read <= 3 * u64::from(count), "{mode:?}");
        result.most_held
    };
    for mode in [
        Mode::Open,
        Mode::Closed,
        DEPENDENT,
        Mode::Saturate { depth: 9 },
    ] {
        let (few, many) = (held(mode, 2_000), held(mode, 200_000));
        assert!((4..=9).contains(&few), "{mode:?}: {few}");
        assert_eq!(few, many, "{mode:?}");
    }
}

/// A record of a process, the time since the request before, a time of service and a kind for each request. Processes from 3 on
/// are kernel threads.
fn made(seeds: Vec<(u32, u64, u64, u8)>) -> Vec<Recorded> {
    let mut now = 0;
    let one = |(process, gap, service, kind)| {
        now += gap;
        let mut request = recorded(process, now, now + service);
        request.offset %= 1 << 29;
        if kind == 0 {
            request.completed = None;
        } else if kind == 1 {
            request.op = Op::Flush;
        }
        request.sender = match process {
            0..3 => Sender::Process,
            _ if kind < 8 => Sender::KernelAwaited,
            _ => Sender::Kernel,
        };
        request
    };
    seeds.into_iter().map(one).collect()
}

/// Requests whose gap counts from the completion of this one, the last first.
fn reactions(kept: &[Kept], number: usize) -> Vec<usize> {
    let after = |of: &usize| kept[*of].sibling.map(|sibling| sibling as usize);
    let first = kept[number].reaction.map(|reaction| reaction as usize);
    std::iter::successors(first, after).collect()
}

/// All dependencies known from the start, a replay as it is defined: what the one that reads requests as it needs them must equal.
fn defined(record: &[Recorded]) -> u64 {
    let (kept, outline) = linked(record).unwrap();
    let after = |i: usize| kept[i].after(outline.think_limit);
    let (mut submitted, mut done) = (vec![None; kept.len()], vec![None::<u64>; kept.len()]);
    let mut free = 0;
    for _ in 0..kept.len() {
        let due = |i: usize| -> Option<u64> {
            let at = match after(i) {
                After::Start => kept[i].submitted,
                After::Submission => {
                    let before = (0..i).find(|b| kept[*b].next == Some(i as u32))?;
                    submitted[before]? + kept[i].submitted - kept[before].submitted
                }
                After::Completion => {
                    let before = (0..i).find(|b| reactions(&kept, *b).contains(&i))?;
                    done[before]? + kept[i].gap?
                }
            };
            if kept[i].op != Op::Flush {
                return Some(at);
            }
            let before: Option<Vec<u64>> = done[..i].iter().copied().collect();
            Some(before?.into_iter().max().unwrap_or(0).max(at))
        };
        let waiting = (0..kept.len()).filter(|i| submitted[*i].is_none());
        let (at, next) = waiting.filter_map(|i| Some((due(i)?, i))).min().unwrap();
        submitted[next] = Some(at);
        free = free.max(at) + SERVICE;
        done[next] = Some(free);
    }
    free - submitted.into_iter().flatten().min().unwrap_or(0)
}

proptest::proptest! {
    #[test]
    fn a_replay_in_order_is_as_defined(
        seeds in proptest::collection::vec((0_u32..6, 0_u64..20, 0_u64..30, 0_u8..10), 1..40),
    ) {
        let record = made(seeds);
        let result = replay(&mut fixed(), &record, Options::new(DEPENDENT)).unwrap();
        proptest::prop_assert_eq!(result.elapsed, defined(&record));
    }

    #[test]
    fn every_request_of_any_record_is_done_once_in_every_mode(
        seeds in proptest::collection::vec((0_u32..6, 0_u64..20, 0_u64..30, 0_u8..10), 0..60),
    ) {
        let record = made(seeds);
        for mode in [Mode::Open, Mode::Closed, DEPENDENT, Mode::Saturate { depth: 3 }] {
            let result = replay(&mut fixed(), &record, Options::new(mode)).unwrap();
            proptest::prop_assert_eq!(result.requests, record.len() as u64, "{:?}", mode);
            proptest::prop_assert_eq!(result.bytes, record.len() as u64 * 4096);
        }
    }
}
