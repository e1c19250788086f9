//! The encryption context: the value of the attribute `c` with index 9 of an encrypted inode.
//!
//! Two versions exist (Documentation/filesystems/fscrypt.rst, struct fscrypt_context). Two contexts are
//! the same policy when all but their nonces agree; a child must have its directory's.

/// The attribute's name, without its index.
pub const XATTR_NAME: &[u8] = b"c";

/// The shortest encrypted name, in bytes: one block of the cipher.
pub const SHORTEST_NAME: usize = 16;

/// The newest version known here.
pub const NEWEST_VERSION: u8 = 2;

/// A context of either version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// The policy, equal for a directory and what is in it.
    pub policy: Policy,
    /// Chosen at random for each inode.
    pub nonce: [u8; 16],
}

/// What a context says but its nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How contents are encrypted.
    pub contents_mode: u8,
    /// How names are encrypted.
    pub filenames_mode: u8,
    /// Padding of names and kinds of keys.
    pub flags: u8,
    /// The version's own part.
    pub key: Key,
}

/// How the master key is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Version 1.
    Descriptor([u8; 8]),
    /// Version 2.
    Identifier {
        /// Binary logarithm of the bytes encrypted at once, 0 for a whole block.
        log2_data_unit_size: u8,
        /// Zero.
        reserved: [u8; 3],
        /// A hash of the key.
        identifier: [u8; 16],
    },
}

impl Context {
    /// Reads the attribute's value; `None` when neither version has this length and first byte. A first byte
    /// above [`NEWEST_VERSION`] is no damage, but a version of later kernels.
    pub fn read(value: &[u8]) -> Option<Self> {
        let [version, contents_mode, filenames_mode, flags, rest @ ..] = value else {
            return None;
        };
        let key = match (version, rest.len()) {
            (1, 24) => Key::Descriptor(rest[..8].try_into().ok()?),
            (2, 36) => Key::Identifier {
                log2_data_unit_size: rest[0],
                reserved: rest[1..4].try_into().ok()?,
                identifier: rest[4..20].try_into().ok()?,
            },
            _ => return None,
        };
        let policy = Policy {
            contents_mode: *contents_mode,
            filenames_mode: *filenames_mode,
            flags: *flags,
            key,
        };
        Some(Self {
            policy,
            nonce: *rest.last_chunk()?,
        })
    }

    /// The attribute's value.
    pub fn to_bytes(self) -> Vec<u8> {
        let Policy {
            contents_mode,
            filenames_mode,
            flags,
            key,
        } = self.policy;
        let mut bytes = vec![0, contents_mode, filenames_mode, flags];
        match key {
            Key::Descriptor(descriptor) => {
                bytes[0] = 1;
                bytes.extend(descriptor);
            }
            Key::Identifier {
                log2_data_unit_size,
                reserved,
                identifier,
            } => {
                bytes[0] = 2;
                bytes.push(log2_data_unit_size);
                bytes.extend(reserved);
                bytes.extend(identifier);
            }
        }
        bytes.extend(self.nonce);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_context_is_written_as_read(mut bytes in proptest::collection::vec(any::<u8>(), 0..50)) {
            if let Some(first) = bytes.first_mut() {
                *first = 1 + (*first & 1);
            }
            match Context::read(&bytes) {
                Some(context) => prop_assert_eq!(context.to_bytes(), bytes),
                None => prop_assert!(!matches!((bytes.first(), bytes.len()), (Some(1), 28) | (Some(2), 40))),
            }
        }
    }
}
