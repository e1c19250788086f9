//! Single inodes, read when a name or a count has shown a fault in them.
//!
//! They are asked for in ascending order or nearly so, and a table holds hundreds of adjacent inodes; so a piece of
//! the table is read at once and kept.

use ondisk::ext4::Inode;

use crate::ext4::volume::Volume;

/// Bytes of the table that are kept; no inode is torn by multiples of it.
const WINDOW: u64 = 64 << 10;

/// Pieces that are known to be unreadable; beyond them the oldest is tried again.
const UNREADABLE: usize = 64;

/// A reader of single inodes.
pub(crate) struct Slots<'a> {
    volume: &'a Volume<'a>,
    window: Vec<u8>,
    start: u64,
    /// The pieces that could not be read of late, the last one first: their inodes are read one by one. Names come from all over a
    /// directory, so more than one is asked for in turn.
    unreadable: Vec<u64>,
}

impl<'a> Slots<'a> {
    /// One that has read nothing yet.
    pub(crate) fn new(volume: &'a Volume<'a>) -> Slots<'a> {
        Slots {
            volume,
            window: Vec::new(),
            start: 0,
            unreadable: Vec::new(),
        }
    }

    /// The inode of that number; none if there is no such number, or its table cannot be read.
    pub(crate) fn read(&mut self, ino: u32) -> Option<Inode<'_>> {
        let geometry = &self.volume.geometry;
        let (group, _) = geometry.index_of_inode(ino)?;
        let descriptor = self.volume.descriptors.get(group as usize)?;
        let (block, offset) = geometry.inode_position(ino, descriptor)?;
        let at = block
            .checked_mul(geometry.block_size.into())?
            .checked_add(offset.into())?;
        let size = geometry.inode_size;
        let inside = |start: u64, len: usize| {
            let from = usize::try_from(at.checked_sub(start)?).ok()?;
            (from + usize::from(size) <= len).then_some(from)
        };
        let from = if let Some(from) = inside(self.start, self.window.len()) {
            from
        } else {
            self.fill(at, size.into())?;
            inside(self.start, self.window.len())?
        };
        Inode::read(&self.window[from..], size).ok()
    }

    /// Reads what is around a byte, or if that fails, only the `size` bytes from it.
    fn fill(&mut self, at: u64, size: usize) -> Option<()> {
        let source = self.volume.source;
        // Nothing can be read past the end.
        if at.checked_add(size as u64)? > source.len() {
            return None;
        }
        let start = at / WINDOW * WINDOW;
        if !self.unreadable.contains(&start) {
            let len = WINDOW.min(source.len() - start);
            self.window.resize(usize::try_from(len).ok()?, 0);
            self.start = start;
            if source.read_at(&mut self.window, start).is_ok() {
                return Some(());
            }
            self.unreadable.insert(0, start);
            self.unreadable.truncate(UNREADABLE);
        }
        self.window.resize(size, 0);
        self.start = at;
        if source.read_at(&mut self.window, at).is_err() {
            self.window.clear();
            return None;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use blockio::layer::Counting;
    use blockio::{BlockSource, Ram};

    use super::*;
    use crate::ext4::e2fsck::log::Log;
    use crate::ext4::oracle::{made, options, own};
    use crate::ext4::pass0;

    /// What is past the end of a device, or next to a bad sector, is not read again for each inode.
    #[test]
    fn what_cannot_be_read_is_not_tried_again_for_each_inode() {
        let image = made(&["-t", "ext4", "-O", "^has_journal", "-N", "2000"], 2048);
        let read = |source: &dyn BlockSource| {
            let counting = Counting::new(source);
            let volume = pass0::open(&counting, &options(), &own(), &mut Log::new(1)).unwrap();
            let before = counting.counts().bytes;
            let mut slots = Slots::new(&volume);
            let found = (1..2000).filter(|ino| slots.read(*ino).is_some()).count();
            (found, counting.counts().bytes - before)
        };
        let table = 2000 * 256;
        let (found, bytes) = read(&Ram::new(&image));
        assert!(found == 1999 && bytes < 2 * table, "{found} {bytes}");
        let (found, bytes) = read(&Ram::new(&image[..256 << 10]));
        assert!(
            (100..1999).contains(&found) && bytes < 2 * table,
            "{found} {bytes}"
        );
        let sector = 200 << 10..(200 << 10) + 512;
        let (found, bytes) = read(&Ram::new(&image).failing([sector], 5));
        assert!(
            (1990..1999).contains(&found) && bytes < 2 * table,
            "{found} {bytes}"
        );
    }

    /// Two bad sectors whose inodes are named in turn: each piece is tried once, and not each time the other was in between.
    #[test]
    fn bad_sectors_that_are_asked_for_in_turn_are_not_tried_again() {
        let image = made(&["-t", "ext4", "-O", "^has_journal", "-N", "2000"], 2048);
        let options = options();
        let sound = Ram::new(&image);
        let volume = pass0::open(&sound, &options, &own(), &mut Log::new(1)).unwrap();
        let table = volume.descriptors[0].inode_table() * u64::from(volume.geometry.block_size);
        let first = table.next_multiple_of(WINDOW);
        let sector = |at: u64| at + 512..at + 1024;
        let bad = Ram::new(&image).failing([sector(first), sector(first + WINDOW)], 5);
        let counting = Counting::new(&bad);
        let volume = pass0::open(&counting, &options, &own(), &mut Log::new(1)).unwrap();
        let before = counting.counts().bytes;
        let mut slots = Slots::new(&volume);
        let ino = |at: u64| ((at - table) / 256 + 1) as u32;
        for nth in 0..100 {
            for window in [first, first + WINDOW] {
                // Sound ones, on the same piece as the bad sector.
                assert!(slots.read(ino(window) + 8 + nth).is_some(), "{nth}");
            }
        }
        let bytes = counting.counts().bytes - before;
        assert!(bytes <= 2 * WINDOW + 200 * 256, "{bytes}");
    }
}
