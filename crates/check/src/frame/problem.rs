//! What can be wrong.
//!
//! A checker has a table of problems, by the codes and names of the program that people repair its format with, because reports are
//! searched by them. The class says what that program, the reference, does with a problem in its read-only mode; the severity says how
//! much the problem matters to the owner of the data.

use serde::Serialize;

use super::pass::Pass;

/// What the reference program does with a problem in its read-only mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Reports it; the exit code says that errors are left.
    Error,
    /// Reports it, but the exit code does not change. For e2fsck: found before pass 1, after which the filesystem is marked valid again.
    Uncounted,
    /// Ends the check.
    Stop,
    /// Reports an optimisation or an odd clock; the exit code does not change.
    Optional,
    /// Prints a banner, the head of a list, or advice.
    Notice,
    /// Raises it only while repairing.
    Repair,
    /// Defines it, and never raises it.
    Dead,
}

/// What a problem means for the owner of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Contents of files may be wrong, lost or unreachable.
    Data,
    /// Structure is damaged; the contents of files are not.
    Metadata,
    /// Counters and maps disagree with the structures they describe.
    Accounting,
    /// Of no consequence for the owner.
    Cosmetic,
}

/// One problem of a checker's table.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Its number, unique in the table.
    pub code: u32,
    /// Its name, as people search for it.
    pub name: &'static str,
    /// What the reference program does with it.
    pub class: Class,
    /// How much it matters.
    pub severity: Severity,
    /// What it means, in one line.
    pub meaning: &'static str,
    /// The pass that raises it.
    #[serde(skip)]
    pub pass: &'static Pass,
    /// Position of the pass or part of a pass that raises it: findings are sorted by it first.
    #[serde(skip)]
    pub rank: u16,
}

impl Problem {
    /// Whether it says that something is wrong with the filesystem: no hint, no banner, nothing that only a repair meets.
    pub fn is_fault(&self) -> bool {
        matches!(self.class, Class::Error | Class::Uncounted | Class::Stop)
    }

    /// Whether it is only the line that the reference program prints above a list of others. Reports leave it out.
    pub fn is_heading(&self) -> bool {
        self.class == Class::Notice && self.name.ends_with("_HEADER")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    static PASSES: [Pass; 2] = [
        Pass::new(1, "1", "pass 1", "inodes", "inodes"),
        Pass::new(2, "2", "pass 2", "directories", "blocks"),
    ];

    const fn problem(code: u32, name: &'static str, pass: &'static Pass) -> Problem {
        Problem {
            code,
            name,
            class: Class::Error,
            severity: Severity::Metadata,
            meaning: "for tests",
            pass,
            rank: pass.number as u16,
        }
    }

    pub(crate) static EARLY: Problem = problem(7, "EARLY", &PASSES[0]);
    pub(crate) static OTHER: Problem = problem(3, "OTHER", &PASSES[0]);
    pub(crate) static LATE: Problem = problem(1, "LATE", &PASSES[1]);
}
