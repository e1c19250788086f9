//! The fields of an ext superblock, in the shape that all formats share and by name.

use std::io;
use std::os::unix::fs::FileExt;

use fskind::Family;
use ondisk::bytes::uuid;
use ondisk::ext4::feature::{Compat, DEFAULT_MOUNT_OPTIONS, Incompat};
use ondisk::flags::names;

use super::Superblock;
use crate::superblock::fields::{Fields, put, put_features, time};
use crate::superblock::{Facts, Features, Journal};

impl Superblock {
    /// The facts that all formats share. A journal whose inode cannot be read has no size; it does
    /// not hide the rest.
    pub fn facts(&self, device: &impl FileExt) -> Facts {
        let sb = &self.0;
        let block_size = self.block_size();
        let bytes = |blocks: u32| u64::from(blocks).saturating_mul(block_size);
        let flex = sb.has_incompat(Incompat::FLEX_BG);
        Facts {
            uuid: uuid(&sb.s_uuid, 0),
            label: self.label(),
            block_size,
            bytes: self.blocks().saturating_mul(block_size),
            inode_size: Some(sb.inode_size().into()),
            inodes: Some(sb.s_inodes_count.get().into()),
            groups: Some(self.groups()),
            group_bytes: Some(bytes(sb.s_blocks_per_group.get())),
            flex_groups: flex.then(|| self.flex_groups()),
            features: self.features(),
            journal: self.has_journal().then(|| Journal {
                bytes: self.journal_bytes(device).unwrap_or(None),
                external: self.journal_is_external(),
                fast_commit: Some(sb.has_compat(Compat::FAST_COMMIT)),
                ..Journal::default()
            }),
            stripe_unit: Some(bytes(sb.s_raid_stride.get().into())),
            stripe_width: Some(bytes(sb.s_raid_stripe_width.get())),
            created: set(sb.mkfs_time()),
            last_mounted: set(sb.mtime()),
            mount_count: Some(sb.s_mnt_count.get().into()),
            last_checked: set(sb.lastcheck()),
            lifetime_kib: Some(sb.s_kbytes_written.get()),
            errors: Some(sb.s_error_count.get().into()),
            state: Some(self.state()),
            ..Facts::of(Family::Ext)
        }
    }

    fn label(&self) -> String {
        String::from_utf8_lossy(self.0.volume_name()).into_owned()
    }

    /// Groups packed together; 1 without flex_bg.
    fn flex_groups(&self) -> u64 {
        1 << self.0.s_log_groups_per_flex.min(31)
    }

    /// `s_state`: a mounted filesystem is not clean.
    fn state(&self) -> &'static str {
        match self.0.s_state.get() {
            flags if flags & 2 != 0 => "errors",
            flags if flags & 1 != 0 => "clean",
            _ => "not clean",
        }
    }

    fn features(&self) -> Features {
        Features {
            compat: self.0.compat().all_names(),
            incompat: self.0.incompat().all_names(),
            ro_compat: self.0.ro_compat().all_names(),
        }
    }

    /// All fields that a report prints.
    ///
    /// # Errors
    /// What reading the journal's inode or the group descriptors failed with.
    pub fn fields(&self, device: &impl FileExt) -> io::Result<Fields> {
        let sb = &self.0;
        let mut fields = Fields::new();
        let f = &mut fields;
        put(f, "uuid", uuid(&sb.s_uuid, 0));
        put(f, "label", self.label());
        put(f, "revision", sb.s_rev_level);
        put_features(f, &self.features());
        let default = names(sb.s_default_mount_opts.get().into(), DEFAULT_MOUNT_OPTIONS);
        put(f, "default_mount_options", default.join(" "));
        put(f, "block_size", self.block_size());
        put(f, "blocks", self.blocks());
        put(f, "blocks_per_group", sb.s_blocks_per_group);
        put(f, "groups", self.groups());
        put(f, "inode_size", sb.inode_size());
        put(f, "inodes", sb.s_inodes_count);
        put(f, "inodes_free", sb.s_free_inodes_count);
        put(f, "inodes_per_group", sb.s_inodes_per_group);
        put(f, "reserved_blocks", sb.r_blocks_count());
        put(f, "flex_bg_groups", self.flex_groups());
        put(f, "stride_blocks", sb.s_raid_stride);
        put(f, "stripe_width_blocks", sb.s_raid_stripe_width);
        put(f, "mount_count", sb.s_mnt_count);
        put(f, "state", self.state());
        put(f, "errors_count", sb.s_error_count);
        put(f, "lifetime_write_kib", sb.s_kbytes_written);
        self.history(f);
        self.journal(f, device)?;
        if self.descriptors_have_flags() {
            put(f, "groups_not_zeroed", self.groups_not_zeroed(device)?);
        }
        Ok(fields)
    }

    fn history(&self, fields: &mut Fields) {
        let times = [
            ("created", self.0.mkfs_time()),
            ("last_mounted", self.0.mtime()),
            ("last_checked", self.0.lastcheck()),
        ];
        for (name, seconds) in times {
            if let Some(time) = set(seconds).and_then(time) {
                put(fields, name, time);
            }
        }
    }

    fn journal(&self, fields: &mut Fields, device: &impl FileExt) -> io::Result<()> {
        if !self.has_journal() {
            put(fields, "journal", "none");
            return Ok(());
        }
        if let Some(bytes) = self.journal_bytes(device)? {
            put(fields, "journal", "internal");
            put(fields, "journal_bytes", bytes);
            put(fields, "journal_blocks", bytes / self.block_size());
        } else {
            put(fields, "journal", "external");
            put(fields, "journal_uuid", uuid(&self.0.s_journal_uuid, 0));
        }
        Ok(())
    }
}

/// `None` for a time that was never set.
fn set(seconds: u64) -> Option<u64> {
    (seconds != 0).then_some(seconds)
}
