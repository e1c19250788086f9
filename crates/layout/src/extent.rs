//! One row of a file's map, as the kernel reports it.

use serde::{Serialize, Serializer};

/// One row: a piece of a file and its place. All numbers are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// Offset in the file.
    pub logical: u64,
    /// Position on the filesystem; meaningless where [`Flags::has_location`] is false.
    pub physical: u64,
    /// Length. With `encoded`, the length in the file; on the disk it is shorter.
    pub length: u64,
    /// The kernel's flags.
    pub flags: Flags,
}

impl Extent {
    /// The first byte of the file after it.
    pub fn logical_end(&self) -> u64 {
        self.logical.saturating_add(self.length)
    }

    /// The first byte of the filesystem after it.
    pub fn physical_end(&self) -> u64 {
        self.physical.saturating_add(self.length)
    }
}

/// `FIEMAP_EXTENT_*` (include/uapi/linux/fiemap.h). In JSON: a list of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u32);

impl Flags {
    /// The last row of the file.
    pub const LAST: Flags = Flags(0x1);
    /// It has no place yet, or an unknown one.
    pub const UNKNOWN: Flags = Flags(0x2);
    /// Written, but no blocks chosen yet.
    pub const DELALLOC: Flags = Flags(0x4);
    /// The bytes on the disk are not the file's (compressed).
    pub const ENCODED: Flags = Flags(0x8);
    /// Encrypted.
    pub const ENCRYPTED: Flags = Flags(0x80);
    /// Not aligned to blocks.
    pub const NOT_ALIGNED: Flags = Flags(0x100);
    /// Within the metadata.
    pub const INLINE: Flags = Flags(0x200);
    /// Together with the tails of other files.
    pub const TAIL: Flags = Flags(0x400);
    /// Reserved, and read as zeros.
    pub const UNWRITTEN: Flags = Flags(0x800);
    /// Put together from single blocks.
    pub const MERGED: Flags = Flags(0x1000);
    /// Shared with other files.
    pub const SHARED: Flags = Flags(0x2000);

    /// Names of the flags, in the order in which filefrag prints them.
    pub const NAMES: [(Flags, &'static str); 11] = [
        (Flags::LAST, "last"),
        (Flags::UNKNOWN, "unknown_loc"),
        (Flags::DELALLOC, "delalloc"),
        (Flags::ENCODED, "encoded"),
        (Flags::ENCRYPTED, "encrypted"),
        (Flags::NOT_ALIGNED, "not_aligned"),
        (Flags::INLINE, "inline"),
        (Flags::TAIL, "tail_packed"),
        (Flags::UNWRITTEN, "unwritten"),
        (Flags::MERGED, "merged"),
        (Flags::SHARED, "shared"),
    ];

    /// Whether all bits of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether the row's physical address is one.
    pub fn has_location(self) -> bool {
        self.0 & (Flags::UNKNOWN.0 | Flags::DELALLOC.0 | Flags::INLINE.0) == 0
    }

    /// The flags that rows of one run share: all but those of how the kernel split them.
    pub(crate) fn kind(self) -> u32 {
        self.0 & !(Flags::LAST.0 | Flags::MERGED.0)
    }

    /// The names; bits without a name as filefrag prints them, `0x40`.
    pub fn names(self) -> Vec<String> {
        let mut rest = self.0;
        let mut names = Vec::new();
        for (flag, name) in Flags::NAMES {
            if self.has(flag) {
                names.push(name.to_owned());
                rest &= !flag.0;
            }
        }
        let unknown = (0..32)
            .map(|bit| 1_u32 << bit)
            .filter(|bit| rest & bit != 0);
        names.extend(unknown.map(|bit| format!("{bit:#04x}")));
        names
    }
}

impl Serialize for Flags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_filefrags_order_and_unknown_bits_as_hex() {
        let flags = Flags::SHARED.with(Flags::LAST).with(Flags(0x40));
        assert_eq!(flags.names(), ["last", "shared", "0x40"]);
        assert_eq!(Flags(0x10).names(), ["0x10"]);
        assert_eq!(serde_json::to_string(&Flags(1)).unwrap(), "[\"last\"]");
    }

    #[test]
    fn only_a_row_that_lies_somewhere_has_a_location() {
        assert!(Flags::UNWRITTEN.with(Flags::LAST).has_location());
        assert!(!Flags::DELALLOC.with(Flags::UNKNOWN).has_location());
        assert!(!Flags::INLINE.has_location());
    }

    #[test]
    fn ends_do_not_overflow() {
        let extent = Extent {
            logical: u64::MAX,
            length: 9,
            ..Extent::default()
        };
        assert_eq!(extent.logical_end(), u64::MAX);
    }
}
