use super::*;
use crate::model::run_alone;
use crate::noted::{Noted, Sent};

const KIB: u64 = 1024;
const MS: u64 = 1_000_000;

/// No time of its own, no caches.
const PLAIN: Parameters = Parameters {
    request: 0,
    rate: f64::INFINITY,
    side_by_side: false,
    unit: 0,
    units: 0,
    read_ahead: 0,
    write_cache: 0,
    high_water: 0.8,
    row: 0,
};

fn controller(parts: Parameters, service: Nanoseconds) -> (Controller, Sent) {
    let sent = Sent::default();
    let child = Noted::new(0, 1 << 30, service, &sent);
    (Controller::new(parts, Box::new(child)), sent)
}

/// What the child was sent: operation, offset and length in KiB.
fn sent_to_child(sent: &Sent) -> Vec<(Op, u64, u64)> {
    let sent = sent.lock().unwrap();
    let in_kib = |s: &(usize, Op, u64, u64)| (s.1, s.2 / KIB, s.3 / KIB);
    sent.iter().map(in_kib).collect()
}

/// All that is done until nothing happens any more, in order of time.
fn drain(controller: &mut Controller) -> Vec<Completion> {
    let mut done = Vec::new();
    while let Some(at) = controller.next_event() {
        controller.advance(at, &mut done);
    }
    done
}

#[test]
fn requests_pass_one_after_the_other_with_their_time_and_their_bytes() {
    let (mut controller, _) = controller(
        Parameters {
            request: MS,
            rate: 4096.0 * 1000.0,
            ..PLAIN
        },
        5 * MS,
    );
    for tag in 0..3 {
        controller.submit(0, Request::read(tag, tag * 4096, 4096));
    }
    // Together below, then 1 ms and 1 ms of transfer each, in turn.
    let times: Vec<u64> = drain(&mut controller).iter().map(|c| c.at / MS).collect();
    assert_eq!(times, [7, 9, 11]);
}

#[test]
fn of_limits_side_by_side_the_longer_one_counts() {
    let parts = Parameters {
        request: 2 * MS,
        rate: 4096.0 * 1000.0,
        side_by_side: true,
        ..PLAIN
    };
    let times = |len: u64| -> Vec<u64> {
        let (mut controller, _) = controller(parts, 0);
        for tag in 0..3 {
            controller.submit(0, Request::read(tag, tag * 65_536, len));
        }
        drain(&mut controller).iter().map(|c| c.at / MS).collect()
    };
    // 1 ms of bytes each, then 4.
    assert_eq!(times(4096), [2, 4, 6]);
    assert_eq!(times(16_384), [4, 8, 12]);
}

#[test]
fn a_miss_reads_its_unit_and_the_rest_of_it_is_there() {
    let parts = Parameters {
        unit: 128 * KIB,
        units: 4,
        ..PLAIN
    };
    let (mut controller, sent) = controller(parts, 5 * MS);
    let mut now = 0;
    let mut read = |controller: &mut Controller, at: u64| {
        let began = now;
        now = run_alone(controller, now, Request::read(at, at * KIB, 4 * KIB));
        now - began
    };
    assert_eq!(read(&mut controller, 132), 5 * MS);
    assert_eq!(read(&mut controller, 128), 0);
    // Across two units, of which one is there.
    assert_eq!(read(&mut controller, 254), 5 * MS);
    assert_eq!(
        sent_to_child(&sent),
        [(Op::Read, 128, 128), (Op::Read, 256, 128)]
    );
    // Four others, and the first is gone.
    for unit in 4..8 {
        read(&mut controller, unit * 128);
    }
    assert_eq!(read(&mut controller, 128), 5 * MS);
}

#[test]
fn two_neighbours_are_followed_and_eight_streams_at_a_time() {
    let parts = Parameters {
        unit: 64 * KIB,
        units: 1000,
        read_ahead: 2,
        ..PLAIN
    };
    let hits = |streams: u64| {
        let (mut controller, _) = controller(parts, 5 * MS);
        let mut now = 0;
        for step in 0..10 {
            for stream in 0..streams {
                let at = (stream << 24) + step * 64 * KIB;
                now = run_alone(&mut controller, now, Request::read(0, at, 64 * KIB));
            }
            now += 10 * MS;
        }
        let mut usage = Vec::new();
        controller.usage(&mut usage);
        usage[0].hits
    };
    // The first two of each stream miss.
    assert_eq!(hits(1), 8);
    assert_eq!(hits(8), 64);
    // Of nine each has been forgotten when it comes again.
    assert_eq!(hits(9), 0);
}

#[test]
fn a_battery_answers_writes_up_to_high_water_and_makes_flushes_free() {
    let parts = Parameters {
        write_cache: 1000 * KIB,
        high_water: 0.8,
        ..PLAIN
    };
    // Even of a controller whose requests are not.
    let (mut slow, _) = controller(
        Parameters {
            request: MS,
            ..parts
        },
        5 * MS,
    );
    let written = run_alone(&mut slow, 0, Request::write(0, 0, 4096));
    assert_eq!(written, MS);
    assert_eq!(run_alone(&mut slow, written, Request::flush(1)), written);
    let (mut cached, _) = controller(parts, 5 * MS);
    for tag in 0..9 {
        // Apart, so that each is destaged by itself.
        cached.submit(0, Request::write(tag, tag << 20, 100 * KIB));
    }
    cached.submit(0, Request::flush(99));
    let done = drain(&mut cached);
    let at = |tag| done.iter().find(|c| c.tag == tag).unwrap().at;
    assert!((0..8).all(|tag| at(tag) == 0) && at(99) == 0);
    // The ninth waits until one of them is on the disks.
    assert_eq!(at(8), 5 * MS);
    // Without a battery all wait for the disks.
    let (mut plain, _) = controller(PLAIN, 5 * MS);
    assert_eq!(
        run_alone(&mut plain, 0, Request::write(1, 0, 100 * KIB)),
        5 * MS
    );
    assert_eq!(run_alone(&mut plain, 5 * MS, Request::flush(2)), 10 * MS);
}

#[test]
fn a_child_without_rows_gets_one_cached_write_at_a_time() {
    let parts = Parameters {
        write_cache: 1000 * KIB,
        ..PLAIN
    };
    let (mut controller, sent) = controller(parts, 5 * MS);
    for (tag, at) in (0..).zip([0, 100, 200, 300]) {
        controller.submit(0, Request::write(tag, at * KIB, 4 * KIB));
    }
    let mut done = Vec::new();
    for written in 1..=4 {
        assert_eq!(sent_to_child(&sent).len(), written);
        let at = written as u64 * 5 * MS;
        while let Some(next) = controller.next_event().filter(|next| *next <= at) {
            controller.advance(next, &mut done);
        }
    }
    assert_eq!((done.len(), controller.used), (4, 0));
}

#[test]
fn cached_writes_are_destaged_by_row_and_neighbours_together() {
    let parts = Parameters {
        write_cache: 1000 * KIB,
        row: 64 * KIB,
        ..PLAIN
    };
    let (mut controller, sent) = controller(parts, 5 * MS);
    // The first is sent at once. Then a row in two parts out of order, and a write over the end of the next.
    for (tag, (at, len)) in [(512, 4), (32, 32), (0, 32), (96, 64), (68, 4)]
        .into_iter()
        .enumerate()
    {
        controller.submit(0, Request::write(tag as u64, at * KIB, len * KIB));
    }
    assert_eq!(drain(&mut controller).len(), 5);
    let write = |at, len| (Op::Write, at, len);
    assert_eq!(
        sent_to_child(&sent),
        [
            write(512, 4),
            write(0, 64),
            write(68, 4),
            write(96, 32),
            write(128, 32)
        ]
    );
    assert_eq!((controller.used, controller.destaging), (0, 0));
}

proptest::proptest! {
    /// Whatever is written over what: all is answered once, and nothing stays in the cache.
    #[test]
    fn a_write_cache_empties(
        writes in proptest::collection::vec((0_u64..64, 1_u64..40, 0_u64..3), 1..60), row in 0_u64..3,
    ) {
        let parts = Parameters {
            write_cache: 200 * KIB,
            row: row * 24 * KIB,
            ..PLAIN
        };
        let (mut controller, _) = controller(parts, MS);
        let (mut now, mut done) = (0, Vec::new());
        for (tag, (at, len, gap)) in writes.iter().enumerate() {
            now += gap * MS;
            controller.advance(now, &mut done);
            controller.submit(now, Request::write(tag as u64, at * 4 * KIB, len * 4 * KIB));
        }
        done.extend(drain(&mut controller));
        let mut tags: Vec<u64> = done.iter().map(|c| c.tag).collect();
        tags.sort_unstable();
        proptest::prop_assert_eq!(tags, (0..writes.len() as u64).collect::<Vec<_>>());
        proptest::prop_assert_eq!((controller.used, controller.destaging), (0, 0));
        proptest::prop_assert!(controller.dirty.is_empty() && controller.blocked.is_empty());
    }
}
