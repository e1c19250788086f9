//! What the children of a phase share: the flags that stop them and the counters that show them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Flag: the first child has finished; what is done from now on does not count.
pub const STONEWALL: u32 = 1;
/// Flag: the phase fails or was interrupted; all children stop at the next record.
pub const ABORT: u32 = 2;

/// The flags of a phase, on a cache line of their own: they are read at every record and written
/// once or twice.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Flags(AtomicU32);

impl Flags {
    /// Raises a flag.
    pub fn raise(&self, flag: u32) {
        self.0.fetch_or(flag, Ordering::Release);
    }

    /// Whether any of these flags is up.
    #[inline]
    pub fn up(&self, flags: u32) -> bool {
        self.0.load(Ordering::Relaxed) & flags != 0
    }
}

/// Records one child has done. 128 bytes apart, since processors fetch cache lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counter(AtomicU64);

impl Counter {
    /// Shows a new number. A plain store: only the owner writes.
    #[inline]
    pub fn show(&self, records: u64) {
        self.0.store(records, Ordering::Relaxed);
    }

    /// The number last seen.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
