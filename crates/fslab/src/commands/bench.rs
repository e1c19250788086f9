//! `fslab bench`.

use std::time::Duration;

use lab::Interrupt;
use workload::{Outcome, engine, throughput, tree};

use crate::cli::{BenchFormat, EngineArg, LiveFormat, ThroughputArgs, TreeArgs};
use crate::progress::Terminal;
use crate::{exit, out};

pub(crate) fn throughput(args: &ThroughputArgs) -> anyhow::Result<u8> {
    anyhow::ensure!(
        args.settle.is_finite() && (0.0..=3600.0).contains(&args.settle),
        lab::Error::Preflight(format!("--settle {}: seconds, from 0 to 3600", args.settle))
    );
    let options = throughput::Options {
        threads: args.threads,
        size: args.size.get(),
        record: args.record.get(),
        direct: args.direct,
        include_fsync: args.include_fsync,
        include_close: args.include_close,
        stonewall: !args.no_stonewall,
        engine: match args.engine {
            EngineArg::Sync => engine::Kind::Sync,
            EngineArg::IoUring => engine::Kind::IoUring,
            EngineArg::Null => engine::Kind::Null,
        },
        queue_depth: args.queue_depth,
        settle: Duration::from_secs_f64(args.settle),
        cold_reads: args.cold,
        keep: args.keep,
        ..throughput::Options::new(&args.dir)
    };
    let terminal = Terminal::new(1, LiveFormat::Text);
    let outcome = lab::bench::throughput(&options, &terminal, &Interrupt::on_signals()?)?;
    drop(terminal);
    print(&outcome, args.common.format, throughput::iozone_text)
}

pub(crate) fn tree(args: &TreeArgs) -> anyhow::Result<u8> {
    let options = tree::Options {
        initial: args.initial,
        runs: args.runs,
        buffer: usize::try_from(args.buffer.get()).unwrap_or(usize::MAX),
        scale: args.scale,
        sources: args.sources.clone(),
        sync: !args.no_sync,
        compat: !args.no_compat,
        makej: args.makej,
        keep: args.keep,
        ..tree::Options::new(&args.dir)
    };
    let terminal = Terminal::new(1, LiveFormat::Text);
    let outcome = lab::bench::tree(&options, &terminal, &Interrupt::on_signals()?)?;
    drop(terminal);
    print(&outcome, args.common.format, tree::compilebench_text)
}

fn print(
    outcome: &Outcome,
    format: BenchFormat,
    original: impl Fn(&Outcome) -> String,
) -> anyhow::Result<u8> {
    match format {
        BenchFormat::Text => out::print(&lab::bench_text::render(outcome))?,
        BenchFormat::Json => out::print(&serde_json::to_string_pretty(outcome)?)?,
        BenchFormat::Original => out::print(&original(outcome))?,
    }
    let doubt = outcome.phases.iter().find_map(|phase| {
        let found = phase
            .evidence
            .iter()
            .find(|found| found.holds == Some(false))?;
        Some(format!(
            "{}: {} does not hold: {}",
            phase.name, found.name, found.detail
        ))
    });
    if let Some(doubt) = doubt {
        out::say(&format!(
            "fslab: {doubt}; do not take the numbers for what was asked"
        ));
        return Ok(exit::INVALID);
    }
    Ok(exit::OK)
}
