//! The block of multiple mount protection: who uses the filesystem, and a number that a living user changes.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Checksum, Error, Seed, view, view_mut};

/// `mmp_magic`, "PMM" with a zero byte.
pub const MAGIC: u32 = 0x004d_4d50;
/// `mmp_seq`: the filesystem is not in use.
pub const SEQ_CLEAN: u32 = 0xff4d_4d50;
/// `mmp_seq`: a checker uses it.
pub const SEQ_FSCK: u32 = 0xe24d_4d50;
/// `mmp_seq`: the highest of a mount.
pub const SEQ_MAX: u32 = 0xe24d_4d4f;

/// `struct mmp_struct`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Mmp {
    /// [`MAGIC`].
    pub mmp_magic: U32,
    /// Changed every few seconds by a mount.
    pub mmp_seq: U32,
    /// Last update, seconds.
    pub mmp_time: U64,
    /// Host of the user, zero-padded.
    pub mmp_nodename: [u8; 64],
    /// Device at the user, zero-padded.
    pub mmp_bdevname: [u8; 32],
    /// Seconds between updates.
    pub mmp_check_interval: U16,
    /// Zero.
    pub mmp_pad1: U16,
    /// Zero.
    pub mmp_pad2: [U32; 226],
    /// CRC-32C, with `metadata_csum`.
    pub mmp_checksum: U32,
}

const _: () = assert!(size_of::<Mmp>() == 1024);

/// Who holds the filesystem, by `mmp_seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Not in use.
    Clean,
    /// A checker.
    Fsck,
    /// A mount, alive or crashed.
    Mount(u32),
    /// The number is none of these.
    Unknown(u32),
}

impl Mmp {
    /// The block at the start of `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] and [`Error::Magic`].
    pub fn read(bytes: &[u8]) -> Result<&Self, Error> {
        let this: &Self = view("MMP block", bytes)?;
        let found = this.mmp_magic.get();
        if found == MAGIC {
            return Ok(this);
        }
        Err(Error::Magic {
            what: "MMP block mmp_magic",
            found,
            expected: MAGIC,
        })
    }

    /// Who holds the filesystem.
    pub fn holder(&self) -> Holder {
        match self.mmp_seq.get() {
            SEQ_CLEAN => Holder::Clean,
            SEQ_FSCK => Holder::Fsck,
            seq if seq <= SEQ_MAX => Holder::Mount(seq),
            seq => Holder::Unknown(seq),
        }
    }

    /// The checksum; meaningful only with `metadata_csum`.
    pub fn checksum(&self, seed: Seed) -> Checksum {
        let bytes = self.as_bytes();
        Checksum {
            stored: self.mmp_checksum.get(),
            computed: seed.over(&bytes[..bytes.len() - 4]),
        }
    }
}

/// Writes a block without a holder to the start of `bytes`.
///
/// # Errors
///
/// [`Error::Short`] below 1024 bytes.
pub fn write_clean(
    bytes: &mut [u8],
    interval: u16,
    time: u64,
    seed: Option<Seed>,
) -> Result<(), Error> {
    bytes.fill(0);
    let mmp: &mut Mmp = view_mut("MMP block", bytes)?;
    mmp.mmp_magic = MAGIC.into();
    mmp.mmp_seq = SEQ_CLEAN.into();
    mmp.mmp_time = time.into();
    mmp.mmp_check_interval = interval.into();
    if let Some(seed) = seed {
        mmp.mmp_checksum = mmp.checksum(seed).computed.into();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_block_reads_back() {
        let mut block = [0; 1024];
        write_clean(&mut block, 5, 1_700_000_000, Some(Seed(9))).unwrap();
        let mmp = Mmp::read(&block).unwrap();
        assert_eq!(mmp.holder(), Holder::Clean);
        assert!(mmp.checksum(Seed(9)).matches());
        assert!(!mmp.checksum(Seed(8)).matches());
        block[0] ^= 1;
        assert!(matches!(
            Mmp::read(&block),
            Err(Error::Magic {
                expected: MAGIC,
                ..
            })
        ));
    }
}
