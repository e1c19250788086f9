//! Partition tables, read from the disk itself: a kernel that did not scan (a loop device without
//! partscan, a kernel built without the parser) shows no partitions, yet they exist.

use std::io;

use super::{ReadAt, Reader, le32, le64};

/// Entries of a table that are read at most: a damaged header may claim any number.
pub const LARGEST_TABLE: usize = 1024;
/// Extended boot records that are followed at most, so that a loop of them ends.
const LONGEST_CHAIN: usize = 128;

/// Which kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// GUID partition table.
    Gpt,
    /// DOS partition table.
    Mbr,
}

impl TableKind {
    /// `GPT` or `MBR`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TableKind::Gpt => "GPT",
            TableKind::Mbr => "MBR",
        }
    }
}

/// A partition, as its table describes it. Nothing is checked against the size of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number, from 1; logical partitions of an MBR begin at 5.
    pub number: usize,
    /// First byte.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// Its type says that it holds a Linux filesystem.
    pub linux: bool,
}

/// A partition table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Which kind.
    pub kind: TableKind,
    /// Entries in use, in the order of the table.
    pub partitions: Vec<Partition>,
}

impl Table {
    /// The first partition on the disk that holds a Linux filesystem by its type.
    #[must_use]
    pub fn first_linux(&self) -> Option<&Partition> {
        let linux = self.partitions.iter().filter(|partition| partition.linux);
        linux.min_by_key(|partition| partition.start)
    }
}

/// The partition table of a disk. A GPT wins over its protective MBR.
///
/// # Errors
/// The source cannot be read.
pub fn partition_table<R: ReadAt + ?Sized>(source: &R) -> io::Result<Option<Table>> {
    let reader = Reader { source };
    for sector in [512, 4096] {
        if let Some(table) = gpt(&reader, sector)? {
            return Ok(Some(table));
        }
    }
    mbr(&reader)
}

/// Type GUIDs of partitions for Linux filesystems, as on the disk (the first three fields are
/// little-endian): filesystem data, root (x86-64, x86, arm64, arm), `/home`, `/srv`, `/var`, `/usr`
/// (x86-64), and `/boot` (systemd's Discoverable Partitions Specification).
const LINUX_TYPES: &[[u8; 16]] = &[
    guid(0x0FC6_3DAF, 0x8483, 0x4772, 0x8E79_3D69_D847_7DE4),
    guid(0x4F68_BCE3, 0xE8CD, 0x4DB1, 0x96E7_FBCA_F984_B709),
    guid(0x4447_9540, 0xF297, 0x41B2, 0x9AF7_D131_D5F0_458A),
    guid(0xB921_B045, 0x1DF0, 0x41C3, 0xAF44_4C6F_280D_3FAE),
    guid(0x69DA_D710, 0x2CE4, 0x4E3C, 0xB16C_21A1_D49A_BED3),
    guid(0x933A_C7E1, 0x2EB4, 0x4F13, 0xB844_0E14_E2AE_F915),
    guid(0x3B8F_8425, 0x20E0, 0x4F3B, 0x907F_1A25_A76F_98E8),
    guid(0x4D21_B016, 0xB534, 0x45C2, 0xA9FB_5C16_E091_FD2D),
    guid(0x8484_680C, 0x9521, 0x48C6, 0x9C11_B072_0656_F69E),
    guid(0xBC13_C2FF, 0x59E6, 0x4262, 0xA352_B275_FD6F_7172),
];

const fn guid(first: u32, second: u16, third: u16, rest: u64) -> [u8; 16] {
    let (a, b, c) = (
        first.to_le_bytes(),
        second.to_le_bytes(),
        third.to_le_bytes(),
    );
    let d = rest.to_be_bytes();
    [
        a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], d[0], d[1], d[2], d[3], d[4], d[5], d[6],
        d[7],
    ]
}

/// GPT (UEFI 2.10, 5.3): header in LBA 1; entries of `SizeOfPartitionEntry` bytes; a type of zeros
/// is an unused entry.
fn gpt<R: ReadAt + ?Sized>(reader: &Reader<'_, R>, sector: u64) -> io::Result<Option<Table>> {
    let Some(header) = reader.bytes(sector, 92)? else {
        return Ok(None);
    };
    if !header.starts_with(b"EFI PART") {
        return Ok(None);
    }
    let entries = le64(&header, 72).saturating_mul(sector);
    let count = (le32(&header, 80) as usize).min(LARGEST_TABLE);
    let length = u64::from(le32(&header, 84).clamp(128, 4096));
    let mut partitions = Vec::new();
    for index in 0..count {
        let offset = entries.saturating_add(index as u64 * length);
        let Some(entry) = reader.bytes(offset, 48)? else {
            break;
        };
        if entry[..16] == [0; 16] {
            continue;
        }
        let (first, last) = (le64(&entry, 32), le64(&entry, 40));
        let sectors = last.saturating_sub(first).saturating_add(1);
        partitions.push(Partition {
            number: index + 1,
            start: first.saturating_mul(sector),
            length: sectors.saturating_mul(sector),
            linux: LINUX_TYPES.iter().any(|kind| entry.starts_with(kind)),
        });
    }
    Ok(Some(Table {
        kind: TableKind::Gpt,
        partitions,
    }))
}

/// MBR: four entries at byte 446. The boot sector of a FAT has the same mark, so at least one entry
/// must look like a partition. Sectors count 512 bytes.
fn mbr<R: ReadAt + ?Sized>(reader: &Reader<'_, R>) -> io::Result<Option<Table>> {
    let Some(entries) = boot_record(reader, 0)? else {
        return Ok(None);
    };
    let mut partitions = Vec::new();
    let mut extended = None;
    for (index, entry) in entries.iter().enumerate() {
        if !entry.used {
            continue;
        }
        if entry.extended {
            extended = extended.or(Some(entry.first));
        }
        partitions.push(entry.partition(index + 1, 0));
    }
    if let Some(start) = extended {
        logical(reader, start, &mut partitions)?;
    }
    Ok((!partitions.is_empty()).then_some(Table {
        kind: TableKind::Mbr,
        partitions,
    }))
}

/// The logical partitions: a chain of boot records, each with one partition, counted from the record,
/// and a link to the next record, counted from the first.
fn logical<R: ReadAt + ?Sized>(
    reader: &Reader<'_, R>,
    start: u64,
    partitions: &mut Vec<Partition>,
) -> io::Result<()> {
    let mut at = start;
    for number in 5..5 + LONGEST_CHAIN {
        let Some([partition, next, ..]) = boot_record(reader, at * 512)? else {
            break;
        };
        if partition.used {
            partitions.push(partition.partition(number, at));
        }
        if !next.used || !next.extended {
            break;
        }
        at = start + next.first;
    }
    Ok(())
}

/// An entry of a boot record. Numbers are sectors.
#[derive(Clone, Copy)]
struct Entry {
    used: bool,
    extended: bool,
    linux: bool,
    first: u64,
    sectors: u64,
}

impl Entry {
    fn partition(&self, number: usize, base: u64) -> Partition {
        Partition {
            number,
            start: (base + self.first) * 512,
            length: self.sectors * 512,
            linux: self.linux,
        }
    }
}

fn boot_record<R: ReadAt + ?Sized>(
    reader: &Reader<'_, R>,
    offset: u64,
) -> io::Result<Option<[Entry; 4]>> {
    let Some(sector) = reader.bytes(offset, 512)? else {
        return Ok(None);
    };
    if sector[510..] != [0x55, 0xAA] {
        return Ok(None);
    }
    Ok(Some(std::array::from_fn(|index| {
        let entry = &sector[446 + index * 16..462 + index * 16];
        let sectors = le32(entry, 12);
        Entry {
            used: entry[4] != 0 && sectors != 0 && matches!(entry[0], 0 | 0x80),
            extended: matches!(entry[4], 0x05 | 0x0F | 0x85),
            linux: entry[4] == 0x83,
            first: le32(entry, 8).into(),
            sectors: sectors.into(),
        }
    })))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two primary Linux partitions, at 1 MiB and at 32 MiB.
    fn two_mbr_partitions() -> Vec<u8> {
        let mut sector = vec![0u8; 512];
        for (index, start) in [2048u32, 65536].into_iter().enumerate() {
            entry(&mut sector, index, 0x83, start, 32768);
        }
        sector[510..].copy_from_slice(&[0x55, 0xAA]);
        sector
    }

    fn entry(sector: &mut [u8], index: usize, kind: u8, start: u32, sectors: u32) {
        let entry = &mut sector[446 + index * 16..462 + index * 16];
        entry[4] = kind;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..16].copy_from_slice(&sectors.to_le_bytes());
    }

    /// One partition of the given type, from sector 2048 to 4095.
    fn one_gpt_partition(kind: [u8; 16]) -> Vec<u8> {
        let mut disk = vec![0u8; 34 * 512];
        disk[512..520].copy_from_slice(b"EFI PART");
        disk[512 + 72..512 + 80].copy_from_slice(&2u64.to_le_bytes());
        disk[512 + 80..512 + 84].copy_from_slice(&128u32.to_le_bytes());
        disk[512 + 84..512 + 88].copy_from_slice(&128u32.to_le_bytes());
        disk[1024..1040].copy_from_slice(&kind);
        disk[1056..1064].copy_from_slice(&2048u64.to_le_bytes());
        disk[1064..1072].copy_from_slice(&4095u64.to_le_bytes());
        disk
    }

    fn table(bytes: &[u8]) -> Option<Table> {
        partition_table(bytes).unwrap()
    }

    #[test]
    fn both_kinds_of_table_are_read_with_offsets_in_bytes() {
        let mbr = table(&two_mbr_partitions()).unwrap();
        assert_eq!((mbr.kind, mbr.partitions.len()), (TableKind::Mbr, 2));
        assert_eq!(mbr.first_linux().unwrap().start, 1 << 20);
        assert_eq!(mbr.partitions[1].length, 16 << 20);
        let gpt = table(&one_gpt_partition(LINUX_TYPES[0])).unwrap();
        assert_eq!(gpt.kind, TableKind::Gpt);
        let linux = gpt.first_linux().unwrap();
        assert_eq!(
            (linux.number, linux.start, linux.length),
            (1, 1 << 20, 1 << 20)
        );
        let other = table(&one_gpt_partition([0xAF; 16])).unwrap();
        assert_eq!((other.partitions.len(), other.first_linux()), (1, None));
        assert_eq!(table(&[0; 4096]), None);
    }

    #[test]
    fn logical_partitions_are_followed_and_a_loop_of_them_ends() {
        let mut disk = vec![0u8; 64 * 512];
        entry(&mut disk, 0, 0x05, 10, 50);
        disk[510..512].copy_from_slice(&[0x55, 0xAA]);
        for (at, next) in [(10usize, 10u32), (20, 0)] {
            let sector = &mut disk[at * 512..(at + 1) * 512];
            entry(sector, 0, 0x83, 1, 4);
            entry(sector, 1, 0x05, next, 10);
            sector[510..].copy_from_slice(&[0x55, 0xAA]);
        }
        // 10 -> 20 -> 10 -> ...
        let found = table(&disk).unwrap();
        assert_eq!(found.partitions.len(), 1 + LONGEST_CHAIN);
        assert_eq!(found.partitions[1].start, 11 * 512);
        assert_eq!(found.partitions[2].start, 21 * 512);
        assert_eq!(found.partitions[2].number, 6);
    }

    proptest! {
        #[test]
        fn a_damaged_gpt_is_still_a_gpt(tail in proptest::collection::vec(any::<u8>(), 84)) {
            let mut bytes = vec![0u8; 64 << 10];
            bytes[512..520].copy_from_slice(b"EFI PART");
            bytes[520..604].copy_from_slice(&tail);
            prop_assert_eq!(table(&bytes).unwrap().kind, TableKind::Gpt);
        }

        #[test]
        fn any_boot_record_is_read(tail in proptest::collection::vec(any::<u8>(), 64), rest in any::<u8>()) {
            let mut bytes = vec![rest; 16 << 10];
            bytes[446..510].copy_from_slice(&tail);
            bytes[510..512].copy_from_slice(&[0x55, 0xAA]);
            let _ = partition_table(&bytes[..]).unwrap();
        }
    }
}
