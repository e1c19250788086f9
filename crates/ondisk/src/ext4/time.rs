//! Times with 34 bits of seconds and 30 bits of nanoseconds.
//!
//! The old field holds signed seconds. An inode large enough has a second field whose two low bits count
//! epochs of 2^32 seconds and whose other 30 bits are nanoseconds. The epochs are *added* to the
//! signed value, so that old dates before 1970 stay what they are; the range ends in the year 2446.
//! Source: Documentation/filesystems/ext4/inodes.rst, "Inode Timestamps".

/// The first second that is not representable.
pub const END: i64 = 0x3_7fff_ffff + 1;

/// A moment: seconds since 1970 and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time {
    /// Seconds, negative before 1970.
    pub seconds: i64,
    /// Nanoseconds as stored; legal below 10^9, but the field reaches 2^30.
    pub nanoseconds: u32,
}

impl Time {
    /// Joins the two fields; `extra` is `None` in an inode that has no room for it.
    pub fn from_disk(seconds: u32, extra: Option<u32>) -> Self {
        let signed = i64::from(seconds.cast_signed());
        let extra = extra.unwrap_or(0);
        Self {
            seconds: signed + (i64::from(extra & 3) << 32),
            nanoseconds: extra >> 2,
        }
    }

    /// The two fields, `None` outside of the range or with more nanoseconds than the field holds.
    pub fn to_disk(self) -> Option<(u32, u32)> {
        if !(i64::from(i32::MIN)..END).contains(&self.seconds) || self.nanoseconds >= 1 << 30 {
            return None;
        }
        let low = self.seconds as u32;
        let epoch = (self.seconds - i64::from(low.cast_signed())) >> 32;
        Some((low, (epoch as u32) | self.nanoseconds << 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rows of the table in the kernel's documentation.
    #[test]
    fn the_documented_ranges() {
        for (epoch, seconds, expected) in [
            (0, 0x8000_0000, -0x8000_0000),
            (0, 0x7fff_ffff, 0x7fff_ffff),
            (1, 0x8000_0000, 0x8000_0000),
            (1, 0, 0x1_0000_0000),
            (2, 0x8000_0000, 0x1_8000_0000),
            (3, 0x7fff_ffff, 0x3_7fff_ffff_i64),
        ] {
            assert_eq!(Time::from_disk(seconds, Some(epoch)).seconds, expected);
        }
        assert_eq!(
            Time {
                seconds: END,
                nanoseconds: 0
            }
            .to_disk(),
            None
        );
    }

    proptest! {
        #[test]
        fn both_ways(seconds: u32, extra: u32) {
            let time = Time::from_disk(seconds, Some(extra));
            prop_assert_eq!(time.to_disk(), Some((seconds, extra)));
        }
    }
}
