//! Numbers from a seed: which field, and which wrong value.

use ondisk::ext4::inode::number;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::super::error::{Error, missing};
use super::super::field::{self, Field};
use super::super::filesystem::Filesystem;
use super::known::Known;

/// Numbers that would be legal somewhere.
pub(in crate::damage) struct Limits {
    pub(in crate::damage) blocks: u64,
    pub(in crate::damage) inodes: u64,
    pub(in crate::damage) block_size: u64,
}

impl Limits {
    pub(super) fn of(fs: &Filesystem<'_>) -> Limits {
        Limits {
            blocks: fs.geometry().blocks_count,
            inodes: fs.geometry().inodes_count().into(),
            block_size: fs.geometry().block_size.into(),
        }
    }
}

/// Draws, from the seed alone: ChaCha8 is specified bit by bit, and the key is made here.
pub(in crate::damage) struct Draw(ChaCha8Rng);

impl Draw {
    pub(in crate::damage) fn new(seed: u64) -> Draw {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Draw(ChaCha8Rng::from_seed(key))
    }

    /// A number below `end`; 0 where that is 0.
    pub(in crate::damage) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }

    pub(in crate::damage) fn of<'t, T>(
        &mut self,
        list: &'t [T],
        what: &'static str,
    ) -> Result<&'t T, Error> {
        match list.get(self.below(list.len() as u64) as usize) {
            Some(found) => Ok(found),
            None => missing(what),
        }
    }

    /// An inode in use; a third of the draws hits the first 16, which are special.
    pub(super) fn inode(&mut self, known: &Known) -> u32 {
        let some = if self.below(3) == 0 {
            known.used.len().min(16)
        } else {
            known.used.len()
        };
        known
            .used
            .get(self.below(some as u64) as usize)
            .copied()
            .unwrap_or(number::ROOT)
    }

    /// Changes a field of a structure at `base`, and describes the change.
    pub(super) fn field(
        &mut self,
        bytes: &mut [u8],
        base: usize,
        table: &[Field],
        limits: &Limits,
    ) -> String {
        let mut field = table[self.below(table.len() as u64) as usize];
        field.at += base;
        let old = field::get(bytes, field);
        let new = self.value(bytes, base, table, field, limits);
        field::put(bytes, field, new);
        format!("{}: {old:#x} -> {new:#x}", field.name)
    }

    /// The same where numbers begin with their highest byte.
    pub(super) fn field_big_endian(
        &mut self,
        bytes: &mut [u8],
        table: &[Field],
        limits: &Limits,
    ) -> String {
        let field = table[self.below(table.len() as u64) as usize];
        let shift = 64 - field.width * 8;
        let turned = |value: u64| value.swap_bytes() >> shift;
        let old = turned(field::get(bytes, field));
        let new = self.new_value(old, field.width, limits);
        field::put(bytes, field, turned(new));
        format!("{}: {old:#x} -> {new:#x}", field.name)
    }

    pub(super) fn value(
        &mut self,
        bytes: &[u8],
        base: usize,
        table: &[Field],
        field: Field,
        limits: &Limits,
    ) -> u64 {
        let old = field::get(bytes, field);
        if self.below(12) == 0 {
            // Another field of the same structure has slipped here.
            let mut other = table[self.below(table.len() as u64) as usize];
            other.at += base;
            let slipped = field::get(bytes, other) & mask(field.width);
            if slipped != old {
                return slipped;
            }
        }
        self.new_value(old, field.width, limits)
    }

    /// Another value than the old one.
    pub(in crate::damage) fn new_value(&mut self, old: u64, width: usize, limits: &Limits) -> u64 {
        let mask = mask(width);
        for _ in 0..8 {
            let new = match self.below(11) {
                0 => 0,
                1 => mask,
                2 => old.wrapping_add(1),
                3 => old.wrapping_sub(1),
                4 | 5 => old ^ 1 << self.below(width as u64 * 8),
                6 => self.0.next_u64(),
                7 => self.below(limits.blocks),
                8 => self.below(limits.inodes) + 1,
                9 => self.below(limits.block_size) & !3,
                _ => self.below(16),
            } & mask;
            if new != old {
                return new;
            }
        }
        !old & mask
    }
}

pub(super) fn mask(width: usize) -> u64 {
    u64::MAX >> (64 - width * 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_value_is_another_and_fits() {
        let limits = Limits {
            blocks: 20_000,
            inodes: 768,
            block_size: 1024,
        };
        let mut draw = Draw::new(3);
        for width in [1, 2, 4, 8] {
            for _ in 0..2000 {
                let old = draw.0.next_u64() & mask(width);
                let new = draw.new_value(old, width, &limits);
                assert!(new != old && new <= mask(width));
            }
        }
    }

    #[test]
    fn draws_are_even_and_below_the_end() {
        let mut draw = Draw::new(9);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[draw.below(7) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| (9500..10_500).contains(count)),
            "{counts:?}"
        );
        assert_eq!(draw.below(0), 0);
    }
}
