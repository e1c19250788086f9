//! Layers that take time take it. Only least times are asserted: upper bounds depend on the
//! machine's load, and are asserted of the models by a fake clock (`layer/latency.rs`, `throttle.rs`).
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use blockio::layer::{Latency, LatencyModel, Throttle, ThrottleLimits};
use blockio::{BlockSource, Ram, Span, Sweep};

const KIB: u64 = 1024;

fn timed(source: &impl BlockSource, sweep: &Sweep) -> Duration {
    let span = Span {
        tag: 0,
        range: 0..source.len(),
    };
    let begin = Instant::now();
    let run = sweep.run(source, [span], |_| (), |(), _| ControlFlow::Continue(()));
    assert_eq!(run.unwrap().counts.data, source.len());
    begin.elapsed()
}

fn sweep(depth: usize, threads: usize) -> Sweep {
    Sweep {
        request: 64 << 10,
        depth,
        threads,
        ..Sweep::default()
    }
}

#[test]
fn a_throttled_source_takes_its_time_with_any_number_of_readers() {
    let ram = Ram::new(&vec![1; 1 << 20]);
    for (bytes, requests) in [
        (Some(10e6), None),
        (None, Some(160.0)),
        (Some(10e6), Some(1e6)),
    ] {
        let source = Throttle::new(
            &ram,
            ThrottleLimits {
                bytes_per_second: bytes,
                requests_per_second: requests,
            },
        );
        // 1 MiB at 10 MB/s, or 16 requests at 160 a second: 0.1 s, less the credit of 5 ms.
        let took = timed(&source, &sweep(8, 2));
        assert!(took >= Duration::from_millis(95), "{took:?}");
        let mut buf = vec![0; 100 << 10];
        let begin = Instant::now();
        for _ in 0..2 {
            source.read_at(&mut buf, 0).unwrap();
        }
        assert!(
            begin.elapsed() >= Duration::from_millis(5),
            "{:?}",
            begin.elapsed()
        );
    }
}

#[test]
fn seeks_add_up_and_requests_one_after_the_other_pay_the_fixed_part_each() {
    let ram = Ram::new(&vec![1; 512 << 10]);
    let seeking = LatencyModel {
        seek: Duration::from_millis(10),
        ..LatencyModel::default()
    };
    let source = Latency::new(&ram, seeking);
    let mut buf = vec![0; 4096];
    let begin = Instant::now();
    for at in [0, 4 * KIB, 100 * KIB, 0] {
        source.read_at(&mut buf, at).unwrap();
    }
    // The second goes on where the first ended; the last two seek.
    assert!(begin.elapsed() >= Duration::from_millis(20));
    let fixed = LatencyModel {
        fixed: Duration::from_millis(60),
        ..LatencyModel::default()
    };
    let source = Latency::new(&ram, fixed);
    // 8 requests, one after the other: each waits for the one before.
    let alone = timed(&source, &sweep(1, 1));
    assert!(alone >= Duration::from_millis(8 * 60), "{alone:?}");
    let together = timed(&source, &sweep(8, 1));
    assert!(together >= Duration::from_millis(60), "{together:?}");
}
