//! Which features a filesystem gets: those of its type by Debian's `mke2fs.conf`, then the edits of the user.

use ondisk::ext4::feature::{Compat, Incompat, RoCompat};

use super::{FsType, Options};
use crate::Error;

/// The three sets of a superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Features {
    pub(super) compat: Compat,
    pub(super) incompat: Incompat,
    pub(super) ro_compat: RoCompat,
}

/// What the writer here can make: each feature either changes nothing until a file uses it, or is laid out here.
const COMPAT: &[Compat] = &[
    Compat::HAS_JOURNAL,
    Compat::EXT_ATTR,
    Compat::RESIZE_INODE,
    Compat::DIR_INDEX,
    Compat::SPARSE_SUPER2,
    Compat::STABLE_INODES,
    Compat::ORPHAN_FILE,
    Compat::FAST_COMMIT,
];
const INCOMPAT: &[Incompat] = &[
    Incompat::FILETYPE,
    Incompat::META_BG,
    Incompat::EXTENTS,
    Incompat::BIT64,
    Incompat::FLEX_BG,
    Incompat::EA_INODE,
    Incompat::CSUM_SEED,
    Incompat::LARGEDIR,
    Incompat::INLINE_DATA,
    Incompat::ENCRYPT,
    Incompat::CASEFOLD,
    Incompat::MMP,
];
const RO_COMPAT: &[RoCompat] = &[
    RoCompat::SPARSE_SUPER,
    RoCompat::LARGE_FILE,
    RoCompat::HUGE_FILE,
    RoCompat::GDT_CSUM,
    RoCompat::DIR_NLINK,
    RoCompat::EXTRA_ISIZE,
    RoCompat::BIGALLOC,
    RoCompat::METADATA_CSUM,
    RoCompat::PROJECT,
    RoCompat::VERITY,
    RoCompat::QUOTA,
];

impl Features {
    /// The features for these options, found possible together.
    pub(super) fn of(options: &Options) -> Result<Self, Error> {
        let mut this = Self::of_type(options.fs_type);
        for name in &options.features.names {
            this.edit(name)?;
        }
        if options.journal_mib.is_some() {
            this.compat = this.compat.with(Compat::HAS_JOURNAL);
        }
        if this.metadata_csum() {
            this.ro_compat = this.ro_compat.without(RoCompat::GDT_CSUM);
        }
        this.check()?;
        Ok(this)
    }

    fn of_type(fs_type: FsType) -> Self {
        let mut this = Self {
            compat: Compat::RESIZE_INODE
                .with(Compat::DIR_INDEX)
                .with(Compat::EXT_ATTR),
            incompat: Incompat::FILETYPE,
            ro_compat: RoCompat::SPARSE_SUPER.with(RoCompat::LARGE_FILE),
        };
        if fs_type != FsType::Ext2 {
            this.compat = this.compat.with(Compat::HAS_JOURNAL);
        }
        if fs_type == FsType::Ext4 {
            this.incompat = this
                .incompat
                .with(Incompat::EXTENTS)
                .with(Incompat::BIT64)
                .with(Incompat::FLEX_BG);
            this.ro_compat = this
                .ro_compat
                .with(RoCompat::HUGE_FILE)
                .with(RoCompat::METADATA_CSUM)
                .with(RoCompat::DIR_NLINK)
                .with(RoCompat::EXTRA_ISIZE);
        }
        this
    }

    fn edit(&mut self, edit: &str) -> Result<(), Error> {
        let (name, set) = edit
            .strip_prefix('^')
            .map_or((edit, true), |name| (name, false));
        let name = match name {
            "extents" => "extent",
            "gdt_csum" => "uninit_bg",
            other => other,
        };
        if let Some(flag) = Compat::from_name(name).filter(|flag| COMPAT.contains(flag)) {
            self.compat = if set {
                self.compat.with(flag)
            } else {
                self.compat.without(flag)
            };
        } else if let Some(flag) = Incompat::from_name(name).filter(|flag| INCOMPAT.contains(flag))
        {
            self.incompat = if set {
                self.incompat.with(flag)
            } else {
                self.incompat.without(flag)
            };
        } else if let Some(flag) = RoCompat::from_name(name).filter(|flag| RO_COMPAT.contains(flag))
        {
            self.ro_compat = if set {
                self.ro_compat.with(flag)
            } else {
                self.ro_compat.without(flag)
            };
        } else {
            return Err(Error::Option(format!(
                "feature {name}: cannot be forged; known are {}",
                known().join(", ")
            )));
        }
        Ok(())
    }

    /// What mke2fs refuses too, and what would need files that are not made here.
    fn check(&self) -> Result<(), Error> {
        let wrong = [
            (
                self.bit64() && !self.extents(),
                "64bit needs extent: add it, or clear 64bit",
            ),
            (
                self.bigalloc() && !self.extents(),
                "bigalloc needs extent: add it, or clear bigalloc",
            ),
            (
                self.incompat.contains(Incompat::META_BG) && self.resize_inode(),
                "meta_bg and resize_inode exclude each other: clear one (^resize_inode)",
            ),
            (
                self.resize_inode() && !self.ro_compat.contains(RoCompat::SPARSE_SUPER),
                "resize_inode needs sparse_super: clear resize_inode as well",
            ),
            (
                self.incompat.contains(Incompat::CSUM_SEED) && !self.metadata_csum(),
                "metadata_csum_seed needs metadata_csum: add it, or clear metadata_csum_seed",
            ),
            (
                self.compat.contains(Compat::ORPHAN_FILE) && !self.journal(),
                "orphan_file needs has_journal: add it, or clear orphan_file",
            ),
        ];
        wrong
            .iter()
            .find(|(wrong, _)| *wrong)
            .map_or(Ok(()), |(_, why)| {
                Err(Error::Option(format!("features: {why}")))
            })
    }

    pub(super) fn bit64(&self) -> bool {
        self.incompat.contains(Incompat::BIT64)
    }

    pub(super) fn extents(&self) -> bool {
        self.incompat.contains(Incompat::EXTENTS)
    }

    pub(super) fn bigalloc(&self) -> bool {
        self.ro_compat.contains(RoCompat::BIGALLOC)
    }

    pub(super) fn metadata_csum(&self) -> bool {
        self.ro_compat.contains(RoCompat::METADATA_CSUM)
    }

    pub(super) fn resize_inode(&self) -> bool {
        self.compat.contains(Compat::RESIZE_INODE)
    }

    pub(super) fn journal(&self) -> bool {
        self.compat.contains(Compat::HAS_JOURNAL)
    }

    pub(super) fn flex_bg(&self) -> bool {
        self.incompat.contains(Incompat::FLEX_BG)
    }
}

fn known() -> Vec<&'static str> {
    let mut names: Vec<_> = Compat::KNOWN
        .iter()
        .filter(|(flag, _)| COMPAT.contains(flag))
        .map(|(_, name)| *name)
        .collect();
    names.extend(
        Incompat::KNOWN
            .iter()
            .filter(|(flag, _)| INCOMPAT.contains(flag))
            .map(|(_, name)| *name),
    );
    names.extend(
        RoCompat::KNOWN
            .iter()
            .filter(|(flag, _)| RO_COMPAT.contains(flag))
            .map(|(_, name)| *name),
    );
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(fs_type: FsType, edits: &[&str]) -> Result<Features, Error> {
        let mut options = Options::new(1 << 30, fs_type);
        options.features.names = edits.iter().map(ToString::to_string).collect();
        Features::of(&options)
    }

    #[test]
    fn edits_are_applied_in_order_and_synonyms_known() {
        let features = with(FsType::Ext4, &["^metadata_csum", "gdt_csum", "^64bit"]).unwrap();
        assert!(features.ro_compat.contains(RoCompat::GDT_CSUM));
        assert!(!features.bit64() && !features.metadata_csum());
        let both = with(FsType::Ext4, &["uninit_bg"]).unwrap();
        assert!(
            !both.ro_compat.contains(RoCompat::GDT_CSUM),
            "metadata_csum goes before"
        );
    }

    #[test]
    fn the_impossible_and_the_unknown_are_refused() {
        for edits in [
            &["^extent"][..],
            &["meta_bg"],
            &["^sparse_super"],
            &["journal_dev"],
            &["shared_blocks"],
            &["nonsense"],
            &["^has_journal", "orphan_file"],
        ] {
            assert!(with(FsType::Ext4, edits).is_err(), "{edits:?}");
        }
        assert!(with(FsType::Ext4, &["^resize_inode", "meta_bg"]).is_ok());
    }
}
