//! The table: one entry for each kind.

use crate::family::Family;
use crate::properties::{
    Checker, DelayedAllocation, Extents, Journal, KernelDriver, Mkfs, Package, Properties,
    Signature,
};
use crate::{GIB, MIB, TIB};

pub(crate) const EXT2: Properties = Properties {
    name: "ext2",
    title: "ext2",
    family: Family::Ext,
    package: Package {
        name: "e2fsprogs",
        programs: &["mke2fs", "e2fsck", "filefrag"],
    },
    mkfs: Mkfs {
        program: "mkfs.ext2",
        force: "-F",
        always: &[],
        answer: "",
        version_option: "-V",
        valued: "bCEegGiIJLmMNoOrtTU",
        long_flags: None,
        uuid: ("-U", ""),
        device_option: None,
    },
    checker: Checker {
        program: "e2fsck",
        arguments: &["-fn", "-tt"],
        version_option: "-V",
        file_option: None,
        memory_option: None,
        key: "e2fsck",
    },
    // One driver serves the three, unless the kernel was built with ext2's own.
    driver: KernelDriver {
        symbol: "EXT4_USE_FOR_EXT2",
        module: "ext4",
    },
    signature: Signature {
        offsets: &[0x438],
        magic: &[0x53, 0xEF],
    },
    statfs_magic: 0xEF53,
    group: "block group",
    smallest: MIB,
    // i_blocks counts sectors in 32 bits.
    largest_file: 2 * TIB,
    fixed_inodes: true,
    zoned: false,
    crash_tested: true,
    journal: Journal::None,
    delayed_allocation: DelayedAllocation::Option(false),
    extents: Extents::Feature("extent"),
    commit_seconds: None,
    compression: &[],
    mount_option: None,
    recovery_options: &[],
    spans_devices: false,
};

pub(crate) const EXT3: Properties = Properties {
    name: "ext3",
    title: "ext3",
    mkfs: Mkfs {
        program: "mkfs.ext3",
        ..EXT2.mkfs
    },
    driver: KernelDriver {
        symbol: "EXT4_FS",
        module: "ext4",
    },
    journal: Journal::DataMode,
    ..EXT2
};

pub(crate) const EXT4: Properties = Properties {
    name: "ext4",
    title: "ext4",
    mkfs: Mkfs {
        program: "mkfs.ext4",
        ..EXT2.mkfs
    },
    // Logical blocks have 32 bits.
    largest_file: 16 * TIB,
    delayed_allocation: DelayedAllocation::Option(true),
    ..EXT3
};

pub(crate) const XFS: Properties = Properties {
    name: "xfs",
    title: "XFS",
    family: Family::Xfs,
    package: Package {
        name: "xfsprogs",
        programs: &["mkfs.xfs", "xfs_repair", "xfs_bmap", "xfs_io"],
    },
    mkfs: Mkfs {
        program: "mkfs.xfs",
        force: "-f",
        always: &[],
        answer: "",
        version_option: "-V",
        valued: "bdilLmnrs",
        long_flags: None,
        uuid: ("-m", "uuid="),
        device_option: None,
    },
    checker: Checker {
        program: "xfs_repair",
        arguments: &["-n", "-v"],
        version_option: "-V",
        file_option: Some("-f"),
        memory_option: Some("-m"),
        key: "xfs_repair",
    },
    driver: KernelDriver {
        symbol: "XFS_FS",
        module: "xfs",
    },
    signature: Signature {
        offsets: &[0],
        magic: b"XFSB",
    },
    statfs_magic: 0x5846_5342,
    group: "allocation group",
    // mkfs.xfs makes nothing smaller since 5.19.
    smallest: 300 * MIB,
    largest_file: i64::MAX as u64,
    fixed_inodes: false,
    zoned: false,
    crash_tested: true,
    journal: Journal::Always("log"),
    delayed_allocation: DelayedAllocation::Always,
    extents: Extents::Always,
    commit_seconds: None,
    compression: &[],
    mount_option: None,
    // The driver refuses a second filesystem with the same UUID.
    recovery_options: &["nouuid"],
    spans_devices: false,
};

pub(crate) const BTRFS: Properties = Properties {
    name: "btrfs",
    title: "btrfs",
    family: Family::Btrfs,
    package: Package {
        name: "btrfs-progs",
        programs: &["mkfs.btrfs", "btrfs"],
    },
    mkfs: Mkfs {
        program: "mkfs.btrfs",
        force: "-f",
        always: &[],
        answer: "",
        version_option: "--version",
        valued: "AnsmdblLOrUR",
        long_flags: Some(&["force", "mixed", "nodiscard"]),
        uuid: ("-U", ""),
        device_option: None,
    },
    checker: Checker {
        program: "btrfs",
        arguments: &["check", "--readonly"],
        version_option: "--version",
        file_option: None,
        memory_option: None,
        key: "btrfs",
    },
    driver: KernelDriver {
        symbol: "BTRFS_FS",
        module: "btrfs",
    },
    signature: Signature {
        offsets: &[0x1_0040],
        magic: b"_BHRfS_M",
    },
    statfs_magic: 0x9123_683E,
    group: "block group",
    // mkfs.btrfs with duplicated metadata, its default.
    smallest: 109 * MIB,
    largest_file: i64::MAX as u64,
    fixed_inodes: false,
    zoned: true,
    crash_tested: true,
    journal: Journal::Always("tree log"),
    delayed_allocation: DelayedAllocation::Always,
    extents: Extents::Always,
    commit_seconds: Some(30),
    compression: &["compress", "compress-force"],
    mount_option: None,
    recovery_options: &[],
    spans_devices: true,
};

pub(crate) const OCFS2: Properties = Properties {
    name: "ocfs2",
    title: "OCFS2",
    family: Family::Ocfs2,
    package: Package {
        name: "ocfs2-tools",
        programs: &["mkfs.ocfs2", "fsck.ocfs2"],
    },
    mkfs: Mkfs {
        program: "mkfs.ocfs2",
        force: "-F",
        always: &["-M", "local"],
        // -F leaves out the check of the cluster, not the question before another OCFS2 is overwritten.
        answer: "y\n",
        version_option: "-V",
        valued: "bCJLMNTU",
        long_flags: Some(&[
            "force",
            "quiet",
            "verbose",
            "dry-run",
            "discard",
            "nodiscard",
            "no-backup-super",
            "global-heartbeat",
        ]),
        uuid: ("-U", ""),
        device_option: None,
    },
    checker: Checker {
        program: "fsck.ocfs2",
        arguments: &["-fn", "-tt"],
        version_option: "-V",
        file_option: None,
        memory_option: None,
        key: "fsck_ocfs2",
    },
    driver: KernelDriver {
        symbol: "OCFS2_FS",
        module: "ocfs2",
    },
    // In block 2 of the filesystem's block size: 512, 1024, 2048 or 4096 bytes.
    signature: Signature {
        offsets: &[0x400, 0x800, 0x1000, 0x2000],
        magic: b"OCFSV2",
    },
    statfs_magic: 0x7461_636F,
    group: "cluster group",
    // mkfs.ocfs2 makes 16 MiB; its journal and the first groups fill it.
    smallest: 64 * MIB,
    // Clusters are counted in 32 bits and have at least 4 KiB.
    largest_file: 16 * TIB,
    fixed_inodes: false,
    zoned: false,
    crash_tested: false,
    journal: Journal::DataMode,
    delayed_allocation: DelayedAllocation::Never,
    extents: Extents::Always,
    commit_seconds: None,
    compression: &[],
    // Kernels of today refuse to mount a local one without it; older ones accept it.
    mount_option: Some("heartbeat=none"),
    recovery_options: &["heartbeat=none"],
    spans_devices: false,
};

pub(crate) const F2FS: Properties = Properties {
    name: "f2fs",
    title: "f2fs",
    family: Family::F2fs,
    package: Package {
        name: "f2fs-tools",
        programs: &["mkfs.f2fs", "fsck.f2fs"],
    },
    mkfs: Mkfs {
        program: "mkfs.f2fs",
        force: "-f",
        always: &[],
        answer: "",
        version_option: "-V",
        valued: "aCdeEglOoRstTUwz",
        long_flags: None,
        uuid: ("-U", ""),
        // -c DEVICE adds a device.
        device_option: Some("-c"),
    },
    checker: Checker {
        program: "fsck.f2fs",
        arguments: &["-f", "--dry-run"],
        version_option: "-V",
        file_option: None,
        memory_option: None,
        key: "fsck_f2fs",
    },
    driver: KernelDriver {
        symbol: "F2FS_FS",
        module: "f2fs",
    },
    signature: Signature {
        offsets: &[0x400],
        magic: &[0x10, 0x20, 0xF5, 0xF2],
    },
    statfs_magic: 0xF2F5_2010,
    group: "section",
    // mkfs.f2fs 1.15 refuses 48 MiB: its reserve would be all of it.
    smallest: 64 * MIB,
    // 923 pointers in the inode, and five nodes of pointers (Documentation/filesystems/f2fs.rst).
    largest_file: 3940 * GIB,
    fixed_inodes: false,
    zoned: false,
    crash_tested: false,
    journal: Journal::Always("checkpoint"),
    delayed_allocation: DelayedAllocation::Always,
    // Extents are in memory alone.
    extents: Extents::Never,
    commit_seconds: None,
    compression: &["compress_algorithm"],
    mount_option: None,
    recovery_options: &[],
    spans_devices: false,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::{Family, Journal, Kind};

    #[test]
    fn programs_are_in_their_package() {
        for kind in Kind::ALL {
            let known = kind.properties();
            let programs = known.package.programs;
            assert!(programs.contains(&known.checker.program), "{kind}");
            // mkfs.ext4 is a link to mke2fs.
            let made_by = if kind.is_ext() {
                "mke2fs"
            } else {
                known.mkfs.program
            };
            assert!(programs.contains(&made_by), "{kind}");
            assert_eq!(known.mkfs.program, format!("mkfs.{}", known.name));
        }
    }

    #[test]
    fn a_magic_number_belongs_to_one_family() {
        let mut magics = BTreeSet::new();
        for &family in Family::ALL {
            let known = Kind::of_family(family).properties();
            assert!(magics.insert(known.statfs_magic), "{family:?}");
            assert!(!known.signature.offsets.is_empty() && !known.signature.magic.is_empty());
        }
    }

    #[test]
    fn the_ext_kinds_differ_in_journal_and_limits() {
        let of = |kind: Kind| (kind.properties().journal, kind.properties().largest_file);
        assert_eq!(of(Kind::Ext2), (Journal::None, 2 << 40));
        assert_eq!(of(Kind::Ext3), (Journal::DataMode, 2 << 40));
        assert_eq!(of(Kind::Ext4), (Journal::DataMode, 16 << 40));
    }
}
