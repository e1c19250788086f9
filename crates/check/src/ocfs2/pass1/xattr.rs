//! Extended attributes: where they are.

use std::ops::RangeInclusive;

use ondisk::ocfs2::dinode::dynamic;
use ondisk::ocfs2::extent::ExtentHead;
use ondisk::ocfs2::xattr::{BLOCK_HEADER, BUCKET, INDEXED, TREE_LIST, XattrHead, tree_room};
use ondisk::ocfs2::{Dinode, XattrBlock, XattrHeader};

use super::End;
use super::extents::{Leaves, Tree};
use super::sink::Sink;
use super::xattr_header::{Area, header};
use crate::frame::finding::Finding;
use crate::ocfs2::blocks::Block;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    XATTR_BUCKET_COUNT_INVALID, XATTR_ORDER, XATTR_UNREADABLE,
};
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
        End::refused(finding.block(inode.i_xattr_loc.get()), refused)
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
        self.state.tree_block(number);
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
            let hashes = record.e_cpos.get()..=hash;
            self.buckets(record.e_blkno.get(), record.leaf_clusters(), &hashes)?;
            match record.e_cpos.get().checked_sub(1) {
                Some(before) => hash = before,
                None => break,
            }
        }
        Ok(())
    }

    /// The buckets of an extent, which may have these hashes.
    fn buckets(
        &mut self,
        first: u64,
        clusters: u16,
        hashes: &RangeInclusive<u32>,
    ) -> Result<(), Refused> {
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
        self.order(first, step, &buckets[..counted as usize], hashes);
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

    /// The hashes of the buckets of an extent ascend from bucket to bucket, and stay within the extent's range. Within a bucket fsck.ocfs2
    /// looks at their order itself.
    fn order(&mut self, first: u64, step: u64, buckets: &[Block], hashes: &RangeInclusive<u32>) {
        let mut before = *hashes.start();
        for (at, bytes) in (0..).zip(buckets) {
            let Ok(list) = XattrHeader::read(bytes) else {
                continue;
            };
            let count = list.head().xh_count.get();
            let stored: Vec<u32> = list
                .first(count.into())
                .map(|entry| entry.xe_name_hash.get())
                .collect();
            let (Some(&begin), Some(&end)) = (stored.first(), stored.last()) else {
                continue;
            };
            let wrong = |hash: &u32| *hash < before || hash > hashes.end();
            if let Some(&hash) = [begin, end].iter().find(|hash| wrong(hash)) {
                let finding = Finding::new(&XATTR_ORDER)
                    .inode(self.inode.i_blkno.get())
                    .block(first.wrapping_add(at * step));
                let finding = finding.found(format!("{hash:#x}"));
                self.log
                    .own(finding.expected(format!("{before:#x}-{:#x}", hashes.end())));
            }
            before = end;
        }
    }
}
