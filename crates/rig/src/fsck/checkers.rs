//! The checkers by kind of filesystem.

use fskind::{Family, Kind};

use super::checker::Checker;
use super::{btrfs, e2fsck, f2fs, ocfs2, xfs_repair};
use crate::{Error, Result};

/// The checker of a kind of filesystem.
pub(super) fn of_kind(kind: &str) -> Result<&'static dyn Checker> {
    Ok(match Kind::of_name(kind).map(Kind::family) {
        Some(Family::Ext) => &e2fsck::E2fsck,
        Some(Family::Xfs) => &xfs_repair::XfsRepair,
        Some(Family::Btrfs) => &btrfs::BtrfsCheck,
        Some(Family::Ocfs2) => &ocfs2::FsckOcfs2,
        Some(Family::F2fs) => &f2fs::FsckF2fs,
        None => return Err(Error::UnknownKind { kind: kind.into() }),
    })
}
