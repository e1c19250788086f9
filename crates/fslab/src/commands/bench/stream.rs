//! `fslab bench stream`: aiod's options are its parameters, dd's words are translated here.

use lab::bench_text::{aiod, dd};
use params::StreamSpec;
use params::stream::{Flush, Test, WriteThrough};
use report::tool_output::Era;

use super::watch;
use crate::cli::bench::{BenchFormat, ConvArg, OflagArg, StreamArgs, StreamFormat};

pub(crate) fn run(args: &StreamArgs) -> anyhow::Result<u8> {
    let (format, print): (_, fn(&workload::Outcome) -> String) = match args.format {
        StreamFormat::Text => (BenchFormat::Text, aiod),
        StreamFormat::Json => (BenchFormat::Json, aiod),
        StreamFormat::Csv => (BenchFormat::Csv, aiod),
        StreamFormat::Original => (BenchFormat::Original, aiod),
        StreamFormat::Dd => (BenchFormat::Original, |o| dd(o, Era::Today)),
        StreamFormat::Dd2010 => (BenchFormat::Original, |o| dd(o, Era::Of2010)),
    };
    watch(&parameters(args)?, format, print)
}

fn parameters(args: &StreamArgs) -> anyhow::Result<StreamSpec> {
    let contradiction = |words: &str| lab::Error::Preflight(format!("{words}: use only one"));
    let conv = |word| args.conv.contains(&word);
    let oflag = |word| args.oflag.contains(&word);
    anyhow::ensure!(
        !(conv(ConvArg::Fsync) && conv(ConvArg::Fdatasync)),
        contradiction("--conv fsync,fdatasync")
    );
    anyhow::ensure!(
        !(oflag(OflagArg::Dsync) && oflag(OflagArg::Sync)),
        contradiction("--oflag dsync,sync")
    );
    let test = match (args.write, args.read) {
        (true, _) => Test::Write,
        (_, true) => Test::Read,
        _ => Test::WriteRead,
    };
    Ok(StreamSpec {
        test,
        direct: args.spec.direct || oflag(OflagArg::Direct),
        flush: match () {
            () if conv(ConvArg::Fsync) => Flush::Fsync,
            () if conv(ConvArg::Fdatasync) => Flush::Fdatasync,
            () => Flush::None,
        },
        write_through: match () {
            () if oflag(OflagArg::Dsync) => WriteThrough::Dsync,
            () if oflag(OflagArg::Sync) => WriteThrough::Sync,
            () => WriteThrough::None,
        },
        reuse: conv(ConvArg::Notrunc),
        // aiod -W leaves its file for aiod -R, as dd does.
        keep: args.spec.keep || test == Test::Write,
        ..args.spec.clone()
    })
}
