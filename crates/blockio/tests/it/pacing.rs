//! Layers that take time take it. Only least times are asserted: upper bounds depend on the
//! machine's load, and are asserted of the models by a fake clock (`layer/throttle.rs`, the crate `device`).
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::models::{FLASH, model};
use blockio::layer::{OnModel, Throttle, ThrottleLimits};
use blockio::{BlockSource, Ram, Span, Sweep};

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

/// 60 ms that requests share, and 10 ms that they do not.
const SHARED: &str = r#"
[device.shared]
kind = "array"
level = 0
chunk = "1m"
members = "1 x flash"
controller = { request_ms = 10, rate = "100 GB/s" }
link = { latency_ms = 60 }
"#;

#[test]
fn requests_of_a_modelled_device_share_its_latency_and_queue_for_its_controller() {
    let ram = Ram::new(&vec![1; 512 << 10]);
    let model = || model(&[FLASH, SHARED], "shared");
    let ms = Duration::from_millis;
    // 8 requests, one after the other: each waits for the one before.
    let alone = timed(&OnModel::new(&ram, model()), &sweep(1, 1));
    assert!(alone >= ms(8 * 70), "{alone:?}");
    let together = timed(&OnModel::new(&ram, model()), &sweep(8, 1));
    assert!(together >= ms(60 + 8 * 10), "{together:?}");
    assert!(together < alone, "{together:?} {alone:?}");
}
