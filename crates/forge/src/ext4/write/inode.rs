//! One inode, and the blocks that map its own.

use ondisk::ext4::block_map::{BlockMap, write_pointers};
use ondisk::ext4::extent::{self, Extent, Index};
use ondisk::ext4::inode::{InodeMut, RawInode, flag};
use ondisk::ext4::time::Time;
use ondisk::ext4::{FileType, Seed};

use crate::Error;
use crate::ext4::layout::Layout;
use crate::ext4::place::{Mapping, Node};
use crate::ext4::plan::{Kind, Object};
use crate::image_file::ImageFile;

/// Links of a directory beyond which the count is given up (`EXT4_LINK_MAX`).
const MOST_LINKS: u32 = 65000;

/// Writes inodes of one filesystem.
#[derive(Debug, Clone)]
pub(super) struct Inodes<'a> {
    layout: &'a Layout,
    pub(super) inode_size: u16,
    block_size: u32,
    extents: bool,
    dir_nlink: bool,
    large_file: bool,
    time: i64,
    pub(super) seed: Option<Seed>,
}

impl<'a> Inodes<'a> {
    pub(super) fn new(layout: &'a Layout) -> Self {
        use ondisk::ext4::feature::RoCompat;
        Self {
            layout,
            inode_size: layout.geometry.inode_size,
            block_size: layout.geometry.block_size,
            extents: layout.extents(),
            dir_nlink: layout.superblock.has_ro_compat(RoCompat::DIR_NLINK),
            large_file: layout.superblock.has_ro_compat(RoCompat::LARGE_FILE),
            time: layout.options.time,
            seed: layout.seed(),
        }
    }

    /// Fills the zeroed `slot` with everything but its checksum.
    pub(super) fn fill<'s>(
        &self,
        slot: &'s mut [u8],
        generation: u32,
        object: &Object,
        mapping: &Mapping,
    ) -> Result<InodeMut<'s>, Error> {
        let Some(kind) = object.kind.file_type() else {
            return Err(Error::Population("a free slot has no inode".to_owned()));
        };
        let mut inode = InodeMut::new(slot, self.inode_size)?;
        let raw = inode.raw()?;
        self.head(raw, generation, object, kind)?;
        raw.i_file_acl_lo = (mapping.xattr as u32).into();
        raw.l_i_file_acl_high = ((mapping.xattr >> 32) as u16).into();
        if object.has_blocks() {
            if self.extents {
                root(mapping, self.block_size, &mut raw.i_block)?;
            } else {
                words(mapping, self.block_size, &mut raw.i_block);
            }
        }
        let high = self.times(raw, object)?;
        if self.inode_size > 128 {
            let low = raw.i_ctime;
            let extra = inode.extra()?;
            extra.i_extra_isize = 32.into();
            extra.i_ctime_extra = high.into();
            extra.i_mtime_extra = high.into();
            extra.i_atime_extra = high.into();
            extra.i_crtime = low;
            extra.i_crtime_extra = high.into();
            if object.project != 0 {
                extra.i_projid = object.project.into();
            }
        }
        if mapping.blocks > 0 {
            let sectors = mapping.blocks * u64::from(self.block_size / 512);
            inode.set_sectors(sectors, self.block_size)?;
        }
        Ok(inode)
    }

    fn head(
        &self,
        raw: &mut RawInode,
        generation: u32,
        object: &Object,
        kind: FileType,
    ) -> Result<(), Error> {
        let links = self.links(object)?;
        if object.size > 0x7fff_ffff && !self.large_file {
            return Err(Error::Population(format!(
                "a file of {} bytes needs the feature large_file",
                object.size
            )));
        }
        let mut flags = object.flags;
        if self.extents && object.has_blocks() {
            flags |= flag::EXTENTS;
        }
        if object.kind == Kind::Value {
            flags |= flag::EA_INODE;
        }
        raw.i_mode = (kind.mode() | object.permissions & 0xfff).into();
        raw.i_uid = (object.uid as u16).into();
        raw.l_i_uid_high = ((object.uid >> 16) as u16).into();
        raw.i_gid = (object.gid as u16).into();
        raw.l_i_gid_high = ((object.gid >> 16) as u16).into();
        raw.i_links_count = links.into();
        raw.i_flags = flags.into();
        raw.i_generation = generation.into();
        raw.i_size_lo = (object.size as u32).into();
        raw.i_size_high = ((object.size >> 32) as u32).into();
        Ok(())
    }

    fn links(&self, object: &Object) -> Result<u16, Error> {
        match object.links {
            0..=MOST_LINKS => Ok(object.links as u16),
            _ if object.kind == Kind::Directory && self.dir_nlink => Ok(1),
            links => Err(Error::Population(format!(
                "{links} links: there may be {MOST_LINKS}, and more only of directories with the feature dir_nlink"
            ))),
        }
    }

    /// Sets the old times; returns their part in the newer fields.
    fn times(&self, raw: &mut RawInode, object: &Object) -> Result<u32, Error> {
        let seconds = if object.time == 0 {
            self.time
        } else {
            object.time
        };
        let time = Time {
            seconds,
            nanoseconds: 0,
        };
        let (low, high) = time.to_disk().ok_or_else(|| {
            Error::Population(format!(
                "{seconds} seconds since 1970: no inode can hold that"
            ))
        })?;
        raw.i_atime = low.into();
        raw.i_ctime = low.into();
        raw.i_mtime = low.into();
        Ok(high)
    }

    /// The seed of the blocks that belong to an inode.
    pub(super) fn block_seed(&self, ino: u32, generation: u32) -> Option<Seed> {
        self.seed.map(|seed| seed.of_inode(ino, generation))
    }

    /// The generation of an inode of the population.
    pub(super) fn generation(&self, ino: u32) -> u32 {
        self.layout.generation(ino)
    }

    /// Writes the blocks that map an object's own; `buffer` is one block.
    pub(super) fn nodes(
        &self,
        image: &ImageFile,
        mapping: &Mapping,
        seed: Option<Seed>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if mapping.nodes.is_empty() {
            return Ok(());
        }
        buffer.clear();
        buffer.resize(self.block_size as usize, 0);
        let levels = levels(mapping);
        for node in &mapping.nodes {
            if self.extents {
                node_of_tree(mapping, *node, self.block_size, buffer)?;
                if let Some(seed) = seed {
                    extent::seal(buffer, seed)?;
                }
            } else {
                indirect(mapping, &levels, *node, self.block_size, buffer);
            }
            image.write(node.block * u64::from(self.block_size), buffer)?;
        }
        Ok(())
    }
}

/// The first logical block below a node of an extent tree.
fn logical(mapping: &Mapping, node: Node, capacity: u64) -> u32 {
    let below = capacity.saturating_pow(u32::from(node.level));
    let first = node.first.saturating_mul(below) as usize;
    mapping.data.get(first).map_or(0, |run| run.block)
}

/// Entries for the nodes of one level, from number `first` on.
fn entries(mapping: &Mapping, level: u8, first: u64, capacity: u64) -> impl Iterator<Item = Index> {
    mapping
        .nodes
        .iter()
        .filter(move |node| node.level == level)
        .skip(first as usize)
        .map(move |node| Index {
            block: logical(mapping, *node, capacity),
            leaf: node.block,
            unused: 0,
        })
}

fn node_of_tree(
    mapping: &Mapping,
    node: Node,
    block_size: u32,
    out: &mut [u8],
) -> Result<(), Error> {
    let capacity = usize::from(extent::capacity(block_size as usize));
    if node.level == 0 {
        let first = node.first as usize;
        let end = (first + capacity).min(mapping.data.len());
        return Ok(extent::write_leaf(out, &mapping.data[first..end])?);
    }
    let below: Vec<_> = entries(mapping, node.level - 1, node.first, capacity as u64)
        .take(capacity)
        .collect();
    Ok(extent::write_index(out, node.level.into(), &below)?)
}

/// The root of an extent tree, in the inode.
fn root(mapping: &Mapping, block_size: u32, out: &mut [u8; 60]) -> Result<(), Error> {
    let Some(top) = mapping.nodes.last().map(|node| node.level) else {
        return Ok(extent::write_leaf(out, &mapping.data)?);
    };
    let capacity = u64::from(extent::capacity(block_size as usize));
    let all: Vec<_> = entries(mapping, top, 0, capacity).collect();
    Ok(extent::write_index(out, u16::from(top) + 1, &all)?)
}

/// Pointers to the data blocks from logical block `first` on, 0 for holes.
fn data_pointers(data: &[Extent], first: u64, pointers: &mut [u32]) {
    let end = first + pointers.len() as u64;
    let from = data.partition_point(|run| run.end() <= first);
    for run in &data[from..] {
        let start = u64::from(run.block).max(first);
        let until = run.end().min(end);
        if start >= until {
            break;
        }
        let physical = run.start + start - u64::from(run.block);
        let places = &mut pointers[(start - first) as usize..(until - first) as usize];
        for (nth, pointer) in places.iter_mut().enumerate() {
            *pointer = physical as u32 + nth as u32;
        }
    }
}

/// The indirect blocks of each level; within a level they ascend by logical block, as they were placed.
fn levels(mapping: &Mapping) -> [Vec<Node>; 3] {
    [1, 2, 3].map(|level| {
        let nodes = mapping.nodes.iter();
        nodes.filter(|node| node.level == level).copied().collect()
    })
}

/// The indirect block that begins at a logical block, 0 when there is none.
fn indirect_at(nodes: &[Node], first: u64) -> u32 {
    nodes
        .binary_search_by_key(&first, |node| node.first)
        .map_or(0, |nth| nodes[nth].block as u32)
}

/// The fifteen words of a block map.
fn words(mapping: &Mapping, block_size: u32, out: &mut [u8; 60]) {
    let map = BlockMap::new(block_size);
    let mut pointers = [0; 15];
    data_pointers(&mapping.data, 0, &mut pointers[..12]);
    if !mapping.nodes.is_empty() {
        for (nodes, slot) in levels(mapping).iter().zip(12..) {
            let first = map.slot(slot).map_or(0, |(first, _)| first);
            pointers[slot as usize] = indirect_at(nodes, first);
        }
    }
    write_pointers(out, &pointers);
}

fn indirect(
    mapping: &Mapping,
    levels: &[Vec<Node>; 3],
    node: Node,
    block_size: u32,
    out: &mut [u8],
) {
    let map = BlockMap::new(block_size);
    let mut pointers = vec![0; map.addresses() as usize];
    if node.level == 1 {
        data_pointers(&mapping.data, node.first, &mut pointers);
    } else {
        let span = map.span(u32::from(node.level) - 1);
        let below = &levels[usize::from(node.level) - 2];
        for (pointer, nth) in pointers.iter_mut().zip(0..) {
            *pointer = indirect_at(below, node.first + nth * span);
        }
    }
    write_pointers(out, &pointers);
}
