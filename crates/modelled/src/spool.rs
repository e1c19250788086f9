//! Requests of a record: the last of them in memory, the others in a temporary file.
//!
//! A trace may be larger than memory, and an interval takes a dozen replays of it. So a trace is read once, and what a replay needs
//! of each request (52 bytes) is put into a file without a name. Each replay reads it through a cache of its own, of a few
//! megabytes. Rejected: reading the trace again for each replay. A request's dependencies are known only when its
//! completion has been read, and the longest think time only at the end.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use device::Op;
use device::replay::{Error, Keep, Kept, Outline, Recorded, Requests, linked};

/// Bytes of a request in the file.
const ENTRY: usize = 52;
/// Requests that are kept in memory at most, of 72 bytes each: 27 MiB.
const IN_MEMORY: usize = 3 << 17;
/// Requests that are read together.
const BLOCK: u32 = 512;
/// Blocks that a reader keeps: 2 MiB.
const BLOCKS: usize = 64;

/// Links to no request.
const NONE: u32 = u32::MAX;

/// Requests while they are added.
#[derive(Debug)]
pub(crate) struct Spool {
    /// Those before `base`.
    file: Option<File>,
    base: u32,
    tail: Vec<Kept>,
    most: usize,
}

impl Default for Spool {
    fn default() -> Spool {
        Spool::holding(IN_MEMORY)
    }
}

impl Spool {
    /// Keeps this number of requests in memory, at least 2.
    pub(crate) fn holding(most: usize) -> Spool {
        Spool {
            file: None,
            base: 0,
            tail: Vec::new(),
            most: most.max(2),
        }
    }

    /// Moves the older half to the file: what is changed later is mostly new.
    fn spill(&mut self) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let old = self.tail.len() / 2;
        let bytes: Vec<u8> = self.tail[..old].iter().flat_map(to_bytes).collect();
        file.write_all_at(&bytes, place(self.base))?;
        self.tail.drain(..old);
        self.base += old as u32;
        Ok(())
    }

    /// The finished record.
    pub(crate) fn finish(self, outline: Outline) -> Spooled {
        Spooled {
            file: self.file.map(Arc::new),
            base: self.base,
            tail: Arc::new(self.tail),
            outline,
        }
    }
}

fn failed(error: &std::io::Error) -> Error {
    Error::Kept(format!("a temporary file of requests: {error}"))
}

fn place(number: u32) -> u64 {
    u64::from(number) * ENTRY as u64
}

impl Keep for Spool {
    fn push(&mut self, kept: Kept) -> Result<(), Error> {
        if self.tail.len() >= self.most {
            self.spill().map_err(|error| failed(&error))?;
        }
        self.tail.push(kept);
        Ok(())
    }

    fn change(&mut self, number: u32, change: &mut dyn FnMut(&mut Kept)) -> Result<(), Error> {
        if let Some(place) = number.checked_sub(self.base) {
            return self.tail.change(place, change);
        }
        let file = self.file.as_ref().ok_or(Error::NoSuch(number))?;
        let mut bytes = [0; ENTRY];
        file.read_exact_at(&mut bytes, place(number))
            .map_err(|error| failed(&error))?;
        let mut kept = from_bytes(&bytes);
        change(&mut kept);
        file.write_all_at(&to_bytes(&kept), place(number))
            .map_err(|error| failed(&error))
    }
}

/// The requests of a record.
#[derive(Clone, Debug)]
pub struct Spooled {
    file: Option<Arc<File>>,
    base: u32,
    tail: Arc<Vec<Kept>>,
    outline: Outline,
}

impl Spooled {
    /// Of a record in memory.
    ///
    /// # Errors
    /// It is not in order.
    pub fn of(record: &[Recorded]) -> Result<Spooled, Error> {
        let (kept, outline) = linked(record)?;
        Ok(Spooled {
            file: None,
            base: 0,
            tail: Arc::new(kept),
            outline,
        })
    }

    /// What is known of the whole.
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// Takes them as a part of requests of this many bytes of a device.
    pub fn widen(&mut self, size: u64) {
        self.outline.size = self.outline.size.max(size);
    }

    /// Reads requests by number; several can read at once.
    pub fn reader(&self) -> Reader<'_> {
        Reader {
            of: self,
            blocks: Vec::new(),
        }
    }
}

/// Reads requests through a cache of blocks.
pub struct Reader<'a> {
    of: &'a Spooled,
    /// The block of each slot, by its number: a block has one slot.
    blocks: Vec<Option<(u32, Vec<Kept>)>>,
}

impl Requests for Reader<'_> {
    fn get(&mut self, number: u32) -> Result<Kept, Error> {
        if let Some(place) = number.checked_sub(self.of.base) {
            return Requests::get(&mut self.of.tail.as_slice(), place);
        }
        let file = self.of.file.as_ref().ok_or(Error::NoSuch(number))?;
        if self.blocks.is_empty() {
            self.blocks.resize_with(BLOCKS, || None);
        }
        let block = number / BLOCK;
        let slot = &mut self.blocks[block as usize % BLOCKS];
        let kept = match slot {
            Some((of, kept)) if *of == block => kept,
            slot => {
                let from = block * BLOCK;
                let count = BLOCK.min(self.of.base - from) as usize;
                let mut bytes = vec![0; count * ENTRY];
                file.read_exact_at(&mut bytes, place(from))
                    .map_err(|error| failed(&error))?;
                let (entries, _) = bytes.as_chunks::<ENTRY>();
                &mut slot
                    .insert((block, entries.iter().map(from_bytes).collect()))
                    .1
            }
        };
        Requests::get(&mut kept.as_slice(), number % BLOCK)
    }
}

const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Flush, Op::Discard];

fn to_bytes(kept: &Kept) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    let longs = [
        kept.submitted,
        kept.offset,
        kept.len,
        kept.gap.unwrap_or(u64::MAX),
    ];
    for (to, long) in bytes[..32].as_chunks_mut::<8>().0.iter_mut().zip(longs) {
        *to = long.to_le_bytes();
    }
    let shorts = [
        kept.next.unwrap_or(NONE),
        kept.reaction.unwrap_or(NONE),
        kept.sibling.unwrap_or(NONE),
        kept.depth,
    ];
    for (to, short) in bytes[32..48].as_chunks_mut::<4>().0.iter_mut().zip(shorts) {
        *to = short.to_le_bytes();
    }
    bytes[48] = OPS.iter().position(|op| *op == kept.op).unwrap_or(0) as u8;
    bytes[49] = u8::from(kept.fua);
    bytes[50] = u8::from(kept.follows);
    bytes[51] = u8::from(kept.is_timed);
    bytes
}

fn from_bytes(bytes: &[u8; ENTRY]) -> Kept {
    let long = |nth: usize| u64::from_le_bytes(bytes[..32].as_chunks::<8>().0[nth]);
    let short = |nth: usize| u32::from_le_bytes(bytes[32..48].as_chunks::<4>().0[nth]);
    Kept {
        submitted: long(0),
        offset: long(1),
        len: long(2),
        gap: Some(long(3)).filter(|gap| *gap != u64::MAX),
        next: Some(short(0)).filter(|next| *next != NONE),
        reaction: Some(short(1)).filter(|reaction| *reaction != NONE),
        sibling: Some(short(2)).filter(|sibling| *sibling != NONE),
        depth: short(3),
        op: OPS[usize::from(bytes[48]) % OPS.len()],
        fua: bytes[49] != 0,
        follows: bytes[50] != 0,
        is_timed: bytes[51] != 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(number: u64) -> Kept {
        Kept {
            submitted: number * 1000,
            op: OPS[number as usize % 4],
            offset: number << 12,
            len: number % 7 * 512,
            fua: number.is_multiple_of(3),
            depth: number as u32 % 5,
            gap: number.is_multiple_of(2).then_some(number),
            follows: number > 0,
            is_timed: number.is_multiple_of(13),
            next: None,
            reaction: number.is_multiple_of(11).then_some(number as u32 + 3),
            sibling: number.is_multiple_of(17).then_some(number as u32 + 5),
        }
    }

    #[test]
    fn memory_is_bounded_and_all_requests_come_back_with_what_was_added_later() {
        const MOST: usize = 100;
        const COUNT: u32 = 40_000;
        let mut spool = Spool::holding(MOST);
        for number in 0..COUNT {
            spool.push(kept(u64::from(number))).unwrap();
            assert!(spool.tail.len() <= MOST);
            // One that is new, one that has long been in the file.
            for of in [number.saturating_sub(1), number / 2] {
                spool
                    .change(of, &mut |kept| kept.next = Some(number))
                    .unwrap();
            }
        }
        let spooled = spool.finish(linked(&[]).unwrap().1);
        assert!(spooled.base >= COUNT - MOST as u32);
        let mut reader = spooled.reader();
        // Far apart, so that blocks are read again and slots are used by several.
        for step in 0..u64::from(COUNT) {
            let number = (step * 15_013 % u64::from(COUNT)) as u32;
            // The last change was made with a number twice as large, or with the next one.
            let later = [2 * number + 1, number + 1];
            let expected = Kept {
                next: later.into_iter().find(|number| *number < COUNT),
                ..kept(u64::from(number))
            };
            assert_eq!(reader.get(number), Ok(expected), "{number}");
        }
        assert_eq!(reader.blocks.len(), BLOCKS);
        assert!(reader.get(COUNT).is_err());
    }

    proptest! {
        #[test]
        fn a_request_is_read_back_as_it_was(
            longs in (0..u64::MAX, any::<u64>(), any::<u64>(), proptest::option::of(0..u64::MAX)),
            links in prop::array::uniform3(proptest::option::of(0..NONE)),
            depth in any::<u32>(),
            op in 0..4_usize,
            flags in any::<(bool, bool, bool)>(),
        ) {
            let kept = Kept {
                submitted: longs.0,
                offset: longs.1,
                len: longs.2,
                gap: longs.3,
                next: links[0],
                reaction: links[1],
                sibling: links[2],
                depth,
                op: OPS[op],
                fua: flags.0,
                follows: flags.1,
                is_timed: flags.2,
            };
            prop_assert_eq!(from_bytes(&to_bytes(&kept)), kept);
        }
    }
}
