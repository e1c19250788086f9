//! What can go wrong, each in one line: the thing, the cause, the next step.

use std::io;
use std::path::{Path, PathBuf};

use crate::gate::Refusal;

/// Shorthand of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What an error means to the caller that runs trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The safety gate refused (exit code 5 of the lab).
    Safety,
    /// This combination of kind, mkfs and mount options cannot run on this host: do not try again.
    Cell,
    /// This time it did not work: full disk, busy mount, failing device.
    Trial,
    /// The target cannot serve at all: no such folder, read-only, no privilege.
    Target,
    /// A stop was requested.
    Interrupted,
}

/// Name of the undo journal in the run's folder.
pub(crate) const JOURNAL: &str = "undo.jsonl";

/// An error of the rig.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{thing}: {what}: {source}; {next}")]
    Io {
        /// Path or device.
        thing: String,
        /// What was tried.
        what: String,
        /// The system's answer.
        source: io::Error,
        /// What the reader can do.
        next: String,
    },
    /// The gate refused a device.
    #[error("{}", join(.0))]
    Refused(Vec<Refusal>),
    /// No such kind of filesystem.
    #[error(
        "{kind}: not a filesystem this rig can make; choose one of {}",
        fskind::Kind::names().collect::<Vec<_>>().join(", ")
    )]
    UnknownKind {
        /// As asked.
        kind: String,
    },
    /// An option of mkfs or mount that names something else than the target.
    #[error("{kind}: {program} {word:?}: {why}, and only the target may be written; remove it")]
    Reaches {
        /// Filesystem kind.
        kind: String,
        /// `mkfs` or `mount`.
        program: &'static str,
        /// The word.
        word: String,
        /// Why it reaches past the target.
        why: String,
    },
    /// A program is not installed.
    #[error("{program}: not found on PATH, /usr/sbin or /sbin; install it: apt install {package}")]
    MissingProgram {
        /// Name of the program.
        program: String,
        /// Debian's package.
        package: String,
    },
    /// A program ran and failed.
    #[error("{program}: {status}: {line}; correct the study's mkfs options (it ran: {command})")]
    ProgramFailed {
        /// Name of the program.
        program: String,
        /// `exit status 1`, `killed by signal 9`.
        status: String,
        /// The first useful line it printed.
        line: String,
        /// The whole command line.
        command: String,
    },
    /// The kernel has no such filesystem.
    #[error(
        "{kind}: the kernel has no driver for it; load one (modprobe {kind}) or boot a kernel that has it"
    )]
    NoDriver {
        /// Filesystem type asked of the kernel.
        kind: String,
    },
    /// The kernel refused a mount or one of its options.
    #[error("mount -t {kind}: {option}: the kernel refused it: {message}; {next}")]
    MountRefused {
        /// Filesystem type.
        kind: String,
        /// The option it refused, or `options a,b` when it refused the whole.
        option: String,
        /// The kernel's own words, from the filesystem context's log or the kernel log.
        message: String,
        /// What the reader can do.
        next: String,
    },
    /// The host's filesystem is full: not even a sparse image has room.
    #[error("{}: no room for an image of {}: {} free, it takes at least {}; free some space or choose another --out folder",
        folder.display(), mib(*asked), mib(*free), mib(*margin))]
    ImageTooLarge {
        /// The folder of the image.
        folder: PathBuf,
        /// Bytes asked.
        asked: u64,
        /// Bytes free to us there.
        free: u64,
        /// Bytes that must be free.
        margin: u64,
    },
    /// The image is too small for its filesystem.
    #[error("{kind}: an image of {} is too small, it needs {}; choose a larger size", mib(*asked), mib(*needed))]
    ImageTooSmall {
        /// Filesystem kind.
        kind: String,
        /// Bytes asked.
        asked: u64,
        /// Smallest size in bytes.
        needed: u64,
    },
    /// What a trial asks of the host beyond a filesystem, and this host has not: a limit, readahead.
    #[error("{thing}: {what}: {why}; {next}")]
    Cannot {
        /// Device, control group, or what was asked.
        thing: String,
        /// What was tried.
        what: String,
        /// Why it cannot be.
        why: String,
        /// What the reader can do.
        next: String,
    },
    /// A mount point is still in use.
    #[error("{}: still in use by {holders}; end them, then: fslab clean {}", point.display(), run.display())]
    Busy {
        /// The mount point.
        point: PathBuf,
        /// `bash (pid 12)`, ...
        holders: String,
        /// The run's folder, for the next step.
        run: PathBuf,
    },
    /// Something that looks like ours is not, or could not be undone.
    #[error("{thing}: not undone: {why}; {next}")]
    NotUndone {
        /// Path or device.
        thing: String,
        /// The reason.
        why: String,
        /// What the reader can do.
        next: String,
    },
    /// A run's folder, its journal or a step of it that is not safe to obey.
    #[error("{thing}: refused: {why}; {next}")]
    Untrusted {
        /// The folder, a file in it, or a step.
        thing: String,
        /// The reason.
        why: String,
        /// What the reader can do.
        next: String,
    },
    /// The run whose folder this is still lives.
    #[error("{}: run is still going, pid {pid}; wait for it or stop it (kill -INT {pid}), then try again", run.display())]
    StillRunning {
        /// The run's folder.
        run: PathBuf,
        /// Its process.
        pid: u32,
    },
    /// The run's folder is a copy of another.
    #[error("{}: a copy of the unfinished run {}, whose mounts, loop devices and images are not the copy's; clean the original (fslab clean {}), or remove {} from the copy", run.display(), original.display(), original.display(), JOURNAL)]
    Copied {
        /// The copy.
        run: PathBuf,
        /// Where the journal was written.
        original: PathBuf,
    },
    /// A stop was requested.
    #[error("stopped on request while {doing}; everything made so far is undone")]
    Interrupted {
        /// What was being done.
        doing: String,
    },
}

impl Error {
    /// What it means to the caller that runs trials.
    pub fn class(&self) -> Class {
        match self {
            Error::Refused(_) | Error::Untrusted { .. } => Class::Safety,
            // Killed from outside (out of memory, an impatient hand): the options may be fine.
            Error::ProgramFailed { status, .. } if status.starts_with("killed") => Class::Trial,
            Error::UnknownKind { .. }
            | Error::Reaches { .. }
            | Error::MissingProgram { .. }
            | Error::ProgramFailed { .. }
            | Error::NoDriver { .. }
            | Error::MountRefused { .. }
            | Error::ImageTooSmall { .. }
            | Error::Cannot { .. } => Class::Cell,
            Error::Io { .. } | Error::Busy { .. } | Error::NotUndone { .. } => Class::Trial,
            Error::ImageTooLarge { .. } | Error::StillRunning { .. } | Error::Copied { .. } => {
                Class::Target
            }
            Error::Interrupted { .. } => Class::Interrupted,
        }
    }

    /// An I/O error about a path; the next step follows from the kind of error.
    pub(crate) fn io(thing: &Path, what: &str, source: impl Into<io::Error>) -> Error {
        let source = source.into();
        let next = next_step(&source);
        Error::Io {
            thing: thing.display().to_string(),
            what: what.into(),
            source,
            next: next.into(),
        }
    }
}

fn next_step(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied if rustix::process::geteuid().is_root() => {
            "this system does not let even root do that (a container's rules?): run outside of it"
        }
        io::ErrorKind::PermissionDenied => "run as root, or use --dir with a folder of your own",
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space or choose another --out folder"
        }
        io::ErrorKind::ReadOnlyFilesystem => "choose a folder that can be written",
        io::ErrorKind::ResourceBusy => "see who uses it (fuser -vm), then try again",
        _ => "see the kernel log (dmesg) for the cause",
    }
}

fn join(refusals: &[Refusal]) -> String {
    refusals
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes / (1 << 20))
}
