//! The blocks of an inode, and its sizes.

use ondisk::ocfs2::dinode::{BODY, InlineHead, dynamic, flag, inline_room, symlink_room};
use ondisk::ocfs2::directory::Trailer;
use ondisk::ocfs2::extent::{ExtentHead, UNWRITTEN, inode_room};
use ondisk::ocfs2::index::{INLINE, ROOT_LIST};
use ondisk::ocfs2::{Dinode, DxRoot, ExtentList, ExtentRecord, directory, feature};

use super::End;
use super::extents::{Leaves, Tree};
use super::sink::{Sink, directory_block};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    DIR_SIZE, DIR_ZERO, DX_ROOT_FIELDS, DX_TREE_CORRUPT, EXTENT_BEYOND_SIZE, FILE_CUT,
    INLINE_DATA_COUNT_INVALID, INODE_CLUSTERS, INODE_INLINE_CLUSTERS, INODE_INLINE_SIZE,
    INODE_LAST_EB, INODE_SIZE, INODE_SPARSE_CLUSTERS, INODE_SPARSE_SIZE,
    INODE_SPARSE_SIZE_UNWRITTEN, INODE_WALK, LINK_BLOCKS, LINK_FAST_NULLTERM, LINK_FAST_SIZE,
    LINK_NULLTERM, LINK_SIZE,
};
use crate::ocfs2::refused::Refused;
use crate::ocfs2::tree::{self, Next};
use crate::ocfs2::volume::{Volume, from, value};

/// The number of `file_type` of a regular file, of a directory and of a symbolic link.
const REGULAR: u8 = 1;
const DIRECTORY: u8 = 2;
const SYMLINK: u8 = 7;

/// Whether it is a symbolic link with its target in the inode.
pub(super) fn is_fast_link(inode: &Dinode) -> bool {
    directory::type_of_mode(inode.i_mode.get()) == SYMLINK && inode.i_clusters.get() == 0
}

/// What the walk over the blocks of an inode finds.
#[derive(Default)]
struct Walked {
    blocks: u64,
    last: u64,
    /// The block after the last one of an extent with contents.
    written: u64,
    /// Bytes of a symbolic link's target, and whether its NUL was met.
    target: u64,
    ended: bool,
    /// A block of it is not in o2image's file.
    absent: bool,
    /// Blocks with contents that lie past the end of the source.
    cut: u64,
}

/// Judges the blocks of an inode.
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
    let at = |problem: &'static Problem| Finding::new(problem).inode(inode.i_blkno.get());
    let unlisted =
        flag::SUPER_BLOCK | flag::LOCAL_ALLOC | flag::BITMAP | flag::CHAIN | flag::DEALLOC;
    if is_fast_link(inode) {
        fast_link(log, inode, bytes);
        return Ok(());
    }
    if inode.i_flags.get() & unlisted != 0 {
        return Ok(());
    }
    let kind = directory::type_of_mode(inode.i_mode.get());
    let own = inode.i_blkno.get();
    if inode.has_dynamic(dynamic::INLINE_DATA) {
        if kind == DIRECTORY {
            directory_block(state, log, own, own, 0);
        }
        inline(volume, log, inode, bytes);
        return Ok(());
    }
    let mut judged = Tree::new(volume, state, log, inode, Leaves::Clusters);
    judged.no_holes = kind == DIRECTORY;
    judged.list(
        from(bytes, BODY),
        inode_room(volume.block_size(), 0),
        0,
        None,
    );
    if kind == DIRECTORY {
        directory_size(volume, log, inode, bytes);
    }
    let walked = walk(volume, state, log, inode, bytes).map_err(|refused| {
        let problem = match refused {
            Refused::Write => &INODE_LAST_EB,
            _ => &INODE_WALK,
        };
        End::failed(at(problem).note(refused.words()))
    })?;
    if walked.cut > 0 {
        log.own(at(&FILE_CUT).cut(walked.cut, volume.block_size() as u64));
    }
    let index = index(volume, state, log, inode);
    if let Err(refused) = index {
        log.add(
            at(&DX_TREE_CORRUPT)
                .block(inode.i_dx_root.get())
                .note(refused.words()),
        );
    }
    if kind == SYMLINK && !walked.absent {
        link(volume, log, inode, &walked);
    }
    if kind == DIRECTORY && walked.blocks == 0 {
        log.add(at(&DIR_ZERO));
    }
    sizes(volume, log, inode, kind, &walked);
    index.map_err(|refused| End::failed(at(&INODE_WALK).note(refused.words())))
}

fn fast_link(log: &mut Log, inode: &Dinode, bytes: &[u8]) {
    let at = |problem: &'static Problem| Finding::new(problem).inode(inode.i_blkno.get());
    let room = symlink_room(bytes.len());
    let target = from(bytes, BODY);
    match target.iter().take(room).position(|&byte| byte == 0) {
        None => log.own(at(&LINK_FAST_NULLTERM)),
        Some(length) if length as u64 != inode.i_size.get() => {
            let finding = at(&LINK_FAST_SIZE).found(inode.i_size.get());
            log.own(finding.expected(length as u64));
        }
        Some(_) => {}
    }
}

/// `i_size` of a directory against the end of its last record.
fn directory_size(volume: &Volume<'_>, log: &mut Log, inode: &Dinode, bytes: &[u8]) {
    let at = |problem: &'static Problem| Finding::new(problem).inode(inode.i_blkno.get());
    let body = from(bytes, BODY);
    let listed: ExtentHead = value(ExtentHead::read(body));
    let used = usize::from(listed.l_next_free_rec.get());
    // Without records fsck.ocfs2 takes the head of the list for one.
    let record = match used.checked_sub(1) {
        Some(last) => ExtentList::read(body)
            .ok()
            .and_then(|list| list.get(last).copied()),
        None => ExtentRecord::read(body).ok().copied(),
    };
    let Some(record) = record else { return };
    let clusters = record.clusters_at(listed.l_tree_depth.get());
    let end = u64::from(record.e_cpos.get().wrapping_add(clusters)) * volume.layout.cluster_size();
    let size = inode.i_size.get();
    if size > end {
        log.add(at(&INODE_SIZE).found(size).expected(end));
    } else if !size.is_multiple_of(volume.block_size() as u64) && !as_mkfs(volume, inode) {
        log.own(at(&DIR_SIZE).found(size));
    }
}

/// mkfs.ocfs2 makes `lost+found` as if it were in its inode; on a volume without inline data its size is then that of a block without the
/// trailer. Kernels read it, and write a whole block with the next name.
fn as_mkfs(volume: &Volume<'_>, inode: &Dinode) -> bool {
    let names = Trailer::offset(volume.block_size()) as u64;
    volume.has_trailer(inode) && inode.i_size.get() == names
}

/// Walks over all blocks as libocfs2 does.
fn walk(
    volume: &Volume<'_>,
    state: &mut dyn Sink,
    log: &mut Log,
    inode: &Dinode,
    bytes: &[u8],
) -> Result<Walked, Refused> {
    let kind = directory::type_of_mode(inode.i_mode.get());
    let per_cluster = volume.layout.blocks_per_cluster();
    let own = inode.i_blkno.get();
    let mut walked = Walked::default();
    let mut failed = None;
    tree::extents(volume, bytes, &mut |record| {
        let first = u64::from(record.e_cpos.get()) * per_cluster;
        let count = u64::from(record.leaf_clusters()) * per_cluster;
        for at in 0..count {
            let block = record.e_blkno.get().wrapping_add(at);
            if kind == DIRECTORY {
                // No sound volume has more.
                if state.directory_blocks() > volume.layout.blocks() {
                    break;
                }
                directory_block(state, log, own, block, first + at);
            } else if kind == SYMLINK {
                if let Err(refused) = target(volume, &mut walked, block) {
                    failed = Some(refused);
                    return Next::Stop;
                }
            } else {
                break;
            }
        }
        walked.blocks += count;
        if count > 0 {
            walked.last = walked.last.max(first + count - 1);
            if record.flags() & UNWRITTEN == 0 {
                let start = record.e_blkno.get();
                walked.cut += volume.cut(start, start.saturating_add(count));
                walked.written = walked.written.max(first + count);
            }
        }
        Next::Continue
    })?;
    failed.map_or(Ok(walked), Err)
}

/// One block of a symbolic link's target.
fn target(volume: &Volume<'_>, walked: &mut Walked, block: u64) -> Result<(), Refused> {
    if walked.ended {
        return Ok(());
    }
    let bytes = match volume.read(block) {
        Err(Refused::Absent) => {
            walked.absent = true;
            return Ok(());
        }
        read => read?,
    };
    let end = bytes.iter().position(|&byte| byte == 0);
    walked.ended = end.is_some();
    walked.target += end.unwrap_or(bytes.len()) as u64;
    Ok(())
}

/// The extents of a directory's index.
fn index(
    volume: &Volume<'_>,
    state: &mut dyn Sink,
    log: &mut Log,
    inode: &Dinode,
) -> Result<(), Refused> {
    if !volume.has_index(inode) {
        return Ok(());
    }
    let bytes = volume.index_root(inode.i_dx_root.get())?;
    state.tree_block(inode.i_dx_root.get());
    let root: DxRoot = value(DxRoot::read(&bytes));
    let own = inode.i_dx_root.get();
    let right = root.dr_blkno.get() == own
        && root.dr_dir_blkno.get() == inode.i_blkno.get()
        && root.dr_fs_generation.get() == volume.generation();
    if !right {
        log.own(
            Finding::new(&DX_ROOT_FIELDS)
                .inode(inode.i_blkno.get())
                .block(own),
        );
    }
    if root.dr_flags & INLINE == 0 {
        let room = volume
            .block_size()
            .saturating_sub(ROOT_LIST + ExtentHead::SIZE);
        let mut judged = Tree::new(volume, state, log, inode, Leaves::Clusters);
        judged.list(from(&bytes, ROOT_LIST), room / ExtentRecord::SIZE, 0, None);
    }
    Ok(())
}

/// The target of a symbolic link that has blocks.
fn link(volume: &Volume<'_>, log: &mut Log, inode: &Dinode, walked: &Walked) {
    let at = |problem: &'static Problem| Finding::new(problem).inode(inode.i_blkno.get());
    if !walked.ended {
        log.add(at(&LINK_NULLTERM));
    }
    if inode.i_size.get() != walked.target {
        log.add(
            at(&LINK_SIZE)
                .found(inode.i_size.get())
                .expected(walked.target),
        );
    }
    let needed = (walked.target + 1).div_ceil(volume.block_size() as u64);
    if walked.blocks < needed {
        log.add(at(&LINK_BLOCKS).found(walked.blocks).expected(needed));
    }
}

fn inline(volume: &Volume<'_>, log: &mut Log, inode: &Dinode, bytes: &[u8]) {
    let at = |problem: &'static Problem| Finding::new(problem).inode(inode.i_blkno.get());
    let room = inline_room(volume.block_size(), inode.xattr_tail()) as u64;
    let room = u64::from(room as u16);
    let listed: InlineHead = value(InlineHead::read(from(bytes, BODY)));
    if u64::from(listed.id_count.get()) != room {
        log.add(
            at(&INLINE_DATA_COUNT_INVALID)
                .found(listed.id_count.get())
                .expected(room),
        );
    }
    if inode.i_size.get() > room {
        log.add(
            at(&INODE_INLINE_SIZE)
                .found(inode.i_size.get())
                .expected(room),
        );
    }
    if inode.i_clusters.get() > 0 {
        log.add(
            at(&INODE_INLINE_CLUSTERS)
                .found(inode.i_clusters.get())
                .expected(0_u32),
        );
    }
}

/// `i_size` and `i_clusters` of an inode with extents.
fn sizes(volume: &Volume<'_>, log: &mut Log, inode: &Dinode, kind: u8, walked: &Walked) {
    let at = |problem: &'static Problem| Finding::new(problem).inode(inode.i_blkno.get());
    let (size, clusters) = (inode.i_size.get(), u64::from(inode.i_clusters.get()));
    let per_cluster = volume.layout.blocks_per_cluster();
    if volume.sb.has_incompat(feature::SPARSE) {
        let last = walked.last.wrapping_add(1) / per_cluster;
        let begin = |end: u64| {
            let last = end.wrapping_sub(1);
            last.wrapping_mul(volume.layout.cluster_size())
        };
        let before = begin(last);
        let sized = kind != SYMLINK && kind != DIRECTORY;
        if walked.blocks > 0 && sized && size <= before {
            let written = walked.written / per_cluster;
            let problem = if written > 0 && size <= begin(written) {
                &INODE_SPARSE_SIZE
            } else {
                &INODE_SPARSE_SIZE_UNWRITTEN
            };
            log.add(
                at(problem)
                    .found(size)
                    .expected(format!("more than {before}")),
            );
        }
        let expected = walked.blocks.div_ceil(per_cluster);
        if clusters != expected {
            log.add(
                at(&INODE_SPARSE_CLUSTERS)
                    .found(clusters)
                    .expected(expected),
            );
        }
        return;
    }
    let blocks = if walked.blocks > 0 {
        walked.last + 1
    } else {
        0
    };
    let bytes = blocks.wrapping_mul(volume.block_size() as u64);
    if kind != SYMLINK && size > bytes {
        log.add(at(&INODE_SIZE).found(size).expected(bytes));
    }
    let needed = size.div_ceil(volume.layout.cluster_size());
    if kind == REGULAR && blocks / per_cluster > needed {
        let finding = at(&EXTENT_BEYOND_SIZE).found(blocks / per_cluster);
        log.own(finding.expected(needed).note("clusters"));
    }
    let expected = blocks.div_ceil(per_cluster);
    if clusters != expected {
        log.add(at(&INODE_CLUSTERS).found(clusters).expected(expected));
    }
}
