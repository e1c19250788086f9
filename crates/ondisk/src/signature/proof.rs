//! What must be true of the bytes around a magic number that other data have by chance, or that two formats share.

use std::io;

use super::{ReadAt, Reader, le16, le32, le64};

type Source<'a> = Reader<'a, dyn ReadAt + 'a>;

fn be16(bytes: &[u8], at: usize) -> u16 {
    le16(bytes, at).swap_bytes()
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    le32(bytes, at).swap_bytes()
}

/// `start` bytes before the magic number, `length` of them. Zeros follow the end of the source.
fn around(source: &Source<'_>, at: u64, start: u64, length: usize) -> io::Result<Vec<u8>> {
    source.padded(at.saturating_sub(start), length)
}

/// `EXT3_FEATURE_INCOMPAT_JOURNAL_DEV` is set, and a journal's superblock follows: the bit alone may be damage
/// of a filesystem.
pub(super) fn is_external_journal(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let bytes = around(source, at, 0x38, 0x64)?;
    let block = 1024_u64 << le32(&bytes, 0x18).min(6);
    Ok(le32(&bytes, 0x60) & 8 != 0
        && source.has(block.max(2048), &0xC03B_3998_u32.to_be_bytes())?)
}

pub(super) fn is_ext_filesystem(source: &Source<'_>, at: u64) -> io::Result<bool> {
    Ok(!is_external_journal(source, at)?)
}

/// A record's header of a version that exists, and no filesystem: its own log begins the same way.
pub(super) fn is_xfs_log(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let version = be32(&source.padded(at, 12)?, 8);
    Ok(matches!(version, 1 | 2) && !source.has(0, b"XFSB")?)
}

/// bcachefs had bcache's magic number first. Its superblock has its own place, in sectors, at byte 104.
pub(super) fn is_bcachefs(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let bytes = around(source, at, 24, 128)?;
    let device = (bytes[122], bytes[123]);
    Ok(le64(&bytes, 104) == at.saturating_sub(24) / 512 && device.0 < device.1)
}

pub(super) fn is_bcache(source: &Source<'_>, at: u64) -> io::Result<bool> {
    Ok(!is_bcachefs(source, at)?)
}

/// The fields that NILFS2 never leaves empty: revision 2, the bytes of the superblock, its block size.
pub(super) fn is_nilfs(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let bytes = around(source, at, 6, 56)?;
    Ok(le32(&bytes, 0) == 2
        && (24..=1024).contains(&le16(&bytes, 8))
        && le32(&bytes, 20) <= 6
        && le64(&bytes, 24) > 0
        && le32(&bytes, 48) > 0)
}

/// The maps have room for the inodes and the zones, in one of the two orders of bytes.
pub(super) fn is_minix(source: &Source<'_>, at: u64) -> io::Result<bool> {
    const START: u64 = 1024;
    let sb = source.padded(START, 32)?;
    if source.has(START + 0x38, &[0x53, 0xEF])? || source.has(START, &[0xE2, 0xE1, 0xF5, 0xE0])? {
        return Ok(false);
    }
    let swapped = matches!(sb[0x10..0x12], [0x13 | 0x24, _]) || sb[0x18..0x1A] == [0x4D, 0x5A];
    let half = |at: usize| {
        u64::from(if swapped {
            be16(&sb, at)
        } else {
            le16(&sb, at)
        })
    };
    let word = |at: usize| {
        u64::from(if swapped {
            be32(&sb, at)
        } else {
            le32(&sb, at)
        })
    };
    let (inodes, imaps, zmaps, first, zones, zone_size) = if at == START + 0x18 {
        (word(0), half(6), half(8), half(10), word(20), half(12))
    } else {
        let second = matches!(sb[0x10..0x12], [0x68 | 0x78, 0x24] | [0x24, 0x68 | 0x78]);
        let zones = if second { word(20) } else { half(2) };
        (half(0), half(4), half(6), half(8), zones, half(10))
    };
    Ok(zone_size == 0
        && inodes > 0
        && imaps * 8192 > inodes
        && first <= zones
        && zmaps * 8192 > zones - first)
}

/// An HFS volume: an allocation block is a number of sectors, and no HFS+ volume is inside.
pub(super) fn is_hfs(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let bytes = source.padded(at, 162)?;
    Ok(allocates_sectors(&bytes) && !embeds_hfs_plus(&bytes))
}

/// An HFS+ volume that is wrapped in an HFS volume.
pub(super) fn is_wrapped_hfs_plus(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let bytes = source.padded(at, 162)?;
    Ok(allocates_sectors(&bytes) && embeds_hfs_plus(&bytes))
}

fn allocates_sectors(bytes: &[u8]) -> bool {
    let size = be32(bytes, 20);
    size > 0 && size.is_multiple_of(512)
}

fn embeds_hfs_plus(bytes: &[u8]) -> bool {
    matches!(&bytes[0x7C..0x7E], b"H+" | b"HX")
}

/// The BIOS parameter block is possible, and OS/2 did not put it in front of another filesystem.
pub(super) fn is_nameless_fat(source: &Source<'_>, _at: u64) -> io::Result<bool> {
    let boot = source.padded(0, 512)?;
    let sector = le16(&boot, 11);
    let jump = matches!(boot[0], 0xEB | 0xE9);
    Ok(jump
        && !matches!(&boot[0x36..0x3E], b"JFS     " | b"HPFS    ")
        && sector.is_power_of_two()
        && (512..=4096).contains(&sector)
        && boot[13].is_power_of_two()
        && le16(&boot, 14) > 0
        && boot[16] > 0
        && (boot[21] >= 0xF8 || boot[21] == 0xF0))
}

/// The GUID of BitLocker To Go.
pub(super) fn is_bitlocker_to_go(source: &Source<'_>, _at: u64) -> io::Result<bool> {
    source.has(
        424,
        &[
            0x3B, 0xD6, 0x67, 0x49, 0x29, 0x2E, 0xD8, 0x4A, 0x83, 0x99, 0xF6, 0xA3, 0x39, 0xE3,
            0xD0, 0x01,
        ],
    )
}

/// A descriptor of ECMA-167 in the volume recognition sequence, which may begin as that of an ISO 9660 filesystem.
pub(super) fn is_udf(source: &Source<'_>, at: u64) -> io::Result<bool> {
    for step in [2048, 4096_u64] {
        for number in 0..64 {
            let id = source.padded(at + number * step, 5)?;
            match &id[..] {
                b"NSR02" | b"NSR03" => return Ok(true),
                b"BEA01" | b"BOOT2" | b"CD001" | b"CDW02" | b"TEA01" => {}
                _ => break,
            }
        }
    }
    Ok(false)
}

/// The spare block is next to the superblock.
pub(super) fn is_hpfs(source: &Source<'_>, at: u64) -> io::Result<bool> {
    source.has(at + 512, &[0x49, 0x18, 0x91, 0xF9])
}

/// `sb_fs_format` of GFS is 1309; that of GFS2 begins with 1801.
pub(super) fn is_gfs(source: &Source<'_>, at: u64) -> io::Result<bool> {
    Ok((1..1800).contains(&be32(&source.padded(at, 32)?, 24)))
}

pub(super) fn is_gfs2(source: &Source<'_>, at: u64) -> io::Result<bool> {
    Ok(!is_gfs(source, at)?)
}

pub(super) fn is_squashfs_4(source: &Source<'_>, at: u64) -> io::Result<bool> {
    Ok(le16(&source.padded(at, 32)?, 28) >= 4)
}

pub(super) fn is_squashfs_3(source: &Source<'_>, at: u64) -> io::Result<bool> {
    Ok(!is_squashfs_4(source, at)?)
}

/// `SCOUTFS_FLAG_IS_META_BDEV`.
pub(super) fn is_scoutfs_metadata(source: &Source<'_>, at: u64) -> io::Result<bool> {
    Ok(source.padded(at + 44, 1)?[0] & 1 != 0)
}

pub(super) fn is_scoutfs_data(source: &Source<'_>, at: u64) -> io::Result<bool> {
    Ok(!is_scoutfs_metadata(source, at)?)
}

/// Version, checksum algorithm, kind of block, bytes of the key and cipher have one value each.
pub(super) fn is_core_storage(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let bytes = around(source, at, 88, 184)?;
    Ok(le16(&bytes, 8) == 1
        && le16(&bytes, 10) == 0x10
        && le32(&bytes, 90) == 1
        && le32(&bytes, 168) == 16
        && le32(&bytes, 172) == 2)
}

pub(super) fn is_lvm1(source: &Source<'_>, at: u64) -> io::Result<bool> {
    Ok(matches!(le16(&source.padded(at, 4)?, 2), 1 | 2))
}

/// The first 50 bytes add up to the next one.
pub(super) fn is_via(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let bytes = source.padded(at, 51)?;
    let sum = bytes[..50]
        .iter()
        .fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    Ok(bytes[2] <= 2 && sum == bytes[50])
}

fn sum16(bytes: &[u8]) -> u16 {
    bytes
        .chunks_exact(2)
        .fold(0, |sum, pair| sum.wrapping_add(le16(pair, 0)))
}

/// Its words add up to 0 or 1, and the RAID level exists.
pub(super) fn is_jmicron(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let bytes = source.padded(at, 128)?;
    Ok(sum16(&bytes) <= 1 && bytes[0x30] <= 5)
}

/// The words before the checksum and the checksum add up to zero.
pub(super) fn is_silicon(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let bytes = around(source, at, 0x60, 512)?;
    Ok(bytes[0x116] < 8 && sum16(&bytes[..0x140]) == 0)
}

/// bzip2: the block size `1` to `9`, then pi as the mark of the first block, or the end of an empty file.
pub(super) fn is_bzip2(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let head = source.padded(at, 10)?;
    Ok((b'1'..=b'9').contains(&head[3])
        && (head[4..] == [0x31, 0x41, 0x59, 0x26, 0x53, 0x59]
            || head[4..] == [0x17, 0x72, 0x45, 0x38, 0x50, 0x90]))
}

/// A line of blkparse: `8,0 3 1 0.000000000 697 G W 223490 + 8 [name]`.
pub(super) fn is_blkparse(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let head = source.padded(at, 256)?;
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    let mut word = || words.next().unwrap_or_default();
    let digits = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let pair = |bytes: &[u8], by: u8| {
        let mut parts = bytes.split(|byte| *byte == by);
        parts.next().is_some_and(digits)
            && parts.next().is_some_and(digits)
            && parts.next().is_none()
    };
    Ok(pair(word(), b',')
        && digits(word())
        && digits(word())
        && pair(word(), b'.')
        && digits(word())
        && matches!(word(), [b'A'..=b'Z'] | [b'A'..=b'Z', b'A'..=b'Z']))
}

/// The sector's words, taken together by exclusive or, are zero.
pub(super) fn is_sun_label(source: &Source<'_>, at: u64) -> io::Result<bool> {
    let sector = around(source, at, 508, 512)?;
    Ok(sector
        .chunks_exact(2)
        .fold(0, |sum, pair| sum ^ le16(pair, 0))
        == 0)
}

/// Every entry in use has an ID of letters and digits and is on the disk; one is in use. An MBR has a mark of its own.
pub(super) fn is_atari(source: &Source<'_>, _at: u64) -> io::Result<bool> {
    let sector = source.padded(0, 512)?;
    let size = u64::from(be32(&sector, 0x1C2));
    let mut used = sector[0x1C6..0x1F6]
        .chunks_exact(12)
        .filter(|entry| entry[0] & 1 != 0)
        .peekable();
    Ok(sector[510..] != [0x55, 0xAA]
        && size > 0
        && size <= source.source.size() / 512
        && used.peek().is_some()
        && used.all(|entry| {
            let (start, length) = (u64::from(be32(entry, 4)), u64::from(be32(entry, 8)));
            entry[1..4].iter().all(u8::is_ascii_alphanumeric)
                && start > 0
                && length > 0
                && start + length <= size
        }))
}
