//! The workload `mix` against fio: requests a second in interleaved pairs on one loop image with ext4 and
//! direct I/O, and the CPU time of a request.
//!
//! The same file for both sides, written before; 4 KiB blocks; time-based runs, in each pair ours, fio,
//! fio, ours or the reverse; syncfs after each. fio is as Debian ships it, but for what would differ in
//! kind: threads, and no cache dropped.
//!
//! At depth 16 fio is measured twice: as it is, with one submission for each request, and batched as ours is
//! (`iodepth_batch_submit`, `iodepth_batch_complete_max`, `fixedbufs`). On a device that is faster than the processor the
//! first ratio is that of the CPU times, and the second says how much of it is batching.
//!
//! A ratio below 0.95 means that our loop costs requests; one above 1.05 that fio's does, and that figures
//! of both cannot be put side by side without saying so. Both are a miss.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use params::engine::Kind;
use params::{Bytes, MixSpec};
use workload::Workload;
use workload::mix::Rw;
use workload::syncfs::syncfs;

use crate::arguments::{Place, Times};
use crate::image::Image;
use crate::pairs::{Pairs, median, two_and_two};
use crate::run::{Stop, verdict};
use crate::table::{Printer, Row, Table};
use crate::{fio, needs};

const MIB: u64 = 1 << 20;

/// Measures `mix` against fio and prints a table with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<7>,
    /// MiB of the file.
    #[arg(long, default_value_t = 1024)]
    size: u64,
    /// Seconds of a run.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Bytes a second of reads and of writes each in the limited runs.
    #[arg(long, default_value_t = 8 * MIB)]
    rate: u64,
    /// Filesystem to make: ext4 or xfs.
    #[arg(long, default_value = "ext4")]
    fs: String,
    #[command(flatten)]
    place: Place,
}

/// One line of the table.
struct Case {
    rw: Rw,
    engine: Kind,
    queue_depth: u32,
    /// Bytes a second of each direction; 0: no limit.
    rate: u64,
    /// fio submits and takes requests in batches.
    batched: bool,
}

impl Case {
    fn name(&self) -> String {
        let limited = match (self.rate, self.batched) {
            (0, false) => "",
            (0, true) => ", fio batched",
            _ => ", limited",
        };
        let engine = self.engine.name();
        let share = if self.rw == Rw::RandRw { " 70/30" } else { "" };
        format!(
            "{}{share}, {engine} {}{limited}",
            self.rw.name(),
            self.queue_depth
        )
    }
}

/// Requests a second, and seconds of CPU for each.
#[derive(Clone, Copy)]
struct Cost {
    iops: f64,
    cpu: f64,
}

struct Bench {
    arguments: Arguments,
    stop: Stop,
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("mix_vs_fio", bench(arguments))
}

fn bench(mut arguments: Arguments) -> Result<bool> {
    fio::needed()?;
    needs::root("loop devices and mounts")?;
    arguments.size = arguments.times.amount(arguments.size, 256);
    if arguments.times.quick {
        arguments.seconds = arguments.seconds.min(0.5);
    }
    let bench = Bench {
        arguments,
        stop: Stop::on_signals()?,
    };
    bench.run()
}

impl Bench {
    fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for rw in [Rw::RandRead, Rw::RandWrite, Rw::RandRw] {
            for (engine, queue_depth, batched) in [
                (Kind::Sync, 1, false),
                (Kind::IoUring, 1, false),
                (Kind::IoUring, 16, false),
                (Kind::IoUring, 16, true),
            ] {
                cases.push(Case {
                    rw,
                    engine,
                    queue_depth,
                    rate: 0,
                    batched,
                });
            }
        }
        cases.push(Case {
            rw: Rw::RandRw,
            engine: Kind::IoUring,
            queue_depth: 16,
            rate: self.arguments.rate,
            batched: false,
        });
        cases
    }

    fn run(&self) -> Result<bool> {
        println!("{}", fio::version()?);
        let Arguments { size, seconds, .. } = self.arguments;
        let pairs = self.arguments.times.pairs();
        let image = Image::new(&self.arguments.place.dir, (size * 9 / 8 + 512) * MIB)?;
        let mounted = image.fresh(&self.arguments.fs)?;
        let mut table = Table::new(
            format!(
                "{}, O_DIRECT, 4 KiB of {size} MiB, {pairs} pairs of 2 + 2 runs of {seconds} s, 1000 IOPS;\n\
                 CPU in us of a request",
                self.arguments.fs
            ),
            &["ours", "fio", "ratio", "of pairs", "CPU", "fio"],
        );
        for (number, case) in self.cases().iter().enumerate() {
            table.rows.push(self.row(mounted.path(), case, number)?);
        }
        let mut printer = Printer::default();
        printer.show(&table);
        Ok(printer.all_met())
    }

    fn row(&self, dir: &Path, case: &Case, number: usize) -> Result<Row> {
        // One run that is not counted: it makes the file, and where the disk itself is an image on a
        // host, fills the host's cache.
        self.ours(dir, case)?;
        let (mut pairs, mut cpu) = (Pairs::default(), [Vec::new(), Vec::new()]);
        for pair in 0..self.arguments.times.pairs() as usize {
            let rates = two_and_two((pair + number).is_multiple_of(2), |ours| {
                self.stop.check()?;
                let cost = if ours {
                    self.ours(dir, case)?
                } else {
                    self.theirs(dir, case)?
                };
                cpu[usize::from(!ours)].push(cost.cpu);
                Ok(cost.iops)
            })?;
            pairs.push_both(rates);
        }
        let [ours, theirs] = cpu.map(|cpu| format!("{:.2}", median(&cpu) * 1e6));
        let mut cells = pairs.cells(1e3, 2, 3).to_vec();
        cells.extend([ours, theirs]);
        let met = (0.95..=1.05).contains(&pairs.ratio());
        Ok(Row::new(case.name(), cells, "0.95..1.05", met))
    }

    fn ours(&self, dir: &Path, case: &Case) -> Result<Cost> {
        let spec = MixSpec {
            rw: case.rw,
            rwmixread: 70,
            size: Bytes(self.arguments.size * MIB),
            direct: true,
            engine: case.engine,
            queue_depth: case.queue_depth,
            runtime: self.arguments.seconds,
            time_based: true,
            rate_read: Bytes(case.rate),
            rate_write: Bytes(case.rate),
            overwrite: true,
            invalidate: false,
            keep: true,
            reuse: true,
            ..MixSpec::new(dir)
        };
        let outcome = spec.run(&self.stop)?;
        let phase = outcome.phases.first().context("mix has no phase")?;
        let figure = |name: &str| {
            phase
                .figures
                .get(name)
                .copied()
                .context("mix moved nothing")
        };
        Ok(Cost {
            iops: figure("iops")?,
            cpu: figure("cpu_per_request")?,
        })
    }

    fn theirs(&self, dir: &Path, case: &Case) -> Result<Cost> {
        let engine = match case.engine {
            Kind::IoUring => "io_uring",
            Kind::Aio => "libaio",
            Kind::Sync | Kind::Null => "psync",
        };
        let mut words = vec![
            "--name=mix".to_owned(),
            "--thread".into(),
            "--direct=1".into(),
            "--bs=4k".into(),
            "--rwmixread=70".into(),
            "--invalidate=0".into(),
            "--overwrite=1".into(),
            "--time_based".into(),
            format!("--directory={}", dir.display()),
            format!("--rw={}", case.rw.name()),
            format!("--ioengine={engine}"),
            format!("--iodepth={}", case.queue_depth),
            format!("--size={}m", self.arguments.size),
            // fio takes no fractions of a second without a unit.
            format!("--runtime={}ms", (self.arguments.seconds * 1e3).round()),
        ];
        if case.batched {
            let depth = case.queue_depth;
            words.push(format!("--iodepth_batch_submit={depth}"));
            words.push(format!("--iodepth_batch_complete_max={depth}"));
            words.push("--fixedbufs=1".into());
        }
        if case.rate > 0 {
            words.push(format!("--rate={}", case.rate));
        }
        let jobs = fio::jobs(&words)?;
        syncfs(dir)?;
        Ok(Cost {
            iops: fio::iops(&jobs)?,
            cpu: fio::cpu_per_request(&jobs)?,
        })
    }
}
