//! `fslab check`. It always ends with fsck's exit codes, because scripts read them as bits.

mod address_space;
mod estimate;
mod modelled;
mod passes;
mod planned;
mod target;

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::check::ext4::{self, ExternalJournal, Reference};
use ::check::report::{self, Judge, Shown};
use ::check::{Checker, Failure, Options, Step, Target, device, ocfs2, xfs};
use fskind::Family;

use crate::cli::check::{CheckArgs, CheckFormat, IoArg, LogArg, TypeArg, VerdictArg};
use crate::terminal::Terminal;
use crate::{exit, out};

/// Any failure is an operational error (8), because 1 and 2 mean "corrected" and "reboot" in fsck's codes.
/// A closed stdout is the shell's 141.
pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<u8> {
    if let Some(option) = args.repairing() {
        out::say(&format!(
            "fslab: {option}: fslab check never writes, so it repairs nothing; repair with: e2fsck -f {option} {}",
            out::path(args.target())
        ));
        return Ok(exit::FSCK_USAGE);
    }
    check(args).or_else(|error| match error.downcast_ref::<out::ClosedPipe>() {
        Some(_) => Err(error),
        None => Ok(operational(&error.to_string())),
    })
}

/// Estimates, where that is asked for in place of a check.
fn estimated(args: &CheckArgs) -> anyhow::Result<Option<u8>> {
    if let Some(files) = args.files {
        return planned::run(args, files).map(Some);
    }
    if !args.estimate {
        return Ok(None);
    }
    if args.device.is_some() {
        out::say(
            "fslab: --estimate with --device is for a filesystem that does not exist yet: say how many files it will have \
             (--files), or leave one of them out",
        );
        return Ok(Some(exit::FSCK_USAGE));
    }
    target::open(args.target())?;
    estimate::run(args).map(Some)
}

fn check(args: &CheckArgs) -> anyhow::Result<u8> {
    let target = args.target();
    let offset = args.offset.map_or(0, study::Bytes::get);
    if let Some(code) = estimated(args)? {
        return Ok(code);
    }
    let first = target::open(target)?;
    let mounted = device::writable(target);
    if let Some(code) = refused(args, mounted.as_ref()) {
        return Ok(code);
    }
    let first = target::from_offset(first, offset).map_err(anyhow::Error::msg)?;
    // With --superblock or --type the user states that there is a filesystem.
    let other =
        target::other(target, &*first).filter(|_| args.superblock.is_none() && args.kind.is_none());
    if let Some(other) = other.as_ref().filter(|_| args.format != CheckFormat::Json) {
        return Ok(operational(&other.message));
    }
    let wanted = match modelled::Wanted::of(args, first.len()) {
        Ok(wanted) => wanted,
        Err(refusal) => {
            out::say(&format!("fslab: {}", out::error_line(&refusal.why)));
            return Ok(refusal.code);
        }
    };
    drop(first);
    // What a modelled device is asked for does not depend on what this machine has cached.
    let cached = args.io == IoArg::Auto && wanted.is_none() && device::mostly_cached(target);
    let opened = ::blockio::open(target, mode(args.io, cached))?;
    let source = target::from_offset(opened.source, offset).map_err(anyhow::Error::msg)?;
    let options = options(args, cached);
    let checker = checker(args, &*source)?;
    let of_xfs =
        args.log == LogArg::ReplayInMemory || args.log_device.is_some() || args.rt_device.is_some();
    if of_xfs && checker.format() != Family::Xfs {
        out::say("fslab: --log, --log-device and --rt-device are for XFS; leave them out");
        return Ok(exit::FSCK_USAGE);
    }
    if let (true, CheckFormat::Text, Some(device)) = (args.live, args.format, &args.device) {
        let device = words::printable(device);
        out::print(&format!(
            "Times below are modelled: reads wait for {device} (--live).\n"
        ))?;
    }
    let terminal = Terminal::stopped_by_signals();
    ::check::give_back_large_blocks();
    let printed = passes::Printed::new(&terminal);
    let observer: &dyn ::check::Observer = if args.passes && args.format == CheckFormat::Text {
        &printed
    } else {
        &terminal
    };
    let (checked, reads) = match &wanted {
        None => (checker.check(&*source, &options, observer), None),
        Some(wanted) => recorded(wanted, source, &*checker, &options, observer)?,
    };
    drop(terminal);
    let mut report = match checked {
        Ok(report) => report,
        Err(Failure::Stopped) => {
            out::say(&format!("fslab: {}", Failure::Stopped));
            return Ok(exit::FSCK_CANCELLED);
        }
        Err(error) => return Err(error.into()),
    };
    report.mounted = mounted.is_some() || device::writable(target).is_some();
    report.unstable |= report.mounted;
    report.next = match &other {
        Some(other) => vec![Step::new(&other.message)],
        None => next_steps(target, offset, &*checker, &report)?,
    };
    if args.ideal {
        match device::sequential_rate(target) {
            Ok(rate) => report.set_sequential_rate(rate),
            Err(error) => out::say(&format!("fslab: no ideal times: {error}")),
        }
    }
    let judge = judge(args.verdict);
    if let Some(other) = other {
        // No findings: there is no ext filesystem that could be damaged.
        out::print(&without_findings(&report::json(&report, judge)?, &other)?)?;
        return Ok(operational(&other.message));
    }
    let estimate = reads
        .as_ref()
        .and_then(|reads| reads.estimate.as_ref().ok()?.as_ref());
    let text = rendered(args, &report, judge, estimate)?;
    out::print(&text)?;
    if let Some(estimate) = estimate.filter(|_| args.format == CheckFormat::Text) {
        out::print(&format!("\n{}", estimate.text()))?;
    }
    let mut code = report.verdict(judge).exit_code;
    if let Some(Recorded { kept, estimate }) = reads {
        for error in [kept.err(), estimate.err()].into_iter().flatten() {
            // The verdict stands beside it: codes are bits.
            code |= operational(&error.to_string());
        }
    }
    Ok(code)
}

/// What to do next about what was found. The target is opened again: it may have been read through what records or models.
fn next_steps(
    path: &Path,
    offset: u64,
    checker: &dyn Checker,
    report: &report::Report,
) -> anyhow::Result<Vec<Step>> {
    let is_device =
        std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
    let source = target::from_offset(target::open(path)?, offset).map_err(anyhow::Error::msg)?;
    let target = Target {
        path: path.to_string_lossy().into_owned(),
        is_device,
        offset,
    };
    Ok(checker.advice(&*source, report, &target))
}

/// The exit code of a request that is refused before anything is read, which is said.
fn refused(args: &CheckArgs, mounted: Option<&device::Writable>) -> Option<u8> {
    if let Some(mount) = mounted.filter(|_| !args.live || args.device.is_some()) {
        let instead = if args.device.is_some() {
            "unmount it: --device needs a check that is stable"
        } else {
            "unmount it, or use --live and treat the verdict as unstable"
        };
        return Some(operational(&format!(
            "{}: is mounted read-write on {}; {instead}",
            out::path(args.target()),
            out::path(&mount.mount_point)
        )));
    }
    let as_table = !matches!(args.format, CheckFormat::Text | CheckFormat::Json);
    if args.device.is_some() && as_table {
        out::say(
            "fslab: --device: modelled times are printed with --format text or json; choose one of them",
        );
        return Some(exit::FSCK_USAGE);
    }
    None
}

/// The report in the format that was chosen.
fn rendered(
    args: &CheckArgs,
    report: &report::Report,
    judge: Judge,
    estimate: Option<&::modelled::Report>,
) -> anyhow::Result<String> {
    Ok(match args.format {
        CheckFormat::Text if args.brief => report::brief(report, judge),
        CheckFormat::Text => report::text(
            report,
            judge,
            Shown {
                list: args.list,
                costs: args.costs || args.ideal,
            },
        ),
        CheckFormat::Json => match estimate {
            None => report::json(report, judge)?,
            Some(estimate) => modelled::in_document(&report::json(report, judge)?, estimate)?,
        },
        CheckFormat::Csv => report::csv(report),
        CheckFormat::E2fsck => report::e2fsck(report, judge, args.list),
        CheckFormat::Ocfs2 => report::ocfs2(report, judge, args.list),
        CheckFormat::XfsRepair => report::xfs_repair(report, judge, args.list),
    })
}

/// What the reads of a check were recorded for.
struct Recorded {
    /// Whether they are in the file that was asked for. The verdict does not depend on it.
    kept: Result<(), ::modelled::Error>,
    /// What the check would take on the device.
    estimate: Result<Option<::modelled::Report>, ::modelled::Error>,
}

/// A check whose reads are recorded; none of a check that has no report.
type RecordedCheck = (Result<report::Report, Failure>, Option<Recorded>);

fn recorded(
    wanted: &modelled::Wanted<'_>,
    source: Box<dyn ::blockio::BlockSource>,
    checker: &dyn Checker,
    options: &Options,
    observer: &dyn ::check::Observer,
) -> anyhow::Result<RecordedCheck> {
    let source = wanted.recorded(source)?;
    let recording = &source.recording;
    let notes = modelled::Notes::new(observer, || recording.now());
    let checked = checker.check(recording, options, &notes);
    let (passes, end) = (notes.passes(), recording.now());
    if checked.is_err() {
        return Ok((checked, None));
    }
    let reads = match modelled::Wanted::record(&source, &passes, end) {
        Ok(record) => Recorded {
            kept: wanted.keep(&record),
            estimate: wanted.report(&source, record, &passes),
        },
        Err(error) => Recorded {
            kept: Err(error),
            estimate: Ok(None),
        },
    };
    Ok((checked, Some(reads)))
}

impl ::check::Observer for Terminal {
    fn pass_started(&self, _pass: &'static ::check::Pass) {
        // Memory of program text that only the start, or the pass before, had to run.
        ::check::give_back_program();
    }
}

/// The JSON document of a target that is not an ext filesystem: what it is, no findings, code 8.
fn without_findings(document: &str, other: &target::Other) -> anyhow::Result<String> {
    let mut document: serde_json::Value = serde_json::from_str(document)?;
    document["content"] = other.content.clone().into();
    document["findings"] = serde_json::json!([]);
    document["counts"] = serde_json::json!([]);
    document["word"] = "stopped".into();
    for verdict in ["/verdict", "/verdicts/e2fsck", "/verdicts/strict"] {
        if let Some(verdict) = document.pointer_mut(verdict) {
            *verdict = serde_json::json!({ "exit_code": exit::FSCK_OPERATIONAL });
        }
    }
    Ok(serde_json::to_string_pretty(&document)?)
}

/// Prints why there is no verdict.
fn operational(message: &str) -> u8 {
    out::say(&format!("fslab: {}", out::error_line(message)));
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
        VerdictArg::E2fsck
        | VerdictArg::E2fsck1470
        | VerdictArg::FsckOcfs2
        | VerdictArg::XfsRepair
        | VerdictArg::XfsRepair613 => Judge::Reference,
        VerdictArg::Strict => Judge::Strict,
    }
}

/// The checker of the format. The options that only ext4 has choose ext4; so does a source without a superblock that is known,
/// because an ext filesystem has backups of its own.
fn checker(
    args: &CheckArgs,
    source: &dyn ::blockio::BlockSource,
) -> Result<Box<dyn Checker>, ::blockio::OpenError> {
    let mut own = ext4::Options {
        reference: match args.verdict {
            VerdictArg::E2fsck1470 => Reference::E2fsck1470,
            VerdictArg::E2fsck
            | VerdictArg::FsckOcfs2
            | VerdictArg::XfsRepair
            | VerdictArg::XfsRepair613
            | VerdictArg::Strict => Reference::E2fsck1474,
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
    own.journal = own.journal.or_else(|| ExternalJournal::search(source));
    let other = |path: &Option<PathBuf>| -> Result<Option<Arc<dyn ::blockio::BlockSource>>, _> {
        let open = |path| ::blockio::open(path, ::blockio::Mode::Buffered);
        let opened = path.as_deref().map(open).transpose()?;
        Ok::<_, ::blockio::OpenError>(opened.map(|opened| Arc::from(opened.source)))
    };
    let log = xfs::Options {
        replay: args.log == LogArg::ReplayInMemory,
        device: other(&args.log_device)?,
        realtime: other(&args.rt_device)?,
        release: match args.verdict {
            VerdictArg::XfsRepair613 => xfs::Release::V6_13,
            _ => xfs::Release::V6_1,
        },
    };
    let of_xfs = log.replay || log.device.is_some() || log.realtime.is_some();
    let found = ::check::for_source(source).filter(|_| !of_ext4);
    let found = found.map(|found| match found.format() {
        Family::Xfs => Box::new(xfs::Checker::new(log.clone())) as Box<dyn Checker>,
        Family::Ext => Box::new(ext4::Checker::new(own.clone())),
        _ => found,
    });
    match (args.kind, args.verdict, &found) {
        (Some(TypeArg::Ocfs2), _, _) | (None, VerdictArg::FsckOcfs2, None) => {
            return Ok(Box::new(ocfs2::Checker));
        }
        (Some(TypeArg::Xfs), _, _)
        | (None, VerdictArg::XfsRepair | VerdictArg::XfsRepair613, None) => {
            return Ok(Box::new(xfs::Checker::new(log)));
        }
        (None, _, None) if of_xfs && !of_ext4 => return Ok(Box::new(xfs::Checker::new(log))),
        _ => {}
    }
    let found = found.filter(|_| args.kind != Some(TypeArg::Ext4));
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
    match args.threads {
        Some(threads) => options.set_threads(threads.into()),
        None => options.spare_threads = true,
    }
    let room = address_space::room();
    if let Some(room) = room {
        options.set_threads(options.threads.min(room.threads));
    }
    if room.is_some_and(|room| room.little) {
        options.sweep.depth = 2 * options.threads;
        options.sweep.request = options.sweep.request.min(device::CACHED_REQUEST);
    }
    options
}
