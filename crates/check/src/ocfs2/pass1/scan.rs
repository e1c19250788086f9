//! Every block of every inode group, in the order in which fsck.ocfs2 scans: allocator by allocator, chain by chain, link by link.
//!
//! fsck.ocfs2 counts what it reads against `i_total` and `c_total` and calls abort(3) where they do not agree. A group that it does not come to for
//! that reason is scanned after it has ended.

use std::collections::{BTreeMap, BTreeSet};

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
pub(super) struct Broken {
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

/// Blocks of a group in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The first block.
    pub(super) first: u64,
    /// Blocks that are read.
    count: u64,
    /// Blocks that are judged: fewer where `i_total` says that there are no more.
    pub(super) visited: u64,
}

impl Run {
    /// The block after the last one that is judged.
    pub(super) fn end(&self) -> u64 {
        self.first.saturating_add(self.visited)
    }
}

/// The runs that fsck.ocfs2 scans of an allocator, in its order.
pub(super) struct Plan {
    pub(super) runs: Vec<Run>,
    /// Why it does not come to the end.
    pub(super) broken: Option<Broken>,
    visited: BTreeSet<u64>,
}

/// Plans the scan of an allocator. What the blocks hold does not change it.
pub(super) fn plan(volume: &Volume<'_>, allocator: &Allocator) -> Plan {
    let mut planner = Planner {
        volume,
        descriptors: allocator
            .groups
            .iter()
            .map(|group| (group.block, &group.bytes))
            .collect(),
        visited: BTreeSet::new(),
        runs: Vec::new(),
        left: 0,
        count: 0,
    };
    let broken = planner.chains(allocator.bytes.as_deref()).err();
    Plan {
        runs: planner.runs,
        broken,
        visited: planner.visited,
    }
}

/// Scans all inode groups, one block after the other.
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
        let plan = plan(volume, allocator);
        let mut broken = plan.broken;
        for run in &plan.runs {
            if !blocks(volume, log, visit, *run)? {
                broken = Some(failed("blocks of a group cannot be read"));
                break;
            }
        }
        if let Some(broken) = broken {
            let finding = Finding::new(&INODE_SCAN).inode(allocator.inode);
            log.end(broken.exit, finding.note(broken.why));
            rest(volume, allocator, plan.visited, log, visit)?;
        }
    }
    Ok(())
}

/// Reads a run of blocks and visits each; `false` where they cannot be read.
fn blocks(volume: &Volume<'_>, log: &mut Log, visit: Visit<'_>, run: Run) -> Result<bool, Failure> {
    let size = volume.block_size();
    let step = (BUFFER / size) as u64;
    let mut at = 0;
    while at < run.count && at < run.visited.max(1) {
        volume.go_on()?;
        let (first, count) = (run.first.wrapping_add(at), step.min(run.count - at));
        let Ok(bytes) = volume.read_run(first, count as usize) else {
            return Ok(false);
        };
        let visited = run.visited.saturating_sub(at) as usize;
        for (nth, block) in (0..).zip(bytes.chunks_exact(size)).take(visited) {
            visit(log, first + nth, block);
        }
        volume.progress.advance(count * size as u64);
        at += count;
    }
    Ok(true)
}

/// The groups that fsck.ocfs2 did not come to.
fn rest(
    volume: &Volume<'_>,
    allocator: &Allocator,
    mut visited: BTreeSet<u64>,
    log: &mut Log,
    visit: Visit<'_>,
) -> Result<(), Failure> {
    for Group { block, bytes } in &allocator.groups {
        if !visited.insert(*block) {
            continue;
        }
        let group: GroupDescriptor = value(GroupDescriptor::read(bytes));
        for (first, count) in runs(volume, bytes, &group, *block) {
            let count = count.min((BUFFER / volume.block_size()) as u64);
            let run = Run {
                first,
                count,
                visited: count,
            };
            blocks(volume, log, visit, run)?;
        }
    }
    Ok(())
}

struct Planner<'a, 'v> {
    volume: &'a Volume<'v>,
    /// Descriptors that pass 0b has read.
    descriptors: BTreeMap<u64, &'a Block>,
    visited: BTreeSet<u64>,
    runs: Vec<Run>,
    /// Blocks of the allocator that are not scanned yet, by `i_total`.
    left: u32,
    /// Blocks of the chain that were scanned.
    count: u32,
}

impl Planner<'_, '_> {
    fn chains(&mut self, inode: Option<&[u8]>) -> Result<(), Broken> {
        let Some(inode) = inode else {
            return Ok(());
        };
        self.left = head(inode).total();
        if self.left == 0 {
            return Ok(());
        }
        let Ok(list) = ChainList::read(from(inode, BODY)) else {
            return Err(failed("its chains cannot be read"));
        };
        let used = list.head().cl_next_free_rec.get();
        if used == 0 {
            return Err(failed("it has bits and no chains"));
        }
        for record in list.first(used.into()) {
            if self.left == 0 {
                return Ok(());
            }
            self.count = 0;
            let total = record.c_total.get();
            let mut next = record.c_blkno.get();
            loop {
                if next == 0 {
                    return Err(abort("a chain has fewer blocks than c_total"));
                }
                if !self.visited.insert(next) {
                    return Err(abort("a chain leads to a group for the second time"));
                }
                next = self.group(next)?;
                if self.left == 0 {
                    return Ok(());
                }
                if self.count > total {
                    return Err(abort("a chain has more blocks than c_total"));
                }
                if self.count == total {
                    break;
                }
            }
        }
        if self.left > 0 {
            return Err(abort("it has fewer blocks than i_total"));
        }
        Ok(())
    }

    /// Plans a group and gives the next of its chain.
    fn group(&mut self, block: u64) -> Result<u64, Broken> {
        let bytes = match self.descriptors.get(&block) {
            Some(bytes) => Block::clone(bytes),
            None => match self.volume.group(block) {
                Ok(bytes) => bytes,
                Err(_) => return Err(failed("a group descriptor cannot be used")),
            },
        };
        let group: GroupDescriptor = value(GroupDescriptor::read(&bytes));
        if group.bg_blkno.get() != block {
            return Err(failed("bg_blkno of a group is wrong"));
        }
        self.count = self.count.wrapping_add(1);
        self.left = self.left.wrapping_sub(1);
        if group.bg_bits.get() < 2 {
            return Err(Broken {
                exit: Exit::Endless,
                why: "bg_bits of a group is 0 or 1",
            });
        }
        for (first, count) in runs(self.volume, &bytes, &group, block) {
            let visited = count.min(self.left.into());
            self.runs.push(Run {
                first,
                count,
                visited,
            });
            if visited < count {
                return Err(abort("it has more blocks than i_total"));
            }
            self.left -= count as u32;
            self.count = self.count.wrapping_add(count as u32);
            if self.left == 0 {
                return Ok(0);
            }
        }
        Ok(group.bg_next_group.get())
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
