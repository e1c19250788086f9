//! Hashes of attributes, by which the kernel finds blocks that can be shared, and the checksum of a block.

use super::Header;
use crate::ext4::Error;
use crate::ext4::checksum::{Checksum, Seed, crc32c};

/// How bytes of a name count in its hash. The kernel meant unsigned; on machines with a signed `char` it hashed
/// signed for years, and a checker takes either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// As written today.
    Unsigned,
    /// As written by older kernels.
    Signed,
}

/// The hash of an attribute whose value is at hand.
pub fn entry_hash(name: &[u8], value: &[u8], sign: Sign) -> u32 {
    value.chunks(4).fold(name_hash(name, sign), |hash, chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        hash.rotate_left(16) ^ u32::from_le_bytes(word)
    })
}

/// The hash of an attribute whose value is in an inode: the hash of the value is used for it.
pub fn entry_hash_of_inode(name: &[u8], value_hash: u32, sign: Sign) -> u32 {
    name_hash(name, sign).rotate_left(16) ^ value_hash
}

/// The hash of a value in its own inode, as that inode stores it
/// ([`Inode::ea_hash`](crate::ext4::Inode::ea_hash)). `seed` is [`Superblock::seed`](crate::ext4::Superblock::seed).
pub fn value_hash(seed: Seed, value: &[u8]) -> u32 {
    seed.over(value)
}

pub(super) fn name_hash(name: &[u8], sign: Sign) -> u32 {
    name.iter().fold(0_u32, |hash, byte| {
        let byte = match sign {
            Sign::Unsigned => u32::from(*byte),
            Sign::Signed => i32::from(byte.cast_signed()).cast_unsigned(),
        };
        hash.rotate_left(5) ^ byte
    })
}

/// The hash of a whole block from those of its entries.
pub fn block_hash(hashes: impl IntoIterator<Item = u32>) -> u32 {
    let mut all = 0_u32;
    for hash in hashes {
        if hash == 0 {
            return 0;
        }
        all = all.rotate_left(16) ^ hash;
    }
    all
}

/// The checksum of the attribute block at `block` of the device. It belongs to no inode, since several may
/// share it, but to its place.
///
/// # Errors
///
/// [`Error::Short`], [`Error::Magic`].
pub fn checksum(bytes: &[u8], block: u64, seed: Seed) -> Result<Checksum, Error> {
    const AT: usize = 16;
    let header = Header::read(bytes)?;
    let mut crc = crc32c(seed.0, &block.to_le_bytes());
    crc = crc32c(crc, &bytes[..AT]);
    crc = crc32c(crc, &[0; 4]);
    Ok(Checksum {
        stored: header.h_checksum.get(),
        computed: crc32c(crc, &bytes[AT + 4..]),
    })
}
