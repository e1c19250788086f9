//! What is counted by the way: kinds of files, fragmentation, space by owner.

use std::collections::BTreeMap;

use ondisk::ext4::{FileType, Inode};
use serde::Serialize;

/// What e2fsck -v prints at its end, as far as inodes say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// Inodes in use, reserved ones included.
    pub inodes: u64,
    /// Regular files.
    pub regular: u64,
    /// Directories.
    pub directories: u64,
    /// Character devices.
    pub char_devices: u64,
    /// Block devices.
    pub block_devices: u64,
    /// Pipes.
    pub fifos: u64,
    /// Sockets.
    pub sockets: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Those of them with the target in the inode.
    pub fast_symlinks: u64,
    /// Files whose blocks do not follow each other.
    pub fragmented_files: u64,
    /// Directories likewise.
    pub fragmented_directories: u64,
    /// Inodes with singly, doubly, triply indirect blocks.
    pub indirect: [u64; 3],
    /// Inodes by the depth of their extent tree; the last counts all deeper ones.
    pub extent_depth: [u64; 6],
    /// Regular files of 2 GiB and more, which ask for a feature.
    pub large_files: u64,
    /// Blocks on the list of bad ones.
    pub bad_blocks: u64,
}

impl Statistics {
    /// Counts a kind.
    pub(super) fn count(&mut self, kind: FileType) {
        let place = match kind {
            FileType::Regular => &mut self.regular,
            FileType::Directory => &mut self.directories,
            FileType::CharDevice => &mut self.char_devices,
            FileType::BlockDevice => &mut self.block_devices,
            FileType::Fifo => &mut self.fifos,
            FileType::Socket => &mut self.sockets,
            FileType::Symlink => &mut self.symlinks,
        };
        *place += 1;
    }

    /// Adds another worker's.
    pub(super) fn add(&mut self, other: &Statistics) {
        self.inodes += other.inodes;
        self.regular += other.regular;
        self.directories += other.directories;
        self.char_devices += other.char_devices;
        self.block_devices += other.block_devices;
        self.fifos += other.fifos;
        self.sockets += other.sockets;
        self.symlinks += other.symlinks;
        self.fast_symlinks += other.fast_symlinks;
        self.fragmented_files += other.fragmented_files;
        self.fragmented_directories += other.fragmented_directories;
        for (sum, part) in self.indirect.iter_mut().zip(other.indirect) {
            *sum += part;
        }
        for (sum, part) in self.extent_depth.iter_mut().zip(other.extent_depth) {
            *sum += part;
        }
        self.large_files += other.large_files;
        self.bad_blocks += other.bad_blocks;
    }
}

/// What one owner takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Bytes, whole clusters.
    pub bytes: u64,
    /// Inodes.
    pub inodes: u64,
}

/// What every user, group and project takes, for the quota files. Empty without the feature.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    /// By user.
    pub users: BTreeMap<u32, Taken>,
    /// By group.
    pub groups: BTreeMap<u32, Taken>,
    /// By project.
    pub projects: BTreeMap<u32, Taken>,
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
