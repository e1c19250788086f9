//! One inode of a sweep: judged, and what it names queued.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use ondisk::xfs::dinode::{Format, Inode, flag, mode};
use ondisk::xfs::directory::file_type;
use ondisk::xfs::shortform;

use super::trees::Reader;
use crate::frame::report::FileCounts;
use crate::xfs::directories::{ALL, Directory, Form, Fragmented, seen};
use crate::xfs::inode::core::Subject;
use crate::xfs::inode::extents::Mapping;
use crate::xfs::inode::{Forks, Outcome, judge, symlink};
use crate::xfs::named::{self, NamedRun, Use};
use crate::xfs::quota::{Amount, counted};
use crate::xfs::sink::Sink;
use crate::xfs::types::kind;
use crate::xfs::volume::Volume;
use crate::xfs::worker::Worker;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    ATTR_ROOT_HOLE, DIR_BEYOND, DIR_BLOCK_MISSING, DIR_SHAPE, DIR_SIZE_BLOCKS, FILE_CUT,
    FILE_SIZE_EXTENT, INODE_CLEAR_RBM, INODE_CLEAR_RSUM, LINK_HOLE,
};

/// Blocks that a thread queues before it shares them.
const SHARED_AT: usize = 4096;

/// Judges inodes on behalf of one thread.
pub(super) struct Judge<'a, 'v> {
    pub(super) volume: &'a Volume<'v>,
    pub(super) worker: Worker<'a>,
    forks: Forks,
    counts: FileCounts,
    /// Ranks of inodes whose forks are btrees.
    deferred: Vec<u64>,
    /// Which kinds of quota were counted.
    quotas: [bool; 3],
    /// Inodes with one link: rank of the first of a word, and a bit for each.
    ones: (u64, u64),
}

impl<'a, 'v> Judge<'a, 'v> {
    pub(super) fn new(volume: &'a Volume<'v>, worker: Worker<'a>) -> Self {
        Judge {
            volume,
            worker,
            forks: Forks::default(),
            counts: FileCounts::default(),
            deferred: Vec::new(),
            quotas: counted(volume.sb.sb_qflags.get()),
            ones: (0, 0),
        }
    }

    /// Judges inodes with consecutive ranks.
    pub(super) fn inodes<'b>(&mut self, first: u64, list: impl Iterator<Item = &'b [u8]>) {
        let geo = &self.volume.geo;
        let mut known = None;
        for (rank, bytes) in (first..).zip(list) {
            if rank % 64 == 0 || known.is_none() {
                // A hole is one piece, however long it is.
                if self.volume.progress.cancelled() {
                    return;
                }
                known = self.worker.state.chunks.chunk(rank);
            }
            let Some((ag, chunk, _)) = known else { return };
            // The extents of one piece may be those of a whole filesystem. The sweep asks again, and ends.
            if self.volume.guard.is_full() {
                return;
            }
            let index = (rank % 64) as u32;
            let subject = Subject {
                ino: geo.ino(ag, chunk.start.saturating_add(index)),
                inode: Inode::new(geo, bytes),
                free: chunk.free >> index & 1 == 1,
            };
            self.inode(rank, &subject, None);
        }
    }

    /// Judges an inode. Without a reader of blocks, one whose fork is a btree is put off.
    pub(super) fn inode(&mut self, rank: u64, it: &Subject<'_>, reader: Option<&mut Reader<'_>>) {
        let rules = self.worker.rules;
        match judge(rules, it, &mut self.forks, reader, &mut self.worker) {
            Outcome::Deferred => self.deferred.push(rank),
            Outcome::Free => self.settle(rank, kind::FREE),
            Outcome::Cleared => {
                self.settle(rank, kind::CLEARED);
                self.lost(it);
            }
            Outcome::InUse { attributes } if !self.worker.claims_only => {
                self.in_use(rank, it, attributes);
            }
            Outcome::InUse { .. } => {}
        }
    }

    /// Notes what an inode is. A name in an inode that was met before may disagree.
    fn settle(&mut self, rank: u64, kind: u8) {
        if self.worker.claims_only {
            return;
        }
        let noted = self.worker.state.types.set(rank, kind);
        if noted != 0 && noted != kind {
            self.worker.gathered.questions.push(ALL);
        }
    }

    /// An inode that the superblock names would be cleared.
    fn lost(&mut self, it: &Subject<'_>) {
        let rules = self.worker.rules;
        if it.ino == rules.rbm {
            self.worker.find(it.about(&INODE_CLEAR_RBM));
        } else if it.ino == rules.rsum {
            self.worker.find(it.about(&INODE_CLEAR_RSUM));
        }
    }

    fn in_use(&mut self, rank: u64, it: &Subject<'_>, attributes: bool) {
        let (rules, inode) = (self.worker.rules, &it.inode);
        let kind = file_type::of_mode(inode.mode());
        let mut cleared = false;
        match inode.file_type() {
            mode::DIRECTORY => cleared = !self.directory(rank, it),
            mode::SYMLINK if inode.format() != Format::Local as u8 => self.target(rank, it),
            mode::REGULAR if rules.is_quota(it.ino) => {
                queue(&mut self.worker, Use::Quota, rank, &self.forks.data);
            }
            mode::REGULAR => self.end_of_file(it),
            _ => {}
        }
        if attributes && inode.aformat() != Format::Local as u8 {
            self.attributes(rank, it);
        }
        if cleared {
            self.settle(rank, kind::CLEARED);
            return;
        }
        self.settle(rank, kind);
        self.past_the_end(it);
        self.links(rank, it);
        self.usage(it);
        self.counts.inodes += 1;
        let counts = &mut self.counts;
        let several = self.forks.data.count > 1;
        let (count, fragmented) = match inode.file_type() {
            mode::DIRECTORY => (
                &mut counts.directories,
                Some(&mut counts.fragmented_directories),
            ),
            mode::REGULAR => (&mut counts.regular, Some(&mut counts.fragmented_files)),
            mode::SYMLINK => (&mut counts.symlinks, None),
            mode::CHAR => (&mut counts.char_devices, None),
            mode::BLOCK => (&mut counts.block_devices, None),
            mode::FIFO => (&mut counts.fifos, None),
            _ => (&mut counts.sockets, None),
        };
        *count += 1;
        if let Some(fragmented) = fragmented {
            *fragmented += u64::from(several);
        }
        if self.worker.named.len() >= SHARED_AT {
            self.worker.hand_over();
        }
    }

    /// Links as the inode has them. Of directories the table of directories has them; here they have the one name that leads to them.
    fn links(&mut self, rank: u64, it: &Subject<'_>) {
        let rules = self.worker.rules;
        let links = match it.inode.file_type() {
            mode::DIRECTORY => u32::from(it.ino != rules.root),
            _ => it.inode.nlink(),
        };
        if links == 1 {
            // Nearly all have one link: they are shared by the word.
            let first = rank - rank % 64;
            if self.ones.0 != first {
                self.share_ones();
                self.ones.0 = first;
            }
            self.ones.1 |= 1 << (rank % 64);
        } else {
            self.worker.state.links.set(rank, links);
        }
        if rules.is_internal(it.ino) {
            self.worker.count(rank);
        }
    }

    /// Shares the inodes with one link.
    fn share_ones(&mut self) {
        let (first, bits) = std::mem::take(&mut self.ones);
        if bits != 0 {
            self.worker.state.links.set_ones(first, bits);
        }
    }

    /// What the owners of an inode use. Quota files are not counted.
    fn usage(&mut self, it: &Subject<'_>) {
        if self.quotas == [false; 3] || self.worker.rules.is_quota(it.ino) {
            return;
        }
        let inode = &it.inode;
        let realtime = if inode.is_realtime() {
            self.forks.data.blocks
        } else {
            0
        };
        let amount = Amount {
            blocks: inode.nblocks().saturating_sub(realtime),
            realtime,
            inodes: 1,
        };
        let owners = [inode.uid(), inode.gid(), inode.projid()];
        for (kind, id) in owners.into_iter().enumerate() {
            if self.quotas[kind] {
                self.worker.gathered.usage.add(kind as u8, id, amount);
            }
        }
    }

    /// Blocks that the image or device has not.
    fn past_the_end(&mut self, it: &Subject<'_>) {
        let blocks = self.forks.data.cut + self.forks.attr.cut;
        if blocks > 0 {
            let size = self.volume.block_size() as u64;
            self.worker.own(it.about(&FILE_CUT).cut(blocks, size));
        }
    }

    /// Blocks far beyond the end of a file that no flag explains.
    fn end_of_file(&mut self, it: &Subject<'_>) {
        let inode = &it.inode;
        // The kernel leaves what it allocated ahead to files that only grow (xfs_can_free_eofblocks).
        let explained = flag::PREALLOC | flag::APPEND | flag::EXTSIZE | flag::REALTIME;
        if self.forks.data.end == 0 || inode.flags() & explained != 0 {
            return;
        }
        let blocks = inode.size().div_ceil(self.volume.geo.block_size.into());
        if self.forks.data.end > blocks {
            let finding = it.about(&FILE_SIZE_EXTENT).found(inode.size());
            let end = format!("blocks up to {}", self.forks.data.end);
            self.worker.own(finding.note(end));
        }
    }

    /// Queues the blocks of a directory. False where no form fits what it maps: `xfs_repair` would clear it.
    fn directory(&mut self, rank: u64, it: &Subject<'_>) -> bool {
        let rules = self.worker.rules;
        let links = it.inode.nlink();
        if it.inode.format() == Format::Local as u8 {
            let list = shortform::Directory::new(rules.geometry.ftype, it.inode.data_fork());
            let directory = Directory::new(rank, links, Form::Local, 0);
            directory.parent.store(list.parent(), Relaxed);
            directory.note(seen::DOT | seen::DOTDOT);
            self.worker.gathered.directories.push(directory);
            return true;
        }
        let mapping = &self.forks.data;
        let (unit, end) = (rules.dir_blocks, mapping.end);
        let form = if end == unit {
            Form::Block
        } else if end >= rules.leaf + unit {
            if end > rules.leaf + unit {
                Form::Node
            } else {
                Form::Leaf
            }
        } else {
            self.worker.find(it.about(&DIR_SHAPE).found(end));
            return false;
        };
        let data_end = mapping
            .extents
            .iter()
            .rev()
            .find(|extent| extent.offset < rules.leaf);
        let data_end = data_end.map_or(0, |extent| extent.end().min(rules.leaf));
        if data_end << rules.geometry.block_log != it.inode.size() {
            let finding = it.about(&DIR_SIZE_BLOCKS).found(it.inode.size());
            let expected = data_end << rules.geometry.block_log;
            self.worker.own(finding.expected(expected));
        }
        if end > rules.free + (rules.free - rules.leaf) {
            self.worker.own(it.about(&DIR_BEYOND).found(end));
        }
        if mapping.block(0).is_none() {
            self.worker.find(it.about(&DIR_BLOCK_MISSING).logical(0));
        }
        let blocks = (data_end >> rules.geometry.dirblk_log) as u32;
        let mut directory = Directory::new(rank, links, form, blocks);
        directory.class = if unit == 1 {
            queue(&mut self.worker, Use::Directory, rank, mapping).class
        } else {
            self.wide_blocks(rank, it)
        };
        self.worker.gathered.directories.push(directory);
        true
    }

    /// Queues directory blocks of several blocks each. The class of the fork.
    fn wide_blocks(&mut self, rank: u64, it: &Subject<'_>) -> u8 {
        let unit = self.worker.rules.dir_blocks;
        let (admitted, fork) = admit(&self.worker, Use::Directory, rank, &self.forks.data);
        if !admitted {
            return fork.class;
        }
        let mut next = 0;
        for extent in &self.forks.data.extents {
            let mut offset = extent.offset.max(next);
            offset -= offset % unit;
            while offset < extent.end() {
                next = offset + unit;
                let parts: Vec<u64> = (offset..next)
                    .filter_map(|at| self.forks.data.block(at))
                    .collect();
                let joined = parts.windows(2).all(|pair| pair[0] + 1 == pair[1]);
                if parts.len() as u64 != unit {
                    let finding = it.about(&DIR_BLOCK_MISSING).logical(offset);
                    self.worker.log.add(finding);
                } else if joined {
                    let block = NamedRun::new(fork, parts[0], offset, 1);
                    self.worker.named.extend(block);
                } else {
                    self.worker.gathered.fragmented.push(Fragmented {
                        rank,
                        offset,
                        blocks: parts,
                    });
                }
                offset = next;
            }
        }
        fork.class
    }

    /// Queues the blocks of an attribute fork.
    fn attributes(&mut self, rank: u64, it: &Subject<'_>) {
        let mapping = &self.forks.attr;
        if mapping.count > 0 && mapping.block(0).is_none() {
            self.worker.find(it.about(&ATTR_ROOT_HOLE));
        }
        queue(&mut self.worker, Use::Attribute, rank, mapping);
    }

    /// Queues the target of a symbolic link.
    fn target(&mut self, rank: u64, it: &Subject<'_>) {
        let geo = &self.volume.geo;
        match symlink::parts(geo, &self.forks.data.extents, it.inode.size()) {
            None => self.worker.find(it.about(&LINK_HOLE)),
            Some(parts) => {
                let parts = parts.into_iter().map(|part| (rank, part));
                self.worker.gathered.targets.extend(parts);
            }
        }
    }

    /// Shares what was put off.
    pub(super) fn hand_over(&mut self, deferred: &Mutex<Vec<u64>>) {
        if !self.deferred.is_empty() {
            let mut deferred = deferred.lock().unwrap_or_else(PoisonError::into_inner);
            deferred.append(&mut self.deferred);
        }
    }

    /// Shares everything, and gives the findings.
    pub(super) fn finish(mut self, deferred: &Mutex<Vec<u64>>) -> Log {
        self.hand_over(deferred);
        self.share_ones();
        if !self.worker.claims_only {
            self.worker.state.files.add(&self.counts);
        }
        self.worker.finish()
    }
}

/// Asks whether the blocks of a fork are to be listed.
fn admit(worker: &Worker<'_>, what: Use, rank: u64, mapping: &Mapping) -> (bool, named::Fork) {
    let (admitted, class) = worker.state.named.admit(mapping.blocks);
    (admitted, named::Fork { what, rank, class })
}

/// Queues all blocks that a fork maps, where there is room for as many.
fn queue(worker: &mut Worker<'_>, what: Use, rank: u64, mapping: &Mapping) -> named::Fork {
    let (admitted, fork) = admit(worker, what, rank, mapping);
    for extent in mapping.extents.iter().filter(|_| admitted) {
        let mut done = 0;
        while done < extent.count {
            let count = (extent.count - done).min(named::MOST);
            let (block, offset) = (extent.block + done, extent.offset + done);
            let run = NamedRun::new(fork, block, offset, count);
            worker.named.extend(run);
            done += count;
        }
    }
    fork
}
