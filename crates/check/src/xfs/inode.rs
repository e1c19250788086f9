//! One inode, judged whole: its core, both forks with the blocks that they map, and the counters that follow from them (xfs_repair's
//! `process_dinode`).
//!
//! What lies in blocks of its own (directories, attributes, targets of symbolic links, quota records) is judged when these are read; what
//! lies in the inode is judged here.

pub(crate) mod core;
pub(crate) mod extents;
pub(crate) mod plain;
pub(crate) mod symlink;
pub(crate) mod tree;

use ondisk::xfs::dinode::{Format, Inode, mode};
use ondisk::xfs::shortform::ATTR_HEADER;
use ondisk::xfs::{extent, shortform};

use self::core::{State, Subject, is_forkoff};
use self::extents::Mapping;
use self::tree::Blocks;
use super::attribute;
use super::directory;
use super::rules::{Fork, Rules};
use super::sink::Sink;
use super::xfs_repair::problems::{
    AFORK_FORMAT, AFORK_FORMAT_UNUSED, AFORK_LOCAL_LARGE, AFORK_LOCAL_SMALL, BMBT_EMPTY_FORK,
    CONN_MAP, DEV_BLOCKS, DEV_SIZE, DIR_FORMAT_SIZE, DIR_SIZE, EXT_FORK_ROOM, FORK_LOCAL_SIZE,
    INODE_ANEXTENTS, INODE_ANEXTENTS_MAX, INODE_FORKOFF, INODE_NBLOCKS, INODE_NBLOCKS_FEW,
    INODE_NEXTENTS, INODE_NEXTENTS_MAX, QINO_SIZE, RBM_SIZE, RSUM_SIZE, RTFILE_NODEV,
};

/// What both forks map.
#[derive(Debug, Default)]
pub(crate) struct Forks {
    /// The data fork.
    pub(crate) data: Mapping,
    /// The attribute fork.
    pub(crate) attr: Mapping,
}

/// What became of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is free.
    Free,
    /// xfs_repair would clear it.
    Cleared,
    /// A fork is a btree, and no blocks can be read here. Nothing was found and nothing claimed.
    Deferred,
    /// It is in use. `attributes`: whether its attribute fork can be read.
    InUse {
        /// Whether its attribute fork can be read.
        attributes: bool,
    },
}

/// Judges an inode. Blocks of btrees come from `blocks`; without it, an inode that needs them is deferred.
pub(crate) fn judge<B: Blocks>(
    rules: &Rules,
    it: &Subject<'_>,
    forks: &mut Forks,
    blocks: Option<&mut B>,
    sink: &mut impl Sink,
) -> Outcome {
    let inode = &it.inode;
    if blocks.is_none() && inode.mode() != 0 && has_tree(inode) {
        return Outcome::Deferred;
    }
    let plain = rules.plain.accepts(it);
    if !plain && let Some(outcome) = core_and_sizes(rules, it, sink) {
        return outcome;
    }
    let mut blocks = blocks;
    if !data_fork(rules, it, &mut forks.data, blocks.as_deref_mut(), sink) {
        return Outcome::Cleared;
    }
    forks.attr.clear(true);
    let attributes = !plain && attr_fork(rules, it, &mut forks.attr, blocks, sink);
    if !counters(it, forks, sink) || !contents(rules, it, sink) {
        return Outcome::Cleared;
    }
    Outcome::InUse { attributes }
}

/// The core, the size, and where the attribute fork begins. None: the forks are next.
fn core_and_sizes(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) -> Option<Outcome> {
    let inode = &it.inode;
    match core::judge(rules, it, sink) {
        State::Free => return Some(Outcome::Free),
        State::Cleared => return Some(Outcome::Cleared),
        State::InUse => {}
    }
    if !sizes(rules, it, sink) {
        return Some(Outcome::Cleared);
    }
    if inode.forkoff() != 0 && !is_forkoff(rules, inode) {
        let found = u64::from(inode.forkoff());
        sink.find(it.about(&INODE_FORKOFF).found(found));
        return Some(Outcome::Cleared);
    }
    None
}

fn has_tree(inode: &Inode<'_>) -> bool {
    let tree = Format::Btree as u8;
    inode.format() == tree || inode.forkoff() != 0 && inode.aformat() == tree
}

/// The size against type and format. False where xfs_repair would clear the inode.
fn sizes(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) -> bool {
    let inode = &it.inode;
    let (size, local) = (inode.size(), inode.format() == Format::Local as u8);
    let fits = size <= inode.data_fork().len() as u64;
    let fault = match inode.file_type() {
        mode::DIRECTORY if fits && !local => &DIR_FORMAT_SIZE,
        mode::DIRECTORY if size > ondisk::xfs::directory::LEAF_OFFSET => &DIR_SIZE,
        mode::SYMLINK => return symlink::sizes(it, sink),
        mode::FIFO | mode::CHAR | mode::BLOCK | mode::SOCKET if size != 0 => &DEV_SIZE,
        mode::REGULAR if inode.is_realtime() && rules.rt_blocks == 0 => &RTFILE_NODEV,
        mode::REGULAR if it.ino == rules.rbm && size != rules.rbm_size => &RBM_SIZE,
        mode::REGULAR if it.ino == rules.rsum && size != rules.rsum_size => &RSUM_SIZE,
        mode::REGULAR if rules.is_quota(it.ino) && size != 0 => &QINO_SIZE,
        _ => return true,
    };
    let expected = match it.ino {
        ino if ino == rules.rbm => Some(rules.rbm_size),
        ino if ino == rules.rsum => Some(rules.rsum_size),
        _ => None,
    };
    let mut finding = it.about(fault).found(size);
    if let Some(expected) = expected {
        finding = finding.expected(expected);
    }
    sink.find(finding);
    false
}

/// The data fork. False where xfs_repair would clear the inode.
fn data_fork<B: Blocks>(
    rules: &Rules,
    it: &Subject<'_>,
    mapping: &mut Mapping,
    blocks: Option<&mut B>,
    sink: &mut impl Sink,
) -> bool {
    let inode = &it.inode;
    let regular = inode.file_type() == mode::REGULAR;
    mapping.clear(!regular || rules.is_internal(it.ino));
    let fork = inode.data_fork();
    match Format::from_byte(inode.format()) {
        Some(Format::Local) => {
            let fits = inode.size() <= fork.len() as u64;
            if !fits {
                let finding = it.about(&FORK_LOCAL_SIZE).found(inode.size());
                sink.find(finding.expected(format!("at most {}", fork.len())));
            }
            fits
        }
        Some(Format::Extents) => {
            extents_in_inode(rules, it, Fork::Data, inode.nextents(), mapping, sink)
        }
        Some(Format::Btree) => blocks
            .is_some_and(|blocks| tree::walk(rules, it, Fork::Data, fork, mapping, blocks, sink)),
        _ => true,
    }
}

/// The attribute fork, whose mapping is empty. False where it cannot be read, or there is none.
fn attr_fork<B: Blocks>(
    rules: &Rules,
    it: &Subject<'_>,
    mapping: &mut Mapping,
    blocks: Option<&mut B>,
    sink: &mut impl Sink,
) -> bool {
    let inode = &it.inode;
    let format = u64::from(inode.aformat());
    if inode.forkoff() == 0 {
        if inode.aformat() != Format::Extents as u8 {
            sink.find(it.about(&AFORK_FORMAT_UNUSED).found(format));
        }
        return false;
    }
    let sound = match Format::from_byte(inode.aformat()) {
        Some(Format::Local) => local_attributes(rules, it, sink),
        Some(Format::Extents) => {
            let count = u64::from(inode.anextents());
            if count == 0 {
                sink.own(it.about(&BMBT_EMPTY_FORK));
            }
            extents_in_inode(rules, it, Fork::Attr, count, mapping, sink)
        }
        Some(Format::Btree) => blocks.is_some_and(|blocks| {
            tree::walk(
                rules,
                it,
                Fork::Attr,
                inode.attr_fork(),
                mapping,
                blocks,
                sink,
            )
        }),
        _ => {
            sink.find(it.about(&AFORK_FORMAT).found(format));
            false
        }
    };
    if !sound {
        mapping.clear(true);
    }
    sound
}

/// Extents in the inode: no more than the fork has room for.
fn extents_in_inode(
    rules: &Rules,
    it: &Subject<'_>,
    fork: Fork,
    count: u64,
    mapping: &mut Mapping,
    sink: &mut impl Sink,
) -> bool {
    let (bytes, fork_bytes) = match fork {
        // As xfs_repair reads them: past the end of the data fork, if the count says so.
        Fork::Data => (it.inode.literal(), it.inode.data_fork().len()),
        Fork::Attr => (it.inode.attr_fork(), it.inode.attr_fork().len()),
    };
    let room = bytes.len() / extent::SIZE;
    let used = usize::try_from(count).unwrap_or(usize::MAX).min(room);
    if used > fork_bytes / extent::SIZE {
        sink.own(it.about(&EXT_FORK_ROOM).found(count));
        // xfs_repair opens directories, as the kernel does, and the verifier of inodes refuses that.
        if it.inode.file_type() == mode::DIRECTORY {
            sink.find(it.about(&CONN_MAP).note(EXT_FORK_ROOM.name));
        }
    }
    let present = bytes
        .chunks_exact(extent::SIZE)
        .take(used)
        .take_while(|record| record.iter().any(|byte| *byte != 0))
        .count();
    if present < used {
        let problem = match fork {
            Fork::Data => &INODE_NEXTENTS,
            Fork::Attr => &INODE_ANEXTENTS,
        };
        sink.find(it.about(problem).found(count).expected(present as u64));
    }
    let list = extent::list(bytes, present);
    extents::list(rules, it, fork, list, mapping, sink) && present == used
}

/// Attributes in the inode: sizes of the whole, then each.
fn local_attributes(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) -> bool {
    let fork = it.inode.attr_fork();
    let list = shortform::Attributes::new(fork);
    let total = usize::from(list.totsize());
    if total > fork.len() {
        let finding = it.about(&AFORK_LOCAL_LARGE).found(total as u64);
        sink.find(finding.expected(format!("at most {}", fork.len())));
        return false;
    }
    if total < ATTR_HEADER {
        sink.find(it.about(&AFORK_LOCAL_SMALL).found(total as u64));
        return false;
    }
    attribute::local::judge(rules, it, &list, sink);
    true
}

/// Blocks and extents as counted against those that the core claims. False where xfs_repair would clear the inode.
fn counters(it: &Subject<'_>, forks: &Forks, sink: &mut impl Sink) -> bool {
    let inode = &it.inode;
    let (blocks, extents, attr_extents) = (
        forks.data.blocks + forks.attr.blocks,
        forks.data.count,
        forks.attr.count,
    );
    let device = matches!(
        inode.file_type(),
        mode::FIFO | mode::CHAR | mode::BLOCK | mode::SOCKET
    );
    if device && forks.data.blocks != 0 {
        sink.find(it.about(&DEV_BLOCKS).found(forks.data.blocks));
        return false;
    }
    if blocks != inode.nblocks() {
        let finding = it.about(&INODE_NBLOCKS).found(inode.nblocks());
        sink.find(finding.expected(blocks));
    }
    let wide = inode.has_nrext64();
    for (counted, stored, fork, wrong, most) in [
        (
            extents,
            inode.nextents(),
            Fork::Data,
            &INODE_NEXTENTS,
            &INODE_NEXTENTS_MAX,
        ),
        (
            attr_extents,
            u64::from(inode.anextents()),
            Fork::Attr,
            &INODE_ANEXTENTS,
            &INODE_ANEXTENTS_MAX,
        ),
    ] {
        if counted > Rules::most_extents(wide, fork) {
            sink.find(it.about(most).found(counted));
            return false;
        }
        if counted != stored {
            sink.find(it.about(wrong).found(stored).expected(counted));
        }
    }
    if blocks < extents + attr_extents {
        sink.find(it.about(&INODE_NBLOCKS_FEW).found(blocks));
        return false;
    }
    true
}

/// Contents that lie in the inode, and for the strict verdict the size against the blocks. False where xfs_repair would clear the inode.
fn contents(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) -> bool {
    let inode = &it.inode;
    let local = inode.format() == Format::Local as u8;
    match inode.file_type() {
        mode::DIRECTORY if local => directory::local::judge(rules, it, sink),
        mode::SYMLINK => return symlink::judge(it, sink),
        _ => {}
    }
    true
}
