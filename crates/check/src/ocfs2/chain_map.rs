//! The metadata of a volume along the chains of its allocators, for the read strategies of [`crate::strategy`].
//!
//! This is the format of the experiments themselves. Descriptors name their successors, so a chain is known only as far as it was read; the
//! groups of inodes are scanned in the order of the chains, as fsck.ocfs2 scans them; and pass 1 ends with the descriptors of the global bitmap,
//! which fsck.ocfs2 reads anew to compare them with the clusters in use.
//!
//! Pass 2 reads the inode of each directory once more, the blocks of those that have any, and their indexes.

mod inode;

use std::collections::BTreeMap;
use std::ops::Range;

use blockio::BlockSource;
use ondisk::ocfs2::check::{self, Judged};
use ondisk::ocfs2::dinode::BODY;
use ondisk::ocfs2::{ChainList, ExtentRecord, GroupDescriptor, Volume as Layout, chain, system};
use progress::Silent;

use super::fsck_ocfs2::log::Log;
use super::volume::{Volume, from, signed};
use super::{lookup, open};
use crate::frame::options::Options;
use crate::strategy::{Blocks, Error, InodeCount, MetadataMap, Step, Table, Verified};

/// Offset of the checksum in a group descriptor.
const CHECK: usize = 0x30;

/// An allocator, as its inode describes it.
struct Allocator {
    /// Block of the inode.
    inode: u64,
    /// Block of the first descriptor of each chain.
    heads: Vec<u64>,
    /// Number of groups, by its clusters.
    groups: u64,
}

/// A descriptor in its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    place: Place,
    block: u64,
}

/// Where a group is in the order of a scan: allocator, chain, links before it.
type Place = (u16, u16, u32);

/// What is known before the clock starts: the superblock and the inodes of the allocators.
pub struct ChainMap {
    layout: Layout,
    generation: u32,
    has_checksums: bool,
    /// The global bitmap; the allocators of inodes; those of extent blocks.
    allocators: [Vec<Allocator>; 3],
    /// Blocks of the groups that were verified, descriptor included; of the global bitmap the descriptor alone.
    groups: [BTreeMap<Place, Vec<Range<u64>>>; 3],
}

impl ChainMap {
    /// Reads the superblock and the allocators' inodes.
    ///
    /// # Errors
    /// They cannot be read, or are not usable.
    pub fn of(source: &dyn BlockSource) -> Result<ChainMap, Error> {
        let format = |why: String| Error::Format {
            name: source.name().to_string(),
            why,
        };
        let mut log = Log::new(1);
        let opened = open::open(source, &Options::default(), &Silent, &mut log);
        let volume = opened
            .filter(|_| !log.has_ended())
            .ok_or_else(|| format("no usable OCFS2 superblock".to_owned()))?;
        let allocator = |name: String| {
            Allocator::named(&volume, &name).map_err(|why| format(format!("{name}: {why}")))
        };
        let of_slots =
            |name: &'static str| (0..volume.slots()).map(move |slot| system::slot_file(name, slot));
        let inodes = std::iter::once("global_inode_alloc".to_owned());
        let inodes = inodes.chain(of_slots("inode_alloc"));
        Ok(ChainMap {
            layout: volume.layout,
            generation: volume.generation(),
            has_checksums: volume.has_checksums(),
            allocators: [
                vec![allocator("global_bitmap".to_owned())?],
                inodes.map(allocator).collect::<Result<_, _>>()?,
                of_slots("extent_alloc")
                    .map(allocator)
                    .collect::<Result<_, _>>()?,
            ],
            groups: Default::default(),
        })
    }

    /// Whether a block's checksum is right, or not there to be wrong.
    fn checksum(&self, block: &[u8], offset: usize) -> bool {
        if !self.has_checksums {
            return true;
        }
        let judged = check::validate(&mut block.to_vec(), offset);
        matches!(judged, Ok(Judged::Sound | Judged::Corrected))
    }

    /// The blocks of a group: one run, or several; none where it would leave the volume.
    fn group_of(&self, at: usize, descriptor: &GroupDescriptor, block: &[u8]) -> Vec<Range<u64>> {
        let own = descriptor.bg_blkno.get();
        let runs: Vec<Range<u64>> = match descriptor.extents(block) {
            _ if at == CLUSTERS => std::iter::once(own..own.saturating_add(1)).collect(),
            None => {
                let bits = u64::from(descriptor.bg_bits.get());
                std::iter::once(own..own.saturating_add(bits)).collect()
            }
            Some(extents) => {
                let run = |record: &ExtentRecord| {
                    let first = record.e_blkno.get();
                    let blocks = self.layout.block_of(record.leaf_clusters().into());
                    first..first.saturating_add(blocks)
                };
                extents.used().map(run).collect()
            }
        };
        let inside = |run: &Range<u64>| run.end <= self.layout.blocks();
        runs.into_iter().filter(inside).collect()
    }
}

impl Allocator {
    fn named(volume: &Volume<'_>, name: &str) -> Result<Allocator, &'static str> {
        let words = |refused: super::refused::Refused| refused.words();
        let number = lookup::system(volume, name).map_err(words)?;
        let inode = volume.inode(number).map_err(words)?;
        let list = ChainList::read(from(&inode, BODY)).map_err(|_| "it has no chains")?;
        let head = list.head();
        let used = list.first(head.cl_next_free_rec.get().into());
        let clusters = super::volume::head(&inode).i_clusters.get();
        Ok(Allocator {
            inode: number,
            heads: used
                .map(|record| record.c_blkno.get())
                .filter(|block| *block != 0)
                .collect(),
            groups: match head.cl_cpg.get() {
                0 => 0,
                per_group => u64::from(clusters).div_ceil(per_group.into()),
            },
        })
    }
}

const CLUSTERS: usize = 0;
const INODES: usize = 1;

/// Where the allocators of a step are.
const fn index(step: Step) -> usize {
    match step {
        Step::Clusters => CLUSTERS,
        Step::Extents => 2,
        _ => INODES,
    }
}

impl MetadataMap for ChainMap {
    type Link = Link;

    fn steps(&self) -> &'static [Step] {
        &[
            Step::Clusters,
            Step::Inodes,
            Step::Extents,
            Step::Scan,
            Step::Directories,
        ]
    }

    fn block_size(&self) -> u32 {
        1 << self.layout.block_bits
    }

    fn descriptors(&self, step: Step) -> u64 {
        let allocators = self.allocators[index(step)].iter();
        allocators.map(|allocator| allocator.groups).sum()
    }

    fn heads(&self, step: Step, _: u32) -> Vec<Link> {
        let allocators = (0..).zip(&self.allocators[index(step)]);
        let of = |(number, allocator): (u16, &Allocator)| {
            let chains = (0..).zip(allocator.heads.clone());
            chains.map(move |(chain, block)| Link {
                place: (number, chain, 0),
                block,
            })
        };
        allocators.flat_map(of).collect()
    }

    fn block(&self, _: Step, link: Link) -> u64 {
        link.block
    }

    fn next(&self, _: Step, link: Link, bytes: Option<&[u8]>) -> Option<Link> {
        let descriptor = GroupDescriptor::read(bytes?).ok()?;
        let (allocator, chain, depth) = link.place;
        let next = descriptor.bg_next_group.get();
        (next != 0 && next < self.layout.blocks()).then_some(Link {
            place: (allocator, chain, depth + 1),
            block: next,
        })
    }

    fn verify(&mut self, step: Step, link: Link, bytes: Option<&[u8]>) -> Verified {
        let at = index(step);
        let (allocator, chain, _) = link.place;
        let parent = self.allocators[at].get(usize::from(allocator));
        let descriptor = bytes.and_then(|bytes| Some((bytes, GroupDescriptor::read(bytes).ok()?)));
        let sound = descriptor.filter(|(bytes, descriptor)| {
            signed(bytes, chain::SIGNATURE)
                && descriptor.bg_blkno.get() == link.block
                && descriptor.bg_generation.get() == self.generation
                && descriptor.bg_chain.get() == chain
                && parent.is_some_and(|parent| parent.inode == descriptor.bg_parent_dinode.get())
                && self.checksum(bytes, CHECK)
        });
        if let Some((bytes, descriptor)) = sound {
            let runs = self.group_of(at, descriptor, bytes);
            self.groups[at].insert(link.place, runs);
        }
        Verified {
            verifiable: true,
            sound: sound.is_some(),
        }
    }

    /// Vanilla fsck.ocfs2 read the groups of extent blocks as well as those of inodes.
    fn group(&self, step: Step, link: Link) -> Vec<Range<u64>> {
        let size = u64::from(self.block_size());
        let at = index(step);
        let runs = (at != CLUSTERS).then(|| self.groups[at].get(&link.place));
        let runs = runs.flatten().into_iter().flatten();
        runs.map(|run| run.start * size..run.end * size).collect()
    }

    fn tables(&self) -> Vec<Table> {
        let size = u64::from(self.block_size());
        let table = |run: &Range<u64>| Table {
            bytes: run.start * size..run.end * size,
            first: run.start,
        };
        let groups = [INODES, CLUSTERS].map(|at| self.groups[at].values());
        groups.into_iter().flatten().flatten().map(table).collect()
    }

    fn inodes(
        &self,
        table: &Table,
        offset: u64,
        bytes: &[u8],
        blocks: &mut Blocks<'_>,
    ) -> InodeCount {
        let size = self.layout.block_size();
        let numbers = table.first + offset / size as u64..;
        let mut count = InodeCount::default();
        for (number, inode) in numbers.zip(bytes.chunks_exact(size)) {
            if let Some(faults) = self.inode(number, inode, blocks) {
                count.in_use += 1;
                count.faults += faults;
            }
        }
        count
    }

    fn directory_block(&self, _: u64, bytes: &[u8]) -> bool {
        inode::directory_block(bytes)
    }
}

#[cfg(test)]
mod tests;
