//! What may lie on a disk, found by its own magic bytes.
//!
//! Own probes rather than blkid(8): the gate must not depend on a program or library that may be
//! missing or old, blkid stops at the first of two answers and hides ambivalent ones, and the gate
//! wants the opposite: any trace of anybody's data is a reason to stop. Offsets and magic values
//! are those of the kernel's headers and, for members of arrays, of util-linux's libblkid.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A trace of somebody's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// In words: `an XFS filesystem`.
    pub kind: &'static str,
    /// Where its magic lies.
    pub offset: u64,
    /// How long it is.
    pub length: usize,
}

/// Fixed magics: what, byte offset, bytes.
const FIXED: &[(&str, u64, &[u8])] = &[
    ("an ext2/3/4 filesystem", 0x438, &[0x53, 0xEF]),
    ("an XFS filesystem", 0, b"XFSB"),
    ("an XFS external log", 0, &[0xFE, 0xED, 0xBA, 0xBE]),
    ("a btrfs filesystem", 0x1_0040, b"_BHRfS_M"),
    ("an f2fs filesystem", 0x400, &[0x10, 0x20, 0xF5, 0xF2]),
    (
        "a bcache device",
        0x1018,
        &[
            0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA, 0x82, 0x65, 0xF5, 0x7F, 0x48, 0xBA,
            0x6D, 0x81,
        ],
    ),
    (
        "a bcachefs filesystem",
        0x1018,
        &[
            0xC6, 0x85, 0x73, 0xF6, 0x66, 0xCE, 0x90, 0xA9, 0xD9, 0x6A, 0x60, 0xCF, 0x80, 0x3D,
            0xF7, 0xEF,
        ],
    ),
    ("a LUKS encrypted volume", 0, b"LUKS\xBA\xBE"),
    ("a BitLocker volume", 3, b"-FVE-FS-"),
    ("an NTFS filesystem", 3, b"NTFS    "),
    ("an exFAT filesystem", 3, b"EXFAT   "),
    ("a ReFS filesystem", 3, b"ReFS\0\0\0\0"),
    ("a FAT filesystem", 0x36, b"FAT12   "),
    ("a FAT filesystem", 0x36, b"FAT16   "),
    ("a FAT filesystem", 0x52, b"FAT32   "),
    ("an ISO 9660 filesystem", 0x8001, b"CD001"),
    ("a UDF filesystem", 0x8001, b"BEA01"),
    ("a squashfs filesystem", 0, b"hsqs"),
    ("a squashfs filesystem", 0, b"sqsh"),
    ("an EROFS filesystem", 0x400, &[0xE2, 0xE1, 0xF5, 0xE0]),
    ("a reiserfs filesystem", 0x1_0034, b"ReIsEr"),
    ("a reiserfs filesystem", 0x2034, b"ReIsEr"),
    ("a reiser4 filesystem", 0x1_0000, b"ReIsEr4"),
    ("a JFS filesystem", 0x8000, b"JFS1"),
    ("an OCFS2 filesystem", 0x400, b"OCFSV2"),
    ("an OCFS2 filesystem", 0x800, b"OCFSV2"),
    ("an OCFS2 filesystem", 0x1000, b"OCFSV2"),
    ("an OCFS2 filesystem", 0x2000, b"OCFSV2"),
    ("a GFS2 filesystem", 0x1_0000, &[0x01, 0x16, 0x19, 0x70]),
    ("a NILFS2 filesystem", 0x406, &[0x34, 0x34]),
    ("an HFS+ filesystem", 0x400, b"H+\0\x04"),
    ("an HFSX filesystem", 0x400, b"HX\0\x05"),
    ("an APFS container", 32, b"NXSB"),
    ("a UFS2 filesystem", 65536 + 1372, &[0x19, 0x01, 0x54, 0x19]),
    ("a VMFS volume", 0x20_0000, &[0x0D, 0xD0, 0x01, 0xC0]),
    ("a VDO volume", 0, b"dmvdo001"),
    ("a Ceph BlueStore device", 0, b"bluestore block device"),
    ("an Oracle ASM disk", 32, b"ORCLDISK"),
    ("a Stratis member", 528, b"!Stra0tis\x86\xFF\x02^\x41rh"),
    ("a DOS boot sector or MBR", 510, &[0x55, 0xAA]),
    ("a GPT header", 512, b"EFI PART"),
    ("a GPT header", 4096, b"EFI PART"),
];

/// Magics of swap space: at the end of the first page, whose size is the machine's that made it.
const SWAP: &[&[u8; 10]] = &[
    b"SWAPSPACE2",
    b"SWAP-SPACE",
    b"S1SUSPEND\0",
    b"S2SUSPEND\0",
    b"ULSUSPEND\0",
    b"LINHIB0001",
];

/// Magics at a distance from the end: what, bytes before the end, bytes.
const FROM_END: &[(&str, u64, &[u8])] = &[
    ("a GPT backup header", 512, b"EFI PART"),
    ("a GPT backup header", 4096, b"EFI PART"),
    ("a DDF RAID member", 512, &[0xDE, 0x11, 0xDE, 0x11]),
    ("an Intel RAID member", 1024, b"Intel Raid ISM Cfg Sig. "),
    (
        "a Promise RAID member",
        63 * 512,
        b"Promise Technology, Inc.",
    ),
    // struct md_on_disk_08/09 in the last 4 KiB, magic at byte 60: DRBD 8, 8.4 unclean, 9.
    ("a DRBD device", 4096 - 60, &[0x83, 0x74, 0x02, 0x6B]),
    ("a DRBD device", 4096 - 60, &[0x83, 0x74, 0x02, 0x6C]),
    ("a DRBD device", 4096 - 60, &[0x83, 0x74, 0x02, 0x6D]),
];

const MD_MAGIC: u32 = 0xA92B_4EFC;
const ZFS_UBERBLOCK: u64 = 0x00BA_B10C;
/// Where LUKS2 may keep its second header: after a first one of each allowed size.
const LUKS2_SECOND: &[u64] = &[
    0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000,
];

/// Every signature on a device of `size` bytes.
pub fn probe(device: &File, size: u64) -> io::Result<Vec<Signature>> {
    let reader = Reader { device, size };
    let mut found = Vec::new();
    for &(kind, offset, magic) in FIXED {
        reader.expect(&mut found, kind, offset, magic)?;
    }
    for &(kind, back, magic) in FROM_END {
        if let Some(offset) = size.checked_sub(back) {
            reader.expect(&mut found, kind, offset, magic)?;
        }
    }
    for page in [4096, 8192, 16384, 32768, 65536u64] {
        for magic in SWAP {
            reader.expect(&mut found, "swap space", page - 10, *magic)?;
        }
    }
    for &offset in LUKS2_SECOND {
        reader.expect(&mut found, "a LUKS2 second header", offset, b"SKUL\xBA\xBE")?;
    }
    lvm(&reader, &mut found)?;
    md(&reader, &mut found)?;
    zfs(&reader, &mut found)?;
    Ok(found)
}

/// LVM2: `LABELONE` in one of the first four sectors with its type 24 bytes on.
fn lvm(reader: &Reader<'_>, found: &mut Vec<Signature>) -> io::Result<()> {
    for sector in 0..4 {
        let offset = sector * 512;
        if reader.has(offset, b"LABELONE")? {
            found.push(Signature {
                kind: "an LVM2 physical volume",
                offset,
                length: 8,
            });
        }
    }
    Ok(())
}

/// Linux md: superblocks 0.90 and 1.0 near the end, 1.1 at the start, 1.2 at 4 KiB (md_p.h). The
/// 0.90 format has its maker's byte order.
fn md(reader: &Reader<'_>, found: &mut Vec<Signature>) -> io::Result<()> {
    let version_0_90 = (reader.size & !0xFFFF).checked_sub(0x1_0000);
    let version_1_0 = ((reader.size / 512).checked_sub(16)).map(|sector| (sector & !7) * 512);
    let places = [version_0_90, version_1_0, Some(0), Some(4096)];
    for offset in places.into_iter().flatten() {
        for magic in [MD_MAGIC.to_le_bytes(), MD_MAGIC.to_be_bytes()] {
            reader.expect(found, "a member of an md array", offset, &magic)?;
        }
    }
    Ok(())
}

/// ZFS: four labels of 256 KiB, two at each end, each with a ring of uberblocks in its second half.
fn zfs(reader: &Reader<'_>, found: &mut Vec<Signature>) -> io::Result<()> {
    const LABEL: u64 = 256 << 10;
    let aligned = reader.size & !(LABEL - 1);
    let ends = [aligned.checked_sub(2 * LABEL), aligned.checked_sub(LABEL)];
    for label in [Some(0), Some(LABEL)].into_iter().chain(ends).flatten() {
        let Some(ring) = reader.bytes(label + LABEL / 2, (LABEL / 2) as usize)? else {
            continue;
        };
        for (index, slot) in ring.chunks_exact(1024).enumerate() {
            let magic = &slot[..8];
            if magic == ZFS_UBERBLOCK.to_le_bytes() || magic == ZFS_UBERBLOCK.to_be_bytes() {
                found.push(Signature {
                    kind: "a member of a ZFS pool",
                    offset: label + LABEL / 2 + index as u64 * 1024,
                    length: 8,
                });
            }
        }
    }
    Ok(())
}

struct Reader<'a> {
    device: &'a File,
    size: u64,
}

impl Reader<'_> {
    /// Bytes of a range; `None` when it does not lie whole on the device.
    fn bytes(&self, offset: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        if offset.saturating_add(length as u64) > self.size {
            return Ok(None);
        }
        let mut buffer = vec![0; length];
        self.device.read_exact_at(&mut buffer, offset)?;
        Ok(Some(buffer))
    }

    fn has(&self, offset: u64, magic: &[u8]) -> io::Result<bool> {
        Ok(self.bytes(offset, magic.len())?.as_deref() == Some(magic))
    }

    fn expect(
        &self,
        found: &mut Vec<Signature>,
        kind: &'static str,
        offset: u64,
        magic: &[u8],
    ) -> io::Result<()> {
        if self.has(offset, magic)? {
            found.push(Signature {
                kind,
                offset,
                length: magic.len(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blank(size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        file
    }

    const SIZE: u64 = (64 << 20) + 4096 * 5;

    #[test]
    fn a_blank_device_has_none_whatever_its_size() {
        for size in [0, 1, 511, 512, 4096, 100_000, SIZE] {
            assert_eq!(probe(&blank(size), size).unwrap(), Vec::new(), "{size}");
        }
    }

    #[test]
    fn every_fixed_magic_is_found_alone() {
        for &(kind, offset, magic) in FIXED {
            let file = blank(SIZE);
            file.write_all_at(magic, offset).unwrap();
            let found = probe(&file, SIZE).unwrap();
            assert!(
                found.iter().any(|s| s.kind == kind && s.offset == offset),
                "{kind} at {offset}: {found:?}"
            );
        }
    }

    #[test]
    fn every_magic_at_the_end_is_found() {
        for &(kind, back, magic) in FROM_END {
            let file = blank(SIZE);
            file.write_all_at(magic, SIZE - back).unwrap();
            let found = probe(&file, SIZE).unwrap();
            assert!(found.iter().any(|s| s.kind == kind), "{kind}: {found:?}");
        }
    }

    #[test]
    fn swap_of_every_page_size_lvm_in_every_sector_md_of_every_version_and_each_zfs_label() {
        let aligned = SIZE & !0x3_FFFF;
        let mut cases: Vec<(&str, u64, Vec<u8>)> = Vec::new();
        for page in [4096u64, 8192, 16384, 32768, 65536] {
            cases.push(("swap space", page - 10, b"SWAPSPACE2".to_vec()));
        }
        for sector in 0..4 {
            cases.push((
                "an LVM2 physical volume",
                sector * 512,
                b"LABELONE".to_vec(),
            ));
        }
        for offset in [
            (SIZE & !0xFFFF) - 0x1_0000,
            ((SIZE / 512 - 16) & !7) * 512,
            0,
            4096,
        ] {
            cases.push((
                "a member of an md array",
                offset,
                MD_MAGIC.to_le_bytes().into(),
            ));
        }
        for label in [0, 256 << 10, aligned - (512 << 10), aligned - (256 << 10)] {
            let offset = label + (128 << 10) + 5 * 1024;
            cases.push((
                "a member of a ZFS pool",
                offset,
                ZFS_UBERBLOCK.to_be_bytes().into(),
            ));
        }
        for &offset in LUKS2_SECOND {
            cases.push(("a LUKS2 second header", offset, b"SKUL\xBA\xBE".to_vec()));
        }
        for (kind, offset, magic) in cases {
            let file = blank(SIZE);
            file.write_all_at(&magic, offset).unwrap();
            let found = probe(&file, SIZE).unwrap();
            assert!(
                found.iter().any(|s| s.kind == kind && s.offset == offset),
                "{kind} at {offset}: {found:?}"
            );
        }
    }
}
