//! A directory's first names, in its inode (`inline_data`).
//!
//! There are two areas: what `i_block` has after the number of the parent, and the value of the attribute `system.data`. The kernel
//! makes the second one when the first is full, as long as all the room that the inode has left. When that is full too, all moves
//! to a block: `.` and `..` in front, then both areas record by record as they were, and the last record takes the rest. It
//! never comes back, however many names go. Source: Documentation/filesystems/ext4/inlinedata.rst; the order of events is
//! what a kernel was seen to do.

use ondisk::ext4::directory::LONGEST_NAME;
use ondisk::ext4::inline::IN_BLOCK;

use super::leaf::Leaf;
use super::write::write_records;
use super::{Entry, Identity, Rules};
use crate::Error;

/// Bytes of the parent's number.
const PARENT: usize = 4;
/// The shortest record: an attribute with no more room than this is not made for names.
const SHORTEST: u32 = 12;

/// Names in an inode.
#[derive(Debug, Clone)]
pub(super) struct Inline {
    first: Leaf,
    second: Option<Leaf>,
    /// Bytes that the second area would have.
    more: u32,
}

impl Inline {
    /// No names; the attribute can have `more` bytes.
    pub(super) fn empty(more: u32) -> Self {
        Self {
            first: Leaf::empty((IN_BLOCK - PARENT) as u32),
            second: None,
            more,
        }
    }

    /// Bytes of the directory (`i_size`).
    pub(super) fn size(&self) -> u32 {
        IN_BLOCK as u32 + self.second.as_ref().map_or(0, |_| self.more)
    }

    /// Puts a name into the first place with room.
    pub(super) fn put(&mut self, id: u32, needs: &[u16]) -> bool {
        if self.first.put(id, needs) {
            return true;
        }
        if self.second.is_none() && self.more > SHORTEST {
            self.second = Some(Leaf::empty(self.more));
        }
        self.second
            .as_mut()
            .is_some_and(|second| second.put(id, needs))
    }

    pub(super) fn remove(&mut self, gone: impl Fn(u32) -> bool, needs: &mut [u16]) {
        for area in [Some(&mut self.first), self.second.as_mut()]
            .into_iter()
            .flatten()
        {
            area.remove(&gone, needs);
        }
    }

    /// Moves all to a block that has `room` for records.
    pub(super) fn into_block(self, room: u32, needs: &[u16]) -> Leaf {
        Leaf::of_areas(room, self.first, self.second, needs)
    }

    /// Writes both areas: the 60 bytes of `i_block`, and the value of the attribute.
    pub(super) fn write(
        &self,
        rules: &Rules,
        own: Identity,
        entry: &impl Fn(u32, &mut [u8; LONGEST_NAME]) -> Entry,
    ) -> Result<([u8; IN_BLOCK], Vec<u8>), Error> {
        let mut head = [0; IN_BLOCK];
        head[..PARENT].copy_from_slice(&own.dot_dot.to_le_bytes());
        write_records(rules, &self.first, &mut head[PARENT..], own, entry)?;
        let mut tail = Vec::new();
        if let Some(second) = &self.second {
            tail.resize(self.more as usize, 0);
            write_records(rules, second, &mut tail, own, entry)?;
        }
        Ok((head, tail))
    }
}
