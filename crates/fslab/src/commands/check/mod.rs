//! `fslab check`. Ends with fsck's exit codes, whatever happens: scripts read them as bits.

mod watch;

use ::check::ext4::{self, ExternalJournal, Reference};
use ::check::report::{self, Judge};
use ::check::{Checker, Failure, Options, device};

use crate::cli::check::{CheckArgs, CheckFormat, IoArg, VerdictArg};
use crate::{exit, out};
use watch::Terminal;

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<u8> {
    let target = &args.target;
    let mounted = device::writable(target);
    if let Some(mount) = mounted.as_ref().filter(|_| !args.live) {
        return Ok(operational(&format!(
            "{}: is mounted for writing on {}; unmount it, or say --live and take the verdict as unstable",
            out::path(target),
            out::path(&mount.mount_point)
        )));
    }
    let cached = args.io == IoArg::Auto && device::mostly_cached(target);
    let opened = match ::blockio::open(target, mode(args.io, cached)) {
        Ok(opened) => opened,
        Err(error) => return Ok(operational(&error.to_string())),
    };
    let options = options(args, cached);
    let checker = match checker(args, &*opened.source) {
        Ok(checker) => checker,
        Err(error) => return Ok(operational(&error.to_string())),
    };
    let terminal = Terminal::new();
    let checked = checker.check(&*opened.source, &options, &terminal);
    drop(terminal);
    let mut report = match checked {
        Ok(report) => report,
        Err(Failure::Stopped) => {
            out::say(&format!("fslab: {}", Failure::Stopped));
            return Ok(exit::FSCK_CANCELLED);
        }
        Err(error) => return Ok(operational(&error.to_string())),
    };
    report.unstable = mounted.is_some() || device::writable(target).is_some();
    if args.ideal {
        match device::sequential_rate(target) {
            Ok(rate) => report.set_sequential_rate(rate),
            Err(error) => out::say(&format!("fslab: no ideal times: {error}")),
        }
    }
    let judge = judge(args.verdict);
    let text = match args.format {
        CheckFormat::Text => report::text(&report, judge, args.list),
        CheckFormat::Json => report::json(&report, judge)?,
        CheckFormat::E2fsck => report::e2fsck(&report, judge, args.list),
        CheckFormat::Ocfs2 => report::ocfs2(&report, judge, args.list),
    };
    out::print(&text)?;
    Ok(report.verdict(judge).exit_code)
}

/// Says why there is no verdict.
fn operational(message: &str) -> u8 {
    out::say(&format!("fslab: {}", out::line(message)));
    exit::FSCK_OPERATIONAL
}

fn mode(io: IoArg, cached: bool) -> ::blockio::Mode {
    match io {
        IoArg::Auto if cached => ::blockio::Mode::Buffered,
        IoArg::Auto => ::blockio::Mode::Auto,
        IoArg::Buffered => ::blockio::Mode::Buffered,
        IoArg::Direct => ::blockio::Mode::Direct,
        IoArg::Mmap => ::blockio::Mode::Mapped,
    }
}

fn judge(verdict: VerdictArg) -> Judge {
    match verdict {
        VerdictArg::E2fsck | VerdictArg::E2fsck1470 => Judge::Reference,
        VerdictArg::Strict => Judge::Strict,
    }
}

/// The checker of the format. The options that only ext4 has choose ext4; so does a source without a superblock that is known,
/// because an ext filesystem has backups of its own.
fn checker(
    args: &CheckArgs,
    source: &dyn ::blockio::BlockSource,
) -> Result<Box<dyn Checker>, ::blockio::OpenError> {
    let own = ext4::Options {
        reference: match args.verdict {
            VerdictArg::E2fsck1470 => Reference::E2fsck1470,
            VerdictArg::E2fsck | VerdictArg::Strict => Reference::E2fsck1474,
        },
        superblock: args.superblock,
        block_size: args.block_size,
        journal: args
            .journal
            .as_deref()
            .map(ExternalJournal::open)
            .transpose()?,
    };
    let of_ext4 =
        own.superblock.is_some() || own.journal.is_some() || own.reference != Reference::default();
    let found = ::check::for_source(source).filter(|_| !of_ext4);
    Ok(found.unwrap_or_else(|| Box::new(ext4::Checker::new(own))))
}

fn options(args: &CheckArgs, cached: bool) -> Options {
    let mut options = Options {
        memory: args.memory.map(study::Bytes::get),
        keep: args.keep,
        paths: !args.no_paths,
        ..Options::default()
    };
    let asked = args.request.map(|bytes| usize::try_from(bytes.get()));
    match asked {
        Some(bytes) => {
            options.sweep.request = bytes.unwrap_or(usize::MAX);
            options.scale = false;
        }
        None if cached => options.sweep.request = device::CACHED_REQUEST,
        None => {}
    }
    if let Some(threads) = args.threads {
        options.set_threads(threads.into());
    }
    options
}
