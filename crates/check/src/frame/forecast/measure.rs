//! Measurements that the forecast of every format has.

use std::time::{Duration, Instant};

use super::Interval;

/// The interval of rates that were measured in several places.
pub(crate) fn measured(mut rates: Vec<f64>) -> Interval {
    rates.sort_by(f64::total_cmp);
    match rates.as_slice() {
        [] => Interval::default(),
        [low, .., high] => Interval {
            low: *low,
            likely: rates[rates.len() / 2],
            high: *high,
        },
        [one] => Interval {
            low: one * 0.7,
            likely: *one,
            high: one * 1.4,
        },
    }
}

/// What a busy thread gets of a CPU while as many are busy as the check has.
pub(crate) fn cpu_share(threads: usize) -> f64 {
    const WATCHED: Duration = Duration::from_millis(150);
    let cpu = || clock::thread_cpu_ns() as f64 / 1e9;
    let one = || {
        let (begin, used) = (Instant::now(), cpu());
        while begin.elapsed() < WATCHED {
            std::hint::spin_loop();
        }
        ((cpu() - used) / begin.elapsed().as_secs_f64()).clamp(0.05, 1.0)
    };
    let shares: Vec<f64> = std::thread::scope(|scope| {
        let spinning: Vec<_> = (0..threads.clamp(1, 64))
            .map(|_| scope.spawn(one))
            .collect();
        spinning
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

/// Seconds to read this much at a rate; none where the rate is not known.
pub(crate) fn reading(bytes: f64, rate: f64) -> f64 {
    if rate > 0.0 { bytes / rate } else { 0.0 }
}
