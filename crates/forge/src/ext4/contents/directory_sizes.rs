//! The size of each directory, once it is known: a byte for most of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

/// Blocks of directories, and whether they have an index. One without blocks is in its inode, and
/// may have "an index" too: the attribute after the first 60 bytes.
#[derive(Debug)]
pub(super) struct DirectorySizes {
    /// One and blocks times two, plus one with an index; 0 while unknown.
    small: Vec<AtomicU8>,
    /// Those that do not fit a byte.
    large: Mutex<HashMap<u32, (u32, bool)>>,
}

/// The size is in the other list.
const LARGE: u8 = u8::MAX;

impl DirectorySizes {
    pub(super) fn new(directories: u32) -> Self {
        Self {
            small: std::iter::repeat_with(AtomicU8::default)
                .take(directories as usize)
                .collect(),
            large: Mutex::default(),
        }
    }

    /// Blocks of a directory, and whether it has an index; `find` is called the first time.
    pub(super) fn of(&self, directory: u32, find: impl FnOnce() -> (u32, bool)) -> (u32, bool) {
        let Some(small) = self.small.get(directory as usize) else {
            return find();
        };
        let large = || self.large.lock().unwrap_or_else(PoisonError::into_inner);
        match small.load(Ordering::Acquire) {
            0 => {}
            LARGE => {
                if let Some(found) = large().get(&directory) {
                    return *found;
                }
            }
            byte => return (u32::from((byte - 1) >> 1), byte & 1 == 0),
        }
        let (blocks, index) = find();
        if blocks < u32::from(LARGE >> 1) {
            let byte = 1 + ((blocks as u8) << 1 | u8::from(index));
            small.store(byte, Ordering::Release);
        } else {
            large().insert(directory, (blocks, index));
            small.store(LARGE, Ordering::Release);
        }
        (blocks, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_found_once_and_kept() {
        let sizes = DirectorySizes::new(300);
        for round in 0..2 {
            for directory in 0..300 {
                let size = (directory / 2 * 7, directory % 3 == 0);
                let found = sizes.of(directory, || {
                    assert_eq!(round, 0, "{directory} is computed again");
                    size
                });
                assert_eq!(found, size);
            }
        }
        assert_eq!(sizes.of(300, || (9, true)), (9, true));
    }
}
