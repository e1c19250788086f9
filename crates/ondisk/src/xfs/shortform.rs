//! Directories and attributes within the inode.

use crate::bytes::{be16, be32, be64};

/// Bytes of the head of local attributes.
pub const ATTR_HEADER: usize = 4;

/// A directory within its inode (`struct xfs_dir2_sf_hdr`).
#[derive(Debug, Clone, Copy)]
pub struct Directory<'a> {
    bytes: &'a [u8],
    ftype: bool,
}

/// An entry of a directory within its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Offset in the fork.
    pub at: usize,
    /// Bytes.
    pub length: usize,
    /// Where the entry would be in a data block.
    pub offset: u16,
    /// Name.
    pub name: &'a [u8],
    /// File type; 0 where the format has none.
    pub ftype: u8,
    /// Inode.
    pub inumber: u64,
}

impl<'a> Directory<'a> {
    /// The directory in the bytes of a data fork.
    pub fn new(ftype: bool, bytes: &'a [u8]) -> Directory<'a> {
        Directory { bytes, ftype }
    }

    /// Entries, `.` and `..` not counted.
    pub fn count(&self) -> u8 {
        self.bytes.first().copied().unwrap_or(0)
    }

    /// Inode numbers above 32 bits, the parent included; where it is not 0 all numbers have 64 bits.
    pub fn i8count(&self) -> u8 {
        self.bytes.get(1).copied().unwrap_or(0)
    }

    /// Bytes of an inode number.
    pub fn inode_bytes(&self) -> usize {
        if self.i8count() == 0 { 4 } else { 8 }
    }

    /// Bytes of the head.
    pub fn header(&self) -> usize {
        2 + self.inode_bytes()
    }

    /// The inode of the directory above.
    pub fn parent(&self) -> u64 {
        self.number(2)
    }

    /// Bytes of an entry with a name of this length.
    pub fn entry_size(&self, name: usize) -> usize {
        3 + name + usize::from(self.ftype) + self.inode_bytes()
    }

    /// The length of the name of the entry at `at`; none past the end.
    pub fn name_length(&self, at: usize) -> Option<usize> {
        self.bytes.get(at).map(|length| usize::from(*length))
    }

    /// The entry at `at`; none where it does not fit.
    pub fn entry(&self, at: usize) -> Option<Entry<'a>> {
        let name_length = self.name_length(at)?;
        let length = self.entry_size(name_length);
        let bytes = self.bytes.get(at..at.checked_add(length)?)?;
        let name_end = 3 + name_length;
        Some(Entry {
            at,
            length,
            offset: be16(bytes, 1),
            name: &bytes[3..name_end],
            ftype: if self.ftype { bytes[name_end] } else { 0 },
            inumber: self.number(at + name_end + usize::from(self.ftype)),
        })
    }

    fn number(&self, at: usize) -> u64 {
        if self.i8count() == 0 {
            be32(self.bytes, at).into()
        } else {
            be64(self.bytes, at) & ((1 << 56) - 1)
        }
    }

    /// The bytes of a directory with this parent and these entries: name, place in a data block, file type and inode.
    pub fn write(ftype: bool, parent: u64, entries: &[(&[u8], u16, u8, u64)]) -> Vec<u8> {
        let wide = |ino: u64| ino > u64::from(u32::MAX);
        let numbers = entries.iter().map(|entry| entry.3).chain([parent]);
        let i8count = numbers.filter(|ino| wide(*ino)).count();
        let number = |out: &mut Vec<u8>, ino: u64| {
            if i8count > 0 {
                out.extend(ino.to_be_bytes());
            } else {
                out.extend((ino as u32).to_be_bytes());
            }
        };
        let mut out = vec![entries.len() as u8, i8count as u8];
        number(&mut out, parent);
        for (name, offset, kind, ino) in entries {
            out.push(name.len() as u8);
            out.extend(offset.to_be_bytes());
            out.extend(*name);
            if ftype {
                out.push(*kind);
            }
            number(&mut out, *ino);
        }
        out
    }
}

/// An attribute within the inode (`struct xfs_attr_sf_entry`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Namespace and state, see [`super::attribute::flag`].
    pub flags: u8,
    /// Name.
    pub name: &'a [u8],
    /// Value.
    pub value: &'a [u8],
}

/// Attributes within the inode (`struct xfs_attr_sf_hdr`).
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    bytes: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// The attributes in the bytes of an attribute fork.
    pub fn new(bytes: &'a [u8]) -> Attributes<'a> {
        Attributes { bytes }
    }

    /// Bytes of all, the head included.
    pub fn totsize(&self) -> u16 {
        be16(self.bytes, 0)
    }

    /// Attributes.
    pub fn count(&self) -> u8 {
        self.bytes.get(2).copied().unwrap_or(0)
    }

    /// Lengths of name and value of the attribute at `at`; none past the end.
    pub fn lengths(&self, at: usize) -> Option<(usize, usize)> {
        let head = self.bytes.get(at..at.checked_add(3)?)?;
        Some((head[0].into(), head[1].into()))
    }

    /// The attribute at `at`; none where it does not fit.
    pub fn get(&self, at: usize) -> Option<Attribute<'a>> {
        let (name, value) = self.lengths(at)?;
        let bytes = self.bytes.get(at..at + 3 + name + value)?;
        Some(Attribute {
            flags: bytes[2],
            name: &bytes[3..3 + name],
            value: &bytes[3 + name..],
        })
    }

    /// The bytes of these attributes: flags, name and value.
    pub fn write(attributes: &[(u8, &[u8], &[u8])]) -> Vec<u8> {
        let mut out = vec![0, 0, attributes.len() as u8, 0];
        for (flags, name, value) in attributes {
            out.extend([name.len() as u8, value.len() as u8, *flags]);
            out.extend(*name);
            out.extend(*value);
        }
        let total = out.len() as u16;
        out[..2].copy_from_slice(&total.to_be_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_read_as_written() {
        for parent in [128, 1 << 33] {
            let bytes =
                Directory::write(true, parent, &[(b"a", 0x60, 1, 131), (b"bc", 0x70, 2, 132)]);
            let directory = Directory::new(true, &bytes);
            assert_eq!((directory.count(), directory.parent()), (2, parent));
            let first = directory.entry(directory.header()).unwrap();
            assert_eq!(
                (first.name, first.ftype, first.inumber),
                (&b"a"[..], 1, 131)
            );
            let second = directory.entry(first.at + first.length).unwrap();
            assert_eq!(
                (second.name, second.offset, second.inumber),
                (&b"bc"[..], 0x70, 132)
            );
            assert_eq!(second.at + second.length, bytes.len());
            assert_eq!(directory.entry(bytes.len()), None);
        }
    }

    #[test]
    fn attributes_are_read_as_written() {
        let bytes = Attributes::write(&[(2, b"name", b"value"), (0, b"n", b"")]);
        let list = Attributes::new(&bytes);
        assert_eq!(
            (list.count(), usize::from(list.totsize())),
            (2, bytes.len())
        );
        let first = list.get(ATTR_HEADER).unwrap();
        assert_eq!(
            (first.flags, first.name, first.value),
            (2, &b"name"[..], &b"value"[..])
        );
        assert_eq!(list.get(ATTR_HEADER + 12).unwrap().name, b"n");
        assert_eq!(list.get(bytes.len()), None);
    }
}
