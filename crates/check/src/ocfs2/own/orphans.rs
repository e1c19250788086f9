//! Orphans: the flag of the inode, its slot, and its name in that slot's orphan directory.

use std::collections::BTreeMap;

use ondisk::ocfs2::system;

use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::ORPHAN_STATE;
use crate::ocfs2::lookup;
use crate::ocfs2::tree::Next;
use crate::ocfs2::volume::Volume;

/// What begins the name of a file that is in an orphan directory for direct writes past its end.
const DIRECT: &[u8] = b"dio-";

/// Why an inode is in an orphan directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// It has lost its last name.
    Removed,
    /// It is being written directly past its end, and has its names.
    Direct,
}

/// An inode that says that it is in an orphan directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Orphan {
    /// The inode.
    pub(crate) inode: u64,
    /// The slot of the directory.
    pub(crate) slot: u16,
    /// Why.
    pub(crate) kind: Kind,
}

/// Compares the orphan directories with what the inodes say.
pub(super) fn check(volume: &Volume<'_>, orphans: &[Orphan], log: &mut Log) {
    let mut left: BTreeMap<(u64, Kind), u16> = orphans
        .iter()
        .map(|orphan| ((orphan.inode, orphan.kind), orphan.slot))
        .collect();
    let mut unread = false;
    for slot in 0..volume.slots() {
        let directory = lookup::system(volume, &system::slot_file("orphan_dir", slot));
        let read = directory.and_then(|directory| {
            lookup::entries(volume, directory, &mut |entry, name| {
                if name != b"." && name != b".." {
                    let target = entry.inode.get();
                    let kind = kind(name);
                    if let Some(why) = wrong(left.remove(&(target, kind)), slot, target, name) {
                        let finding = Finding::new(&ORPHAN_STATE).inode(target).name(name);
                        log.own(finding.note(format!("slot {slot}: {why}")));
                    }
                }
                Next::Continue
            })
        });
        unread |= read.is_err();
    }
    if unread {
        // Those that are left may be in it.
        return;
    }
    for ((inode, _), slot) in left {
        let finding = Finding::new(&ORPHAN_STATE).inode(inode);
        log.own(finding.note(format!("slot {slot}: it is in no orphan directory")));
    }
}

fn kind(name: &[u8]) -> Kind {
    if name.starts_with(DIRECT) {
        Kind::Direct
    } else {
        Kind::Removed
    }
}

/// What is wrong with a name in the orphan directory of `slot`, where the inode says that it is in that of `said`.
fn wrong(said: Option<u16>, slot: u16, inode: u64, name: &[u8]) -> Option<&'static str> {
    let number = name.strip_prefix(DIRECT).unwrap_or(name);
    if said.is_none() {
        Some("the inode is not marked as an orphan")
    } else if said != Some(slot) {
        Some("the inode names another slot")
    } else if number != format!("{inode:016x}").as_bytes() {
        Some("the name is not the number of the inode")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_number_of_the_inode() {
        let fault = |said, name: &str| wrong(said, 1, 0x12ab, name.as_bytes());
        assert_eq!(fault(Some(1), "00000000000012ab"), None);
        assert_eq!(fault(Some(1), "dio-00000000000012ab"), None);
        for (said, name) in [
            (None, "00000000000012ab"),
            (Some(0), "00000000000012ab"),
            (Some(1), "00000000000012AB"),
            (Some(1), "12ab"),
        ] {
            assert!(fault(said, name).is_some(), "{said:?} {name}");
        }
        assert_eq!(kind(b"dio-00000000000012ab"), Kind::Direct);
        assert_eq!(kind(b"00000000000012ab"), Kind::Removed);
    }
}
