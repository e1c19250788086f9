//! Every block of every inode group, in the order in which fsck.ocfs2 scans: allocator by allocator, chain by chain, link by link.
//!
//! fsck.ocfs2 counts what it reads against `i_total` and `c_total` and calls abort(3) where they do not agree. A group that it does not come to for
//! that reason is scanned after it has ended.

use std::collections::BTreeSet;

use ondisk::ocfs2::chain::EXTENTS;
use ondisk::ocfs2::dinode::BODY;
use ondisk::ocfs2::{ChainList, ExtentList, GroupDescriptor};

use super::BUFFER;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::ocfs2::blocks::Block;
use crate::ocfs2::fsck_ocfs2::Exit;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::INODE_SCAN;
use crate::ocfs2::state::{Allocator, Group};
use crate::ocfs2::volume::{Volume, from, head, value};

/// What is done with each block: its number and its bytes.
type Visit<'a> = &'a mut dyn FnMut(&mut Log, u64, &[u8]);

/// Why fsck.ocfs2's scan ends.
struct Broken {
    exit: Exit,
    why: &'static str,
}

const fn abort(why: &'static str) -> Broken {
    Broken {
        exit: Exit::ABORT,
        why,
    }
}

const fn failed(why: &'static str) -> Broken {
    Broken {
        exit: Exit::FAILED,
        why,
    }
}

/// Scans all inode groups.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(crate) fn run(
    volume: &Volume<'_>,
    allocators: &[Allocator],
    log: &mut Log,
    visit: Visit<'_>,
) -> Result<(), Failure> {
    for allocator in allocators {
        let mut scan = Scan {
            volume,
            allocator,
            visited: BTreeSet::new(),
            left: 0,
            count: 0,
        };
        if let Err(broken) = scan.chains(log, visit)? {
            let finding = Finding::new(&INODE_SCAN).inode(allocator.inode);
            log.end(broken.exit, finding.note(broken.why));
            scan.rest(log, visit)?;
        }
    }
    Ok(())
}

struct Scan<'a, 'v> {
    volume: &'a Volume<'v>,
    allocator: &'a Allocator,
    visited: BTreeSet<u64>,
    /// Blocks of the allocator that are not scanned yet, by `i_total`.
    left: u32,
    /// Blocks of the chain that were scanned.
    count: u32,
}

impl Scan<'_, '_> {
    fn chains(&mut self, log: &mut Log, visit: Visit<'_>) -> Result<Result<(), Broken>, Failure> {
        let Some(inode) = self.allocator.bytes.as_deref() else {
            return Ok(Ok(()));
        };
        self.left = head(inode).total();
        if self.left == 0 {
            return Ok(Ok(()));
        }
        let Ok(list) = ChainList::read(from(inode, BODY)) else {
            return Ok(Err(failed("its chains cannot be read")));
        };
        let used = list.head().cl_next_free_rec.get();
        if used == 0 {
            return Ok(Err(failed("it has bits and no chains")));
        }
        for record in list.first(used.into()) {
            if self.left == 0 {
                return Ok(Ok(()));
            }
            self.count = 0;
            let total = record.c_total.get();
            let mut next = record.c_blkno.get();
            loop {
                if next == 0 {
                    return Ok(Err(abort("a chain has fewer blocks than c_total")));
                }
                if !self.visited.insert(next) {
                    return Ok(Err(abort("a chain leads to a group for the second time")));
                }
                match self.group(log, visit, next)? {
                    Ok(after) => next = after,
                    Err(broken) => return Ok(Err(broken)),
                }
                if self.left == 0 {
                    return Ok(Ok(()));
                }
                if self.count > total {
                    return Ok(Err(abort("a chain has more blocks than c_total")));
                }
                if self.count == total {
                    break;
                }
            }
        }
        if self.left > 0 {
            return Ok(Err(abort("it has fewer blocks than i_total")));
        }
        Ok(Ok(()))
    }

    /// Scans a group and gives the next of its chain.
    fn group(
        &mut self,
        log: &mut Log,
        visit: Visit<'_>,
        block: u64,
    ) -> Result<Result<u64, Broken>, Failure> {
        let Ok(bytes) = self.volume.group(block) else {
            return Ok(Err(failed("a group descriptor cannot be used")));
        };
        let group: GroupDescriptor = value(GroupDescriptor::read(&bytes));
        if group.bg_blkno.get() != block {
            return Ok(Err(failed("bg_blkno of a group is wrong")));
        }
        self.count = self.count.wrapping_add(1);
        self.left = self.left.wrapping_sub(1);
        let bits = group.bg_bits.get();
        if bits < 2 {
            return Ok(Err(Broken {
                exit: Exit::Endless,
                why: "bg_bits of a group is 0 or 1",
            }));
        }
        for (first, count) in runs(self.volume, &bytes, &group, block) {
            let mut at = 0;
            while at < count {
                let step = (BUFFER / self.volume.block_size()) as u64;
                let part = step.min(count - at) as usize;
                if !self.blocks(log, visit, first.wrapping_add(at), part)? {
                    return Ok(Err(failed("blocks of a group cannot be read")));
                }
                at += part as u64;
                let part = part as u32;
                if self.left < part {
                    return Ok(Err(abort("it has more blocks than i_total")));
                }
                self.left -= part;
                self.count = self.count.wrapping_add(part);
                if self.left == 0 {
                    return Ok(Ok(0));
                }
            }
        }
        Ok(Ok(group.bg_next_group.get()))
    }

    /// Reads a run of blocks and visits each; `false` where they cannot be read.
    fn blocks(
        &mut self,
        log: &mut Log,
        visit: Visit<'_>,
        first: u64,
        count: usize,
    ) -> Result<bool, Failure> {
        self.volume.guard.hold()?;
        if self.volume.progress.cancelled() {
            return Err(Failure::Stopped);
        }
        let size = self.volume.block_size();
        let Ok(bytes) = self.volume.read_run(first, count) else {
            return Ok(false);
        };
        let most = count.min(self.left as usize);
        for (at, block) in (0..).zip(bytes.chunks_exact(size)).take(most) {
            visit(log, first + at, block);
        }
        self.volume.progress.advance((count * size) as u64);
        Ok(true)
    }

    /// The groups that fsck.ocfs2 did not come to.
    fn rest(&mut self, log: &mut Log, visit: Visit<'_>) -> Result<(), Failure> {
        self.left = u32::MAX;
        let groups: Vec<Group> = self.allocator.groups.clone();
        for Group { block, bytes } in groups {
            if !self.visited.insert(block) {
                continue;
            }
            let group: GroupDescriptor = value(GroupDescriptor::read(&bytes));
            for (first, count) in runs(self.volume, &bytes, &group, block) {
                let count = count.min((BUFFER / self.volume.block_size()) as u64);
                self.blocks(log, visit, first, count as usize)?;
            }
        }
        Ok(())
    }
}

/// The blocks of a group after its descriptor, in runs: first block and number. The scan of fsck.ocfs2 takes a group for discontiguous if
/// its list has records, whatever `bg_size` is.
fn runs(
    volume: &Volume<'_>,
    bytes: &Block,
    group: &GroupDescriptor,
    block: u64,
) -> Vec<(u64, u64)> {
    let bits = u64::from(group.bg_bits.get());
    let whole = vec![(block + 1, bits.saturating_sub(1))];
    let Ok(list) = ExtentList::read(from(bytes, EXTENTS)) else {
        return whole;
    };
    if list.head().l_next_free_rec.get() == 0 {
        return whole;
    }
    let mut runs = Vec::new();
    let mut left = bits;
    for record in list.used() {
        let length = volume
            .layout
            .block_of(record.leaf_clusters().into())
            .min(left);
        left -= length;
        runs.push((record.e_blkno.get(), length));
    }
    if let Some(first) = runs.first_mut() {
        *first = (block + 1, first.1.saturating_sub(1));
    }
    runs
}
