//! Both judges on one image: exit code, and which problems, the first of them by name.

use std::collections::BTreeSet;
use std::path::Path;

use check::ext4::{self, Reference};
use check::{Options, Silent};

use crate::check_crashed::codes;
use crate::common::{run_in, stderr, stdout};
use testkit::reference::{self, e2fsck};

/// A code that the reference raises next to an attribute whose value inode is invalid: it uses uninitialised memory.
const BY_CHANCE: [&str; 5] = [
    "1_BAD_I_BLOCKS",
    "1_INODE_TOOBIG",
    "1_TOOBIG_DIR",
    "1_TOOBIG_REG",
    "1_TOOBIG_SYMLINK",
];

/// The verdict of a checker on an image.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) exit: i32,
    /// The problems that count, in the order in which they were found.
    codes: Vec<u32>,
}

impl Judgement {
    /// The exit code, and all problems.
    pub(crate) fn all(&self) -> (i32, BTreeSet<&'static str>) {
        (self.exit, self.problems())
    }

    /// All problems, by name.
    pub(crate) fn problems(&self) -> BTreeSet<&'static str> {
        let mut all: BTreeSet<_> = codes::names(&self.codes).into_iter().collect();
        if all.contains("1_ATTR_VALUE_EA_INODE") {
            all.retain(|name| !BY_CHANCE.contains(name));
        }
        all
    }

    /// Whether it stopped before the end.
    pub(crate) fn gave_up(&self) -> bool {
        self.exit & 8 != 0
    }

    /// The problem found first, by name.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let first = self.codes.first()?;
        codes::names(&[*first]).pop()
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.exit == 0 && self.codes.is_empty()
    }
}

/// The reference's verdict and its output; `None` where it has no verdict.
pub(crate) fn theirs(image: &Path) -> Option<(Judgement, String)> {
    let log = image.with_extension("log");
    let _ = std::fs::remove_file(&log);
    let run = e2fsck(image, &["-E", &format!("problem_log={}", log.display())]);
    let mut codes = codes::logged(&log).unwrap_or_default();
    codes.retain(|code| codes::counts(*code));
    let exit = run.verdict()?;
    Some((Judgement { exit, codes }, run.text))
}

/// Ours: the exit code of the program, the problems of the library.
pub(crate) fn ours(image: &Path) -> Judgement {
    let folder = image.parent().unwrap();
    let file = image.to_str().unwrap();
    let output = run_in(folder, &["check", "--verdict", "e2fsck-1.47.0", file]);
    let Some(exit) = output.status.code() else {
        panic!("{file}: {}{}", stdout(&output), stderr(&output));
    };
    let options = Options {
        threads: 2,
        ..Options::default()
    };
    let own = ext4::Options {
        reference: Reference::E2fsck1470,
        ..ext4::Options::default()
    };
    let source = blockio::Buffered::open(image).unwrap();
    let report = check::ext4::check(&source, &options, &own, &Silent).unwrap();
    let codes = codes::raised(&report);
    Judgement { exit, codes }
}

/// Runs e2fsck -y until it makes no more progress; returns whether nothing was left to repair.
/// e2fsck repairs a file that has a block twice into the same state again.
pub(crate) fn repaired(image: &Path) -> bool {
    let again = |_| reference::run(image, &["-fy"]).code;
    reference::run(image, &["-fp"]).code == Some(0) || (0..4).map(again).any(|code| code == Some(0))
}
