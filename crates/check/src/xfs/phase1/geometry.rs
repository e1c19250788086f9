//! Do the superblocks agree on the geometry? `xfs_repair` believes the majority, and looks at eight of them.

use ondisk::xfs::{Superblock, feature};

use super::fault;
use crate::frame::finding::Finding;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    SB_NO_MAJORITY, SB_ONE_AG, SB_READ, SB_TWO_AGS, SB_UNCONFIRMED, SB_WOULD_MODIFY,
};

/// Superblocks that are looked at.
const LOOKED_AT: u32 = 8;

/// The fields that all superblocks must share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    numbers: [u64; 12],
    bits: [bool; 3],
}

impl Shape {
    /// The shape in a superblock.
    pub(crate) fn of(sb: &Superblock) -> Shape {
        Shape {
            numbers: [
                sb.sb_blocksize.get().into(),
                sb.sb_dblocks.get(),
                sb.sb_rblocks.get(),
                sb.sb_rextents.get(),
                sb.sb_logstart.get(),
                sb.sb_rextsize.get().into(),
                sb.sb_agblocks.get().into(),
                sb.sb_agcount.get().into(),
                sb.sb_rbmblocks.get().into(),
                sb.sb_logblocks.get().into(),
                sb.sb_sectsize.get().into(),
                sb.sb_inodesize.get().into(),
            ],
            bits: [
                sb.has_version(feature::V4_ALIGN),
                sb.has_version(feature::V4_DALIGN),
                sb.has_version(feature::V4_EXTFLAG),
            ],
        }
    }
}

/// Compares the primary with the others.
pub(super) fn agree(volume: &Volume<'_>, log: &mut Log) {
    let geo = &volume.geo;
    let wanted = LOOKED_AT.min(geo.ag_count);
    let skip = geo.ag_count.div_ceil(wanted);
    let mut shapes: Vec<(Shape, u32)> = Vec::new();
    let mut sound = 0;
    'rounds: for round in 0..skip {
        for ag in (round..geo.ag_count).step_by(skip as usize) {
            if volume.progress.cancelled() {
                return;
            }
            let mut sector = vec![0; geo.sector_size as usize];
            let at = geo.header_offset(ag, 0);
            if volume.source.read_at(&mut sector, at).is_err() {
                log.add(Finding::new(&SB_READ).group(ag));
                continue;
            }
            let Ok(sb) = Superblock::read_any(&sector) else {
                continue;
            };
            if fault(sb, &sector, ag == 0).is_some() {
                continue;
            }
            sound += 1;
            let shape = Shape::of(sb);
            match shapes.iter_mut().find(|one| one.0 == shape) {
                Some(one) => one.1 += 1,
                None => shapes.push((shape, 1)),
            }
        }
        if sound >= wanted {
            break 'rounds;
        }
    }
    let best = shapes.iter().max_by_key(|one| one.1);
    let agree = best.map_or(0, |best| best.1);
    let finding = |problem| Finding::new(problem).group(0).found(agree).expected(wanted);
    if sound < wanted / 2 {
        log.add(finding(&SB_UNCONFIRMED));
    } else if geo.ag_count == 1 {
        log.add(Finding::new(&SB_ONE_AG).group(0));
    } else if geo.ag_count == 2 && agree != 2 {
        log.add(finding(&SB_TWO_AGS));
    } else if geo.ag_count > 2 && agree < wanted / 2 {
        log.add(finding(&SB_NO_MAJORITY));
    } else if best.is_some_and(|best| best.0 != Shape::of(&volume.sb)) {
        log.add(finding(&SB_WOULD_MODIFY));
    }
}
