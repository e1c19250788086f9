//! Where the groups of suballocators are, and which clusters are for data.
//!
//! Data has addresses of its own: a file's clusters follow each other, whatever is between them on the volume. [`Space`] maps these
//! addresses to clusters; where a run ends, a file gets a further extent.

use super::bitmap::Bitmap;
use super::options::Groups;
use crate::Error;

/// Most clusters of an extent: the field has 16 bits.
const LONGEST: u64 = 65_535;

/// A run of free clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// Its first address.
    at: u64,
    cluster: u64,
    len: u64,
}

/// Clusters for data.
#[derive(Debug, Default)]
pub(super) struct Space {
    runs: Vec<Run>,
    total: u64,
}

impl Space {
    fn push(&mut self, cluster: u64, len: u64) {
        let mut done = 0;
        while done < len {
            let here = (len - done).min(LONGEST);
            self.runs.push(Run {
                at: self.total,
                cluster: cluster + done,
                len: here,
            });
            self.total += here;
            done += here;
        }
    }

    /// Calls `each` with first cluster and length of every run of `len` addresses from `at` on.
    pub(super) fn extents(&self, at: u64, len: u64, each: &mut dyn FnMut(u64, u64)) {
        let mut nth = self.runs.partition_point(|run| run.at + run.len <= at);
        let (mut at, end) = (at, at + len);
        while at < end {
            let Some(run) = self.runs.get(nth) else {
                return;
            };
            let within = at - run.at;
            let here = (run.len - within).min(end - at);
            each(run.cluster + within, here);
            at += here;
            nth += 1;
        }
    }
}

/// What a volume must hold.
#[derive(Debug, Clone)]
pub(super) struct Need {
    /// Further groups of inodes for each slot.
    pub(super) inode_groups: Vec<u32>,
    /// Further groups of extent blocks for each slot.
    pub(super) extent_groups: Vec<u32>,
    /// Clusters of a group of inodes, and of extent blocks.
    pub(super) group_clusters: u64,
    /// Clusters of data, free space between files included.
    pub(super) data: u64,
}

/// First clusters of the groups, and the space for data.
#[derive(Debug, Default)]
pub(super) struct Placed {
    /// For each slot.
    pub(super) inode_groups: Vec<Vec<u64>>,
    /// For each slot.
    pub(super) extent_groups: Vec<Vec<u64>>,
    pub(super) space: Space,
}

/// Places groups and data in the free clusters, and marks the groups as used. `per_group` is the clusters of a group of the global
/// bitmap.
///
/// # Errors
///
/// [`Error::Room`] for too few clusters.
pub(super) fn place(
    bitmap: &mut Bitmap,
    clusters: u64,
    per_group: u64,
    need: &Need,
    groups: Groups,
) -> Result<Placed, Error> {
    let mut placed = Placed {
        extent_groups: extent_groups(bitmap, clusters, per_group, need)?,
        ..Placed::default()
    };
    let wanted: u64 = need
        .inode_groups
        .iter()
        .map(|&count| u64::from(count))
        .sum();
    let mut walk = Walk::new(clusters, per_group, need, wanted);
    let mut found = walk.take(bitmap, groups);
    if found.is_none() {
        // Runs in proportion leave pieces unused; on a volume that is nearly full all groups come first.
        walk = Walk::new(clusters, per_group, need, wanted);
        found = walk.take(bitmap, Groups::Packed);
    }
    let found = found.ok_or_else(|| room(bitmap, clusters, need, wanted))?;
    for &cluster in &found {
        bitmap.set(cluster, need.group_clusters);
    }
    // Slots take turns by runs of 31, what fits a cluster group with the default sizes.
    let mut left = need.inode_groups.clone();
    placed.inode_groups = vec![Vec::new(); left.len()];
    let (mut slot, mut turn) = (0, 0);
    for cluster in found {
        while left[slot] == 0 || turn == 31 {
            (slot, turn) = ((slot + 1) % left.len(), 0);
        }
        placed.inode_groups[slot].push(cluster);
        left[slot] -= 1;
        turn += 1;
    }
    placed.space = walk.space;
    Ok(placed)
}

fn room(bitmap: &Bitmap, clusters: u64, need: &Need, groups: u64) -> Error {
    let free: u64 = bitmap.free_runs(0, clusters).iter().map(|run| run.1).sum();
    Error::Room {
        what: "clusters",
        need: need.data + groups * need.group_clusters,
        have: free,
        advice: "ask for a larger image, fewer files or smaller ones; groups of inodes need contiguous clusters",
    }
}

/// Groups of extent blocks: at the first places that fit.
fn extent_groups(
    bitmap: &mut Bitmap,
    clusters: u64,
    per_group: u64,
    need: &Need,
) -> Result<Vec<Vec<u64>>, Error> {
    let mut all = Vec::new();
    let mut at = 0;
    for &count in &need.extent_groups {
        let mut own = Vec::new();
        while own.len() < count as usize {
            if at >= clusters {
                return Err(room(bitmap, clusters, need, 0));
            }
            let end = (at / per_group + 1) * per_group;
            let runs = bitmap.free_runs(at, end.min(clusters));
            match runs.iter().find(|run| run.1 >= need.group_clusters) {
                Some(&(cluster, _)) => {
                    bitmap.set(cluster, need.group_clusters);
                    own.push(cluster);
                }
                None => at = end,
            }
        }
        all.push(own);
    }
    Ok(all)
}

/// One way over the cluster groups.
struct Walk<'a> {
    clusters: u64,
    per_group: u64,
    need: &'a Need,
    wanted: u64,
    found: Vec<u64>,
    space: Space,
}

impl<'a> Walk<'a> {
    fn new(clusters: u64, per_group: u64, need: &'a Need, wanted: u64) -> Self {
        Self {
            clusters,
            per_group,
            need,
            wanted,
            found: Vec::with_capacity(wanted as usize),
            space: Space::default(),
        }
    }

    /// First clusters of the groups of inodes, where all of them and the data fit.
    fn take(&mut self, bitmap: &Bitmap, groups: Groups) -> Option<Vec<u64>> {
        let count = self.clusters.div_ceil(self.per_group);
        for nth in 0..count {
            let inodes_left = self.wanted - self.found.len() as u64;
            let data_left = self.need.data - self.space.total;
            if inodes_left == 0 && data_left == 0 {
                break;
            }
            let remaining = count - nth;
            let (most_groups, most_data) = match groups {
                Groups::Packed => (
                    inodes_left,
                    if inodes_left > 0 { u64::MAX } else { data_left },
                ),
                Groups::Scattered => (
                    inodes_left.div_ceil(remaining),
                    data_left.div_ceil(remaining),
                ),
                Groups::Kernel => (if self.inodes_lag() { inodes_left } else { 0 }, data_left),
            };
            let first = nth * self.per_group;
            let end = (first + self.per_group).min(self.clusters);
            self.take_group(bitmap, first..end, most_groups, most_data.min(data_left));
        }
        let complete = self.found.len() as u64 == self.wanted && self.space.total == self.need.data;
        complete.then(|| std::mem::take(&mut self.found))
    }

    /// Whether a smaller share of the groups than of the data is placed.
    fn inodes_lag(&self) -> bool {
        let (groups, data) = (self.found.len() as u128, u128::from(self.space.total));
        groups * u128::from(self.need.data.max(1))
            <= data.max(u128::from(self.need.data == 0)) * u128::from(self.wanted)
    }

    /// Takes groups, then data, from one cluster group.
    fn take_group(
        &mut self,
        bitmap: &Bitmap,
        range: std::ops::Range<u64>,
        mut groups: u64,
        mut data: u64,
    ) {
        let size = self.need.group_clusters;
        for (cluster, len) in bitmap.free_runs(range.start, range.end) {
            let taken = (len / size).min(groups);
            groups -= taken;
            self.found
                .extend((0..taken).map(|nth| cluster + nth * size));
            let rest = (len - taken * size).min(data);
            data -= rest;
            self.space.push(cluster + taken * size, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_and_data_are_apart_and_complete(
            used in proptest::collection::vec((0_u64..9000, 1_u64..300), 0..20),
            inodes in proptest::collection::vec(0_u32..6, 1..4),
            extents in 0_u32..3,
            data in 0_u64..3000,
            kind in 0_usize..3,
        ) {
            let clusters = 9500;
            let mut bitmap = Bitmap::new(clusters as u32);
            for group in 0..10 {
                bitmap.set(group * 1000, 1);
            }
            for (at, len) in used {
                bitmap.set(at, len);
            }
            let free: u64 = bitmap.free_runs(0, clusters).iter().map(|run| run.1).sum();
            let need = Need {
                extent_groups: inodes.iter().map(|_| extents).collect(),
                inode_groups: inodes,
                group_clusters: 64,
                data,
            };
            let kind = [Groups::Kernel, Groups::Packed, Groups::Scattered][kind];
            let groups: u32 = need.inode_groups.iter().chain(&need.extent_groups).sum();
            match place(&mut bitmap, clusters, 1000, &need, kind) {
                Ok(placed) => {
                    let mut seen = Bitmap::new(clusters as u32);
                    let mut count = 0;
                    for (slot, groups) in placed.inode_groups.iter().enumerate() {
                        prop_assert_eq!(groups.len() as u32, need.inode_groups[slot]);
                        for &at in groups.iter().chain(&placed.extent_groups[slot]) {
                            prop_assert!((at..at + 64).all(|cluster| !seen.get(cluster) && bitmap.get(cluster)));
                            seen.set(at, 64);
                            count += 64;
                        }
                    }
                    let mut found = 0;
                    placed.space.extents(0, data, &mut |cluster, len| {
                        assert!((cluster..cluster + len).all(|one| !seen.get(one) && !bitmap.get(one)));
                        seen.set(cluster, len);
                        found += len;
                    });
                    prop_assert_eq!(found, data);
                    prop_assert_eq!(count, u64::from(groups) * 64);
                }
                // Only where little more is free than needed.
                Err(error) => prop_assert!(u64::from(groups) * 64 * 6 + data + 2000 > free, "{}", error),
            }
        }
    }
}
