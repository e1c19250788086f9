//! What users and groups use, as quotas count it.

use std::collections::BTreeMap;

/// Whom an inode counts for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owners {
    /// `i_uid`.
    pub(crate) user: u32,
    /// `i_gid`.
    pub(crate) group: u32,
}

/// What a user or a group uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// Inodes.
    pub(crate) inodes: u64,
    /// Clusters, as the inodes count them.
    pub(crate) clusters: u64,
}

/// What all of them use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    /// By user.
    pub(crate) by_user: BTreeMap<u32, Used>,
    /// By group.
    pub(crate) by_group: BTreeMap<u32, Used>,
}

impl Usage {
    /// Adds an inode.
    pub(crate) fn add(&mut self, owners: Owners, clusters: u32) {
        for (map, id) in [
            (&mut self.by_user, owners.user),
            (&mut self.by_group, owners.group),
        ] {
            let used = map.entry(id).or_default();
            used.inodes += 1;
            used.clusters += u64::from(clusters);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inode_counts_for_its_user_and_its_group() {
        let mut usage = Usage::default();
        for (user, group, clusters) in [(0, 0, 3), (0, 7, 4), (9, 7, 0)] {
            usage.add(Owners { user, group }, clusters);
        }
        let used = |inodes, clusters| Used { inodes, clusters };
        let users: Vec<_> = usage.by_user.into_iter().collect();
        assert_eq!(users, [(0, used(2, 7)), (9, used(1, 0))]);
        let groups: Vec<_> = usage.by_group.into_iter().collect();
        assert_eq!(groups, [(0, used(1, 3)), (7, used(2, 4))]);
    }
}
