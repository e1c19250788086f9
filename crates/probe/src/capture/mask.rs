//! Which events the kernel is asked for: blktrace's categories.
//!
//! The kernel logs an event when it has **any** of the bits. The names are those of `blktrace -a`
//! and of `/sys/block/X/trace/act_mask` (kernel/trace/blktrace.c, `mask_maps`).

use std::fmt;

use super::Error;

/// Name and bit; `barrier` and `pc` are blktrace's other words.
const NAMES: [(&str, u16); 16] = [
    ("read", 1),
    ("write", 1 << 1),
    ("flush", 1 << 2),
    ("sync", 1 << 3),
    ("queue", 1 << 4),
    ("requeue", 1 << 5),
    ("issue", 1 << 6),
    ("complete", 1 << 7),
    ("fs", 1 << 8),
    ("pc", 1 << 9),
    ("notify", 1 << 10),
    ("ahead", 1 << 11),
    ("meta", 1 << 12),
    ("discard", 1 << 13),
    ("drv_data", 1 << 14),
    ("fua", 1 << 15),
];

/// Categories of events; all of them by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask(u16);

impl Default for Mask {
    fn default() -> Self {
        Mask(u16::MAX)
    }
}

impl Mask {
    /// Reads `queue,issue,complete`.
    ///
    /// # Errors
    /// A word that is no category, or no word at all.
    pub fn parse(text: &str) -> Result<Mask, Error> {
        let mut bits = 0;
        for word in text.split(',').map(str::trim) {
            let known = NAMES.iter().find(|(name, _)| *name == word);
            bits |= known.map(|(_, bit)| bit).ok_or_else(|| Error::Category {
                word: word.to_owned(),
                known: NAMES.map(|(name, _)| name).join(", "),
            })?;
        }
        Ok(Mask(bits))
    }

    /// The bits, as `act_mask` takes them.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether an event with this action word is asked for.
    pub(super) const fn wants(self, action: u32) -> bool {
        // A split has no category, and a mask of everything lets it through.
        self.0 == u16::MAX || (self.0 as u32) << 16 & action != 0
    }
}

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Mask::default() {
            return f.write_str("all");
        }
        let set = NAMES.iter().filter(|(_, bit)| self.0 & bit != 0);
        let names: Vec<&str> = set.map(|(name, _)| *name).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_blktrace() {
        let mask = Mask::parse("queue, complete").unwrap();
        assert_eq!(mask.bits(), 0x90);
        assert_eq!(mask.to_string(), "queue,complete");
        assert_eq!(Mask::default().to_string(), "all");
        for wrong in ["", "queue,,issue", "Q", "queue complete"] {
            assert!(Mask::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn any_bit_is_enough() {
        let mask = Mask::parse("queue,complete").unwrap();
        assert!(mask.wants(0x0011_0001));
        assert!(!mask.wants(0x0141_0007));
        assert!(!mask.wants(13), "a split");
        assert!(Mask::default().wants(13));
    }
}
