//! What the sampler and the context record cost: prints a table.
//!
//! `cargo bench -p probe` runs for about 20 seconds. `-- SECONDS` changes how long each row takes.

use std::io;
use std::time::Duration;

use probe::context::{Subject, take};
use probe::memory;
use probe::sampler::{Options, Sampler, Sink};

/// Counts and forgets.
#[derive(Default)]
struct Null(u32);

impl Sink for Null {
    fn column(&mut self, _: &str, _: &str) -> u32 {
        self.0 += 1;
        self.0 - 1
    }

    fn row(&mut self, _: u64, _: &[(u32, i64)]) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn devices() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(2))
        .take(2)
        .map(ToOwned::to_owned)
        .collect()
}

fn main() {
    let seconds = std::env::args()
        .find_map(|a| a.parse::<f64>().ok())
        .unwrap_or(5.0);
    println!("sampler                  rows  missed  late_max_ms  us_per_row  core_%  rss_KiB");
    for (name, interval, tasks) in [
        ("100 ms, 12 tasks", 100, 12),
        ("100 ms, no tasks", 100, 0),
        ("20 ms, 12 tasks", 20, 12),
    ] {
        let options = Options {
            interval: Duration::from_millis(interval),
            devices: devices(),
            tasks,
            ..Options::default()
        };
        let before = memory::rss().unwrap_or(0);
        let sampler = match Sampler::start(&options, Box::new(Null::default())) {
            Ok(sampler) => sampler,
            Err(e) => {
                eprintln!("{e}");
                std::process::exit(1);
            }
        };
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let grown = memory::rss().unwrap_or(0).saturating_sub(before);
        match sampler.stop() {
            Ok((stats, _)) => println!(
                "{name:<22} {:>6} {:>7} {:>12.3} {:>11.1} {:>7.3} {:>8}",
                stats.rows,
                stats.missed,
                stats.max_late_ns as f64 / 1e6,
                stats.own_cpu_ns as f64 / 1e3 / stats.rows as f64,
                stats.own_percent(),
                grown / 1024
            ),
            Err(e) => eprintln!("{e}"),
        }
    }
    let target = std::env::temp_dir();
    let subject = Subject {
        target_folder: Some(&target),
        ..Subject::default()
    };
    for name in ["first (hashes the binary)", "again"] {
        let record = take(&subject);
        println!(
            "context record, {name}: {:.1} ms, {} items",
            record.took_ms,
            record.items.len()
        );
    }
}
