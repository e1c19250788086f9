//! The table of formats: magic numbers, where they are, and what to do with a file or a device that has one.
//!
//! Offsets and magic numbers are those of the kernel's headers, of util-linux's libblkid and of the formats' own
//! documents.

use fskind::{Family, Kind};

use super::mark::{Mark, Proof, Row, aligned, at, end};
use super::{Format, proof};
use crate::swap;

/// `EXT2_ET_MAGIC_E2IMAGE` (lib/ext2fs/ext2_err.et of e2fsprogs).
pub(super) const E2IMAGE: [u8; 4] = [0x10, 0xB7, 0x2B, 0x7F];

pub(super) const EXT: fskind::Signature = Kind::Ext4.properties().signature;
const XFS: fskind::Signature = Kind::Xfs.properties().signature;
const BTRFS: fskind::Signature = Kind::Btrfs.properties().signature;
const OCFS2: fskind::Signature = Kind::Ocfs2.properties().signature;
const F2FS: fskind::Signature = Kind::F2fs.properties().signature;

static EXT_MARKS: [Mark; 1] = [at(EXT.offsets[0], EXT.magic)];
static XFS_MARKS: [Mark; 1] = [at(XFS.offsets[0], XFS.magic)];
static BTRFS_MARKS: [Mark; 1] = [at(BTRFS.offsets[0], BTRFS.magic)];
static F2FS_MARKS: [Mark; 1] = [at(F2FS.offsets[0], F2FS.magic)];
static OCFS2_MARKS: [Mark; 4] = [
    at(OCFS2.offsets[0], OCFS2.magic),
    at(OCFS2.offsets[1], OCFS2.magic),
    at(OCFS2.offsets[2], OCFS2.magic),
    at(OCFS2.offsets[3], OCFS2.magic),
];

const BCACHE: &[u8] = &[
    0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA, 0x82, 0x65, 0xF5, 0x7F, 0x48, 0xBA, 0x6D, 0x81,
];
const BCACHEFS: &[u8] = &[
    0xC6, 0x85, 0x73, 0xF6, 0x66, 0xCE, 0x90, 0xA9, 0xD9, 0x6A, 0x60, 0xCF, 0x80, 0x3D, 0xF7, 0xEF,
];
const MD: &[u8] = &0xA92B_4EFC_u32.to_le_bytes();
/// The 0.90 format has the byte order of the machine that made it.
const MD_SWAPPED: &[u8] = &0xA92B_4EFC_u32.to_be_bytes();
const UBERBLOCK: &[u8] = &0x00BA_B10C_u64.to_le_bytes();
const UBERBLOCK_SWAPPED: &[u8] = &0x00BA_B10C_u64.to_be_bytes();
/// The first name in the list of a label, after its length.
const ZFS_LIST: &[u8] = b"\0\0\0\x07version";
const ZFS_LABEL: u64 = 256 << 10;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// For what this program reads, and for what has no program that checks it.
const NOTHING: &str = "fslab check reads ext2, ext3, ext4, OCFS2 and XFS only";
const READ_ONLY: &str = "a read-only format has no checker here";
const SWAP: &str = "swap space holds no filesystem";
const DMRAID: &str = "it is a part of an array of the BIOS: activate the array (dmraid -ay), then check its /dev/mapper/NAME";
const MDADM: &str = "assemble the array (mdadm --assemble --readonly), then check its /dev/mdN";
const LVM: &str = "activate its volume group (vgchange -ay), then check /dev/VG/LV";
const DRBD: &str = "attach it with drbdadm up, then check its /dev/drbdN";
const MAPPER: &str =
    "activate the device-mapper target that it belongs to, then check its /dev/mapper/NAME";
const QEMU: &str = "convert it first: qemu-img convert -O raw {} IMAGE";
const EWF: &str = "mount it as a raw image: ewfmount {} FOLDER, then check FOLDER/ewf1";
const DISK: &str =
    "check one of its partitions (losetup -rfP --show {} attaches those of an image)";
const ON_BSD: &str = "check it on a BSD with: fsck_ffs -n";
const ELSEWHERE: &str = "check it on the system that made it";

/// Every format. Where traces of several are found the first row counts: filesystems that are checked here, files
/// with a magic number at their start, members of arrays, then all others; a bootloader's or an old partition table's
/// traces are last.
#[rustfmt::skip]
pub(super) static ROWS: &[Row] = &[
    // Filesystems of the lab.
    row(Format::Ext, Family::Ext.described(), "ext4", &EXT_MARKS, NOTHING).proven(proof::is_ext_filesystem),
    row(Format::Other, "an external journal of ext3 or ext4", "jbd", &EXT_MARKS, "check the filesystem that it belongs to: fslab check FILESYSTEM -j {}").proven(proof::is_external_journal),
    row(Format::Xfs, Family::Xfs.described(), "xfs", &XFS_MARKS, NOTHING),
    row(Format::Other, Family::Btrfs.described(), "btrfs", &BTRFS_MARKS, "check it with: btrfs check --readonly {}"),
    row(Format::Ocfs2, Family::Ocfs2.described(), "ocfs2", &OCFS2_MARKS, NOTHING),
    row(Format::Other, Family::F2fs.described(), "f2fs", &F2FS_MARKS, "check it with: fsck.f2fs --dry-run {}"),

    // Images of filesystems and of disks.
    row(Format::E2image, "an e2image metadata image", "", &[at(0, &E2IMAGE)], "make an image that can be checked: e2image -r DEVICE IMAGE (or read this one with debugfs -i)"),
    // OCFS2_IMAGE_MAGIC (include/ocfs2/image.h of ocfs2-tools).
    row(Format::O2image, "an o2image metadata image", "", &[at(0, &[0x5F, 0xD4, 0xA3, 0x72])], "read it with: debugfs.ocfs2 -i {}"),
    // XFS_MD_MAGIC_V1 and V2 (include/xfs_metadump.h of xfsprogs).
    row(Format::XfsMetadump, "an xfs_metadump image", "", &[at(0, b"XFSM"), at(0, b"XMD2")], "restore it first: xfs_mdrestore {} IMAGE"),
    row(Format::Other, "a btrfs-image file", "", &[at(0, &0xBD5C_25E2_7295_668B_u64.to_le_bytes())], "restore it first: btrfs-image -r {} IMAGE"),
    row(Format::Other, "an e2undo file", "", &[at(0, b"E2UNDO02")], "it undoes a change of another file: e2undo {} DEVICE"),
    row(Format::Other, "an xfsdump file", "", &[at(0, b"xFSdump0")], "restore it first: xfsrestore -f {} FOLDER"),
    row(Format::Other, "a stream of btrfs send", "", &[at(0, b"btrfs-stream\0")], "receive it first: btrfs receive -f {} FOLDER"),
    row(Format::Other, "an Android sparse image", "", &[at(0, &[0x3A, 0xFF, 0x26, 0xED])], "unpack it first: simg2img {} IMAGE"),
    row(Format::Other, "a partclone image", "", &[at(0, b"partclone-image")], "restore it first: partclone.restore -C -W -s {} -o IMAGE"),
    row(Format::Other, "a Partimage image", "", &[at(0, b"PaRtImAgE-VoLuMe")], "restore it first: partimage restore DEVICE {}"),
    row(Format::Other, "an ntfsclone image", "", &[at(0, b"\0ntfsclone-image")], "restore it first: ntfsclone --restore-image --overwrite IMAGE {}"),
    row(Format::Other, "an Expert Witness (EWF) image", "", &[at(0, b"EVF\x09\x0D\x0A\xFF\0"), at(0, b"LVF\x09\x0D\x0A\xFF\0"), at(0, b"EVF2\x0D\x0A\x81\0"), at(0, b"LEF2\x0D\x0A\x81\0")], EWF),
    row(Format::Other, "an AFF image", "", &[at(0, b"AFF10\r\n\0")], "convert it first: affconvert -r {}"),
    row(Format::Other, "a Windows image (WIM)", "", &[at(0, b"MSWIM\0\0\0")], "it holds files and not a filesystem: wimapply {} FOLDER"),
    row(Format::Other, "a QCOW2 image", "", &[at(0, b"QFI\xFB")], "convert it first: qemu-img convert -O raw {} IMAGE (or e2image -r {} IMAGE, if e2image -Q made it)"),
    row(Format::Other, "a QED image", "", &[at(0, b"QED\0")], QEMU),
    row(Format::Other, "a Parallels image", "", &[at(0, b"WithoutFreeSpace"), at(0, b"WithouFreSpacExt")], QEMU),
    row(Format::Other, "a Bochs image", "", &[at(0, b"Bochs Virtual HD Image")], QEMU),
    row(Format::Other, "a VMDK image", "", &[at(0, b"KDMV"), at(0, b"COWD"), at(0, b"# Disk DescriptorFile")], QEMU),
    row(Format::Other, "a VDI image", "", &[at(0x40, &0xBEDA_107F_u32.to_le_bytes())], QEMU),
    row(Format::Other, "a VHDX image", "", &[at(0, b"vhdxfile")], QEMU),
    row(Format::Other, "a VHD image", "", &[at(0, b"conectix"), end(512, b"conectix")], QEMU),
    row(Format::Other, "an Apple disk image (DMG)", "", &[end(512, b"koly")], "convert it first: dmg2img {} IMAGE"),
    row(Format::Other, "a Proxmox backup (VMA)", "", &[at(0, b"VMA\0")], "unpack it first: vma extract {} FOLDER"),

    // Archives and records.
    row(Format::Other, "a gzip file", "", &[at(0, &[0x1F, 0x8B, 0x08])], "unpack it first: gzip -dc {} > IMAGE"),
    row(Format::Other, "an xz file", "", &[at(0, b"\xFD7zXZ\0")], "unpack it first: xz -dc {} > IMAGE"),
    row(Format::Other, "a Zstandard file", "", &[at(0, &[0x28, 0xB5, 0x2F, 0xFD])], "unpack it first: zstd -dc {} > IMAGE"),
    row(Format::Other, "a bzip2 file", "", &[at(0, b"BZh")], "unpack it first: bzip2 -dc {} > IMAGE").proven(proof::is_bzip2),
    row(Format::Other, "an LZ4 file", "", &[at(0, &[0x04, 0x22, 0x4D, 0x18])], "unpack it first: lz4 -dc {} > IMAGE"),
    row(Format::Other, "an lzop file", "", &[at(0, b"\x89LZO\0\r\n\x1A\n")], "unpack it first: lzop -dc {} > IMAGE"),
    row(Format::Other, "an lzip file", "", &[at(0, b"LZIP")], "unpack it first: lzip -dc {} > IMAGE"),
    row(Format::Other, "a ZIP archive", "", &[at(0, b"PK\x03\x04")], "unpack it first: unzip -p {} > IMAGE"),
    row(Format::Other, "a 7z archive", "", &[at(0, b"7z\xBC\xAF\x27\x1C")], "unpack it first: 7z x {}"),
    row(Format::Other, "a RAR archive", "", &[at(0, b"Rar!\x1A\x07")], "unpack it first: unrar x {}"),
    row(Format::Other, "a tar archive", "", &[at(257, b"ustar")], "unpack it first: tar -xf {}"),
    row(Format::Other, "a cpio archive", "", &[at(0, b"070701"), at(0, b"070702"), at(0, b"070707")], "unpack it first: cpio -id < {}"),
    row(Format::Other, "a blktrace file", "", &[at(0, &0x6561_7407_u32.to_le_bytes()), at(0, &0x6561_7407_u32.to_be_bytes())], "it holds requests and not a filesystem: fslab trace report reads it"),
    row(Format::Other, "text of blkparse", "", &[at(0, b"")], "it lists requests and is not a filesystem").proven(proof::is_blkparse),
    row(Format::Other, "a mapfile of ddrescue", "", &[at(0, b"# Mapfile. Created by GNU ddrescue"), at(0, b"# Rescue Logfile. Created by GNU ddrescue")], "check the copy that it describes"),

    // Members of arrays, encrypted and cached devices.
    row(Format::Other, "a member of an md array", "linux_raid_member", &[at(0, MD), at(4096, MD), aligned(4096, 8192, MD), aligned(64 * KIB, 64 * KIB, MD), aligned(64 * KIB, 64 * KIB, MD_SWAPPED)], MDADM),
    row(Format::Other, "a DDF RAID member", "ddf_raid_member", &[end(512, &[0xDE, 0x11, 0xDE, 0x11]), end(257 * 512, &[0xDE, 0x11, 0xDE, 0x11])], MDADM),
    row(Format::Other, "an Intel RAID member", "isw_raid_member", &[end(1024, b"Intel Raid ISM Cfg Sig. ")], MDADM),
    row(Format::Other, "an LSI MegaRAID member", "lsi_mega_raid_member", &[end(512, b"$XIDE$")], DMRAID),
    row(Format::Other, "a VIA RAID member", "via_raid_member", &[end(512, &[0x55, 0xAA])], DMRAID).proven(proof::is_via),
    row(Format::Other, "a Silicon Image RAID member", "silicon_medley_raid_member", &[end(512 - 0x60, &[0, 0, 0, 0x2F])], DMRAID).proven(proof::is_silicon),
    row(Format::Other, "an NVIDIA RAID member", "nvidia_raid_member", &[end(1024, b"NVIDIA  ")], DMRAID),
    row(Format::Other, "a Promise RAID member", "promise_fasttrack_raid_member", &[
        end(63 * 512, PROMISE), end(255 * 512, PROMISE), end(256 * 512, PROMISE), end(16 * 512, PROMISE), end(399 * 512, PROMISE),
        end(591 * 512, PROMISE), end(675 * 512, PROMISE), end(735 * 512, PROMISE), end(911 * 512, PROMISE), end(974 * 512, PROMISE),
        end(991 * 512, PROMISE), end(951 * 512, PROMISE), end(3087 * 512, PROMISE),
    ], DMRAID),
    row(Format::Other, "a HighPoint 45x RAID member", "hpt45x_raid_member", &[end(11 * 512, &[0xF3, 0x16, 0x78, 0x5A]), end(11 * 512, &[0xFD, 0x16, 0x78, 0x5A])], DMRAID),
    row(Format::Other, "a HighPoint 37x RAID member", "hpt37x_raid_member", &[at(4640, &[0xF0, 0x16, 0x78, 0x5A]), at(4640, &[0xFD, 0x16, 0x78, 0x5A])], DMRAID),
    row(Format::Other, "an Adaptec RAID member", "adaptec_raid_member", &[end(512, &[0x37, 0xFC, 0x4D, 0x1E])], DMRAID),
    row(Format::Other, "a JMicron RAID member", "jmicron_raid_member", &[end(512, b"JM")], DMRAID).proven(proof::is_jmicron),
    row(Format::Other, "a bcachefs filesystem", "bcachefs", &[at(0x1018, BCACHEFS), at(2 * MIB + 24, BCACHEFS), aligned(512, MIB - 24, BCACHEFS)], "check it with: bcachefs fsck -n {}"),
    row(Format::Other, "a bcachefs filesystem of an old format", "bcachefs", &[at(0x1018, BCACHE)], "check it with the bcachefs of its time: bcachefs fsck -n {}").proven(proof::is_bcachefs),
    row(Format::Other, "a bcache device", "bcache", &[at(0x1018, BCACHE)], "register it, then check its /dev/bcacheN").proven(proof::is_bcache),
    row(Format::Other, "a Ceph BlueStore device", "ceph_bluestore", &[at(0, b"bluestore block device")], "check it with: ceph-bluestore-tool fsck"),
    // struct md_on_disk_08/09 in the last 4 KiB, magic at byte 60: DRBD 8, 8.4 unclean, 9.
    row(Format::Other, "a DRBD device", "drbd", &[aligned(1, 4096 - 60, &[0x83, 0x74, 0x02, 0x6B]), aligned(1, 4096 - 60, &[0x83, 0x74, 0x02, 0x6C]), aligned(1, 4096 - 60, &[0x83, 0x74, 0x02, 0x6D])], DRBD),
    row(Format::Other, "a control volume of drbdmanage", "drbdmanage_control_volume", &[at(0, b"$DRBDmgr=q")], "it holds no filesystem"),
    row(Format::Other, "a log of the DRBD proxy", "drbdproxy_datalog", &[at(0, b"DRBDdlh*")], "it holds no filesystem"),
    row(Format::Other, "an LVM2 physical volume", "LVM2_member", &[at(0, b"LABELONE").every(512, 4)], LVM),
    row(Format::Other, "an LVM1 physical volume", "LVM1_member", &[at(0, b"HM")], "convert its volume group (vgconvert -M2), then activate it (vgchange -ay)").proven(proof::is_lvm1),
    row(Format::Other, "a store of a device-mapper snapshot", "DM_snapshot_cow", &[at(0, b"SnAp")], MAPPER),
    row(Format::Other, "the hashes of a dm-verity device", "DM_verity_hash", &[at(0, b"verity\0\0")], MAPPER),
    row(Format::Other, "a dm-integrity device", "DM_integrity", &[at(0, b"integrt\0")], "open it first: integritysetup open {} NAME, then check /dev/mapper/NAME"),
    row(Format::Other, "a LUKS encrypted volume", "crypto_LUKS", &[at(0, b"LUKS\xBA\xBE")], "open it first: cryptsetup open --readonly {} NAME, then check /dev/mapper/NAME"),
    row(Format::Other, "a VMFS volume", "VMFS_volume_member", &[at(MIB, &[0x0D, 0xD0, 0x01, 0xC0])], ELSEWHERE),
    row(Format::Other, "a UBI device", "ubi", &[at(0, b"UBI#")], "attach it (ubiattach), then check its volumes"),
    row(Format::Other, "a VDO volume", "vdo", &[at(0, b"dmvdo001")], MAPPER),
    row(Format::Other, "a Stratis member", "stratis", &[at(528, b"!Stra0tis\x86\xFF\x02^\x41rh"), at(4624, b"!Stra0tis\x86\xFF\x02^\x41rh")], "start its pool (stratis pool start), then check its filesystems in /dev/stratis"),
    row(Format::Other, "a BitLocker volume", "BitLocker", &[at(3, b"-FVE-FS-")], "open it first: cryptsetup bitlkOpen --readonly {} NAME, then check /dev/mapper/NAME"),
    row(Format::Other, "a BitLocker To Go volume", "BitLocker", &[at(0, b"\xEB\x58\x90MSWIN4.1")], "open it first: cryptsetup bitlkOpen --readonly {} NAME, then check /dev/mapper/NAME").proven(proof::is_bitlocker_to_go),
    row(Format::Other, "a FileVault 2 volume", "cs_fvault2", &[at(88, b"CS")], "open it first: cryptsetup fvault2Open --readonly {} NAME, then check /dev/mapper/NAME").proven(proof::is_core_storage),

    // Other filesystems.
    row(Format::Other, "a FAT filesystem", "vfat", &[at(0x52, b"MSWIN"), at(0x52, b"FAT32   "), at(0x36, b"MSDOS"), at(0x36, b"FAT16   "), at(0x36, b"FAT12   "), at(0x36, b"FAT     ")], "check it with: fsck.fat -n {}"),
    row(Format::Other, "a FAT filesystem without a name", "vfat", &[at(510, &[0x55, 0xAA])], "check it with: fsck.fat -n {}").proven(proof::is_nameless_fat),
    row(Format::Other, "swap space of TuxOnIce with a hibernation image", "swsuspend", &[at(0, &[0xED, 0xC3, 0x02, 0xE9, 0x98, 0x56, 0xE5, 0x0C])], SWAP),
    row(Format::Swap, "swap space", "swsuspend", &[
        hibernated(0, 0), hibernated(0, 1), hibernated(0, 2), hibernated(0, 3), hibernated(0, 4),
        hibernated(1, 0), hibernated(1, 1), hibernated(1, 2), hibernated(1, 3), hibernated(1, 4),
        hibernated(2, 0), hibernated(2, 1), hibernated(2, 2), hibernated(2, 3), hibernated(2, 4),
        hibernated(3, 0), hibernated(3, 1), hibernated(3, 2), hibernated(3, 3), hibernated(3, 4),
    ], SWAP),
    row(Format::Swap, "swap space", "swap", &[
        swapped(swap::MAGIC, 0), swapped(swap::MAGIC, 1), swapped(swap::MAGIC, 2), swapped(swap::MAGIC, 3), swapped(swap::MAGIC, 4),
        swapped(swap::MAGIC_OLD, 0), swapped(swap::MAGIC_OLD, 1), swapped(swap::MAGIC_OLD, 2), swapped(swap::MAGIC_OLD, 3), swapped(swap::MAGIC_OLD, 4),
    ], SWAP),
    row(Format::Other, "an XFS external log", "xfs_external_log", &[at(0, &[0xFE, 0xED, 0xBA, 0xBE]).every(512, 512)], "check the filesystem that it belongs to: fslab check FILESYSTEM --log-device {}").proven(proof::is_xfs_log),
    row(Format::Other, "an EXFS filesystem", "exfs", &[at(0, b"EXFS")], ELSEWHERE),
    row(Format::Other, "a reiserfs filesystem", "reiserfs", &[at(0x2034, b"ReIsErFs"), at(0x2014, b"ReIsErFs"), at(0x1_0034, b"ReIsErFs"), at(0x1_0034, b"ReIsEr2Fs"), at(0x1_0034, b"ReIsEr3Fs")], "check it with: reiserfsck --check {}"),
    row(Format::Other, "a reiser4 filesystem", "reiser4", &[at(0x1_0000, b"ReIsEr4")], "check it with: fsck.reiser4 --check {}"),
    row(Format::Other, "a JFS filesystem", "jfs", &[at(0x8000, b"JFS1")], "check it with: fsck.jfs -n {}"),
    row(Format::Other, "a UDF filesystem", "udf", &[at(0x8001, b"BEA01"), at(0x8001, b"BOOT2"), at(0x8001, b"CD001"), at(0x8001, b"CDW02"), at(0x8001, b"NSR02"), at(0x8001, b"NSR03"), at(0x8001, b"TEA01")], NOTHING).proven(proof::is_udf),
    row(Format::Other, "an ISO 9660 filesystem", "iso9660", &[at(0x8001, b"CD001"), at(0x8009, b"CDROM")], READ_ONLY),
    // Four labels, two at each end: a list of names, and a ring of uberblocks in the second half.
    row(Format::Other, "a member of a ZFS pool", "zfs_member", &[
        at(16 * KIB + 24, ZFS_LIST).every(ZFS_LABEL, 2), aligned(ZFS_LABEL, 2 * ZFS_LABEL - 16 * KIB - 24, ZFS_LIST).every(ZFS_LABEL, 2),
        at(128 * KIB, UBERBLOCK).every(KIB, 128), at(384 * KIB, UBERBLOCK).every(KIB, 128),
        at(128 * KIB, UBERBLOCK_SWAPPED).every(KIB, 128), at(384 * KIB, UBERBLOCK_SWAPPED).every(KIB, 128),
        aligned(ZFS_LABEL, 384 * KIB, UBERBLOCK).every(KIB, 128), aligned(ZFS_LABEL, 128 * KIB, UBERBLOCK).every(KIB, 128),
        aligned(ZFS_LABEL, 384 * KIB, UBERBLOCK_SWAPPED).every(KIB, 128), aligned(ZFS_LABEL, 128 * KIB, UBERBLOCK_SWAPPED).every(KIB, 128),
    ], "import the pool and check it with: zpool scrub"),
    row(Format::Other, "an HFS+ filesystem", "hfsplus", &[at(0x400, b"H+\0\x04"), at(0x400, b"HX\0\x05")], "check it with: fsck.hfsplus -n {}"),
    row(Format::Other, "an HFS+ filesystem in an HFS wrapper", "hfsplus", &[at(0x400, b"BD")], "check it with: fsck.hfsplus -n {}").proven(proof::is_wrapped_hfs_plus),
    row(Format::Other, "an HFS filesystem", "hfs", &[at(0x400, b"BD")], "check it with: fsck.hfs -n {}").proven(proof::is_hfs),
    row(Format::Other, "a UFS filesystem", "ufs", &[
        ufs(0, 0), ufs(1, 0), ufs(2, 0), ufs(3, 0), ufs(0, 1), ufs(1, 1), ufs(2, 1), ufs(3, 1), ufs(0, 2), ufs(1, 2), ufs(2, 2), ufs(3, 2),
        ufs(0, 3), ufs(1, 3), ufs(2, 3), ufs(3, 3), ufs(0, 4), ufs(1, 4), ufs(2, 4), ufs(3, 4), ufs(0, 5), ufs(1, 5), ufs(2, 5), ufs(3, 5),
        ufs(0, 6), ufs(1, 6), ufs(2, 6), ufs(3, 6), ufs(0, 7), ufs(1, 7), ufs(2, 7), ufs(3, 7), ufs(0, 8), ufs(1, 8), ufs(2, 8), ufs(3, 8),
        ufs(0, 9), ufs(1, 9), ufs(2, 9), ufs(3, 9), ufs(0, 10), ufs(1, 10), ufs(2, 10), ufs(3, 10), ufs(0, 11), ufs(1, 11), ufs(2, 11), ufs(3, 11),
    ], ON_BSD),
    row(Format::Other, "an HPFS filesystem", "hpfs", &[at(0x2000, &[0x49, 0xE8, 0x95, 0xF9])], ELSEWHERE).proven(proof::is_hpfs),
    row(Format::Other, "a System V filesystem", "sysv", &[sysv(0, 0), sysv(9, 0), sysv(15, 0), sysv(18, 0), sysv(0, 1), sysv(9, 1), sysv(15, 1), sysv(18, 1)], ELSEWHERE),
    row(Format::Other, "a Xenix filesystem", "xenix", &[at(2040, &[0x44, 0x55, 0x2B, 0]), at(2040, &[0, 0x2B, 0x55, 0x44]), at(2048, &[0x2B, 0x55, 0x44]), at(2048, &[0x44, 0x55, 0x2B])], ELSEWHERE),
    row(Format::Other, "an NTFS filesystem", "ntfs", &[at(3, b"NTFS    ")], "check it with: ntfsfix -n {}"),
    row(Format::Other, "an exFAT filesystem", "exfat", &[at(3, b"EXFAT   ")], "check it with: fsck.exfat -n {}"),
    row(Format::Other, "a ReFS filesystem", "ReFS", &[at(0, b"\0\0\0ReFS\0")], ELSEWHERE),
    row(Format::Other, "a cramfs filesystem", "cramfs", &[at(0, &[0x45, 0x3D, 0xCD, 0x28]), at(0, &[0x28, 0xCD, 0x3D, 0x45])], "check it with: fsck.cramfs {}"),
    row(Format::Other, "a romfs filesystem", "romfs", &[at(0, b"-rom1fs-")], READ_ONLY),
    row(Format::Other, "a metadata device of scoutfs", "scoutfs_meta", &[at(0x1_0004, &[0x8B, 0x42, 0x3C, 0x10])], "check it with: scoutfs check").proven(proof::is_scoutfs_metadata),
    row(Format::Other, "a data device of scoutfs", "scoutfs_data", &[at(0x1_0004, &[0x8B, 0x42, 0x3C, 0x10])], "check its metadata device with: scoutfs check").proven(proof::is_scoutfs_data),
    row(Format::Other, "a Minix filesystem", "minix", &[
        at(0x410, &[0x7F, 0x13]), at(0x410, &[0x8F, 0x13]), at(0x410, &[0x13, 0x7F]), at(0x410, &[0x13, 0x8F]),
        at(0x410, &[0x68, 0x24]), at(0x410, &[0x78, 0x24]), at(0x410, &[0x24, 0x68]), at(0x410, &[0x24, 0x78]),
        at(0x418, &[0x5A, 0x4D]), at(0x418, &[0x4D, 0x5A]),
    ], "check it with: fsck.minix {}").proven(proof::is_minix),
    row(Format::Other, "a GFS filesystem", "gfs", &[at(0x1_0000, &[0x01, 0x16, 0x19, 0x70])], "check it with: gfs_fsck -n {}").proven(proof::is_gfs),
    row(Format::Other, "a GFS2 filesystem", "gfs2", &[at(0x1_0000, &[0x01, 0x16, 0x19, 0x70])], "check it with: fsck.gfs2 -n {}").proven(proof::is_gfs2),
    row(Format::Other, "an OCFS filesystem", "ocfs", &[at(0x2000, b"OracleCFS")], ELSEWHERE),
    row(Format::Other, "an Oracle ASM disk", "oracleasm", &[at(32, b"ORCLDISK")], "check its disk group with Oracle ASM (asmcmd)"),
    row(Format::Other, "a VxFS filesystem", "vxfs", &[at(0x400, &[0xF5, 0xFC, 0x01, 0xA5]), at(0x2000, &[0xA5, 0x01, 0xFC, 0xF5])], ELSEWHERE),
    row(Format::Other, "a squashfs filesystem", "squashfs", &[at(0, b"hsqs")], READ_ONLY).proven(proof::is_squashfs_4),
    row(Format::Other, "a squashfs filesystem of version 3 or older", "squashfs3", &[at(0, b"hsqs"), at(0, b"sqsh")], READ_ONLY).proven(proof::is_squashfs_3),
    row(Format::Other, "a BeFS filesystem", "befs", &[at(32, b"BFS1"), at(32, b"1SFB"), at(0x220, b"BFS1"), at(0x220, b"1SFB")], "check it on Haiku with: checkfs -c"),
    row(Format::Other, "a BFS filesystem", "bfs", &[at(0, &[0xCE, 0xFA, 0xAD, 0x1B])], ELSEWHERE),
    row(Format::Other, "a VMFS filesystem", "VMFS", &[at(2 * MIB, &[0x5E, 0xF1, 0xAB, 0x2F])], ELSEWHERE),
    row(Format::Other, "a UBIFS filesystem", "ubifs", &[at(0, &[0x31, 0x18, 0x10, 0x06])], "write it to a UBI volume (ubiupdatevol) and mount that"),
    row(Format::Other, "a NILFS2 filesystem", "nilfs2", &[at(0x406, &[0x34, 0x34]), end(4096 - 6, &[0x34, 0x34])], "NILFS2 has no checker: mount it read-only (mount -o ro,norecovery) to see what is in it").proven(proof::is_nilfs),
    row(Format::Other, "an EROFS filesystem", "erofs", &[at(0x400, &[0xE2, 0xE1, 0xF5, 0xE0])], "check it with: fsck.erofs {}"),
    row(Format::Other, "an APFS container", "apfs", &[at(32, b"NXSB")], "check it with: apfsck {}"),
    row(Format::Other, "a zonefs filesystem", "zonefs", &[at(0, b"SFOZ")], NOTHING),
    row(Format::Other, "an mpool device", "mpool", &[at(0, b"mpoolDev")], ELSEWHERE),
    row(Format::Other, "a Novell (NSS) pool", "nss", &[at(0x1000, b"SPB5")], ELSEWHERE),
    // The second header of LUKS2, after a first one of each size that is allowed. It outlives what is made over the first.
    row(Format::Other, "a LUKS2 second header", "crypto_LUKS", &[
        at(0x4000, LUKS2), at(0x8000, LUKS2), at(0x1_0000, LUKS2), at(0x2_0000, LUKS2), at(0x4_0000, LUKS2), at(0x8_0000, LUKS2),
        at(0x10_0000, LUKS2), at(0x20_0000, LUKS2), at(0x40_0000, LUKS2),
    ], "its first header is lost: cryptsetup repair {}"),

    // Disks.
    row(Format::Other, "a disk with an SGI partition table", "sgi", &[at(0, &[0x0B, 0xE5, 0xA9, 0x41])], DISK),
    row(Format::Other, "a disk with a Sun partition table", "sun", &[at(508, &[0xDA, 0xBE])], DISK).proven(proof::is_sun_label),
    row(Format::Other, "a disk with a BSD disklabel", "bsd", &[at(512, &[0x57, 0x45, 0x56, 0x82]), at(64, &[0x57, 0x45, 0x56, 0x82]), at(0, &[0x57, 0x45, 0x56, 0x82])], DISK),
    row(Format::Other, "a disk with an Apple partition map", "mac", &[at(512, b"PM\0\0"), at(1024, b"PM\0\0"), at(2048, b"PM\0\0")], DISK),
    row(Format::Other, "a disk with an Atari partition table", "atari", &[at(0, b"")], DISK).proven(proof::is_atari),
    row(Format::Other, "an IBM DASD", "dasd", &[at(0x400, DASD_CDL), at(0x1000, DASD_CDL), at(0x2000, DASD_CDL), at(0x400, DASD_LDL), at(0x1000, DASD_LDL), at(0x2000, DASD_LDL), at(0x400, DASD_CMS), at(0x1000, DASD_CMS), at(0x2000, DASD_CMS)], DISK),
    row(Format::Other, "a disk of AIX", "aix", &[at(0, &[0xC9, 0xC2, 0xD4, 0xC1])], ELSEWHERE),
    row(Format::PartitionTable, "a DOS boot sector or MBR", "dos", &[at(510, &[0x55, 0xAA])], DISK),
    row(Format::PartitionTable, "a GPT header", "gpt", &[at(512, b"EFI PART"), at(4096, b"EFI PART")], DISK),
    row(Format::PartitionTable, "a GPT backup header", "gpt", &[end(512, b"EFI PART"), end(4096, b"EFI PART")], DISK),
];

const PROMISE: &[u8] = b"Promise Technology, Inc.";
const LUKS2: &[u8] = b"SKUL\xBA\xBE";
/// `VOL1`, `LNX1` and `CMS1` in EBCDIC.
const DASD_CDL: &[u8] = &[0xE5, 0xD6, 0xD3, 0xF1];
const DASD_LDL: &[u8] = &[0xD3, 0xD5, 0xE7, 0xF1];
const DASD_CMS: &[u8] = &[0xC3, 0xD4, 0xE2, 0xF1];

const fn row(
    format: Format,
    kind: &'static str,
    blkid: &'static str,
    marks: &'static [Mark],
    next: &'static str,
) -> Row {
    Row {
        format,
        kind,
        blkid,
        marks,
        proof: None,
        next,
    }
}

impl Row {
    const fn proven(self, proof: Proof) -> Row {
        Row {
            proof: Some(proof),
            ..self
        }
    }
}

/// Swap space of one of the sizes of pages.
const fn swapped(magic: &'static [u8; swap::MAGIC_SIZE], page: usize) -> Mark {
    at(swap::PAGE_SIZES[page] - swap::MAGIC_SIZE as u64, magic)
}

const fn hibernated(magic: usize, page: usize) -> Mark {
    swapped(swap::MAGICS_HIBERNATION[magic], page)
}

/// Magic numbers of UFS1, of its variants for long names, security, 4 GB and others, and of UFS2, in both orders of
/// bytes.
static UFS: [[u8; 4]; 12] = [
    0x0001_1954_u32.to_le_bytes(),
    0x0001_1954_u32.to_be_bytes(),
    0x1954_0119_u32.to_le_bytes(),
    0x1954_0119_u32.to_be_bytes(),
    0x0019_5612_u32.to_le_bytes(),
    0x0019_5612_u32.to_be_bytes(),
    0x0009_5014_u32.to_le_bytes(),
    0x0009_5014_u32.to_be_bytes(),
    0x0061_2195_u32.to_le_bytes(),
    0x0061_2195_u32.to_be_bytes(),
    0x0523_1994_u32.to_le_bytes(),
    0x0523_1994_u32.to_be_bytes(),
];

/// One of them in the superblock at one of its four places.
const fn ufs(place: usize, magic: usize) -> Mark {
    at([0, 8 * KIB, 64 * KIB, 256 * KIB][place] + 1372, &UFS[magic])
}

static SYSV: [[u8; 4]; 2] = [0xFD18_7E20_u32.to_le_bytes(), 0xFD18_7E20_u32.to_be_bytes()];

const fn sysv(kib: u64, magic: usize) -> Mark {
    at(kib * KIB + 1016, &SYSV[magic])
}
