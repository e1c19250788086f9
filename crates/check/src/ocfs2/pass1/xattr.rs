//! Extended attributes: where they are.

use ondisk::ocfs2::dinode::dynamic;
use ondisk::ocfs2::extent::ExtentHead;
use ondisk::ocfs2::xattr::{BLOCK_HEADER, BUCKET, INDEXED, TREE_LIST, XattrHead, tree_room};
use ondisk::ocfs2::{Dinode, XattrBlock};

use super::End;
use super::extents::{Leaves, Tree};
use super::sink::Sink;
use super::xattr_header::{Area, header};
use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{XATTR_BUCKET_COUNT_INVALID, XATTR_UNREADABLE};
use crate::ocfs2::refused::Refused;
use crate::ocfs2::tree;
use crate::ocfs2::volume::{Volume, from, value};

/// Judges the attributes of an inode.
///
/// # Errors
/// The reference ends.
pub(super) fn check(
    volume: &Volume<'_>,
    state: &mut dyn Sink,
    log: &mut Log,
    inode: &Dinode,
    bytes: &[u8],
) -> Result<(), End> {
    if !inode.has_dynamic(dynamic::HAS_XATTR) {
        return Ok(());
    }
    let mut place = Place {
        volume,
        state,
        log,
        inode,
    };
    if inode.has_dynamic(dynamic::INLINE_XATTR) {
        let size = usize::from(inode.i_xattr_inline_size.get());
        let area = Area {
            bytes: from(bytes, volume.block_size().saturating_sub(size)),
            size,
            place: inode.i_blkno.get(),
            bucket: false,
        };
        header(volume, place.state, place.log, inode, &area);
    }
    if inode.i_xattr_loc.get() == 0 {
        return Ok(());
    }
    place.block().map_err(|refused| {
        let finding = Finding::new(&XATTR_UNREADABLE).inode(inode.i_blkno.get());
        End::failed(finding.block(inode.i_xattr_loc.get()).note(refused.words()))
    })
}

struct Place<'a, 'v> {
    volume: &'a Volume<'v>,
    state: &'a mut dyn Sink,
    log: &'a mut Log,
    inode: &'a Dinode,
}

impl Place<'_, '_> {
    fn block(&mut self) -> Result<(), Refused> {
        let number = self.inode.i_xattr_loc.get();
        let bytes = self.volume.xattr_block(number)?;
        let head: XattrBlock = value(XattrBlock::read(&bytes));
        if head.xb_flags.get() & INDEXED == 0 {
            let area = Area {
                bytes: from(&bytes, BLOCK_HEADER),
                size: self.volume.block_size() - BLOCK_HEADER,
                place: number,
                bucket: false,
            };
            header(self.volume, self.state, self.log, self.inode, &area);
            return Ok(());
        }
        let list = from(&bytes, TREE_LIST);
        let listed: ExtentHead = value(ExtentHead::read(list));
        if listed.l_next_free_rec.get() == 0 {
            return Ok(());
        }
        let mut judged = Tree::new(
            self.volume,
            self.state,
            self.log,
            self.inode,
            Leaves::Clusters,
        );
        judged.owner = head.xb_blkno.get();
        judged.list(list, tree_room(self.volume.block_size()), 0, None);
        self.extents(list)
    }

    /// The extents of buckets, from the highest hash down.
    fn extents(&mut self, list: &[u8]) -> Result<(), Refused> {
        let mut hash = u32::MAX;
        while hash > 0 {
            let record = tree::find(self.volume, list, hash)?;
            let record = record.filter(|record| record.e_blkno.get() != 0);
            let record = record.ok_or(Refused::Corrupt)?;
            self.buckets(record.e_blkno.get(), record.leaf_clusters())?;
            match record.e_cpos.get().checked_sub(1) {
                Some(before) => hash = before,
                None => break,
            }
        }
        Ok(())
    }

    fn buckets(&mut self, first: u64, clusters: u16) -> Result<(), Refused> {
        let per_cluster = self.volume.layout.cluster_size() / BUCKET as u64;
        let step = (BUCKET / self.volume.block_size()) as u64;
        let most = u64::from(clusters) * per_cluster;
        let mut refused = None;
        let mut buckets = Vec::new();
        let mut counted = 0;
        for at in 0..most {
            match self.volume.xattr_bucket(first.wrapping_add(at * step)) {
                Ok(bytes) => {
                    if at == 0 {
                        let head: XattrHead = value(XattrHead::read(&bytes));
                        counted = u64::from(head.xh_num_buckets.get());
                    }
                    buckets.push(bytes);
                }
                Err(why) => {
                    refused = Some(why);
                    break;
                }
            }
            // Those past the count are read by fsck.ocfs2 alone, to guess the count where it is wrong.
            if at + 1 >= counted.max(1) && counted <= most {
                break;
            }
        }
        if counted == 0 || counted > buckets.len() as u64 {
            let finding = Finding::new(&XATTR_BUCKET_COUNT_INVALID).block(first);
            self.log.add(finding.found(counted));
            return refused.map_or(Ok(()), Err);
        }
        for (at, bytes) in (0..).zip(&buckets[..counted as usize]) {
            let area = Area {
                bytes,
                size: BUCKET,
                place: first + at * step,
                bucket: true,
            };
            header(self.volume, self.state, self.log, self.inode, &area);
        }
        Ok(())
    }
}
