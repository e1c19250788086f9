use super::*;
use crate::model::run_alone;
use crate::random::Random;

const KIB: u64 = 1024;
const GB: u64 = 1_000_000_000;

/// A disk of 300 GB, 15,000 rpm, 125 to 73 MB/s, mean seek 3.5 ms, command 0.1 ms.
fn parts() -> Parameters {
    let geometry = Geometry::linear(300 * GB, 15_000.0, 125e6, 73e6, 0.3);
    let cylinders = geometry.sweep() / (1.2 * 8.0 * geometry.turn());
    Parameters {
        seek: SeekCurve::three_points(0.2e6, 3.5e6, 7.4e6, cylinders).with_write_settle(0.5e6),
        geometry,
        command: 100_000,
        interface: 300e6,
        look_ahead: 512 * KIB,
        write_cache: 0,
        destage_window: 16,
        window: 64,
        store_and_forward: false,
        flush_is_barrier: false,
    }
}

/// A disk of 7,200 rpm and 66.4 MiB/s at the outer edge.
fn slow_parts() -> Parameters {
    let geometry = Geometry::linear(250 * GB, 7200.0, 66.4 * 1_048_576.0, 33.8e6, 0.0);
    let cylinders = geometry.sweep() / (1.2 * 4.0 * geometry.turn());
    Parameters {
        seek: SeekCurve::three_points(0.8e6, 8.5e6, 17.0e6, cylinders),
        geometry,
        command: 300_000,
        window: 32,
        ..parts()
    }
}

/// Runs `count` requests with `depth` of them in flight; returns the end.
fn saturate(disk: &mut Disk, depth: u64, count: u64, next: &mut dyn FnMut(u64) -> Request) -> u64 {
    let (mut sent, mut finished, mut now) = (0, 0, 0);
    let mut done = Vec::new();
    while finished < count {
        while sent < count && sent - finished < depth {
            disk.submit(now, next(sent));
            sent += 1;
        }
        now = now.max(disk.next_event().expect("requests are in flight"));
        disk.advance(now, &mut done);
        finished += done.drain(..).count() as u64;
    }
    now
}

fn random_read(random: &mut Random, capacity: u64, tag: u64) -> Request {
    Request::read(tag, random.bits() % (capacity / 4096) * 4096, 4096)
}

/// Mean time of a random read of 4 KiB, ms.
fn random_reads(parts: Parameters, depth: u64, count: u64) -> f64 {
    let capacity = parts.geometry.capacity();
    let mut random = Random::new(7);
    let mut disk = Disk::new(parts);
    let next = &mut |tag| random_read(&mut random, capacity, tag);
    saturate(&mut disk, depth, count, next) as f64 / count as f64 / 1e6
}

#[test]
fn sequential_reads_have_the_sustained_rate() {
    for start in [0, 150 * GB / 4096 * 4096, 290 * GB / 4096 * 4096] {
        let mut disk = Disk::new(parts());
        let mib = 1024 * KIB;
        let warm = run_alone(&mut disk, 0, Request::read(0, start, mib));
        let mut now = warm;
        for i in 1..400 {
            now = run_alone(&mut disk, now, Request::read(i, start + i * mib, mib));
        }
        let rate = (399 * mib) as f64 * 1e9 / (now - warm) as f64;
        let expected = 125e6 - 52e6 * parts().geometry.radius(start + 200 * mib);
        assert!(
            (rate / expected - 1.0).abs() < 0.005,
            "{start}: {rate} of {expected}"
        );
    }
}

#[test]
fn without_look_ahead_sequential_reads_lose_turns() {
    let rate = |look_ahead| {
        let mut disk = Disk::new(Parameters {
            look_ahead,
            ..parts()
        });
        let mut now = 0;
        for i in 0..100 {
            now = run_alone(&mut disk, now, Request::read(i, i * 256 * KIB, 256 * KIB));
        }
        100.0 * 0.25 * 1e9 / now as f64
    };
    // 256 KiB take 2.1 ms and a turn 4 ms: 41 MiB/s.
    assert!((rate(0) - 41.0).abs() < 1.0, "{}", rate(0));
    assert!(rate(512 * KIB) > 110.0, "{}", rate(512 * KIB));
}

#[test]
fn a_random_read_takes_command_seek_half_a_turn_and_transfer() {
    // Uniform addresses are not uniform radii: more bytes are outside. The mean seek is taken over them.
    for (parts, rpm) in [(parts(), 15_000.0), (slow_parts(), 7200.0)] {
        let mut random = Random::new(3);
        let n = 100_000;
        let mut radius = || {
            parts
                .geometry
                .radius((random.unit() * parts.geometry.capacity() as f64) as u64)
        };
        let seek: f64 = (0..n)
            .map(|_| parts.seek.time((radius() - radius()).abs(), false))
            .sum();
        let expected = parts.command as f64 / 1e6 + seek / f64::from(n) / 1e6 + 30e3 / rpm + 0.04;
        let mean = random_reads(parts, 1, 20_000);
        assert!((mean / expected - 1.0).abs() < 0.01, "{mean} of {expected}");
    }
}

#[test]
fn a_deep_queue_gains_what_shortest_positioning_gains() {
    let gain = random_reads(parts(), 1, 4000) / random_reads(parts(), 32, 4000);
    assert!((2.3..2.6).contains(&gain), "15,000 rpm: {gain}");
    let gain = random_reads(slow_parts(), 1, 4000) / random_reads(slow_parts(), 32, 4000);
    assert!((2.0..2.5).contains(&gain), "7,200 rpm: {gain}");
    let in_order = || Parameters {
        window: 1,
        ..parts()
    };
    let gain = random_reads(in_order(), 1, 4000) / random_reads(in_order(), 32, 4000);
    assert!((0.98..1.02).contains(&gain), "in order: {gain}");
}

#[test]
fn a_sequential_writer_without_a_cache_loses_a_turn_for_each_request() {
    let mut disk = Disk::new(slow_parts());
    let mut now = 0;
    for i in 0..200 {
        now = run_alone(&mut disk, now, Request::write(i, i * 256 * KIB, 256 * KIB));
    }
    let rate = 200.0 * 0.25 * 1e9 / now as f64;
    assert!((rate - 20.7).abs() < 0.3, "{rate} MiB/s");
}

#[test]
fn a_write_cache_answers_at_once_and_streams_at_the_rate_of_the_medium() {
    let mut disk = Disk::new(Parameters {
        write_cache: 8192 * KIB,
        ..slow_parts()
    });
    // Command and 64 KiB at 300 MB/s.
    let first = run_alone(&mut disk, 0, Request::write(0, 0, 64 * KIB));
    assert_eq!(first, 300_000 + 218_453);
    let (mut now, count) = (first, 4000);
    for i in 1..count {
        now = run_alone(&mut disk, now, Request::write(i, i * 64 * KIB, 64 * KIB));
    }
    let rate = (count * 64 * KIB - 8192 * KIB) as f64 / (now as f64 / 1e9) / 1_048_576.0;
    assert!((rate / 66.4 - 1.0).abs() < 0.03, "{rate} MiB/s");
}

#[test]
fn a_flush_waits_until_cached_writes_are_on_the_medium() {
    for flush_is_barrier in [false, true] {
        let mut disk = Disk::new(Parameters {
            write_cache: 8192 * KIB,
            flush_is_barrier,
            ..slow_parts()
        });
        let mut now = 0;
        let mut random = Random::new(5);
        for tag in 0..50 {
            let read = random_read(&mut random, 250 * GB, tag);
            now = run_alone(&mut disk, now, Request::write(tag, read.offset, 4096));
        }
        let flushed = run_alone(&mut disk, now, Request::flush(99));
        assert!(!disk.cache.has_before(50));
        // Fifty scattered writes take at least a few ms each, less those done meanwhile.
        assert!(flushed - now > 50_000_000, "{}", flushed - now);
        let again = run_alone(&mut disk, flushed, Request::flush(100));
        assert_eq!(again - flushed, 300_000);
    }
}

#[test]
fn cached_writes_are_read_back_from_the_cache() {
    let mut disk = Disk::new(Parameters {
        write_cache: 8192 * KIB,
        ..slow_parts()
    });
    let mut now = 0;
    for i in 0..8 {
        now = run_alone(&mut disk, now, Request::write(i, i * 10 * GB, 4096));
    }
    let mut parts = Vec::new();
    disk.usage(&mut parts);
    assert_eq!((parts[0].requests, parts[0].hits), (8, 8));
    assert!(disk.cache.holds(70 * GB, 4096));
}

#[test]
fn a_forced_write_goes_to_the_medium() {
    let mut disk = Disk::new(Parameters {
        write_cache: 8192 * KIB,
        ..slow_parts()
    });
    let write = Request {
        fua: true,
        ..Request::write(1, 100 * GB, 4096)
    };
    assert!(run_alone(&mut disk, 0, write) > 3_000_000);
}

/// Everything that is done, with its time, until nothing happens any more.
fn drain(disk: &mut Disk) -> std::collections::BTreeMap<u64, u64> {
    let mut done = Vec::new();
    while let Some(at) = disk.next_event() {
        disk.advance(at, &mut done);
    }
    done.into_iter().map(|c| (c.tag, c.at)).collect()
}

#[test]
fn a_request_is_passed_over_for_half_a_second_at_most() {
    let mut disk = Disk::new(parts());
    let mut random = Random::new(11);
    // One near byte 0 keeps the head there; then eight of these wait at any time.
    disk.submit(0, Request::read(1000, 0, 4096));
    disk.submit(0, Request::read(0, 299 * GB, 4096));
    let (mut sent, mut now, mut done) = (1, 0, Vec::new());
    let far = loop {
        while disk.queue.len() < 9 {
            let near = random.bits() % 100_000 * 4096;
            disk.submit(now, Request::read(sent, near, 4096));
            sent += 1;
        }
        now = now.max(disk.next_event().unwrap());
        disk.advance(now, &mut done);
        if let Some(far) = done.iter().find(|c| c.tag == 0) {
            break far.at;
        }
    };
    assert!((500_000_000..520_000_000).contains(&far), "{far}");
}

#[test]
fn nothing_passes_a_flush_on_sata() {
    let read_before_flush = |flush_is_barrier| {
        let mut disk = Disk::new(Parameters {
            write_cache: 8192 * KIB,
            flush_is_barrier,
            ..slow_parts()
        });
        for tag in 0..20 {
            disk.submit(0, Request::write(tag, tag * 10 * GB, 4096));
        }
        disk.submit(0, Request::flush(98));
        disk.submit(0, Request::read(99, 201 * GB, 4096));
        let done = drain(&mut disk);
        done[&99] < done[&98]
    };
    assert!(read_before_flush(false) && !read_before_flush(true));
}

/// How many scattered writes of 4 KiB are on the medium when ten of eleven reads are done that were waiting all the time.
fn destaged_beside_reads(writes: u64) -> usize {
    let mut disk = Disk::new(Parameters {
        write_cache: 400 * KIB,
        ..slow_parts()
    });
    // All cached before the head is free: the first request keeps it busy.
    disk.submit(0, Request::read(1000, 249 * GB, 64 << 20));
    for tag in 0..writes {
        disk.submit(0, Request::write(tag, tag * GB, 4096));
    }
    for tag in 0..11 {
        disk.submit(0, Request::read(2000 + tag, (100 + tag) * GB, 4096));
    }
    let mut done = Vec::new();
    while done.iter().filter(|c: &&Completion| c.tag >= 1000).count() < 11 {
        let at = disk.next_event().unwrap();
        disk.advance(at, &mut done);
    }
    let held = |tag: &u64| disk.cache.holds(*tag * GB, 4096);
    (0..writes).filter(|tag| !held(tag)).count()
}

#[test]
fn a_cache_that_is_three_quarters_full_takes_turns_with_requests() {
    assert_eq!(destaged_beside_reads(70), 0);
    // One after each read until it is less full again: 100 extents fit.
    assert_eq!(destaged_beside_reads(76), 2);
    let full = destaged_beside_reads(95);
    assert!((9..=11).contains(&full), "{full}");
}

#[test]
fn writes_wait_for_room_in_a_full_cache() {
    let mut disk = Disk::new(Parameters {
        write_cache: 64 * KIB,
        ..slow_parts()
    });
    for tag in 0..18 {
        disk.submit(0, Request::write(tag, tag * 10 * GB, 4096));
    }
    let done = drain(&mut disk);
    // A command and 13.7 us each, in turn; sixteen fit.
    assert_eq!(done[&15], 16 * (300_000 + 13_653));
    assert!(done[&17] > done[&15] + 3_000_000, "{done:?}");
}

#[test]
fn the_head_reads_on_up_to_its_buffer_and_no_longer_than_a_seek_would_take() {
    let run = |look_ahead, pause: u64, ahead: u64| {
        let mut disk = Disk::new(Parameters {
            look_ahead,
            ..parts()
        });
        let first = run_alone(&mut disk, 0, Request::read(0, 0, 64 * KIB));
        let now = first + pause;
        run_alone(&mut disk, now, Request::read(1, 64 * KIB + ahead, 64 * KIB)) - now
    };
    // It was there: a command, and 64 KiB at 300 MB/s.
    assert_eq!(run(512 * KIB, 50_000_000, 0), 100_000 + 218_454);
    // It is there in a moment: the rest of 64 KiB at 125 MB/s.
    let soon = run(512 * KIB, 0, 0);
    assert!((400_000..530_000).contains(&soon), "{soon}");
    // The buffer is full when the head comes to its end: it waits there for its turn, but need not be moved.
    let full = run(512 * KIB, 50_000_000, 512 * KIB);
    assert!((600_000..4_000_000 + 630_000).contains(&full), "{full}");
    // 3 MiB ahead of it are six turns, and a seek with its wait is shorter.
    let far = run(4096 * KIB, 0, 3072 * KIB);
    assert!(far < 6_000_000, "{far}");
}

#[test]
fn what_is_in_the_buffer_does_not_wait_for_the_head_on_its_way_back() {
    // The buffer is read in less than a turn, so that the head waits for where it goes on.
    let mut disk = Disk::new(Parameters {
        look_ahead: 256 * KIB,
        ..parts()
    });
    let mut now = run_alone(&mut disk, 0, Request::read(0, 0, 4096));
    now += 50_000_000;
    for number in 1..20 {
        let done = run_alone(&mut disk, now, Request::read(number, number * 4096, 4096));
        // A command, and 4 KiB at 300 MB/s.
        assert_eq!(done - now, 100_000 + 13_654, "read {number}");
        now = done + 300_000;
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn every_request_is_done_once_and_not_before_its_bytes_can_have_moved(
        seed in 0_u64.., depth in 1_u64..40, window in 1_usize..40, cache in 0_u64..3, ahead in 0_u64..3, barrier: bool,
    ) {
        let mut random = Random::new(seed);
        let mut disk = Disk::new(Parameters {
            window,
            write_cache: cache * 256 * KIB,
            look_ahead: ahead * 128 * KIB,
            flush_is_barrier: barrier,
            ..slow_parts()
        });
        let (count, mut sent, mut now) = (120, 0, 0);
        let mut in_flight = std::collections::BTreeMap::new();
        let mut done = Vec::new();
        while sent < count || !in_flight.is_empty() {
            while sent < count && (in_flight.len() as u64) < depth {
                let len = (random.bits() % 64 + 1) * 4096;
                let near = random.bits().is_multiple_of(4);
                let offset = random.bits() % if near { 1 << 20 } else { 200 * GB } / 4096 * 4096;
                let request = match random.bits() % 8 {
                    0 => Request::flush(sent),
                    1..=4 => Request::read(sent, offset, len),
                    _ => Request::write(sent, offset, len),
                };
                in_flight.insert(sent, (now, request));
                disk.submit(now, request);
                sent += 1;
            }
            let next = disk.next_event();
            proptest::prop_assert!(next.is_some(), "requests are in flight and nothing happens");
            now = now.max(next.unwrap_or(now));
            disk.advance(now, &mut done);
            for completion in done.drain(..) {
                let (from, request) = in_flight.remove(&completion.tag).expect("each is done once");
                let least = request.len as f64 / 300e6 * 1e9;
                proptest::prop_assert!((completion.at - from) as f64 >= least - 1.0);
            }
        }
    }
}

#[test]
fn a_flush_is_not_passed_over_for_good() {
    // Eight readers that never stop: without a barrier the queue is never empty of reads.
    for parts in [
        parts(),
        Parameters {
            write_cache: 1 << 20,
            ..parts()
        },
    ] {
        assert!(!parts.flush_is_barrier);
        let mut disk = Disk::new(parts);
        let offset = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << 26) * 4096;
        let mut sent = 0;
        let mut done = Vec::new();
        let (mut now, mut flushed) = (0, None);
        let flush = Request {
            tag: u64::MAX,
            op: Op::Flush,
            offset: 0,
            len: 0,
            fua: false,
            sync: true,
        };
        for number in 0..40 {
            disk.submit(0, Request::write(1000 + number, offset(999 - number), 4096));
        }
        while now < 10_000_000_000 && flushed.is_none() {
            while sent < 8 {
                disk.submit(now, Request::read(sent, offset(sent), 4096));
                sent += 1;
            }
            if sent == 8 && now == 0 {
                disk.submit(now, flush);
            }
            now = disk.next_event().unwrap().max(now);
            disk.advance(now, &mut done);
            for completion in done.drain(..) {
                match completion.tag {
                    u64::MAX => flushed = Some(completion.at),
                    1000.. => {}
                    _ => {
                        sent += 1;
                        disk.submit(now, Request::read(sent, offset(sent), 4096));
                    }
                }
            }
        }
        // 40 writes and as many reads between them are half a second.
        let at = flushed.expect("it is done");
        assert!(at < 1_000_000_000, "{at}");
    }
}
