//! What to do next with a damaged ext filesystem: the programs of e2fsprogs, called so that they do it.
//!
//! `e2fsck` without `-f` looks at the superblock and ends if that says clean, and the damage that people meet seldom says otherwise. `-p` stops at what
//! needs a decision, and then has repaired a part. So every command has `-f`, and `-y` on a copy takes the place of the careful mode.

use blockio::BlockSource;
use ondisk::ext4::inode::number::ROOT;

use super::problems::{
    P0_CANT_FIND_JOURNAL, P0_CHECK_DESC_FAILED, P0_FIRST_DATA_BLOCK, P0_FS_SIZE_WRONG,
    P0_JOURNAL_UNSUPP_INCOMPAT, P0_JOURNAL_UNSUPP_ROCOMPAT, P0_JOURNAL_UNSUPP_VERSION,
    P0_MISC_CORRUPT_SUPER, P0_MMP_INVALID_BLK, P0_OPEN_FAILED,
};
use crate::ext4::options::Options as Own;
use crate::ext4::pass0;
use crate::frame::problem::{Problem, Severity};
use crate::frame::report::Report;
use crate::frame::report::advice::{self, COPY, MOUNT_POINT, Step, Target};

/// Where e2fsck asks for another superblock, whatever it is allowed to repair.
const REFUSED: [&Problem; 4] = [
    &P0_FS_SIZE_WRONG,
    &P0_MISC_CORRUPT_SUPER,
    &P0_FIRST_DATA_BLOCK,
    &P0_MMP_INVALID_BLK,
];

/// Where it ends, whatever it is allowed to repair.
const NEWER: [&Problem; 3] = [
    &P0_JOURNAL_UNSUPP_ROCOMPAT,
    &P0_JOURNAL_UNSUPP_INCOMPAT,
    &P0_JOURNAL_UNSUPP_VERSION,
];

/// What to do next; nothing where nothing is wrong.
pub(crate) fn steps(
    source: &dyn BlockSource,
    own: &Own,
    report: &Report,
    target: &Target,
) -> Vec<Step> {
    let mut steps = advice::unmounted(report, target);
    let reference = report.verdicts.reference.as_ref();
    let hint = reference.is_some_and(|verdict| !verdict.is_clean());
    let worst = advice::worst(report).or(hint.then_some(Severity::Cosmetic));
    let Some(worst) = worst else {
        return steps;
    };
    if report.has(&P0_CANT_FIND_JOURNAL) && own.journal.is_none() {
        steps.push(Step::new(
            "its journal is on another device: check with it by -j (fslab check -j JOURNAL), and repair with it \
             (e2fsck -fy -j JOURNAL); blkid prints the journal's UUID, which dumpe2fs -h prints here",
        ));
        return steps;
    }
    if advice::is_unknown_to_reference(report) {
        steps.push(Step::new(
            "e2fsck does not look for this and repairs nothing of it: copy the files to a new filesystem",
        ));
        return steps;
    }
    if NEWER.iter().any(|problem| report.has(problem)) {
        steps.push(Step::new(
            "its journal has features that e2fsck does not know, and it repairs nothing then: take the e2fsprogs of the system \
             that wrote it",
        ));
        return steps;
    }
    let backup = backup(source, own, report);
    let corrupt = report.has(&P0_MISC_CORRUPT_SUPER) || report.has(&P0_FIRST_DATA_BLOCK);
    if corrupt && backup.is_none() {
        steps.push(Step::new(
            "e2fsck asks for another superblock, and no copy here is better, so it repairs nothing: correct the field in a copy \
             of the image (debugfs -w, set_super_value), or take the files off (debugfs -c, rdump)",
        ));
        return steps;
    }
    let by_backup = repair(own, backup);
    let no_risk = matches!(worst, Severity::Accounting | Severity::Cosmetic)
        && backup.is_none()
        && report.total.errors == 0
        && !advice::is_truncated(report);
    if no_risk {
        steps.push(target.on_itself("no file is at risk; this repairs it", &[&by_backup]));
        return steps;
    }
    if report.subject.filesystem.is_none() && backup.is_none() {
        steps.push(Step::new(
            "no copy of the superblock was found, so e2fsck cannot repair it: see whether this is the right device, \
             and whether a filesystem begins elsewhere in it (--offset)",
        ));
        return steps;
    }
    steps.extend(advice::copy(report, target));
    if let Some((block, size)) = backup.filter(|_| own.superblock.is_none()) {
        steps.push(
            Step::new(format!(
                "the copy of the superblock in block {block} is usable: see what is wrong by that one"
            ))
            .run(format!("fslab check -b {block} -B {size} {COPY}")),
        );
    }
    if worst == Severity::Data {
        steps.extend(save(report, backup));
    }
    let again = repair(own, None);
    steps.push(
        Step::new(
            "repair the copy (exit code 1: it was corrected); the second run repairs what shows only after the first",
        )
        .run(format!("{by_backup} {COPY}"))
        .run(format!("{again} {COPY}")),
    );
    steps.extend(advice::after_repair(report, target, &[&by_backup, &again]));
    steps
}

/// How files are read before the repair changes anything: by the kernel where it mounts such a filesystem, else by debugfs.
fn save(report: &Report, backup: Option<(u64, u32)>) -> Vec<Step> {
    let at_root = report.findings.list.iter().any(|finding| {
        let place = &finding.place;
        finding.problem.is_fault() && place.inode == Some(ROOT.into())
    });
    if at_root {
        return vec![Step::new(
            "the root directory is damaged, so there is no way down to the files before the repair; keep a second copy \
             of the copy: what has lost its name is in lost+found after it",
        )];
    }
    let refused = report.findings.tallies.iter().any(|tally| {
        let problem = tally.problem;
        let primary = [&P0_OPEN_FAILED, &P0_CHECK_DESC_FAILED];
        problem.pass.number == 0 && problem.is_fault() || primary.contains(&problem)
    });
    let debugfs = |what: &str| {
        let superblock = backup.map_or_else(String::new, |(block, size)| {
            format!(" -s {block} -b {size}")
        });
        Step::new(what)
            .run("mkdir -p saved")
            .run(format!("debugfs -cn{superblock} -R 'rdump / saved' {COPY}"))
    };
    if refused || backup.is_some() {
        let what = "save what can be read before the repair: the kernel may refuse to mount it, debugfs does not";
        return vec![debugfs(what)];
    }
    // The driver refuses the option where there is no journal.
    let format = report.subject.filesystem.as_ref().map(|fs| fs.format);
    let noload = if format == Some("ext2") {
        ""
    } else {
        ",noload"
    };
    vec![
        Step::new("save what matters before the repair: copy it off between these two")
            .run(format!("mount -o ro{noload},loop {COPY} {MOUNT_POINT}"))
            .run(format!("umount {MOUNT_POINT}")),
        debugfs("if the kernel refuses to mount it, for a feature that it was built without: debugfs reads it")
            .if_failed(),
    ]
}

/// The options of e2fsck for a copy of the superblock.
fn superblock(backup: Option<(u64, u32)>) -> String {
    backup.map_or_else(String::new, |(block, size)| {
        format!(" -b {block} -B {size}")
    })
}

/// The command that repairs.
fn repair(own: &Own, backup: Option<(u64, u32)>) -> String {
    let journal = own.journal.as_ref().map_or_else(String::new, |journal| {
        format!(" -j {}", advice::shell_word(journal.source.name()))
    });
    format!("e2fsck -fy{}{journal}", superblock(backup))
}

/// The copy of the superblock to go by, its block and block size, where the primary is of no use: it cannot be opened, or says more blocks than there are
/// and the copy does not.
fn backup(source: &dyn BlockSource, own: &Own, report: &Report) -> Option<(u64, u32)> {
    let fs = report.subject.filesystem.as_ref();
    if let (Some(block), Some(fs)) = (own.superblock, fs) {
        return Some((block, fs.block_size));
    }
    let refused = REFUSED.iter().any(|problem| report.has(problem));
    if fs.is_none() || refused || advice::is_truncated(report) {
        return pass0::usable_backup(source, own);
    }
    None
}
