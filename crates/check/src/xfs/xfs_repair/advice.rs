//! What to do next with a damaged XFS: `xfs_repair` has no careful mode, refuses a log that has to be replayed, and a filesystem of one allocation
//! group unless it is told to go on.

use std::sync::Arc;

use blockio::BlockSource;
use ondisk::xfs::Superblock;
use ondisk::xfs::superblock::SIZE;

use super::problems::{
    LOG_DIRTY, LOG_EXTERNAL, LOG_NO_HEAD, SB_NEWER, SB_ONE_AG, SB_RT_NODEV, SB_UNKNOWN_FEATURES,
    SB_UNSUPPORTED,
};
use crate::frame::problem::{Problem, Severity};
use crate::frame::report::Report;
use crate::frame::report::advice::{self, COPY, MOUNT_POINT, Step, Target};
use crate::xfs::{Options, metadump};

/// The number of the pass that judges inodes.
const PHASE_3: u8 = 2;
/// Inodes of a chunk.
const CHUNK: u64 = 64;

/// What to do next; nothing where nothing is wrong.
pub(crate) fn steps(
    source: &dyn BlockSource,
    own: &Options,
    report: &Report,
    target: &Target,
) -> Vec<Step> {
    let mut steps = advice::unmounted(report, target);
    let has = |problem: &Problem| report.has(problem);
    if [&SB_UNSUPPORTED, &SB_UNKNOWN_FEATURES, &SB_NEWER]
        .into_iter()
        .any(has)
    {
        steps.push(Step::new(
            "it has features that are not read here, and that may be no damage: check it with the xfs_repair that came with \
             the kernel that made it (xfs_repair -n)",
        ));
        return steps;
    }
    if has(&LOG_EXTERNAL) || has(&SB_RT_NODEV) {
        steps.push(Step::new(
            "a part of it is on another device: give the log by --log-device (xfs_repair -l LOG), and the realtime device by \
             --rt-device (xfs_repair -r DEVICE)",
        ));
        return steps;
    }
    let given = |option: &str, device: &Option<Arc<dyn BlockSource>>| {
        device.as_ref().map_or_else(String::new, |device| {
            format!(" {option} {}", advice::shell_word(device.name()))
        })
    };
    let devices = given("-l", &own.device) + &given("-r", &own.realtime);
    let one_group = if has(&SB_ONE_AG) {
        " -o force_geometry"
    } else {
        ""
    };
    let Some(worst) = advice::worst(report) else {
        circumstances(&mut steps, report, target, one_group);
        return steps;
    };
    let repair = format!("xfs_repair{devices}{one_group}");
    let repair_file = format!("{repair} -f");
    if metadump::version(source).is_some() {
        steps.push(
            Step::new(
                "this is a file of xfs_metadump, which has no contents of files: try the repair on what it is restored to",
            )
            .run(format!("xfs_mdrestore {} {COPY}", target.word()))
            .run(format!("{repair_file} {COPY}")),
        );
        return steps;
    }
    steps.extend(advice::copy(report, target));
    if worst == Severity::Data && is_mountable(source, report) {
        steps.push(
            Step::new("save what matters before the repair: copy it off between these two")
                .run(format!(
                    "mount -o ro,norecovery,nouuid,loop {COPY} {MOUNT_POINT}"
                ))
                .run(format!("umount {MOUNT_POINT}")),
        );
    }
    if has(&LOG_NO_HEAD) {
        steps.push(
            Step::new("the log cannot be replayed: discard it, with what was changed last, and repair the copy")
                .run(format!("{repair_file} -L {COPY}")),
        );
    } else if has(&LOG_DIRTY) {
        steps.push(
            Step::new("the log has changes that are not in place yet: replay it by a mount of the copy, then repair the copy")
                .run(format!("mount -o nouuid,loop {COPY} {MOUNT_POINT}"))
                .run(format!("umount {MOUNT_POINT}"))
                .run(format!("{repair_file} {COPY}")),
        );
        steps.push(
            Step::new(
                "if that fails: discard the log, with what was changed last, and repair the copy",
            )
            .run(format!("{repair_file} -L {COPY}"))
            .if_failed(),
        );
    } else {
        steps.push(Step::new("repair the copy").run(format!("{repair_file} {COPY}")));
    }
    if has(&LOG_DIRTY) || has(&LOG_NO_HEAD) {
        steps.push(advice::look());
        steps.push(Step::new(
            "when the copy is as it should be, use it, or do to what it was made of what was done to the copy",
        ));
        return steps;
    }
    let is_file = !target.is_device && target.offset == 0;
    let program = format!("{repair}{}", if is_file { " -f" } else { "" });
    steps.extend(advice::after_repair(report, target, &[&program]));
    steps
}

/// What makes `xfs_repair -n` end with 1 although nothing is wrong.
fn circumstances(steps: &mut Vec<Step>, report: &Report, target: &Target, one_group: &str) {
    if report.has(&LOG_DIRTY) {
        let offset = match (target.offset, target.is_device) {
            (0, true) => String::new(),
            (0, false) => " -o loop".into(),
            (offset, _) => format!(" -o loop,offset={offset}"),
        };
        steps.push(
            Step::new("nothing is wrong but that the log has changes that are not in place yet: a mount replays it")
                .run(format!("mount{offset} {} {MOUNT_POINT}", target.word()))
                .run(format!("umount {MOUNT_POINT}"))
                .run(target.check("")),
        );
    } else if report.has(&SB_ONE_AG) {
        steps.push(target.on_itself(
            "nothing is wrong: xfs_repair refuses a filesystem of one allocation group, because it has no second superblock to \
             compare with, unless it is told to go on",
            &[&format!("xfs_repair -n -f{one_group}")],
        ));
    }
}

/// Whether kernels mount it read-only without recovery: they read the superblock, the headers of the allocation groups and the inodes that the
/// superblock names.
fn is_mountable(source: &dyn BlockSource, report: &Report) -> bool {
    let mut bytes = [0; SIZE];
    if source.read_at(&mut bytes, 0).is_err() || advice::is_truncated(report) {
        return false;
    }
    let Ok(sb) = Superblock::read(&bytes) else {
        return false;
    };
    let named = [
        sb.sb_rootino.get(),
        sb.sb_rbmino.get(),
        sb.sb_rsumino.get(),
        sb.sb_uquotino.get(),
        sb.sb_gquotino.get(),
        sb.sb_pquotino.get(),
    ];
    report.faults().all(|fault| {
        // The kernel judges all inodes of a buffer that it reads.
        let beside = |ino: u64| named.iter().any(|one| one / CHUNK == ino / CHUNK);
        fault.problem.pass.number >= PHASE_3 && !fault.place.inode.is_some_and(beside)
    })
}
