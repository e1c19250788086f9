//! The names of a directory that has blocks, read once more where something is to be compared that pass 2 could not.

use ondisk::ocfs2::directory::{self, Trailer};

use crate::ocfs2::lookup;
use crate::ocfs2::refused::Refused;
use crate::ocfs2::tree::{self, Next};
use crate::ocfs2::volume::{Volume, head};

/// Blocks that are read together.
const BATCH: usize = 1024;

/// Visits the names of a directory: each with its block, and none for a block whose names are not all known.
///
/// # Errors
/// Why its blocks are not known.
pub(super) fn each(
    volume: &Volume<'_>,
    directory: u64,
    visit: &mut dyn FnMut(u64, Option<&[u8]>),
) -> Result<(), Refused> {
    let inode = volume.inode(directory)?;
    let dinode = head(&inode);
    let size = dinode.i_size.get().div_ceil(volume.block_size() as u64);
    let most = size.min(volume.layout.blocks());
    let mut blocks = Vec::new();
    tree::extents(volume, &inode, &mut |record| {
        let count = volume.layout.block_of(record.leaf_clusters().into());
        let left = most.saturating_sub(blocks.len() as u64);
        let first = record.e_blkno.get();
        blocks.extend((0..count.min(left)).map(|at| first.wrapping_add(at)));
        if left > count {
            Next::Continue
        } else {
            Next::Stop
        }
    })?;
    let trailer = volume.has_trailer(&dinode);
    for batch in blocks.chunks(BATCH) {
        volume.prefetch(batch.to_vec());
        for &number in batch {
            match lookup::read(volume, &dinode, number) {
                Ok(block) => of_block(&block, trailer, &mut |name| visit(number, name)),
                Err(_) => visit(number, None),
            }
        }
    }
    Ok(())
}

/// The names of a block, and none where its entries make no sense.
fn of_block(block: &[u8], trailer: bool, visit: &mut dyn FnMut(Option<&[u8]>)) {
    let end = if trailer {
        Trailer::offset(block.len())
    } else {
        block.len()
    };
    let mut offset = 0;
    while offset < end {
        let entry = directory::entry_at(block, offset);
        let Some((entry, name)) = entry.filter(|(entry, _)| entry.rec_len.get() > 0) else {
            visit(None);
            return;
        };
        if entry.inode.get() != 0 {
            visit(Some(name));
        }
        offset += usize::from(entry.rec_len.get());
    }
}
