//! A part of a directory: names in one string, in the order of inodes when they are opened.

use std::ffi::CStr;

/// An entry of a portion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) inode: u64,
    /// Place in the list of the directory.
    pub(super) index: u32,
    /// Where its name begins.
    name: u32,
}

/// A part of a directory: regular files, or entries whose type the directory does not hold.
#[derive(Debug, Default)]
pub(super) struct Portion {
    pub(super) entries: Vec<Entry>,
    /// All names, each with its zero byte.
    names: Vec<u8>,
}

impl Portion {
    pub(super) fn push(&mut self, inode: u64, name: &CStr) {
        self.entries.push(Entry {
            inode,
            index: self.entries.len() as u32,
            name: self.names.len() as u32,
        });
        self.names.extend(name.to_bytes_with_nul());
    }

    pub(super) fn name(&self, entry: Entry) -> &CStr {
        let bytes = self.names.get(entry.name as usize..).unwrap_or_default();
        CStr::from_bytes_until_nul(bytes).unwrap_or_default()
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.names.clear();
    }
}
