//! Checks one image several times and prints what each pass takes, in nanoseconds for each inode in use: for those who make the
//! checker faster. `cargo run --release -p check --example passes -- IMAGE [TIMES [THREADS]]`
//!
//! The least of each column is shown, because what disturbs a run only ever adds to it. With valgrind's callgrind one run is enough:
//! instructions do not depend on what else the machine does.

use std::error::Error;
use std::path::Path;

use blockio::Mode;
use check::{Options, Silent, ext4};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let image = arguments
        .next()
        .ok_or("usage: passes IMAGE [TIMES [THREADS]]")?;
    let times: usize = arguments.next().map_or(Ok(1), |times| times.parse())?;
    let mut options = Options::default();
    if let Some(threads) = arguments.next() {
        options.threads = threads.parse()?;
    }
    let opened = blockio::open(Path::new(&image), Mode::Buffered)?;
    let mut least: Vec<(&str, [f64; 3])> = Vec::new();
    for time in 0..times.max(1) {
        let report = check::ext4::check(
            &*opened.source,
            &options,
            &ext4::Options::default(),
            &Silent,
        )?;
        let inodes = report
            .inventory
            .as_ref()
            .map_or(1, |inventory| inventory.files.inodes);
        let costs = report.passes.iter().chain([&report.total]);
        for (nth, cost) in costs.enumerate() {
            let seconds = [cost.wall_s, cost.user_s, cost.system_s];
            let each = seconds.map(|seconds| seconds * 1e9 / inodes.max(1) as f64);
            match least.get_mut(nth) {
                Some((_, least)) => {
                    for (least, new) in least.iter_mut().zip(each) {
                        *least = least.min(new);
                    }
                }
                None => least.push((cost.pass, each)),
            }
        }
        if time == 0 {
            let found = report.findings.list.len();
            println!(
                "{inodes} inodes, {found} findings, {} threads",
                options.threads
            );
        }
    }
    println!(
        "{:<6}{:>9}{:>9}{:>9}   ns for each inode",
        "pass", "wall", "user", "sys"
    );
    for (pass, [wall, user, system]) in least {
        println!("{pass:<6}{wall:>9.1}{user:>9.1}{system:>9.1}");
    }
    Ok(())
}
