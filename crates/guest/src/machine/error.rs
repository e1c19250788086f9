//! Why a guest gave no result.

use std::io;
use std::path::PathBuf;

/// Why a guest gave no result. In every case the machine is gone.
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
    /// Nothing was heard of init.
    #[error(
        "the guest said nothing for {seconds} s after its start{last}; its console is {console}",
        console = console.display()
    )]
    Silent {
        /// How long was waited.
        seconds: u64,
        /// The console.
        console: PathBuf,
        /// Its last lines, in words.
        last: String,
    },
    /// The heartbeat stopped.
    #[error(
        "the guest hangs: not a sign of life for {seconds} s{last}; its console is {console}",
        console = console.display()
    )]
    Hung {
        /// How long was waited.
        seconds: u64,
        /// The console.
        console: PathBuf,
        /// Its last lines, in words.
        last: String,
    },
    /// It lives and does not end.
    #[error(
        "the guest was stopped at its time limit of {seconds} s{last}; its console is {console}",
        console = console.display()
    )]
    TimeLimit {
        /// The limit.
        seconds: u64,
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
        /// The console.
        console: PathBuf,
        /// Its last lines, in words: the panic, where there was one.
        last: String,
    },
    /// What came over the channel is not what a guest says.
    #[error("the guest's results cannot be read: {0}; the trial does not count")]
    Garbled(io::Error),
    /// What the guest measured cannot be kept.
    #[error("{path}: {source}; free space, then run the trial again", path = path.display())]
    Unkept {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Someone asked to stop.
    #[error("the guest was stopped")]
    Cancelled,
}

impl Error {
    /// Whether the machine never came as far as init: another accelerator may.
    pub fn never_began(&self) -> bool {
        matches!(self, Error::Silent { .. })
    }
}
