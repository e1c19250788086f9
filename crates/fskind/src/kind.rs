//! The kinds of filesystem.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::family::Family;
use crate::properties::{Journal, Properties};
use crate::table;

/// Declares the enum, the list of its values and the entry of each from the same lines.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $entry:ident,)+) => {
        /// The on-disk filesystem family to make.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "lowercase")]
        #[schemars(rename = "FilesystemKind")]
        pub enum Kind {
            $($(#[$doc])* $kind,)+
        }

        impl Kind {
            /// Every kind, in the order of tables.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),+];

            /// What is known of this kind.
            pub const fn properties(self) -> &'static Properties {
                match self {
                    $(Kind::$kind => &table::$entry,)+
                }
            }
        }
    };
}

kinds! {
    /// `mkfs.ext2`: no journal, block-mapped files.
    Ext2: EXT2,
    /// `mkfs.ext3`: a journal, block-mapped files.
    Ext3: EXT3,
    /// `mkfs.ext4`: extents, flex_bg and what mke2fs.conf says.
    Ext4: EXT4,
    /// `mkfs.xfs`.
    Xfs: XFS,
    /// `mkfs.btrfs`.
    Btrfs: BTRFS,
    /// `mkfs.ocfs2 -M local`: a cluster filesystem on one machine.
    Ocfs2: OCFS2,
    /// `mkfs.f2fs`: log-structured, for flash.
    F2fs: F2FS,
}

impl Kind {
    /// Its name in studies, records and `mount -t`: `ext4`.
    pub const fn name(self) -> &'static str {
        self.properties().name
    }

    /// The kind of this name.
    pub fn of_name(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The names of all kinds.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Kind::ALL.iter().map(|kind| kind.name())
    }

    /// Its on-disk format.
    pub const fn family(self) -> Family {
        self.properties().family
    }

    /// Whether it is ext2, ext3 or ext4: one format, one driver and one checker.
    pub const fn is_ext(self) -> bool {
        matches!(self.family(), Family::Ext)
    }

    /// Whether it has a journal or log as mkfs makes it.
    pub fn has_journal(self) -> bool {
        self.properties().journal != Journal::None
    }

    /// A kind of this format: the newest, where several share it.
    pub fn of_family(family: Family) -> Kind {
        let found = Kind::ALL.iter().rev().find(|kind| kind.family() == family);
        found.copied().unwrap_or(Kind::Ext4)
    }
}

impl Family {
    /// The format that statfs(2) reports with this `f_type`.
    pub fn of_statfs(magic: u64) -> Option<Family> {
        let mut kinds = Kind::ALL.iter();
        let found = kinds.find(|kind| kind.properties().statfs_magic == magic);
        found.map(|kind| kind.family())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::of_name(kind.name()), Some(kind));
            let json = serde_json::to_value(kind).unwrap();
            assert_eq!(json, kind.name(), "studies and mount(8) share one name");
        }
        assert_eq!(Kind::of_name("ext5"), None);
    }

    #[test]
    fn every_family_has_a_kind() {
        for &family in Family::ALL {
            assert_eq!(Kind::of_family(family).family(), family);
        }
        assert_eq!(Kind::of_family(Family::Ext), Kind::Ext4);
        assert_eq!(Family::listed(), "ext2/3/4, XFS, btrfs, OCFS2 or f2fs");
    }

    #[test]
    fn a_name_is_padded_like_text() {
        assert_eq!(format!("{:<6}|", Kind::Xfs), "xfs   |");
    }
}
