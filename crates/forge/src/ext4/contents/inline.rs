//! Files and directories in their inodes (`inline_data`).
//!
//! A file is stored in its inode if it has content and fits: 60 bytes in `i_block` and what is left
//! after the inode's fields, beside the other attributes that it has. A directory begins there and
//! moves to a block when its names no longer fit. The root and `lost+found` have blocks, because
//! mke2fs made them; symbolic links have their targets in `i_block` below 60 bytes, which is older
//! than the feature, or a block, as kernels since 6.0 make them. Encrypted files are never stored
//! in the inode, as in the kernel.

use ondisk::ext4::Superblock;
use ondisk::ext4::feature::Incompat;
use ondisk::ext4::inline::{IN_BLOCK, XATTR_INDEX, XATTR_NAME};
use ondisk::ext4::inode::InodeMut;
use ondisk::ext4::xattr::{NewEntry, NewValue};

use super::{Contents, xattr_area};
use crate::Error;
use crate::ext4::plan::{Home, Kind, ObjectId};
use crate::population::Slots;

/// Further bytes that the attributes of an inode need: the magic, and the zeros after the last entry.
const AROUND: usize = 8;
/// The entry `system.data` itself.
const ENTRY: usize = 20;
/// The entry of a value in an inode of its own.
const VALUE: usize = 24;

/// Bytes that `system.data` can have beside no other attribute; none without the feature, or without room for the entry.
pub(super) fn room(sb: &Superblock) -> Option<u32> {
    let room = xattr_area::room(sb).checked_sub(AROUND + ENTRY)?;
    sb.has_incompat(Incompat::INLINE_DATA)
        .then_some(room as u32)
}

/// Whether a file of `size` bytes fits in its inode if the attribute can have `more`.
pub(super) fn fits(size: u64, more: u32) -> bool {
    (1..=IN_BLOCK as u64 + u64::from(more)).contains(&size)
}

/// The attribute for the content of a file; the rest goes to `i_block`.
pub(super) fn content(bytes: &[u8], i_block: &mut [u8; IN_BLOCK]) -> NewEntry {
    let (head, tail) = bytes.split_at(bytes.len().min(IN_BLOCK));
    i_block[..head.len()].copy_from_slice(head);
    NewEntry {
        index: XATTR_INDEX,
        name: XATTR_NAME.to_vec(),
        value: NewValue::Here(tail.to_vec()),
    }
}

impl Contents {
    /// Whether a file is stored in its inode.
    pub(super) fn is_inline(
        &self,
        slots: &Slots,
        id: ObjectId,
        file: u32,
        kind: Kind,
        size: u64,
    ) -> bool {
        let Some(more) = self.format.inline.filter(|_| kind == Kind::File) else {
            return false;
        };
        if !fits(size, more) {
            return false;
        }
        let mut taken = 0;
        if self.population.has_note(id) {
            let note = self.population.note(id).len();
            taken += ENTRY + note.next_multiple_of(4);
        }
        if slots.owner(file).is_some() {
            taken += VALUE;
        }
        more.checked_sub(taken as u32)
            .is_some_and(|more| fits(size, more))
    }

    /// Writes the names of a directory without blocks.
    pub(super) fn finish_directory(
        &self,
        slots: &Slots,
        id: ObjectId,
        home: &Home<'_>,
        inode: &mut InodeMut<'_>,
    ) -> Result<(), Error> {
        let (head, tail) = self.names_inline(id.directory, slots, home)?;
        let entry = content(&[&head[..], &tail].concat(), &mut inode.raw()?.i_block);
        xattr_area::write(inode, &[entry])
    }
}
