//! A filesystem whose first superblock is lost: found by a copy, one of which each allocation group begins with.
//!
//! Where groups begin follows from the size of the device and their number, which mkfs.xfs chooses from few; groups of a filesystem
//! that was grown, or that has a stripe unit, are elsewhere, and are found as far as the start of the device is searched. `xfs_repair`
//! looks in the same two ways, and through the whole device.

use std::collections::BTreeSet;

use blockio::{BlockSource, Overlay};
use ondisk::xfs::geometry::NULL_INO;
use ondisk::xfs::superblock::SIZE;
use ondisk::xfs::{Geometry, Superblock, checksum};

use super::phase1::fault;
use super::recovery;

/// Block sizes, the most frequent first.
const BLOCK_SIZES: [u64; 8] = [4096, 1024, 512, 2048, 65536, 32768, 16384, 8192];
/// Numbers of groups that are tried.
const GROUPS: std::ops::RangeInclusive<u64> = 2..=64;
/// Bytes of the largest group, and one more.
const LARGEST_GROUP: u64 = 1 << 40;
/// Bytes at the start of the device that are searched.
const SEARCHED: u64 = 128 << 20;
/// Bytes that are searched at once.
const AT_ONCE: u64 = 1 << 20;
/// Groups begin at multiples of this many bytes.
const UNIT: usize = 512;

/// A copy that may stand in for the first superblock.
struct Copy {
    ag: u32,
    geo: Geometry,
    sector: Vec<u8>,
}

/// Whether the source is a filesystem that has lost its first superblock.
pub(super) fn exists(source: &dyn BlockSource) -> bool {
    find(source).is_some()
}

/// The source with a copy in place of the first superblock, and the group that it is from; none where the first is one, or none is found.
pub(super) fn over(source: &dyn BlockSource) -> Option<(Overlay<&dyn BlockSource>, u32)> {
    let mut first = [0; SIZE];
    if source.read_at(&mut first, 0).is_ok() && Superblock::read(&first).is_ok() {
        return None;
    }
    let Copy {
        ag,
        geo,
        mut sector,
    } = find(source)?;
    // Copies are not kept up to date: counters are those of the headers of the groups.
    let sb = Superblock::read_mut(&mut sector).ok()?;
    sb.sb_inprogress = 0;
    inodes(source, &geo, sb);
    if recovery::add_up(source, &geo, &mut sector).is_err() && geo.v5 {
        checksum::seal(&mut sector, checksum::SUPERBLOCK);
    }
    let mut over = Overlay::new(source);
    over.write(0, &sector).ok()?;
    Some((over, ag))
}

/// Numbers of inodes that a copy lacks: mkfs.xfs writes the root's into the copies of the last group and the middle one, and the realtime
/// inodes, which follow the root, into none.
fn inodes(source: &dyn BlockSource, geo: &Geometry, sb: &mut Superblock) {
    let root_of = |ag: u32| {
        let copy = copy_at(source, geo.header_offset(ag, 0))?;
        let root = Superblock::read(&copy.sector).ok()?.sb_rootino.get();
        (root != NULL_INO).then_some(root)
    };
    if sb.sb_rootino.get() == NULL_INO {
        let last = geo.ag_count.saturating_sub(1);
        let root = [last, last / 2].into_iter().find_map(root_of);
        sb.sb_rootino = root.unwrap_or(NULL_INO).into();
    }
    let root = sb.sb_rootino.get();
    for (ino, after) in [(&mut sb.sb_rbmino, 1), (&mut sb.sb_rsumino, 2)] {
        if ino.get() == NULL_INO && root != NULL_INO {
            *ino = root.saturating_add(after).into();
        }
    }
}

fn find(source: &dyn BlockSource) -> Option<Copy> {
    guesses(source.len())
        .into_iter()
        .find_map(|at| copy_at(source, at))
        .or_else(|| search(source))
}

/// Where the second group may begin.
fn guesses(len: u64) -> BTreeSet<u64> {
    let of_size = |size: u64| {
        let blocks = len / size;
        let even = GROUPS.map(move |groups| blocks.div_ceil(groups) * size);
        even.chain([(LARGEST_GROUP - 1) / size * size])
    };
    BLOCK_SIZES.into_iter().flat_map(of_size).collect()
}

/// Looks for a copy in the first bytes of the device.
fn search(source: &dyn BlockSource) -> Option<Copy> {
    let end = source.len().min(SEARCHED);
    let mut at = 0;
    while let Some(data) = source.next_data(at).filter(|data| data.start < end) {
        let start = data.start.max(at) / AT_ONCE * AT_ONCE;
        let mut bytes = vec![0; AT_ONCE.min(source.len() - start) as usize];
        if source.read_at(&mut bytes, start).is_ok() {
            let sectors = bytes.chunks(UNIT).enumerate();
            let mut magic = sectors.filter(|(_, sector)| sector.starts_with(b"XFSB"));
            let found = magic.find_map(|(nth, _)| copy_at(source, start + (nth * UNIT) as u64));
            if found.is_some() {
                return found;
            }
        }
        at = start + AT_ONCE;
    }
    None
}

/// The copy at an offset, if it is sound and belongs there.
fn copy_at(source: &dyn BlockSource, at: u64) -> Option<Copy> {
    let mut head = [0; SIZE];
    source.read_at(&mut head, at).ok()?;
    let size = usize::from(Superblock::read(&head).ok()?.sb_sectsize.get());
    let mut sector = vec![0; size.max(SIZE).next_multiple_of(UNIT)];
    source.read_at(&mut sector, at).ok()?;
    let sb = *Superblock::read(&sector).ok()?;
    if fault(&sb, &sector, false).is_some() {
        return None;
    }
    let geo = Geometry::new(&sb).ok()?;
    sector.truncate(geo.sector_size as usize);
    let group = u64::from(geo.ag_blocks) << geo.block_log;
    let ag = u32::try_from(at / group).ok()?;
    let fits = (1..geo.ag_count).contains(&ag) && geo.header_offset(ag, 0) == at;
    fits.then_some(Copy { ag, geo, sector })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_every_usual_size_are_tried() {
        let guesses = guesses(300 << 20);
        // Four groups of 75 MiB, and two of 150.
        assert!(guesses.contains(&(75 << 20)) && guesses.contains(&(150 << 20)));
        assert!(guesses.contains(&((1 << 40) - 4096)));
        assert!(guesses.len() < 600);
    }
}
