//! What to do next, in steps. A checker composes them ([`crate::Checker::advice`]), because the programs are its format's; here is what
//! all formats have in common.
//!
//! What may lose data is tried on a copy first: a repair decides what is thrown away, and it cannot be undone. Commands are complete, so
//! that they can be pasted, and tests run each of them.

use serde::Serialize;

use super::Report;
use crate::frame::problem::Severity;

/// The copy that commands make and work on.
pub(crate) const COPY: &str = "copy.img";
/// Where commands mount.
pub(crate) const MOUNT_POINT: &str = "/mnt";

/// A step of what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What it does, and why.
    pub what: String,
    /// Commands of a shell that do it, in order. Where there are none the sentence is all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// It is meant for the case that the step before it failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub if_failed: bool,
}

impl Step {
    /// A step without commands.
    pub fn new(what: impl Into<String>) -> Step {
        Step {
            what: what.into(),
            commands: Vec::new(),
            if_failed: false,
        }
    }

    /// Adds a command.
    #[must_use]
    pub(crate) fn run(mut self, command: impl Into<String>) -> Step {
        self.commands.push(command.into());
        self
    }

    /// For the case that the step before it failed.
    #[must_use]
    pub(crate) fn if_failed(mut self) -> Step {
        self.if_failed = true;
        self
    }
}

/// What was checked, as commands name it.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Its path.
    pub path: String,
    /// Whether it is a block device and not a file.
    pub is_device: bool,
    /// Where the filesystem begins in it, bytes.
    pub offset: u64,
}

impl Target {
    /// The path as a word of a shell.
    pub(crate) fn word(&self) -> String {
        shell_word(&self.path)
    }

    /// The command that checks it, with these options.
    pub(crate) fn check(&self, options: &str) -> String {
        let offset = match self.offset {
            0 => String::new(),
            offset => format!(" --offset {offset}"),
        };
        format!("fslab check{options}{offset} {}", self.word())
    }

    /// A step that runs programs on what was checked itself. Where the filesystem begins within it, that needs a loop device.
    pub(crate) fn on_itself(&self, what: &str, programs: &[&str]) -> Step {
        let word = self.word();
        let on = |step: Step, target: &str| {
            let commands = programs.iter().map(|program| format!("{program} {target}"));
            commands.fold(step, Step::run)
        };
        if self.offset == 0 {
            return on(Step::new(what), &word);
        }
        let step = Step::new(format!(
            "{what}; a loop device begins where the filesystem does"
        ))
        .run(format!(
            "LOOP=$(losetup --find --show --offset {} {word})",
            self.offset
        ));
        on(step, "$LOOP").run("losetup --detach $LOOP")
    }
}

/// The severity of the worst fault, if anything is wrong. What no program looks for and has no consequence is not.
pub(crate) fn worst(report: &Report) -> Option<Severity> {
    if report.verdicts.strict.is_clean() {
        return None;
    }
    let faults = report
        .findings
        .tallies
        .iter()
        .filter(|tally| tally.problem.is_fault());
    faults
        .map(|tally| tally.problem.severity)
        .min_by_key(|severity| *severity as u8)
}

/// Whether something is wrong of which no repair program knows: every fault is beyond what the reference looks for.
pub(crate) fn is_unknown_to_reference(report: &Report) -> bool {
    report.faults().next().is_some() && report.faults().all(|fault| fault.beyond_reference)
}

/// The step before all others: a mounted filesystem changes while it is read.
pub(crate) fn unmounted(report: &Report, target: &Target) -> Vec<Step> {
    if !report.mounted {
        return Vec::new();
    }
    vec![
        Step::new(
            "unmount it and check again: findings of a filesystem in use can be changes in progress",
        )
        .run(format!("umount {}", target.word()))
        .run(target.check("")),
    ]
}

/// The copy that all later steps work on. It begins where the filesystem does, and is as long as that.
pub(crate) fn copy(report: &Report, target: &Target) -> Vec<Step> {
    let word = target.word();
    let mut steps = Vec::new();
    let length = size(report).map_or(report.subject.bytes, |size| size.min(report.subject.bytes));
    if report.total.errors > 0 {
        let part = match target.offset {
            0 => String::new(),
            offset => format!(" --input-position={offset} --size={length}"),
        };
        steps.push(
            Step::new(
                "reads fail: save what can be read before anything else, and work on the copy",
            )
            .run(format!("ddrescue --sparse{part} {word} {COPY} {COPY}.map")),
        );
    } else {
        let command = if target.offset > 0 {
            format!(
                "dd if={word} of={COPY} bs=1M iflag=skip_bytes,count_bytes skip={} count={length} conv=sparse",
                target.offset
            )
        } else if target.is_device {
            format!("dd if={word} of={COPY} bs=1M conv=sparse")
        } else {
            format!("cp --sparse=always {word} {COPY}")
        };
        steps.push(
            Step::new("copy it, and work on the copy: a repair cannot be undone").run(command),
        );
    }
    if let (true, Some(size)) = (is_truncated(report), size(report)) {
        steps.push(
            Step::new(format!(
                "the end of the filesystem is missing, from byte {}: get it back if it exists somewhere; else \
                 lengthen the copy, which has zeros there",
                report.subject.bytes
            ))
            .run(format!("truncate --size={size} {COPY}")),
        );
    }
    steps
}

/// The step that shows whether a repair of the copy helped.
pub(crate) fn look() -> Step {
    Step::new("check the copy, and look at its files").run(format!("fslab check {COPY}"))
}

/// The steps after a repair of the copy by these programs: see whether it helped, then do it to what was checked.
pub(crate) fn after_repair(report: &Report, target: &Target, programs: &[&str]) -> Vec<Step> {
    let mut steps = vec![look()];
    if report.total.errors > 0 || is_truncated(report) {
        steps.push(Step::new(
            "use the copy from now on: what it was made of cannot hold the filesystem any more",
        ));
    } else {
        steps.push(target.on_itself(
            "when the copy is as it should be, repair in the same way what it was made of",
            programs,
        ));
    }
    steps
}

/// Size of the filesystem by its superblock, bytes.
fn size(report: &Report) -> Option<u64> {
    let fs = report.subject.filesystem.as_ref()?;
    Some(fs.blocks.saturating_mul(fs.block_size.into()))
}

/// Whether the source ends before the filesystem does.
pub(crate) fn is_truncated(report: &Report) -> bool {
    size(report).is_some_and(|size| size > report.subject.bytes)
}

/// `text` as one word of a POSIX shell, on one line; control characters in the way of bash (`$'\x0a'`). A word that begins with a dash is
/// meant as a path: `./-x`.
pub(crate) fn shell_word(text: &str) -> String {
    let path = if text.starts_with('-') {
        format!("./{text}")
    } else {
        text.to_owned()
    };
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%=,".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        return path;
    }
    if words::printable(&path) == path {
        return format!("'{}'", path.replace('\'', r"'\''"));
    }
    let mut word = String::from("$'");
    let mut bytes = [0; 4];
    for c in path.chars() {
        let shown = c.encode_utf8(&mut bytes);
        if matches!(c, '\'' | '\\') {
            word.extend(['\\', c]);
        } else if words::printable(shown) == *shown {
            word.push(c);
        } else {
            word.extend(shown.bytes().map(|byte| format!("\\x{byte:02x}")));
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_the_word_as_it_was() {
        for text in [
            "/dev/sda1",
            "a b.img",
            "it's",
            "-x",
            "",
            "$(id)`id`\"\\",
            "a\nb\u{9b}'\\c",
            "é",
        ] {
            let word = shell_word(text);
            assert!(!word.contains('\n'), "{word}");
            let output = Command::new("bash")
                .args(["-c", &format!("printf %s {word}")])
                .output()
                .unwrap();
            let read = String::from_utf8(output.stdout).unwrap();
            let path = text.strip_prefix('-').map(|rest| format!("./-{rest}"));
            assert_eq!(read, path.as_deref().unwrap_or(text), "{word}");
        }
    }
}
