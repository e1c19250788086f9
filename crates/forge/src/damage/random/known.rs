//! What a filesystem has that can be damaged, looked up once while it is sound.

use ondisk::ext4::{FileType, Inode, xattr};

use super::super::error::Error;
use super::super::files::Run;
use super::super::filesystem::Filesystem;

/// The blocks of one inode.
pub(super) struct Owned {
    pub(super) ino: u32,
    pub(super) tree: Vec<(u64, bool)>,
    pub(super) leaves: Vec<u64>,
}

/// Structures that can be damaged.
pub(super) struct Known {
    pub(super) used: Vec<u32>,
    pub(super) directories: Vec<Owned>,
    pub(super) mapped: Vec<Owned>,
    pub(super) attribute_blocks: Vec<u64>,
    pub(super) with_attributes: Vec<(u32, usize)>,
    pub(super) special: Vec<u32>,
}

impl Known {
    pub(super) fn of(fs: &Filesystem<'_>) -> Result<Known, Error> {
        let mut known = Known {
            used: fs.used_inodes()?,
            directories: Vec::new(),
            mapped: Vec::new(),
            attribute_blocks: Vec::new(),
            with_attributes: Vec::new(),
            special: Vec::new(),
        };
        for ino in known.used.clone() {
            let bytes = fs.inode(ino)?;
            let inode = fs.view(&bytes)?;
            if inode.file_acl() != 0 {
                known.attribute_blocks.push(inode.file_acl());
            }
            if xattr::List::of_inode(inode.body()).is_some() {
                known
                    .with_attributes
                    .push((ino, bytes.len() - inode.body().len() + 4));
            }
            if ino < fs.superblock().first_ino() && inode.raw().i_blocks_lo.get() > 0 {
                known.special.push(ino);
            }
            known.add_blocks(fs, ino, &inode)?;
        }
        Ok(known)
    }

    pub(super) fn add_blocks(
        &mut self,
        fs: &Filesystem<'_>,
        ino: u32,
        inode: &Inode<'_>,
    ) -> Result<(), Error> {
        let blocks = fs.blocks(ino)?;
        let extents = inode.has_flags(ondisk::ext4::inode::flag::EXTENTS);
        let is_dir = inode.file_type() == Some(FileType::Directory);
        let each = |run: &Run| run.physical..run.physical + run.len;
        let owned = Owned {
            ino,
            tree: blocks
                .tree
                .iter()
                .map(|(block, _)| (*block, extents))
                .collect(),
            leaves: if is_dir {
                blocks.data.iter().flat_map(each).collect()
            } else {
                Vec::new()
            },
        };
        if is_dir && !owned.leaves.is_empty() {
            self.directories.push(owned);
        } else if !owned.tree.is_empty() {
            self.mapped.push(owned);
        }
        Ok(())
    }
}
