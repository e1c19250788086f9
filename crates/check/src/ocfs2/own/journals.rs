//! The superblocks of the journals. fsck.ocfs2 reads them where a journal is to be replayed, and compares their sizes and features when it
//! repairs.

use ondisk::bytes::be32;
use ondisk::ext4::journal::MAGIC;
use ondisk::ext4::journal::superblock::{compat, incompat};
use ondisk::ocfs2::system;

use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::JOURNAL_SUPER;
use crate::ocfs2::lookup;
use crate::ocfs2::refused::Refused;
use crate::ocfs2::tree;
use crate::ocfs2::volume::{Volume, head};

/// Block types of a superblock, the versions 1 and 2.
const TYPES: [u32; 2] = [3, 4];
/// Features that a kernel sets when it needs them, in the journal of its own slot.
const AS_NEEDED: Features = Features {
    compat: compat::CHECKSUM,
    incompat: incompat::REVOKE | incompat::ASYNC_COMMIT,
    ro_compat: 0,
};
/// The other features that a journal of OCFS2 may have.
const ALIKE: u32 = incompat::BIT64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Features {
    compat: u32,
    incompat: u32,
    ro_compat: u32,
}

impl Features {
    fn of(superblock: &[u8]) -> Features {
        Features {
            compat: be32(superblock, 0x24) & !AS_NEEDED.compat,
            incompat: be32(superblock, 0x28) & !AS_NEEDED.incompat,
            ro_compat: be32(superblock, 0x2c),
        }
    }

    fn are_known(self) -> bool {
        self.compat == 0 && self.incompat & !ALIKE == 0 && self.ro_compat == 0
    }
}

/// Judges the superblocks of all slots. A journal that cannot be looked up was reported when the volume was opened.
pub(super) fn check(volume: &Volume<'_>, log: &mut Log) {
    let mut first = None;
    for slot in 0..volume.slots() {
        let Ok(number) = lookup::system(volume, &system::slot_file("journal", slot)) else {
            continue;
        };
        let Ok(inode) = volume.inode(number) else {
            continue;
        };
        let block = tree::first_block(volume, &inode).and_then(|block| volume.read(block));
        let why = match block {
            Ok(block) => fault(volume, &inode, &block, &mut first),
            Err(Refused::Absent) => None,
            Err(refused) => Some(refused.words()),
        };
        if let Some(why) = why {
            let finding = Finding::new(&JOURNAL_SUPER).inode(number);
            log.own(finding.note(format!("slot {slot}: {why}")));
        }
    }
}

/// What is wrong with a superblock. The features of the `first` one that is right are those of all.
fn fault(
    volume: &Volume<'_>,
    inode: &[u8],
    block: &[u8],
    first: &mut Option<Features>,
) -> Option<&'static str> {
    if be32(block, 0) != MAGIC || !TYPES.contains(&be32(block, 4)) {
        return Some("it has no superblock");
    }
    let size = volume.block_size() as u64;
    if u64::from(be32(block, 0x0c)) != size {
        return Some("its block size is not the volume's");
    }
    if u64::from(be32(block, 0x10)) * size != head(inode).i_size.get() {
        return Some("its length is not the size of the file");
    }
    let features = Features::of(block);
    if !features.are_known() {
        return Some("it has features that OCFS2 does not use");
    }
    (*first.get_or_insert(features) != features)
        .then_some("its features are not those of the first journal")
}
