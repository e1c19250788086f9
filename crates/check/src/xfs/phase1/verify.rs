//! Is a superblock possible? The conditions of `verify_sb` in `xfs_repair` 6.1, in its order: the first that holds is the reason.

use ondisk::xfs::checksum::{self, is_right};
use ondisk::xfs::{Superblock, feature};

use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::xfs::xfs_repair::Release;
use crate::xfs::xfs_repair::problems::{
    SB_BAD_BLOCKLOG, SB_BAD_BLOCKSIZE, SB_BAD_CRC, SB_BAD_DIRBLOCK, SB_BAD_IMAXPCT,
    SB_BAD_INOALIGN, SB_BAD_INODESIZE, SB_BAD_INPROGRESS, SB_BAD_LOG, SB_BAD_LOGSECTOR,
    SB_BAD_MAGIC, SB_BAD_RT, SB_BAD_SECTOR, SB_BAD_SIZE, SB_BAD_SUNIT, SB_BAD_SWIDTH,
    SB_BAD_VERSION,
};

/// Feature bits of version 4 in `sb_features2` that exist, the one of version 5 included.
const FEATURES2: u32 =
    feature::LAZY_COUNT | feature::ATTR2 | feature::PROJID32 | feature::V4_FTYPE | feature::CRC;
/// Bits that version 5 must have in `sb_versionnum`.
const V5_VERSION: u16 = feature::V4_NLINK
    | feature::V4_ALIGN
    | feature::V4_LOGV2
    | feature::V4_EXTFLAG
    | feature::V4_DIRV2
    | feature::V4_MOREBITS;
/// Bits that version 5 must have in `sb_features2`.
const V5_FEATURES2: u32 = feature::LAZY_COUNT | feature::ATTR2 | feature::PROJID32 | feature::CRC;
/// Blocks that an allocation group has at least.
const LEAST_AG: u64 = 64;
/// Bytes of a realtime extent.
const RT_EXTENT: std::ops::RangeInclusive<u64> = 4096..=1 << 30;

/// Why a superblock is impossible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    problem: &'static Problem,
    note: String,
}

impl Fault {
    /// Its finding in the primary.
    pub(crate) fn finding(&self) -> Finding {
        Finding::new(self.problem).note(self.note.clone())
    }

    /// It in words, for a copy.
    pub(crate) fn words(&self) -> String {
        format!("{}: {}", self.problem.name, self.note)
    }
}

fn fail(problem: &'static Problem, note: String) -> Result<(), Fault> {
    Err(Fault { problem, note })
}

/// Whether bits of version 5 are set that this release of xfsprogs does not know. 6.13 knows the exchange of contents, parent pointers and metadata
/// directories, too.
pub(crate) fn has_unknown_features(sb: &Superblock, release: Release) -> bool {
    let known = match release {
        Release::V6_1 => 0x3f,
        Release::V6_13 => 0x1ff,
    };
    sb.is_v5()
        && (sb.sb_features_compat.get() != 0
            || sb.sb_features_ro_compat.get() & !0x0f != 0
            || sb.sb_features_incompat.get() & !known != 0)
}

/// Why the superblock at the start of `sector` is impossible, if it is. `primary` is the one of the first allocation group.
pub(crate) fn fault(sb: &Superblock, sector: &[u8], primary: bool) -> Option<Fault> {
    let judged = identity(sb, sector, primary)
        .and_then(|()| sizes(sb))
        .and_then(|()| log(sb))
        .and_then(|()| realtime(sb))
        .and_then(|()| alignment(sb))
        .and_then(|()| rest(sb));
    judged.err()
}

fn identity(sb: &Superblock, sector: &[u8], primary: bool) -> Result<(), Fault> {
    if &sb.sb_magicnum != b"XFSB" {
        let magic = u32::from_be_bytes(sb.sb_magicnum);
        return fail(&SB_BAD_MAGIC, format!("magic {magic:#x}"));
    }
    if !is_version(sb) {
        let (version, features2) = (sb.sb_versionnum.get(), sb.sb_features2.get());
        let note = format!("version {version:#x}, features2 {features2:#x}");
        return fail(&SB_BAD_VERSION, note);
    }
    if primary && sb.sb_inprogress != 0 {
        return fail(&SB_BAD_INPROGRESS, "in progress".into());
    }
    let (size, log) = (sb.sb_sectsize.get(), sb.sb_sectlog);
    if !(9..=15).contains(&log) || u32::from(size) != 1 << log {
        return fail(&SB_BAD_SECTOR, format!("sector size {size}, log {log}"));
    }
    if sb.is_v5() {
        let whole = sector.get(..usize::from(size));
        if !whole.is_some_and(|sector| is_right(sector, checksum::SUPERBLOCK)) {
            return fail(&SB_BAD_CRC, "bad CRC".into());
        }
    }
    Ok(())
}

fn is_version(sb: &Superblock) -> bool {
    let (version, features2) = (sb.sb_versionnum.get(), sb.sb_features2.get());
    match sb.version() {
        5 => {
            version & V5_VERSION == V5_VERSION
                && features2 & !FEATURES2 == 0
                && features2 & V5_FEATURES2 == V5_FEATURES2
        }
        4 => {
            let known = FEATURES2 & !feature::CRC;
            sb.has_version(feature::V4_DIRV2)
                && sb.has_version(feature::V4_EXTFLAG)
                && (!sb.has_version(feature::V4_MOREBITS) || features2 & !known == 0)
        }
        _ => false,
    }
}

fn sizes(sb: &Superblock) -> Result<(), Fault> {
    let (size, log) = (sb.sb_blocksize.get(), sb.sb_blocklog);
    if size == 0 {
        return fail(&SB_BAD_BLOCKSIZE, "block size 0".into());
    }
    if !(9..=16).contains(&log) || size != 1 << log {
        return fail(&SB_BAD_BLOCKLOG, format!("block size {size}, log {log}"));
    }
    let (blocks, agblocks, agcount) = (
        sb.sb_dblocks.get(),
        u64::from(sb.sb_agblocks.get()),
        u64::from(sb.sb_agcount.get()),
    );
    let least = agcount.saturating_sub(1) * agblocks + LEAST_AG;
    let rounded = agblocks.max(1).next_power_of_two().trailing_zeros();
    if blocks == 0
        || agblocks == 0
        || blocks > agcount * agblocks
        || blocks < least
        || u32::from(sb.sb_agblklog) != rounded
    {
        let note = format!(
            "{blocks} blocks, {agcount} groups of {agblocks}, log {}",
            sb.sb_agblklog
        );
        return fail(&SB_BAD_SIZE, note);
    }
    let (size, log) = (sb.sb_inodesize.get(), sb.sb_inodelog);
    let inopblock = u32::from(sb.sb_inopblock.get());
    if !(8..=11).contains(&log)
        || u32::from(size) != 1 << log
        || sb.sb_logsunit.get() > 256 << 10
        || inopblock != sb.sb_blocksize.get().div_ceil(size.into())
        || sb.sb_blocklog.checked_sub(log) != Some(sb.sb_inopblog)
    {
        let note = format!(
            "inode size {size}, log {log}, {inopblock} in a block, log stripe unit {}",
            sb.sb_logsunit.get()
        );
        return fail(&SB_BAD_INODESIZE, note);
    }
    Ok(())
}

fn log(sb: &Superblock) -> Result<(), Fault> {
    let (blocks, unit) = (sb.sb_logblocks.get(), sb.sb_logsunit.get());
    let bytes = u64::from(blocks) << sb.sb_blocklog;
    let impossible = blocks == 0 || blocks > 1 << 20 || bytes > (2 << 30) - (10 << 20);
    if sb.is_v5() && impossible || unit > 1 && !unit.is_multiple_of(sb.sb_blocksize.get()) {
        return fail(
            &SB_BAD_LOG,
            format!("{blocks} log blocks, stripe unit {unit}"),
        );
    }
    if sb.has_version(feature::V4_SECTOR) {
        let (size, log) = (sb.sb_logsectsize.get(), sb.sb_logsectlog);
        if !(9..=15).contains(&log) || u32::from(size) != 1 << log {
            return fail(&SB_BAD_LOGSECTOR, format!("sector size {size}, log {log}"));
        }
    }
    Ok(())
}

fn realtime(sb: &Superblock) -> Result<(), Fault> {
    let size = u64::from(sb.sb_rextsize.get());
    let bytes = size << sb.sb_blocklog;
    let (blocks, extents) = (sb.sb_rblocks.get(), sb.sb_rextents.get());
    let (log, bitmap) = (sb.sb_rextslog, u64::from(sb.sb_rbmblocks.get()));
    let sound = if blocks == 0 {
        extents == 0 && bitmap == 0 && log == 0 && sb.sb_frextents.get() == 0
    } else {
        let highest = extents.checked_ilog2().unwrap_or(0);
        let in_block = 8_u64 << sb.sb_blocklog;
        size != 0
            && blocks / size == extents
            && u32::from(log) == highest
            && bitmap == extents.div_ceil(in_block)
    };
    if !sound || !RT_EXTENT.contains(&bytes) {
        let note = format!(
            "{blocks} blocks, {extents} extents of {size} blocks, log {log}, {bitmap} bitmap blocks, {} free",
            sb.sb_frextents.get()
        );
        return fail(&SB_BAD_RT, note);
    }
    Ok(())
}

fn alignment(sb: &Superblock) -> Result<(), Fault> {
    if !sb.has_version(feature::V4_ALIGN) {
        return Ok(());
    }
    let align = sb.sb_inoalignmt.get();
    let cluster = 8192_u32 >> sb.sb_blocklog;
    let scaled = (8192 * (u32::from(sb.sb_inodesize.get()) / 256)) >> sb.sb_blocklog;
    let chunk = (64 * u32::from(sb.sb_inodesize.get())) >> sb.sb_blocklog;
    let sparse = sb.has_incompat(feature::SPINODES);
    let sound = if sparse {
        align == chunk && sb.sb_spino_align.get() == scaled || align == 0 && scaled <= 1
    } else {
        align == cluster || sb.is_v5() && align == scaled
    };
    if !sound {
        let note = format!(
            "alignment {align}, of sparse chunks {}",
            sb.sb_spino_align.get()
        );
        return fail(&SB_BAD_INOALIGN, note);
    }
    Ok(())
}

fn rest(sb: &Superblock) -> Result<(), Fault> {
    if sb.sb_imax_pct > 100 {
        return fail(&SB_BAD_IMAXPCT, format!("{} %", sb.sb_imax_pct));
    }
    let (unit, width) = (sb.sb_unit.get(), sb.sb_width.get());
    let note = format!("stripe unit {unit}, width {width}");
    if unit == 0 && width != 0 || unit != 0 && width == 0 {
        return fail(&SB_BAD_SUNIT, note);
    }
    if unit != 0 && !sb.sb_agblocks.get().is_multiple_of(unit) {
        return fail(&SB_BAD_SUNIT, note);
    }
    if unit != 0 && !width.is_multiple_of(unit) {
        return fail(&SB_BAD_SWIDTH, note);
    }
    if u32::from(sb.sb_blocklog) + u32::from(sb.sb_dirblklog) > 16 {
        let note = format!(
            "log of blocks {}, of directory blocks {}",
            sb.sb_blocklog, sb.sb_dirblklog
        );
        return fail(&SB_BAD_DIRBLOCK, note);
    }
    Ok(())
}
