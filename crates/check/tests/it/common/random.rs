//! Numbers that look like chance, and are the same for a seed.
#![allow(dead_code, reason = "each test file uses a part")]

/// Xorshift (Marsaglia 2003): enough for places and values.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// One below a limit; 0 where that is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    /// One of these, of which there is one.
    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// A value that means something somewhere: bounds, small numbers, any.
    pub(crate) fn value(&mut self) -> u32 {
        match self.below(8) {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << self.below(32),
            3 => (1 << self.below(32)) - 1,
            4 | 5 => self.below(80) as u32,
            _ => self.below(1 << 32) as u32,
        }
    }
}
