//! Where a fault comes in the order in which e2fsck meets it.
//!
//! The sweep meets directory blocks as the device gives them, in several threads. A reader who compares with e2fsck's output,
//! and the rule that everything behind the point where `e2fsck -n` gives up does not count, need e2fsck's order: its list of
//! directory blocks sorted by block, inode and place in the directory. With `dir_index` the first blocks of all directories
//! come before all others there, because a root names the hash of its leaves. Blocks that a directory does
//! not have (holes, content within the inode) are number 0, so they come first.
//!
//! All of that fits 64 bits, and so it is also the key by which the first of two names of a directory is told from the second.
//!
//! | bits | block of the device | no block | index |
//! |---|---|---|---|
//! | 62-63 | 0 or 1 | 0 or 1 | 2 |
//! | 61 | 1 | 0 | 0 |
//! | 29-60 | block (14-60) | inode | inode |
//! | 14-28 | | place in the directory | place in the directory (0-28) |
//! | 0-13 | offset / 4 | offset / 4 | |

const PHASE: u32 = 62;
const REAL: u64 = 1 << 61;
const INODE: u32 = 29;
const BLOCK: u32 = 14;
const BLOCKS: u64 = (1 << 47) - 1;
const OFFSETS: u64 = (1 << BLOCK) - 1;

/// Behind everything that is found in a block or an index.
pub(super) const LAST: u64 = 3 << PHASE;

/// How the list is sorted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    /// First blocks before all others.
    pub(super) roots_first: bool,
}

impl Order {
    /// The key of a byte in a block of a directory; `physical` is 0 where it has none.
    pub(super) fn of(self, inode: u32, physical: u64, logical: u32, offset: usize) -> u64 {
        let phase = u64::from(self.roots_first && logical > 0) << PHASE;
        let offset = (offset as u64 / 4).min(OFFSETS);
        if physical == 0 {
            let logical = u64::from(logical).min((1 << (INODE - BLOCK)) - 1);
            phase | u64::from(inode) << INODE | logical << BLOCK | offset
        } else {
            phase | REAL | physical.min(BLOCKS) << BLOCK | offset
        }
    }
}

/// The key of what is said of a block when the whole index is known.
pub(super) fn of_index(inode: u32, logical: u32) -> u64 {
    let logical = u64::from(logical).min((1 << INODE) - 1);
    2 << PHASE | u64::from(inode) << INODE | logical
}

/// The block and the byte that a key of [`Order::of`] stands for, where it is a block of the device.
pub(super) fn place(key: u64) -> Option<(u64, usize)> {
    let offset = (key & OFFSETS) as usize * 4;
    (key & REAL != 0).then_some((key >> BLOCK & BLOCKS, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_as_the_list_does() {
        let order = Order { roots_first: true };
        let keys = [
            order.of(12, 0, 0, 8),
            order.of(13, 0, 0, 0),
            order.of(11, 900, 0, 4),
            order.of(11, 900, 0, 65532),
            order.of(2, 901, 0, 0),
            order.of(12, 0, 1, 0),
            order.of(12, 0, 2, 0),
            order.of(u32::MAX, 0, u32::MAX, 65532),
            order.of(2, 7, 1, 0),
            order.of(2, 1 << 46, 5, 12),
            of_index(2, 0),
            of_index(2, u32::MAX),
            of_index(3, 0),
            LAST,
        ];
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:x?}");
        let plain = Order { roots_first: false };
        assert!(plain.of(2, 8, 0, 0) > plain.of(2, 7, 1, 0));
        assert_eq!(place(order.of(2, 1 << 46, 5, 12)), Some((1 << 46, 12)));
        assert_eq!(place(order.of(2, 0, 5, 12)), None);
    }
}
