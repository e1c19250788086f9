//! Partition tables as they lie on the disk: a kernel that was told not to scan (a loop device
//! without partscan, a kernel built without the parser) shows no partitions, yet they are there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use ondisk::bytes::{le32, le64};

/// A table found on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// `GPT` or `MBR`.
    pub kind: &'static str,
    /// Entries in use.
    pub partitions: usize,
}

/// The partition table of a device of `size` bytes. GPT wins over its protective MBR.
pub(super) fn read(device: &File, size: u64) -> io::Result<Option<Table>> {
    for sector in [512, 4096] {
        if let Some(table) = gpt(device, size, sector)? {
            return Ok(Some(table));
        }
    }
    mbr(device, size)
}

/// GPT (UEFI 2.10, 5.3): header in LBA 1; entries of `size_of_entry` bytes, type GUID zero = free.
fn gpt(device: &File, size: u64, sector: u64) -> io::Result<Option<Table>> {
    let mut header = [0u8; 92];
    if sector + 92 > size {
        return Ok(None);
    }
    device.read_exact_at(&mut header, sector)?;
    if !header.starts_with(b"EFI PART") {
        return Ok(None);
    }
    let entries = le64(&header, 72).saturating_mul(sector);
    // A damaged header may claim anything: 128 entries are usual, 1024 are read at most.
    let count = le32(&header, 80).min(1024);
    let length = u64::from(le32(&header, 84).clamp(128, 4096));
    let mut partitions = 0;
    for index in 0..u64::from(count) {
        let offset = entries.saturating_add(index * length);
        if offset.saturating_add(16) > size {
            break;
        }
        let mut kind = [0u8; 16];
        device.read_exact_at(&mut kind, offset)?;
        partitions += usize::from(kind != [0; 16]);
    }
    Ok(Some(Table {
        kind: "GPT",
        partitions,
    }))
}

/// MBR: four entries at byte 446, type at their byte 4; a boot sector of a FAT has the same mark,
/// so at least one entry must look like a partition.
fn mbr(device: &File, size: u64) -> io::Result<Option<Table>> {
    let mut sector = [0u8; 512];
    if size < 512 {
        return Ok(None);
    }
    device.read_exact_at(&mut sector, 0)?;
    if sector[510..] != [0x55, 0xAA] {
        return Ok(None);
    }
    let partitions = sector[446..510]
        .chunks_exact(16)
        .filter(|entry| entry[4] != 0 && le32(entry, 12) != 0 && matches!(entry[0], 0 | 0x80))
        .count();
    Ok((partitions > 0).then_some(Table {
        kind: "MBR",
        partitions,
    }))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A disk's first bytes with an MBR of two partitions.
    pub(crate) fn two_mbr_partitions() -> Vec<u8> {
        let mut sector = vec![0u8; 512];
        for (index, start) in [2048u32, 65536].into_iter().enumerate() {
            let entry = &mut sector[446 + index * 16..462 + index * 16];
            entry[4] = 0x83;
            entry[8..12].copy_from_slice(&start.to_le_bytes());
            entry[12..16].copy_from_slice(&32768u32.to_le_bytes());
        }
        sector[510..].copy_from_slice(&[0x55, 0xAA]);
        sector
    }

    /// A disk's first bytes with a GPT of one partition.
    pub(crate) fn one_gpt_partition() -> Vec<u8> {
        let mut disk = vec![0u8; 34 * 512];
        disk[512..520].copy_from_slice(b"EFI PART");
        disk[512 + 72..512 + 80].copy_from_slice(&2u64.to_le_bytes());
        disk[512 + 80..512 + 84].copy_from_slice(&128u32.to_le_bytes());
        disk[512 + 84..512 + 88].copy_from_slice(&128u32.to_le_bytes());
        disk[1024..1040].copy_from_slice(&[0xAF; 16]);
        disk
    }

    fn disk(bytes: &[u8], size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file.set_len(size).unwrap();
        file
    }

    #[test]
    fn counts_the_partitions_of_either_table() {
        let mbr = disk(&two_mbr_partitions(), 1 << 20);
        let gpt = disk(&one_gpt_partition(), 1 << 20);
        let kind = |f: &File| read(f, 1 << 20).unwrap().map(|t| (t.kind, t.partitions));
        assert_eq!(kind(&mbr), Some(("MBR", 2)));
        assert_eq!(kind(&gpt), Some(("GPT", 1)));
        assert_eq!(kind(&disk(b"", 1 << 20)), None);
    }

    proptest! {
        #[test]
        fn a_damaged_gpt_never_fails(tail in proptest::collection::vec(any::<u8>(), 84)) {
            let mut bytes = vec![0u8; 512];
            bytes.extend(b"EFI PART");
            bytes.extend(tail);
            let file = disk(&bytes, 64 << 10);
            prop_assert_eq!(read(&file, 64 << 10).unwrap().unwrap().kind, "GPT");
        }
    }
}
