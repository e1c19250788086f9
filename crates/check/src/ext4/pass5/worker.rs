//! What one thread of pass 5 does with a bitmap, and what it keeps of it.

use blockio::ReadError;
use ondisk::ext4::bitmap;
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, INODE_UNINIT};

use super::compare::{Difference, Run, compare};
use super::marks::Marks;
use super::{Context, Kind, Stage};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P5_BLOCK_BITMAP_CSUM_INVALID, P5_BLOCK_RANGE_UNUSED, P5_BLOCK_RANGE_USED, P5_BLOCK_UNINIT,
    P5_BLOCK_UNUSED, P5_BLOCK_USED, P5_FREE_BLOCK_COUNT_GROUP, P5_FREE_DIR_COUNT_GROUP,
    P5_FREE_INODE_COUNT_GROUP, P5_FUDGE_BITMAP_ERROR, P5_INODE_BITMAP_CSUM_INVALID,
    P5_INODE_RANGE_UNUSED, P5_INODE_RANGE_USED, P5_INODE_UNINIT, P5_INODE_UNUSED, P5_INODE_USED,
};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// What is known of all bitmaps of a kind that came to this thread.
#[derive(Debug, Default)]
pub(super) struct Side {
    /// Bits clear on disk.
    pub free: u64,
    /// Bits that differ.
    pub differences: u64,
    /// Where the first difference comes in the order of the pass.
    pub first_difference: Option<u64>,
    /// Bitmaps that could not be read.
    pub unjudged: u64,
    /// Bitmaps whose padding is not set, and the group of the first.
    pub unpadded: u64,
    pub first_unpadded: Option<u32>,
    pub wrong_checksums: u64,
    /// Runs of differences that touch a border of their group, by block or inode.
    borders: Vec<Border>,
}

#[derive(Clone, Copy, Debug)]
struct Border {
    first: u64,
    last: u64,
    group: u32,
    difference: Difference,
}

impl Side {
    fn join(&mut self, other: Side) {
        self.free += other.free;
        self.differences += other.differences;
        self.first_difference = least(self.first_difference, other.first_difference);
        self.unjudged += other.unjudged;
        self.unpadded += other.unpadded;
        self.first_unpadded = least(self.first_unpadded, other.first_unpadded);
        self.wrong_checksums += other.wrong_checksums;
        self.borders.extend(other.borders);
    }
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// One thread.
pub(super) struct Worker<'a> {
    pub context: &'a Context<'a>,
    pub log: Log,
    pub blocks: Side,
    pub inodes: Side,
    /// The bitmap as it is compared.
    buffer: Vec<u8>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(context: &'a Context<'a>, log: Log) -> Worker<'a> {
        Worker {
            context,
            log,
            blocks: Side::default(),
            inodes: Side::default(),
            buffer: Vec::new(),
        }
    }

    pub(super) fn join(&mut self, other: Worker<'_>) {
        self.log.merge(other.log);
        self.blocks.join(other.blocks);
        self.inodes.join(other.inodes);
    }

    pub(super) fn block_size(&self) -> usize {
        self.context.volume.block_size()
    }

    fn side(&mut self, kind: Kind) -> &mut Side {
        match kind {
            Kind::Blocks => &mut self.blocks,
            Kind::Inodes => &mut self.inodes,
        }
    }

    /// e2fsck cannot go on without all bitmaps.
    pub(super) fn unreadable(&mut self, kind: Kind, group: u32, error: &ReadError) {
        self.side(kind).unjudged += 1;
        let what = match kind {
            Kind::Blocks => "block",
            Kind::Inodes => "inode",
        };
        let note = format!("the {what} bitmap is not judged, nor are its counts: {error}");
        self.log.add(
            Finding::new(&P5_FUDGE_BITMAP_ERROR)
                .group(group)
                .order(Stage::Reading.order(group.into()))
                .note(note),
        );
    }

    /// A bitmap as it was read; none for one that was never written, or lies nowhere.
    pub(super) fn bitmap(&mut self, kind: Kind, group: u32, read: Option<&[u8]>) {
        let block_size = self.block_size();
        // The rest of a block that the source ends in comes as a failure.
        if read.is_some_and(|bytes| bytes.len() < block_size) {
            return;
        }
        self.buffer.clear();
        match read {
            Some(bytes) => self.buffer.extend_from_slice(&bytes[..block_size]),
            None => self.buffer.resize(block_size, 0),
        }
        match kind {
            Kind::Blocks => self.block_bitmap(group, read.is_some()),
            Kind::Inodes => self.inode_bitmap(group, read.is_some()),
        }
    }

    fn block_bitmap(&mut self, group: u32, read: bool) {
        let context = self.context;
        let volume = context.volume;
        let geometry = &volume.geometry;
        let Some(descriptor) = volume.descriptors.get(group as usize) else {
            return;
        };
        let mut bytes = std::mem::take(&mut self.buffer);
        context.marks.set(volume, group, &mut bytes);
        let bits = geometry.group_clusters(group);
        if context.forgotten == Some(group) {
            self.forgotten(group, bits);
        }
        self.padding(
            Kind::Blocks,
            group,
            &bytes,
            bits,
            geometry.clusters_per_group,
            read,
        );
        if let Some(seed) = volume.seed
            && context.flags(group) & BLOCK_UNINIT == 0
            && let Ok(sum) = bitmap::block_checksum(seed, geometry, descriptor, &bytes)
            && !sum.matches()
        {
            self.blocks.wrong_checksums += 1;
            let finding = checksum(&P5_BLOCK_BITMAP_CSUM_INVALID, sum)
                .group(group)
                .order(Stage::BlockChecksums.order(u64::from(group) + 1));
            self.log.add(context.as_seen(Kind::Blocks, finding));
        }
        let start = u64::from(group) * u64::from(geometry.clusters_per_group);
        let uninit = context.flags(group) & BLOCK_UNINIT != 0;
        let mut warned = !uninit;
        let compared = compare(&bytes, bits, &context.state.blocks, start, |run| {
            if run.difference == Difference::Used && !std::mem::replace(&mut warned, true) {
                self.uninit(Kind::Blocks, group, run);
            }
            self.run(Kind::Blocks, group, run, bits);
        });
        self.buffer = bytes;
        self.blocks.free += u64::from(compared.free);
        self.blocks.differences += u64::from(compared.differences);
        if compared.free != descriptor.free_blocks() {
            self.log.add(
                Finding::new(&P5_FREE_BLOCK_COUNT_GROUP)
                    .group(group)
                    .order(Stage::BlockCounts.order(group.into()))
                    .found(descriptor.free_blocks())
                    .expected(compared.free),
            );
        }
    }

    fn inode_bitmap(&mut self, group: u32, read: bool) {
        let context = self.context;
        let volume = context.volume;
        let geometry = &volume.geometry;
        let Some(descriptor) = volume.descriptors.get(group as usize) else {
            return;
        };
        let mut bytes = std::mem::take(&mut self.buffer);
        let bits = geometry.inodes_per_group;
        self.padding(Kind::Inodes, group, &bytes, bits, bits, read);
        let block = bytes.len();
        if bits as usize > block * 8 {
            // Up to seven inodes have no bit, and count as free.
            bytes.resize(bits.div_ceil(64) as usize * 8, 0);
        }
        let uninit = context.uninit && context.flags(group) & INODE_UNINIT != 0;
        if let Some(seed) = volume.seed
            && !uninit
            && let Ok(sum) = bitmap::inode_checksum(seed, geometry, descriptor, &bytes)
            && !sum.matches()
        {
            self.inodes.wrong_checksums += 1;
            self.log.add(
                checksum(&P5_INODE_BITMAP_CSUM_INVALID, sum)
                    .group(group)
                    .order(Stage::InodeChecksums.order(u64::from(group) + 1)),
            );
        }
        if uninit {
            // Whatever is there: by the descriptor no inode was ever in use.
            bytes.fill(0);
        }
        let start = u64::from(group) * u64::from(bits);
        let mut warned = !uninit;
        let compared = compare(&bytes, bits, &context.state.used, start, |run| {
            if run.difference == Difference::Used && !std::mem::replace(&mut warned, true) {
                self.uninit(Kind::Inodes, group, run);
            }
            self.run(Kind::Inodes, group, run, bits);
        });
        self.inodes.free += u64::from(compared.free);
        self.inodes.differences += u64::from(compared.differences);
        let counts: [(&'static Problem, u32, u32); 2] = [
            (
                &P5_FREE_INODE_COUNT_GROUP,
                descriptor.free_inodes(),
                compared.free,
            ),
            (
                &P5_FREE_DIR_COUNT_GROUP,
                descriptor.used_dirs(),
                directories(context, group, &bytes),
            ),
        ];
        bytes.truncate(block);
        self.buffer = bytes;
        for (problem, found, expected) in counts {
            if found != expected {
                self.log.add(
                    Finding::new(problem)
                        .group(group)
                        .order(Stage::InodeCounts.order(group.into()))
                        .found(found)
                        .expected(expected),
                );
            }
        }
    }

    /// Bits after the last valid one must be set: in the map up to the end of a full group, and in what was read up to the end of
    /// the block.
    fn padding(&mut self, kind: Kind, group: u32, bytes: &[u8], bits: u32, full: u32, read: bool) {
        let set = |bit: u32| bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 1;
        let short = (bits..full).any(|bit| !set(bit));
        let tail = read
            && bytes[(full / 8) as usize..]
                .iter()
                .any(|byte| *byte != 0xff);
        if short || tail {
            let side = self.side(kind);
            side.unpadded += 1;
            side.first_unpadded = least(side.first_unpadded, Some(group));
        }
    }

    /// The inode, block, or first block of a cluster, of a bit.
    fn number(&self, kind: Kind, group: u32, bit: u32) -> u64 {
        let geometry = &self.context.volume.geometry;
        match kind {
            Kind::Blocks => {
                geometry.group_first_block(group)
                    + u64::from(bit) * u64::from(geometry.cluster_blocks)
            }
            Kind::Inodes => {
                u64::from(group) * u64::from(geometry.inodes_per_group) + u64::from(bit) + 1
            }
        }
    }

    /// A group that is marked as never written has something in use. e2fsck reports it for each block; once is enough here.
    fn uninit(&mut self, kind: Kind, group: u32, run: Run) {
        let number = self.number(kind, group, run.first);
        let finding = match kind {
            Kind::Blocks => Finding::new(&P5_BLOCK_UNINIT)
                .block(number)
                .order(Stage::Blocks.order(number * 2)),
            Kind::Inodes => Finding::new(&P5_INODE_UNINIT)
                .inode(number as u32)
                .order(Stage::Inodes.order(number * 2)),
        };
        self.log.add(finding.group(group));
    }

    /// The same for the group whose flag the reference has dropped, and which it does not report.
    fn forgotten(&mut self, group: u32, bits: u32) {
        let volume = self.context.volume;
        let mut bytes = vec![0; self.block_size()];
        Marks::of(volume, None).set(volume, group, &mut bytes);
        let start = u64::from(group) * u64::from(volume.geometry.clusters_per_group);
        let mut first = None;
        compare(&bytes, bits, &self.context.state.blocks, start, |run| {
            if run.difference == Difference::Used {
                first.get_or_insert(run.first);
            }
        });
        let Some(first) = first else { return };
        let number = self.number(Kind::Blocks, group, first);
        let finding = Finding::new(&P5_BLOCK_UNINIT).block(number).group(group);
        let note = "e2fsck sets a block of this group aside for a new lost+found, and then takes its bitmap for written";
        let finding = finding.order(Stage::Blocks.order(number * 2)).note(note);
        self.log.add(finding.beyond_reference());
    }

    fn run(&mut self, kind: Kind, group: u32, run: Run, bits: u32) {
        let (first, last) = (
            self.number(kind, group, run.first),
            self.number(kind, group, run.last),
        );
        if run.first == 0 || run.last + 1 == bits {
            let border = Border {
                first,
                last,
                group,
                difference: run.difference,
            };
            self.side(kind).borders.push(border);
        } else {
            self.report(kind, group, first, last, run.difference);
        }
    }

    /// Joins runs across the borders of groups, and reports them.
    pub(super) fn borders(&mut self) {
        let cluster = u64::from(self.context.volume.geometry.cluster_blocks);
        for (kind, step) in [(Kind::Blocks, cluster), (Kind::Inodes, 1)] {
            let mut borders = std::mem::take(&mut self.side(kind).borders);
            borders.sort_unstable_by_key(|border| border.first);
            borders.dedup_by(|next, last| {
                let goes_on = last.last + step == next.first && last.difference == next.difference;
                if goes_on {
                    last.last = next.last;
                }
                goes_on
            });
            for border in borders {
                self.report(
                    kind,
                    border.group,
                    border.first,
                    border.last,
                    border.difference,
                );
            }
        }
    }

    fn report(&mut self, kind: Kind, group: u32, first: u64, last: u64, difference: Difference) {
        let problem: &'static Problem = match (kind, difference, first == last) {
            (Kind::Blocks, Difference::Unused, true) => &P5_BLOCK_UNUSED,
            (Kind::Blocks, Difference::Used, true) => &P5_BLOCK_USED,
            (Kind::Blocks, Difference::Unused, false) => &P5_BLOCK_RANGE_UNUSED,
            (Kind::Blocks, Difference::Used, false) => &P5_BLOCK_RANGE_USED,
            (Kind::Inodes, Difference::Unused, true) => &P5_INODE_UNUSED,
            (Kind::Inodes, Difference::Used, true) => &P5_INODE_USED,
            (Kind::Inodes, Difference::Unused, false) => &P5_INODE_RANGE_UNUSED,
            (Kind::Inodes, Difference::Used, false) => &P5_INODE_RANGE_USED,
        };
        let (found, expected) = match difference {
            Difference::Unused => ("in use", "free"),
            Difference::Used => ("free", "in use"),
        };
        let at = first * 2 + 1;
        let finding = match kind {
            Kind::Blocks => Finding::new(problem)
                .block(first)
                .order(Stage::Blocks.order(at)),
            Kind::Inodes => Finding::new(problem)
                .inode(first as u32)
                .order(Stage::Inodes.order(at)),
        };
        let finding = finding.group(group).found(found).expected(expected);
        self.log.add(if first == last {
            finding
        } else {
            finding.note(format!("{first}-{last}"))
        });
        let side = self.side(kind);
        side.first_difference = least(side.first_difference, Some(at));
    }
}

fn checksum(problem: &'static Problem, sum: ondisk::ext4::Checksum) -> Finding {
    Finding::new(problem)
        .found(format!("{:#010x}", sum.stored))
        .expected(format!("{:#010x}", sum.computed))
}

/// Directories of a group that its bitmap knows.
fn directories(context: &Context<'_>, group: u32, bytes: &[u8]) -> u32 {
    let per_group = u64::from(context.volume.geometry.inodes_per_group);
    let start = u64::from(group) * per_group;
    let list = &context.state.directories.list;
    let first = list.partition_point(|dir| u64::from(dir.inode) <= start);
    list[first..]
        .iter()
        .map(|dir| u64::from(dir.inode) - 1 - start)
        .take_while(|bit| *bit < per_group)
        .filter(|bit| bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 1)
        .count() as u32
}
