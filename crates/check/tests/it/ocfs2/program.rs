//! Bytes as damage: which volume, and what is written into it. Any bytes are a program.
//!
//! The coverage fuzzer of `crates/check/fuzz` makes them; a test runs a few.

#![allow(dead_code, reason = "the fuzz target and the test each use a part")]

use std::collections::BTreeMap;

use blockio::Ram;
use ondisk::ocfs2::{
    Trailer, chain, check, dinode, directory, extent, feature, index, refcount, xattr,
};

use super::volume::{Image, Made};

/// Bytes of the header: the volume, and how it is checked.
pub(crate) const HEADER: usize = 2;
/// Bytes of a step.
pub(crate) const STEP: usize = 10;
/// Steps that are taken; more would only take time.
const STEPS: usize = 32;
/// Where most fields are, bytes from the start of a block.
const HEAD: usize = 0x120;

/// The volumes: block and cluster sizes, and features.
pub(crate) const BASES: [Made; 3] = [
    Made {
        block: 4096,
        cluster: 4096,
        options: &["--fs-features=metaecc"],
    },
    Made {
        block: 1024,
        cluster: 4096,
        options: &[],
    },
    Made {
        block: 2048,
        cluster: 16384,
        options: &["--fs-features=noindexed-dirs"],
    },
];

/// A sound volume that is damaged and mended again and again.
pub(crate) struct Base {
    /// The volume, as the checker sees it.
    pub(crate) ram: Ram,
    sound: Vec<u8>,
    size: usize,
    sealed: bool,
    /// Blocks of metadata, and where their checksums are.
    blocks: Vec<(u64, usize)>,
}

impl Base {
    pub(crate) fn new(image: Image) -> Base {
        let size = image.layout.block_size();
        let blocks = (2..image.layout.blocks())
            .filter_map(|number| Some((number, place(image.block(number))?)))
            .collect();
        Base {
            ram: Ram::new(&image.bytes),
            size,
            sealed: image.has(feature::META_ECC),
            sound: image.bytes,
            blocks,
        }
    }

    fn sound(&self, block: u64) -> &[u8] {
        &self.sound[block as usize * self.size..][..self.size]
    }

    /// Damages the volume by the steps of a program; the blocks that were changed.
    pub(crate) fn damage(&mut self, program: &[u8]) -> Vec<u64> {
        let mut changed = BTreeMap::new();
        for step in program.chunks_exact(STEP).take(STEPS) {
            self.step(step, &mut changed);
        }
        for (block, bytes) in &changed {
            self.ram.put(block * self.size as u64, bytes);
        }
        changed.into_keys().collect()
    }

    /// Undoes the damage.
    pub(crate) fn mend(&mut self, changed: &[u64]) {
        for &block in changed {
            let at = block as usize * self.size;
            self.ram.put(at as u64, &self.sound[at..at + self.size]);
        }
    }

    fn step(&self, step: &[u8], changed: &mut BTreeMap<u64, Vec<u8>>) {
        let word = |at: usize| usize::from(u16::from_le_bytes([step[at], step[at + 1]]));
        let value = u32::from_le_bytes([step[6], step[7], step[8], step[9]]);
        let nth = word(0) % self.blocks.len();
        let (number, check) = self.blocks[nth];
        let other = self.blocks[value as usize % self.blocks.len()].0;
        let block = changed
            .entry(number)
            .or_insert_with(|| self.sound(number).to_vec());
        let (how, choice) = (step[4], step[5]);
        if how & 0xf0 == 0xf0 {
            block.copy_from_slice(self.sound(other));
        } else {
            let reach = if how & 0x10 == 0 {
                HEAD.min(self.size)
            } else {
                self.size
            };
            let width = [1, 2, 4, 8][usize::from(how & 3)];
            let at = word(2) % reach / width * width;
            let field = &mut block[at..at + width];
            let mut old = [0; 8];
            old[..width].copy_from_slice(field);
            let old = u64::from_le_bytes(old);
            let blocks = self.sound.len() as u64 / self.size as u64;
            let new = match choice % 14 {
                0 => 0,
                1 => u64::MAX,
                2 => old.wrapping_add(1),
                3 => old.wrapping_sub(1),
                4 => old ^ 1 << (value % (width as u32 * 8)),
                5 | 6 => other,
                7 => number,
                8 => u64::from(value) % blocks,
                9 => blocks.wrapping_add(u64::from(value % 3)).wrapping_sub(1),
                10 => u64::from(value % 64),
                11 => self.size as u64,
                12 => old.rotate_left(8),
                _ => u64::from(value),
            };
            field.copy_from_slice(&new.to_le_bytes()[..width]);
        }
        if self.sealed && how & 0x0c != 0x0c {
            // A block that is too short for its check has none.
            let _ = check::store(block, check);
        }
    }
}

/// Where the checksum of a block of metadata is; none for other blocks.
fn place(block: &[u8]) -> Option<usize> {
    let kinds = [
        (dinode::SIGNATURE, dinode::CHECK),
        (chain::SIGNATURE, 0x30),
        (extent::SIGNATURE, 0x08),
        (index::ROOT_SIGNATURE, 0x08),
        (index::LEAF_SIGNATURE, 0x08),
        (xattr::SIGNATURE, 0x18),
        (refcount::SIGNATURE, 0x20),
        (*b"OCFSV2\0\0", dinode::CHECK),
    ];
    let signed = kinds
        .into_iter()
        .find(|(signature, _)| block.starts_with(&signature[..6]));
    if let Some((_, check)) = signed {
        return Some(check);
    }
    let trailer = Trailer::offset(block.len());
    let has = block[trailer + 0x10..].starts_with(&directory::SIGNATURE[..7]);
    has.then(|| Trailer::check_offset(block.len()))
}
