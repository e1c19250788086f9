//! What each file is: its kind, size, owner and project.

use super::random::{Key, below, chance};
use super::slots::Role;
use super::{ObjectId, Population};

/// The kind of an inode that is no directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file of this many bytes.
    Regular(u64),
    /// A symbolic link; its target has this many bytes, before any encryption.
    Symlink(u64),
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
}

impl Population {
    /// The kind of a file.
    pub fn file_kind(&self, id: ObjectId) -> FileKind {
        const SPECIAL: [FileKind; 4] = [
            FileKind::Fifo,
            FileKind::Socket,
            FileKind::CharacterDevice,
            FileKind::BlockDevice,
        ];
        let (a, b) = (u64::from(id.directory), u64::from(id.slot));
        let keys = &self.keys;
        if self.has_other_kinds() && !self.owns_value(id) {
            let kind = keys.kind.of(a, b);
            if chance(kind, keys.symlinks) {
                return FileKind::Symlink(self.target_length(id));
            }
            if chance(kind, keys.symlinks_and_special) {
                let nth = below(keys.special_kind.of(a, b), 4) as usize;
                return SPECIAL.get(nth).copied().unwrap_or(FileKind::Fifo);
            }
        }
        FileKind::Regular(match self.profile.file_size.only() {
            Some(size) => size,
            None => self.profile.file_size.draw(keys.size.of(a, b)),
        })
    }

    /// Whether any file is something else than a regular one.
    pub(crate) fn has_other_kinds(&self) -> bool {
        self.keys.symlinks_and_special > 0
    }

    /// The size of every file, where all are regular files of one size and nothing else distinguishes them.
    pub(crate) fn plain_size(&self) -> Option<u64> {
        self.keys.plain_size
    }

    /// Whether a regular file of several blocks is in pieces.
    pub(crate) fn is_fragmented(&self, id: ObjectId) -> bool {
        drawn(id, self.keys.fragmented)
    }

    /// Whether free space follows a file that is in one piece.
    pub(crate) fn has_gap(&self, id: ObjectId) -> bool {
        drawn(id, self.keys.gap)
    }

    /// The user and the group that a file belongs to.
    pub(crate) fn owner(&self, id: ObjectId) -> u32 {
        match u64::from(self.profile.owners) {
            0 => 0,
            n => 1000 + below(self.keys.owner.of(id.directory.into(), id.slot.into()), n) as u32,
        }
    }

    /// The project of a directory and its files: that of the directory in the root above it, as it is inherited.
    pub(crate) fn project(&self, directory: u32) -> u32 {
        if directory == 0 || self.profile.projects == 0 {
            return 0;
        }
        let mut top = directory;
        loop {
            match self.tree.parent(top) {
                0 => break,
                parent => top = parent,
            }
        }
        1 + below(
            self.keys.project.of(top.into(), 0),
            self.profile.projects.into(),
        ) as u32
    }

    /// Major and minor number of a device.
    pub fn device_number(&self, id: ObjectId) -> (u32, u32) {
        let random = self
            .keys
            .special_kind
            .of(id.slot.into(), id.directory.into());
        (
            1 + below(random, 4095) as u32,
            below(random.rotate_left(32), 1 << 20) as u32,
        )
    }

    /// Whether a file has a value in another inode. Those are regular files: no user may give a link an attribute.
    fn owns_value(&self, id: ObjectId) -> bool {
        if self.profile.attributes.value <= 0.0 {
            return false;
        }
        let slots = self.slots(id.directory);
        match slots.role(id.slot) {
            Role::File(file) => slots.owner(file).is_some(),
            _ => false,
        }
    }

    fn target_length(&self, id: ObjectId) -> u64 {
        let random = self
            .keys
            .target_length
            .of(id.directory.into(), id.slot.into());
        match &self.profile.kinds.target_length {
            Some(length) => length.draw(random),
            None => 20,
        }
    }
}

/// Whether a share of the files, drawn by its own key, includes this one.
pub(super) fn drawn(id: ObjectId, (key, share): (Key, u64)) -> bool {
    share > 0 && chance(key.of(id.directory.into(), id.slot.into()), share)
}
