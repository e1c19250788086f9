//! Names looked up as libocfs2 does: through the index where the directory has one, else entry by entry.

use ondisk::ocfs2::chain;
use ondisk::ocfs2::dinode::{INLINE_DATA, dynamic};
use ondisk::ocfs2::directory::{self, Entry, Trailer};
use ondisk::ocfs2::hash::{self, NameHash, Sign};
use ondisk::ocfs2::index::{self, DxHead, DxList, LEAF_LIST, ROOT_LIST};
use ondisk::ocfs2::{Dinode, DxRoot, feature};

use super::blocks::Block;
use super::refused::Refused;
use super::tree::{self, Next};
use super::volume::{Volume, from, head, value};

/// What libocfs2 takes for the size of an entry's head where it only walks over entries; it is 4 bytes larger.
const LEAST: usize = 8;

/// The inode that a name in a directory leads to.
///
/// # Errors
/// [`Refused::NotFound`], or why it cannot be looked up.
pub(crate) fn find(volume: &Volume<'_>, directory: u64, name: &[u8]) -> Result<u64, Refused> {
    let inode = volume.inode(directory)?;
    if volume.has_index(&head(&inode)) {
        return indexed(volume, &inode, name, Sign::Signed);
    }
    let mut found = None;
    entries(volume, directory, &mut |entry, candidate| {
        if candidate == name {
            found = Some(entry.inode.get());
            return Next::Stop;
        }
        Next::Continue
    })?;
    found.ok_or(Refused::NotFound)
}

/// A system file's inode.
///
/// # Errors
/// As [`find`].
pub(crate) fn system(volume: &Volume<'_>, name: &str) -> Result<u64, Refused> {
    find(volume, volume.sb.s_system_dir_blkno.get(), name.as_bytes())
}

/// Visits the entries of a directory that are in use.
///
/// # Errors
/// Why they cannot all be visited.
pub(crate) fn entries(
    volume: &Volume<'_>,
    directory: u64,
    visit: &mut dyn FnMut(&Entry, &[u8]) -> Next,
) -> Result<(), Refused> {
    let inode = volume.inode(directory)?;
    let dinode = head(&inode);
    if directory::type_of_mode(dinode.i_mode.get()) != directory::type_of_mode(0x4000) {
        return Err(Refused::Corrupt);
    }
    if volume.sb.has_incompat(feature::INLINE_DATA) && dinode.has_dynamic(dynamic::INLINE_DATA) {
        // libocfs2 walks to the end of the block, whatever id_count is.
        return block_entries(volume, &dinode, from(&inode, INLINE_DATA), visit).map(|_| ());
    }
    let size = dinode.i_size.get();
    let mut failed = None;
    let step = volume.block_size() as u64;
    tree::extents(volume, &inode, &mut |record| {
        let first = u64::from(record.e_cpos.get()) * volume.layout.blocks_per_cluster();
        let count = u64::from(record.leaf_clusters()) * volume.layout.blocks_per_cluster();
        for at in 0..count {
            if (first + at).saturating_mul(step) >= size {
                break;
            }
            let number = record.e_blkno.get().wrapping_add(at);
            let next = read(volume, &dinode, number).and_then(|block| {
                lengths(volume, &dinode, &block)?;
                block_entries(volume, &dinode, &block, visit)
            });
            match next {
                Ok(Next::Continue) => {}
                Ok(Next::Stop) => return Next::Stop,
                Err(refused) => {
                    failed = Some(refused);
                    return Next::Stop;
                }
            }
        }
        Next::Continue
    })?;
    failed.map_or(Ok(()), Err)
}

/// A directory block, its trailer judged where it must have one.
///
/// # Errors
/// Why it cannot be used.
pub(crate) fn read(volume: &Volume<'_>, directory: &Dinode, number: u64) -> Result<Block, Refused> {
    let block = volume.read(number)?;
    if !volume.has_trailer(directory) {
        return Ok(block);
    }
    let block = volume.checked(block, Trailer::check_offset(volume.block_size()))?;
    let trailer = Trailer::of_block(&block).map_err(|_| Refused::Corrupt)?;
    if trailer.db_signature[..7] != directory::SIGNATURE[..7] {
        return Err(Refused::Magic);
    }
    Ok(block)
}

/// Judges the lengths of all entries of a block, which libocfs2 does before it shows any of them.
fn lengths(volume: &Volume<'_>, directory: &Dinode, block: &[u8]) -> Result<(), Refused> {
    let end = if volume.has_trailer(directory) {
        Trailer::offset(block.len())
    } else {
        block.len()
    };
    let mut offset = 0;
    while offset + Entry::SIZE < end {
        let Some((entry, _)) = directory::entry_at(block, offset) else {
            return Err(Refused::Corrupt);
        };
        let length = usize::from(entry.rec_len.get());
        if length < Entry::SIZE
            || !length.is_multiple_of(4)
            || Entry::SIZE + usize::from(entry.name_len) > length
        {
            return Err(Refused::Corrupt);
        }
        offset += length;
    }
    Ok(())
}

fn block_entries(
    volume: &Volume<'_>,
    directory: &Dinode,
    bytes: &[u8],
    visit: &mut dyn FnMut(&Entry, &[u8]) -> Next,
) -> Result<Next, Refused> {
    let trailer = volume
        .has_trailer(directory)
        .then(|| Trailer::offset(bytes.len()));
    let mut offset = 0;
    while offset < bytes.len() {
        let Some((entry, name)) = directory::entry_at(bytes, offset) else {
            return Err(Refused::Corrupt);
        };
        let length = usize::from(entry.rec_len.get());
        if length < LEAST
            || !length.is_multiple_of(4)
            || length > bytes.len() - offset
            || LEAST + usize::from(entry.name_len) > length
        {
            return Err(Refused::Corrupt);
        }
        if trailer != Some(offset) && entry.inode.get() != 0 && visit(entry, name) == Next::Stop {
            return Ok(Next::Stop);
        }
        offset += length;
    }
    Ok(Next::Continue)
}

/// The inode that the index of a directory gives for a name.
///
/// # Errors
/// [`Refused::NotFound`] where the index has no entry; [`Refused::Corrupt`] where it, or the block that it names, makes no sense.
pub(crate) fn indexed(
    volume: &Volume<'_>,
    directory: &[u8],
    name: &[u8],
    sign: Sign,
) -> Result<u64, Refused> {
    let root_block = volume.index_root(head(directory).i_dx_root.get())?;
    let root: DxRoot = value(DxRoot::read(&root_block));
    let seed = volume.sb.s_dx_seed.map(zerocopy::little_endian::U32::get);
    let wanted = hash::name_hash(seed, name, sign);
    let leaf;
    let list = if root.dr_flags & index::INLINE != 0 {
        from(&root_block, ROOT_LIST)
    } else {
        leaf = volume.index_leaf(leaf_of(volume, &root_block, wanted)?)?;
        from(&leaf, LEAF_LIST)
    };
    let entries = DxList::read(list).map_err(|_| Refused::Corrupt)?;
    let listed: DxHead = *entries.head();
    if listed.de_count.get() == 0 || listed.de_num_used.get() == 0 || root.dr_num_entries.get() == 0
    {
        return Err(Refused::Corrupt);
    }
    for entry in entries.first(listed.de_num_used.get().into()) {
        let same =
            entry.dx_major_hash.get() == wanted.major && entry.dx_minor_hash.get() == wanted.minor;
        if !same {
            continue;
        }
        let block = volume.read(entry.dx_dirent_blk.get())?;
        if let Some(inode) = search(&block, name)? {
            return Ok(inode);
        }
    }
    Err(Refused::NotFound)
}

/// The block of the leaf that a hash leads to.
///
/// # Errors
/// The root does not lead to one.
pub(crate) fn leaf_of(volume: &Volume<'_>, root: &[u8], wanted: NameHash) -> Result<u64, Refused> {
    // An error of the extents is none of the directory, for which fsck.ocfs2 has a code.
    let found = tree::find(volume, from(root, ROOT_LIST), wanted.major);
    let found = found.map_err(|refused| match refused {
        Refused::Corrupt => Refused::Record,
        other => other,
    });
    let record = found?.ok_or(Refused::Record)?;
    let (cpos, length) = (record.e_cpos.get(), u32::from(record.leaf_clusters()));
    let per_cluster = volume.layout.blocks_per_cluster();
    let last = length.wrapping_sub(1);
    let cluster = if wanted.major >= cpos.wrapping_add(length) {
        last
    } else {
        wanted.major - cpos
    };
    let within = u64::from(wanted.minor) & (per_cluster - 1);
    let offset = u64::from(cluster).wrapping_mul(per_cluster) + within;
    Ok(record.e_blkno.get().wrapping_add(offset))
}

/// A name's inode in a directory block that an index led to.
fn search(block: &[u8], name: &[u8]) -> Result<Option<u64>, Refused> {
    let mut offset = 0;
    while offset < block.len() {
        let Some((entry, found)) = directory::entry_at(block, offset) else {
            return Err(Refused::Corrupt);
        };
        let length = usize::from(entry.rec_len.get());
        if entry.inode.get() != 0 && found == name && found.len() == usize::from(entry.name_len) {
            let sound = length >= directory::record_length(1)
                && length.is_multiple_of(4)
                && length >= directory::record_length(name.len());
            return if sound {
                Ok(Some(entry.inode.get()))
            } else {
                Err(Refused::Corrupt)
            };
        }
        if length == 0 {
            return Err(Refused::Corrupt);
        }
        offset += length;
    }
    Ok(None)
}

/// Zero bits of a bitmap, for a number of bits that may exceed it.
pub(crate) fn zeros(bitmap: &[u8], bits: u16) -> u32 {
    chain::zeros(bitmap, bits.into()) as u32
}
