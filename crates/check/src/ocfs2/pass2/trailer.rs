//! The trailer of a directory block.

use ondisk::ocfs2::Trailer;

use super::{Pass, Place};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::fsck_ocfs2::problems::{
    DIR_TRAILER_BLKNO, DIR_TRAILER_INODE, DIR_TRAILER_NAME_LEN, DIR_TRAILER_PARENT_INODE,
    DIR_TRAILER_REC_LEN,
};

impl Pass<'_, '_> {
    /// Judges the trailer, and remembers where it leads.
    pub(super) fn trailer(&mut self, place: Place, block: &[u8]) {
        let Ok(trailer) = Trailer::of_block(block) else {
            return;
        };
        if trailer.db_free_next.get() != 0 {
            let next = trailer.db_free_next.get();
            self.state.free_next.insert(place.block, next);
        }
        let at = |problem: &'static Problem| {
            let finding = Finding::new(problem).inode(place.directory);
            finding.block(place.block).logical(place.logical)
        };
        let fields = [
            (&DIR_TRAILER_INODE, trailer.db_compat_inode.get(), 0),
            (&DIR_TRAILER_NAME_LEN, trailer.db_compat_name_len.into(), 0),
            (
                &DIR_TRAILER_REC_LEN,
                trailer.db_compat_rec_len.get().into(),
                Trailer::SIZE as u64,
            ),
            (&DIR_TRAILER_BLKNO, trailer.db_blkno.get(), place.block),
            (
                &DIR_TRAILER_PARENT_INODE,
                trailer.db_parent_dinode.get(),
                place.directory,
            ),
        ];
        for (problem, found, expected) in fields {
            if found != expected {
                self.log.add(at(problem).found(found).expected(expected));
            }
        }
    }
}
