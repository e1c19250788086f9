//! Quota: records of quota files, and what each owner uses.

use std::collections::BTreeMap;

use ondisk::xfs::checksum;
use ondisk::xfs::dquot::{BIGTIME, Dquot, GROUP, MAGIC, PROJECT, USER, VERSION};

use super::rules::Rules;
use super::sink::Sink;
use super::xfs_repair::problems::{QUOTA_CRC, QUOTA_RECORD, QUOTA_TIMER, QUOTA_UUID};
use crate::Problem;
use crate::frame::finding::Finding;

/// `sb_qflags`: use of users, groups and projects was counted.
const COUNTED: [u16; 3] = [0x0002, 0x0080, 0x0200];
/// Types of records, in the order of the superblock's quota files.
pub(crate) const TYPES: [u8; 3] = [USER, GROUP, PROJECT];

/// What an owner uses, or what a record says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    /// Blocks.
    pub(crate) blocks: u64,
    /// Realtime blocks.
    pub(crate) realtime: u64,
    /// Inodes.
    pub(crate) inodes: u64,
}

impl Amount {
    fn add(&mut self, other: Amount) {
        self.blocks += other.blocks;
        self.realtime += other.realtime;
        self.inodes += other.inodes;
    }
}

/// What each owner uses: by kind (user, group, project) and number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage(BTreeMap<(u8, u32), Amount>);

impl Usage {
    /// Adds what an inode uses.
    pub(crate) fn add(&mut self, kind: u8, id: u32, amount: Amount) {
        self.0.entry((kind, id)).or_default().add(amount);
    }

    /// Takes what another has, and empties it.
    pub(crate) fn take(&mut self, other: &mut Usage) {
        for (owner, amount) in std::mem::take(&mut other.0) {
            self.0.entry(owner).or_default().add(amount);
        }
    }

    /// Bytes of memory, with the room that a tree leaves in its nodes.
    pub(crate) fn memory(&self) -> u64 {
        self.0.len() as u64 * 2 * size_of::<((u8, u32), Amount)>() as u64
    }

    /// What an owner uses; it is removed.
    pub(crate) fn remove(&mut self, kind: u8, id: u32) -> Amount {
        self.0.remove(&(kind, id)).unwrap_or_default()
    }

    /// Owners of a kind that are left.
    pub(crate) fn left(&self, kind: u8) -> impl Iterator<Item = (u32, Amount)> + '_ {
        let of_kind = self.0.range((kind, 0)..=(kind, u32::MAX));
        of_kind.map(|((_, id), amount)| (*id, *amount))
    }
}

/// Which kinds (user, group, project) were counted, by the superblock's flags.
pub(crate) fn counted(qflags: u16) -> [bool; 3] {
    COUNTED.map(|bit| qflags & bit != 0)
}

/// A record as phase 7 compares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Kind: user, group, project.
    pub(crate) kind: u8,
    /// Whose.
    pub(crate) id: u32,
    /// What it says that the owner uses.
    pub(crate) amount: Amount,
    /// Wide times.
    pub(crate) bigtime: bool,
}

/// Judges a block of the quota file of `kind` and passes on its records that belong to someone.
pub(crate) fn block(
    rules: &Rules,
    kind: u8,
    (offset, fsblock): (u64, u64),
    bytes: &[u8],
    sink: &mut impl Sink,
    mut each: impl FnMut(Record),
) {
    let ino = rules.quota[usize::from(kind)];
    let room = ondisk::xfs::dquot::room(&rules.geometry);
    for (nth, bytes) in bytes.chunks_exact(Dquot::SIZE).take(room).enumerate() {
        let Ok(dquot) = Dquot::read(bytes) else {
            return;
        };
        let about = |problem: &'static Problem| {
            let finding = Finding::new(problem)
                .inode(ino)
                .logical(offset)
                .block(fsblock);
            finding.offset(nth * Dquot::SIZE)
        };
        if rules.geometry.v5 {
            if !checksum::is_right(bytes, checksum::DQUOT) {
                sink.find(about(&QUOTA_CRC));
                continue;
            }
            if dquot.dd_uuid != rules.geometry.uuid {
                sink.find(about(&QUOTA_UUID));
                continue;
            }
        }
        let id = dquot.d_id.get();
        let expected = offset.wrapping_mul(room as u64) + nth as u64;
        if let Some(why) = refused(kind, expected, dquot) {
            sink.find(about(&QUOTA_RECORD).note(why));
        }
        if timer_runs(dquot) {
            sink.own(about(&QUOTA_TIMER));
        }
        each(Record {
            kind,
            id,
            amount: Amount {
                blocks: dquot.d_bcount.get(),
                realtime: dquot.d_rtbcount.get(),
                inodes: dquot.d_icount.get(),
            },
            bigtime: dquot.d_type & BIGTIME != 0,
        });
    }
}

/// Why the verifier refuses a record (`xfs_dquot_verify`).
fn refused(kind: u8, id: u64, dquot: &Dquot) -> Option<&'static str> {
    if dquot.d_magic.get() != MAGIC {
        return Some("magic number");
    }
    if dquot.d_version != VERSION {
        return Some("version");
    }
    if dquot.d_type & !BIGTIME != TYPES[usize::from(kind)] {
        return Some("type");
    }
    if u64::from(dquot.d_id.get()) != id {
        return Some("number");
    }
    if id == 0 {
        return None;
    }
    let exceeded = |limit: u64, used: u64, timer: u32| limit != 0 && used > limit && timer == 0;
    let blocks = exceeded(
        dquot.d_blk_softlimit.get(),
        dquot.d_bcount.get(),
        dquot.d_btimer.get(),
    );
    let inodes = exceeded(
        dquot.d_ino_softlimit.get(),
        dquot.d_icount.get(),
        dquot.d_itimer.get(),
    );
    let realtime = exceeded(
        dquot.d_rtb_softlimit.get(),
        dquot.d_rtbcount.get(),
        dquot.d_rtbtimer.get(),
    );
    (blocks || inodes || realtime).then_some("a limit is exceeded and no timer runs")
}

/// Whether a timer runs although its limit is not exceeded. The record of owner 0 has the default times there.
fn timer_runs(dquot: &Dquot) -> bool {
    let runs = |timer: u32, soft: u64, hard: u64, used: u64| {
        timer != 0 && (soft == 0 || used <= soft) && (hard == 0 || used <= hard)
    };
    dquot.d_id.get() != 0
        && (runs(
            dquot.d_btimer.get(),
            dquot.d_blk_softlimit.get(),
            dquot.d_blk_hardlimit.get(),
            dquot.d_bcount.get(),
        ) || runs(
            dquot.d_itimer.get(),
            dquot.d_ino_softlimit.get(),
            dquot.d_ino_hardlimit.get(),
            dquot.d_icount.get(),
        ))
}
