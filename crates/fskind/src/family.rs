//! The on-disk formats.

/// An on-disk format. ext2, ext3 and ext4 share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// ext2, ext3, ext4.
    Ext,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// OCFS2.
    Ocfs2,
    /// f2fs.
    F2fs,
}

impl Family {
    /// Every format, in the order of tables.
    pub const ALL: &'static [Family] = &[
        Family::Ext,
        Family::Xfs,
        Family::Btrfs,
        Family::Ocfs2,
        Family::F2fs,
    ];

    /// Its name in the JSON of records: `ext`, `xfs`.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Ext => "ext",
            Family::Xfs => "xfs",
            Family::Btrfs => "btrfs",
            Family::Ocfs2 => "ocfs2",
            Family::F2fs => "f2fs",
        }
    }

    /// Its name in messages and reports: `ext2/3/4`, `XFS`.
    pub const fn title(self) -> &'static str {
        match self {
            Family::Ext => "ext2/3/4",
            Family::Xfs => "XFS",
            Family::Btrfs => "btrfs",
            Family::Ocfs2 => "OCFS2",
            Family::F2fs => "f2fs",
        }
    }

    /// With its article, as signatures are reported: `an XFS filesystem`.
    pub const fn described(self) -> &'static str {
        match self {
            Family::Ext => "an ext2/3/4 filesystem",
            Family::Xfs => "an XFS filesystem",
            Family::Btrfs => "a btrfs filesystem",
            Family::Ocfs2 => "an OCFS2 filesystem",
            Family::F2fs => "an f2fs filesystem",
        }
    }

    /// All formats in a sentence: `ext2/3/4, XFS, btrfs, OCFS2 or f2fs`.
    pub fn listed() -> String {
        let titles: Vec<&str> = Family::ALL.iter().map(|family| family.title()).collect();
        match titles.split_last() {
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
            None => String::new(),
        }
    }
}
