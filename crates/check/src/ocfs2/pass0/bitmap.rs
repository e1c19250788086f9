//! The global bitmap: its descriptors are at places that can be computed.

use ondisk::ocfs2::chain::ChainHead;
use ondisk::ocfs2::dinode::BODY;
use ondisk::ocfs2::{ChainList, GroupDescriptor};

use super::chain::{self, Places};
use super::prefill::Descriptors;
use crate::frame::finding::Finding;
use crate::ocfs2::blocks::Block;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    CHAIN_CPG, GROUP_EXPECTED_DESC, GROUP_UNEXPECTED_DESC, SUPERBLOCK_CLUSTERS,
};
use crate::ocfs2::refused::Refused;
use crate::ocfs2::state::State;
use crate::ocfs2::volume::{Volume, from, head, value};

/// Judges the number of clusters per group on a volume of one chain, by the first group of that chain.
///
/// # Errors
/// The group cannot be read.
pub(super) fn only_group(volume: &Volume<'_>, log: &mut Log, inode: &Block) -> Result<(), Refused> {
    let Ok(list) = ChainList::read(from(inode, BODY)) else {
        return Ok(());
    };
    let listed: ChainHead = *list.head();
    if listed.cl_next_free_rec.get() > 1 {
        return Ok(());
    }
    let first = list.get(0).map_or(0, |record| record.c_blkno.get());
    let read = volume.group(first);
    let group: Option<GroupDescriptor> = read
        .as_ref()
        .ok()
        .map(|bytes| value(GroupDescriptor::read(bytes)));
    let foreign = group.is_some_and(|group| group.bg_generation.get() != volume.generation());
    if foreign || matches!(read, Err(Refused::Magic)) {
        log.add(Finding::new(&GROUP_EXPECTED_DESC).block(first));
        return read.map(|_| ());
    }
    read?;
    let bits = group.map_or(0, |group| group.bg_size.get().wrapping_mul(8));
    if listed.cl_cpg.get() != bits {
        let finding = Finding::new(&CHAIN_CPG).inode(head(inode).i_blkno.get());
        log.add(finding.found(listed.cl_cpg.get()).expected(bits));
    }
    Ok(())
}

/// Compares the number of clusters with the superblock's.
pub(super) fn clusters(volume: &Volume<'_>, log: &mut Log, inode: &Block) {
    let own = head(inode).i_clusters.get();
    if volume.clusters() != own {
        let finding = Finding::new(&SUPERBLOCK_CLUSTERS).found(volume.clusters());
        log.add(finding.expected(own));
    }
}

/// The places of all descriptors, ascending.
pub(super) fn places(volume: &Volume<'_>) -> Vec<u64> {
    let layout = &volume.layout;
    let per_group = layout.group_clusters().min(layout.clusters);
    let groups = layout.groups(per_group).unwrap_or(0);
    let places = (0..groups).map(|group| layout.group_block(group.into(), per_group));
    places.collect()
}

/// Judges the chains, and whether they lead to all places and to no other.
///
/// # Errors
/// As [`chain::check`].
pub(super) fn check<'v>(
    volume: &Volume<'v>,
    state: &mut State,
    log: &mut Log,
    inode: &Block,
    blocks: &mut Descriptors<'_, 'v>,
) -> Result<(), Refused> {
    let mut places = Places {
        expected: self::places(volume).into_iter().collect(),
        ..Places::default()
    };
    chain::check(volume, state, log, inode, Some(&mut places), blocks)?;
    for &block in places.unexpected.range(volume.layout.first_group..) {
        log.add(Finding::new(&GROUP_UNEXPECTED_DESC).block(block));
        state.mark(volume, log, volume.cluster_of(block), 1);
    }
    for &block in &places.expected {
        log.add(Finding::new(&GROUP_EXPECTED_DESC).block(block));
    }
    Ok(())
}
