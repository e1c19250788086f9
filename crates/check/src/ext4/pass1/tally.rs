//! Counts of pass 1: files by type, fragmentation, space by owner.

use std::collections::BTreeMap;

use ondisk::ext4::{FileType, Inode};

use crate::frame::report::{Facts, FileCounts};

/// What `e2fsck -v` prints at its end, as far as inodes show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// Files by type.
    pub(crate) files: FileCounts,
    /// Symbolic links with the target in the inode.
    pub(crate) fast_symlinks: u64,
    /// Inodes with singly, doubly, triply indirect blocks.
    pub(crate) indirect: [u64; 3],
    /// Inodes by the depth of their extent tree; the last counts all deeper ones.
    pub(crate) extent_depth: [u64; 6],
    /// Regular files of 2 GiB and more, which need a feature.
    pub(crate) large_files: u64,
    /// Blocks on the bad-block list.
    pub(crate) bad_blocks: u64,
}

impl Statistics {
    /// Counts a file.
    pub(super) fn count(&mut self, file_type: FileType) {
        let files = &mut self.files;
        let count = match file_type {
            FileType::Regular => &mut files.regular,
            FileType::Directory => &mut files.directories,
            FileType::CharDevice => &mut files.char_devices,
            FileType::BlockDevice => &mut files.block_devices,
            FileType::Fifo => &mut files.fifos,
            FileType::Socket => &mut files.sockets,
            FileType::Symlink => &mut files.symlinks,
        };
        *count += 1;
    }

    /// Adds another worker's.
    pub(super) fn add(&mut self, other: &Statistics) {
        let (files, more) = (&mut self.files, &other.files);
        files.inodes += more.inodes;
        files.regular += more.regular;
        files.directories += more.directories;
        files.char_devices += more.char_devices;
        files.block_devices += more.block_devices;
        files.fifos += more.fifos;
        files.sockets += more.sockets;
        files.symlinks += more.symlinks;
        files.fragmented_files += more.fragmented_files;
        files.fragmented_directories += more.fragmented_directories;
        self.fast_symlinks += other.fast_symlinks;
        for (sum, part) in self.indirect.iter_mut().zip(other.indirect) {
            *sum += part;
        }
        for (sum, part) in self.extent_depth.iter_mut().zip(other.extent_depth) {
            *sum += part;
        }
        self.large_files += other.large_files;
        self.bad_blocks += other.bad_blocks;
    }

    /// The counts that only this format has, as reports name them.
    pub(crate) fn facts(&self) -> Facts {
        Facts(vec![
            ("fast_symlinks", self.fast_symlinks.into()),
            ("indirect", self.indirect.as_slice().into()),
            ("extent_depth", self.extent_depth.as_slice().into()),
            ("large_files", self.large_files.into()),
            ("bad_blocks", self.bad_blocks.into()),
        ])
    }
}

/// What one owner uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnerUsage {
    /// Bytes in whole clusters.
    pub(crate) bytes: u64,
    /// Inodes.
    pub(crate) inodes: u64,
}

/// What every user, group and project uses, to compare with the quota files. Empty without the feature.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners {
    /// By user.
    pub(crate) users: BTreeMap<u32, OwnerUsage>,
    /// By group.
    pub(crate) groups: BTreeMap<u32, OwnerUsage>,
    /// By project.
    pub(crate) projects: BTreeMap<u32, OwnerUsage>,
}

impl Owners {
    /// Charges the owners of an inode.
    pub(super) fn charge(&mut self, inode: &Inode<'_>, bytes: u64, inodes: u64) {
        let maps = [&mut self.users, &mut self.groups, &mut self.projects];
        let ids = [inode.uid(), inode.gid(), inode.projid()];
        for (map, id) in maps.into_iter().zip(ids) {
            let taken = map.entry(id).or_default();
            taken.bytes = taken.bytes.wrapping_add(bytes);
            taken.inodes = taken.inodes.wrapping_add(inodes);
        }
    }

    /// Adds another worker's.
    pub(super) fn join(&mut self, other: Owners) {
        let pairs = [
            (&mut self.users, other.users),
            (&mut self.groups, other.groups),
            (&mut self.projects, other.projects),
        ];
        for (map, theirs) in pairs {
            for (id, more) in theirs {
                let taken = map.entry(id).or_default();
                taken.bytes = taken.bytes.wrapping_add(more.bytes);
                taken.inodes = taken.inodes.wrapping_add(more.inodes);
            }
        }
    }
}
