//! The inodes that every filesystem has: the root, lost+found, the resize inode, the journal, the orphan file.

use ondisk::ext4::extent::{self, Extent};
use ondisk::ext4::feature::{Compat, Incompat};
use ondisk::ext4::quota;

use super::{Cursor, Full, Mapping, Node, Placer, Usage};
use crate::Error;
use crate::ext4::layout::{Layout, Taken};
use crate::ext4::plan::{Kind, Object, ObjectId, Objects, Owed};

/// Where they lie.
#[derive(Debug, Default)]
pub(in crate::ext4) struct System {
    /// The root's object, as the population has it.
    pub(in crate::ext4) root_object: Object,
    pub(in crate::ext4) root: Mapping,
    pub(in crate::ext4) lost_and_found: Mapping,
    /// The doubly indirect block of the resize inode, 0 without one.
    pub(in crate::ext4) resize: u64,
    pub(in crate::ext4) journal: Mapping,
    pub(in crate::ext4) orphan: Mapping,
    /// The block that guards against being mounted twice, 0 without one.
    pub(in crate::ext4) mmp: u64,
    /// The quota files, with their inodes.
    pub(in crate::ext4) quotas: Vec<(quota::Kind, u32, Object, Mapping)>,
    /// All blocks of these.
    pub(in crate::ext4) taken: Taken,
}

/// Blocks of an empty lost+found: 16 KiB, but at least two and at most the twelve that need no indirect block. With `inline_data`
/// one less: mke2fs adds as many, and the first of them takes what was in the inode.
fn lost_and_found_blocks(layout: &Layout) -> u64 {
    let blocks = u64::from(16384 / layout.geometry.block_size).clamp(2, 12);
    let inline = layout.superblock.has_incompat(Incompat::INLINE_DATA);
    blocks - u64::from(inline)
}

impl System {
    /// Places them as mke2fs does, and the root with as many blocks as the population needs.
    pub(in crate::ext4) fn place(
        layout: &Layout,
        population: &dyn Objects,
        usage: &Usage,
    ) -> Result<Self, Full> {
        let root = ObjectId {
            directory: 0,
            slot: 0,
        };
        let object = population.object(root);
        let block_size = u64::from(layout.geometry.block_size);
        if object.kind != Kind::Directory || object.size == 0 {
            return Err(Full::Other(Error::Population(
                "slot 0 of directory 0 is not a directory of at least one block".to_owned(),
            )));
        }
        let mut this = Self {
            root_object: object,
            ..Self::default()
        };
        let mut placer = Placer::new(layout);
        let start = u64::from(layout.geometry.first_data_block);
        let mut take = |taken: &mut Taken, id, object: &Object, from: u64| {
            let mut mapping = Mapping::default();
            let mut cursor = Cursor::new(layout, taken, layout.unit_of_block(from), from)?;
            placer.place(population, id, object, &mut cursor, &mut mapping)?;
            for range in mapping.ranges() {
                taken.insert(whole_clusters(layout, &range));
            }
            Ok::<_, Full>(mapping)
        };
        let file = |blocks: u64| Object {
            kind: Kind::File,
            size: blocks * block_size,
            ..Object::default()
        };
        let taken = &mut this.taken;
        this.root = take(taken, root, &object, start)?;
        let blocks = lost_and_found_blocks(layout);
        this.lost_and_found = take(taken, root, &file(blocks), start)?;
        if layout.superblock.has_compat(Compat::RESIZE_INODE) {
            // mke2fs looks for it after the table, where the table would be without gaps.
            let geometry = &layout.geometry;
            let goal = 2
                + geometry.first_data_block
                + geometry.desc_blocks()
                + geometry.reserved_gdt_blocks
                + geometry.inode_table_blocks();
            let mapping = take(taken, root, &file(1), goal.into())?;
            this.resize = mapping.data.first().map_or(0, |run| run.start);
        }
        if layout.journal_blocks > 0 {
            let journal = file(layout.journal_blocks.into());
            let goal = if layout.extents() {
                middle(layout, taken)?
            } else {
                start
            };
            let before = taken.clone();
            this.journal = match take(taken, root, &journal, goal) {
                Err(Full::Blocks) => take(taken, root, &journal, start)?,
                other => other?,
            };
            if this.journal.nodes.len() == 1
                && layout.extents()
                && layout.geometry.cluster_blocks == 1
            {
                this.journal = with_early_node(layout, &before, goal)?;
                *taken = before;
                for range in this.journal.ranges() {
                    taken.insert(range);
                }
            }
        }
        let taken = &mut this.taken;
        if layout.superblock.has_incompat(Incompat::MMP) {
            let mapping = take(taken, root, &file(1), start)?;
            this.mmp = mapping.data.first().map_or(0, |run| run.start);
        }
        for (kind, ino) in layout.quotas() {
            let object = usage.object(kind);
            let mapping = take(taken, root, &object, start)?;
            let mapping = in_order_of_writing(layout, mapping);
            this.quotas.push((kind, ino, object, mapping));
        }
        if layout.orphan_blocks > 0 {
            this.orphan = take(taken, root, &file(layout.orphan_blocks.into()), start)?;
        }
        Ok(this)
    }
}

impl System {
    /// Counts what root has before the population comes: the first directory and `lost+found`.
    pub(in crate::ext4) fn charge(&self, usage: &mut Usage, layout: &Layout) {
        let block_size = u64::from(layout.geometry.block_size);
        let nothing = Owed::default();
        usage.add(&self.root_object, self.root.blocks * block_size, nothing);
        let bytes = self.lost_and_found.blocks * block_size;
        usage.add(&Object::default(), bytes, nothing);
    }
}

/// A quota file as the library that writes it allocates it: its header first, the root of its tree last. That shows where a block
/// holds no more than the header. Within a cluster every block has its place, and only the extents tell the order.
fn in_order_of_writing(layout: &Layout, mapping: Mapping) -> Mapping {
    if layout.geometry.block_size as usize > quota::BLOCK || !mapping.nodes.is_empty() {
        return mapping;
    }
    if layout.geometry.cluster_blocks > 1 {
        return behind_the_root(mapping);
    }
    let data = mapping.data.iter();
    let mut blocks: Vec<u64> = data
        .flat_map(|run| run.start..run.start + u64::from(run.len))
        .collect();
    if let Some(rest) = blocks.get_mut(1..).filter(|rest| !rest.is_empty()) {
        rest.rotate_right(1);
    }
    let mut other = Mapping {
        blocks: mapping.blocks,
        ..Mapping::default()
    };
    for (at, block) in (0..).zip(blocks) {
        other.push(at, block..block + 1, false);
    }
    // As many as an inode lists.
    if other.data.len() <= 4 {
        other
    } else {
        mapping
    }
}

/// Parts the first extent of a quota file in clusters after its second block, which is written last and so joins the first alone.
fn behind_the_root(mut mapping: Mapping) -> Mapping {
    const FIRST: u16 = 2;
    // An inode lists four.
    let room = mapping.data.len() < 4;
    if let Some(run) = mapping.data.first_mut()
        && run.len > FIRST
        && room
    {
        let rest = Extent {
            block: run.block + u32::from(FIRST),
            len: run.len - FIRST,
            start: run.start + u64::from(FIRST),
            unwritten: false,
        };
        run.len = FIRST;
        mapping.data.insert(1, rest);
    }
    mapping
}

/// A journal of more than four extents, but not of more than one block lists. mke2fs places that block when the fifth extent
/// comes: before the journal, as far as that extent's place shows where it began, or else after the fifth.
fn with_early_node(layout: &Layout, taken: &Taken, goal: u64) -> Result<Mapping, Full> {
    let mut cursor = Cursor::new(layout, taken, layout.unit_of_block(goal), goal)?;
    let mut mapping = Mapping::default();
    let blocks = u64::from(layout.journal_blocks);
    let mut at = 0;
    while at < blocks {
        let run = cursor.take((blocks - at).min(extent::MAX_LEN.into()))?;
        let len = run.end - run.start;
        mapping.push(at, run, false);
        at += len;
        let Some(fifth) = mapping.data.get(4).filter(|_| mapping.nodes.is_empty()) else {
            continue;
        };
        let before = fifth.start - u64::from(fifth.block) - 1;
        let here = before..before + 1;
        let unit = layout.unit(layout.unit_of_block(before))?;
        let free = [&unit.taken, taken]
            .into_iter()
            .all(|taken| taken.first_fit(here.clone(), 1) == Some(before));
        let within = mapping.ranges().any(|range| range.contains(&before));
        let block = if free && !within {
            before
        } else {
            cursor.take(1)?.start
        };
        mapping.nodes.push(Node {
            level: 0,
            first: 0,
            block,
        });
    }
    mapping.blocks = blocks + 1;
    Ok(mapping)
}

/// A range and what it takes of its last cluster.
pub(in crate::ext4) fn whole_clusters(
    layout: &Layout,
    range: &std::ops::Range<u64>,
) -> std::ops::Range<u64> {
    let cluster = u64::from(layout.geometry.cluster_blocks);
    let end = range
        .end
        .next_multiple_of(cluster)
        .min(layout.geometry.blocks_count.max(range.end));
    range.start..end
}

/// Where mke2fs begins to look for the journal's blocks: at the freest of the groups in the middle of the device.
fn middle(layout: &Layout, taken: &Taken) -> Result<u64, Error> {
    let geometry = &layout.geometry;
    let half = (geometry.blocks_count - u64::from(geometry.first_data_block)) / 2;
    let mut group = geometry.group_of_block(half).unwrap_or(0);
    let flex = layout.unit_groups;
    let start = if flex > 1 && group > flex {
        group -= group % flex;
        while group < geometry.groups && free(layout, taken, group)? == 0 {
            group += 1;
        }
        if group == geometry.groups {
            group = 0;
        }
        group
    } else {
        group.saturating_sub(1)
    };
    let end = (group + 1).min(geometry.groups - 1);
    let mut best = start;
    for candidate in start + 1..=end {
        if free(layout, taken, candidate)? > free(layout, taken, best)? {
            best = candidate;
        }
    }
    Ok(geometry.group_first_block(best))
}

fn free(layout: &Layout, taken: &Taken, group: u32) -> Result<u64, Error> {
    let unit = layout.unit(group / layout.unit_groups)?;
    let mut all = unit.taken;
    for range in taken.ranges() {
        all.insert(range.clone());
    }
    let runs = all.free(layout.geometry.group_blocks(group));
    let free = runs.iter().map(|run| run.end - run.start).sum();
    // mke2fs compares the counts of the descriptors, and a short one keeps 16 bits of what clusters make larger.
    Ok(if layout.geometry.desc_size < 64 {
        free & 0xffff
    } else {
        free
    })
}
