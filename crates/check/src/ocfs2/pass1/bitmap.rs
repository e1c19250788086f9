//! Clusters in use against the global bitmap.

use ondisk::bytes::le64;
use ondisk::ocfs2::chain::BITMAP;
use ondisk::ocfs2::feature;

use super::logs::Window;
use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    BACKUP_CLUSTER_CLAIMED, CLUSTER_ALLOC_BIT, LALLOC_GLOBAL,
};
use crate::ocfs2::state::State;
use crate::ocfs2::volume::{Volume, from};

/// Clusters that are compared together.
const CHUNK: usize = 1 << 18;

/// Compares them, one finding for each cluster. Nothing is compared with a bitmap that cannot be loaded.
pub(super) fn compare(volume: &Volume<'_>, state: &State, log: &mut Log) {
    if !state.bitmap_loaded {
        return;
    }
    let has_backups = volume.sb.has_compat(feature::BACKUP_SUPER);
    let backups: Vec<u32> = volume
        .layout
        .backups()
        .filter(|_| has_backups)
        .map(|block| volume.cluster_of(block))
        .collect();
    let (mut bits, mut used) = (vec![0; CHUNK / 64], vec![0; CHUNK / 64]);
    for first in (0..volume.clusters()).step_by(CHUNK) {
        state.used.fill(first, &mut used);
        let first = u64::from(first);
        fill(volume, state, first, &mut bits);
        for (word, (&set, &used)) in bits.iter().zip(&used).enumerate() {
            if set != used {
                differ(volume, log, &backups, first + word as u64 * 64, (set, used));
            }
        }
    }
    for cluster in backups
        .into_iter()
        .filter(|&cluster| state.is_used(cluster))
    {
        let block = volume.layout.block_of(cluster.into());
        log.own(Finding::new(&BACKUP_CLUSTER_CLAIMED).block(block));
    }
}

/// Clusters of the windows of local allocators that are free in the global bitmap, in use or not: another slot may take them.
pub(super) fn windows(state: &State, windows: &[Window], log: &mut Log) {
    if !state.bitmap_loaded {
        return;
    }
    for window in windows {
        let mut bits = vec![0; window.total.div_ceil(64) as usize];
        fill_to(
            state,
            window.first.into(),
            u64::from(window.first) + u64::from(window.total),
            &mut bits,
        );
        let set: u32 = bits.iter().map(|word: &u64| word.count_ones()).sum();
        if set < window.total {
            let finding = Finding::new(&LALLOC_GLOBAL).inode(window.inode);
            let finding = finding.found(window.total - set);
            log.own(finding.note(format!(
                "of the {} clusters from {} on",
                window.total, window.first
            )));
        }
    }
}

/// The clusters of a word that are set and not used, or used and not set. Those of backup superblocks belong to no inode.
fn differ(
    volume: &Volume<'_>,
    log: &mut Log,
    backups: &[u32],
    first: u64,
    (set, used): (u64, u64),
) {
    let mut differ = set ^ used;
    while differ != 0 {
        let bit = differ.trailing_zeros();
        differ &= differ - 1;
        let cluster = first as u32 + bit;
        if cluster >= volume.clusters() {
            break;
        }
        let in_use = used >> bit & 1 == 1;
        if !in_use && backups.contains(&cluster) {
            continue;
        }
        let words = |set| if set { "set" } else { "free" };
        let block = volume.layout.block_of(cluster.into());
        let finding = Finding::new(&CLUSTER_ALLOC_BIT).block(block);
        let finding = finding.found(words(!in_use)).expected(words(in_use));
        log.add(finding.note(format!("cluster {cluster}")));
    }
}

/// The global bitmap from a cluster on, a bit for each; clusters that no group covers are free.
fn fill(volume: &Volume<'_>, state: &State, first: u64, bits: &mut [u64]) {
    let end = (first + bits.len() as u64 * 64).min(volume.clusters().into());
    fill_to(state, first, end, bits);
}

/// The same, up to a cluster.
fn fill_to(state: &State, first: u64, end: u64, bits: &mut [u64]) {
    bits.fill(0);
    let before = state.bitmap.regions.range(..first).next_back();
    let within = state.bitmap.regions.range(first..end);
    for region in before.into_iter().chain(within).map(|(_, region)| region) {
        let bitmap = from(&region.group, BITMAP);
        let stop = end.min(region.start + region.bits);
        let mut at = region.start.max(first);
        while at < stop {
            let (index, to) = (region.offset as u64 + at - region.start, at - first);
            let word = &mut bits[to as usize / 64];
            if index.is_multiple_of(64) && to.is_multiple_of(64) && stop - at >= 64 {
                let bytes = bitmap.get(index as usize / 8..index as usize / 8 + 8);
                *word = bytes.map_or(0, |bytes| le64(bytes, 0));
                at += 64;
                continue;
            }
            let byte = bitmap.get(index as usize / 8).copied().unwrap_or(0);
            *word |= u64::from(byte >> (index % 8) & 1) << (to % 64);
            at += 1;
        }
    }
}
