//! `fslab bench shared` and `fslab bench metadata`: ranks as threads, or as processes of MPI.

use std::time::Duration;

use params::WorkloadSpec;
use ranks::{Launched, Launcher};
use workload::Outcome;

use super::watch;
use crate::cli::bench::{BenchFormat, MetadataArgs, RanksArgs, RanksFormat, SharedArgs};

pub(crate) fn shared(args: &SharedArgs) -> anyhow::Result<u8> {
    let spec = WorkloadSpec::Shared(args.spec.clone());
    let original = |outcome: &Outcome| lab::bench_text::ior(&args.spec, outcome);
    run(spec, &args.ranks, args.format, original)
}

pub(crate) fn metadata(args: &MetadataArgs) -> anyhow::Result<u8> {
    let spec = WorkloadSpec::Metadata(args.spec.clone());
    let original = |outcome: &Outcome| lab::bench_text::mdtest(&args.spec, outcome);
    run(spec, &args.ranks, args.format, original)
}

fn run(
    spec: WorkloadSpec,
    ranks: &RanksArgs,
    format: RanksFormat,
    original: impl Fn(&Outcome) -> String,
) -> anyhow::Result<u8> {
    let format = match format {
        RanksFormat::Text => BenchFormat::Text,
        RanksFormat::Json => BenchFormat::Json,
        RanksFormat::Csv => BenchFormat::Csv,
        RanksFormat::Original => BenchFormat::Original,
    };
    // Of a launch that failed only phases are known: a table of theirs would name no options and no ranks.
    let original = |outcome: &Outcome| {
        if outcome.parameters.is_null() {
            String::new()
        } else {
            original(outcome)
        }
    };
    let Some(line) = &ranks.launcher else {
        return watch(&spec, format, original);
    };
    let launcher = Launcher {
        library: ranks.mpi_library.clone(),
        patience: Duration::from_secs(ranks.stall),
        ..Launcher::of_line(line)
    };
    let number = spec.ranks().unwrap_or(1);
    launcher
        .check(number)
        .map_err(|refusal| lab::Error::Preflight(refusal.to_string()))?;
    let launched = Launched {
        launcher: &launcher,
        spec,
    };
    watch(&launched, format, original)
}
