//! `fslab bench fill`.

use workload::fill;

use super::watch;
use crate::cli::bench::FillArgs;

pub(crate) fn run(args: &FillArgs) -> anyhow::Result<u8> {
    let options = fill::Options {
        bases: args.dirs.clone(),
        files: args.files,
        processes: args.processes,
        size: args.size.get(),
        write_size: args.write_size.get(),
        directories: args.directories,
        per_directory: args.per_directory,
        sync_method: args.sync_method,
        iterations: args.iterations,
        until_full: args.until_full,
        // fs_mark -L and -F imply -k.
        keep: args.keep || args.iterations > 1 || args.until_full,
        name_length: args.name_length,
        random_length: args.random_length,
        seed: args.seed,
        ..fill::Options::new(".")
    };
    let verbose = args.verbose;
    let print = |outcome: &workload::Outcome| fill::fs_mark_text(outcome, verbose);
    watch(args.common.format, print, |watcher, interrupt| {
        lab::bench::fill(&options, watcher, interrupt)
    })
}
