//! The names of an indexed directory, as a sum that does not depend on their order.
//!
//! An index has an entry for each name: its hash, and the block that has the name. A sum over all names is compared with the same sum over all
//! entries, so no more than three numbers a directory are kept. Where they differ, names and entries are compared one by one.

use ondisk::ocfs2::hash::NameHash;

/// Names, or entries, of one index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexSum {
    count: u64,
    sum: u64,
}

impl IndexSum {
    /// Adds a name in a block.
    pub(crate) fn add(&mut self, hash: NameHash, block: u64) {
        let both = u64::from(hash.major) << 32 | u64::from(hash.minor);
        self.count += 1;
        self.sum = self.sum.wrapping_add(mixed(both ^ mixed(block)));
    }

    /// Number of names.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

/// The last step of splitmix64 (Steele and others 2014): each bit of the number changes half of the result's.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_of_no_consequence_and_everything_else_is() {
        let names = [(1, 2, 100), (3, 4, 100), (3, 4, 101), (0, 0, 7)];
        let sum = |names: &[(u32, u32, u64)]| {
            let mut sum = IndexSum::default();
            for &(major, minor, block) in names {
                sum.add(NameHash { major, minor }, block);
            }
            sum
        };
        let mut other = names;
        other.reverse();
        assert_eq!(sum(&names), sum(&other));
        for change in 0..3 {
            let mut other = names;
            match change {
                0 => other[2].0 ^= 1,
                1 => other[2].1 ^= 1,
                _ => other[2].2 ^= 1,
            }
            assert_ne!(sum(&names), sum(&other));
        }
        assert_ne!(sum(&names), sum(&names[..3]));
    }
}
