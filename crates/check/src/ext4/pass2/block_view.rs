//! A block of a directory, or a part of an inode that holds entries, and an entry in it.

use ondisk::ext4::directory::Entry;

use super::shared::Dir;

/// Bytes that hold a chain of entries.
#[derive(Clone, Copy)]
pub(super) struct Part<'b> {
    pub(super) bytes: &'b [u8],
    /// Where the chain begins and ends.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Which entry is next: 0 for `.`, 1 for `..`, 2 for any.
    pub(super) nth: u8,
    /// Block of the device; 0 within an inode.
    pub(super) physical: u64,
    /// Block of the directory.
    pub(super) logical: u32,
}

/// An entry and its position.
#[derive(Clone, Copy)]
pub(super) struct At<'e> {
    pub(super) dir: &'e Dir<'e>,
    pub(super) part: &'e Part<'e>,
    pub(super) entry: &'e Entry<'e>,
}
