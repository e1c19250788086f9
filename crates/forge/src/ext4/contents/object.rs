//! What each slot holds.

use ondisk::ext4::inline::IN_BLOCK;
use ondisk::ext4::inode::flag;

use super::{Contents, encrypted};
use crate::ext4::plan::{Kind, Object, ObjectId};
use crate::population::{FileKind, Role, Slots};

impl Contents {
    /// A directory as an object.
    fn directory(&self, directory: u32) -> Object {
        let (blocks, more) = self.sizes.of(directory, || match self.template(directory) {
            Ok(template) => (template.blocks(), template.has_more()),
            Err(full) => {
                let _ = self.full.set(full);
                (1, false)
            }
        });
        let subdirectories = self.population.children(directory).len() as u32;
        let (size, flags) = match (blocks, more) {
            (0, false) => (IN_BLOCK as u64, flag::INLINE_DATA),
            (0, true) => {
                let more = self.format.inline.unwrap_or(0);
                (IN_BLOCK as u64 + u64::from(more), flag::INLINE_DATA)
            }
            (_, more) => (
                u64::from(blocks) * u64::from(self.format.blocks.size),
                if more { flag::INDEX } else { 0 },
            ),
        };
        Object {
            kind: Kind::Directory,
            size,
            links: 2 + subdirectories + u32::from(directory == 0),
            permissions: 0o755,
            project: self.population.project(directory),
            flags: flags | self.directory_flags(directory),
            finish: blocks == 0 || self.population.profile().names.encrypted && directory > 0,
            content: blocks > 0,
            ..Object::default()
        }
    }

    /// A file by its slot and its number among the directory's files.
    pub(super) fn file(&self, slots: &Slots, id: ObjectId, file: u32) -> Object {
        if let Some(plain) = self.plain {
            return plain;
        }
        let what = &self.population;
        let directory = id.directory;
        let (kind, size) = self.kind(id);
        let further = what.further_names(directory, file, slots.files);
        let owner = what.owner(id);
        let inline = self.is_inline(slots, id, file, kind, size);
        let regular = kind == Kind::File && !inline;
        let blocks = size.div_ceil(self.format.blocks.size.into());
        let fragmented = regular && blocks > 1 && what.is_fragmented(id);
        let gap = !fragmented && !inline && kind.has_blocks() && what.has_gap(id);
        let in_inode = self.attributes_in_inode(slots, id, file);
        let xattr_block = what.has_attribute_block(id);
        let encrypted = self.is_encrypted(kind);
        Object {
            kind,
            size,
            links: 1 + further,
            permissions: if matches!(kind, Kind::FastSymlink | Kind::Symlink) {
                0o777
            } else {
                0o644
            },
            uid: owner,
            gid: owner,
            project: self.population.project(directory),
            fragmented,
            gap: if gap { what.free_run(id, 0) } else { 0 },
            xattr_block,
            xattr_shared: xattr_block && what.shares_block(slots, id, file),
            flags: if encrypted {
                flag::ENCRYPT
            } else if inline {
                flag::INLINE_DATA
            } else {
                0
            },
            finish: in_inode
                || inline
                || encrypted
                || matches!(
                    kind,
                    Kind::FastSymlink | Kind::CharacterDevice | Kind::BlockDevice
                ),
            content: kind == Kind::Symlink
                || (regular && size > 0 && self.population.profile().contents),
            ..Object::default()
        }
    }

    /// Further flags of directories below the root.
    fn directory_flags(&self, directory: u32) -> u32 {
        let names = &self.population.profile().names;
        let mut flags = 0;
        if directory > 0 && names.encrypted {
            flags |= flag::ENCRYPT;
        }
        if directory > 0 && names.casefold {
            flags |= flag::CASEFOLD;
        }
        if directory > 0 && self.population.profile().projects > 0 {
            flags |= flag::PROJINHERIT;
        }
        flags
    }

    /// Kind and size of a file. A target of fewer than 60 bytes is in the inode.
    pub(super) fn kind(&self, id: ObjectId) -> (Kind, u64) {
        match self.population.file_kind(id) {
            FileKind::Regular(size) => (Kind::File, size),
            FileKind::Symlink(length) => {
                let stored = if self.population.profile().names.encrypted {
                    encrypted::stored_target(length, self.format.blocks.size)
                } else {
                    length
                };
                let fast = stored < 60;
                let kind = if fast {
                    Kind::FastSymlink
                } else {
                    Kind::Symlink
                };
                (kind, stored)
            }
            FileKind::CharacterDevice => (Kind::CharacterDevice, 0),
            FileKind::BlockDevice => (Kind::BlockDevice, 0),
            FileKind::Fifo => (Kind::Fifo, 0),
            FileKind::Socket => (Kind::Socket, 0),
        }
    }

    pub(super) fn object_of(&self, slots: &Slots, id: ObjectId) -> Object {
        match slots.role(id.slot) {
            Role::Directory => self.directory(id.directory),
            Role::File(file) => self.file(slots, id, file),
            Role::Value(_) => Object {
                kind: Kind::Value,
                size: self.population.profile().attributes.value_size.into(),
                links: 1,
                permissions: 0o600,
                flags: flag::EA_INODE,
                finish: true,
                content: true,
                ..Object::default()
            },
            Role::Free | Role::Nothing => Object::default(),
        }
    }
}
