//! Bytes of a block device past the page cache.
//!
//! A store on persistent memory is read and written by the processor that serves it. Through the page cache each byte would be there twice,
//! and the kernel would write it back when it likes.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

/// Requests, and the memory for them, begin and end at multiples of this: a logical block of most devices.
const BLOCK: u64 = 512;
/// Bytes that are moved at a time.
const CHUNK: u64 = 1 << 20;
/// What the memory is aligned to: a page, which each device takes.
const ALIGNED: usize = 4096;

/// A device, and memory that its requests can use: nothing is allocated while it serves.
pub(super) struct Direct {
    file: File,
    memory: Vec<u8>,
    /// Where the aligned part begins.
    from: usize,
}

/// A part of a request: the bytes of the device that are moved, whole blocks, and those of the request among them.
struct Part {
    begin: u64,
    len: usize,
    /// In the memory.
    wanted: Range<usize>,
    /// In the request.
    of: Range<usize>,
}

impl Direct {
    /// On a file that is open with `O_DIRECT`.
    pub(super) fn new(file: File) -> Direct {
        // A chunk that begins and ends within blocks has one block more.
        let memory = vec![0; (CHUNK + 2 * BLOCK) as usize + ALIGNED];
        let from = memory.as_ptr().align_offset(ALIGNED).min(ALIGNED);
        Direct { file, memory, from }
    }

    pub(super) fn read(&mut self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        for part in parts(offset, bytes.len()) {
            let memory = &mut self.memory[self.from..self.from + part.len];
            self.file.read_exact_at(memory, part.begin)?;
            bytes[part.of].copy_from_slice(&memory[part.wanted]);
        }
        Ok(())
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        for part in parts(offset, bytes.len()) {
            let memory = &mut self.memory[self.from..self.from + part.len];
            if part.wanted != (0..part.len) {
                self.file.read_exact_at(memory, part.begin)?;
            }
            memory[part.wanted].copy_from_slice(&bytes[part.of]);
            self.file.write_all_at(memory, part.begin)?;
        }
        Ok(())
    }
}

/// The parts of a request.
fn parts(offset: u64, len: usize) -> impl Iterator<Item = Part> {
    let end = offset + len as u64;
    let mut at = offset;
    std::iter::from_fn(move || {
        let to = end.min(at.saturating_add(CHUNK) / BLOCK * BLOCK);
        // Less than a block is left, or nothing.
        let to = if to <= at { end } else { to };
        if at >= end {
            return None;
        }
        let begin = at / BLOCK * BLOCK;
        let part = Part {
            begin,
            len: (to.div_ceil(BLOCK) * BLOCK - begin) as usize,
            wanted: (at - begin) as usize..(to - begin) as usize,
            of: (at - offset) as usize..(to - offset) as usize,
        };
        at = to;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZE: usize = 4 << 20;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn bytes_are_where_they_were_written(
            writes in prop::collection::vec((0..SIZE, 1..2 * CHUNK as usize, any::<u8>()), 1..8),
        ) {
            // A file takes what a device takes, and less: the blocks are checked here.
            let file = tempfile::tempfile().unwrap();
            file.set_len(SIZE as u64).unwrap();
            let mut direct = Direct::new(file);
            prop_assert_eq!(direct.memory[direct.from..].as_ptr().align_offset(ALIGNED), 0);
            let mut expected = vec![0_u8; SIZE];
            for (from, len, byte) in writes {
                let to = (from + len).min(SIZE);
                for part in parts(from as u64, to - from) {
                    let len = part.len as u64;
                    prop_assert!(part.begin.is_multiple_of(BLOCK) && len.is_multiple_of(BLOCK));
                    prop_assert!(part.len as u64 <= CHUNK + 2 * BLOCK);
                }
                let bytes: Vec<u8> = (0..to - from).map(|i| byte.wrapping_add(i as u8)).collect();
                direct.write(from as u64, &bytes).unwrap();
                expected[from..to].copy_from_slice(&bytes);
                let mut read = vec![0; to - from];
                direct.read(from as u64, &mut read).unwrap();
                prop_assert!(read == bytes);
            }
            let mut all = vec![0; SIZE];
            direct.read(0, &mut all).unwrap();
            prop_assert!(all == expected);
        }
    }
}
