//! The features that pass 1 asks for each inode.

use ondisk::ext4::feature::{Compat, Incompat, RoCompat};

use crate::ext4::volume::Volume;

/// The features that decide how an inode is read, asked once.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // Each is one bit of the superblock.
pub(in crate::ext4) struct Features {
    pub(in crate::ext4) extents: bool,
    pub(in crate::ext4) inline_data: bool,
    pub(in crate::ext4) huge_file: bool,
    pub(in crate::ext4) bigalloc: bool,
    pub(in crate::ext4) large_dir: bool,
    pub(in crate::ext4) wide: bool,
    pub(in crate::ext4) quota: bool,
    pub(in crate::ext4) orphan_file: bool,
    pub(in crate::ext4) imagic: bool,
    pub(in crate::ext4) hurd: bool,
}

/// `s_creator_os` of the Hurd.
const HURD: u32 = 1;

impl Features {
    pub(in crate::ext4) fn of(volume: &Volume<'_>) -> Features {
        let sb = &volume.sb;
        Features {
            extents: sb.has_incompat(Incompat::EXTENTS),
            inline_data: sb.has_incompat(Incompat::INLINE_DATA),
            huge_file: sb.has_ro_compat(RoCompat::HUGE_FILE),
            bigalloc: sb.has_ro_compat(RoCompat::BIGALLOC),
            large_dir: sb.has_incompat(Incompat::LARGEDIR),
            wide: sb.has_incompat(Incompat::BIT64),
            quota: sb.has_ro_compat(RoCompat::QUOTA),
            orphan_file: sb.has_compat(Compat::ORPHAN_FILE),
            imagic: sb.has_compat(Compat::IMAGIC_INODES),
            hurd: sb.s_creator_os.get() == HURD,
        }
    }
}
