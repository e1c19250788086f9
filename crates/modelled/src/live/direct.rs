//! Bytes of a block device past the page cache.
//!
//! A store on persistent memory is read and written by the processor that serves it. Through the page cache each byte would be there twice,
//! and the kernel would write it back when it likes.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use blockio::Buffer;

/// Requests, and the memory for them, begin and end at multiples of this: a logical block of most devices.
const BLOCK: u64 = 512;
/// Bytes that are moved at a time.
const CHUNK: u64 = 1 << 20;
/// Bytes of a unit of which it is known whether it was written.
const UNIT: u64 = 64 << 10;

/// A device, and memory that its requests can use: nothing is allocated while it serves.
pub(super) struct Direct {
    file: File,
    memory: Buffer,
    /// Whether each unit may have something else than zeros: a filesystem that is made gives up the whole device first.
    written: Vec<bool>,
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
    /// On a device that is open with `O_DIRECT`, and blank or not.
    pub(super) fn new(file: File, size: u64, blank: bool) -> io::Result<Direct> {
        Ok(Direct {
            file,
            // A chunk that begins and ends within blocks has one block more; a page is what each device takes.
            memory: Buffer::new((CHUNK + 2 * BLOCK) as usize, 1)?,
            written: vec![!blank; size.div_ceil(UNIT) as usize],
        })
    }

    pub(super) fn read(&mut self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        for part in parts(offset, bytes.len()) {
            let memory = &mut self.memory.whole()[..part.len];
            self.file.read_exact_at(memory, part.begin)?;
            bytes[part.of].copy_from_slice(&memory[part.wanted]);
        }
        Ok(())
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        for part in parts(offset, bytes.len()) {
            let memory = &mut self.memory.whole()[..part.len];
            if part.wanted != (0..part.len) {
                self.file.read_exact_at(memory, part.begin)?;
            }
            memory[part.wanted].copy_from_slice(&bytes[part.of]);
            self.file.write_all_at(memory, part.begin)?;
        }
        if !bytes.is_empty() {
            let last = (offset + bytes.len() as u64 - 1) / UNIT;
            self.written[(offset / UNIT) as usize..=last as usize].fill(true);
        }
        Ok(())
    }

    /// Writes zeros where something was written.
    pub(super) fn discard(&mut self, offset: u64, len: u64) -> io::Result<()> {
        static ZEROS: [u8; UNIT as usize] = [0; UNIT as usize];
        let end = offset + len;
        for unit in offset / UNIT..end.div_ceil(UNIT) {
            if !self.written[unit as usize] {
                continue;
            }
            let (begin, after) = (unit * UNIT, (unit + 1) * UNIT);
            let (from, to) = (offset.max(begin), end.min(after));
            self.write(from, &ZEROS[..(to - from) as usize])?;
            self.written[unit as usize] = (from, to) != (begin, after);
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

    #[test]
    fn what_was_there_before_is_given_up_too() {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &vec![7; SIZE]).unwrap();
        let mut direct = Direct::new(file, SIZE as u64, false).unwrap();
        direct.discard(1 << 20, 2 << 20).unwrap();
        let mut all = vec![1; SIZE];
        direct.read(0, &mut all).unwrap();
        let zeros = 1 << 20..3 << 20;
        let is_right = |(at, byte): (usize, &u8)| *byte == if zeros.contains(&at) { 0 } else { 7 };
        assert!(all.iter().enumerate().all(is_right));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn bytes_are_where_they_were_written(
            writes in prop::collection::vec((0..SIZE, 1..2 * CHUNK as usize, any::<u8>(), any::<bool>()), 1..8),
        ) {
            // A file takes what a device takes, and less: the blocks are checked here.
            let file = tempfile::tempfile().unwrap();
            file.set_len(SIZE as u64).unwrap();
            let mut direct = Direct::new(file, SIZE as u64, true).unwrap();
            prop_assert_eq!(direct.memory.whole().as_ptr().align_offset(4096), 0);
            let mut expected = vec![0_u8; SIZE];
            for (from, len, byte, is_discarded) in writes {
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
                if is_discarded {
                    let (from, to) = (from + len / 3, (from + len / 3 + len).min(SIZE));
                    if from < to {
                        direct.discard(from as u64, (to - from) as u64).unwrap();
                        expected[from..to].fill(0);
                    }
                }
            }
            let mut all = vec![0; SIZE];
            direct.read(0, &mut all).unwrap();
            prop_assert!(all == expected);
        }
    }
}
