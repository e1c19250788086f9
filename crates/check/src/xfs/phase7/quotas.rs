//! Quota records against what owners use.

use crate::frame::finding::Finding;
use crate::xfs::quota::counted;
use crate::xfs::rules::Rules;
use crate::xfs::state::State;
use crate::xfs::types::kind;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    QUOTA_BCOUNT, QUOTA_BIGTIME, QUOTA_ICOUNT, QUOTA_LOST_G, QUOTA_LOST_P, QUOTA_LOST_U,
    QUOTA_MISSING, QUOTA_RTBCOUNT,
};

/// Compares the kinds that were counted, where they have a file. An inode that the superblock names is in use whether quotas are or not.
pub(super) fn run(volume: &Volume<'_>, rules: &Rules, state: &State, log: &mut Log) {
    let counted = counted(volume.sb.sb_qflags.get());
    // Flags alone mean nothing: xfs_repair looks at them only where an inode of quotas is in use.
    if rules.quota == [0; 3] {
        return;
    }
    let lost = [&QUOTA_LOST_U, &QUOTA_LOST_G, &QUOTA_LOST_P];
    let mut judged = [false; 3];
    for (nth, ino) in rules.quota.iter().enumerate().filter(|(_, ino)| **ino != 0) {
        let rank = state.chunks.rank(*ino);
        let used = rank.map_or(kind::FREE, |rank| state.types.get(rank));
        if matches!(used, kind::FREE | kind::CLEARED) {
            log.add(Finding::new(lost[nth]).inode(*ino));
        } else {
            judged[nth] = counted[nth];
        }
    }
    let mut gathered = state.directories.gathered();
    let mut usage = std::mem::take(&mut gathered.usage);
    let records = std::mem::take(&mut gathered.records);
    drop(gathered);
    for record in &records {
        if !judged[usize::from(record.kind)] {
            continue;
        }
        let used = usage.remove(record.kind, record.id);
        let found = record.amount;
        let about = |problem| {
            let ino = rules.quota[usize::from(record.kind)];
            Finding::new(problem)
                .inode(ino)
                .order(record.id.into())
                .note(format!("id {}", record.id))
        };
        for (problem, found, used) in [
            (&QUOTA_BCOUNT, found.blocks, used.blocks),
            (&QUOTA_RTBCOUNT, found.realtime, used.realtime),
            (&QUOTA_ICOUNT, found.inodes, used.inodes),
        ] {
            if found != used {
                log.add(about(problem).found(found).expected(used));
            }
        }
        if record.bigtime && !rules.geometry.bigtime {
            log.add(about(&QUOTA_BIGTIME));
        }
    }
    for (nth, judged) in judged.into_iter().enumerate() {
        for (id, amount) in usage.left(nth as u8).filter(|_| judged) {
            let finding = Finding::new(&QUOTA_MISSING).inode(rules.quota[nth]);
            let note = format!(
                "id {id}: {} blocks, {} inodes",
                amount.blocks, amount.inodes
            );
            log.add(finding.note(note));
        }
    }
}
