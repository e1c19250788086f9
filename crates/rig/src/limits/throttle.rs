//! Limits by `blkio.throttle.*_device` (version 1 of the control groups).
//!
//! Set in two groups: in the root group, because writeback and journal threads submit from there,
//! and in the process's own when that is another. Each group has its own budget, which the facts
//! say: a process that writes directly while kernel workers write back may then write twice the rate.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::{Limits, cannot};
use crate::cgroup::{Hierarchy, put};
use crate::undo::{Journal, Setting, Step};
use crate::{Error, Result};

/// `read_bps` -> `blkio.throttle.read_bps_device`.
pub(crate) fn file(item: &str) -> String {
    format!("blkio.throttle.{item}_device")
}

/// A limit of this kind in force.
#[derive(Debug)]
pub(crate) struct Throttle {
    journal: Arc<Journal>,
    number: String,
    settings: Vec<Setting>,
    step: Option<u64>,
}

impl Throttle {
    /// Sets it, written down before, and reads it back. Also returns what was read, in words.
    pub(crate) fn set(
        journal: &Arc<Journal>,
        tree: &Hierarchy,
        node: &Path,
        number: &str,
        limits: &Limits,
        stale: bool,
    ) -> Result<(Throttle, String)> {
        let mut groups = vec![tree.top.clone()];
        if tree.own != tree.top {
            groups.push(tree.own.clone());
        }
        let mut settings = Vec::new();
        for group in &groups {
            for (item, _, rate) in limits.items() {
                let file = group.join(file(item));
                let was = if stale { 0 } else { shown(&file, number)? };
                settings.extend(rate.map(|asked| Setting { file, asked, was }));
            }
        }
        let step = journal.will_make(Step::Limit {
            device: node.into(),
            device_number: number.into(),
            settings: settings.clone(),
        })?;
        let throttle = Throttle {
            journal: journal.clone(),
            number: number.into(),
            settings,
            step: Some(step),
        };
        let mut seen = Vec::new();
        for Setting { file, asked, .. } in &throttle.settings {
            // From here on an early return drops `throttle`, which takes back what was set.
            put(file, &format!("{number} {asked}")).map_err(|error| {
                let why = format!("{} refused \"{number} {asked}\": {error}", file.display());
                cannot(node, why, "run as root, or without a limit")
            })?;
            let got = shown(file, number)?;
            if got != *asked {
                let why = format!("{} shows {got} instead of {asked}", file.display());
                return Err(cannot(
                    node,
                    why,
                    "see the kernel log (dmesg) for the cause",
                ));
            }
            seen.push(format!("{} {got}", file.display()));
        }
        let where_from = if groups.len() == 1 {
            "the root group, which this process is in and kernel workers write back from"
        } else {
            "the root group, from which kernel workers write back, and this process's own, each with a budget of its own"
        };
        let words = format!(
            "by cgroup v1 blkio.throttle in {where_from}; read back for {number}: {}",
            seen.join(", ")
        );
        Ok((throttle, words))
    }

    /// Takes it back.
    pub(crate) fn lift(&mut self) -> Result<()> {
        if let Some(step) = self.step {
            take_back(&self.number, &self.settings)?;
            self.step = None;
            self.journal.note_undone(step);
        }
        Ok(())
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        if let Err(error) = self.lift() {
            tracing::warn!("{error}");
        }
    }
}

/// Puts back what was there, where the file still shows what was set. Returns how many it were.
pub(crate) fn take_back(number: &str, settings: &[Setting]) -> Result<usize> {
    let mut done = 0;
    for setting in settings {
        if !setting.file.exists() || shown(&setting.file, number)? != setting.asked {
            continue;
        }
        put(&setting.file, &format!("{number} {}", setting.was)).map_err(|error| {
            Error::NotUndone {
                thing: format!("limit of device {number}"),
                why: format!("{}: {error}", setting.file.display()),
                next: format!(
                    "as root: echo \"{number} {}\" > {}",
                    setting.was,
                    setting.file.display()
                ),
            }
        })?;
        done += 1;
    }
    Ok(done)
}

/// Limits in force on the device, as text.
pub(crate) fn in_force(tree: &Hierarchy, number: &str) -> Option<String> {
    let mut groups = vec![&tree.top];
    if tree.own != tree.top {
        groups.push(&tree.own);
    }
    let mut found = Vec::new();
    for group in groups {
        for (item, ..) in Limits::default().items() {
            let file = group.join(file(item));
            if let Ok(rate) = shown(&file, number)
                && rate != 0
            {
                found.push(format!("{} shows {number} {rate}", file.display()));
            }
        }
    }
    (!found.is_empty()).then(|| found.join(", "))
}

/// The rate that a throttle file shows for a device; 0 when none.
fn shown(file: &Path, number: &str) -> Result<u64> {
    let text = fs::read_to_string(file)
        .map_err(|error| Error::io(file, "cannot read the limits in force", error))?;
    Ok(parse(&text, number))
}

/// Lines of `MAJOR:MINOR RATE`.
pub(crate) fn parse(text: &str, number: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(device, _)| *device == number)
        .and_then(|(_, rate)| rate.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_throttle_file_is_read_by_device() {
        let text = "7:0 1048576\n7:10 5\nTotal 9\n";
        assert_eq!(parse(text, "7:0"), 1_048_576);
        assert_eq!(parse(text, "7:10"), 5);
        assert_eq!(parse(text, "7:1"), 0);
        assert_eq!(parse("", "7:1"), 0);
    }

    #[test]
    fn what_another_process_changed_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let setting = |name: &str, text: &str| {
            let file = folder.path().join(name);
            fs::write(&file, text).unwrap();
            Setting {
                file,
                asked: 10,
                was: 0,
            }
        };
        let ours = setting("ours", "7:0 10\n");
        let changed = setting("changed", "7:0 11\n");
        let gone = Setting {
            file: folder.path().join("gone"),
            ..ours.clone()
        };
        let settings = [ours.clone(), changed.clone(), gone];
        assert_eq!(take_back("7:0", &settings).unwrap(), 1);
        // A control file takes one line; a plain one is overwritten from its start.
        assert!(fs::read_to_string(&ours.file).unwrap().starts_with("7:0 0"));
        assert_eq!(fs::read_to_string(&changed.file).unwrap(), "7:0 11\n");
    }
}
