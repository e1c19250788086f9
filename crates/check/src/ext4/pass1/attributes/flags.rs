//! Flags that contradict each other, a feature, or the kind of the inode.

use ondisk::ext4::feature::Incompat;
use ondisk::ext4::inode::{OLD_SIZE, flag};
use ondisk::ext4::{FileType, Inode};

use super::super::special;
use super::Worker;
use super::search::{DATA, Trouble};
use super::value::since_1474;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P1_CASEFOLD_FEATURE, P1_CASEFOLD_NONDIR, P1_CLEAR_EXTENT_FOR_INLINE_DATA,
    P1_CLEAR_EXTENT_INLINE_DATA_FLAGS, P1_CLEAR_EXTENT_INLINE_DATA_INODE,
    P1_CLEAR_INLINE_DATA_FOR_EXTENT, P1_EA_INODE_NONREG, P1_INLINE_DATA_FEATURE,
    P1_INLINE_DATA_NO_ATTR, P1_INLINE_DATA_SET, P1_ISCAN_ERROR, P1_SPECIAL_EXTENTS_IDATA,
};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Flags that this module looks at: of nearly every inode none is set.
const WATCHED: u32 = flag::CASEFOLD | flag::EA_INODE | flag::INLINE_DATA;

fn about(problem: &'static Problem, ino: u32, inode: &Inode<'_>) -> Finding {
    Finding::new(problem)
        .inode(ino)
        .found(format!("i_flags {:#x}", inode.flags()))
}

impl Worker<'_> {
    /// Right after `i_links_count` was found not to be 0, before the extent flags and the special inodes are looked at.
    /// `sound_checksum`: whether the inode's checksum matches; the library reads no attributes of an inode whose
    /// checksum does not.
    pub(crate) fn check_flags(
        &mut self,
        ino: u32,
        inode: &Inode<'_>,
        sound_checksum: bool,
        log: &mut Log,
    ) {
        let flags = inode.flags();
        if flags & WATCHED == 0 {
            return;
        }
        let sb = &self.volume.sb;
        if flags & flag::CASEFOLD != 0 {
            if inode.file_type() != Some(FileType::Directory) {
                log.add(about(&P1_CASEFOLD_NONDIR, ino, inode));
            }
            if !sb.has_incompat(Incompat::CASEFOLD) {
                log.add(about(&P1_CASEFOLD_FEATURE, ino, inode));
            }
        }
        if flags & flag::EA_INODE != 0 {
            if inode.file_type() != Some(FileType::Regular) {
                let fault = about(&P1_EA_INODE_NONREG, ino, inode);
                log.add(since_1474(self.volume, fault));
            }
            self.value_inodes.push(ino);
        }
        if flags & flag::INLINE_DATA != 0 {
            if flags & flag::EXTENTS != 0 {
                self.check_both(ino, inode, log);
            }
            if ino >= sb.first_ino() {
                self.check_inline(ino, inode, sound_checksum, log);
            }
        }
    }

    /// Both inline content and extents: which of them it is. Each answer "no" leads the reference to its next guess.
    fn check_both(&self, ino: u32, inode: &Inode<'_>, log: &mut Log) {
        let sb = &self.volume.sb;
        if !sb.has_incompat(Incompat::EXTENTS) && !sb.has_incompat(Incompat::INLINE_DATA) {
            return;
        }
        let file = matches!(
            inode.file_type(),
            None | Some(FileType::Regular | FileType::Directory | FileType::Symlink)
        );
        if !file {
            log.add(about(&P1_SPECIAL_EXTENTS_IDATA, ino, inode));
            return;
        }
        if special::is_extent_root(inode) {
            log.add(about(&P1_CLEAR_INLINE_DATA_FOR_EXTENT, ino, inode));
        }
        let size = inode.bytes().len();
        let room = if size > OLD_SIZE {
            // An impossible i_extra_isize makes the room as large as a number can be.
            (size as u64).wrapping_sub(OLD_SIZE as u64 + u64::from(inode.extra_isize()))
        } else {
            0
        };
        if inode.size() < room.wrapping_add(ondisk::ext4::inline::IN_BLOCK as u64) {
            log.add(about(&P1_CLEAR_EXTENT_FOR_INLINE_DATA, ino, inode));
        }
        if special::could_be_block_map(self.volume, inode) {
            log.add(about(&P1_CLEAR_EXTENT_INLINE_DATA_FLAGS, ino, inode));
        }
        log.add(about(&P1_CLEAR_EXTENT_INLINE_DATA_INODE, ino, inode));
    }

    /// Inline content: whether it may be, and whether its second half can be found.
    fn check_inline(&mut self, ino: u32, inode: &Inode<'_>, sound: bool, log: &mut Log) {
        let allowed = self.volume.sb.has_incompat(Incompat::INLINE_DATA);
        if !allowed {
            if sound && matches!(self.search().find(ino, inode, DATA), Ok(Some(_))) {
                log.add(about(&P1_INLINE_DATA_FEATURE, ino, inode));
            }
            log.add(about(&P1_INLINE_DATA_SET, ino, inode));
            return;
        }
        match self.search().find(ino, inode, DATA) {
            Ok(Some(_)) => {}
            Ok(None) | Err(Trouble::Attribute) => {
                log.add(about(&P1_INLINE_DATA_NO_ATTR, ino, inode));
            }
            Err(Trouble::Beyond) => log.add(
                Finding::new(&P1_ISCAN_ERROR)
                    .inode(ino)
                    .note("the attributes of an inline inode cannot be read; the reference aborts without saying why"),
            ),
        }
    }
}
