//! The hashes of names in indexed directories.
//!
//! Six of the seven versions are three functions, each over signed or unsigned characters: an accident of
//! early days, when the sign of `char` differed between machines, that is now part of the format. The
//! directory's root names the function, the superblock's flags the sign. The seventh, SipHash, is used where
//! names are both encrypted and case-folded; its key is secret, and so such directories store each hash beside the name.
//!
//! The result is a major hash, which orders the index and whose lowest bit is 0 (in the index that bit marks a
//! collision that continues in the next block), and a minor one that only orders readdir.

mod half_md4;
mod lanes;
mod legacy;
mod siphash;
pub(crate) mod tea;

pub use lanes::LANES;
pub use siphash::siphash;

/// A hash function with its sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HashVersion {
    /// The first hash, signed characters.
    Legacy,
    /// MD4 cut in half, signed characters.
    HalfMd4,
    /// The Tiny Encryption Algorithm, signed characters.
    Tea,
    /// The first hash, unsigned characters.
    LegacyUnsigned,
    /// MD4 cut in half, unsigned characters.
    HalfMd4Unsigned,
    /// The Tiny Encryption Algorithm, unsigned characters.
    TeaUnsigned,
    /// SipHash-2-4 with a secret key.
    SipHash,
}

impl HashVersion {
    /// The version that a root or superblock stores as `number`; 3 to 5 are never stored, but mean the
    /// unsigned forms.
    pub fn from_disk(number: u8, unsigned: bool) -> Option<Self> {
        Some(match (number, unsigned) {
            (0, false) => Self::Legacy,
            (1, false) => Self::HalfMd4,
            (2, false) => Self::Tea,
            (0, true) | (3, _) => Self::LegacyUnsigned,
            (1, true) | (4, _) => Self::HalfMd4Unsigned,
            (2, true) | (5, _) => Self::TeaUnsigned,
            (6, _) => Self::SipHash,
            _ => return None,
        })
    }

    /// The number to store: without the sign.
    pub fn to_disk(self) -> u8 {
        match self {
            Self::Legacy | Self::LegacyUnsigned => 0,
            Self::HalfMd4 | Self::HalfMd4Unsigned => 1,
            Self::Tea | Self::TeaUnsigned => 2,
            Self::SipHash => 6,
        }
    }

    /// Whether characters above 127 count as positive.
    pub fn is_unsigned(self) -> bool {
        matches!(
            self,
            Self::LegacyUnsigned | Self::HalfMd4Unsigned | Self::TeaUnsigned
        )
    }
}

/// A name's place in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameHash {
    /// Orders the index; the lowest bit is 0.
    pub major: u32,
    /// Orders names of equal major hash in readdir.
    pub minor: u32,
}

impl NameHash {
    /// Makes the major hash even and keeps it off the value that stands for the end of a directory.
    fn cooked(major: u32, minor: u32) -> Self {
        /// The kernel's end of directory as a readdir position, shifted to a hash.
        const END: u32 = 0x7fff_ffff << 1;
        let even = major & !1;
        Self {
            major: if even == END { END - 2 } else { even },
            minor,
        }
    }

    /// The hash of a name under a key of SipHash.
    pub fn sip(name: &[u8], key: [u64; 2]) -> Self {
        let whole = siphash(key, name);
        Self::cooked((whole >> 32) as u32, whole as u32)
    }
}

/// The start values when the superblock's seed is all zeros: MD4's own.
const DEFAULT_SEED: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The hash of a name as it is stored (encrypted names: the encrypted bytes; folded directories: the folded
/// name). `None` for SipHash, which needs a key: [`NameHash::sip`].
pub fn name_hash(version: HashVersion, seed: [u32; 4], name: &[u8]) -> Option<NameHash> {
    side_by_side(version, seed, &[name]).map(|[hash]| hash)
}

/// The same of several names, which takes little longer than that of one: [`name_hash`] of each, whatever their
/// lengths. Where there are fewer names the rest may be empty.
pub fn name_hashes(
    version: HashVersion,
    seed: [u32; 4],
    names: &[&[u8]; LANES],
) -> Option<[NameHash; LANES]> {
    side_by_side(version, seed, names)
}

fn side_by_side<const N: usize>(
    version: HashVersion,
    seed: [u32; 4],
    names: &[&[u8]; N],
) -> Option<[NameHash; N]> {
    let start = if seed == [0; 4] { DEFAULT_SEED } else { seed };
    let unsigned = version.is_unsigned();
    let [major, minor] = match version {
        HashVersion::Legacy | HashVersion::LegacyUnsigned => {
            [names.map(|name| legacy::hash(name, unsigned)), [0; N]]
        }
        HashVersion::HalfMd4 | HashVersion::HalfMd4Unsigned => {
            half_md4::hash(start, names, unsigned)
        }
        HashVersion::Tea | HashVersion::TeaUnsigned => tea::hash(start, names, unsigned),
        HashVersion::SipHash => return None,
    };
    let cooked = |lane| NameHash::cooked(major[lane], minor[lane]);
    Some(std::array::from_fn(cooked))
}

/// A character as the hash sees it.
fn character(byte: u8, unsigned: bool) -> u32 {
    if unsigned {
        u32::from(byte)
    } else {
        i32::from(byte.cast_signed()).cast_unsigned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Names of different lengths end at different blocks; bytes above 127 have two meanings.
        #[test]
        fn names_side_by_side_hash_as_each_alone(
            seed in prop_oneof![Just([0; 4]), any::<[u32; 4]>()],
            names in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..=255), LANES),
        ) {
            let names: [&[u8]; LANES] = std::array::from_fn(|lane| &names[lane][..]);
            for number in 0..=6 {
                for unsigned in [false, true] {
                    let version = HashVersion::from_disk(number, unsigned).unwrap();
                    let alone: Option<Vec<NameHash>> =
                        names.iter().map(|name| name_hash(version, seed, name)).collect();
                    let together = name_hashes(version, seed, &names).map(Vec::from);
                    prop_assert_eq!(together, alone);
                }
            }
        }
    }

    #[test]
    fn versions_lead_back() {
        for number in [0, 1, 2, 6] {
            for unsigned in [false, true] {
                let version = HashVersion::from_disk(number, unsigned).unwrap();
                assert_eq!(version.to_disk(), number);
            }
        }
        assert_eq!(HashVersion::from_disk(7, false), None);
    }

    #[test]
    fn the_end_of_the_directory_is_never_a_hash() {
        assert_eq!(
            NameHash::cooked(0xffff_ffff, 3),
            NameHash {
                major: 0xffff_fffc,
                minor: 3
            }
        );
        assert_eq!(NameHash::cooked(0xffff_fffd, 3).major, 0xffff_fffc);
    }

    #[test]
    fn the_sign_matters_only_beyond_ascii() {
        let pairs = [
            (HashVersion::Legacy, HashVersion::LegacyUnsigned),
            (HashVersion::HalfMd4, HashVersion::HalfMd4Unsigned),
            (HashVersion::Tea, HashVersion::TeaUnsigned),
        ];
        for (signed, unsigned) in pairs {
            let both = |name: &[u8]| {
                (
                    name_hash(signed, [0; 4], name),
                    name_hash(unsigned, [0; 4], name),
                )
            };
            let (left, right) = both(b"a plain name, longer than thirty-two bytes");
            assert_eq!(left, right);
            let (left, right) = both("Übergröße".as_bytes());
            assert_ne!(left, right);
        }
    }
}
