//! Inodes that differ in three fields.
//!
//! Most files of a large population are alike: one extent, one size, one owner. Their inodes differ in the generation, in the extent's
//! first block and in the checksum, so the rest is made once and copied.

use ondisk::ext4::extent::Extent;
use ondisk::ext4::inode::InodeMut;

use super::inode::Inodes;
use crate::Error;
use crate::ext4::place::Mapping;
use crate::ext4::plan::Object;

/// The inode of one kind of object.
#[derive(Debug)]
pub(super) struct InodeTemplate {
    object: Object,
    /// Blocks of its extent.
    pub(super) blocks: u64,
    bytes: Vec<u8>,
}

/// The first extent of a root: after the header and the extent's own block and length, high bits first.
const START_HIGH: std::ops::Range<usize> = 18..20;
const START_LOW: std::ops::Range<usize> = 20..24;

impl InodeTemplate {
    /// The template of an object with one extent of `blocks` blocks.
    pub(super) fn new(inodes: &Inodes<'_>, object: &Object, blocks: u64) -> Result<Self, Error> {
        let mut bytes = vec![0; inodes.inode_size.into()];
        let mapping = Mapping {
            data: vec![Extent {
                block: 0,
                len: blocks as u16,
                start: 0,
                unwritten: false,
            }],
            blocks,
            ..Mapping::default()
        };
        inodes.fill(&mut bytes, 0, object, &mapping)?;
        Ok(Self {
            object: *object,
            blocks,
            bytes,
        })
    }

    /// Whether the template is that of an object.
    pub(super) fn is_of(&self, object: &Object) -> bool {
        self.object == *object
    }

    /// The inode with the number `ino` whose blocks begin at `start`, appended to `table`.
    pub(super) fn write(
        &self,
        inodes: &Inodes<'_>,
        ino: u32,
        start: u64,
        table: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let from = table.len();
        table.extend_from_slice(&self.bytes);
        let mut inode = InodeMut::new(&mut table[from..], inodes.inode_size)?;
        let raw = inode.raw()?;
        raw.i_generation = inodes.generation(ino).into();
        raw.i_block[START_HIGH].copy_from_slice(&((start >> 32) as u16).to_le_bytes());
        raw.i_block[START_LOW].copy_from_slice(&(start as u32).to_le_bytes());
        if let Some(seed) = inodes.seed {
            inode.seal(seed, ino)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext4::plan::Kind;
    use crate::ext4::{FsType, Layout, Options};

    #[test]
    fn a_copied_inode_equals_one_that_was_filled() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(1 << 30, FsType::Ext4);
        let layout =
            Layout::new(&options, &folder.path().join("image"), &progress::Silent).unwrap();
        let inodes = Inodes::new(&layout);
        let object = Object {
            kind: Kind::File,
            size: 3 * 4096 + 5,
            links: 1,
            permissions: 0o640,
            uid: 70_000,
            ..Object::default()
        };
        let template = InodeTemplate::new(&inodes, &object, 4).unwrap();
        assert!(template.is_of(&object));
        for (ino, start) in [(17, 12_345), (4_000_000_000, 0x1234_5678_9abc)] {
            let mut stamped = vec![7];
            template.write(&inodes, ino, start, &mut stamped).unwrap();
            let mut mapping = Mapping {
                blocks: 4,
                ..Mapping::default()
            };
            mapping.push(0, start..start + 4, false);
            let mut filled = vec![0; 256];
            let generation = inodes.generation(ino);
            let mut inode = inodes
                .fill(&mut filled, generation, &object, &mapping)
                .unwrap();
            inode.seal(inodes.seed.unwrap(), ino).unwrap();
            assert_eq!(stamped[1..], filled);
        }
    }
}
