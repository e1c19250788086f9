//! Magic numbers and where they are.

use std::io;

use fskind::{Family, Kind};

use super::{Format, ReadAt, Reader, Signature};
use crate::swap;

/// `EXT2_ET_MAGIC_E2IMAGE` (lib/ext2fs/ext2_err.et of e2fsprogs).
pub(super) const E2IMAGE: [u8; 4] = [0x10, 0xB7, 0x2B, 0x7F];

pub(super) const EXT: fskind::Signature = Kind::Ext4.properties().signature;
const XFS: fskind::Signature = Kind::Xfs.properties().signature;
const BTRFS: fskind::Signature = Kind::Btrfs.properties().signature;
const OCFS2: fskind::Signature = Kind::Ocfs2.properties().signature;
const F2FS: fskind::Signature = Kind::F2fs.properties().signature;

/// Fixed magics: what, byte offset, bytes. Those of filesystems that the lab makes are `fskind`'s.
const FIXED: &[(Format, &str, u64, &[u8])] = &[
    (
        Format::Ext,
        Family::Ext.described(),
        EXT.offsets[0],
        EXT.magic,
    ),
    (
        Format::Xfs,
        Family::Xfs.described(),
        XFS.offsets[0],
        XFS.magic,
    ),
    (
        Format::Other,
        "an XFS external log",
        0,
        &[0xFE, 0xED, 0xBA, 0xBE],
    ),
    (
        Format::Btrfs,
        Family::Btrfs.described(),
        BTRFS.offsets[0],
        BTRFS.magic,
    ),
    (
        Format::F2fs,
        Family::F2fs.described(),
        F2FS.offsets[0],
        F2FS.magic,
    ),
    (
        Format::Bcache,
        "a bcache device",
        0x1018,
        &[
            0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA, 0x82, 0x65, 0xF5, 0x7F, 0x48, 0xBA,
            0x6D, 0x81,
        ],
    ),
    (
        Format::Other,
        "a bcachefs filesystem",
        0x1018,
        &[
            0xC6, 0x85, 0x73, 0xF6, 0x66, 0xCE, 0x90, 0xA9, 0xD9, 0x6A, 0x60, 0xCF, 0x80, 0x3D,
            0xF7, 0xEF,
        ],
    ),
    (Format::Luks, "a LUKS encrypted volume", 0, b"LUKS\xBA\xBE"),
    (Format::Other, "a BitLocker volume", 3, b"-FVE-FS-"),
    (Format::Ntfs, "an NTFS filesystem", 3, b"NTFS    "),
    (Format::ExFat, "an exFAT filesystem", 3, b"EXFAT   "),
    (Format::Other, "a ReFS filesystem", 3, b"ReFS\0\0\0\0"),
    (Format::Fat, "a FAT filesystem", 0x36, b"FAT12   "),
    (Format::Fat, "a FAT filesystem", 0x36, b"FAT16   "),
    (Format::Fat, "a FAT filesystem", 0x52, b"FAT32   "),
    (Format::Iso9660, "an ISO 9660 filesystem", 0x8001, b"CD001"),
    (Format::Other, "a UDF filesystem", 0x8001, b"BEA01"),
    (Format::Squashfs, "a squashfs filesystem", 0, b"hsqs"),
    (Format::Squashfs, "a squashfs filesystem", 0, b"sqsh"),
    (
        Format::Other,
        "an EROFS filesystem",
        0x400,
        &[0xE2, 0xE1, 0xF5, 0xE0],
    ),
    (Format::Other, "a reiserfs filesystem", 0x1_0034, b"ReIsEr"),
    (Format::Other, "a reiserfs filesystem", 0x2034, b"ReIsEr"),
    (Format::Other, "a reiser4 filesystem", 0x1_0000, b"ReIsEr4"),
    (Format::Other, "a JFS filesystem", 0x8000, b"JFS1"),
    (
        Format::Ocfs2,
        Family::Ocfs2.described(),
        OCFS2.offsets[0],
        OCFS2.magic,
    ),
    (
        Format::Ocfs2,
        Family::Ocfs2.described(),
        OCFS2.offsets[1],
        OCFS2.magic,
    ),
    (
        Format::Ocfs2,
        Family::Ocfs2.described(),
        OCFS2.offsets[2],
        OCFS2.magic,
    ),
    (
        Format::Ocfs2,
        Family::Ocfs2.described(),
        OCFS2.offsets[3],
        OCFS2.magic,
    ),
    (
        Format::Other,
        "a GFS2 filesystem",
        0x1_0000,
        &[0x01, 0x16, 0x19, 0x70],
    ),
    (Format::Other, "a NILFS2 filesystem", 0x406, &[0x34, 0x34]),
    (Format::Other, "an HFS+ filesystem", 0x400, b"H+\0\x04"),
    (Format::Other, "an HFSX filesystem", 0x400, b"HX\0\x05"),
    (Format::Other, "an APFS container", 32, b"NXSB"),
    (
        Format::Other,
        "a UFS2 filesystem",
        65536 + 1372,
        &[0x19, 0x01, 0x54, 0x19],
    ),
    (
        Format::Other,
        "a VMFS volume",
        0x20_0000,
        &[0x0D, 0xD0, 0x01, 0xC0],
    ),
    (Format::Other, "a VDO volume", 0, b"dmvdo001"),
    (
        Format::Other,
        "a Ceph BlueStore device",
        0,
        b"bluestore block device",
    ),
    (Format::Other, "an Oracle ASM disk", 32, b"ORCLDISK"),
    (
        Format::Other,
        "a Stratis member",
        528,
        b"!Stra0tis\x86\xFF\x02^\x41rh",
    ),
    (Format::Gzip, "a gzip file", 0, &[0x1F, 0x8B, 0x08]),
    (Format::Xz, "an xz file", 0, b"\xFD7zXZ\0"),
    (
        Format::Zstd,
        "a Zstandard file",
        0,
        &[0x28, 0xB5, 0x2F, 0xFD],
    ),
    (Format::Lz4, "an LZ4 file", 0, &[0x04, 0x22, 0x4D, 0x18]),
    (Format::Zip, "a ZIP archive", 0, b"PK\x03\x04"),
    (Format::Tar, "a tar archive", 257, b"ustar"),
    (Format::Qcow2, "a QCOW2 image", 0, b"QFI\xFB"),
    (Format::Vmdk, "a VMDK image", 0, b"KDMV"),
    (
        Format::Vmdk,
        "a VMDK descriptor",
        0,
        b"# Disk DescriptorFile",
    ),
    (Format::Vdi, "a VDI image", 0x40, &[0x7F, 0x10, 0xDA, 0xBE]),
    (Format::Vhdx, "a VHDX image", 0, b"vhdxfile"),
    (Format::Vhd, "a VHD image", 0, b"conectix"),
    (Format::E2image, "an e2image metadata image", 0, &E2IMAGE),
    // OCFS2_IMAGE_MAGIC (include/ocfs2/image.h of ocfs2-tools).
    (
        Format::O2image,
        "an o2image metadata image",
        0,
        &[0x5F, 0xD4, 0xA3, 0x72],
    ),
    // XFS_MD_MAGIC_V1 and V2 (include/xfs_metadump.h of xfsprogs).
    (Format::XfsMetadump, "an xfs_metadump image", 0, b"XFSM"),
    (Format::XfsMetadump, "an xfs_metadump image", 0, b"XMD2"),
    (
        Format::PartitionTable,
        "a DOS boot sector or MBR",
        510,
        &[0x55, 0xAA],
    ),
    (Format::PartitionTable, "a GPT header", 512, b"EFI PART"),
    (Format::PartitionTable, "a GPT header", 4096, b"EFI PART"),
];

/// Magics at a distance from the end: what, bytes before the end, bytes.
const FROM_END: &[(Format, &str, u64, &[u8])] = &[
    (
        Format::PartitionTable,
        "a GPT backup header",
        512,
        b"EFI PART",
    ),
    (
        Format::PartitionTable,
        "a GPT backup header",
        4096,
        b"EFI PART",
    ),
    (Format::Vhd, "a VHD image", 512, b"conectix"),
    (
        Format::Other,
        "a DDF RAID member",
        512,
        &[0xDE, 0x11, 0xDE, 0x11],
    ),
    (
        Format::Other,
        "an Intel RAID member",
        1024,
        b"Intel Raid ISM Cfg Sig. ",
    ),
    (
        Format::Other,
        "a Promise RAID member",
        63 * 512,
        b"Promise Technology, Inc.",
    ),
    // struct md_on_disk_08/09 in the last 4 KiB, magic at byte 60: DRBD 8, 8.4 unclean, 9.
    (
        Format::Other,
        "a DRBD device",
        4096 - 60,
        &[0x83, 0x74, 0x02, 0x6B],
    ),
    (
        Format::Other,
        "a DRBD device",
        4096 - 60,
        &[0x83, 0x74, 0x02, 0x6C],
    ),
    (
        Format::Other,
        "a DRBD device",
        4096 - 60,
        &[0x83, 0x74, 0x02, 0x6D],
    ),
];

const MD_MAGIC: u32 = 0xA92B_4EFC;
const ZFS_UBERBLOCK: u64 = 0x00BA_B10C;
/// Offsets of the second LUKS2 header: the end of a first one of each size that is allowed.
const LUKS2_SECOND: &[u64] = &[
    0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000,
];

/// Every signature in the source. The names of filesystems come first, in the order of the tables;
/// partition tables are the last of the fixed ones.
///
/// # Errors
/// The source cannot be read.
pub fn all<R: ReadAt + ?Sized>(source: &R) -> io::Result<Vec<Signature>> {
    let mut found = Found {
        reader: Reader { source },
        size: source.size(),
        signatures: Vec::new(),
    };
    for &(format, kind, offset, magic) in FIXED {
        found.expect(format, kind, offset, magic)?;
    }
    for &(format, kind, back, magic) in FROM_END {
        if let Some(offset) = found.size.checked_sub(back) {
            found.expect(format, kind, offset, magic)?;
        }
    }
    for page in swap::PAGE_SIZES {
        for magic in swap::MAGICS {
            let offset = page - swap::MAGIC_SIZE as u64;
            found.expect(Format::Swap, "swap space", offset, magic)?;
        }
    }
    for &offset in LUKS2_SECOND {
        found.expect(
            Format::Luks,
            "a LUKS2 second header",
            offset,
            b"SKUL\xBA\xBE",
        )?;
    }
    bzip2(&mut found)?;
    lvm(&mut found)?;
    md(&mut found)?;
    zfs(&mut found)?;
    Ok(found.signatures)
}

/// bzip2: `BZh`, the block size `1` to `9`, then pi as the mark of the first block.
fn bzip2<R: ReadAt + ?Sized>(found: &mut Found<'_, R>) -> io::Result<()> {
    let head = found.reader.bytes(0, 10)?.unwrap_or_default();
    let level = head
        .get(3)
        .is_some_and(|level| (b'1'..=b'9').contains(level));
    if head.starts_with(b"BZh") && level && head[4..] == [0x31, 0x41, 0x59, 0x26, 0x53, 0x59] {
        found.add(Format::Bzip2, "a bzip2 file", 0, 10);
    }
    Ok(())
}

/// LVM2: `LABELONE` at the start of one of the first four sectors.
fn lvm<R: ReadAt + ?Sized>(found: &mut Found<'_, R>) -> io::Result<()> {
    for sector in 0..4 {
        found.expect(
            Format::Lvm,
            "an LVM2 physical volume",
            sector * 512,
            b"LABELONE",
        )?;
    }
    Ok(())
}

/// Linux md: superblocks 0.90 and 1.0 near the end, 1.1 at the start, 1.2 at 4 KiB (md_p.h). The
/// 0.90 format has the byte order of the machine that made it.
fn md<R: ReadAt + ?Sized>(found: &mut Found<'_, R>) -> io::Result<()> {
    let version_0_90 = (found.size & !0xFFFF).checked_sub(0x1_0000);
    let version_1_0 = ((found.size / 512).checked_sub(16)).map(|sector| (sector & !7) * 512);
    let places = [version_0_90, version_1_0, Some(0), Some(4096)];
    for offset in places.into_iter().flatten() {
        for magic in [MD_MAGIC.to_le_bytes(), MD_MAGIC.to_be_bytes()] {
            found.expect(Format::Md, "a member of an md array", offset, &magic)?;
        }
    }
    Ok(())
}

/// ZFS: four labels of 256 KiB, two at each end, each with a ring of uberblocks in its second half.
fn zfs<R: ReadAt + ?Sized>(found: &mut Found<'_, R>) -> io::Result<()> {
    const LABEL: u64 = 256 << 10;
    let aligned = found.size & !(LABEL - 1);
    let ends = [aligned.checked_sub(2 * LABEL), aligned.checked_sub(LABEL)];
    for label in [Some(0), Some(LABEL)].into_iter().chain(ends).flatten() {
        let Some(ring) = found
            .reader
            .bytes(label + LABEL / 2, (LABEL / 2) as usize)?
        else {
            continue;
        };
        for (index, slot) in ring.chunks_exact(1024).enumerate() {
            let magic = &slot[..8];
            if magic == ZFS_UBERBLOCK.to_le_bytes() || magic == ZFS_UBERBLOCK.to_be_bytes() {
                let offset = label + LABEL / 2 + index as u64 * 1024;
                found.add(Format::Zfs, "a member of a ZFS pool", offset, 8);
            }
        }
    }
    Ok(())
}

/// What was found so far.
struct Found<'a, R: ?Sized> {
    reader: Reader<'a, R>,
    size: u64,
    signatures: Vec<Signature>,
}

impl<R: ReadAt + ?Sized> Found<'_, R> {
    fn expect(
        &mut self,
        format: Format,
        kind: &'static str,
        offset: u64,
        magic: &[u8],
    ) -> io::Result<()> {
        if self.reader.has(offset, magic)? {
            self.add(format, kind, offset, magic.len());
        }
        Ok(())
    }

    fn add(&mut self, format: Format, kind: &'static str, offset: u64, length: usize) {
        self.signatures.push(Signature {
            format,
            kind,
            offset,
            length,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    /// A sparse file, so that the largest of them takes no memory.
    struct Blank(File, u64);

    impl ReadAt for Blank {
        fn size(&self) -> u64 {
            self.1
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
            self.0.read_exact_at(buffer, offset)
        }
    }

    fn blank(size: u64) -> Blank {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        Blank(file, size)
    }

    const SIZE: u64 = (64 << 20) + 4096 * 5;

    #[test]
    fn a_blank_device_has_none_whatever_its_size() {
        for size in [0, 1, 511, 512, 4096, 100_000, SIZE] {
            assert_eq!(all(&blank(size)).unwrap(), Vec::new(), "{size}");
        }
    }

    #[test]
    fn every_fixed_magic_is_found_alone() {
        for &(_, kind, offset, magic) in FIXED {
            let file = blank(SIZE);
            file.0.write_all_at(magic, offset).unwrap();
            let found = all(&file).unwrap();
            assert!(
                found.iter().any(|s| s.kind == kind && s.offset == offset),
                "{kind} at {offset}: {found:?}"
            );
        }
    }

    #[test]
    fn every_signature_of_the_table_of_filesystems_is_searched() {
        for kind in Kind::ALL {
            let known = kind.properties().signature;
            for &offset in known.offsets {
                let row = FIXED
                    .iter()
                    .find(|row| row.2 == offset && row.3 == known.magic);
                let described = row.map(|row| row.1);
                assert_eq!(
                    described,
                    Some(kind.family().described()),
                    "{kind} at {offset}"
                );
            }
        }
    }

    #[test]
    fn every_magic_at_the_end_is_found() {
        for &(_, kind, back, magic) in FROM_END {
            let file = blank(SIZE);
            file.0.write_all_at(magic, SIZE - back).unwrap();
            let found = all(&file).unwrap();
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
            file.0.write_all_at(&magic, offset).unwrap();
            let found = all(&file).unwrap();
            assert!(
                found.iter().any(|s| s.kind == kind && s.offset == offset),
                "{kind} at {offset}: {found:?}"
            );
        }
    }
}
