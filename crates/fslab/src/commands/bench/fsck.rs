//! `fslab bench fsck`.

use std::time::Duration;

use fskind::Kind;
use lab::Interrupt;

use super::csv;
use crate::cli::LiveFormat;
use crate::cli::bench::{FsckArgs, PlainBenchFormat};
use crate::terminal::RunTerminal;
use crate::{exit, out};

pub(crate) fn run(args: &FsckArgs) -> anyhow::Result<u8> {
    anyhow::ensure!(
        args.timeout.is_finite() && (0.001..=1e7).contains(&args.timeout),
        lab::Error::Preflight(format!(
            "--timeout {}: seconds, from 0.001 to 10000000",
            args.timeout
        ))
    );
    let request = lab::bench_fsck::Request {
        target: args.target.clone(),
        kind: args.kind.map(Kind::name),
        timeout: Duration::from_secs_f64(args.timeout),
    };
    let terminal = RunTerminal::new(1, LiveFormat::Text);
    let interrupt = Interrupt::on_signals()?;
    let report = lab::bench_fsck::run(&request, &terminal, &interrupt);
    drop(terminal);
    let report = report?;
    match args.format {
        PlainBenchFormat::Text => out::print(&lab::bench_fsck::render(&report))?,
        PlainBenchFormat::Csv => out::print(&csv::table("fsck", &report.phases))?,
        PlainBenchFormat::Json => out::print(&serde_json::to_string_pretty(&report)?)?,
    }
    if let Some(fault) = lab::bench_fsck::fault(&report) {
        out::say(&format!("fslab: {fault}"));
        return Ok(exit::INVALID);
    }
    Ok(exit::OK)
}
