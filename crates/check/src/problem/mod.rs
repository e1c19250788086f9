//! What can be wrong, by e2fsck's codes.
//!
//! The codes are the common tongue of everyone who has repaired an ext filesystem, so findings carry them, and not numbers of our
//! own. The class says what the reference does with a problem when it is run as `e2fsck -fn`; the severity says how much
//! it matters to the owner of the data.

mod table;

use serde::Serialize;

pub use table::*;

/// What `e2fsck -fn` does with a problem (e2fsprogs 1.47.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Reported and left: exit code 4.
    Error,
    /// Found before pass 1 and reported, but the exit code stays: the filesystem is marked valid again after these checks.
    Uncounted,
    /// Ends the check: exit code 8, or 12 where the filesystem was no longer, or not yet, known to be valid.
    Stop,
    /// An optimisation or an odd clock: reported, exit code unaffected.
    Optional,
    /// A banner, the head of a list, advice.
    Notice,
    /// Only ever raised while repairing.
    Repair,
    /// Defined, used by no code.
    Dead,
}

/// What a problem means for the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Contents of files may be wrong, lost or unreachable.
    Data,
    /// Structure is damaged; the contents of files are not.
    Metadata,
    /// Counters and maps disagree with what is there.
    Accounting,
    /// Nothing that anyone would miss.
    Cosmetic,
}

/// One of e2fsck's problems.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Its number: the pass in the upper byte of three.
    pub code: u32,
    /// Its name without the `PR_`.
    pub name: &'static str,
    /// What the reference does with it.
    pub class: Class,
    /// How bad it is.
    pub severity: Severity,
    /// What it means, in one line.
    pub meaning: &'static str,
}

impl Problem {
    /// The problem of that code.
    pub fn of(code: u32) -> Option<&'static Problem> {
        let at = ALL
            .binary_search_by_key(&code, |problem| problem.code)
            .ok()?;
        Some(ALL[at])
    }

    /// Whether it says that something is wrong with the filesystem: no hint, no banner, nothing that only a repair meets.
    pub fn is_fault(&self) -> bool {
        matches!(self.class, Class::Error | Class::Uncounted | Class::Stop)
    }

    /// The pass or part of a pass it is raised in: `0x010` for pass 1, `0x011` for pass 1B.
    pub fn subpass(&self) -> u16 {
        (self.code >> 12) as u16
    }

    /// The pass it is raised in: 0 to 5, or 6 for what comes after.
    pub fn pass(&self) -> u8 {
        (self.code >> 16) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_ascends_and_names_are_unique() {
        assert!(ALL.windows(2).all(|pair| pair[0].code < pair[1].code));
        let mut names: Vec<_> = ALL.iter().map(|problem| problem.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 415);
        let of = |class| ALL.iter().filter(|problem| problem.class == class).count();
        assert_eq!(
            (of(Class::Error), of(Class::Uncounted), of(Class::Stop)),
            (209, 27, 46)
        );
    }

    #[test]
    fn a_code_finds_its_problem() {
        for problem in ALL {
            assert!(std::ptr::eq(Problem::of(problem.code).unwrap(), *problem));
        }
        assert!(Problem::of(0).is_none());
    }
}
