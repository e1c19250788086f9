//! Noting the plain files of a block of a table ([`super::plain`]), many at once.

use ondisk::ext4::FileType;
use ondisk::ext4::inode::RawInode;
use zerocopy::FromBytes;

use crate::ext4::inode_set::slot_of;
use crate::ext4::pass1::inode::Places;
use crate::ext4::pass1::plain::Piece;
use crate::ext4::pass1::worker::Worker;

impl Worker<'_> {
    /// Notes the plain files of one block of a table, whose first inode has number `first`. Those whose blocks follow each other are
    /// claimed together.
    pub(super) fn take_plain(&mut self, first: u32, plain: &Places, bytes: &[u8]) {
        let size = usize::from(self.maps.volume.geometry.inode_size);
        let mut claimed = 0..0;
        for (nth, word) in plain.words() {
            let base = first + nth as u32;
            self.maps.used.set_from(u64::from(base) - 1, word);
            self.maps
                .file_types
                .set_word(slot_of(base), word, FileType::Regular.entry());
            let (mut rest, mut ones) = (word, 0);
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let slot = bytes.get((nth + bit as usize) * size..);
                let raw = slot.and_then(|slot| RawInode::ref_from_prefix(slot).ok());
                let Some((raw, _)) = raw else {
                    continue;
                };
                match raw.i_links_count.get() {
                    1 => ones |= 1 << bit,
                    links => self.maps.link_counts.set(slot_of(base + bit), links.into()),
                }
                let Piece { start, len } = Piece::of(raw);
                if claimed.end != start {
                    self.maps.claim_run(claimed.start, claimed.end);
                    claimed = start..start;
                }
                claimed.end += u64::from(len);
            }
            self.maps.link_counts.set_ones(slot_of(base), ones);
        }
        self.maps.claim_run(claimed.start, claimed.end);
        let count = plain.count() as u64;
        self.statistics.files.inodes += count;
        self.statistics.files.regular += count;
        self.statistics.extent_depth[0] += count;
    }
}
