//! Directories in inodes that have another purpose: quota files, the orphan file, reserved ones.
//!
//! Pass 1 makes no directory of such an inode, and e2fsck stops where it comes to one. Those with blocks are found in the sweep; those whose
//! entries are within the inode are looked for here.

use ondisk::ext4::FileType;
use ondisk::ext4::inode::flag;
use ondisk::ext4::inode::number::{BAD, ROOT};

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::P2_NO_DIRINFO;
use crate::ext4::pass2::shared::Shared;
use crate::ext4::slots::Slots;
use crate::frame::finding::Finding;

/// Reports them.
pub(super) fn judge(shared: &Shared<'_>, log: &mut Log) {
    if !shared.has_inline() {
        return;
    }
    let (volume, state) = (shared.volume, shared.state);
    let sb = &volume.sb;
    let mut slots = Slots::new(volume);
    let files = [sb.s_prj_quota_inum.get(), sb.s_orphan_file_inum.get()];
    let last = sb.s_inodes_count.get();
    let inodes = (ROOT + 1..sb.first_ino().min(last)).chain(files);
    for ino in inodes.filter(|ino| (BAD..=last).contains(ino)) {
        let used = state.used.get(u64::from(ino) - 1);
        if !used || state.directories.position(ino).is_some() {
            continue;
        }
        let Some(inode) = slots.read(ino) else {
            continue;
        };
        if inode.file_type() == Some(FileType::Directory) && inode.has_flags(flag::INLINE_DATA) {
            let finding = Finding::new(&P2_NO_DIRINFO)
                .inode(ino)
                .note("the inode has the mode of a directory, and another purpose")
                .order(shared.order.of(ino, 0, 0, 0))
                .listed(ino, 0);
            log.add(finding);
        }
    }
}
