//! Phase 1: the superblocks.
//!
//! `xfs_repair -n` does not go on with a primary superblock that it would have to change, so most findings here end it.

mod geometry;
mod root;
mod verify;

use blockio::BlockSource;
use ondisk::xfs::superblock::SIZE;
use ondisk::xfs::{Geometry, Superblock, checksum, feature};

pub(super) use geometry::Shape;
pub(super) use verify::{fault, has_unknown_features};

use super::recovery::Journal;
use super::volume::Volume;
use super::xfs_repair::Release;
use super::xfs_repair::log::Log;
use super::xfs_repair::problems::{
    LOG_EXTERNAL, SB_BAD_MAGIC, SB_BAD_SIZE, SB_BAD2_ZERO, SB_FEATURES2, SB_LOGSUNIT, SB_NEWER,
    SB_READ, SB_RT_NODEV, SB_RT_SHORT, SB_SHARED_VN, SB_SHAREDBIT, SB_TRUNCATED,
    SB_UNKNOWN_FEATURES, SB_UNSUPPORTED, SB_V1_INODES,
};
use crate::frame::finding::Finding;
use crate::frame::memory::Guard;
use crate::frame::observer::Observer;
use crate::frame::options::Options;

/// Blocks of the shortest allocation group (`XFS_MIN_AG_BLOCKS`).
const LEAST_GROUP: u32 = 64;
/// Sectors may have this many bytes at most.
const MOST_SECTOR: usize = 32 << 10;

/// What became of a filesystem that was to be opened.
pub(super) enum Opened<'a> {
    /// It is open.
    Volume(Box<Volume<'a>>),
    /// Nothing else of it can be read: its superblock is of no use, or, if it is here, sound and of a newer kernel.
    Unread(Option<Box<Superblock>>),
}

/// Opens a filesystem.
pub(super) fn open<'a>(
    source: &'a dyn BlockSource,
    journal: Journal<'a>,
    options: &Options,
    observer: &'a dyn Observer,
    log: &mut Log,
) -> Opened<'a> {
    let Some(bytes) = sector(source) else {
        log.add(Finding::new(&SB_READ).group(0));
        return Opened::Unread(None);
    };
    let sb = match Superblock::read(&bytes) {
        Ok(sb) => *sb,
        Err(error) => {
            log.add(Finding::new(&SB_BAD_MAGIC).group(0).note(error.to_string()));
            return Opened::Unread(None);
        }
    };
    if let Some(names) = newer(&sb, &bytes) {
        let note = format!("it has {names}, which this version does not read");
        log.add(Finding::new(&SB_NEWER).group(0).note(note));
        return Opened::Unread(Some(Box::new(sb)));
    }
    if let Some(ag) = journal.stand_in {
        let note = format!("lost; the copy in allocation group {ag} stands in for it");
        log.add(Finding::new(&SB_BAD_MAGIC).group(0).note(note));
    }
    let found = fault(&sb, &bytes, true);
    if let Some(found) = &found {
        log.add(found.finding().group(0));
    }
    primary(&sb, journal.release, log);
    if !is_supported(&sb, log) {
        return Opened::Unread(None);
    }
    let mut geo = match Geometry::new(&sb) {
        Ok(geo) => geo,
        Err(error) => {
            // Without a usable geometry nothing else can be read.
            if found.is_none() {
                log.add(Finding::new(&SB_BAD_SIZE).group(0).note(error.to_string()));
            }
            return Opened::Unread(None);
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
        return Opened::Unread(None);
    }
    if geo.blocks >> 4 > source.len() >> geo.block_log {
        // No copy that was cut short: nothing is where this geometry says.
        log.add(
            Finding::new(&SB_READ)
                .group(0)
                .note("the source is much shorter than the filesystem"),
        );
        return Opened::Unread(None);
    }
    if sb.bytes() > source.len() {
        let finding = Finding::new(&SB_TRUNCATED).group(0).found(source.len());
        log.add(finding.expected(sb.bytes()).note("bytes"));
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
        guard: Guard::default(),
        progress: observer,
    };
    geometry::agree(&volume, log);
    root::check(&volume, log);
    realtime_device(&volume, log);
    if sb.log_is_external() && journal.device.is_none() {
        log.add(Finding::new(&LOG_EXTERNAL).group(0));
    }
    Opened::Volume(Box::new(volume))
}

/// The device of the realtime part: whether it was given, and is as large.
fn realtime_device(volume: &Volume<'_>, log: &mut Log) {
    let blocks = volume.sb.sb_rblocks.get();
    if blocks == 0 {
        return;
    }
    let bytes = blocks.saturating_mul(volume.geo.block_size.into());
    match volume.journal.realtime.map(BlockSource::len) {
        None => log.add(Finding::new(&SB_RT_NODEV).group(0)),
        Some(len) if len < bytes => {
            let finding = Finding::new(&SB_RT_SHORT).group(0);
            log.add(finding.found(len).expected(bytes).note("bytes"));
        }
        Some(_) => {}
    }
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
fn primary(sb: &Superblock, release: Release, log: &mut Log) {
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
    if has_unknown_features(sb, release) {
        let note = format!(
            "compat {:#x}, ro_compat {:#x}, incompat {:#x}",
            sb.sb_features_compat.get(),
            sb.sb_features_ro_compat.get(),
            sb.sb_features_incompat.get()
        );
        log.add(Finding::new(&SB_UNKNOWN_FEATURES).group(0).note(note));
    }
}

/// Features of newer kernels that a sound superblock has and nothing here reads, in words; none where it has none, or bits that no kernel
/// knows.
fn newer(sb: &Superblock, sector: &[u8]) -> Option<String> {
    const METADIR: u32 = 0x100;
    const ZONES: u32 = 0x600;
    let (incompat, ro_compat) = (
        sb.sb_features_incompat.get(),
        sb.sb_features_ro_compat.get(),
    );
    let unknown =
        incompat & !(READ_INCOMPAT | METADIR | ZONES) != 0 || ro_compat & !READ_RO_COMPAT != 0;
    let whole = sector.get(..usize::from(sb.sb_sectsize.get()));
    let sound = whole.is_some_and(|sector| checksum::is_right(sector, checksum::SUPERBLOCK));
    if !sb.is_v5() || unknown || !sound {
        return None;
    }
    let mut names = Vec::new();
    if incompat & METADIR != 0 {
        names.push("metadata directories (Linux 6.13 and newer)");
    }
    if incompat & ZONES != 0 {
        names.push("zones (Linux 6.15 and newer)");
    }
    (!names.is_empty()).then(|| names.join(" and "))
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
    let note = format!("incompat {incompat:#x}, ro_compat {ro_compat:#x}");
    log.add(Finding::new(&SB_UNSUPPORTED).group(0).note(note));
    false
}
