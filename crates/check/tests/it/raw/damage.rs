//! Bytes as damage: which filesystem to start from, and what is written into it.
//!
//! A fuzzer that turned bits of an image would never get past its first checksum. So an input is a short program: a
//! header, and then steps of [`STEP`] bytes, each of which writes a value into a structure, and gives the structure the
//! checksum that fits, mostly. Any bytes are a program. One kind of header takes the rest of the input as an image outright.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::pedantic,
    reason = "the fuzz target, the test and the example each use a part"
)]

use std::ops::Range;

use forge::damage::{Filesystem, Map, Random, Seal, random};
use ondisk::ext4::Superblock;
use ondisk::ext4::superblock::{OFFSET, SIZE};
use zerocopy::{FromBytes, IntoBytes};

use super::bases::{Base, Image, Use};

/// Bytes of the header.
pub const HEADER: usize = 6;
/// Bytes of a step.
pub const STEP: usize = 12;
/// Steps that are taken; more would only take time.
const STEPS: usize = 48;

/// What is to be checked, and how.
pub struct Subject {
    /// The image.
    pub image: Image,
    /// Where reads fail.
    pub failing: Vec<Range<u64>>,
    /// Threads.
    pub threads: usize,
    /// By the older reference's rules.
    pub old: bool,
    /// A superblock to open it by.
    pub superblock: Option<u64>,
}

/// Makes the image that an input stands for.
pub fn decode(bases: &[Base], input: &[u8]) -> Subject {
    let mut header = [0; HEADER];
    let n = input.len().min(HEADER);
    header[..n].copy_from_slice(&input[..n]);
    let rest = input.get(HEADER..).unwrap_or_default();
    let [which, how, seed, more, failing, size] = header;
    let mut subject = Subject {
        image: Image::default(),
        failing: Vec::new(),
        threads: 1 + usize::from(how & 1),
        old: how & 2 != 0,
        superblock: (how & 0xfc == 0xfc).then_some(u64::from(seed)),
    };
    match bases.get(usize::from(which) % (bases.len() + 1)) {
        Some(base) => {
            subject.image = base.image.clone();
            if more > 0 {
                let what = Random {
                    count: u32::from(more % 4),
                    seed: u64::from(seed) | u64::from(how) << 8,
                    seal: None,
                };
                let _ = random(&mut subject.image, &what);
            }
            steps(base, &mut subject.image, rest);
        }
        None => subject.image = outright(rest, how & 4 == 0),
    }
    let image = &mut subject.image;
    if failing > 200 {
        let start = image.len / 256 * u64::from(failing.wrapping_mul(37));
        let start = start / 512 * 512;
        subject
            .failing
            .push(start..start + 512 * u64::from(failing - 200));
    }
    match size {
        // A device of another size: cut short, or extended by terabytes of zeros.
        200..=219 => image.len = image.len / 20 * u64::from(size - 199),
        220..=235 => image.len <<= size - 219,
        _ => {}
    }
    subject
}

/// These bytes as an image; the superblock may be given its checksum.
fn outright(bytes: &[u8], seal: bool) -> Image {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(1024).max(4096), 0);
    let at = OFFSET as usize;
    if let (true, Ok(sb)) = (seal, Superblock::read_from_bytes(&bytes[at..at + SIZE])) {
        let mut sb = sb;
        sb.s_magic = ondisk::ext4::superblock::MAGIC.into();
        sb.seal();
        bytes[at..at + SIZE].copy_from_slice(sb.as_bytes());
    }
    Image::new(&bytes)
}

fn steps(base: &Base, image: &mut Image, program: &[u8]) {
    let Ok(mut fs) = Filesystem::open(image) else {
        return;
    };
    for step in program.chunks_exact(STEP).take(STEPS) {
        let step = Step {
            kind: step[0],
            which: u16::from_le_bytes([step[1], step[2]]).into(),
            at: u16::from_le_bytes([step[3], step[4]]).into(),
            width: [1, 2, 4, 4][usize::from(step[5] & 3)],
            seal: step[5] >> 2 != 1,
            choice: step[6],
            seal_last: step[7] & 1 == 0,
            value: u32::from_le_bytes([step[8], step[9], step[10], step[11]]),
        };
        fs.seal = if step.seal { Seal::Again } else { Seal::Keep };
        // What cannot be done leaves the image as it is.
        let _ = step.take(base, &mut fs);
    }
}

struct Step {
    kind: u8,
    which: usize,
    at: usize,
    width: usize,
    seal: bool,
    choice: u8,
    seal_last: bool,
    value: u32,
}

impl Step {
    fn take(&self, base: &Base, fs: &mut Filesystem<'_>) -> Result<(), forge::damage::Error> {
        let groups = fs.geometry().groups;
        let numbers = self.numbers(base, fs);
        match self.kind % 16 {
            0 | 1 => fs.edit_superblock(|sb| self.put(sb.as_mut_bytes(), self.at, &numbers)),
            2 => fs.edit_descriptor(self.which as u32 % groups, |desc| {
                self.put(desc.raw.as_mut_bytes(), self.at % 64, &numbers);
            }),
            3 => fs.edit_descriptors(self.which as u32 % groups, |desc| {
                self.put(desc.raw.as_mut_bytes(), self.at % 64, &numbers);
            }),
            4..=6 => {
                let ino = self.inode(base, fs);
                fs.edit_inode(ino, |slot| {
                    let bytes = slot.bytes();
                    // Most of what matters comes first.
                    let reach = if self.seal_last { 160 } else { bytes.len() };
                    self.put(bytes, self.at % reach.min(bytes.len()), &numbers);
                    Ok(())
                })
            }
            7 => {
                // An entry of the tree's root, or a pointer.
                let ino = self.inode(base, fs);
                fs.edit_inode(ino, |slot| {
                    self.put(slot.bytes(), 40 + self.at % 15 * 4, &numbers);
                    Ok(())
                })
            }
            8..=11 => self.block(base, fs, &numbers),
            12 => self.copy(base, fs),
            13 => {
                let at = (self.which << 16 | self.at) as u64;
                let block = at % fs.medium_blocks();
                fs.edit_block(block, |bytes| self.put(bytes, self.at, &numbers))
            }
            14 => {
                let (_, block) = self.place(base);
                fs.edit_block(block, |bytes| {
                    let from = self.at % bytes.len();
                    let end = (from + self.value as usize % bytes.len()).min(bytes.len());
                    bytes[from..end].fill(self.choice);
                })
            }
            // Many bits of a bitmap.
            _ => {
                let map = if self.seal_last {
                    Map::Blocks
                } else {
                    Map::Inodes
                };
                fs.edit_bitmap(self.which as u32 % groups, map, |bytes| {
                    let from = self.at % bytes.len();
                    let end = (from + self.value as usize % 64).min(bytes.len());
                    bytes[from..end].fill(self.choice);
                })
            }
        }
    }

    fn place(&self, base: &Base) -> (Use, u64) {
        base.blocks[self.which % base.blocks.len()]
    }

    fn inode(&self, base: &Base, fs: &Filesystem<'_>) -> u32 {
        if self.which >> 14 == 3 {
            return self.which as u32 % fs.geometry().inodes_count() + 1;
        }
        base.inodes[self.which % base.inodes.len()]
    }

    /// Numbers that would be legal somewhere.
    fn numbers(&self, base: &Base, fs: &Filesystem<'_>) -> [u64; 4] {
        let geometry = fs.geometry();
        let value = u64::from(self.value);
        [
            value % geometry.blocks_count,
            value % u64::from(geometry.inodes_count()) + 1,
            base.blocks[self.value as usize % base.blocks.len()].1,
            (value % u64::from(geometry.block_size)) & !3,
        ]
    }

    /// Writes a value at a place.
    fn put(&self, bytes: &mut [u8], at: usize, numbers: &[u64; 4]) {
        let at = at % bytes.len() / self.width * self.width;
        let mut old = [0; 8];
        old[..self.width].copy_from_slice(&bytes[at..at + self.width]);
        let old = u64::from_le_bytes(old);
        let new = match self.choice % 16 {
            0 => 0,
            1 => u64::MAX,
            2 => old.wrapping_add(1),
            3 => old.wrapping_sub(1),
            4 => old ^ 1 << (self.value % (self.width as u32 * 8)),
            5 | 6 => numbers[0],
            7 => numbers[1],
            8..=10 => numbers[2],
            11 => numbers[3],
            12 => u64::from(self.value % 64),
            _ => u64::from(self.value),
        };
        bytes[at..at + self.width].copy_from_slice(&new.to_le_bytes()[..self.width]);
    }

    /// Changes a block of metadata, which keeps its checksum right.
    fn block(
        &self,
        base: &Base,
        fs: &mut Filesystem<'_>,
        numbers: &[u64; 4],
    ) -> Result<(), forge::damage::Error> {
        let (what, block) = self.place(base);
        let edit = |bytes: &mut [u8]| {
            // Headers and first entries, as often as anything.
            let reach = if self.seal_last { 128 } else { bytes.len() };
            self.put(bytes, self.at % reach, numbers);
        };
        self.edit(fs, what, block, edit)
    }

    fn edit(
        &self,
        fs: &mut Filesystem<'_>,
        what: Use,
        block: u64,
        edit: impl FnOnce(&mut [u8]),
    ) -> Result<(), forge::damage::Error> {
        match what {
            Use::Extents(ino) => fs.edit_extent_node(ino, block, edit),
            Use::Directory(ino) => fs.edit_directory_block(ino, block, edit),
            Use::Attributes => fs.edit_attribute_block(block, edit),
            Use::Bitmap(group, map) => fs.edit_bitmap(group, map, edit),
            Use::Pointers | Use::Other => fs.edit_block(block, edit),
        }
    }

    /// Writes a block over another, with the checksum of its new place.
    fn copy(&self, base: &Base, fs: &mut Filesystem<'_>) -> Result<(), forge::damage::Error> {
        let (_, from) = base.blocks[self.value as usize % base.blocks.len()];
        let (what, to) = self.place(base);
        let bytes = fs.block(from)?;
        self.edit(fs, what, to, |there| there.copy_from_slice(&bytes))
    }
}
