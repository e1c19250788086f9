//! `fslab bench`: the workloads, and how their results are printed.

mod csv;
mod fsck;
mod mix;
mod ranks;
mod stream;

pub(crate) use fsck::run as fsck;
pub(crate) use mix::{fio_job, mix};
pub(crate) use ranks::{metadata, shared};
pub(crate) use stream::run as stream;

use lab::Interrupt;
use lab::bench::Measured;
use params::FillSpec;
use workload::{Workload, fill, throughput, tree};

use crate::cli::LiveFormat;
use crate::cli::bench::{
    AgeArgs, BenchFormat, FillArgs, PlainBenchFormat, ThroughputArgs, TreeArgs,
};
use crate::terminal::RunTerminal;
use crate::{exit, out};

pub(crate) fn throughput(args: &ThroughputArgs) -> anyhow::Result<u8> {
    watch(&args.spec, args.common.format, throughput::iozone_text)
}

pub(crate) fn tree(args: &TreeArgs) -> anyhow::Result<u8> {
    watch(&args.spec, args.common.format, tree::compilebench_text)
}

pub(crate) fn fill(args: &FillArgs) -> anyhow::Result<u8> {
    let spec = FillSpec {
        // fs_mark -L and -F imply -k.
        keep: args.spec.keep || args.spec.iterations > 1 || args.spec.until_full,
        ..args.spec.clone()
    };
    watch(&spec, args.common.format, |outcome| {
        fill::fs_mark_text(outcome, args.verbose)
    })
}

pub(crate) fn age(args: &AgeArgs) -> anyhow::Result<u8> {
    let format = match args.format {
        PlainBenchFormat::Text => BenchFormat::Text,
        PlainBenchFormat::Json => BenchFormat::Json,
        PlainBenchFormat::Csv => BenchFormat::Csv,
    };
    // No program's output to copy: the procedure was a script that called fs_mark.
    watch(&args.spec, format, |_| String::new())
}

/// Runs a workload with a progress line and prints its measurements, also when it failed after some of
/// them.
fn watch(
    workload: &dyn Workload,
    format: BenchFormat,
    original: impl Fn(&workload::Outcome) -> String,
) -> anyhow::Result<u8> {
    let terminal = RunTerminal::new(1, LiveFormat::Text);
    let measured = lab::bench::run(workload, &terminal, &Interrupt::on_signals()?);
    drop(terminal);
    let measured = measured?;
    print(&measured, format, original)?;
    if let Some(error) = measured.error {
        return Err(error.into());
    }
    Ok(doubt(&measured))
}

fn print(
    measured: &Measured,
    format: BenchFormat,
    original: impl Fn(&workload::Outcome) -> String,
) -> anyhow::Result<()> {
    match format {
        BenchFormat::Text => out::print(&lab::bench_text::render(measured)),
        BenchFormat::Json => out::print(&serde_json::to_string_pretty(&measured.outcome)?),
        BenchFormat::Csv => {
            let outcome = &measured.outcome;
            out::print(&csv::table(&outcome.workload, &outcome.phases))
        }
        BenchFormat::Original => {
            // As with the original programs under `time`: their output on stdout, time's on stderr.
            for (_, usage) in &measured.usages {
                out::say(&lab::bench_text::time(usage));
            }
            out::print(&original(&measured.outcome))
        }
    }
}

/// The exit code: invalid evidence is reported, and is a failure.
fn doubt(measured: &Measured) -> u8 {
    let doubt = measured.outcome.phases.iter().find_map(|phase| {
        let found = phase
            .evidence
            .iter()
            .find(|found| found.holds == Some(false))?;
        Some(format!(
            "{}: {} does not hold: {}",
            phase.name, found.name, found.detail
        ))
    });
    let Some(doubt) = doubt else {
        return exit::OK;
    };
    out::say(&format!(
        "fslab: {doubt}; the figures are not valid for what was asked"
    ));
    exit::INVALID
}
