//! Lists of unlinked inodes. `xfs_repair -n` says that a bucket is not empty, and does not walk the list.

use std::collections::BTreeSet;

use ondisk::xfs::ag::UNLINKED_BUCKETS;
use ondisk::xfs::dinode::Inode;
use ondisk::xfs::geometry::NULL_AGINO;

use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::xfs::state::State;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::UNLINKED_LIST;

/// Inodes of a group's lists that are followed at most.
const LONGEST: usize = 1 << 20;

/// Walks the lists of all groups.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(super) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<(), Failure> {
    for (ag, headers) in state.groups.iter().enumerate() {
        let Some(agi) = &headers.agi else { continue };
        // An inode is in one list, once: each is read once, whatever the lists are.
        let mut met = BTreeSet::new();
        for (bucket, head) in agi.agi_unlinked.iter().enumerate() {
            list(volume, ag as u32, (bucket, head.get()), &mut met, log)?;
        }
    }
    Ok(())
}

fn list(
    volume: &Volume<'_>,
    ag: u32,
    (bucket, head): (usize, u32),
    met: &mut BTreeSet<u32>,
    log: &mut Log,
) -> Result<(), Failure> {
    let geo = &volume.geo;
    let mut at = head;
    while at != NULL_AGINO && met.len() < LONGEST {
        volume.go_on()?;
        let ino = geo.ino(ag, at);
        let mut wrong = |what: &str| {
            log.add(
                Finding::new(&UNLINKED_LIST)
                    .inode(ino)
                    .note(format!("bucket {bucket}: {what}")),
            );
        };
        if !geo.is_inode(ino) || geo.ino_ag(ino) != u64::from(ag) {
            wrong("the list leads to an inode that cannot exist");
            break;
        }
        if !met.insert(at) {
            wrong("this or another list has the inode already");
            break;
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
            wrong("the inode cannot be read");
            break;
        }
        let inode = Inode::new(geo, &bytes);
        if inode.mode() == 0 || inode.nlink() > 0 {
            wrong("the inode is free or has links");
        }
        at = inode.next_unlinked();
    }
    Ok(())
}
