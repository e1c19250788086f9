//! One image: recovery, the filesystem's own checker, and `fslab check` as well.

use std::path::Path;
use std::sync::Arc;

use blockio::{BlockSource, Mode};
use check::ext4::{self, Reference};
use check::{Options, Silent, report};
use fskind::Kind;
use rig::fsck::{self, Exit, Report, Verdict};
use rig::recovery::{self, Recovery};
use rig::undo::Journal;

use super::image::Throwaway;
use super::{Recover, interrupted};
use crate::error::Error;
use crate::interrupt::Interrupt;

/// Lines of a checker that are kept of an image.
const LINES: usize = 3;
/// Problems of `fslab check` that are kept of an image.
const PROBLEMS: usize = 8;

/// What was found out of one image.
pub(super) struct Judged {
    /// Entries that are in it.
    pub(super) moment: usize,
    /// Whether it is clean after recovery; none: no checker gave a verdict.
    pub(super) clean: Option<bool>,
    /// Why it would not be recovered.
    pub(super) refused: Option<String>,
    /// How the checker ended.
    pub(super) explanation: String,
    /// Its first lines that report errors.
    pub(super) printed: Vec<String>,
    /// `fslab check` on the recovered image.
    pub(super) own: Option<Own>,
    /// Exit codes of both checkers.
    pub(super) compared: Vec<Compared>,
}

impl Judged {
    pub(super) fn is_clean(&self) -> bool {
        self.clean == Some(true)
    }
}

/// The verdict of `fslab check`.
pub(super) struct Own {
    pub(super) exit: u8,
    pub(super) problems: Vec<String>,
}

/// Two exit codes of one image.
pub(super) struct Compared {
    pub(super) recovered: bool,
    pub(super) checker: i32,
    pub(super) own: u8,
}

impl Compared {
    pub(super) fn agrees(&self) -> bool {
        self.checker == i32::from(self.own)
    }
}

/// How images are judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct How<'a> {
    /// Kind of filesystem.
    pub(super) filesystem: &'a str,
    pub(super) recover: Recover,
    /// For one run of the checker.
    pub(super) timeout: std::time::Duration,
}

/// Judges image after image.
pub(super) struct Judge<'a> {
    how: How<'a>,
    journal: &'a Arc<Journal>,
    interrupt: &'a Interrupt,
    checker: [String; 2],
    mounts: u32,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        how: How<'a>,
        journal: &'a Arc<Journal>,
        interrupt: &'a Interrupt,
    ) -> Judge<'a> {
        Judge {
            how,
            journal,
            interrupt,
            checker: Default::default(),
            mounts: 0,
        }
    }

    /// The checker as it ran, without its device, and its version.
    pub(super) fn checker(&self) -> [String; 2] {
        self.checker.clone()
    }

    /// Judges an image. `device` is what `image` is a copy of.
    pub(super) fn judge(
        &mut self,
        device: &dyn BlockSource,
        image: &Throwaway,
        moment: usize,
    ) -> Result<Judged, Error> {
        let mut compared = Vec::new();
        // Without a recovery both judgements would be one.
        if self.is_ext() && self.how.recover != Recover::Nothing {
            let theirs = self.check(image.path())?;
            let own = self.own(device)?;
            compared.extend(beside(&theirs, &own, false));
        }
        let refused = match self.recover(image.path())? {
            Recovery::Done => None,
            Recovery::Refused(why) => Some(why),
        };
        let theirs = self.check(image.path())?;
        let mut own = None;
        if self.is_ext() {
            let opened = blockio::open(image.path(), Mode::Buffered)
                .map_err(|error| Error::Preflight(error.to_string()))?;
            let found = self.own(&*opened.source)?;
            compared.extend(beside(&theirs, &found, true));
            own = Some(found);
        }
        let clean = match theirs.verdict {
            _ if refused.is_some() => Some(false),
            Verdict::Clean => Some(true),
            Verdict::Errors => Some(false),
            Verdict::Operational | Verdict::Crashed(_) | Verdict::TimedOut => None,
        };
        Ok(Judged {
            moment,
            clean,
            refused,
            printed: printed(&theirs.output),
            explanation: theirs.explanation,
            own,
            compared,
        })
    }

    fn is_ext(&self) -> bool {
        Kind::of_name(self.how.filesystem).is_some_and(Kind::is_ext)
    }

    fn recover(&mut self, image: &Path) -> Result<Recovery, Error> {
        match self.how.recover {
            Recover::Nothing => Ok(Recovery::Done),
            Recover::E2fsck => Ok(recovery::by_e2fsck(image)?),
            Recover::Mount => {
                self.mounts += 1;
                let kind = self.how.filesystem;
                Ok(recovery::by_mount(kind, image, self.journal, self.mounts)?)
            }
        }
    }

    /// Mounts an image for `look`.
    pub(super) fn mounted(
        &mut self,
        image: &Path,
        look: &mut dyn FnMut(&Path),
    ) -> Result<Recovery, Error> {
        self.mounts += 1;
        let kind = self.how.filesystem;
        Ok(recovery::mounted(
            kind,
            image,
            self.journal,
            self.mounts,
            look,
        )?)
    }

    fn check(&mut self, image: &Path) -> Result<Report, Error> {
        let kind = self.how.filesystem;
        let asked = fsck::Request {
            fslab: false,
            locked: None,
            kind: kind.to_owned(),
            device: image.to_owned(),
            block_name: None,
            // It needs the option for a file.
            extra: Kind::of_name(kind)
                .and_then(|kind| kind.properties().checker.file_option)
                .map(str::to_owned)
                .into_iter()
                .collect(),
            timeout: self.how.timeout,
        };
        let report = fsck::run(&asked, &self.interrupt.with(&Silent))?;
        if self.checker[0].is_empty() {
            let mut words: Vec<&str> = report.argv.iter().map(String::as_str).collect();
            words.pop();
            let program = words.first().and_then(|path| Path::new(path).file_name());
            let program = program.map(|name| name.to_string_lossy().into_owned());
            let arguments = words.get(1..).unwrap_or_default().join(" ");
            let command = format!("{} {arguments}", program.unwrap_or_default());
            self.checker = [command, report.version.clone()];
        }
        Ok(report)
    }

    /// Two of e2fsck's versions are known; the installed one's verdict is compared with its own.
    fn own(&self, source: &dyn BlockSource) -> Result<Own, Error> {
        let reference = if self.checker[1].contains("1.47.0") {
            Reference::E2fsck1470
        } else {
            Reference::E2fsck1474
        };
        let options = Options {
            paths: false,
            ..Options::default()
        };
        let own = ext4::Options {
            reference,
            ..ext4::Options::default()
        };
        let checked = ext4::check(source, &options, &own, &Silent);
        let checked = checked.map_err(|error| {
            if self.interrupt.is_raised() {
                interrupted()
            } else {
                Error::Preflight(format!("fslab check of {}: {error}", source.name()))
            }
        })?;
        let faults = checked.findings.tallies.iter();
        let problems = faults
            .filter(|tally| tally.problem.is_fault())
            .map(|tally| tally.problem.name.to_owned());
        Ok(Own {
            exit: checked.verdict(report::Judge::Reference).exit_code,
            problems: problems.take(PROBLEMS).collect(),
        })
    }
}

fn beside(theirs: &Report, own: &Own, recovered: bool) -> Option<Compared> {
    match theirs.exit {
        Exit::Code(checker) => Some(Compared {
            recovered,
            checker,
            own: own.exit,
        }),
        Exit::Signal(_) => None,
    }
}

/// The first lines that are no heading, no banner and no figure.
fn printed(output: &str) -> Vec<String> {
    const NOISE: [&str; 11] = [
        "Pass ",
        "Phase ",
        "- ",
        "e2fsck ",
        "Memory used",
        "Peak memory",
        "ext2fs_open2",
        "I/O read",
        "***",
        "[",
        "Opening filesystem",
    ];
    output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !NOISE.iter().any(|noise| line.starts_with(noise)))
        .take(LINES)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkers_first_words_are_what_is_wrong() {
        let output = "e2fsck 1.47.0 (5-Feb-2023)\nPass 1: Checking inodes, blocks, and sizes\n\n\
                      Inode 12, i_blocks is 8, should be 16.  Fix? no\n\nPass 2: Checking directory structure\n\
                      Entry 'a' in / (2) has deleted/unused inode 13.  Clear? no\n";
        assert_eq!(
            printed(output),
            [
                "Inode 12, i_blocks is 8, should be 16.  Fix? no",
                "Entry 'a' in / (2) has deleted/unused inode 13.  Clear? no"
            ]
        );
    }
}
