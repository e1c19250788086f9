//! The log replayed in memory: what a mount would make of an unreplayed log, laid over the source without writing to it.
//!
//! As the kernel does it (fs/xfs/xfs_log_recover.c): records from the tail to the head, in two passes. The first notes which buffers were
//! freed later; the second lays the transactions over the metadata, each object only if what lies on disk is older. Then the
//! superblock's counters are added up anew.
//!
//! Two steps of a mount need allocations and are not done: intents that have no end in the log, and freeing inodes that were unlinked while
//! open. The inodes are known to the check, which does not count them as damage; intents make the verdict unstable, and are counted.

mod buffers;
mod inodes;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use blockio::{BlockSource, Overlay};
use ondisk::xfs::dinode::Inode;
use ondisk::xfs::geometry::NULL_AGINO;
use ondisk::xfs::log_item::{self, QuotaItem, buffer_flag, kind};
use ondisk::xfs::{Agf, Agi, Dquot, Geometry, Superblock, checksum, dquot, superblock};
use progress::Progress;

use super::phase2::log::{Position, Reader};
use super::xfs_repair::Release;
use records::{Item, Transaction};

/// What is done about the log, and what is on other devices.
#[derive(Clone, Default)]
pub struct Options {
    /// Whether an unreplayed log is replayed in memory, and the check judges what that leaves.
    pub replay: bool,
    /// The device or file of a log that is not in the filesystem.
    pub device: Option<Arc<dyn BlockSource>>,
    /// The device or file of the realtime part.
    pub realtime: Option<Arc<dyn BlockSource>>,
    /// The release of `xfs_repair` whose verdict is followed.
    pub release: Release,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("replay", &self.replay)
            .field("device", &self.device.as_ref().map(BlockSource::name))
            .field("realtime", &self.realtime.as_ref().map(BlockSource::name))
            .field("release", &self.release)
            .finish()
    }
}

/// What is on other devices, and what was replayed of the log.
#[derive(Clone, Copy, Default)]
pub(crate) struct Journal<'a> {
    /// The device of an external log.
    pub(crate) device: Option<&'a dyn BlockSource>,
    /// The device of the realtime part.
    pub(crate) realtime: Option<&'a dyn BlockSource>,
    /// The release whose verdict is followed.
    pub(crate) release: Release,
    /// What was replayed; the source has it already.
    pub(crate) recovered: Option<&'a Recovered>,
    /// Why the log could not be replayed.
    pub(crate) refused: Option<&'a str>,
    /// The group whose copy of the superblock stands in for the first, which is lost.
    pub(crate) stand_in: Option<u32>,
}

impl Journal<'_> {
    /// Whether a mount would still free all of these blocks.
    pub(crate) fn will_free(&self, block: u64, count: u64) -> bool {
        self.recovered.is_some_and(|recovered| {
            let freed = &recovered.freed;
            let at = freed.partition_point(|run| run.0 <= block);
            at.checked_sub(1)
                .is_some_and(|at| block + count <= freed[at].1)
        })
    }
}

/// What a replay leaves.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    /// Where the log stands.
    pub(crate) position: Position,
    /// Transactions that were laid over the source.
    pub(crate) transactions: u64,
    /// Intents without an end.
    pub(crate) intents: u64,
    /// Blocks that they would free: the first, and the end that this run or one before it reaches, both ascending.
    pub(crate) freed: Vec<(u64, u64)>,
    /// Inodes that were unlinked while open.
    pub(crate) unlinked: BTreeSet<u64>,
    /// Bytes of memory, with what was laid over the source.
    pub(crate) memory: u64,
}

/// The source with what recovery writes laid over it, and what was recovered.
type Replayed<'a> = (Overlay<&'a dyn BlockSource>, Recovered);

/// Inodes of a list of unlinked ones that are followed at most.
const LONGEST: usize = 1 << 20;

/// Replays the log over the source; none where there is nothing to replay, or no usable superblock or log to replay from.
///
/// # Errors
/// Why the log cannot be replayed; or `is_over`, which is asked for each record and each item, said that the check is to end.
pub(super) fn replay<'a>(
    source: &'a dyn BlockSource,
    device: Option<&dyn BlockSource>,
    progress: &dyn Progress,
    is_over: &dyn Fn() -> bool,
) -> Result<Option<Replayed<'a>>, String> {
    let mut bytes = [0; superblock::SIZE];
    if source.read_at(&mut bytes, 0).is_err() {
        return Ok(None);
    }
    let Ok(sb) = Superblock::read(&bytes) else {
        return Ok(None);
    };
    let Ok(geo) = Geometry::new(sb) else {
        return Ok(None);
    };
    let Some(reader) = Reader::new(&geo, sb, source, device, progress) else {
        return Ok(None);
    };
    let Ok(position) = reader.position() else {
        return Ok(None);
    };
    if !position.dirty {
        return Ok(None);
    }
    let log = records::Records::new(&reader, geo.v5, sb.sb_uuid, position, is_over)?;
    let mut replay = Replay {
        geo,
        over: Overlay::new(source),
        cancelled: BTreeMap::new(),
        quotas: sb.sb_qflags.get() & quota::COUNTED != 0,
        quotas_off: 0,
        intents: BTreeMap::new(),
        transactions: 0,
        is_over,
    };
    log.each(&mut |transaction| replay.first_pass(transaction))?;
    log.each(&mut |transaction| replay.second_pass(transaction))?;
    let position = Position {
        dirty: false,
        tail: log.position.head,
        ..log.position
    };
    let recovered = replay.finish(position, progress)?;
    Ok(Some((replay.over, recovered)))
}

/// Flags of quotas in the superblock and in the log.
mod quota {
    /// Users, projects or groups are counted.
    pub(super) const COUNTED: u16 = 0x0001 | 0x0008 | 0x0040;
    /// Each with the type of its records.
    pub(super) const TYPES: [(u32, u8); 3] = [
        (0x0001, ondisk::xfs::dquot::USER),
        (0x0008, ondisk::xfs::dquot::PROJECT),
        (0x0040, ondisk::xfs::dquot::GROUP),
    ];
}

/// A replay under way.
struct Replay<'a, 'o> {
    geo: Geometry,
    over: Overlay<&'a dyn BlockSource>,
    /// Buffers that were freed, by place and length, and how many times that is still ahead.
    cancelled: BTreeMap<(u64, u32), u32>,
    /// Whether quotas are counted.
    quotas: bool,
    /// Types of quota records that were turned off.
    quotas_off: u8,
    /// Intents that are not done, by number, with the blocks that they free.
    intents: BTreeMap<u64, Vec<(u64, u32)>>,
    transactions: u64,
    is_over: &'o dyn Fn() -> bool,
}

impl Replay<'_, '_> {
    /// Notes what was freed.
    fn first_pass(&mut self, transaction: &Transaction) -> Result<(), String> {
        for item in &transaction.items {
            let head = item.head()?;
            match log_item::item_kind(head) {
                kind::BUF => {
                    let buffer = log_item::Buffer::new(head);
                    if buffer.flags() & buffer_flag::CANCEL != 0 {
                        let key = (buffer.place(), u32::from(buffer.length()));
                        *self.cancelled.entry(key).or_default() += 1;
                    }
                }
                kind::QUOTAOFF => {
                    let flags = ondisk::bytes::le32(head, 4);
                    for (flag, types) in quota::TYPES {
                        self.quotas_off |= if flags & flag == 0 { 0 } else { types };
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Lays a transaction over the source: buffers, then all else, then lists of unlinked inodes, then what was freed.
    fn second_pass(&mut self, transaction: &Transaction) -> Result<(), String> {
        let mut order: Vec<(u8, &Item)> = Vec::with_capacity(transaction.items.len());
        for item in &transaction.items {
            order.push((turn(item.head()?), item));
        }
        order.sort_by_key(|(turn, _)| *turn);
        for (_, item) in order {
            records::go_on(self.is_over)?;
            self.item(item, transaction.lsn)?;
        }
        self.transactions += 1;
        Ok(())
    }

    fn item(&mut self, item: &Item, lsn: u64) -> Result<(), String> {
        let head = item.head()?;
        match log_item::item_kind(head) {
            kind::BUF => self.buffer(item, lsn),
            kind::INODE => self.inode(item, lsn),
            kind::ICREATE => self.new_inodes(head),
            kind::DQUOT => self.quota_record(item, lsn),
            kind::QUOTAOFF => Ok(()),
            kind::EFI => {
                let freed = log_item::freed_extents(head);
                self.intents.insert(log_item::intent_id(head), freed);
                Ok(())
            }
            kind::EFD => {
                self.intents.remove(&log_item::intent_id(head));
                Ok(())
            }
            other if (kind::RUI..=kind::XMD).contains(&other) => {
                let id = log_item::intent_id(head);
                if other % 2 == 0 {
                    self.intents.insert(id, Vec::new());
                } else {
                    self.intents.remove(&id);
                }
                Ok(())
            }
            other => Err(format!("it has an item of the unknown type {other:#x}")),
        }
    }

    /// Whether the buffer is freed later in the log.
    fn is_cancelled(&self, place: u64, length: u32) -> bool {
        self.cancelled.contains_key(&(place, length))
    }

    fn quota_record(&mut self, item: &Item, lsn: u64) -> Result<(), String> {
        let logged = item.region(1)?;
        let kinds = dquot::USER | dquot::PROJECT | dquot::GROUP;
        let kind = logged.get(3).copied().unwrap_or(0) & kinds;
        if !self.quotas || self.quotas_off & kind != 0 {
            return Ok(());
        }
        let place = QuotaItem::read(item.head()?);
        let at = place
            .place
            .saturating_mul(512)
            .saturating_add(place.offset.into());
        let mut bytes = vec![0; Dquot::SIZE];
        self.read(&mut bytes, at)?;
        if self.geo.v5 && is_newer(ondisk::bytes::be64(&bytes, 112), lsn, true) {
            return Ok(());
        }
        let count = logged.len().min(bytes.len());
        bytes[..count].copy_from_slice(&logged[..count]);
        if self.geo.v5 {
            checksum::seal(&mut bytes, checksum::DQUOT);
        }
        self.write(at, &bytes)
    }

    fn read(&self, bytes: &mut [u8], at: u64) -> Result<(), String> {
        self.over
            .read_at(bytes, at)
            .map_err(|error| error.to_string())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), String> {
        self.over
            .write(at, bytes)
            .map_err(|error| error.to_string())
    }

    /// Counters of the superblock, lists of unlinked inodes, and what is left to do.
    fn finish(&mut self, position: Position, progress: &dyn Progress) -> Result<Recovered, String> {
        let mut unlinked = BTreeSet::new();
        let mut sector = vec![0; 512];
        for ag in 0..self.geo.ag_count {
            records::go_on(self.is_over)?;
            self.read(&mut sector, self.geo.header_offset(ag, 2))?;
            let agi = *Agi::read(&sector).map_err(|error| error.to_string())?;
            for head in &agi.agi_unlinked {
                self.list(ag, head.get(), &mut unlinked, progress)?;
            }
        }
        if self.geo.lazy_count {
            let mut sector = vec![0; self.geo.sector_size as usize];
            self.read(&mut sector, 0)?;
            add_up(&self.over, &self.geo, &mut sector)?;
            self.write(0, &sector)?;
        }
        let freed = self.intents.values().flatten();
        let mut freed: Vec<(u64, u64)> = freed
            .map(|(start, length)| (*start, start.saturating_add((*length).into())))
            .collect();
        freed.sort_unstable();
        let mut reached = 0;
        for run in &mut freed {
            reached = run.1.max(reached);
            run.1 = reached;
        }
        Ok(Recovered {
            position,
            transactions: self.transactions,
            intents: self.intents.len() as u64,
            memory: self.over.held() / 32 * 33 + 64 * (unlinked.len() + freed.len()) as u64,
            freed,
            unlinked,
        })
    }

    /// Follows a list of unlinked inodes. A list that is damaged is judged by the check.
    fn list(
        &self,
        ag: u32,
        first: u32,
        unlinked: &mut BTreeSet<u64>,
        progress: &dyn Progress,
    ) -> Result<(), String> {
        let mut bytes = vec![0; self.geo.inode_size as usize];
        let (mut at, mut met) = (first, 0);
        while at != NULL_AGINO && met < LONGEST && !progress.cancelled() {
            let ino = self.geo.ino(ag, at);
            if !self.geo.is_inode(ino) || !unlinked.insert(ino) {
                break;
            }
            self.read(&mut bytes, self.geo.ino_offset(ino))?;
            at = Inode::new(&self.geo, &bytes).next_unlinked();
            met += 1;
        }
        Ok(())
    }
}

/// Sets the counters of a superblock, whose sector is given, to what the headers of all groups add up to, as a mount does.
///
/// # Errors
/// Why the headers cannot be used.
pub(super) fn add_up(
    source: &dyn BlockSource,
    geo: &Geometry,
    sector: &mut [u8],
) -> Result<(), String> {
    let (mut inodes, mut free_inodes, mut free) = (0_u64, 0_u64, 0_u64);
    let mut header = vec![0; 512];
    let read = |header: &mut [u8], ag: u32, sector: u32| {
        let read = source.read_at(header, geo.header_offset(ag, sector));
        read.map_err(|error| error.to_string())
    };
    for ag in 0..geo.ag_count {
        read(&mut header, ag, 1)?;
        let agf = Agf::read(&header).map_err(|error| error.to_string())?;
        free += [agf.agf_freeblks, agf.agf_flcount, agf.agf_btreeblks]
            .map(|blocks| u64::from(blocks.get()))
            .iter()
            .sum::<u64>();
        read(&mut header, ag, 2)?;
        let agi = Agi::read(&header).map_err(|error| error.to_string())?;
        inodes += u64::from(agi.agi_count.get());
        free_inodes += u64::from(agi.agi_freecount.get());
    }
    let sb = Superblock::read_mut(sector).map_err(|error| error.to_string())?;
    sb.sb_icount.set(inodes);
    sb.sb_ifree.set(free_inodes);
    sb.sb_fdblocks.set(free);
    if geo.v5 {
        checksum::seal(sector, checksum::SUPERBLOCK);
    }
    Ok(())
}

/// When an item's turn is within its transaction.
fn turn(head: &[u8]) -> u8 {
    match log_item::item_kind(head) {
        kind::BUF => {
            let flags = log_item::Buffer::new(head).flags();
            if flags & buffer_flag::CANCEL != 0 {
                3
            } else if flags & buffer_flag::INODES != 0 {
                2
            } else {
                0
            }
        }
        kind::ICREATE => 0,
        _ => 1,
    }
}

/// Whether what has this number is newer than a transaction. `same`: whether one of the transaction's own number is.
fn is_newer(stored: u64, lsn: u64, same: bool) -> bool {
    let order = |lsn: u64| ((lsn >> 32) as u32, lsn as u32);
    stored != 0 && stored != u64::MAX && (order(stored) > order(lsn) || same && stored == lsn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_told_by_cycle_and_block() {
        assert!(!is_newer(0, 5, true) && !is_newer(u64::MAX, 5, true));
        assert!(is_newer(5, 5, true) && !is_newer(5, 5, false));
        assert!(is_newer(6, 5, false) && !is_newer(4, 5, true));
        assert!(is_newer(2 << 32, 1 << 32 | 7, false));
    }

    #[test]
    fn what_is_freed_comes_last() {
        let buffer = |flags: u8| [0x3c, 0x12, 1, 0, flags, 0, 0, 0];
        let turns = [0, 1, 2, 3].map(|flags| turn(&buffer(flags)));
        assert_eq!(turns, [0, 2, 3, 3]);
        assert_eq!((turn(&[0x3f, 0x12]), turn(&[0x3b, 0x12])), (0, 1));
    }
}
