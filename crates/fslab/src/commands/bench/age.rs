//! `fslab bench age`.

use workload::age;

use super::watch;
use crate::cli::DocumentFormat;
use crate::cli::bench::{AgeArgs, BenchFormat};

pub(crate) fn run(args: &AgeArgs) -> anyhow::Result<u8> {
    let options = age::Options {
        rounds: args.rounds,
        files: args.files,
        processes: args.processes,
        directories: args.directories,
        per_directory: args.per_directory,
        step: args.step,
        shared: !args.own_bases,
        size: args.size.get(),
        write_size: args.write_size.get(),
        seed: args.seed,
        keep: true,
        ..age::Options::new(&args.dir)
    };
    let format = match args.format {
        DocumentFormat::Text => BenchFormat::Text,
        DocumentFormat::Json => BenchFormat::Json,
    };
    // There was no program to print like: the procedure was a script around fs_mark.
    watch(
        format,
        |_| String::new(),
        |watcher, interrupt| lab::bench::age(&options, watcher, interrupt),
    )
}
