//! The checkers by kind of filesystem.

use fskind::{Family, Kind};

use super::checker::Checker;
use super::{Request, btrfs, e2fsck, f2fs, fslab, ocfs2, xfs_repair};
use crate::{Error, Result};

/// The checker that a request names.
pub(super) fn of(request: &Request) -> Result<&'static dyn Checker> {
    let own = of_kind(&request.kind)?;
    if !request.fslab {
        return Ok(own);
    }
    Ok(match Kind::of_name(&request.kind).map(Kind::family) {
        Some(Family::Xfs) => &fslab::XFS,
        Some(Family::Ocfs2) => &fslab::OCFS2,
        _ => &fslab::EXT,
    })
}

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
