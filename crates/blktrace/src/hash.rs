//! A hash for numbers that come from the kernel: fast, and good enough for sectors and threads.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds [`Mix`].
pub(crate) type Fast = BuildHasherDefault<Mix>;

/// A multiplication and a shift (the finalizer of MurmurHash3, half of it).
#[derive(Clone, Copy, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.0 = mixed ^ (mixed >> 32);
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
