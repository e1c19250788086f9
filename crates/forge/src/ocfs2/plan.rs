//! The plan: which group and bit each inode has, and where every file's clusters and extent blocks begin.
//!
//! Three ways over the population. The first counts. Then groups and data get their places ([`super::space`]). The second
//! notes, at the first inode of each group, how far data and extent blocks have been given out, so that the groups can be written in any order
//! and by several threads; it marks the clusters as used. The third, in [`super::write`], writes. What is kept is four bytes for each
//! directory and some dozens for each group.

use ondisk::ocfs2::ExtentRecord;
use ondisk::ocfs2::extent::UNWRITTEN;
use progress::{Progress, Step};

use super::bitmap::Bitmap;
use super::blocks::Place;
use super::contents::{Contents, Kind, Object};
use super::options::ChainOrder;
use super::space::{self, Need, Space};
use super::volume::{Allocator, Empty};
use crate::Error;
use crate::population::ObjectId;

/// An allocator of inodes or extent blocks as the volume will have it.
#[derive(Debug)]
pub(super) struct Suballocator {
    pub(super) inode: u64,
    pub(super) slot: u16,
    pub(super) group_clusters: u32,
    pub(super) bits: u32,
    /// First blocks of the groups, in the order in which they are used.
    pub(super) groups: Vec<u64>,
    /// The groups of each chain in its order, by their numbers.
    pub(super) chains: Vec<Vec<usize>>,
    /// Blocks given out and freed again, in each group.
    pub(super) freed: Vec<u32>,
    /// Blocks given out.
    pub(super) given: u32,
}

impl Suballocator {
    fn new(found: Allocator, slot: u16, new: impl Iterator<Item = u64>, order: ChainOrder) -> Self {
        let mut groups: Vec<u64> = Vec::new();
        let mut chains = Vec::new();
        for chain in found.groups {
            let first = groups.len();
            groups.extend(chain);
            chains.push((first..groups.len()).collect::<Vec<usize>>());
        }
        for block in new {
            let group = groups.len();
            groups.push(block);
            if chains.len() < found.chains.into() {
                chains.push(vec![group]);
                continue;
            }
            // The first chain with the fewest groups; all have the same size.
            if let Some(chain) = chains.iter_mut().min_by_key(|chain| chain.len()) {
                match order {
                    ChainOrder::Head => chain.insert(0, group),
                    ChainOrder::Tail => chain.push(group),
                }
            }
        }
        Self {
            inode: found.inode,
            slot,
            group_clusters: found.group_clusters,
            bits: found.bits,
            freed: vec![0; groups.len()],
            groups,
            chains,
            given: 0,
        }
    }

    /// Blocks of a group that can be given out.
    pub(super) fn per_group(&self) -> u32 {
        self.bits - 1
    }

    /// A block by its number.
    pub(super) fn place(&self, number: u32) -> Place {
        let (group, bit) = (number / self.per_group(), 1 + number % self.per_group());
        let start = self.groups.get(group as usize).copied().unwrap_or(0);
        Place {
            block: start + u64::from(bit),
            bit: bit as u16,
        }
    }

    /// Bits of a group in use, the descriptor's included.
    pub(super) fn used(&self, group: usize) -> u32 {
        let before = group as u64 * u64::from(self.per_group());
        let given = u64::from(self.given).saturating_sub(before);
        1 + given.min(self.per_group().into()) as u32 - self.freed[group]
    }
}

/// How far everything was given out before an inode.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Start {
    pub(super) directory: u32,
    /// The inode's slot in its directory.
    pub(super) slot: u32,
    /// The next address of data.
    pub(super) data: u64,
    /// The next extent block.
    pub(super) extent: u32,
}

/// The plan of a volume.
#[derive(Debug)]
pub(super) struct Plan {
    /// The number of the first inode of each directory in its slot's allocator.
    first: Vec<u32>,
    used_slots: u32,
    root: u64,
    pub(super) inodes: Vec<Suballocator>,
    pub(super) extents: Vec<Suballocator>,
    /// For each slot, the start of each group of inodes.
    pub(super) starts: Vec<Vec<Start>>,
    pub(super) space: Space,
    pub(super) bitmap: Bitmap,
    /// Inodes in use, those of mkfs.ocfs2 not counted.
    pub(super) in_use: u64,
}

/// What the first way over the population finds for a slot.
#[derive(Debug, Default, Clone)]
struct Count {
    inodes: u64,
    extents: u64,
}

/// Inodes that mkfs.ocfs2 took from a slot's allocator: `lost+found`.
fn reserved(slot: u32) -> u32 {
    u32::from(slot == 0)
}

impl Plan {
    pub(super) fn new(
        empty: &mut Empty,
        contents: &Contents,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        progress.begin(Step::new("placing files"));
        let used_slots = u32::from(empty.options.used_slots);
        let directories = contents.population.directories();
        let mut first = vec![0; directories as usize];
        let mut counts = vec![Count::default(); used_slots as usize];
        let (mut data, mut in_use, mut several) = (0_u64, 0, false);
        for slot in 0..used_slots {
            let count = &mut counts[slot as usize];
            each(contents, slot, used_slots, progress, &mut |id, object| {
                if id.slot == 0 && id.directory > 0 {
                    first[id.directory as usize] = reserved(slot) + count.inodes as u32;
                }
                count.inodes += u64::from(id.directory > 0);
                in_use += u64::from(id.directory > 0 && object.kind != Kind::Freed);
                data += object.clusters;
                several |= object.clusters > 1;
                let extents = if object.fragmented {
                    contents.parts(id, object).len() as u64
                } else {
                    u64::from(object.clusters > 0)
                };
                count.extents += u64::from(contents.extent_blocks(object, extents));
            })?;
        }
        let mut this = Self {
            first,
            used_slots,
            root: empty.root,
            inodes: Vec::new(),
            extents: Vec::new(),
            starts: Vec::new(),
            space: Space::default(),
            bitmap: std::mem::replace(&mut empty.bitmap, Bitmap::new(0)),
            in_use,
        };
        this.place(empty, &counts, data, several)?;
        for slot in 0..used_slots {
            this.note(contents, slot, progress)?;
        }
        Ok(this)
    }

    /// Gives groups and data their places.
    fn place(
        &mut self,
        empty: &Empty,
        counts: &[Count],
        data: u64,
        several: bool,
    ) -> Result<(), Error> {
        let volume = empty.volume;
        let per_group = u64::from(empty.group_clusters);
        // Each end of a run of free clusters may add an extent, and so a block of a tree.
        let slack = if several {
            2 * u64::from(volume.clusters).div_ceil(per_group) + 4
        } else {
            0
        };
        let (mut inodes, mut extents) = (Vec::new(), Vec::new());
        for slot in 0..self.used_slots as u16 {
            let found = empty.allocator("inode_alloc", slot)?;
            expect_used(empty, &found, reserved(slot.into()))?;
            inodes.push(found);
            let found = empty.allocator("extent_alloc", slot)?;
            expect_used(empty, &found, 0)?;
            extents.push(found);
        }
        let further = |found: &Allocator, need: u64| {
            let have: usize = found.groups.iter().map(Vec::len).sum();
            let groups = need.div_ceil(u64::from(found.bits) - 1);
            groups.saturating_sub(have as u64) as u32
        };
        let need = Need {
            inode_groups: (0..)
                .zip(counts.iter().zip(&inodes))
                .map(|(slot, (count, found))| {
                    further(found, count.inodes + u64::from(reserved(slot)))
                })
                .collect(),
            extent_groups: counts
                .iter()
                .zip(&extents)
                .map(|(count, found)| further(found, count.extents + slack))
                .collect(),
            group_clusters: inodes
                .first()
                .map_or(1, |found| found.group_clusters.into()),
            data,
        };
        let placed = space::place(
            &mut self.bitmap,
            volume.clusters.into(),
            per_group,
            &need,
            empty.options.groups,
        )?;
        let order = empty.options.chain_order;
        let made = |found: Vec<Allocator>, new: Vec<Vec<u64>>| {
            (0..)
                .zip(found.into_iter().zip(new))
                .map(|(slot, (found, new))| {
                    let blocks = new.into_iter().map(|cluster| volume.block_of(cluster));
                    Suballocator::new(found, slot, blocks, order)
                })
                .collect()
        };
        self.inodes = made(inodes, placed.inode_groups);
        self.extents = made(extents, placed.extent_groups);
        self.space = placed.space;
        Ok(())
    }

    /// Notes the start of each group of a slot's inodes, and marks its clusters.
    fn note(
        &mut self,
        contents: &Contents,
        slot: u32,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let at = slot as usize;
        let mut data = match slot {
            0 => 0,
            _ => self.starts[at - 1].last().map_or(0, |last| last.data),
        };
        let (mut extent, mut number) = (0, reserved(slot));
        let per_group = self.inodes[at].per_group();
        let mut starts = Vec::with_capacity(self.inodes[at].groups.len() + 1);
        let mut records = Vec::new();
        each(
            contents,
            slot,
            self.used_slots,
            progress,
            &mut |id, object| {
                if id.directory > 0 {
                    if number % per_group == 0 || number == 1 && slot == 0 {
                        starts.push(Start {
                            directory: id.directory,
                            slot: id.slot,
                            data,
                            extent,
                        });
                    }
                    if object.kind == Kind::Freed {
                        self.inodes[at].freed[(number / per_group) as usize] += 1;
                    }
                    number += 1;
                }
                if object.clusters == 0 {
                    extent += contents.extent_blocks(object, 0);
                    return;
                }
                records.clear();
                let next = extents(contents, &self.space, id, object, data, &mut records);
                let bitmap = &mut self.bitmap;
                for record in &records {
                    bitmap.set(record.cluster, record.clusters);
                }
                if object.directory.is_some() {
                    let all = object.clusters;
                    self.space
                        .extents(data, all, &mut |cluster, len| bitmap.set(cluster, len));
                }
                extent += contents.extent_blocks(object, records.len() as u64);
                data = next;
            },
        )?;
        // Where the next slot goes on.
        starts.push(Start {
            directory: u32::MAX,
            slot: 0,
            data,
            extent,
        });
        self.inodes[at].given = number;
        self.extents[at].given = extent;
        self.starts.push(starts);
        Ok(())
    }

    /// The slot whose allocators a directory uses.
    pub(super) fn slot_of(&self, directory: u32) -> u32 {
        directory % self.used_slots
    }

    /// The inode number of an object.
    pub(super) fn inode(&self, id: ObjectId) -> u64 {
        if id == ObjectId::directory(0) {
            return self.root;
        }
        let slot = self.slot_of(id.directory) as usize;
        let first = self.first.get(id.directory as usize).copied().unwrap_or(0);
        self.inodes[slot].place(first + id.slot).block
    }

    /// The inode number of `lost+found`.
    pub(super) fn lost_and_found(&self) -> u64 {
        self.inodes[0].place(0).block
    }
}

/// mkfs.ocfs2 takes nothing from these allocators but `lost+found`.
fn expect_used(empty: &Empty, found: &Allocator, inodes: u32) -> Result<(), Error> {
    let groups: usize = found.groups.iter().map(Vec::len).sum();
    let expected = groups as u32 + inodes;
    if found.used == expected && (inodes == 0 || groups > 0) {
        return Ok(());
    }
    Err(Error::Unexpected {
        maker: empty.maker.clone(),
        why: format!(
            "the allocator in block {} has {} blocks in use instead of {expected}",
            found.inode, found.used
        ),
    })
}

/// Calls `f` for every object of the directories that belong to a slot, in the order of their inodes. The root comes first, in slot 0; its
/// inode is mkfs.ocfs2's.
pub(super) fn each(
    contents: &Contents,
    slot: u32,
    used_slots: u32,
    progress: &dyn Progress,
    f: &mut dyn FnMut(ObjectId, &Object),
) -> Result<(), Error> {
    let directories = contents.population.directories();
    for directory in (slot..directories).step_by(used_slots as usize) {
        if progress.cancelled() {
            return Err(Error::Stopped);
        }
        let slots = contents.population.slots(directory);
        for slot in 0..slots.total() {
            let id = ObjectId { directory, slot };
            if let Some(object) = contents.object(&slots, id) {
                f(id, &object);
            }
        }
    }
    Ok(())
}

/// An extent of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// First cluster of the file.
    pub(super) cpos: u64,
    /// First cluster of the volume.
    pub(super) cluster: u64,
    pub(super) clusters: u64,
    pub(super) unwritten: bool,
}

impl Extent {
    /// Its record in a leaf; `cluster_blocks` are the blocks of a cluster.
    pub(super) fn record(&self, cluster_blocks: u64) -> ExtentRecord {
        let flags = if self.unwritten { UNWRITTEN } else { 0 };
        ExtentRecord::leaf(
            self.cpos as u32,
            self.clusters as u16,
            flags,
            self.cluster * cluster_blocks,
        )
    }
}

/// The extents of an object whose data begins at address `at`, pushed to `records`; returns the address after it.
pub(super) fn extents(
    contents: &Contents,
    space: &Space,
    id: ObjectId,
    object: &Object,
    at: u64,
    records: &mut Vec<Extent>,
) -> u64 {
    if !object.fragmented {
        let clusters = contents.data_clusters(object);
        run(space, at, 0, clusters, false, records);
        return at + object.clusters;
    }
    let mut address = at;
    for part in contents.parts(id, object) {
        run(
            space,
            address,
            part.cpos,
            part.clusters,
            part.unwritten,
            records,
        );
        address += part.clusters + part.gap;
    }
    address
}

fn run(
    space: &Space,
    at: u64,
    first: u64,
    clusters: u64,
    unwritten: bool,
    records: &mut Vec<Extent>,
) {
    /// The field has 16 bits.
    const LONGEST: u64 = 65_535;
    let mut cpos = first;
    space.extents(at, clusters, &mut |cluster, len| {
        let follows = records.last_mut().filter(|last| {
            last.cluster + last.clusters == cluster
                && last.cpos + last.clusters == cpos
                && last.unwritten == unwritten
                && last.clusters + len <= LONGEST
        });
        match follows {
            Some(last) => last.clusters += len,
            None => records.push(Extent {
                cpos,
                cluster,
                clusters: len,
                unwritten,
            }),
        }
        cpos += len;
    });
}
