//! `fslab bench`: one file for each workload, and what they share.

mod age;
mod fill;
mod fsck;
mod stream;
mod throughput;
mod tree;

pub(crate) use age::run as age;
pub(crate) use fill::run as fill;
pub(crate) use fsck::run as fsck;
pub(crate) use stream::run as stream;
pub(crate) use throughput::run as throughput;
pub(crate) use tree::run as tree;

use lab::bench::Measured;
use lab::{Error, Interrupt, Watcher};
use workload::engine;

use crate::cli::LiveFormat;
use crate::cli::bench::{BenchFormat, EngineArg};
use crate::progress::Terminal;
use crate::{exit, out};

const fn engine(arg: EngineArg) -> engine::Kind {
    match arg {
        EngineArg::Sync => engine::Kind::Sync,
        EngineArg::IoUring => engine::Kind::IoUring,
        EngineArg::Aio => engine::Kind::Aio,
        EngineArg::Null => engine::Kind::Null,
    }
}

/// Runs a workload with a progress line and prints its measurements, also when it failed after some of
/// them.
fn watch(
    format: BenchFormat,
    original: impl Fn(&workload::Outcome) -> String,
    run: impl FnOnce(&dyn Watcher, &Interrupt) -> Result<Measured, Error>,
) -> anyhow::Result<u8> {
    let terminal = Terminal::new(1, LiveFormat::Text);
    let measured = run(&terminal, &Interrupt::on_signals()?);
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
        BenchFormat::Original => {
            // As after the originals under `time`: their lines are theirs, time's are on stderr.
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
