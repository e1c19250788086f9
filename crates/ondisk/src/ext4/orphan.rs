//! Inodes that are deleted or cut off but not yet done: a list through the inodes, or a file.
//!
//! The list begins at `s_last_orphan` and continues in `i_dtime`. The file (`orphan_file`) is an array of
//! inode numbers in blocks that each end with a magic number and a checksum, so that many processors can work
//! on it at once. Source: Documentation/filesystems/ext4/orphan.rst.

use super::{Checksum, Error, Inode, Seed, put_u32, u32_at};

/// `ob_magic`.
pub const MAGIC: u32 = 0x0b10_ca04;

const TAIL: usize = 8;

/// The next orphan after `inode` in the list, `None` at its end.
pub fn next_in_list(inode: &Inode<'_>) -> Option<u32> {
    Some(inode.dtime()).filter(|ino| *ino != 0)
}

/// A block of the orphan file.
#[derive(Debug, Clone, Copy)]
pub struct OrphanBlock<'a> {
    entries: &'a [u8],
    stored: u32,
}

impl<'a> OrphanBlock<'a> {
    /// The block that fills `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::Short`], [`Error::Magic`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let short = Error::Short {
            what: "orphan file block",
            have: bytes.len(),
            need: TAIL + 4,
        };
        let end = bytes
            .len()
            .checked_sub(TAIL)
            .filter(|end| *end >= 4)
            .ok_or(short.clone())?;
        let found = u32_at(bytes, end).ok_or(short.clone())?;
        if found != MAGIC {
            return Err(Error::Magic {
                what: "orphan file block ob_magic",
                found,
                expected: MAGIC,
            });
        }
        let stored = u32_at(bytes, end + 4).ok_or(short)?;
        Ok(Self {
            entries: &bytes[..end / 4 * 4],
            stored,
        })
    }

    /// The slots; 0 is a free one.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = u32> {
        let (words, _) = self.entries.as_chunks::<4>();
        words.iter().map(|word| u32::from_le_bytes(*word))
    }

    /// The inodes listed.
    pub fn inodes(&self) -> impl Iterator<Item = u32> {
        self.slots().filter(|ino| *ino != 0)
    }

    /// The checksum of the block at `block` of the device; `seed` is that of the orphan file's inode.
    pub fn checksum(&self, seed: Seed, block: u64) -> Checksum {
        Checksum {
            stored: self.stored,
            computed: computed(self.entries, seed, block),
        }
    }
}

fn computed(entries: &[u8], seed: Seed, block: u64) -> u32 {
    Seed(seed.over(&block.to_le_bytes())).over(entries)
}

/// Writes a block of the orphan file that fills `bytes`. With `seed`, that of the file's inode, it
/// gets its checksum for its place on the device.
///
/// # Errors
///
/// [`Error::Full`] when the inodes do not fit.
pub fn write(
    bytes: &mut [u8],
    inodes: &[u32],
    block: u64,
    seed: Option<Seed>,
) -> Result<(), Error> {
    let room = bytes.len().saturating_sub(TAIL);
    let full = Error::Full {
        what: "orphan file block",
        need: inodes.len() * 4,
        room,
    };
    if inodes.len() * 4 > room || bytes.len() < TAIL + 4 {
        return Err(full);
    }
    bytes.fill(0);
    for (nth, ino) in inodes.iter().enumerate() {
        if !put_u32(bytes, nth * 4, *ino) {
            return Err(full);
        }
    }
    let sum = seed.map_or(0, |seed| computed(&bytes[..room / 4 * 4], seed, block));
    if put_u32(bytes, room, MAGIC) && put_u32(bytes, room + 4, sum) {
        Ok(())
    } else {
        Err(full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_block_is_read_as_written(
            inodes in proptest::collection::vec(1_u32.., 0..254),
            place: u64,
        ) {
            let mut bytes = vec![1; 1024];
            write(&mut bytes, &inodes, place, Some(Seed(4))).unwrap();
            let block = OrphanBlock::read(&bytes).unwrap();
            prop_assert_eq!(block.inodes().collect::<Vec<_>>(), inodes);
            prop_assert_eq!(block.slots().len(), 254);
            prop_assert!(block.checksum(Seed(4), place).matches());
            prop_assert!(!block.checksum(Seed(4), place ^ 1).matches());
        }

        #[test]
        fn any_bytes_give_a_block_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(block) = OrphanBlock::read(&bytes) {
                let _ = (block.slots().count(), block.checksum(Seed(0), 0));
            }
        }
    }
}
