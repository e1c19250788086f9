//! `fslab bench tree`.

use workload::tree;

use super::watch;
use crate::cli::bench::TreeArgs;

pub(crate) fn run(args: &TreeArgs) -> anyhow::Result<u8> {
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
    let print = tree::compilebench_text;
    watch(args.common.format, print, |watcher, interrupt| {
        lab::bench::tree(&options, watcher, interrupt)
    })
}
