//! What to do next, by what was found.

use super::{Judge, Report};
use crate::frame::problem::{Class, Severity};

/// The steps, in order; none where nothing is wrong.
pub(super) fn steps(report: &Report, judge: Judge) -> Vec<String> {
    let device = shell_word(&report.subject.name);
    let program = report
        .reference
        .map_or("its repair program", |reference| reference.program);
    let mut steps = Vec::new();
    if report.unstable {
        steps.push(format!(
            "unmount it and check again: findings of a filesystem in use can be changes in progress: \
             umount {device}; fslab check {device}"
        ));
    }
    if report.total.errors > 0 {
        steps.push(format!(
            "the device fails to read: copy it before anything else, and work on the copy: \
             ddrescue {device} copy.img copy.map; fslab check copy.img"
        ));
    }
    if is_truncated(report) {
        steps.push(format!(
            "the end of the filesystem is missing: complete the copy, or give the device its former size, \
             before any repair of {device}"
        ));
    }
    let faults = || {
        report
            .findings
            .tallies
            .iter()
            .filter(|tally| tally.problem.is_fault())
    };
    let Some(worst) = faults()
        .map(|tally| tally.problem.severity)
        .min_by_key(|severity| *severity as u8)
    else {
        return steps;
    };
    if program == "xfs_repair" {
        xfs(&mut steps, report, worst, &device);
        return steps;
    }
    let no_superblock = report.subject.filesystem.is_none();
    if no_superblock {
        steps.push(format!(
            "if it is an ext filesystem, try its backup superblocks: fslab check -b 32768 -B 4096 {device} \
             (8193 and 1024 where blocks have 1 KiB); mke2fs -n prints where they are"
        ));
        steps.push(format!(
            "then repair with the same one: {program} -b 32768 -B 4096 -y {device}"
        ));
        return steps;
    }
    if program == "fsck.ocfs2" {
        // Its -p replays journals and repairs nothing.
        if worst == Severity::Data {
            steps.push(format!(
                "save what matters first: mount -o ro {device} /mnt, and copy it off"
            ));
        }
        steps.push(format!(
            "unmount it on all nodes, then repair: {program} -fy {device}"
        ));
        return steps;
    }
    match worst {
        Severity::Data => {
            steps.push(format!(
                "save what matters first: mount -o ro,noload {device} /mnt, and copy it off"
            ));
            steps.push(format!(
                "then repair: {program} -y {device} (-p stops at faults that need a decision)"
            ));
        }
        Severity::Metadata => steps.push(format!(
            "back up what matters, then repair: {program} -p {device}, and {program} -y {device} if that stops"
        )),
        Severity::Accounting | Severity::Cosmetic => steps.push(format!(
            "no file is at risk: {program} -p {device} corrects this, or {program} -y {device} if it stops"
        )),
    }
    let only_beyond = report.reference.is_some()
        && judge == Judge::Reference
        && report.verdict(judge).is_clean()
        && faults().any(|tally| tally.problem.class == Class::Error);
    if only_beyond {
        steps.push(format!(
            "{program} -n does not count this: {program} -f -y {device} corrects what it knows"
        ));
    }
    steps
}

/// `xfs_repair` refuses a log that has to be replayed, and it has no careful mode.
fn xfs(steps: &mut Vec<String>, report: &Report, worst: Severity, device: &str) {
    let has = |name: &str| {
        report
            .findings
            .tallies
            .iter()
            .any(|tally| tally.problem.name == name)
    };
    if worst == Severity::Data {
        steps.push(format!(
            "save what matters first: mount -o ro,norecovery {device} /mnt, and copy it off"
        ));
    }
    if has("XFS-LOG-DIRTY") {
        steps.push(format!(
            "replay the log: mount {device} /mnt && umount /mnt, then check again: findings may be changes that the log has"
        ));
    }
    steps.push(format!(
        "then repair: xfs_repair {device} (with an image: xfs_repair -f {device})"
    ));
}

/// Whether the source ends before the filesystem does.
pub(super) fn is_truncated(report: &Report) -> bool {
    report
        .subject
        .filesystem
        .as_ref()
        .is_some_and(|fs| fs.blocks.saturating_mul(fs.block_size.into()) > report.subject.bytes)
}

/// A path as a shell takes it, in one line.
fn shell_word(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%=,".contains(c);
    if !name.is_empty() && name.chars().all(plain) && !name.starts_with('-') {
        return name.to_owned();
    }
    format!("'{}'", words::printable(name).replace('\'', r"'\''"))
}
