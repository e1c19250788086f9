//! Writing an inode: its fields, the space it takes, and last of all its checksum.

use super::super::checksum::Seed;
use super::super::{Error, view, view_mut};
use super::{CHECKSUM_HI_AT, Inode, OLD_SIZE, RawInode, RawInodeExtra, flag};

/// One slot of an inode table, to be written.
#[derive(Debug)]
pub struct InodeMut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> InodeMut<'a> {
    /// The slot at the start of `bytes`.
    ///
    /// # Errors
    ///
    /// As [`Inode::read`].
    pub fn new(bytes: &'a mut [u8], inode_size: u16) -> Result<Self, Error> {
        let need = usize::from(inode_size).max(OLD_SIZE);
        let have = bytes.len();
        let bytes = bytes.get_mut(..need).ok_or(Error::Short {
            what: "inode",
            have,
            need,
        })?;
        Ok(Self { bytes })
    }

    /// What has been written so far.
    ///
    /// # Errors
    ///
    /// None in practice: the length was proven by [`InodeMut::new`].
    pub fn inode(&self) -> Result<Inode<'_>, Error> {
        Ok(Inode {
            bytes: self.bytes,
            raw: view("inode", self.bytes)?,
        })
    }

    /// The old fields.
    ///
    /// # Errors
    ///
    /// None in practice, as above.
    pub fn raw(&mut self) -> Result<&mut RawInode, Error> {
        view_mut("inode", self.bytes)
    }

    /// The newer fields; `i_extra_isize` must be set for them to count.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] in an inode of 128 bytes.
    pub fn extra(&mut self) -> Result<&mut RawInodeExtra, Error> {
        view_mut("inode's extra fields", &mut self.bytes[OLD_SIZE..])
    }

    /// The whole slot, for the bytes after the fields.
    pub fn bytes(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// Sets both halves of the size.
    ///
    /// # Errors
    ///
    /// None in practice, as above.
    pub fn set_size(&mut self, size: u64) -> Result<(), Error> {
        let raw = self.raw()?;
        raw.i_size_lo = (size as u32).into();
        raw.i_size_high = ((size >> 32) as u32).into();
        Ok(())
    }

    /// Sets the space taken, in sectors of 512 bytes; beyond 48 bits of them in filesystem blocks, with the flag
    /// that says so, as the kernel does.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] when even blocks are too many for 48 bits.
    pub fn set_sectors(&mut self, sectors: u64, block_size: u32) -> Result<(), Error> {
        const MOST: u64 = (1 << 48) - 1;
        let in_blocks = sectors > MOST;
        let count = if in_blocks {
            sectors / u64::from(block_size / 512)
        } else {
            sectors
        };
        if count > MOST {
            return Err(Error::Range {
                what: "i_blocks",
                found: count,
                low: 0,
                high: MOST,
            });
        }
        let raw = self.raw()?;
        raw.i_blocks_lo = (count as u32).into();
        raw.l_i_blocks_high = ((count >> 32) as u16).into();
        let flags = raw.i_flags.get() & !flag::HUGE_FILE;
        raw.i_flags = (flags | if in_blocks { flag::HUGE_FILE } else { 0 }).into();
        Ok(())
    }

    /// Writes the checksum of inode number `ino`; call it last.
    ///
    /// # Errors
    ///
    /// None in practice, as above.
    pub fn seal(&mut self, seed: Seed, ino: u32) -> Result<(), Error> {
        let inode = self.inode()?;
        let hi = inode.has_checksum_hi();
        let computed = inode.checksum(seed, ino).computed;
        self.raw()?.l_i_checksum_lo = (computed as u16).into();
        if hi {
            let high = ((computed >> 16) as u16).to_le_bytes();
            self.bytes[CHECKSUM_HI_AT..CHECKSUM_HI_AT + 2].copy_from_slice(&high);
        }
        Ok(())
    }
}
