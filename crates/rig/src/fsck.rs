//! External checkers as workloads: e2fsck, xfs_repair, btrfs check, fsck.ocfs2 and fsck.f2fs, run read-only, timed by
//! pass, and held to what they say of themselves.
//!
//! The question "how long does a check take?" is asked of the programs that people run, so they
//! are run as they are, with the one option each that makes them talk about their passes. What is
//! known of a pass comes from outside: its heading arrives on a terminal ([`terminal`]), and at
//! that moment the clock, the checker's CPU time and memory and its device's counters are read
//! ([`meter`]). What the program prints about the same pass is parsed by pure functions ([`e2fsck`],
//! [`xfs_repair`], [`btrfs`], [`ocfs2`], [`f2fs`]) and becomes evidence: two clocks that disagree make a number invalid.
//! Rejected: believing the printed times alone (xfs_repair has whole seconds, btrfs none, and none
//! counts requests), and tracing the checker, which slows what is measured.
//!
//! A checker that finds errors is not a failure of the lab but a [`Verdict`]; so is one that
//! crashes or never ends. Its output is kept in each case. An error is only what keeps a
//! checker from running: no such program, no right to start it, or a request to stop.
//!
//! The observer is asked whether to stop and gets progress. It gets no phases, because a
//! pass is only known to be over when its successor runs: they are all in the [`Report`].

mod btrfs;
mod checker;
mod checkers;
mod e2fsck;
mod f2fs;
mod fslab;
mod namespace;
mod ocfs2;
mod output;
mod phases;
mod process;
mod report;
mod run;
mod sampler;
mod terminal;
#[cfg(test)]
mod tests;
mod timeline;
mod tree;
mod usage_delta;
mod watch;
mod xfs_repair;

use std::path::PathBuf;
use std::time::Duration;

use progress::Progress;

use crate::Result;

use checker::Checker;
use run::Environment;
pub(crate) use tree::lives;

pub use report::{Exit, Inventory, Report, Span, Usage, Verdict};

/// A check to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `ext2`, `ext3`, `ext4`, `xfs`, `btrfs`, `ocfs2` or `f2fs`.
    pub kind: String,
    /// Whether `fslab check`, by the program that runs, takes the place of the filesystem's own.
    pub fslab: bool,
    /// The unmounted device.
    pub device: PathBuf,
    /// Its kernel name (`loop3`), by which /proc/diskstats knows it; none: device figures are left
    /// out.
    pub block_name: Option<String>,
    /// More arguments, before the device.
    pub extra: Vec<String>,
    /// From its start to SIGTERM for the whole group; SIGKILL follows two seconds later, for whatever
    /// it has started.
    pub timeout: Duration,
    /// Bytes of memory that it may lock; none: as many as it likes. fsck.ocfs2 locks its cache, and takes the largest that it can lock.
    pub locked: Option<u64>,
}

/// The program that checks a kind of filesystem: `e2fsck`, `xfs_repair`, `btrfs`, `fsck.ocfs2` or
/// `fsck.f2fs`. `None`: no such kind.
pub fn program(kind: &str) -> Option<&'static str> {
    checkers::of_kind(kind).ok().map(Checker::program)
}

/// Whether that program is here, without running it.
///
/// # Errors
/// [`crate::Error::UnknownKind`], [`crate::Error::MissingProgram`].
pub fn program_present(kind: &str) -> Result<()> {
    run::locate(checkers::of_kind(kind)?, &Environment::host()).map(|_| ())
}

/// The command line, beginning with the program's name; empty for an unknown kind.
pub fn argv(request: &Request) -> Vec<String> {
    checkers::of(request).map_or_else(
        |_| Vec::new(),
        |checker| run::command_line(checker, checker.program().into(), request),
    )
}

/// Checks a device, read-only. The device must not be mounted; caches are the caller's business.
///
/// # Errors
/// [`crate::Error::UnknownKind`]; [`crate::Error::MissingProgram`], which names Debian's package;
/// [`crate::Error::Interrupted`] when `progress` asked to stop; [`crate::Error::Io`] when the
/// program cannot be started, or does not end within two minutes of SIGKILL because its device does
/// not answer; [`crate::Error::NotUndone`] when that is true of its children. In all other cases no
/// process is left.
pub fn run(request: &Request, progress: &dyn Progress) -> Result<Report> {
    run::run_in(request, progress, &Environment::host())
}
