//! How often the verdicts of `fslab compare`, `history` and `bisect-step` are right, as tables with targets.
//!
//! - `gate`: how often `--fail-on worse` ends with code 3 where both sides are the same (at most 5 %), and where one is at 90 % of the
//!   rate. Simulated: the medians of runs vary by 1 to 3 %, trials by 2 %.
//! - `shown`: how often equal sides pass `--fail-on not-shown --margin 5%`, against the table of docs/metrics.md.
//! - `device`: the same on real runs: a loop image that is limited in its rate, and one at 90 % of that rate, 5 runs of 5
//!   blocks each. A/A: 1000 times five runs against five others, drawn from twelve runs of the same device. Needs root and `fslab`; some three
//!   minutes.
//! - `changes`: steps of known size and place are nominated there, and still series, of independent noise and of noise that
//!   remembers (AR(1), 0.5), have none. And the time of a search through 100 series.
//! - `bisect`: searches through 64 commits of which one is untestable, by steps that measure until they are sure.
//!
//! All but `device` is arithmetic on simulated runs with fixed seeds, and takes less than a minute.

mod bisections;
mod changes;
mod device;
mod gates;

use anyhow::Result;
use clap::Parser;
use compare::{Side, SideRun};
use fixtures::simulated::{Normal, Simulated};

use crate::arguments::{Binary, Place, wants};
use crate::run::{Stop, verdict};
use crate::table::Printer;

/// Measures how often the verdicts between runs are right.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    binary: Binary,
    #[command(flatten)]
    place: Place,
    /// A tenth of the simulations, and fewer real runs: a quick look, not a result.
    #[arg(long)]
    quick: bool,
    /// Parts to measure.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "gate,shown,device,changes,bisect"
    )]
    parts: Vec<String>,
}

impl Arguments {
    /// A number of simulations, fewer for a quick look.
    fn times(&self, whole: u32) -> u32 {
        if self.quick { whole / 10 } else { whole }
    }
}

pub(crate) fn main(arguments: &Arguments) -> std::process::ExitCode {
    verdict("compare_power", measure(arguments))
}

/// Whether all targets were met.
fn measure(arguments: &Arguments) -> Result<bool> {
    let stop = Stop::on_signals()?;
    let mut printer = Printer::default();
    if wants(&arguments.parts, "gate") {
        printer.show(&gates::equal_and_slower(arguments.times(1000), &stop)?);
    }
    if wants(&arguments.parts, "shown") {
        printer.show(&gates::shown(arguments.times(1000), &stop)?);
    }
    if wants(&arguments.parts, "changes") {
        printer.show(&changes::table(arguments.times(200), &stop)?);
    }
    if wants(&arguments.parts, "bisect") {
        printer.show(&bisections::table(arguments.times(200), &stop)?);
    }
    if wants(&arguments.parts, "device") {
        printer.show(&device::table(arguments, &stop)?);
    }
    Ok(printer.all_met())
}

/// A side of simulated runs of one cell: numbered from `first`, each of `blocks` trials.
fn side(
    draws: &mut Normal,
    first: u32,
    runs: u32,
    blocks: usize,
    level: f64,
    of_runs: f64,
) -> Side {
    let run = |number: u32| {
        let run = Simulated::new(number, vec![draws.rates(level, blocks, of_runs, OF_TRIALS)]);
        of_run(run.run())
    };
    Side {
        name: format!("from {first}"),
        runs: (first..first + runs).map(run).collect(),
    }
}

/// By which share trials of one run vary.
const OF_TRIALS: f64 = 0.02;

fn of_run(run: record::Run) -> SideRun {
    SideRun {
        from: run.name.clone(),
        run,
    }
}

/// `4.2 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
