//! One answer: what this is.

use std::io;

use super::magic::{E2IMAGE, EXT, ROWS};
use super::partition::{Table, TableKind, partition_table};
use super::{Format, ReadAt, Reader, Signature, all, proof};

/// What a file or a device holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// It has no bytes.
    Empty,
    /// Every byte that was read is zero.
    Zeros {
        /// All of it was read; otherwise the first and the last part, and samples between them.
        whole: bool,
    },
    /// A partition table.
    Partitioned(Table),
    /// A known format.
    Known(Signature),
    /// Text, without the signature of a format.
    Text,
    /// Data without a known signature.
    Unknown,
}

/// `s_magic` of the primary superblock.
const EXT_MAGIC_AT: u64 = EXT.offsets[0];
const EXT_MAGIC: &[u8] = EXT.magic;
/// Bytes that are read at most to say that all are zero.
const ZEROS_READ: u64 = 64 << 20;
/// Bytes of a read.
const STEP: u64 = 1 << 20;

/// Says what the source holds. Where traces of several formats are found, this order decides: the
/// primary superblock of an ext filesystem, a GPT, any other signature, backup superblocks of an ext
/// filesystem, an MBR. Old signatures of other filesystems survive mkfs.ext4 in places that it does not
/// write, and the boot sectors of FAT and NTFS look like an MBR.
///
/// # Errors
/// The source cannot be read.
pub fn identify<R: ReadAt + ?Sized>(source: &R) -> io::Result<Content> {
    if source.size() == 0 {
        return Ok(Content::Empty);
    }
    // First and alone: a check of an ext filesystem begins with this. A copy of the superblock is at its
    // usual place in the file of e2image, too.
    let reader = Reader { source };
    if !reader.has(0, &E2IMAGE)? && reader.has(EXT_MAGIC_AT, EXT_MAGIC)? {
        let dynamic: Reader<'_, dyn ReadAt + '_> = Reader { source: &reader };
        let journal = proof::is_external_journal(&dynamic, EXT_MAGIC_AT)?;
        return Ok(Content::Known(ext(journal, EXT_MAGIC_AT)));
    }
    let found = all(source)?;
    let table = partition_table(source)?;
    if let Some(table) = table.as_ref().filter(|table| table.kind == TableKind::Gpt) {
        return Ok(Content::Partitioned(table.clone()));
    }
    if let Some(image) = found.iter().find(|one| one.format == Format::E2image) {
        return Ok(Content::Known(*image));
    }
    let strong = |one: &&Signature| one.format != Format::PartitionTable;
    if let Some(signature) = found.iter().find(strong) {
        return Ok(Content::Known(*signature));
    }
    if let Some(backup) = ext_backup(source)? {
        return Ok(Content::Known(backup));
    }
    if let Some(table) = table {
        return Ok(Content::Partitioned(table));
    }
    if let Some(whole) = zeros(source)? {
        return Ok(Content::Zeros { whole });
    }
    // A boot sector without partitions proves nothing.
    Ok(if text(source)? {
        Content::Text
    } else {
        Content::Unknown
    })
}

/// Whether the first 4 KiB are lines of UTF-8 text.
fn text<R: ReadAt + ?Sized>(source: &R) -> io::Result<bool> {
    let length = source.size().min(4096) as usize;
    let mut head = vec![0; length];
    source.read_at(0, &mut head)?;
    let valid = match str::from_utf8(&head) {
        Ok(text) => text,
        // A character may be cut at the end.
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Ok(false),
    };
    let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x0C' | '\x1B');
    Ok(valid.contains('\n') && valid.chars().all(plain))
}

/// An ext filesystem, or its external journal.
fn ext(journal: bool, offset: u64) -> Signature {
    ROWS[usize::from(journal)].signature(offset, EXT_MAGIC.len())
}

/// The first backup superblock of an ext filesystem, where mke2fs puts it for each block size.
fn ext_backup<R: ReadAt + ?Sized>(source: &R) -> io::Result<Option<Signature>> {
    let reader = Reader { source };
    for log in 0..=6_u32 {
        let size = 1024_u64 << log;
        // A group has as many blocks as a block of the bitmap has bits; blocks of 1 KiB count from 1.
        let offset = (size * 8 + u64::from(log == 0)) * size;
        let Some(bytes) = reader.bytes(offset, 104)? else {
            continue;
        };
        let is_backup = bytes[0x38..0x3A] == *EXT_MAGIC
            && super::le32(&bytes, 0x18) == log
            && bytes[0x5A..0x5C] == [1, 0];
        if is_backup {
            return Ok(Some(ext(false, offset + 0x38)));
        }
    }
    Ok(None)
}

/// Whether all is zero, and whether all was read: `None` where something else was found. Up to
/// [`ZEROS_READ`] bytes are read, holes not counted; where the data are longer, half of that from the
/// start and samples of the rest.
fn zeros<R: ReadAt + ?Sized>(source: &R) -> io::Result<Option<bool>> {
    let mut buffer = vec![0; STEP as usize];
    let size = source.size();
    let (mut at, mut left) = (0, ZEROS_READ);
    while let Some(data) = source.next_data(at) {
        at = data.start.max(at);
        let end = data.end.min(size);
        while at < end && left > 0 {
            let step = STEP.min(end - at);
            if !is_zero(source, at, &mut buffer[..step as usize])? {
                return Ok(None);
            }
            at += step;
            left = left.saturating_sub(step);
        }
        if left == 0 && at < size {
            return Ok(samples(source, at, &mut buffer[..4096])?.then_some(false));
        }
        if at >= size {
            break;
        }
    }
    Ok(Some(true))
}

/// Whether 1,024 blocks spread over the rest, and the last one, are zero.
fn samples<R: ReadAt + ?Sized>(source: &R, from: u64, buffer: &mut [u8]) -> io::Result<bool> {
    let length = buffer.len() as u64;
    let last = source.size().saturating_sub(length).max(from);
    for number in 0..=1024_u64 {
        let at = from + ((last - from) / 1024).saturating_mul(number);
        let at = if number == 1024 { last } else { at } / 512 * 512;
        let step = length.min(source.size() - at) as usize;
        if !is_zero(source, at, &mut buffer[..step])? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_zero<R: ReadAt + ?Sized>(source: &R, at: u64, buffer: &mut [u8]) -> io::Result<bool> {
    source.read_at(at, buffer)?;
    Ok(buffer.iter().all(|byte| *byte == 0))
}
