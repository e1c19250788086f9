//! The ext family's superblock, group descriptors and journal inode (kernel documentation,
//! filesystems/ext4: "Super Block", "Block Group Descriptors", "Journal").

use std::io;
use std::os::unix::fs::FileExt;

use super::{Facts, le16, le32, le64, names, put, text, time, uuid};

/// Where the superblock lies, and how long it is.
const OFFSET: u64 = 1024;
const LENGTH: usize = 1024;
const MAGIC: u16 = 0xEF53;

const COMPAT: &[(u64, &str)] = &[
    (0x1, "dir_prealloc"),
    (0x2, "imagic_inodes"),
    (0x4, "has_journal"),
    (0x8, "ext_attr"),
    (0x10, "resize_inode"),
    (0x20, "dir_index"),
    (0x40, "lazy_bg"),
    (0x80, "exclude_inode"),
    (0x100, "snapshot_bitmap"),
    (0x200, "sparse_super2"),
    (0x400, "fast_commit"),
    (0x800, "stable_inodes"),
    (0x1000, "orphan_file"),
];
const INCOMPAT: &[(u64, &str)] = &[
    (0x1, "compression"),
    (0x2, "filetype"),
    (0x4, "needs_recovery"),
    (0x8, "journal_dev"),
    (0x10, "meta_bg"),
    (0x40, "extent"),
    (0x80, "64bit"),
    (0x100, "mmp"),
    (0x200, "flex_bg"),
    (0x400, "ea_inode"),
    (0x1000, "dirdata"),
    (0x2000, "metadata_csum_seed"),
    (0x4000, "large_dir"),
    (0x8000, "inline_data"),
    (0x10000, "encrypt"),
    (0x20000, "casefold"),
];
const RO_COMPAT: &[(u64, &str)] = &[
    (0x1, "sparse_super"),
    (0x2, "large_file"),
    (0x4, "btree_dir"),
    (0x8, "huge_file"),
    (0x10, "uninit_bg"),
    (0x20, "dir_nlink"),
    (0x40, "extra_isize"),
    (0x80, "has_snapshot"),
    (0x100, "quota"),
    (0x200, "bigalloc"),
    (0x400, "metadata_csum"),
    (0x800, "replica"),
    (0x1000, "read-only"),
    (0x2000, "project"),
    (0x4000, "shared_blocks"),
    (0x8000, "verity"),
    (0x10000, "orphan_present"),
];

const INCOMPAT_META_BG: u32 = 0x10;
const INCOMPAT_64BIT: u32 = 0x80;
const RO_COMPAT_GDT_CSUM: u32 = 0x10;
const RO_COMPAT_METADATA_CSUM: u32 = 0x400;
const GROUP_INODE_ZEROED: u16 = 0x4;

/// An ext superblock.
#[derive(Clone, Debug)]
pub struct Superblock {
    bytes: Vec<u8>,
}

impl Superblock {
    /// Reads it from a device or image; `InvalidData` when there is none.
    pub fn read(device: &impl FileExt) -> io::Result<Superblock> {
        let mut bytes = vec![0; LENGTH];
        device.read_exact_at(&mut bytes, OFFSET)?;
        let superblock = Superblock { bytes };
        let sane = le16(&superblock.bytes, 0x38) == MAGIC
            && superblock.u32(0x18) <= 6
            && superblock.u32(0x20) > 0
            && superblock.u32(0x28) > 0;
        sane.then_some(superblock)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no ext superblock"))
    }

    fn u32(&self, at: usize) -> u32 {
        le32(&self.bytes, at)
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> u64 {
        1024 << self.u32(0x18)
    }

    /// Blocks of the filesystem.
    pub fn blocks(&self) -> u64 {
        let high = if self.u32(0x60) & INCOMPAT_64BIT != 0 {
            self.u32(0x150)
        } else {
            0
        };
        u64::from(self.u32(0x4)) | u64::from(high) << 32
    }

    /// Block groups.
    pub fn groups(&self) -> u64 {
        let data = self.blocks().saturating_sub(u64::from(self.u32(0x14)));
        data.div_ceil(u64::from(self.u32(0x20)))
    }

    /// Whether group descriptors have checksums, without which their flags mean nothing.
    pub fn descriptors_have_flags(&self) -> bool {
        self.u32(0x64) & (RO_COMPAT_GDT_CSUM | RO_COMPAT_METADATA_CSUM) != 0
    }

    fn descriptor_size(&self) -> u64 {
        let size = u64::from(le16(&self.bytes, 0xFE));
        // No descriptor is longer than the smallest block: damage must not divide by zero.
        if self.u32(0x60) & INCOMPAT_64BIT != 0 && (32..=1024).contains(&size) {
            size
        } else {
            32
        }
    }

    /// Byte offset of a group's descriptor. With meta_bg from group `first_meta_bg` on, each
    /// block of descriptors lies in the first group that it describes.
    fn descriptor_offset(&self, group: u64) -> u64 {
        let per_block = self.block_size() / self.descriptor_size();
        let descriptor_block = group / per_block;
        let within = group % per_block * self.descriptor_size();
        let first_data = u64::from(self.u32(0x14));
        let meta_bg = self.u32(0x60) & INCOMPAT_META_BG != 0;
        let block = if meta_bg && descriptor_block >= u64::from(self.u32(0x104)) {
            let home = descriptor_block * per_block;
            let has_super = u64::from(self.has_backup(home));
            // Wrapping: a damaged field leads to a failed read, not to a panic.
            home.wrapping_mul(u64::from(self.u32(0x20)))
                .wrapping_add(first_data + has_super)
        } else {
            first_data + 1 + descriptor_block
        };
        block.wrapping_mul(self.block_size()).wrapping_add(within)
    }

    /// Whether a group has a copy of the superblock: 0, 1 and powers of 3, 5, 7 with sparse_super.
    fn has_backup(&self, group: u64) -> bool {
        let power = |base: u64| {
            let mut value = base;
            while value < group {
                value = value.saturating_mul(base);
            }
            value == group
        };
        self.u32(0x64) & 1 == 0 || group <= 1 || power(3) || power(5) || power(7)
    }

    /// Groups whose inode table the kernel has not yet filled with zeros, by their descriptors'
    /// INODE_ZEROED flag. Read through the device's page cache, where a mounted ext4 keeps its
    /// descriptors, so no sync is needed to see the present state.
    pub fn groups_not_zeroed(&self, device: &impl FileExt) -> io::Result<u64> {
        if !self.descriptors_have_flags() {
            return Ok(0);
        }
        let per_block = self.block_size() / self.descriptor_size();
        let mut left = 0;
        let mut block = vec![0; self.block_size() as usize];
        for group in 0..self.groups() {
            let index = group % per_block;
            if index == 0 {
                device.read_exact_at(&mut block, self.descriptor_offset(group))?;
            }
            let at = (index * self.descriptor_size()) as usize;
            left += u64::from(le16(&block, at + 0x12) & GROUP_INODE_ZEROED == 0);
        }
        Ok(left)
    }

    /// Bytes of the internal journal: from the superblock's copy of its inode, else the inode.
    fn journal_bytes(&self, device: &impl FileExt) -> io::Result<Option<u64>> {
        let inode = self.u32(0xE0);
        if inode == 0 {
            return Ok(None);
        }
        // s_jnl_backup_type 1: i_block[15], then i_size high and low.
        let copied = u64::from(self.u32(0x10C + 64)) | u64::from(self.u32(0x10C + 60)) << 32;
        if self.bytes.get(0xFD) == Some(&1) && copied != 0 {
            return Ok(Some(copied));
        }
        let per_group = u64::from(self.u32(0x28));
        let index = u64::from(inode) - 1;
        let mut table = [0; 4];
        device.read_exact_at(&mut table, self.descriptor_offset(index / per_group) + 8)?;
        let at = u64::from(u32::from_le_bytes(table)) * self.block_size()
            + index % per_group * self.inode_size();
        let mut body = [0; 128];
        device.read_exact_at(&mut body, at)?;
        Ok(Some(
            u64::from(le32(&body, 4)) | u64::from(le32(&body, 0x6C)) << 32,
        ))
    }

    fn inode_size(&self) -> u64 {
        // Revision 0 has no such field.
        if self.u32(0x4C) == 0 {
            128
        } else {
            u64::from(le16(&self.bytes, 0x58))
        }
    }

    /// Everything a report tells of it.
    pub fn facts(&self, device: &impl FileExt) -> io::Result<Facts> {
        let mut facts = Facts::new();
        let f = &mut facts;
        put(f, "uuid", uuid(&self.bytes, 0x68));
        put(f, "label", text(&self.bytes, 0x78, 16));
        put(f, "revision", self.u32(0x4C));
        self.features(f);
        put(f, "block_size", self.block_size());
        put(f, "blocks", self.blocks());
        put(f, "blocks_per_group", self.u32(0x20));
        put(f, "groups", self.groups());
        put(f, "inode_size", self.inode_size());
        put(f, "inodes", self.u32(0x0));
        put(f, "inodes_free", self.u32(0x10));
        put(f, "inodes_per_group", self.u32(0x28));
        let reserved = u64::from(self.u32(0x8)) | u64::from(self.u32(0x154)) << 32;
        put(f, "reserved_blocks", reserved);
        put(f, "flex_bg_groups", 1u64 << self.bytes[0x174].min(31));
        put(f, "stride_blocks", le16(&self.bytes, 0x164));
        put(f, "stripe_width_blocks", self.u32(0x170));
        put(f, "mount_count", le16(&self.bytes, 0x34));
        put(
            f,
            "state",
            if le16(&self.bytes, 0x3A) & 1 == 1 {
                "clean"
            } else {
                "in use"
            },
        );
        put(f, "errors_count", self.u32(0x194));
        put(f, "lifetime_write_kib", le64(&self.bytes, 0x178));
        self.history(f);
        self.journal(f, device)?;
        if self.descriptors_have_flags() {
            put(f, "groups_not_zeroed", self.groups_not_zeroed(device)?);
        }
        Ok(facts)
    }

    fn features(&self, facts: &mut Facts) {
        let sets = [
            ("features_compat", 0x5C, COMPAT),
            ("features_incompat", 0x60, INCOMPAT),
            ("features_ro_compat", 0x64, RO_COMPAT),
        ];
        for (name, at, table) in sets {
            put(facts, name, names(u64::from(self.u32(at)), table).join(" "));
        }
        let default = names(
            u64::from(self.u32(0x100)),
            &[
                (0x1, "debug"),
                (0x2, "bsdgroups"),
                (0x4, "user_xattr"),
                (0x8, "acl"),
                (0x10, "uid16"),
                (0x20, "journal_data"),
                (0x40, "journal_data_ordered"),
                (0x60, "journal_data_writeback"),
                (0x100, "nobarrier"),
                (0x200, "block_validity"),
                (0x400, "discard"),
                (0x800, "nodelalloc"),
            ],
        );
        put(facts, "default_mount_options", default.join(" "));
    }

    fn history(&self, facts: &mut Facts) {
        let times = [
            ("created", 0x108, Some(0x276)),
            ("last_mounted", 0x2C, Some(0x275)),
            ("last_checked", 0x40, Some(0x277)),
        ];
        for (name, low, high) in times {
            let high = high
                .and_then(|at: usize| self.bytes.get(at))
                .copied()
                .unwrap_or(0);
            let seconds = u64::from(self.u32(low)) | u64::from(high) << 32;
            if let Some(time) = time(seconds) {
                put(facts, name, time);
            }
        }
    }

    fn journal(&self, facts: &mut Facts, device: &impl FileExt) -> io::Result<()> {
        if self.u32(0x5C) & 0x4 == 0 {
            put(facts, "journal", "none");
            return Ok(());
        }
        if let Some(bytes) = self.journal_bytes(device)? {
            put(facts, "journal", "internal");
            put(facts, "journal_bytes", bytes);
            put(facts, "journal_blocks", bytes / self.block_size());
        } else {
            put(facts, "journal", "external");
            put(facts, "journal_uuid", uuid(&self.bytes, 0xD0));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs::File;
    use std::process::Command;

    /// An image that the real mkfs made.
    fn image(size: u64, program: &str, options: &[&str]) -> File {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(size).unwrap();
        let program = crate::command::locate(program).expect("e2fsprogs is installed");
        let status = Command::new(program)
            .args(["-q", "-F"])
            .args(options)
            .arg(file.path())
            .status()
            .unwrap();
        assert!(status.success());
        file.into_file()
    }

    #[test]
    fn reads_what_mke2fs_was_told() {
        let options = [
            "-b",
            "2048",
            "-I",
            "512",
            "-N",
            "4096",
            "-m",
            "3",
            "-L",
            "laboratory",
            "-U",
            "01234567-89ab-cdef-0123-456789abcdef",
            "-J",
            "size=8",
            "-E",
            "stride=4,stripe_width=16",
        ];
        let image = image(256 << 20, "mkfs.ext4", &options);
        let superblock = Superblock::read(&image).unwrap();
        let facts = superblock.facts(&image).unwrap();
        let expected = [
            ("block_size", "2048"),
            ("blocks", "131072"),
            ("inode_size", "512"),
            ("inodes", "4096"),
            ("reserved_blocks", "3932"),
            ("label", "laboratory"),
            ("uuid", "01234567-89ab-cdef-0123-456789abcdef"),
            ("journal", "internal"),
            ("journal_bytes", "8388608"),
            ("stride_blocks", "4"),
            ("stripe_width_blocks", "16"),
            ("state", "clean"),
        ];
        for (name, value) in expected {
            assert_eq!(facts[name], value, "{name}");
        }
        assert!(facts["features_incompat"].split(' ').any(|f| f == "extent"));
        assert!(
            facts["features_compat"]
                .split(' ')
                .any(|f| f == "has_journal")
        );
        assert!(facts["created"].starts_with("20"), "{}", facts["created"]);
    }

    #[test]
    fn the_journal_inode_is_read_when_its_copy_is_gone() {
        let image = image(64 << 20, "mkfs.ext4", &["-J", "size=4"]);
        image.write_all_at(&[0], OFFSET + 0xFD).unwrap();
        let facts = Superblock::read(&image).unwrap().facts(&image).unwrap();
        assert_eq!(facts["journal_bytes"], "4194304");
    }

    #[test]
    fn ext2_has_no_journal_and_no_flags() {
        let image = image(64 << 20, "mkfs.ext2", &[]);
        let superblock = Superblock::read(&image).unwrap();
        assert_eq!(superblock.facts(&image).unwrap()["journal"], "none");
        assert_eq!(superblock.groups_not_zeroed(&image).unwrap(), 0);
    }

    #[test]
    fn lazy_tables_are_counted_with_and_without_meta_bg() {
        for layout in ["^meta_bg,resize_inode", "meta_bg,^resize_inode"] {
            let options = |lazy: &str| {
                vec![
                    "-O".to_string(),
                    layout.into(),
                    "-b".into(),
                    "1024".into(),
                    "-E".into(),
                    format!("nodiscard,lazy_itable_init={lazy}"),
                ]
            };
            let count = |lazy: &str| {
                let options = options(lazy);
                let options: Vec<&str> = options.iter().map(String::as_str).collect();
                let image = image(512 << 20, "mkfs.ext4", &options);
                let superblock = Superblock::read(&image).unwrap();
                (
                    superblock.groups(),
                    superblock.groups_not_zeroed(&image).unwrap(),
                )
            };
            assert_eq!(count("0"), (64, 0), "{layout}");
            let (groups, left) = count("1");
            assert_eq!(groups, 64);
            assert!(left >= 60, "{layout}: {left} of {groups}");
        }
    }

    proptest! {
        #[test]
        fn damage_never_panics(
            noise in proptest::collection::vec(any::<u8>(), 2048),
            kept in 0usize..1024,
        ) {
            let mut bytes = noise;
            bytes[1024 + 0x38..1024 + 0x3A].copy_from_slice(&MAGIC.to_le_bytes());
            // A small filesystem, so that a walk over all groups ends.
            bytes[1024 + 0x4..1024 + 0x8].copy_from_slice(&1000u32.to_le_bytes());
            bytes[1024 + 0x60] &= !0x80;
            bytes[1024 + 0x18..1024 + 0x1C].copy_from_slice(&((kept % 7) as u32).to_le_bytes());
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(&bytes, 0).unwrap();
            if let Ok(superblock) = Superblock::read(&file) {
                let _ = superblock.facts(&file);
            }
        }
    }
}
