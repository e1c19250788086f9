//! What differs between checkers: the command line, the words they print, their exit codes.
//!
//! A checker is a pure description. It reads one printed line at a time without memory of the
//! lines before, so that each format is a table of lines and garbage can do no more than be
//! ignored; what the lines add up to is the ledger's business.

use fskind::Kind;

use super::report::{Inventory, Verdict};

/// A program that checks one family of filesystems, read-only.
pub(super) trait Checker: Sync {
    /// A kind of filesystem that it checks; its name and arguments are in that kind's entry.
    fn kind(&self) -> Kind;

    /// Its name.
    fn program(&self) -> &'static str {
        self.kind().properties().checker.program
    }

    /// Debian's package of it.
    fn package(&self) -> &'static str {
        self.kind().properties().package.name
    }

    /// The option that prints its version.
    fn version_option(&self) -> &'static str {
        self.kind().properties().checker.version_option
    }

    /// Its arguments before the device, always given.
    fn arguments(&self) -> &'static [&'static str] {
        self.kind().properties().checker.arguments
    }

    /// How many passes it has, for progress.
    fn passes(&self) -> u8;

    /// What a pass is called. Passes are counted from 1 in the order they run; most programs call
    /// them so too.
    fn label(&self, pass: u8) -> String {
        pass.to_string()
    }

    /// The event that one line reports; `None`: the line is not counted.
    fn read(&self, line: &str) -> Option<Event>;

    /// How far its printed seconds may be from the clock that timed `seconds`; `None`: it prints
    /// none.
    fn tolerance(&self, seconds: f64) -> Option<f64>;

    /// Whether the time that it prints of the whole check is of all of it.
    fn times_all(&self) -> bool {
        true
    }

    /// What an exit code means, given what was printed.
    fn judge(&self, code: i32, summary: OutputSummary) -> (Verdict, String);
}

/// An event that a line of a checker reports.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    /// A pass begins, and the one before is over.
    Begins {
        /// Which, counted from 1 in the order they run.
        pass: u8,
        /// What it does.
        title: String,
    },
    /// A part of a pass begins: e2fsck's 1B to 1E and 3A.
    PartBegins {
        /// The pass that it is part of.
        pass: u8,
        /// `1B`.
        label: String,
        /// What it does.
        title: String,
    },
    /// Whatever pass is open is over.
    Ends,
    /// The program's own times.
    Took {
        /// Of what.
        of: Of,
        /// Wall seconds.
        real: f64,
        /// User and system seconds, where it prints them.
        cpu: Option<CpuSeconds>,
    },
    /// The program's own count of what it read, MiB rounded up.
    Read {
        /// Of what.
        of: Of,
        /// MiB.
        mib: u64,
        /// MiB that its own cache gave, where it has one that counts.
        cached: Option<u64>,
    },
    /// How often it did not read on where it had read last, and the sum of these distances in bytes.
    Seeks {
        /// Of what.
        of: Of,
        /// How often.
        count: u64,
        /// Bytes.
        bytes: u64,
    },
    /// How large its own cache is, MiB.
    CacheOf(u64),
    /// It found a fault.
    Finds,
    /// What it counted.
    Counted(Inventory),
    /// It counted this many more inodes.
    Files(u64),
    /// It gives up.
    GivesUp,
    /// It caught this signal and dies.
    Dies(i32),
}

/// User and system seconds.
pub(super) type CpuSeconds = (f64, f64);

/// What a printed figure belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// The whole check.
    Whole,
    /// The pass that is open, and the whole check when none is: the line does not say.
    Open,
    /// A pass.
    Pass(u8),
    /// A part of a pass, by its label in capitals.
    Part(String),
}

/// What matters of the output for the meaning of an exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OutputSummary {
    /// At least one pass began.
    pub(super) passes: bool,
    /// Lines that report a fault.
    pub(super) faults: u64,
    /// It printed that it gives up.
    pub(super) gave_up: bool,
    /// It printed that it dies of a signal.
    pub(super) signal: Option<i32>,
}
