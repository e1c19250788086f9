//! Encryption with a key that does not exist: contexts, and the targets of symbolic links.
//!
//! Without the key, ciphertext is random, so random bytes take its place. Its lengths are as real ones.
//! A target is encrypted like a name, in whole blocks of the cipher, padded to 16 bytes as the policy says, and cut where
//! a block of the filesystem ends; its length precedes it in two bytes (`struct fscrypt_symlink_data`), and after it the
//! kernel keeps room for a NUL that `i_size` does not count. Directories, regular files and symbolic links are encrypted;
//! devices, pipes and sockets have nothing to encrypt, and no context. Source: Documentation/filesystems/fscrypt.rst.

use ondisk::ext4::encryption::{self, Context, Key, Policy};
use ondisk::ext4::xattr::{NewEntry, NewValue};

use super::Contents;
use crate::ext4::plan::{Kind, ObjectId};
use crate::population::{Purpose, scramble};

/// Bytes of the attribute that holds a context.
pub(super) const ENTRY: usize = 20 + 40;
/// Bytes after an inode's fields that a context needs.
pub(super) const CONTEXT: usize = 4 + ENTRY + 4;
/// Bytes before and after the ciphertext of a target: its length, and the NUL.
pub(super) const AROUND_TARGET: u64 = LENGTH + 1;
/// Bytes of the length.
const LENGTH: u64 = 2;
/// Bytes to which the policy pads.
const PADDING: u64 = 16;
/// The namespace of encryption contexts, which has no prefix.
const ENCRYPTION: u8 = 9;
/// `FSCRYPT_MODE_AES_256_XTS`.
const AES_256_XTS: u8 = 1;
/// `FSCRYPT_MODE_AES_256_CTS`.
const AES_256_CTS: u8 = 4;
/// `FSCRYPT_POLICY_FLAGS_PAD_16`.
const PADDED_TO_16: u8 = 2;

/// Bytes that an encrypted target takes (`i_size`): of a target of `plain` bytes, which with [`AROUND_TARGET`] fits a block.
pub(super) fn stored_target(plain: u64, block_size: u32) -> u64 {
    let room = u64::from(block_size) - AROUND_TARGET;
    let shortest = encryption::SHORTEST_NAME as u64;
    LENGTH + plain.max(shortest).next_multiple_of(PADDING).min(room)
}

impl Contents {
    /// Whether an object below the root is encrypted.
    pub(super) fn is_encrypted(&self, kind: Kind) -> bool {
        self.population.profile().names.encrypted
            && matches!(kind, Kind::File | Kind::FastSymlink | Kind::Symlink)
    }

    /// The context of an encrypted inode; all of a filesystem have one policy, as a directory and what is in it must.
    pub(super) fn context(&self, id: ObjectId) -> NewEntry {
        let (a, b) = (u64::from(id.directory), u64::from(id.slot));
        let key = self.population.key(Purpose::Content);
        let words = [0, 1].map(|nth| key.of(a << 32 | b, nth).to_le_bytes());
        let [low, high] = [0, 1].map(|nth| key.of(u64::MAX, nth).to_le_bytes());
        let mut identifier = [0; 16];
        identifier[..8].copy_from_slice(&low);
        identifier[8..].copy_from_slice(&high);
        let mut nonce = [0; 16];
        nonce.copy_from_slice(words.as_flattened());
        let context = Context {
            policy: Policy {
                contents_mode: AES_256_XTS,
                filenames_mode: AES_256_CTS,
                flags: PADDED_TO_16,
                key: Key::Identifier {
                    log2_data_unit_size: 0,
                    reserved: [0; 3],
                    identifier,
                },
            },
            nonce,
        };
        NewEntry {
            index: ENCRYPTION,
            name: encryption::XATTR_NAME.to_vec(),
            value: NewValue::Here(context.to_bytes()),
        }
    }

    /// The bytes of an encrypted target, `length` with the two of the ciphertext's own length.
    pub(super) fn encrypted_target(&self, id: ObjectId, length: u64) -> Vec<u8> {
        let ciphertext = length.saturating_sub(LENGTH) as u16;
        let mut target = ciphertext.to_le_bytes().to_vec();
        let mut random = self.population.target_seed(id);
        while (target.len() as u64) < length {
            random = scramble(random.wrapping_add(target.len() as u64));
            target.extend(random.to_le_bytes());
        }
        target.truncate(length as usize);
        // A zero in the second word of `i_block` would say to e2fsck that a link with a block of attributes has other blocks, too.
        if let Some(byte) = target.get_mut(4) {
            *byte = (*byte).max(1);
        }
        target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_whole_blocks_of_the_cipher() {
        for (plain, stored) in [
            (1, 18),
            (16, 18),
            (17, 34),
            (48, 50),
            (49, 66),
            (1009, 1023),
            (1021, 1023),
        ] {
            assert_eq!(stored_target(plain, 1024), stored, "{plain}");
        }
    }
}
