//! Inodes as slots of the maps, and small sets of them.

/// The slot of an inode in the maps; inode 0 has none, and gets one past the end of any map.
pub(crate) fn slot_of(ino: u32) -> u64 {
    u64::from(ino).wrapping_sub(1)
}

/// A small set of inodes: ascending, without duplicates.
#[derive(Debug, Default)]
pub(crate) struct InodeSet(Vec<u32>);

impl InodeSet {
    /// From a list in any order.
    pub(crate) fn new(mut inodes: Vec<u32>) -> InodeSet {
        inodes.sort_unstable();
        inodes.dedup();
        InodeSet(inodes)
    }

    /// Whether this inode is in the set.
    pub(crate) fn contains(&self, inode: u32) -> bool {
        // The set is mostly empty, and this is asked for each name.
        !self.0.is_empty() && self.0.binary_search(&inode).is_ok()
    }

    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
impl InodeSet {
    /// The inodes, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_sorted_and_has_no_duplicates() {
        let few = InodeSet::new(vec![9, 3, 9]);
        assert!(few.contains(3) && few.contains(9) && !few.contains(4));
        assert_eq!(few.0, [3, 9]);
        assert!(!InodeSet::default().contains(0));
    }
}
