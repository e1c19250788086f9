//! The quota files of the slots: what a node has changed since it mounted the volume. A node that unmounts it adds the changes to the global
//! file and marks its own as closed. fsck.ocfs2 does not read these files, and makes new ones when it repairs.

use ondisk::ocfs2::quota::{
    LOCAL_GROUP_MAGIC, LOCAL_USER_MAGIC, LocalQuotaInfo, QuotaHeader, TRAILER, VERSION,
};
use ondisk::ocfs2::{feature, system};

use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::QUOTA_LOCAL;
use crate::ocfs2::lookup;
use crate::ocfs2::refused::Refused;
use crate::ocfs2::tree;
use crate::ocfs2::volume::{Volume, from, head, value};

/// `dqi_flags`: the file was closed.
const CLEAN: u32 = 1;
/// `ij_flags`: the slot is in use.
const DIRTY: u32 = 1;

/// Judges the heads of the files of all slots.
pub(super) fn check(volume: &Volume<'_>, log: &mut Log) {
    let files = [
        (feature::USER_QUOTA, "aquota.user", LOCAL_USER_MAGIC),
        (feature::GROUP_QUOTA, "aquota.group", LOCAL_GROUP_MAGIC),
    ];
    for (bit, name, magic) in files {
        if !volume.sb.has_ro_compat(bit) {
            continue;
        }
        for slot in 0..volume.slots() {
            let file = system::slot_file(name, slot);
            let why = match fault(volume, &file, magic, is_in_use(volume, slot)) {
                Err(Refused::Absent) | Ok(None) => continue,
                Ok(Some(why)) => why,
                Err(refused) => refused.words(),
            };
            let finding = Finding::new(&QUOTA_LOCAL).name(file.as_bytes());
            log.own(finding.note(why));
        }
    }
}

/// Whether a node uses the slot, or ended without unmounting the volume.
fn is_in_use(volume: &Volume<'_>, slot: u16) -> bool {
    let journal = lookup::system(volume, &system::slot_file("journal", slot));
    let inode = journal.and_then(|number| volume.inode(number));
    inode.is_ok_and(|inode| head(&inode).journal_flags() & DIRTY != 0)
}

/// What is wrong with the head of a file.
fn fault(
    volume: &Volume<'_>,
    name: &str,
    magic: u32,
    in_use: bool,
) -> Result<Option<&'static str>, Refused> {
    let inode = volume.inode(lookup::system(volume, name)?)?;
    let block = volume.read(tree::first_block(volume, &inode)?)?;
    let check = block.len() - TRAILER;
    let bytes = volume.checked(block, check)?;
    let header: QuotaHeader = value(QuotaHeader::read(&bytes));
    if header.dqh_magic.get() != magic || header.dqh_version.get() != VERSION {
        return Ok(Some("its magic number or its version is wrong"));
    }
    let info: LocalQuotaInfo = value(LocalQuotaInfo::read(from(&bytes, QuotaHeader::SIZE)));
    let (blocks, chunks) = (info.dqi_blocks.get(), info.dqi_chunks.get());
    if u64::from(blocks) * volume.block_size() as u64 != head(&inode).i_size.get() {
        return Ok(Some("dqi_blocks is not the size of the file"));
    }
    // The head is a block, and each chunk has one.
    if chunks == 0 || chunks >= blocks {
        return Ok(Some("dqi_chunks does not fit the file"));
    }
    if info.dqi_flags.get() & CLEAN == 0 && !in_use {
        return Ok(Some("it was not closed, and no node uses the slot"));
    }
    Ok(None)
}
