//! The journal, jbd2: big-endian, unlike everything else.
//!
//! A transaction is descriptor blocks, each before the data blocks it describes, revocation blocks, and a commit
//! block. Checksums came in three versions: one CRC-32 over a transaction in its commit block
//! (`COMPAT_CHECKSUM`), then CRC-32C in each block and, cut to 16 bits, each tag (`CSUM_V2`), then whole
//! in each tag (`CSUM_V3`). Fast commits use the blocks at the end of the journal and a format of their
//! own, little-endian again ([`fast_commit`]). Source: Documentation/filesystems/ext4/journal.rst,
//! include/linux/jbd2.h.

pub mod block;
pub mod descriptor;
pub mod fast_commit;
pub mod superblock;

pub use block::{BlockType, Header};
pub use descriptor::Tag;
pub use superblock::{JournalSuperblock, TagFormat};

/// `h_magic` of every block that is not data.
pub const MAGIC: u32 = 0xc03b_3998;

/// Big-endian 32 bits at `at`, if they are within `bytes`.
fn be32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let end = at.checked_add(4)?;
    Some(u32::from_be_bytes(bytes.get(at..end)?.try_into().ok()?))
}

/// Big-endian 16 bits at `at`, if they are within `bytes`.
fn be16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let end = at.checked_add(2)?;
    Some(u16::from_be_bytes(bytes.get(at..end)?.try_into().ok()?))
}
