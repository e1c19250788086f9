//! The log: is it clean, and where does it stand?
//!
//! A block of 512 bytes begins with the cycle in which it was written, or with the magic number of a record, whose head has the cycle. Cycles
//! fall by one at the head of the log. The search is the kernel's (`xlog_find_head`, `xlog_find_tail` in fs/xfs/xfs_log_recover.c): some
//! forty single reads and 2 MiB, never the whole log.

use blockio::BlockSource;
use ondisk::bytes::be32;
use ondisk::xfs::log::{BLOCK, CYCLE_BYTES, FORMAT_LE, MAGIC, RecordHead, UNMOUNT};
use ondisk::xfs::{Geometry, Superblock, feature};
use progress::Progress;

use crate::frame::finding::Finding;
use crate::xfs::state::lsn_order;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{LOG_BEHIND, LOG_DIRTY, LOG_NO_HEAD, LOG_RECORD};

/// Blocks before the head that may be torn: eight buffers of 256 KiB.
const TORN: u64 = 8 * RECORD;
/// Blocks of the largest record.
const RECORD: u64 = (256 << 10) / BLOCK as u64;

/// Where the log stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The current cycle.
    pub(crate) cycle: u32,
    /// The next block that is written.
    pub(crate) head: u32,
    /// The oldest block that has to be replayed; the head where there is none.
    pub(crate) tail: u32,
    /// Log sequence number of the last record.
    pub(crate) last: u64,
    /// Whether something has to be replayed.
    pub(crate) dirty: bool,
}

/// Why no position is known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    Unreadable,
    /// The check was cancelled.
    Stopped,
    Header(&'static str),
}

impl Lost {
    /// In words.
    pub(crate) fn why(&self) -> &'static str {
        match self {
            Lost::Unreadable => "it cannot be read",
            Lost::Stopped => "the check was interrupted",
            Lost::Header(why) => why,
        }
    }
}

/// Reads the log and raises what is wrong with it; none where it has no head.
pub(crate) fn judge(volume: &Volume<'_>, log: &mut Log) -> Option<Position> {
    let reader = Reader::new(
        &volume.geo,
        &volume.sb,
        volume.source,
        volume.journal.device,
        volume.progress,
    )?;
    if let Some(recovered) = volume.journal.recovered {
        return Some(recovered.position);
    }
    match reader.position() {
        Ok(position) => {
            if position.dirty {
                log.add(Finding::new(&LOG_DIRTY).note(
                    "it has transactions to replay; the check reads the filesystem without them",
                ));
            }
            reader.records(position, &volume.sb, log);
            Some(position)
        }
        Err(lost) => {
            log.add(Finding::new(&LOG_NO_HEAD).note(lost.why()));
            None
        }
    }
}

/// Whether metadata is newer than the log.
pub(crate) fn compare(position: Option<Position>, largest: u64, log: &mut Log) {
    let position = position.unwrap_or_default();
    let largest = largest.max(position.last);
    let current = u64::from(position.cycle) << 32 | u64::from(position.head);
    if lsn_order(largest) >= lsn_order(current) {
        let show = |lsn: u64| format!("{}:{}", lsn >> 32, lsn as u32);
        log.add(
            Finding::new(&LOG_BEHIND)
                .found(show(largest))
                .note(format!("the log is at {}", show(current))),
        );
    }
}

/// Reads blocks of the log.
pub(crate) struct Reader<'a> {
    source: &'a dyn BlockSource,
    /// First byte.
    start: u64,
    /// Blocks.
    pub(crate) blocks: u64,
    /// Records of version 2.
    v2: bool,
    progress: &'a dyn Progress,
}

impl<'a> Reader<'a> {
    /// The log of a filesystem; none where its place is impossible, or it is on a device that was not given.
    pub(crate) fn new(
        geo: &Geometry,
        sb: &Superblock,
        source: &'a dyn BlockSource,
        device: Option<&'a dyn BlockSource>,
        progress: &'a dyn Progress,
    ) -> Option<Reader<'a>> {
        let start = sb.sb_logstart.get();
        let (source, start) = if sb.log_is_external() {
            (device?, 0)
        } else {
            geo.is_block(start)
                .then(|| (source, geo.block_offset(start)))?
        };
        let blocks = sb.in_bytes(sb.sb_logblocks) / BLOCK as u64;
        (blocks > 0).then(|| Reader {
            source,
            start,
            blocks,
            v2: sb.has_version(feature::V4_LOGV2),
            progress,
        })
    }

    fn read(&self, block: u64, count: u64) -> Result<Vec<u8>, Lost> {
        if self.progress.cancelled() {
            return Err(Lost::Stopped);
        }
        let mut bytes = vec![0; count as usize * BLOCK];
        let at = self.start + block * BLOCK as u64;
        let read = self.source.read_at(&mut bytes, at);
        read.map(|()| bytes).map_err(|_| Lost::Unreadable)
    }

    /// Reads blocks that may go on at the start of the log.
    pub(crate) fn read_around(&self, block: u64, count: u64) -> Result<Vec<u8>, Lost> {
        let first = count.min(self.blocks.saturating_sub(block));
        let mut bytes = self.read(block, first)?;
        if first < count {
            bytes.append(&mut self.read(0, (count - first).min(self.blocks))?);
        }
        Ok(bytes)
    }

    fn cycle(&self, block: u64) -> Result<u32, Lost> {
        Ok(cycle_of(&self.read(block, 1)?))
    }

    /// The first of `count` blocks from `from` whose cycle is `stop`.
    fn first_with(&self, from: u64, count: u64, stop: u32) -> Result<Option<u64>, Lost> {
        let bytes = self.read(from, count)?;
        let mut cycles = bytes.chunks_exact(BLOCK).map(cycle_of);
        Ok(cycles
            .position(|cycle| cycle == stop)
            .map(|at| from + at as u64))
    }

    /// Blocks of a record's head.
    pub(crate) fn head_blocks(&self, head: &RecordHead) -> u64 {
        if self.v2 {
            u64::from(head.h_size.get().div_ceil(CYCLE_BYTES).max(1))
        } else {
            1
        }
    }

    /// The first block with `last` between `low` and `high`, where `high` has it.
    fn cycle_start(&self, mut low: u64, mut high: u64, last: u32) -> Result<u64, Lost> {
        let mut middle = low.midpoint(high);
        while middle != low && middle != high {
            if self.cycle(middle)? == last {
                high = middle;
            } else {
                low = middle;
            }
            middle = low.midpoint(high);
        }
        Ok(high)
    }

    /// Where the log stands.
    ///
    /// # Errors
    /// Why that is not known.
    pub(crate) fn position(&self) -> Result<Position, Lost> {
        let first = self.cycle(0)?;
        if first == 0 {
            // Never written.
            return Ok(Position::default());
        }
        let last = self.cycle(self.blocks - 1)?;
        if last == 0 && first != 1 {
            return Err(Lost::Header(
                "its first block is of a later cycle, and its last was never written",
            ));
        }
        let head = if last == 0 {
            self.first_zero()?
        } else {
            self.head(first, last)?
        };
        self.tail(head)
    }

    /// The head of a log whose first round is not finished.
    fn first_zero(&self) -> Result<u64, Lost> {
        let mut head = self.cycle_start(0, self.blocks - 1, 0)?;
        let scanned = TORN.min(self.blocks).min(head);
        if let Some(torn) = self.first_with(head - scanned, scanned, 0)? {
            head = torn;
        }
        let from = head.saturating_sub(RECORD);
        match self.whole(from, head, 0)? {
            Whole::Yes => {}
            Whole::No(start) => head = start,
            Whole::Before => return Err(Lost::Header("it has no record before the head")),
        }
        Ok(head)
    }

    fn head(&self, first: u32, last: u32) -> Result<u64, Lost> {
        let (mut head, stop) = if first == last {
            (self.blocks, last.wrapping_sub(1))
        } else {
            (self.cycle_start(0, self.blocks - 1, last)?, last)
        };
        let scanned = TORN.min(self.blocks);
        if head >= scanned {
            let torn = self.first_with(head - scanned, scanned, stop)?;
            head = torn.unwrap_or(head);
        } else {
            let before = scanned - head;
            let torn = self.first_with(self.blocks - before, before, stop.wrapping_sub(1))?;
            if let Some(torn) = torn {
                head = torn;
            } else {
                head = self.first_with(0, head, stop)?.unwrap_or(head);
            }
        }
        self.whole_head(head)
    }

    /// The head, or the start of the record before it where that is not whole.
    fn whole_head(&self, head: u64) -> Result<u64, Lost> {
        let none = Lost::Header("it has no record before the head");
        let mut found = head;
        if head >= RECORD {
            match self.whole(head - RECORD, head, 0)? {
                Whole::Yes => {}
                Whole::No(start) => found = start,
                Whole::Before => return Err(none),
            }
        } else {
            match self.whole(0, head, 0)? {
                Whole::Yes => {}
                Whole::No(start) => found = start,
                Whole::Before => {
                    let from = self.blocks - (RECORD - head).min(self.blocks);
                    match self.whole(from, self.blocks, head)? {
                        Whole::Yes => {}
                        Whole::No(start) => found = start,
                        Whole::Before => return Err(none),
                    }
                }
            }
        }
        Ok(if found == self.blocks { 0 } else { found })
    }

    /// Whether the last record that begins in `from..end` ends `extra` blocks after `end`.
    fn whole(&self, from: u64, end: u64, extra: u64) -> Result<Whole, Lost> {
        let bytes = self.read(from, end - from)?;
        let blocks = bytes.chunks_exact(BLOCK).enumerate();
        let Some((at, block)) = blocks.rev().find(|(_, block)| be32(block, 0) == MAGIC) else {
            if from == 0 {
                return Ok(Whole::Before);
            }
            return Err(Lost::Header("no record begins before its head"));
        };
        let at = from + at as u64;
        let Ok(head) = RecordHead::read(block) else {
            return Ok(Whole::No(at));
        };
        let length = u64::from(head.h_len.get()).div_ceil(BLOCK as u64) + self.head_blocks(head);
        Ok(if end - at + extra == length {
            Whole::Yes
        } else {
            Whole::No(at)
        })
    }

    /// The last record before a head, and whether it is found over the end of the log.
    fn last_record(&self, head: u64) -> Result<(u64, bool), Lost> {
        let mut end = head;
        while end > 0 {
            let count = RECORD.min(end);
            if let Some(at) = self.last_magic(end - count, count)? {
                return Ok((at, false));
            }
            end -= count;
        }
        end = self.blocks;
        while end > head {
            let count = RECORD.min(end - head);
            if let Some(at) = self.last_magic(end - count, count)? {
                return Ok((at, true));
            }
            end -= count;
        }
        Err(Lost::Header("it has no record"))
    }

    fn last_magic(&self, from: u64, count: u64) -> Result<Option<u64>, Lost> {
        let bytes = self.read(from, count)?;
        let at = bytes
            .chunks_exact(BLOCK)
            .rposition(|block| be32(block, 0) == MAGIC);
        Ok(at.map(|at| from + at as u64))
    }

    /// Where a log stands that has this head.
    ///
    /// # Errors
    /// Why that is not known.
    pub(crate) fn tail(&self, head: u64) -> Result<Position, Lost> {
        let (record, wrapped) = self.last_record(head)?;
        let bytes = self.read(record, 1)?;
        let Ok(start) = RecordHead::read(&bytes) else {
            return Err(Lost::Unreadable);
        };
        let data = (record + self.head_blocks(start)) % self.blocks;
        let length = u64::from(start.h_len.get()).div_ceil(BLOCK as u64);
        let after = (data + length) % self.blocks;
        let mut tail = u64::from(start.h_tail_lsn.get() as u32);
        if head == after && start.h_num_logops.get() == 1 {
            let operation = self.read(data, 1)?;
            if operation[9] & UNMOUNT != 0 {
                tail = after;
            }
        }
        Ok(Position {
            cycle: start.h_cycle.get().wrapping_add(wrapped.into()),
            head: head as u32,
            tail: tail as u32,
            last: start.h_lsn.get(),
            dirty: tail != head,
        })
    }

    /// What `xfs_repair` does not look at: the head of the last record.
    fn records(&self, position: Position, sb: &Superblock, log: &mut Log) {
        if position == Position::default() {
            return;
        }
        let Ok((record, _)) = self.last_record(position.head.into()) else {
            return;
        };
        let Ok(bytes) = self.read(record, 1) else {
            return;
        };
        let Ok(head) = RecordHead::read(&bytes) else {
            return;
        };
        let mut wrong =
            |what: &str| log.add(Finding::new(&LOG_RECORD).offset(record as usize).note(what));
        if head.h_fs_uuid != sb.sb_uuid {
            wrong("the log has the UUID of another filesystem");
        }
        // Little-endian, big-endian, and IRIX.
        if !(FORMAT_LE..=3).contains(&head.h_fmt.get()) {
            wrong("the format of the log is unknown");
        }
    }
}

/// Whether the record before a head is whole.
#[derive(Debug, PartialEq, Eq)]
enum Whole {
    Yes,
    /// No: it begins here.
    No(u64),
    /// It begins before the start of the log.
    Before,
}

fn cycle_of(block: &[u8]) -> u32 {
    let word = be32(block, 0);
    if word == MAGIC { be32(block, 4) } else { word }
}
