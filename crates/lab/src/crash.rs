//! The crash check: what would a power cut have left?
//!
//! A log of a device's writes ([`blockio::log_writes`]) gives the device as of every flush. Each such image is
//! made as a sparse file, recovered as its user would do it (the kernel's mount, `e2fsck -p`), and judged by
//! the filesystem's own checker. For ext2/3/4 `fslab check` gives a second opinion on the same image, twice:
//! before recovery it reads the image from the log itself, without a copy, and after it from the file. Where the
//! two differ, the report says so; a check whose reference is never questioned would be worth less.
//!
//! Everything happens after the trial, on the host, whichever kernel wrote the log. Nothing is timed.
//!
//! The power can also be cut while a trial runs ([`cut`]): then there is one image, the disk itself, and besides it
//! is asked whether all that was synced is still there ([`promise`]).
//!
//! Rejected: one image that is rolled forward and recovered in place. Recovery writes, so the next image would
//! hold what no power cut left; and undoing it costs as much as the copy of what a log has written.

pub(crate) mod after_cut;
mod context;
pub(crate) mod cut;
mod durability;
mod image;
mod judge;
pub mod requirements;
mod source;
pub(crate) mod trial;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use blockio::log_writes::{Boundary, Ending, Log, LogError, Replay, spread};
use blockio::{BlockSource, Ram};
use fskind::Kind;
use progress::Step;
use record::{Crash, CrashAgreement, CrashDamage};
use rig::undo::Journal;

use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::watch::Watcher;
use image::Throwaway;
use judge::{How, Judge, Judged};
use source::{Source, open};

pub use source::Part;

/// Most images listed that are not clean.
const LISTED: usize = 10;

/// What the device was before the log began.
#[derive(Clone, Debug)]
pub enum Base {
    /// Blank, of this many bytes.
    Blank(u64),
    /// As this image or device is.
    Image(PathBuf),
}

/// Where in the log the filesystem is whole for the first time: nothing before it is judged.
#[derive(Clone, Debug)]
pub enum From {
    /// After this many entries.
    Entry(usize),
    /// After the mark of this name.
    Mark(String),
}

/// What recovers an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recover {
    /// The kernel, by a mount.
    Mount,
    /// `e2fsck -p`.
    E2fsck,
    /// Nothing: it is judged as it is.
    Nothing,
}

impl Recover {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Recover::Mount => "mount",
            Recover::E2fsck => "e2fsck -p",
            Recover::Nothing => "none",
        }
    }

    /// What is usual for a kind of filesystem, with the rights of this process.
    pub fn usual(kind: &str) -> Recover {
        let is_root = rustix::process::geteuid().is_root();
        match Kind::of_name(kind) {
            Some(kind) if !kind.has_journal() => Recover::Nothing,
            Some(kind) if kind.is_ext() && !is_root => Recover::E2fsck,
            _ => Recover::Mount,
        }
    }
}

/// A crash check.
#[derive(Clone, Debug)]
pub struct Request {
    /// The log.
    pub log: Part,
    /// What it begins with.
    pub base: Base,
    /// Kind of filesystem.
    pub filesystem: String,
    /// Where the filesystem is whole.
    pub from: From,
    /// Entries of the log that are considered; none: all.
    pub until: Option<usize>,
    /// After what a power cut is tried.
    pub boundary: Boundary,
    /// Most images, evenly spread; 0 means all.
    pub most: usize,
    /// What recovers.
    pub recover: Recover,
    /// For one run of the checker.
    pub timeout: Duration,
    /// Stop after the first that is not clean, and keep its image here.
    pub keep: Option<PathBuf>,
}

/// Judges what a log holds. Images are in the journal's folder while they are judged.
///
/// # Errors
/// No log, no such mark, no base; a checker that is not here; no room; a mount that cannot be tried; an
/// interrupt. An image that is damaged is a result.
pub fn run(
    request: &Request,
    journal: &Arc<Journal>,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Crash, Error> {
    let begun = Instant::now();
    rig::fsck::program_present(&request.filesystem)?;
    // Before the hours of judging.
    if let Some(kept) = request
        .keep
        .as_deref()
        .filter(|kept| kept.symlink_metadata().is_ok())
    {
        return Err(Error::Preflight(format!(
            "--keep {}: exists already and is not overwritten; choose another name",
            kept.display()
        )));
    }
    let log = open_log(&request.log)?;
    let base = open_base(&request.base)?;
    let from = first_entry(request, &log)?;
    let mut all = request.boundary.moments(log.entries(), from);
    all.retain(|moment| request.until.is_none_or(|until| *moment <= until));
    let chosen = spread(&all, request.most);
    let mut crash = Crash {
        filesystem: request.filesystem.clone(),
        device_bytes: base.len(),
        log_bytes: used(&log),
        entries: log.entries().len() as u64,
        from: from as u64,
        boundary: name(request.boundary).into(),
        boundaries: all.len() as u64,
        recovery: request.recover.name().into(),
        ..Crash::default()
    };
    note_log(&mut crash, &log, base.len());
    let mut device = Replay::new(base, &log);
    let how = How {
        filesystem: &request.filesystem,
        recover: request.recover,
        timeout: request.timeout,
    };
    let mut judge = Judge::new(how, journal, interrupt);
    watcher.foresee(chosen.len() as u64);
    for (number, moment) in chosen.iter().enumerate() {
        if interrupt.is_raised() {
            return Err(interrupted());
        }
        watcher.begin(Step::new(format!(
            "crash image {} of {}",
            number + 1,
            chosen.len()
        )));
        device.advance(*moment);
        let image = Throwaway::of(&device, journal)?;
        let judged = judge.judge(&device, &image, *moment)?;
        watcher.advance(1);
        let stop = !judged.is_clean() && request.keep.is_some();
        note(&mut crash, judged, &|moment| last_mark(&log, moment))?;
        if let Some(kept) = request.keep.as_deref().filter(|_| stop) {
            keep(&device, kept, &mut crash)?;
            break;
        }
    }
    crash.checker = judge.checker();
    crash.seconds = begun.elapsed().as_secs_f64();
    Ok(crash)
}

/// Whether the whole log upon a blank device is the disk as it was left: then nothing is missing in it.
///
/// # Errors
/// Either cannot be read.
pub fn is_whole(log: &Part, disk: &Part) -> Result<bool, Error> {
    let log = open_log(log)?;
    let disk = disk.open()?;
    let mut device = Replay::new(Ram::sparse(disk.len()), &log);
    device.advance(usize::MAX);
    image::same(&device, &*disk)
}

fn open_log(part: &Part) -> Result<Log<Source>, Error> {
    Log::open(part.open()?).map_err(|error: LogError| Error::Preflight(error.to_string()))
}

/// How many entries the log has now, by its superblock.
pub(crate) fn entries(log: &Part) -> Result<usize, Error> {
    Ok(open_log(log)?.entries().len())
}

fn open_base(base: &Base) -> Result<Source, Error> {
    match base {
        Base::Blank(bytes) => Ok(Box::new(Ram::sparse(*bytes))),
        Base::Image(path) => open(path),
    }
}

fn first_entry(request: &Request, log: &Log<Source>) -> Result<usize, Error> {
    let mark = match &request.from {
        From::Entry(number) => return Ok(*number),
        From::Mark(mark) => mark,
    };
    let found = log
        .after_mark(mark)
        .map_err(|error| Error::Preflight(error.to_string()))?;
    found.ok_or_else(|| {
        Error::Preflight(format!(
            "{}: has no mark {mark:?} among its {} entries; name another, or an entry",
            request.log,
            log.entries().len()
        ))
    })
}

fn note_log(crash: &mut Crash, log: &Log<Source>, device: u64) {
    let found = log.entries().len();
    if let Ending::Early { promised } = log.ending() {
        crash.notes.push(format!(
            "the log ends early: {found} entries can be read of {promised} that its superblock promises"
        ));
    }
    let beyond = |entry: &&blockio::log_writes::Entry| entry.offset + entry.len > device;
    let beyond = log.entries().iter().filter(beyond).count();
    if beyond > 0 {
        crash.notes.push(format!(
            "{beyond} entries reach past the device's {device} bytes: is the base of another device?"
        ));
    }
}

/// Bytes of the log up to the end of its last entry: a log on its own disk is followed by the rest of the disk.
fn used(log: &Log<Source>) -> u64 {
    let data = |entry: &blockio::log_writes::Entry| if entry.has_data() { entry.len } else { 0 };
    let last = log.entries().last();
    last.map_or(0, |entry| entry.data + data(entry))
}

fn name(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::Flush => "flush",
        Boundary::Fua => "fua",
        Boundary::Write => "write",
    }
}

fn interrupted() -> Error {
    Error::Interrupted("the crash check was interrupted; nothing of it is left".into())
}

/// Counts a judgement, and lists it where it is not clean, with the last mark before its moment.
fn note(
    crash: &mut Crash,
    judged: Judged,
    mark: &dyn Fn(usize) -> Result<Option<String>, Error>,
) -> Result<(), Error> {
    crash.judged += 1;
    match judged.clean {
        Some(true) => crash.clean += 1,
        Some(false) => crash.damaged += 1,
        None => crash.unjudged += 1,
    }
    if !judged.compared.is_empty() {
        let agreement = crash.agreement.get_or_insert_with(CrashAgreement::default);
        for compared in &judged.compared {
            let counts = if compared.recovered {
                &mut agreement.after
            } else {
                &mut agreement.before
            };
            counts[0] += u64::from(compared.agrees());
            counts[1] += 1;
            if !compared.agrees() && agreement.differences.len() < LISTED {
                agreement.differences.push(format!(
                    "as of entry {}, {} recovery: the checker's exit code is {}, fslab check's {}",
                    judged.moment - 1,
                    if compared.recovered {
                        "after"
                    } else {
                        "before"
                    },
                    compared.checker,
                    compared.own
                ));
            }
        }
    }
    if judged.is_clean() || crash.damages.len() >= LISTED {
        return Ok(());
    }
    let mark = mark(judged.moment)?;
    crash.damages.push(CrashDamage {
        entry: judged.moment as u64 - 1,
        mark,
        refused: judged.refused,
        checker: judged.explanation,
        said: judged.printed,
        own_exit: judged.own.as_ref().map(|own| own.exit),
        own_problems: judged.own.map(|own| own.problems).unwrap_or_default(),
    });
    Ok(())
}

fn last_mark(log: &Log<Source>, moment: usize) -> Result<Option<String>, Error> {
    for entry in log.entries().iter().take(moment).rev() {
        let mark = log
            .mark(entry)
            .map_err(|error| Error::Preflight(error.to_string()))?;
        if mark.is_some() {
            return Ok(mark);
        }
    }
    Ok(None)
}

/// Leaves the image as the power cut left it, for a person to look at.
fn keep(device: &dyn BlockSource, path: &Path, crash: &mut Crash) -> Result<(), Error> {
    let failed = |source| Error::File {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::create_new(path).map_err(failed)?;
    image::pour(device, &file, path).inspect_err(|_| {
        // Half an image would be taken for one.
        let _ = std::fs::remove_file(path);
    })?;
    crash.notes.push(format!(
        "ended at the first image that is not clean; as the power cut left it, it is {}",
        path.display()
    ));
    Ok(())
}

/// The same, with images in its own folder below `scratch`, or below the folder for temporary files.
///
/// # Errors
/// See [`run`]; and a folder that cannot be made, or removed when all is over.
pub fn run_in_scratch(
    request: &Request,
    scratch: Option<&Path>,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Crash, Error> {
    let below = scratch.map_or_else(std::env::temp_dir, Path::to_path_buf);
    let folder = tempfile::Builder::new()
        .prefix("fslab-crash-")
        .tempdir_in(&below)
        .map_err(|source| {
            Error::Preflight(format!(
                "{}: cannot make a folder for images: {source}; name another with --scratch",
                below.display()
            ))
        })?;
    let journal = Journal::open(folder.path())?;
    let crash = run(request, &journal, watcher, interrupt);
    if journal.left().is_empty() {
        return crash;
    }
    // A mount that would not go: its journal must stay, for `fslab clean`.
    let kept = folder.keep();
    crash.and_then(|_| {
        Err(Error::Preflight(format!(
            "{}: something made for the check could not be undone; `fslab clean {0}` tries again",
            kept.display()
        )))
    })
}
