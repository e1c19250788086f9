//! What a file or a device is, by its bytes.
//!
//! Two callers ask. The safety gate of a disk wants every trace of data, because any of them is a
//! reason to stop: [`all`]. A checker that was given the wrong thing wants one answer that helps the
//! user: [`identify`].
//!
//! Own probes rather than blkid(8): a program or library may be missing or old, blkid stops at the
//! first of two answers and hides ambivalent ones. Offsets and magic values are those of the kernel's
//! headers, of util-linux's libblkid and of the formats' own documents.

mod identify;
mod magic;
mod partition;

use std::io;
use std::ops::Range;

pub use identify::{Content, identify};
pub use magic::all;
pub use partition::{LARGEST_TABLE, Partition, Table, TableKind, partition_table};

/// Bytes that can be read at an offset: a file, a device, a slice.
pub trait ReadAt {
    /// Bytes in all.
    fn size(&self) -> u64;

    /// Fills `buffer` from byte `offset` on. Callers stay below [`ReadAt::size`].
    ///
    /// # Errors
    /// The medium cannot be read there.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// The first range at or after `offset` that may hold data. Holes read as zeros; who does not
    /// know of any has data everywhere.
    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        (offset < self.size()).then(|| offset..self.size())
    }
}

impl ReadAt for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = start
            .checked_add(buffer.len())
            .and_then(|end| self.get(start..end))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

/// A format that is recognised by a magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// ext2, ext3 or ext4.
    Ext,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// OCFS2.
    Ocfs2,
    /// f2fs.
    F2fs,
    /// Swap space, or a hibernation image in it.
    Swap,
    /// A partition table.
    PartitionTable,
    /// An LVM2 physical volume.
    Lvm,
    /// A member of a Linux md array.
    Md,
    /// A LUKS volume, version 1 or 2.
    Luks,
    /// A bcache device.
    Bcache,
    /// A member of a ZFS pool.
    Zfs,
    /// NTFS.
    Ntfs,
    /// exFAT.
    ExFat,
    /// FAT12, FAT16 or FAT32.
    Fat,
    /// Squashfs.
    Squashfs,
    /// ISO 9660.
    Iso9660,
    /// A gzip file.
    Gzip,
    /// An xz file.
    Xz,
    /// A Zstandard file.
    Zstd,
    /// A bzip2 file.
    Bzip2,
    /// An LZ4 file.
    Lz4,
    /// A ZIP archive.
    Zip,
    /// A tar archive.
    Tar,
    /// A QCOW2 disk image.
    Qcow2,
    /// A VMware disk image.
    Vmdk,
    /// A VirtualBox disk image.
    Vdi,
    /// A Hyper-V disk image of the newer format.
    Vhdx,
    /// A Virtual PC or Hyper-V disk image of the older format.
    Vhd,
    /// A metadata image made by e2image, in its own format.
    E2image,
    /// A metadata image made by o2image.
    O2image,
    /// A metadata image made by `xfs_metadump`.
    XfsMetadump,
    /// Any other format, named by [`Signature::kind`] alone.
    Other,
}

/// A magic number that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The format.
    pub format: Format,
    /// The same in words, with an article: `an XFS filesystem`.
    pub kind: &'static str,
    /// Byte offset of the magic number.
    pub offset: u64,
    /// Its length in bytes.
    pub length: usize,
}

/// A source, read with ranges checked against its size.
struct Reader<'a, R: ?Sized> {
    source: &'a R,
}

impl<R: ReadAt + ?Sized> Reader<'_, R> {
    /// The bytes of a range; `None` when it is not wholly inside the source.
    fn bytes(&self, offset: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        match offset.checked_add(length as u64) {
            Some(end) if end <= self.source.size() => {
                let mut buffer = vec![0; length];
                self.source.read_at(offset, &mut buffer)?;
                Ok(Some(buffer))
            }
            _ => Ok(None),
        }
    }

    /// Whether these bytes are at this offset.
    fn has(&self, offset: u64, magic: &[u8]) -> io::Result<bool> {
        Ok(self.bytes(offset, magic.len())?.as_deref() == Some(magic))
    }
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    if let Some(found) = bytes.get(at..at + 4) {
        word.copy_from_slice(found);
    }
    u32::from_le_bytes(word)
}

fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from(le32(bytes, at)) | u64::from(le32(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests;
