//! What the ext superblock tells, in the shape that all formats share and in words.

use std::io;
use std::os::unix::fs::FileExt;

use fskind::Family;

use super::features::{COMPAT, INCOMPAT, MOUNT_OPTIONS, RO_COMPAT};
use super::{COMPAT_FAST_COMMIT, INCOMPAT_FLEX_BG, Superblock};
use crate::bytes::{le16, le64, text, uuid};
use crate::superblock::words::{Words, names, put, time};
use crate::superblock::{Facts, Features, Journal};

/// `s_mkfs_time`, `s_mtime` and `s_lastcheck`: the low 32 bits and the high byte.
const CREATED: (usize, usize) = (0x108, 0x276);
const LAST_MOUNTED: (usize, usize) = (0x2C, 0x275);
const LAST_CHECKED: (usize, usize) = (0x40, 0x277);

impl Superblock {
    /// The facts that all formats share. A journal whose inode cannot be read has no size; it does
    /// not hide the rest.
    pub fn facts(&self, device: &impl FileExt) -> Facts {
        let block_size = self.block_size();
        let blocks = |at| u64::from(self.u32(at)).saturating_mul(block_size);
        let set = |at, table| names(u64::from(self.u32(at)), table);
        Facts {
            uuid: uuid(&self.bytes, 0x68),
            label: text(&self.bytes, 0x78, 16),
            block_size,
            bytes: self.blocks().saturating_mul(block_size),
            inode_size: Some(self.inode_size()),
            inodes: Some(u64::from(self.u32(0x0))),
            groups: Some(self.groups()),
            group_bytes: Some(blocks(0x20)),
            flex_groups: (self.u32(0x60) & INCOMPAT_FLEX_BG != 0).then(|| self.flex_groups()),
            features: Features {
                compat: set(0x5C, COMPAT),
                incompat: set(0x60, INCOMPAT),
                ro_compat: set(0x64, RO_COMPAT),
            },
            journal: self.has_journal().then(|| Journal {
                bytes: self.journal_bytes(device).unwrap_or(None),
                external: self.journal_inode() == 0,
                fast_commit: Some(self.u32(0x5C) & COMPAT_FAST_COMMIT != 0),
                ..Journal::default()
            }),
            stripe_unit: Some(u64::from(le16(&self.bytes, 0x164)).saturating_mul(block_size)),
            stripe_width: Some(blocks(0x170)),
            created: self.time(CREATED),
            last_mounted: self.time(LAST_MOUNTED),
            mount_count: Some(u64::from(le16(&self.bytes, 0x34))),
            last_checked: self.time(LAST_CHECKED),
            lifetime_kib: Some(le64(&self.bytes, 0x178)),
            errors: Some(u64::from(self.u32(0x194))),
            state: Some(self.state()),
            ..Facts::of(Family::Ext)
        }
    }

    /// Groups packed together; 1 without flex_bg.
    fn flex_groups(&self) -> u64 {
        1 << self.bytes[0x174].min(31)
    }

    /// `s_state`: a mounted filesystem is not clean.
    fn state(&self) -> &'static str {
        match le16(&self.bytes, 0x3A) {
            word if word & 2 != 0 => "errors",
            word if word & 1 != 0 => "clean",
            _ => "not clean",
        }
    }

    /// Seconds since 1970 from a field and its high byte; `None` when it was never set.
    fn time(&self, (low, high): (usize, usize)) -> Option<u64> {
        let seconds = u64::from(self.u32(low)) | u64::from(self.bytes[high]) << 32;
        (seconds != 0).then_some(seconds)
    }

    /// Everything a report tells of it.
    ///
    /// # Errors
    /// What reading the journal's inode or the group descriptors failed with.
    pub fn words(&self, device: &impl FileExt) -> io::Result<Words> {
        let mut words = Words::new();
        let f = &mut words;
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
        put(f, "flex_bg_groups", self.flex_groups());
        put(f, "stride_blocks", le16(&self.bytes, 0x164));
        put(f, "stripe_width_blocks", self.u32(0x170));
        put(f, "mount_count", le16(&self.bytes, 0x34));
        put(f, "state", self.state());
        put(f, "errors_count", self.u32(0x194));
        put(f, "lifetime_write_kib", le64(&self.bytes, 0x178));
        self.history(f);
        self.journal(f, device)?;
        if self.descriptors_have_flags() {
            put(f, "groups_not_zeroed", self.groups_not_zeroed(device)?);
        }
        Ok(words)
    }

    fn features(&self, words: &mut Words) {
        let sets = [
            ("features_compat", 0x5C, COMPAT),
            ("features_incompat", 0x60, INCOMPAT),
            ("features_ro_compat", 0x64, RO_COMPAT),
        ];
        for (name, at, table) in sets {
            put(words, name, names(u64::from(self.u32(at)), table).join(" "));
        }
        let default = names(u64::from(self.u32(0x100)), MOUNT_OPTIONS);
        put(words, "default_mount_options", default.join(" "));
    }

    fn history(&self, words: &mut Words) {
        let times = [
            ("created", self.time(CREATED)),
            ("last_mounted", self.time(LAST_MOUNTED)),
            ("last_checked", self.time(LAST_CHECKED)),
        ];
        for (name, seconds) in times {
            if let Some(time) = seconds.and_then(time) {
                put(words, name, time);
            }
        }
    }

    fn journal(&self, words: &mut Words, device: &impl FileExt) -> io::Result<()> {
        if !self.has_journal() {
            put(words, "journal", "none");
            return Ok(());
        }
        if let Some(bytes) = self.journal_bytes(device)? {
            put(words, "journal", "internal");
            put(words, "journal_bytes", bytes);
            put(words, "journal_blocks", bytes / self.block_size());
        } else {
            put(words, "journal", "external");
            put(words, "journal_uuid", uuid(&self.bytes, 0xD0));
        }
        Ok(())
    }
}
