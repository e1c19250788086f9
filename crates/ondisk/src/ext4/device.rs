//! Device numbers in the first two words of a device inode's `i_block`.
//!
//! The old form (word 0) has 8 bits each for major and minor; the new one (word 1) 12 and 20, spread as in the
//! kernel's `new_encode_dev`. A writer uses the old form whenever it can hold the number; the other
//! word is then zero.

/// A device's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// The driver.
    pub major: u32,
    /// The unit.
    pub minor: u32,
}

impl Device {
    /// Reads the two words; word 1 counts when word 0 is zero.
    pub fn from_disk(words: [u32; 2]) -> Self {
        match words {
            [0, new] => Self {
                major: new >> 8 & 0xfff,
                minor: (new & 0xff) | (new >> 12 & 0xf_ff00),
            },
            [old, _] => Self {
                major: old >> 8 & 0xff,
                minor: old & 0xff,
            },
        }
    }

    /// The two words, `None` for numbers beyond 12 and 20 bits.
    pub fn to_disk(self) -> Option<[u32; 2]> {
        if self.major < 256 && self.minor < 256 {
            return Some([self.major << 8 | self.minor, 0]);
        }
        (self.major < 1 << 12 && self.minor < 1 << 20).then_some([
            0,
            (self.minor & 0xff) | self.major << 8 | (self.minor & !0xff) << 12,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_small_number_takes_the_old_word() {
        assert_eq!(Device { major: 8, minor: 1 }.to_disk(), Some([0x801, 0]));
        assert_eq!(
            Device {
                major: 259,
                minor: 0x12345
            }
            .to_disk(),
            Some([0, 0x1231_0345])
        );
        assert_eq!(
            Device {
                major: 4096,
                minor: 0
            }
            .to_disk(),
            None
        );
    }

    proptest! {
        #[test]
        fn both_ways(major in 0_u32..1 << 12, minor in 0_u32..1 << 20) {
            let device = Device { major, minor };
            prop_assert_eq!(Device::from_disk(device.to_disk().unwrap()), device);
        }
    }
}
