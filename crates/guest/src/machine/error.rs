//! Why a guest gave no result.

use std::io;
use std::path::PathBuf;

use super::Waited;
use crate::kernel;

/// Why a guest gave no result. In every case the machine has ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program that runs the machine is not here.
    #[error("{program} is not installed: a guest kernel needs it; apt-get install {package}")]
    MissingProgram {
        /// `qemu-system-x86_64`, `linux.uml`, `unshare`.
        program: String,
        /// Debian's package.
        package: &'static str,
    },
    /// A file of the machine.
    #[error("{what}: {source}; the guest was not started")]
    Prepare {
        /// What was to be done, with the path.
        what: String,
        /// Why not.
        source: io::Error,
    },
    /// What the guest is to start from cannot be put together.
    #[error(transparent)]
    Initramfs(#[from] kernel::Error),
    /// More disks than the machine has places for.
    #[error("{asked} disks, and {machine} takes {most}: use fewer members, or slices of one disk")]
    TooManyDisks {
        /// Disks of the spec.
        asked: usize,
        /// Which machine.
        machine: &'static str,
        /// The most it takes.
        most: usize,
    },
    /// Init sent nothing.
    #[error(
        "the guest sent nothing for {waited} after its start{last}; its console is {console}",
        console = console.display()
    )]
    Silent {
        /// How long was waited.
        waited: Waited,
        /// The console.
        console: PathBuf,
        /// Its last lines, in words.
        last: String,
    },
    /// The heartbeat stopped.
    #[error(
        "the guest hangs: no heartbeat for {waited}{last}; its console is {console}",
        console = console.display()
    )]
    Hung {
        /// How long was waited.
        waited: Waited,
        /// The console.
        console: PathBuf,
        /// Its last lines, in words.
        last: String,
    },
    /// It lives and does not end.
    #[error(
        "the guest was stopped at its time limit, after {waited}{last}; its console is {console}",
        console = console.display()
    )]
    TimeLimit {
        /// How long it has run.
        waited: Waited,
        /// The console.
        console: PathBuf,
        /// Its last lines, in words.
        last: String,
    },
    /// The machine ended before its last line.
    #[error(
        "the guest ended before its work did ({status}){last}; its console is {console}",
        console = console.display()
    )]
    Died {
        /// How the machine's program ended (`exit status: 0`).
        status: String,
        /// Whether init had sent its first line.
        began: bool,
        /// The console.
        console: PathBuf,
        /// Its last lines, in words: the panic, where there was one.
        last: String,
    },
    /// What came over the channel is not a message of a guest.
    #[error(
        "the guest's results cannot be read: {source}; none of them is kept; its console is {console}",
        console = console.display()
    )]
    Garbled {
        /// What is wrong with them.
        source: io::Error,
        /// The console.
        console: PathBuf,
    },
    /// What the guest measured cannot be kept.
    #[error("{path}: {source}; {next}", path = path.display(), next = next_step(source))]
    Unkept {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Someone asked to stop.
    #[error("the guest was stopped, and nothing of its work is kept; `fslab resume` does it again")]
    Cancelled,
}

impl Error {
    /// Whether the machine never came as far as init: another accelerator may.
    pub fn never_began(&self) -> bool {
        matches!(
            self,
            Error::Silent { .. } | Error::Died { began: false, .. }
        )
    }
}

/// What to do about a file of the guest that cannot be kept.
fn next_step(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free space, then `fslab resume` runs the trial again"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make the run's folder writable, then `fslab resume` runs the trial again"
        }
        io::ErrorKind::AlreadyExists => "the guest sent it twice, and nothing of it is kept",
        _ => "check the disk below it, then `fslab resume` runs the trial again",
    }
}
