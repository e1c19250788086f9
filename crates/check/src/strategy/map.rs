//! Where the metadata of a volume is.

use std::ops::Range;

use blockio::BlockSource;
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, INODE_UNINIT};
use ondisk::ext4::{Geometry, GroupDescriptor, Seed, Superblock, superblock};

use crate::strategy::Error;

/// A group, as a reader of descriptors meets it.
pub(super) struct Group {
    pub(super) descriptor: GroupDescriptor,
    /// Bytes of its inode table that hold inodes ever used.
    pub(super) table: Range<u64>,
    pub(super) first_inode: u32,
}

/// What is known before the clock starts: a checker has these from the superblock and the descriptors.
pub(super) struct Map {
    pub(super) geometry: Geometry,
    pub(super) seed: Option<Seed>,
    pub(super) groups: Vec<Group>,
}

impl Map {
    pub(super) fn of(source: &dyn BlockSource) -> Result<Map, Error> {
        let format = |why| Error::Format {
            name: source.name().to_string(),
            why,
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
        Ok(Map {
            seed: sb.metadata_seed(),
            geometry,
            groups,
        })
    }

    /// The byte at which a block begins.
    pub(super) fn byte(&self, block: u64) -> u64 {
        block.saturating_mul(u64::from(self.geometry.block_size))
    }
}

impl Group {
    fn new(geometry: &Geometry, sb: &Superblock, group: u32, descriptor: GroupDescriptor) -> Group {
        let trusted = ondisk::ext4::group_descriptor::DescriptorChecksum::of(sb).allows_uninit();
        let unused = match trusted {
            false => 0,
            true if descriptor.has_flags(INODE_UNINIT) => geometry.inodes_per_group,
            true => descriptor.itable_unused().min(geometry.inodes_per_group),
        };
        let used = u64::from(geometry.inodes_per_group - unused) * u64::from(geometry.inode_size);
        let block = u64::from(geometry.block_size);
        let begin = descriptor.inode_table().saturating_mul(block);
        Group {
            table: begin..begin.saturating_add(used.next_multiple_of(block)),
            first_inode: geometry.inode_number(group, 0).unwrap_or(1),
            descriptor,
        }
    }

    /// The block of a bitmap, and whether what lies there means anything.
    pub(super) fn bitmap(&self, of_inodes: bool) -> (u64, bool) {
        let descriptor = &self.descriptor;
        if of_inodes {
            (
                descriptor.inode_bitmap(),
                !descriptor.has_flags(INODE_UNINIT),
            )
        } else {
            (
                descriptor.block_bitmap(),
                !descriptor.has_flags(BLOCK_UNINIT),
            )
        }
    }
}
