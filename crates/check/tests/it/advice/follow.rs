//! Follows the steps of an advice in a folder of its own, and says what did not come true.

use std::path::{Path, PathBuf};
use std::process::Command;

use blockio::{BlockSource, Mode, Slice};
use check::report::{Judge, Report};
use check::{Checker, Options, Silent, Step, Target};

use super::bases::scratch;

/// A folder with a damaged image.
pub(super) struct Place {
    folder: tempfile::TempDir,
    pub(super) image: PathBuf,
    /// Where the filesystem begins in the image.
    pub(super) offset: u64,
}

/// What was run, and what did not do what it was to do.
#[derive(Default)]
pub(super) struct Followed {
    pub(super) ran: usize,
    pub(super) failed: Vec<String>,
    /// Steps for the case that the one before failed were taken.
    pub(super) fell_back: bool,
}

impl Place {
    pub(super) fn new() -> Place {
        let folder = scratch();
        let image = folder.path().join("disk.img");
        Place {
            folder,
            image,
            offset: 0,
        }
    }

    /// Copies the damaged image there.
    pub(super) fn put(&self, image: &Path) {
        sh(
            self.folder.path(),
            &format!("cp --sparse=always {} disk.img", image.display()),
        )
        .unwrap();
    }

    pub(super) fn advice(&self, checker: &dyn Checker) -> (Report, Vec<Step>) {
        let report = self.report(checker);
        let steps = self.steps(checker, &report);
        (report, steps)
    }

    pub(super) fn steps(&self, checker: &dyn Checker, report: &Report) -> Vec<Step> {
        let target = Target {
            path: "disk.img".into(),
            offset: self.offset,
            ..Target::default()
        };
        checker.advice(&*source(&self.image, self.offset), report, &target)
    }

    pub(super) fn report(&self, checker: &dyn Checker) -> Report {
        report(checker, &self.image, self.offset)
    }

    /// Runs a command that prepares the image.
    pub(super) fn prepare(&self, command: &str) {
        sh(self.folder.path(), command).unwrap();
    }

    /// Runs each command, in order, as a reader who pastes it.
    pub(super) fn follow(
        &self,
        checker: &dyn Checker,
        report: &Report,
        steps: &[Step],
    ) -> Followed {
        let mut followed = Followed::default();
        let sound = report.verdict(Judge::Reference).is_clean();
        if !sound && steps.is_empty() {
            followed.failed.push("no advice".into());
        }
        let (mut failed, mut repaired) = (None, false);
        for step in steps {
            if step.if_failed && failed.is_none() {
                continue;
            }
            if let Some(why) = failed.take() {
                if step.if_failed {
                    followed.fell_back = true;
                } else {
                    followed.failed.push(why);
                }
            }
            let no_file_is_at_risk = step.what.starts_with("no file is at risk");
            let before = no_file_is_at_risk.then(|| self.files(checker, "before"));
            followed.ran += step.commands.len();
            for command in commands(step) {
                if let Err(why) = self.run(checker, &command, repaired) {
                    failed = Some(format!("{}: {command}: {why}", step.what));
                    break;
                }
                repaired |= is_repair(&command);
            }
            if step
                .commands
                .iter()
                .any(|command| command.contains("rdump"))
                && std::fs::read_dir(self.folder.path().join("saved"))
                    .unwrap()
                    .next()
                    .is_none()
            {
                followed
                    .failed
                    .push(format!("{}: nothing was saved", step.what));
            }
            if let Some(before) = before
                && before != self.files(checker, "after")
            {
                followed.failed.push("files are not what they were".into());
            }
            if step.commands.len() == 1 && step.commands[0].starts_with("cp ") {
                let same = sh(self.folder.path(), "cmp disk.img copy.img");
                followed.failed.extend(same.err());
            }
        }
        followed.failed.extend(failed);
        // The last step repairs what was checked.
        if repaired && followed.failed.is_empty() {
            let last = steps.iter().rev().find_map(|step| step.commands.last());
            if last.is_some_and(|last| last.ends_with("disk.img") || last.ends_with("$LOOP")) {
                let after = report_of(checker, &self.image, self.offset);
                if let Some(wrong) = after {
                    followed.failed.push(format!("at the end: {wrong}"));
                }
            }
        }
        followed
    }

    fn run(&self, checker: &dyn Checker, command: &str, repaired: bool) -> Result<(), String> {
        let folder = self.folder.path();
        let Some(check) = command.strip_prefix("fslab check ") else {
            let mount_point = folder.join("mnt");
            std::fs::create_dir_all(&mount_point).unwrap();
            return sh(
                folder,
                &command.replace("/mnt", &mount_point.display().to_string()),
            );
        };
        let image = folder.join(check.split(' ').next_back().unwrap());
        let offset = if image == self.image { self.offset } else { 0 };
        match report_of(checker, &image, offset) {
            // The check before a repair is to show what is wrong.
            Some(wrong) if repaired => Err(wrong),
            _ => Ok(()),
        }
    }

    /// Names and contents of all files, as a list.
    fn files(&self, checker: &dyn Checker, name: &str) -> String {
        let dump = match checker.format() {
            fskind::Family::Ext => "debugfs -cn",
            fskind::Family::Ocfs2 => "debugfs.ocfs2",
            _ => return String::new(),
        };
        let command = format!(
            "rm -rf {name} && mkdir {name} && {dump} -R 'rdump / {name}' disk.img; cd {name} && \
             find . -not -path './lost+found*' -type f -exec md5sum {{}} + | sort -k2"
        );
        let output = Command::new("bash")
            .args(["-c", &command])
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// The commands of a step. Those that have a variable of the shell are one script.
fn commands(step: &Step) -> Vec<String> {
    let [first, rest @ ..] = step.commands.as_slice() else {
        return Vec::new();
    };
    if !first.starts_with("LOOP=") {
        return step.commands.clone();
    }
    let corrected = rest
        .join("\n")
        .replace(" $LOOP\n", " $LOOP || [ $? = 1 ]\n");
    vec![format!("{first}\nset -e\n{corrected}")]
}

fn source(image: &Path, offset: u64) -> Box<dyn BlockSource> {
    let source = blockio::open(image, Mode::Buffered).unwrap().source;
    let len = source.len();
    if offset == 0 {
        return source;
    }
    Box::new(Slice::of(source, offset..len).unwrap())
}

fn is_repair(command: &str) -> bool {
    ["e2fsck -fy", "fsck.ocfs2 -fy", "xfs_repair"]
        .iter()
        .any(|repair| command.contains(repair) && !command.contains(" -n "))
}

fn report(checker: &dyn Checker, image: &Path, offset: u64) -> Report {
    let source = source(image, offset);
    let mut options = Options::default();
    options.set_threads(1);
    checker.check(&*source, &options, &Silent).unwrap()
}

/// What is wrong with an image by the reference's verdict.
fn report_of(checker: &dyn Checker, image: &Path, offset: u64) -> Option<String> {
    let report = report(checker, image, offset);
    if report.verdict(Judge::Reference).is_clean() {
        return None;
    }
    let names: Vec<&str> = report.faults().map(|fault| fault.problem.name).collect();
    Some(format!("still {:?}", &names[..names.len().min(5)]))
}

/// Runs a command of a shell. The repair programs' 1 says that they corrected something.
fn sh(folder: &Path, command: &str) -> Result<(), String> {
    let output = Command::new("timeout")
        .args(["60", "bash", "-c", command])
        .current_dir(folder)
        .env("LC_ALL", "C")
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .output()
        .unwrap();
    // With -b e2fsck 1.47.0 may add that it could not do all (9); whether it did shows in the check that follows.
    let code = output.status.code().unwrap_or(0);
    let corrected = command.contains("fsck") && code & 1 == 1;
    if output.status.success() || corrected {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let tail: Vec<&str> = said.lines().rev().take(4).collect();
    Err(format!("{:?}: {}", output.status.code(), tail.join(" | ")))
}
