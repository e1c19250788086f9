//! Feature flags of the superblock, by the names that mke2fs and dumpe2fs use.
//!
//! Three sets with three promises to a reader that does not know a flag. `compat`: read and write;
//! `ro_compat`: read only; `incompat`: keep off. A checker is stricter: it must know all three.

macro_rules! features {
    ($(#[$meta:meta])* $set:ident { $($(#[$doc:meta])* $flag:ident = $value:literal, $name:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
        pub struct $set(pub u32);

        impl $set {
            $($(#[$doc])* pub const $flag: Self = Self($value);)+

            /// Every flag known here, with mke2fs's name.
            pub const KNOWN: &'static [(Self, &'static str)] = &[$((Self::$flag, $name)),+];

            /// Whether all flags of `other` are set.
            pub fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// This set with the flags of `other` as well.
            #[must_use]
            pub fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// This set without the flags of `other`.
            #[must_use]
            pub fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// The bits that have no name here.
            pub fn unknown(self) -> u32 {
                Self::KNOWN.iter().fold(self.0, |bits, (flag, _)| bits & !flag.0)
            }

            /// The names of the flags that are set, in the order of their bits.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                Self::KNOWN
                    .iter()
                    .filter(move |(flag, _)| self.contains(*flag))
                    .map(|(_, name)| *name)
            }

            /// The names of the flags that are set; bits without a name as one number, `0x..`.
            pub fn all_names(self) -> Vec<String> {
                let unknown = self.unknown();
                let rest = (unknown != 0).then(|| format!("0x{unknown:x}"));
                self.names().map(str::to_owned).chain(rest).collect()
            }

            /// The flag of a name, as given to `mke2fs -O`.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::KNOWN.iter().find(|(_, known)| *known == name).map(|(flag, _)| *flag)
            }
        }
    };
}

features! {
    /// `s_feature_compat`.
    Compat {
        /// Blocks are preallocated to new directories.
        DIR_PREALLOC = 0x1, "dir_prealloc";
        /// AFS server inodes exist.
        IMAGIC_INODES = 0x2, "imagic_inodes";
        /// There is a journal.
        HAS_JOURNAL = 0x4, "has_journal";
        /// Extended attributes are in use.
        EXT_ATTR = 0x8, "ext_attr";
        /// Blocks are reserved for the growth of the descriptor table, owned by inode 7.
        RESIZE_INODE = 0x10, "resize_inode";
        /// Directories may be indexed (htree).
        DIR_INDEX = 0x20, "dir_index";
        /// Never in the kernel.
        LAZY_BG = 0x40, "lazy_bg";
        /// Never in the kernel.
        EXCLUDE_INODE = 0x80, "exclude_inode";
        /// Snapshots, never in the kernel.
        SNAPSHOT_BITMAP = 0x100, "snapshot_bitmap";
        /// At most two backups of the superblock, in `s_backup_bgs`.
        SPARSE_SUPER2 = 0x200, "sparse_super2";
        /// The journal may hold fast commits.
        FAST_COMMIT = 0x400, "fast_commit";
        /// Inode numbers and the UUID do not change (encryption depends on them).
        STABLE_INODES = 0x800, "stable_inodes";
        /// Orphans are listed in a file.
        ORPHAN_FILE = 0x1000, "orphan_file";
    }
}

features! {
    /// `s_feature_incompat`.
    Incompat {
        /// Compression, never finished.
        COMPRESSION = 0x1, "compression";
        /// Directory entries carry the type of their inode.
        FILETYPE = 0x2, "filetype";
        /// The journal must be replayed.
        RECOVER = 0x4, "needs_recovery";
        /// This device is an external journal.
        JOURNAL_DEV = 0x8, "journal_dev";
        /// Descriptor blocks are in the groups they describe.
        META_BG = 0x10, "meta_bg";
        /// Files may be mapped by extents.
        EXTENTS = 0x40, "extent";
        /// Block numbers of 64 bits.
        BIT64 = 0x80, "64bit";
        /// Multiple mount protection.
        MMP = 0x100, "mmp";
        /// Bitmaps and tables may be outside of their group.
        FLEX_BG = 0x200, "flex_bg";
        /// Large attribute values are in inodes of their own.
        EA_INODE = 0x400, "ea_inode";
        /// Data in directory entries, never in the kernel.
        DIRDATA = 0x1000, "dirdata";
        /// The checksum seed is stored, not taken from the UUID.
        CSUM_SEED = 0x2000, "metadata_csum_seed";
        /// Directories over 2 GiB or of three index levels.
        LARGEDIR = 0x4000, "large_dir";
        /// Small files are within their inode.
        INLINE_DATA = 0x8000, "inline_data";
        /// Encrypted inodes may exist.
        ENCRYPT = 0x10000, "encrypt";
        /// Directories may fold the case of names.
        CASEFOLD = 0x20000, "casefold";
    }
}

features! {
    /// `s_feature_ro_compat`.
    RoCompat {
        /// Backups only in groups 0, 1 and powers of 3, 5 and 7.
        SPARSE_SUPER = 0x1, "sparse_super";
        /// A file of more than 2 GiB has existed.
        LARGE_FILE = 0x2, "large_file";
        /// Never in use.
        BTREE_DIR = 0x4, "btree_dir";
        /// `i_blocks` may have 48 bits, or count blocks instead of sectors.
        HUGE_FILE = 0x8, "huge_file";
        /// Descriptors carry a CRC-16 and groups may be uninitialised.
        GDT_CSUM = 0x10, "uninit_bg";
        /// More than 65000 subdirectories: the link count is then 1.
        DIR_NLINK = 0x20, "dir_nlink";
        /// Inodes have room for more than 128 bytes of fields.
        EXTRA_ISIZE = 0x40, "extra_isize";
        /// Snapshots, never in the kernel.
        HAS_SNAPSHOT = 0x80, "has_snapshot";
        /// Quota files are hidden inodes.
        QUOTA = 0x100, "quota";
        /// Bitmaps count clusters of blocks.
        BIGALLOC = 0x200, "bigalloc";
        /// All metadata carries a CRC-32C.
        METADATA_CSUM = 0x400, "metadata_csum";
        /// Never in the kernel.
        REPLICA = 0x800, "replica";
        /// Mount read-only.
        READONLY = 0x1000, "read-only";
        /// Inodes belong to projects.
        PROJECT = 0x2000, "project";
        /// Blocks may be shared by files (Android); read-only.
        SHARED_BLOCKS = 0x4000, "shared_blocks";
        /// Files with a Merkle tree may exist.
        VERITY = 0x8000, "verity";
        /// The orphan file may hold entries.
        ORPHAN_PRESENT = 0x10000, "orphan_present";
    }
}

/// `s_default_mount_opts`, by the names of tune2fs(8).
pub const DEFAULT_MOUNT_OPTIONS: &[(u64, &str)] = &[
    (0x1, "debug"),
    (0x2, "bsdgroups"),
    (0x4, "user_xattr"),
    (0x8, "acl"),
    (0x10, "uid16"),
    // One value of two bits: both together are the third mode.
    (0x60, "journal_data_writeback"),
    (0x20, "journal_data"),
    (0x40, "journal_data_ordered"),
    (0x100, "nobarrier"),
    (0x200, "block_validity"),
    (0x400, "discard"),
    (0x800, "nodelalloc"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_unknown_bits() {
        let set = Incompat::EXTENTS
            .with(Incompat::BIT64)
            .with(Incompat(0x0800_0000));
        assert_eq!(set.names().collect::<Vec<_>>(), ["extent", "64bit"]);
        assert_eq!(set.unknown(), 0x0800_0000);
        assert_eq!(set.all_names(), ["extent", "64bit", "0x8000000"]);
        assert_eq!(Incompat::from_name("64bit"), Some(Incompat::BIT64));
        assert!(!set.without(Incompat::BIT64).contains(Incompat::BIT64));
    }
}
