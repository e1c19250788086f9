//! The superblock of each allocation group: by itself, and against the primary.

use ondisk::xfs::checksum::{self, is_right};
use ondisk::xfs::geometry::NULL_INO;
use ondisk::xfs::{Superblock, feature};

use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::xfs::phase1::{Shape, fault};
use crate::xfs::state::LargestLsn;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    QUOTA_NONE, SB_COPY_BAD, SB_COPY_COMPAT, SB_COPY_GEOMETRY, SB_COPY_GQUOTA, SB_COPY_INCOMPAT,
    SB_COPY_LOGINCOMPAT, SB_COPY_PQUOTA, SB_COPY_QFLAGS, SB_COPY_ROCOMPAT, SB_COPY_STALE,
    SB_COPY_UQUOTA, SB_CRC, SB_FLAGS, SB_INOALIGN_UNUSED, SB_NEEDSREPAIR, SB_SECTOR_UNUSED,
    SB_SUNIT_UNUSED, SB_TAIL,
};

/// Judges the superblock of a group.
pub(super) fn judge(volume: &Volume<'_>, ag: u32, sector: &[u8], lsn: &LargestLsn, log: &mut Log) {
    let Ok(sb) = Superblock::read_any(sector) else {
        return;
    };
    let mut raise = |problem: &'static Problem, note: String| {
        log.add(Finding::new(problem).group(ag).note(note));
    };
    if volume.geo.v5 {
        if !is_right(sector, checksum::SUPERBLOCK) {
            raise(&SB_CRC, "bad CRC".into());
        }
        lsn.take(sb.sb_lsn.get());
    }
    if let Some(fault) = fault(sb, sector, ag == 0) {
        raise(&SB_COPY_BAD, fault.words());
        return;
    }
    if Shape::of(sb) != Shape::of(&volume.sb) {
        raise(
            &SB_COPY_GEOMETRY,
            "its geometry is not that of the primary".into(),
        );
    }
    unused(sb, sector, &mut raise);
    if sb.sb_inprogress == 1 {
        quotas(sb, &mut raise);
    }
    if ag == 0 {
        primary(sb, &mut raise);
    } else {
        features(sb, &volume.sb, &mut raise);
        stale(sb, &volume.sb, &mut raise);
    }
}

type Raise<'a> = &'a mut dyn FnMut(&'static Problem, String);

fn primary(sb: &Superblock, raise: Raise<'_>) {
    if sb.has_incompat(feature::NEEDSREPAIR) {
        raise(
            &SB_NEEDSREPAIR,
            "xfs_repair was interrupted, or an upgrade needs it".into(),
        );
    }
    let inodes = [
        sb.sb_uquotino.get(),
        sb.sb_gquotino.get(),
        sb.sb_pquotino.get(),
    ];
    // Version 4 has no inode for projects.
    let inodes = &inodes[..if sb.is_v5() { 3 } else { 2 }];
    if sb.has_version(feature::V4_QUOTA) && inodes.iter().all(|ino| matches!(*ino, 0 | NULL_INO)) {
        raise(
            &QUOTA_NONE,
            "quotas are in use, and there is no quota inode".into(),
        );
    }
}

/// Bytes and fields that the version does not have.
fn unused(sb: &Superblock, sector: &[u8], raise: Raise<'_>) {
    let end = if sb.has_incompat(feature::META_UUID) {
        264
    } else if sb.is_v5() {
        248
    } else if sb.has_version(feature::V4_MOREBITS) {
        208
    } else if sb.has_version(feature::V4_LOGV2) {
        200
    } else if sb.has_version(feature::V4_SECTOR) {
        196
    } else {
        193
    };
    let end = end.min(sector.len());
    if let Some(at) = sector[end..].iter().position(|byte| *byte != 0) {
        raise(&SB_TAIL, format!("byte {}", end + at));
    }
    if sb.sb_flags != 0 {
        raise(&SB_FLAGS, format!("flags {:#x}", sb.sb_flags));
    }
    if !sb.has_version(feature::V4_ALIGN) && sb.sb_inoalignmt.get() != 0 {
        raise(
            &SB_INOALIGN_UNUSED,
            format!("{} blocks", sb.sb_inoalignmt.get()),
        );
    }
    let (unit, width) = (sb.sb_unit.get(), sb.sb_width.get());
    if !sb.has_version(feature::V4_DALIGN) && (unit, width) != (0, 0) {
        raise(&SB_SUNIT_UNUSED, format!("unit {unit}, width {width}"));
    }
    let sectors = (
        sb.sb_sectsize.get(),
        sb.sb_logsectsize.get(),
        sb.sb_logsectlog,
    );
    if !sb.has_version(feature::V4_SECTOR) && sectors != (512, 0, 0) {
        let note = format!(
            "sectors {}, of the log {}, log {}",
            sectors.0, sectors.1, sectors.2
        );
        raise(&SB_SECTOR_UNUSED, note);
    }
}

/// Copies that mkfs wrote have no quotas.
fn quotas(sb: &Superblock, raise: Raise<'_>) {
    let is_set = |ino: u64| !matches!(ino, 0 | NULL_INO);
    let pquotino = if sb.is_v5() { sb.sb_pquotino.get() } else { 0 };
    for (problem, ino) in [
        (&SB_COPY_UQUOTA, sb.sb_uquotino.get()),
        (&SB_COPY_GQUOTA, sb.sb_gquotino.get()),
        (&SB_COPY_PQUOTA, pquotino),
    ] {
        if is_set(ino) {
            raise(problem, format!("inode {ino}"));
        }
    }
    if sb.sb_qflags.get() != 0 {
        raise(&SB_COPY_QFLAGS, format!("flags {:#x}", sb.sb_qflags.get()));
    }
}

fn features(sb: &Superblock, primary: &Superblock, raise: Raise<'_>) {
    if !primary.is_v5() {
        return;
    }
    let without = |bits: u32| bits & !feature::NEEDSREPAIR;
    for (problem, found, expected) in [
        (
            &SB_COPY_COMPAT,
            sb.sb_features_compat.get(),
            primary.sb_features_compat.get(),
        ),
        (
            &SB_COPY_INCOMPAT,
            without(sb.sb_features_incompat.get()),
            without(primary.sb_features_incompat.get()),
        ),
        (
            &SB_COPY_ROCOMPAT,
            sb.sb_features_ro_compat.get(),
            primary.sb_features_ro_compat.get(),
        ),
        (
            &SB_COPY_LOGINCOMPAT,
            sb.sb_features_log_incompat.get(),
            primary.sb_features_log_incompat.get(),
        ),
    ] {
        if found != expected {
            raise(
                problem,
                format!("{found:#x}, and the primary has {expected:#x}"),
            );
        }
    }
}

/// What a change of label or UUID, or of older versions, leaves in copies.
fn stale(sb: &Superblock, primary: &Superblock, raise: Raise<'_>) {
    let root = sb.sb_rootino.get();
    let fields = [
        ("UUID", sb.sb_uuid != primary.sb_uuid),
        ("label", sb.sb_fname != primary.sb_fname),
        (
            "root inode",
            root != NULL_INO && root != primary.sb_rootino.get(),
        ),
        (
            "sectors of the log",
            (sb.sb_logsectsize, sb.sb_logsectlog)
                != (primary.sb_logsectsize, primary.sb_logsectlog),
        ),
    ];
    let stale: Vec<&str> = fields
        .iter()
        .filter(|field| field.1)
        .map(|field| field.0)
        .collect();
    if !stale.is_empty() {
        raise(&SB_COPY_STALE, stale.join(", "));
    }
}
