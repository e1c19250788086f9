//! Phase 1: the superblocks.
//!
//! `xfs_repair -n` does not go on with a primary superblock that it would have to change, so most findings here end it.

mod geometry;
mod root;
mod verify;

use blockio::BlockSource;
use ondisk::xfs::superblock::SIZE;
use ondisk::xfs::{Geometry, Superblock, feature};

pub(super) use geometry::Shape;
pub(super) use verify::{fault, has_unknown_features};

use super::recovery::Journal;
use super::volume::Volume;
use super::xfs_repair::log::Log;
use super::xfs_repair::problems::{
    LOG_EXTERNAL, SB_BAD_MAGIC, SB_BAD_SIZE, SB_BAD2_ZERO, SB_FEATURES2, SB_LOGSUNIT, SB_READ,
    SB_RT_NODEV, SB_SHARED_VN, SB_SHAREDBIT, SB_UNKNOWN_FEATURES, SB_UNSUPPORTED, SB_V1_INODES,
};
use crate::frame::finding::Finding;
use crate::frame::memory::Guard;
use crate::frame::observer::Observer;
use crate::frame::options::Options;

/// Blocks of the shortest allocation group (`XFS_MIN_AG_BLOCKS`).
const LEAST_GROUP: u32 = 64;
/// Sectors may have this many bytes at most.
const MOST_SECTOR: usize = 32 << 10;

/// Opens a filesystem; none where its superblock is of no use.
pub(super) fn open<'a>(
    source: &'a dyn BlockSource,
    journal: Journal<'a>,
    options: &Options,
    observer: &'a dyn Observer,
    log: &mut Log,
) -> Option<Volume<'a>> {
    let Some(bytes) = sector(source) else {
        log.add(Finding::new(&SB_READ).group(0));
        return None;
    };
    let sb = match Superblock::read(&bytes) {
        Ok(sb) => *sb,
        Err(error) => {
            log.add(Finding::new(&SB_BAD_MAGIC).group(0).note(error.to_string()));
            return None;
        }
    };
    let found = fault(&sb, &bytes, true);
    if let Some(found) = &found {
        log.add(found.finding().group(0));
    }
    primary(&sb, log);
    if !is_supported(&sb, log) {
        return None;
    }
    let mut geo = match Geometry::new(&sb) {
        Ok(geo) => geo,
        Err(error) => {
            // Without a usable geometry nothing else can be read.
            if found.is_none() {
                log.add(Finding::new(&SB_BAD_SIZE).group(0).note(error.to_string()));
            }
            return None;
        }
    };
    if geo.sector_size > geo.block_size
        || geo.ag_blocks < LEAST_GROUP
        || u64::from(geo.ag_count) > source.len() / 512
    {
        if found.is_none() {
            log.add(
                Finding::new(&SB_BAD_SIZE)
                    .group(0)
                    .note("groups that are too short, or more than the source has room for"),
            );
        }
        return None;
    }
    if geo.blocks >> 4 > source.len() >> geo.block_log {
        // No copy that was cut short: nothing is where this geometry says.
        log.add(
            Finding::new(&SB_READ)
                .group(0)
                .note("the source is much shorter than the filesystem"),
        );
        return None;
    }
    // A number of groups that the blocks do not go with was reported above. Groups without a block take memory for nothing.
    let with_blocks = geo.blocks.div_ceil(geo.ag_blocks.into());
    geo.ag_count = geo
        .ag_count
        .min(u32::try_from(with_blocks).unwrap_or(u32::MAX));
    log.set_geometry(&geo);
    let volume = Volume {
        source,
        sb,
        geo,
        journal,
        options: options.clone(),
        guard: Guard::new(options.memory),
        progress: observer,
    };
    geometry::agree(&volume, log);
    root::check(&volume, log);
    if sb.sb_rblocks.get() > 0 {
        log.add(Finding::new(&SB_RT_NODEV).group(0));
    }
    if sb.log_is_external() && journal.device.is_none() {
        log.add(Finding::new(&LOG_EXTERNAL).group(0));
    }
    Some(volume)
}

/// The first bytes of the source, as many as a sector may have.
fn sector(source: &dyn BlockSource) -> Option<Vec<u8>> {
    let len = MOST_SECTOR.min(usize::try_from(source.len()).unwrap_or(usize::MAX));
    let mut bytes = vec![0; len];
    if source.read_at(&mut bytes, 0).is_ok() {
        return Some(bytes);
    }
    bytes.truncate(SIZE.next_multiple_of(512).min(len));
    source.read_at(&mut bytes, 0).is_ok().then_some(bytes)
}

/// Fields of the primary that are judged by themselves.
fn primary(sb: &Superblock, log: &mut Log) {
    let (features2, twin) = (sb.sb_features2.get(), sb.sb_bad_features2.get());
    if twin == 0 && features2 != 0 {
        log.add(
            Finding::new(&SB_BAD2_ZERO)
                .group(0)
                .found(twin)
                .expected(features2),
        );
    } else if twin != features2 {
        log.add(
            Finding::new(&SB_FEATURES2)
                .group(0)
                .found(twin)
                .expected(features2),
        );
    }
    if sb.sb_shared_vn != 0 {
        let finding = Finding::new(&SB_SHARED_VN).group(0);
        log.add(finding.found(u32::from(sb.sb_shared_vn)).expected(0_u32));
    }
    if sb.has_version(feature::V4_SHARED) {
        log.add(Finding::new(&SB_SHAREDBIT).group(0));
    }
    if !sb.is_v5() && !sb.has_version(feature::V4_NLINK) {
        log.add(Finding::new(&SB_V1_INODES).group(0));
    }
    if sb.has_version(feature::V4_LOGV2) && sb.sb_logsunit.get() == 0 {
        log.add(
            Finding::new(&SB_LOGSUNIT)
                .group(0)
                .found(0_u32)
                .expected(1_u32),
        );
    }
    if has_unknown_features(sb) {
        let note = format!(
            "compat {:#x}, ro_compat {:#x}, incompat {:#x}",
            sb.sb_features_compat.get(),
            sb.sb_features_ro_compat.get(),
            sb.sb_features_incompat.get()
        );
        log.add(Finding::new(&SB_UNKNOWN_FEATURES).group(0).note(note));
    }
}

/// Incompatible features up to parent pointers change nothing that is not read here.
const READ_INCOMPAT: u32 = 0xff;
/// Read-only compatible features that are read here.
const READ_RO_COMPAT: u32 = 0x0f;

/// Whether the features are all read here.
fn is_supported(sb: &Superblock, log: &mut Log) -> bool {
    if !sb.is_v5() {
        let dirv2 = sb.has_version(feature::V4_DIRV2) && sb.version() == 4;
        if !dirv2 {
            log.add(
                Finding::new(&SB_UNSUPPORTED)
                    .group(0)
                    .note("directories of version 1"),
            );
        }
        return dirv2;
    }
    let incompat = sb.sb_features_incompat.get() & !READ_INCOMPAT;
    let ro_compat = sb.sb_features_ro_compat.get() & !READ_RO_COMPAT;
    if incompat == 0 && ro_compat == 0 {
        return true;
    }
    let mut names = Vec::new();
    if incompat & 0x100 != 0 {
        names.push("metadata directories (Linux 6.13 and newer)".to_string());
    }
    if incompat & 0x600 != 0 {
        names.push("zones (Linux 6.15 and newer)".to_string());
    }
    let rest = (incompat & !0x700, ro_compat);
    if rest != (0, 0) {
        names.push(format!("incompat {:#x}, ro_compat {:#x}", rest.0, rest.1));
    }
    let note = format!("has {}, which this version does not read", names.join(", "));
    log.add(Finding::new(&SB_UNSUPPORTED).group(0).note(note));
    false
}
