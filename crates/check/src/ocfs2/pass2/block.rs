//! One directory block.

use ondisk::ocfs2::dinode::{INLINE_DATA, dynamic, inline_room};
use ondisk::ocfs2::directory::{self, Entry, Trailer};
use ondisk::ocfs2::{Dinode, feature};

use super::{Pass, Place};
use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::problems::{
    BAD_CRC32, DIR_BLOCK_NOT_ALLOCATED, DIR_BLOCK_UNREADABLE, DIRENT_INODE_UNCOVERED,
    DIRENT_LENGTH, DIRENT_LENGTH_ATTRIBUTES, DX_TREE_MISSING, DX_TREE_MISSING_SYSTEM, IV_DX_TREE,
};
use crate::ocfs2::lookup;
use crate::ocfs2::refused::Refused;
use crate::ocfs2::volume::head;

impl Pass<'_, '_> {
    /// Judges a block; `false` where fsck.ocfs2 ends the pass, without an error.
    pub(super) fn block(&mut self, place: Place) -> bool {
        let at = |problem| {
            Finding::new(problem)
                .inode(place.directory)
                .block(place.block)
        };
        match self.state.coverage.in_use(place.directory) {
            Some(false) => {
                self.log.add(at(&DIR_BLOCK_NOT_ALLOCATED));
                return true;
            }
            Some(true) => {}
            None => self.log.add(at(&DIRENT_INODE_UNCOVERED)),
        }
        if place.directory != self.directory && !self.enter(place) {
            return false;
        }
        let Some(bytes) = self.inode.clone() else {
            return true;
        };
        let inode = head(&bytes);
        if inode.has_dynamic(dynamic::INLINE_DATA) {
            if place.directory == place.block {
                let room = inline_room(bytes.len(), inode.xattr_tail());
                self.as_stored = true;
                self.entries(place, &inode, &bytes, INLINE_DATA, INLINE_DATA + room);
                self.foreign_index(place, &inode);
            }
            return true;
        }
        let blocks = inode.i_size.get().div_ceil(self.volume.block_size() as u64);
        if place.logical >= blocks {
            return true;
        }
        let block = match lookup::read(self.volume, &inode, place.block) {
            Ok(block) => block,
            Err(Refused::Absent) => {
                self.state.unjudged += 1;
                return true;
            }
            Err(refused) => {
                self.log
                    .add(at(&DIR_BLOCK_UNREADABLE).note(refused.words()));
                return true;
            }
        };
        let stored = self.volume.read(place.block);
        self.as_stored = stored.is_ok_and(|stored| stored == block);
        let trailer = self.volume.has_trailer(&inode);
        let end = if trailer {
            Trailer::offset(block.len())
        } else {
            block.len()
        };
        if self.entries(place, &inode, &block, 0, end) {
            if trailer {
                self.trailer(place, &block);
            }
            self.foreign_index(place, &inode);
        }
        true
    }

    /// Reads the inode of the next directory. `false`: it cannot be read, which ends the pass.
    fn enter(&mut self, place: Place) -> bool {
        let at = |problem| Finding::new(problem).inode(place.directory);
        self.forget_names();
        self.directory = place.directory;
        self.sound = true;
        let bytes = match self.volume.inode(place.directory) {
            Ok(bytes) => bytes,
            Err(Refused::Checksum) => {
                self.log.add(at(&BAD_CRC32));
                self.sound = false;
                match self.volume.read(place.directory) {
                    Ok(bytes) => bytes,
                    Err(_) => return true,
                }
            }
            Err(refused) => {
                self.inode = None;
                self.log
                    .add(at(&DIR_BLOCK_UNREADABLE).note(refused.words()));
                return self.log.has_ended();
            }
        };
        let inode = head(&bytes);
        let unindexed = self.volume.sb.has_incompat(feature::INDEXED_DIRS)
            && !inode.has_dynamic(dynamic::INLINE_DATA)
            && !inode.has_dynamic(dynamic::INDEXED_DIR);
        if unindexed {
            let is_system = place.directory == self.volume.sb.s_system_dir_blkno.get();
            let problem = if is_system {
                &DX_TREE_MISSING_SYSTEM
            } else {
                &DX_TREE_MISSING
            };
            self.log.add(at(problem));
        }
        self.inode = Some(bytes);
        true
    }

    /// An index on a volume that knows none.
    fn foreign_index(&mut self, place: Place, inode: &Dinode) {
        if !self.volume.sb.has_incompat(feature::INDEXED_DIRS)
            && inode.has_dynamic(dynamic::INDEXED_DIR)
        {
            let finding = Finding::new(&IV_DX_TREE).inode(place.directory);
            self.log.add(finding.block(place.block));
        }
    }

    /// Judges the entries from `offset` to `end`; `false` where the rest of the block is left for good. Inline entries are judged by fsck.ocfs2
    /// up to the end of the inode, attributes included.
    fn entries(
        &mut self,
        place: Place,
        inode: &Dinode,
        block: &[u8],
        mut offset: usize,
        end: usize,
    ) -> bool {
        while offset < block.len().min(end) {
            let Some((entry, name)) = directory::entry_at(block, offset) else {
                self.length(place, offset, &DIRENT_LENGTH);
                return true;
            };
            if is_corrupt(entry, end - offset) {
                self.length(place, offset, &DIRENT_LENGTH);
                return true;
            }
            if !self.entry(place, inode, offset, entry, name) {
                return false;
            }
            offset += usize::from(entry.rec_len.get());
        }
        if inode.has_dynamic(dynamic::INLINE_DATA) && end < block.len() {
            self.length(place, end, &DIRENT_LENGTH_ATTRIBUTES);
        }
        true
    }

    fn length(
        &mut self,
        place: Place,
        offset: usize,
        problem: &'static crate::frame::problem::Problem,
    ) {
        let finding = Finding::new(problem)
            .inode(place.directory)
            .block(place.block);
        self.log.add(finding.logical(place.logical).offset(offset));
    }
}

/// Whether the lengths of an entry make no sense with `left` bytes from its start on.
pub(super) fn is_corrupt(entry: &Entry, left: usize) -> bool {
    let length = usize::from(entry.rec_len.get());
    length < directory::record_length(1)
        || !length.is_multiple_of(4)
        || length > left
        || directory::record_length(entry.name_len.into()) > length
        || (1..Entry::SIZE).contains(&(left - length))
}
