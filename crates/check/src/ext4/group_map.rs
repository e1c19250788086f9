//! The metadata of a volume by groups, for the read strategies of [`crate::strategy`].
//!
//! The descriptors of ext4 name no successor, so the groups are distributed over chains: group g is in chain g modulo the number of
//! chains. A bitmap takes the place of a chained descriptor.

use std::ops::Range;

use blockio::BlockSource;
use ondisk::ext4::block_map::{self, DIRECT};
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, DescriptorChecksum, INODE_UNINIT};
use ondisk::ext4::inode::Content;
use ondisk::ext4::{
    FileType, Geometry, GroupDescriptor, Inode, Seed, Superblock, bitmap, directory, extent,
    superblock,
};

use crate::strategy::{Blocks, Error, InodeCount, MetadataMap, Step, Table, Verified};

/// A group, as a reader of descriptors meets it.
struct Group {
    descriptor: GroupDescriptor,
    table: Table,
}

/// What is known before the clock starts: a checker has this from the superblock and the descriptors.
pub struct GroupMap {
    geometry: Geometry,
    seed: Option<Seed>,
    groups: Vec<Group>,
}

/// A group in its chain.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    group: usize,
    /// Number of chains: the distance to the next group of the chain.
    chains: usize,
}

impl GroupMap {
    /// Reads the superblock and the descriptors.
    ///
    /// # Errors
    /// They cannot be read, or are not usable.
    pub fn of(source: &dyn BlockSource) -> Result<GroupMap, Error> {
        let format = |why: ondisk::ext4::Error| Error::Format {
            name: source.name().to_string(),
            why: why.to_string(),
        };
        let mut bytes = vec![0; superblock::SIZE];
        source.read_at(&mut bytes, superblock::OFFSET)?;
        let sb = *Superblock::read(&bytes).map_err(format)?;
        let geometry = Geometry::new(&sb).map_err(format)?;
        let mut block = vec![0; geometry.block_size as usize];
        let mut held = None;
        let mut groups = Vec::new();
        for group in 0..geometry.groups {
            let Some((at, offset)) = geometry.desc_position(group) else {
                break;
            };
            if held != Some(at) {
                source.read_at(&mut block, at * u64::from(geometry.block_size))?;
                held = Some(at);
            }
            let descriptor = GroupDescriptor::read(&block[offset as usize..], geometry.desc_size)
                .map_err(format)?;
            groups.push(Group::new(&geometry, &sb, group, descriptor));
        }
        Ok(GroupMap {
            seed: sb.metadata_seed(),
            geometry,
            groups,
        })
    }

    /// The descriptor of a group.
    fn descriptor(&self, group: usize) -> &GroupDescriptor {
        &self.groups[group].descriptor
    }
}

impl Group {
    fn new(geometry: &Geometry, sb: &Superblock, group: u32, descriptor: GroupDescriptor) -> Group {
        let unused = match DescriptorChecksum::of(sb).allows_uninit() {
            false => 0,
            true if descriptor.has_flags(INODE_UNINIT) => geometry.inodes_per_group,
            true => descriptor.itable_unused().min(geometry.inodes_per_group),
        };
        let used = u64::from(geometry.inodes_per_group - unused) * u64::from(geometry.inode_size);
        let block = u64::from(geometry.block_size);
        let begin = descriptor.inode_table().saturating_mul(block);
        Group {
            table: Table {
                bytes: begin..begin.saturating_add(used.next_multiple_of(block)),
                first: geometry.inode_number(group, 0).unwrap_or(1).into(),
            },
            descriptor,
        }
    }
}

impl MetadataMap for GroupMap {
    type Link = Link;

    fn steps(&self) -> &'static [Step] {
        &[Step::Clusters, Step::Inodes, Step::Scan, Step::Directories]
    }

    fn block_size(&self) -> u32 {
        self.geometry.block_size
    }

    fn descriptors(&self, _: Step) -> u64 {
        self.groups.len() as u64
    }

    fn heads(&self, _: Step, chains: u32) -> Vec<Link> {
        let chains = (chains.max(1) as usize).min(self.groups.len());
        let head = |group| Link { group, chains };
        (0..chains).map(head).collect()
    }

    fn block(&self, step: Step, link: Link) -> u64 {
        let descriptor = self.descriptor(link.group);
        match step {
            Step::Inodes => descriptor.inode_bitmap(),
            _ => descriptor.block_bitmap(),
        }
    }

    fn next(&self, _: Step, link: Link, _: Option<&[u8]>) -> Option<Link> {
        let group = link.group + link.chains;
        (group < self.groups.len()).then_some(Link { group, ..link })
    }

    fn verify(&mut self, step: Step, link: Link, bytes: Option<&[u8]>) -> Verified {
        let descriptor = self.descriptor(link.group);
        let unused = match step {
            Step::Inodes => INODE_UNINIT,
            _ => BLOCK_UNINIT,
        };
        let verifiable = !descriptor.has_flags(unused);
        let sound = match (bytes, self.seed) {
            (None, _) => false,
            (Some(bytes), Some(seed)) if verifiable => {
                let sum = match step {
                    Step::Inodes => bitmap::inode_checksum(seed, &self.geometry, descriptor, bytes),
                    _ => bitmap::block_checksum(seed, &self.geometry, descriptor, bytes),
                };
                sum.is_ok_and(|sum| sum.stored == sum.computed)
            }
            (Some(_), _) => true,
        };
        Verified { verifiable, sound }
    }

    fn group(&self, step: Step, link: Link) -> Vec<Range<u64>> {
        let table = (step == Step::Inodes).then(|| self.groups[link.group].table.bytes.clone());
        table.into_iter().collect()
    }

    fn tables(&self) -> Vec<Table> {
        let tables = self.groups.iter().map(|group| group.table.clone());
        let mut tables: Vec<Table> = tables.collect();
        tables.sort_by_key(|table| table.bytes.start);
        tables
    }

    fn inodes(
        &self,
        table: &Table,
        offset: u64,
        bytes: &[u8],
        blocks: &mut Blocks<'_>,
    ) -> InodeCount {
        let size = self.geometry.inode_size;
        let first = table.first + offset / u64::from(size);
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        let mut count = InodeCount::default();
        for (number, slot) in (first..).zip(bytes.chunks_exact(size.into())) {
            let Ok(inode) = Inode::read(slot, size) else {
                continue;
            };
            if inode.raw().i_links_count.get() == 0 {
                continue;
            }
            count.in_use += 1;
            if let Some(seed) = self.seed {
                let sum = inode.checksum(seed, number);
                count.faults += u64::from(sum.stored != sum.computed);
            }
            if inode.file_type() == Some(FileType::Directory) {
                count.faults += blocks_of(&inode, blocks);
            }
        }
        count
    }

    fn directory_block(&self, _: u64, bytes: &[u8]) -> bool {
        directory::entries(bytes, self.geometry.block_size).all(|entry| entry.is_ok())
    }
}

/// Gives the blocks of a directory to `blocks`; the number of faults of its map.
fn blocks_of(inode: &Inode<'_>, blocks: &mut Blocks<'_>) -> u64 {
    let words = inode.block_words();
    match inode.content() {
        Content::Extents => {
            let root: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            extents(&root, extent::MAX_DEPTH, blocks)
        }
        Content::BlockMap => {
            let direct = words[..DIRECT as usize].iter();
            blocks.directory(direct.filter(|w| **w != 0).map(|w| u64::from(*w)));
            let levels = (1..).zip(&words[DIRECT as usize..]);
            levels
                .map(|(level, word)| indirect(*word, level, blocks))
                .sum()
        }
        _ => 0,
    }
}

/// A node of an extent tree, at most `most` levels deep; the number of faults.
fn extents(bytes: &[u8], most: u16, blocks: &mut Blocks<'_>) -> u64 {
    let Ok(node) = extent::Node::read(bytes) else {
        return 1;
    };
    if node.depth() == 0 {
        for extent in node.extents() {
            blocks.directory(extent.start..extent.start + u64::from(extent.len));
        }
        return 0;
    }
    if most == 0 || node.depth() > most {
        return 1;
    }
    let mut faults = 0;
    for index in node.indexes() {
        faults += match blocks.read(index.leaf) {
            Some(bytes) => extents(&bytes, most - 1, blocks),
            None => 1,
        };
    }
    faults
}

/// An indirect block, `level` levels above the data; the number of faults.
fn indirect(block: u32, level: u32, blocks: &mut Blocks<'_>) -> u64 {
    if block == 0 {
        return 0;
    }
    let Some(bytes) = blocks.read(block.into()) else {
        return 1;
    };
    let pointers = block_map::pointers(&bytes).filter(|pointer| *pointer != 0);
    if level == 1 {
        blocks.directory(pointers.map(u64::from));
        return 0;
    }
    pointers
        .map(|block| indirect(block, level - 1, blocks))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bitmap of an unused group holds nothing to verify, and the groups of a chain are a number of chains apart.
    #[test]
    fn groups_are_distributed_over_the_chains() {
        let image = crate::ext4::oracle::made(&["-t", "ext4", "-O", "^flex_bg", "-g", "512"], 8192);
        let source = blockio::Ram::new(&image);
        let mut map = GroupMap::of(&source).unwrap();
        let groups = map.groups.len();
        assert!(groups > 8, "{groups}");
        let heads = map.heads(Step::Clusters, 3);
        assert_eq!(heads.len(), 3);
        let mut met = Vec::new();
        for head in heads {
            let mut link = Some(head);
            while let Some(at) = link {
                met.push(at.group);
                link = map.next(Step::Clusters, at, None);
            }
        }
        assert_eq!(met[..3], [0, 3, 6]);
        met.sort_unstable();
        assert!(met.into_iter().eq(0..groups));
        assert_eq!(map.heads(Step::Inodes, 1000).len(), groups);
        for group in 0..groups {
            let link = Link { group, chains: 1 };
            let unused = map.descriptor(group).has_flags(INODE_UNINIT);
            let verified = map.verify(Step::Inodes, link, None);
            assert_eq!((verified.verifiable, verified.sound), (!unused, false));
        }
    }
}
