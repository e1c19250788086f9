//! What to do next with a damaged OCFS2 volume: `fsck.ocfs2`'s `-p` replays journals and repairs nothing, so every command has `-fy`.

use blockio::BlockSource;
use ondisk::ocfs2::Superblock;
use ondisk::ocfs2::superblock::{BLOCK_SIZES, SIZE};

use super::problems::{SB_FEATURES, SB_UNUSABLE};
use crate::frame::problem::Severity;
use crate::frame::report::Report;
use crate::frame::report::advice::{self, COPY, Step, Target};
use crate::ocfs2::packed;

/// Where the backup superblocks are that `-r` names by 1 to 6, bytes.
const BACKUPS: [u64; 6] = [1 << 30, 4 << 30, 16 << 30, 64 << 30, 256 << 30, 1 << 40];

/// What to do next; nothing where nothing is wrong.
pub(crate) fn steps(source: &dyn BlockSource, report: &Report, target: &Target) -> Vec<Step> {
    let mut steps = advice::unmounted(report, target);
    let Some(worst) = advice::worst(report) else {
        return steps;
    };
    if packed::header(source).is_some() {
        steps.push(Step::new(
            "this is a file of o2image, which has no contents of files and cannot be repaired: repair the volume that it was \
             made of, unmounted on all nodes, by fsck.ocfs2 -fy",
        ));
        return steps;
    }
    if report.has(&SB_FEATURES) {
        steps.push(Step::new(
            "it has features that fsck.ocfs2 does not know: take the ocfs2-tools of the system that made it",
        ));
        return steps;
    }
    if advice::is_unknown_to_reference(report) {
        steps.push(Step::new(
            "fsck.ocfs2 does not look for this and repairs nothing of it: copy the files to a new volume",
        ));
        return steps;
    }
    let mut repair = String::from("fsck.ocfs2 -fy");
    if report.has(&SB_UNUSABLE) {
        let Some(number) = backup(source) else {
            steps.push(Step::new(
                "the superblock is of no use and no backup of it was found (volumes below 1 GiB have none), so fsck.ocfs2 cannot \
                 repair it: see whether this is the right device, and whether a volume begins elsewhere in it (--offset)",
            ));
            return steps;
        };
        repair = format!("{repair} -r {number}");
    }
    steps.extend(advice::copy(report, target));
    if worst == Severity::Data && report.subject.filesystem.is_some() {
        steps.push(
            Step::new("save what can be read before the repair")
                .run("mkdir -p saved")
                // Not `rdump /`: debugfs.ocfs2 1.8.7 then makes the folder that is there.
                .run(format!("debugfs.ocfs2 -R 'rdump /. saved' {COPY}")),
        );
    }
    steps.push(
        Step::new("repair the copy; exit code 1 says that it was corrected")
            .run(format!("{repair} {COPY}")),
    );
    steps.extend(advice::after_repair(report, target, &[&repair]));
    steps
}

/// The number of the first backup superblock that is there.
fn backup(source: &dyn BlockSource) -> Option<usize> {
    let numbered = (1..).zip(BACKUPS);
    let mut there = numbered.filter(|(_, at)| {
        let mut bytes = [0; SIZE];
        source.read_at(&mut bytes, *at).is_ok()
            && Superblock::read(&bytes).is_ok_and(|sb| {
                let at_size = |size| sb.block_size() == Some(size) && sb.i_blkno.get() == at / size;
                BLOCK_SIZES.into_iter().any(at_size)
            })
    });
    there.next().map(|(number, _)| number)
}
