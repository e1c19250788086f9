//! Clusters in use against the global bitmap.

use ondisk::ocfs2::feature;

use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{BACKUP_CLUSTER_CLAIMED, CLUSTER_ALLOC_BIT};
use crate::ocfs2::state::State;
use crate::ocfs2::volume::{Volume, from};

/// Compares them, one finding for each cluster.
pub(super) fn compare(volume: &Volume<'_>, state: &State, log: &mut Log) {
    let bits = bits(volume, state);
    let has_backups = volume.sb.has_compat(feature::BACKUP_SUPER);
    let backups: Vec<u32> = volume
        .layout
        .backups()
        .filter(|_| has_backups)
        .map(|block| volume.cluster_of(block))
        .collect();
    for (word, (&set, &used)) in bits.iter().zip(&state.used).enumerate() {
        let mut differ = set ^ used;
        while differ != 0 {
            let bit = differ.trailing_zeros();
            differ &= differ - 1;
            let cluster = (word * 64) as u32 + bit;
            if cluster >= volume.clusters() {
                break;
            }
            let in_use = used >> bit & 1 == 1;
            if !in_use && backups.contains(&cluster) {
                continue;
            }
            let words = |set| if set { "set" } else { "free" };
            let finding =
                Finding::new(&CLUSTER_ALLOC_BIT).block(volume.layout.block_of(cluster.into()));
            let finding = finding.found(words(!in_use)).expected(words(in_use));
            log.add(finding.note(format!("cluster {cluster}")));
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

/// The global bitmap, a bit for each cluster; clusters that no group covers are free.
fn bits(volume: &Volume<'_>, state: &State) -> Vec<u64> {
    let mut words = vec![0_u64; state.used.len()];
    for region in state.bitmap.regions.values() {
        let bitmap = from(&region.group, ondisk::ocfs2::chain::BITMAP);
        let end = region
            .bits
            .min(u64::from(volume.clusters()).saturating_sub(region.start));
        for at in 0..end {
            let index = region.offset + at as usize;
            let byte = bitmap.get(index / 8).copied().unwrap_or(0);
            if byte >> (index % 8) & 1 == 1 {
                let cluster = region.start + at;
                words[cluster as usize / 64] |= 1 << (cluster % 64);
            }
        }
    }
    words
}
