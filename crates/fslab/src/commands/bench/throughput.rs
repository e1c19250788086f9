//! `fslab bench throughput`.

use std::time::Duration;

use workload::throughput;

use super::{engine, watch};
use crate::cli::bench::ThroughputArgs;

pub(crate) fn run(args: &ThroughputArgs) -> anyhow::Result<u8> {
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
        engine: engine(args.engine),
        queue_depth: args.queue_depth,
        settle: Duration::from_secs_f64(args.settle),
        cold_reads: args.cold,
        keep: args.keep,
        ..throughput::Options::new(&args.dir)
    };
    let print = throughput::iozone_text;
    watch(args.common.format, print, |watcher, interrupt| {
        lab::bench::throughput(&options, watcher, interrupt)
    })
}
