//! What the judges of inodes, directories and attributes need of the superblock: sizes, limits and the inodes that it names.

use ondisk::xfs::geometry::NULL_INO;
use ondisk::xfs::superblock::Superblock;
use ondisk::xfs::{Extent, Geometry, btree, directory, realtime};

use super::inode::plain::Plain;

/// Which fork of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fork {
    /// Contents: of a file, a directory, a symbolic link.
    Data,
    /// Extended attributes.
    Attr,
}

impl Fork {
    /// Its name in findings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fork::Data => "data fork",
            Fork::Attr => "attribute fork",
        }
    }
}

/// The superblock as the judges need it.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// Sizes and features.
    pub(crate) geometry: Geometry,
    /// Inode of the root.
    pub(crate) root: u64,
    /// Inode of the realtime bitmap.
    pub(crate) rbm: u64,
    /// Inode of the realtime summary.
    pub(crate) rsum: u64,
    /// Inodes of the quota files of users, groups and projects; 0: none.
    pub(crate) quota: [u64; 3],
    /// Blocks of the realtime section.
    pub(crate) rt_blocks: u64,
    /// Blocks of a realtime extent.
    pub(crate) rt_extent: u64,
    /// Bytes of the realtime bitmap.
    pub(crate) rbm_size: u64,
    /// Bytes of the realtime summary.
    pub(crate) rsum_size: u64,
    /// Blocks of a directory block.
    pub(crate) dir_blocks: u64,
    /// First block of the hash entries of a directory.
    pub(crate) leaf: u64,
    /// First block of the free index of a directory.
    pub(crate) free: u64,
    /// The largest block of a file.
    pub(crate) most_offset: u64,
    /// The current time, seconds since 1970.
    pub(crate) now: i64,
    /// Attributes of namespace `parent` are parent pointers.
    pub(crate) parents: bool,
    /// What most cores of inodes are.
    pub(crate) plain: Plain,
    /// Bytes of the source, where the filesystem has more.
    pub(crate) cut_at: Option<u64>,
}

impl Rules {
    /// The rules of a filesystem.
    pub(crate) fn new(geometry: &Geometry, sb: &Superblock, now: i64) -> Rules {
        // Version 4 has no inode for projects.
        let projects = if geometry.v5 { sb.sb_pquotino.get() } else { 0 };
        let quota = [sb.sb_uquotino.get(), sb.sb_gquotino.get(), projects];
        let (root, rbm, rsum) = (sb.sb_rootino.get(), sb.sb_rbmino.get(), sb.sb_rsumino.get());
        let named = [root, rbm, rsum, quota[0], quota[1], quota[2]];
        Rules {
            geometry: *geometry,
            root,
            rbm,
            rsum,
            quota: quota.map(|ino| if ino == NULL_INO { 0 } else { ino }),
            rt_blocks: sb.sb_rblocks.get(),
            rt_extent: u64::from(sb.sb_rextsize.get()).max(1),
            rbm_size: u64::from(sb.sb_rbmblocks.get()) << geometry.block_log,
            rsum_size: realtime::summary_bytes(sb),
            dir_blocks: 1 << geometry.dirblk_log,
            leaf: directory::LEAF_OFFSET >> geometry.block_log,
            free: directory::FREE_OFFSET >> geometry.block_log,
            most_offset: i64::MAX as u64 >> geometry.block_log,
            now,
            parents: sb.has_incompat(ondisk::xfs::feature::PARENT),
            plain: Plain::new(geometry, now, named),
            cut_at: None,
        }
    }

    /// How many blocks of an extent lie past the end of the source.
    pub(crate) fn cut(&self, extent: &Extent) -> u64 {
        let Some(end) = self.cut_at else { return 0 };
        let geo = &self.geometry;
        let start = geo.block_offset(extent.block);
        let past = start.saturating_add(extent.count << geo.block_log);
        past.saturating_sub(start.max(end))
            .div_ceil(geo.block_size.into())
    }

    /// Whether the superblock names the inode for a purpose of its own, so that no directory may: realtime files and quota files.
    pub(crate) fn is_internal(&self, ino: u64) -> bool {
        ino == self.rbm || ino == self.rsum || self.is_quota(ino)
    }

    /// Whether it is a quota file.
    pub(crate) fn is_quota(&self, ino: u64) -> bool {
        ino != 0 && self.quota.contains(&ino)
    }

    /// Most extents that the counter of a fork holds.
    pub(crate) fn most_extents(wide: bool, fork: Fork) -> u64 {
        match (wide, fork) {
            (true, Fork::Data) => (1 << 48) - 1,
            (true, Fork::Attr) => u64::from(u32::MAX),
            (false, Fork::Data) => i32::MAX as u64,
            (false, Fork::Attr) => i16::MAX as u64,
        }
    }

    /// The most levels that a fork's btree can have, the root in the inode included.
    pub(crate) fn most_levels(&self, fork: Fork) -> u16 {
        let half = (btree::fork_room(&self.geometry) as u64 / 2).max(2);
        let root = match fork {
            Fork::Data => 3,
            Fork::Attr => 2,
        };
        let mut blocks = Rules::most_extents(self.geometry.nrext64, fork).div_ceil(half);
        let mut levels = 1;
        while blocks > 1 {
            blocks = if blocks <= root {
                1
            } else {
                blocks.div_ceil(half)
            };
            levels += 1;
        }
        levels
    }

    /// The block of a directory with that number, in units of filesystem blocks, within its segment: the number of the data block.
    pub(crate) fn db(&self, offset: u64) -> u64 {
        offset >> self.geometry.dirblk_log
    }
}
