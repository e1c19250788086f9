//! `fslab bench stream`.

use lab::bench_text::{aiod, dd};
use report::tool_output::Era;
use workload::stream::{self, Between, Content, Flush, Test, WriteThrough};

use super::{engine, watch};
use crate::cli::bench::{
    BenchFormat, BetweenArg, ContentArg, ConvArg, OflagArg, StreamArgs, StreamFormat,
};

pub(crate) fn run(args: &StreamArgs) -> anyhow::Result<u8> {
    let options = options(args)?;
    let (format, print): (_, fn(&workload::Outcome) -> String) = match args.format {
        StreamFormat::Text => (BenchFormat::Text, aiod),
        StreamFormat::Json => (BenchFormat::Json, aiod),
        StreamFormat::Original => (BenchFormat::Original, aiod),
        StreamFormat::Dd => (BenchFormat::Original, |o| dd(o, Era::Today)),
        StreamFormat::Dd2010 => (BenchFormat::Original, |o| dd(o, Era::Of2010)),
    };
    watch(format, print, |watcher, interrupt| {
        lab::bench::stream(&options, watcher, interrupt)
    })
}

fn options(args: &StreamArgs) -> anyhow::Result<stream::Options> {
    let contradiction = |words: &str| lab::Error::Preflight(format!("{words}: give one of them"));
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
    Ok(stream::Options {
        file: args.file.clone(),
        block: args.block.get(),
        count: args.count,
        seek: args.seek,
        skip: args.skip,
        direct: args.direct || oflag(OflagArg::Direct),
        engine: engine(args.engine),
        queue_depth: args.queue_depth,
        content: match args.content {
            ContentArg::Zero => Content::Zero,
            ContentArg::Pattern => Content::Pattern,
            ContentArg::Random => Content::Random,
        },
        verify: args.verify,
        test,
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
        between: match args.between {
            BetweenArg::Drop => Between::Drop,
            BetweenArg::Warm => Between::Warm,
        },
        // aiod -W leaves its file to aiod -R, and dd leaves it to whoever comes.
        keep: args.keep || test == Test::Write,
        ..stream::Options::new(&args.dir)
    })
}
