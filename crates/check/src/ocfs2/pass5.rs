//! Pass 5: the global quota files. fsck.ocfs2 does not read the local ones. It computes the usage anew, and with `-n` compares it with nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use ondisk::bytes::le32;
use ondisk::ocfs2::feature;
use ondisk::ocfs2::quota::{
    GROUP_MAGIC, QuotaEntry, QuotaHeader, QuotaInfo, QuotaLeaf, TRAILER, TREE_ROOT, USER_MAGIC,
    VERSION, entries_per_block,
};

use super::blocks::Block;
use super::fsck_ocfs2::log::Log;
use super::fsck_ocfs2::problems::{
    DQBLK_INVALID, DUP_DQBLK_INVALID, DUP_DQBLK_VALID, QMAGIC_INVALID, QTREE_BLK_INVALID,
    QUOTA_UNREADABLE, QUOTA_USAGE,
};
use super::lookup;
use super::open;
use super::refused::Refused;
use super::tree::{self, Next};
use super::usage::{Usage, Used};
use super::volume::{Volume, from, head, value};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Whether the volume has quota.
pub(crate) fn applies(volume: &Volume<'_>) -> bool {
    let bits = volume.sb.s_feature_ro_compat.get();
    bits & (feature::USER_QUOTA | feature::GROUP_QUOTA) != 0
}

/// Runs the pass.
pub(crate) fn run(volume: &Volume<'_>, usage: &Usage, log: &mut Log) {
    // Where a journal is to be replayed, the files are not up to date.
    let compared = !open::is_dirty(volume) && !log.has_ended();
    let files = [
        (
            feature::USER_QUOTA,
            "aquota.user",
            USER_MAGIC,
            &usage.by_user,
        ),
        (
            feature::GROUP_QUOTA,
            "aquota.group",
            GROUP_MAGIC,
            &usage.by_group,
        ),
    ];
    for (bit, name, magic, used) in files {
        if !volume.sb.has_ro_compat(bit) {
            continue;
        }
        let used = compared.then(|| used.clone());
        if let Err((problem, refused)) = file(volume, log, name, magic, used) {
            let finding = Finding::new(problem).name(name.as_bytes());
            log.end(refused.exit(), finding.note(refused.words()));
        }
    }
}

/// A global quota file.
struct Quota<'a, 'v> {
    volume: &'a Volume<'v>,
    log: &'a mut Log,
    name: &'static str,
    /// Runs of the file: first block of the file, first block of the volume, number of blocks.
    runs: Vec<(u64, u64, u64)>,
    /// Blocks of the file.
    blocks: u64,
    visited: BTreeSet<u32>,
    ids: HashSet<u32>,
    /// Levels above the blocks of entries.
    levels: u32,
    /// What the inodes come to, by id, without the ids that had an entry.
    used: Option<BTreeMap<u32, Used>>,
}

type Ended = (&'static Problem, Refused);

/// A file; `used` is what its entries must come to, where that is known.
fn file(
    volume: &Volume<'_>,
    log: &mut Log,
    name: &'static str,
    magic: u32,
    used: Option<BTreeMap<u32, Used>>,
) -> Result<(), Ended> {
    let unreadable = |refused| (&QUOTA_UNREADABLE, refused);
    let number = lookup::system(volume, name).map_err(unreadable)?;
    let inode = volume.inode(number).map_err(unreadable)?;
    let mut runs = Vec::new();
    let per_cluster = volume.layout.blocks_per_cluster();
    tree::extents(volume, &inode, &mut |record| {
        let first = u64::from(record.e_cpos.get()) * per_cluster;
        let count = u64::from(record.leaf_clusters()) * per_cluster;
        runs.push((first, record.e_blkno.get(), count));
        Next::Continue
    })
    .map_err(unreadable)?;
    let size = volume.block_size() as u64;
    let references = (volume.block_size() - TRAILER) / 4;
    let mut levels = 1;
    let mut reach = references as u64;
    while reach < 1 << 32 {
        reach = reach.saturating_mul(references as u64);
        levels += 1;
    }
    let mut quota = Quota {
        volume,
        log,
        name,
        runs,
        blocks: head(&inode).i_size.get() / size,
        visited: BTreeSet::new(),
        ids: HashSet::new(),
        levels,
        used,
    };
    quota.head(magic).map_err(unreadable)?;
    if quota.is_block(TREE_ROOT as u32) {
        quota.tree(TREE_ROOT as u32, 0)?;
    }
    quota.missing();
    Ok(())
}

impl Quota<'_, '_> {
    fn at(&self, problem: &'static Problem, block: u32) -> Finding {
        Finding::new(problem)
            .name(self.name.as_bytes())
            .logical(block.into())
    }

    fn is_block(&self, block: u32) -> bool {
        u64::from(block) >= TREE_ROOT && u64::from(block) < self.blocks
    }

    /// A block of the file, and whether its checksum is right.
    fn read(&self, block: u32) -> Result<(Block, bool), Refused> {
        let wanted = u64::from(block);
        let run = self
            .runs
            .iter()
            .find(|run| wanted >= run.0 && wanted - run.0 < run.2);
        let &(first, start, _) = run.ok_or(Refused::Read)?;
        let bytes = self.volume.read(start.wrapping_add(wanted - first))?;
        let check = bytes.len() - TRAILER;
        Ok(match self.volume.checked(Block::clone(&bytes), check) {
            Ok(checked) => (checked, true),
            Err(_) => (bytes, false),
        })
    }

    fn head(&mut self, magic: u32) -> Result<(), Refused> {
        let (bytes, sound) = self.read(0)?;
        let header: QuotaHeader = value(QuotaHeader::read(&bytes));
        let info: QuotaInfo = value(QuotaInfo::read(from(&bytes, QuotaHeader::SIZE)));
        let reference = |block: u32| block == 0 || self.is_block(block);
        let right = header.dqh_magic.get() == magic
            && header.dqh_version.get() == VERSION
            && u64::from(info.dqi_blocks.get()) == self.blocks
            && reference(info.dqi_free_blk.get())
            && reference(info.dqi_free_entry.get());
        if !sound || !right {
            self.log.add(self.at(&QMAGIC_INVALID, 0));
        }
        Ok(())
    }

    fn tree(&mut self, block: u32, depth: u32) -> Result<(), Ended> {
        self.visited.insert(block);
        let (bytes, sound) = self
            .read(block)
            .map_err(|refused| (&QUOTA_UNREADABLE, refused))?;
        if !sound {
            self.log.add(self.at(&QTREE_BLK_INVALID, block));
            return Err((&QUOTA_UNREADABLE, Refused::Checksum));
        }
        let references = (bytes.len() - TRAILER) / 4;
        for at in 0..references {
            let below = le32(&bytes, at * 4);
            if below == 0 || !self.is_block(below) || self.visited.contains(&below) {
                continue;
            }
            if depth + 1 < self.levels {
                self.tree(below, depth + 1)?;
            } else {
                self.leaf(below)?;
            }
        }
        Ok(())
    }

    fn leaf(&mut self, block: u32) -> Result<(), Ended> {
        self.visited.insert(block);
        let (bytes, sound) = self
            .read(block)
            .map_err(|refused| (&QUOTA_UNREADABLE, refused))?;
        let head: QuotaLeaf = value(QuotaLeaf::read(&bytes));
        let reference = |block: u32| block == 0 || self.is_block(block);
        let most = entries_per_block(bytes.len());
        let sound = sound
            && reference(head.dqdh_next_free.get())
            && reference(head.dqdh_prev_free.get())
            && usize::from(head.dqdh_entries.get()) <= most;
        for at in 0..most {
            let place = from(&bytes, QuotaLeaf::SIZE + at * QuotaEntry::SIZE);
            if place.iter().take(QuotaEntry::SIZE).all(|&byte| byte == 0) {
                continue;
            }
            let entry: QuotaEntry = value(QuotaEntry::read(place));
            let id = entry.dqb_id.get();
            let problem = match (self.ids.contains(&id), sound) {
                (true, true) => &DUP_DQBLK_VALID,
                (true, false) => &DUP_DQBLK_INVALID,
                (false, false) => &DQBLK_INVALID,
                (false, true) => {
                    self.ids.insert(id);
                    self.usage(block, &entry);
                    continue;
                }
            };
            self.log.add(self.at(problem, block).found(id));
        }
        Ok(())
    }

    /// The usage of an entry, against the inodes of its id.
    fn usage(&mut self, block: u32, entry: &QuotaEntry) {
        let Some(used) = &mut self.used else { return };
        let id = entry.dqb_id.get();
        let expected = used.remove(&id).unwrap_or_default();
        let stored = (entry.dqb_curinodes.get(), entry.dqb_curspace.get());
        let expected = (
            expected.inodes,
            expected
                .clusters
                .saturating_mul(self.volume.layout.cluster_size()),
        );
        // mkfs.ocfs2 counts before it makes lost+found, and kernels add to what it has counted.
        let without = (expected.0.saturating_sub(1), expected.1);
        if stored != expected && (id != 0 || stored != without) {
            let words = |(inodes, bytes)| format!("{inodes} inodes, {bytes} bytes");
            let finding = self.at(&QUOTA_USAGE, block).note(format!("id {id}"));
            self.log
                .own(finding.found(words(stored)).expected(words(expected)));
        }
    }

    /// Ids with inodes and without an entry.
    fn missing(&mut self) {
        for (id, used) in self.used.take().unwrap_or_default() {
            let finding = Finding::new(&QUOTA_USAGE).name(self.name.as_bytes());
            let finding = finding.expected(format!("{} inodes", used.inodes));
            self.log.own(finding.note(format!("id {id} has no entry")));
        }
    }
}
