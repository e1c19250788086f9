//! Lists of unlinked inodes. `xfs_repair -n` says that a bucket is not empty, and does not walk the list.

use std::collections::BTreeSet;

use ondisk::xfs::ag::UNLINKED_BUCKETS;
use ondisk::xfs::dinode::Inode;
use ondisk::xfs::geometry::NULL_AGINO;

use crate::frame::finding::Finding;
use crate::xfs::state::State;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::UNLINKED_LIST;

/// Inodes of a list that are followed at most.
const LONGEST: usize = 1 << 20;

/// Walks the lists of all groups.
pub(super) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) {
    for (ag, headers) in state.groups.iter().enumerate() {
        let Some(agi) = &headers.agi else { continue };
        for (bucket, head) in agi.agi_unlinked.iter().enumerate() {
            list(volume, ag as u32, bucket, head.get(), log);
        }
    }
}

fn list(volume: &Volume<'_>, ag: u32, bucket: usize, head: u32, log: &mut Log) {
    let geo = &volume.geo;
    let mut met = BTreeSet::new();
    let mut at = head;
    while at != NULL_AGINO && met.len() < LONGEST {
        let ino = geo.ino(ag, at);
        let mut wrong = |what: &str| {
            log.add(
                Finding::new(&UNLINKED_LIST)
                    .inode(ino)
                    .note(format!("bucket {bucket}: {what}")),
            );
        };
        if !geo.is_inode(ino) || geo.ino_ag(ino) != u64::from(ag) {
            return wrong("the list leads to an inode that cannot exist");
        }
        if !met.insert(at) {
            return wrong("the list leads back to this inode");
        }
        if at as usize % UNLINKED_BUCKETS != bucket {
            wrong("the inode belongs to another bucket");
        }
        let mut bytes = vec![0; geo.inode_size as usize];
        if volume
            .source
            .read_at(&mut bytes, geo.ino_offset(ino))
            .is_err()
        {
            return wrong("the inode cannot be read");
        }
        let inode = Inode::new(geo, &bytes);
        if inode.mode() == 0 || inode.nlink() > 0 {
            wrong("the inode is free or has links");
        }
        at = inode.next_unlinked();
    }
}
