//! Extended attributes: in the inode behind its fields, in a block that inodes may share, and their
//! values in inodes of their own.
//!
//! Entries grow from the front, values from the back; an entry points to its value by an
//! offset that counts from the start of the block, or, in an inode, from the first entry. A list ends at four
//! zero bytes. Reading is in two steps, because damage has two kinds: [`List::entries`] follows the list and breaks
//! off where that is broken; [`List::value`] fails for a single entry whose value lies outside.
//! Source: Documentation/filesystems/ext4/attributes.rst.

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::checksum::{Checksum, Seed, crc32c};
use super::{Error, u16_at, u32_at, view, view_mut};

/// `h_magic` of a block and of the part in an inode.
pub const MAGIC: u32 = 0xea02_0000;
/// Bytes of a block's header.
pub const HEADER: usize = 32;
const ENTRY: usize = 16;
const END: usize = 4;

/// The namespaces with a number, and the prefix each stands for.
pub const PREFIXES: [(u8, &str); 10] = [
    (1, "user."),
    (2, "system.posix_acl_access"),
    (3, "system.posix_acl_default"),
    (4, "trusted."),
    (5, "lustre."),
    (6, "security."),
    (7, "system."),
    (8, "system.richacl"),
    (9, "encryption."),
    (10, "gnu."),
];

/// The prefix of a namespace, `None` for a number without one.
pub fn prefix(index: u8) -> Option<&'static str> {
    PREFIXES
        .iter()
        .find(|(number, _)| *number == index)
        .map(|(_, prefix)| *prefix)
}

/// `struct ext4_xattr_header`, at the start of a block.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub h_magic: U32,
    /// Inodes that use the block.
    pub h_refcount: U32,
    /// Blocks: 1.
    pub h_blocks: U32,
    /// Hash of all entries, 0 when one of them has none.
    pub h_hash: U32,
    /// CRC-32C, with `metadata_csum`.
    pub h_checksum: U32,
    /// Zero.
    pub h_reserved: [U32; 3],
}

impl Header {
    /// The header of a block.
    ///
    /// # Errors
    ///
    /// [`Error::Short`], [`Error::Magic`].
    pub fn read(block: &[u8]) -> Result<&Self, Error> {
        let this: &Self = view("xattr block", block)?;
        let found = this.h_magic.get();
        if found == MAGIC {
            return Ok(this);
        }
        Err(Error::Magic {
            what: "xattr block h_magic",
            found,
            expected: MAGIC,
        })
    }
}

/// An attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Offset of the entry in the slice that was read.
    pub offset: usize,
    /// Namespace, see [`PREFIXES`].
    pub e_name_index: u8,
    /// Where the value begins; see [`List::value`].
    pub e_value_offs: u16,
    /// The inode that holds the value, 0 when it is here.
    pub e_value_inum: u32,
    /// Bytes of the value.
    pub e_value_size: u32,
    /// Hash of name and value.
    pub e_hash: u32,
    /// The name behind the prefix.
    pub name: &'a [u8],
}

/// A list of attributes.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    /// The bytes offsets count from, to the end of the block or inode.
    base: &'a [u8],
    /// Where the first entry is.
    first: usize,
}

impl<'a> List<'a> {
    /// The attributes of a block.
    ///
    /// # Errors
    ///
    /// As [`Header::read`].
    pub fn of_block(block: &'a [u8]) -> Result<Self, Error> {
        Header::read(block)?;
        Ok(Self {
            base: block,
            first: HEADER,
        })
    }

    /// The attributes of an inode, from [`Inode::body`](super::Inode::body); `None` when there are none.
    pub fn of_inode(body: &'a [u8]) -> Option<Self> {
        let base = body.get(END..)?;
        (u32_at(body, 0) == Some(MAGIC)).then_some(Self { base, first: 0 })
    }

    /// The entries; ends after the first error, at which the list is broken.
    pub fn entries(&self) -> Entries<'a> {
        Entries {
            list: *self,
            at: Some(self.first),
        }
    }

    /// The entry of a name, when the list holds it before any break.
    pub fn find(&self, index: u8, name: &[u8]) -> Option<Entry<'a>> {
        self.entries()
            .map_while(Result::ok)
            .find(|entry| entry.e_name_index == index && entry.name == name)
    }

    /// The value of an entry of this list.
    ///
    /// # Errors
    ///
    /// [`Error::Record`] when it lies outside of the block or inode. A value in an inode of its own has no bytes
    /// here and gives an empty slice.
    pub fn value(&self, entry: &Entry<'_>) -> Result<&'a [u8], Error> {
        if entry.e_value_inum != 0 || entry.e_value_size == 0 {
            return Ok(&[]);
        }
        let start = usize::from(entry.e_value_offs);
        let end = start.checked_add(entry.e_value_size as usize);
        end.and_then(|end| self.base.get(start..end))
            .ok_or(Error::Record {
                what: "xattr value",
                offset: entry.offset,
                problem: "it lies outside of the block or inode",
            })
    }

    /// Bytes from the first entry to the end of the terminator, `None` for a broken list.
    pub fn entries_len(&self) -> Option<usize> {
        let mut end = self.first;
        for entry in self.entries() {
            let entry = entry.ok()?;
            end = entry.offset + (ENTRY + entry.name.len()).next_multiple_of(4);
        }
        Some(end + END - self.first)
    }
}

/// See [`List::entries`].
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    list: List<'a>,
    at: Option<usize>,
}

impl<'a> Entries<'a> {
    fn read(&self, offset: usize) -> Option<Result<Entry<'a>, Error>> {
        let base = self.list.base;
        let broken = |problem| {
            Some(Err(Error::Record {
                what: "xattr entry",
                offset,
                problem,
            }))
        };
        let Some(start) = u32_at(base, offset) else {
            return broken("the list runs out of the block or inode");
        };
        if start == 0 {
            return None;
        }
        let fixed = (
            u16_at(base, offset + 2),
            u32_at(base, offset + 4),
            u32_at(base, offset + 8),
        );
        let (Some(e_value_offs), Some(e_value_inum), Some(e_value_size)) = fixed else {
            return broken("the entry runs out of the block or inode");
        };
        let [name_len, e_name_index, ..] = start.to_le_bytes();
        let name = offset + ENTRY..offset + ENTRY + usize::from(name_len);
        let (Some(e_hash), Some(name)) = (u32_at(base, offset + 12), base.get(name)) else {
            return broken("the name runs out of the block or inode");
        };
        Some(Ok(Entry {
            offset,
            e_name_index,
            e_value_offs,
            e_value_inum,
            e_value_size,
            e_hash,
            name,
        }))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at.take()?;
        let entry = self.read(at)?;
        if let Ok(entry) = &entry {
            self.at = Some(at + (ENTRY + entry.name.len()).next_multiple_of(4));
        }
        Some(entry)
    }
}

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

/// The hash of an attribute whose value lies in an inode: the hash of the value stands for it.
pub fn entry_hash_of_inode(name: &[u8], value_hash: u32, sign: Sign) -> u32 {
    name_hash(name, sign).rotate_left(16) ^ value_hash
}

/// The hash of a value that lies in an inode of its own, as that inode stores it
/// ([`Inode::ea_hash`](super::Inode::ea_hash)). `seed` is [`Superblock::seed`](super::Superblock::seed).
pub fn value_hash(seed: Seed, value: &[u8]) -> u32 {
    seed.over(value)
}

fn name_hash(name: &[u8], sign: Sign) -> u32 {
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

/// An attribute to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// Namespace, see [`PREFIXES`].
    pub index: u8,
    /// The name behind the prefix, 1 to 255 bytes.
    pub name: Vec<u8>,
    /// The value.
    pub value: NewValue,
}

/// Where a value to be written goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewValue {
    /// Beside the entry.
    Here(Vec<u8>),
    /// Into an inode of its own, already written.
    Inode {
        /// Its number.
        ino: u32,
        /// Bytes of the value.
        size: u32,
        /// [`value_hash`] of it.
        hash: u32,
    },
}

/// Writes a block of attributes that fills `bytes`, sorted as the kernel does (namespace, length of the name, name),
/// and sealed with `seed` for its place on the device.
///
/// # Errors
///
/// [`Error::Full`], or [`Error::Range`] for an impossible name.
pub fn write_block(
    bytes: &mut [u8],
    entries: &[NewEntry],
    refcount: u32,
    block: u64,
    seed: Option<Seed>,
) -> Result<(), Error> {
    let mut sorted: Vec<&NewEntry> = entries.iter().collect();
    sorted.sort_by_key(|entry| (entry.index, entry.name.len(), &entry.name));
    bytes.fill(0);
    let hashes = put_list(bytes, HEADER, &sorted, true)?;
    let header: &mut Header = view_mut("xattr block", bytes)?;
    header.h_magic = MAGIC.into();
    header.h_refcount = refcount.into();
    header.h_blocks = 1.into();
    header.h_hash = block_hash(hashes).into();
    if let Some(seed) = seed {
        let computed = checksum(bytes, block, seed)?.computed;
        let header: &mut Header = view_mut("xattr block", bytes)?;
        header.h_checksum = computed.into();
    }
    Ok(())
}

/// Writes attributes into the bytes behind an inode's fields, in the order given. Hashes are left 0 there, but
/// for values in inodes, as the kernel does.
///
/// # Errors
///
/// As [`write_block`].
pub fn write_inode(body: &mut [u8], entries: &[NewEntry]) -> Result<(), Error> {
    let have = body.len();
    let Some((magic, base)) = body.split_at_mut_checked(END) else {
        return Err(Error::Short {
            what: "xattr magic",
            have,
            need: END,
        });
    };
    base.fill(0);
    put_list(base, 0, &entries.iter().collect::<Vec<_>>(), false)?;
    magic.copy_from_slice(&MAGIC.to_le_bytes());
    Ok(())
}

/// Writes entries from `first` on and values from the end backwards; gives the hashes.
fn put_list(
    base: &mut [u8],
    first: usize,
    entries: &[&NewEntry],
    hash_all: bool,
) -> Result<Vec<u32>, Error> {
    let mut at = first;
    let mut values_at = base.len() / 4 * 4;
    // Four zero bytes end the list, also one without entries.
    if first + END > values_at {
        return Err(Error::Full {
            what: "xattr list",
            need: END,
            room: values_at.saturating_sub(first),
        });
    }
    let mut hashes = Vec::with_capacity(entries.len());
    for entry in entries {
        let len = entry.name.len();
        if len > 255 {
            return Err(Error::Range {
                what: "e_name_len",
                found: len as u64,
                low: 0,
                high: 255,
            });
        }
        let (here, ino, size, hash) = parts(entry, hash_all);
        let value_room = here.len().next_multiple_of(4);
        let next = at + (ENTRY + len).next_multiple_of(4);
        let need = next + END + value_room;
        if need > values_at {
            return Err(Error::Full {
                what: "xattr entry",
                need: need - at,
                room: values_at - at,
            });
        }
        values_at -= value_room;
        base[values_at..values_at + here.len()].copy_from_slice(here);
        let offset = if here.is_empty() { 0 } else { values_at as u16 };
        base[at] = len as u8;
        base[at + 1] = entry.index;
        base[at + 2..at + 4].copy_from_slice(&offset.to_le_bytes());
        base[at + 4..at + 8].copy_from_slice(&ino.to_le_bytes());
        base[at + 8..at + 12].copy_from_slice(&size.to_le_bytes());
        base[at + 12..at + 16].copy_from_slice(&hash.to_le_bytes());
        base[at + ENTRY..at + ENTRY + len].copy_from_slice(&entry.name);
        hashes.push(hash);
        at = next;
    }
    Ok(hashes)
}

/// The bytes beside the entry, the value's inode, its size and the entry's hash.
fn parts(entry: &NewEntry, hash_all: bool) -> (&[u8], u32, u32, u32) {
    match &entry.value {
        NewValue::Here(value) => {
            let hash = if hash_all {
                entry_hash(&entry.name, value, Sign::Unsigned)
            } else {
                0
            };
            (value, 0, value.len() as u32, hash)
        }
        NewValue::Inode { ino, size, hash } => (
            &[],
            *ino,
            *size,
            entry_hash_of_inode(&entry.name, *hash, Sign::Unsigned),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_entry() -> impl Strategy<Value = NewEntry> {
        let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
        let value =
            prop_oneof![
                bytes(50).prop_map(NewValue::Here),
                (1_u32.., any::<u32>(), any::<u32>())
                    .prop_map(|(ino, size, hash)| NewValue::Inode { ino, size, hash }),
            ];
        (1_u8..10, bytes(20), value).prop_map(|(index, name, value)| NewEntry {
            index,
            name,
            value,
        })
    }

    fn read_back(list: List<'_>) -> Vec<NewEntry> {
        list.entries()
            .map(|entry| {
                let entry = entry.unwrap();
                let value = if entry.e_value_inum == 0 {
                    NewValue::Here(list.value(&entry).unwrap().to_vec())
                } else {
                    let hash = entry.e_hash ^ name_hash(entry.name, Sign::Unsigned).rotate_left(16);
                    NewValue::Inode {
                        ino: entry.e_value_inum,
                        size: entry.e_value_size,
                        hash,
                    }
                };
                NewEntry {
                    index: entry.e_name_index,
                    name: entry.name.to_vec(),
                    value,
                }
            })
            .collect()
    }

    #[test]
    fn the_sign_matters_only_beyond_ascii() {
        let both =
            |name: &[u8]| [Sign::Signed, Sign::Unsigned].map(|sign| entry_hash(name, b"v", sign));
        assert_eq!(both(b"plain")[0], both(b"plain")[1]);
        assert_ne!(both(b"\xc3\xa4")[0], both(b"\xc3\xa4")[1]);
    }

    #[test]
    fn an_empty_body_has_no_attributes() {
        assert!(List::of_inode(&[]).is_none());
        assert!(List::of_inode(&[0; 96]).is_none());
        let list = List::of_inode(&[0, 0, 2, 0xea, 0, 0, 0, 0]).unwrap();
        assert_eq!((list.entries().count(), list.entries_len()), (0, Some(4)));
    }

    proptest! {
        #[test]
        fn a_block_is_read_as_written(
            entries in proptest::collection::vec(any_entry(), 0..12),
            place: u64,
        ) {
            let mut block = vec![9; 4096];
            write_block(&mut block, &entries, 3, place, Some(Seed(8))).unwrap();
            let list = List::of_block(&block).unwrap();
            let mut sorted = entries;
            sorted.sort_by_key(|entry| (entry.index, entry.name.len(), entry.name.clone()));
            prop_assert_eq!(read_back(list), sorted.clone());
            prop_assert!(checksum(&block, place, Seed(8)).unwrap().matches());
            prop_assert!(!checksum(&block, place ^ 1, Seed(8)).unwrap().matches());
            let hashes = list.entries().map(|entry| entry.unwrap().e_hash);
            prop_assert_eq!(Header::read(&block).unwrap().h_hash.get(), block_hash(hashes));
            let mut second = vec![0; 4096];
            write_block(&mut second, &sorted, 3, place, Some(Seed(8))).unwrap();
            prop_assert_eq!(second, block);
        }

        #[test]
        fn an_inode_is_read_as_written(entries in proptest::collection::vec(any_entry(), 0..4)) {
            let mut body = vec![9; 400];
            write_inode(&mut body, &entries).unwrap();
            prop_assert_eq!(read_back(List::of_inode(&body).unwrap()), entries);
        }

        #[test]
        fn what_does_not_fit_is_refused(entries in proptest::collection::vec(any_entry(), 0..9), room in 4_usize..200) {
            let mut body = vec![0; room];
            if write_inode(&mut body, &entries).is_ok() {
                prop_assert_eq!(read_back(List::of_inode(&body).unwrap()), entries);
            }
        }

        #[test]
        fn a_list_without_entries_needs_its_end(room in 0_usize..20) {
            let written = write_inode(&mut vec![0; room], &[]);
            prop_assert_eq!(written.is_ok(), room >= 8, "{:?}", written);
        }

        #[test]
        fn any_bytes_end(mut bytes in proptest::collection::vec(any::<u8>(), 0..1025)) {
            if bytes.len() >= 4 {
                bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
            }
            for list in [List::of_inode(&bytes), List::of_block(&bytes).ok()].into_iter().flatten() {
                for entry in list.entries().flatten() {
                    let _ = list.value(&entry);
                }
                let _ = list.entries_len();
            }
            let _ = checksum(&bytes, 7, Seed(0));
        }
    }
}
