//! What each slot holds.

use ondisk::ext4::inline::IN_BLOCK;
use ondisk::ext4::inode::flag;

use super::Generated;
use super::encrypted;
use super::random::{Key, below, chance};
use super::slots::{Role, Slots};
use crate::ext4::plan::{Kind, Object, ObjectId};

impl Generated {
    /// A directory as an object.
    fn directory(&self, directory: u32) -> Object {
        let (blocks, more) = self.sizes.of(directory, || match self.template(directory) {
            Ok(template) => (template.blocks(), template.has_more()),
            Err(full) => {
                let _ = self.full.set(full);
                (1, false)
            }
        });
        let subdirectories = self.tree.children(directory).len() as u32;
        let (size, flags) = match (blocks, more) {
            (0, false) => (IN_BLOCK as u64, flag::INLINE_DATA),
            (0, true) => {
                let more = self.nursery.rules.inline.unwrap_or(0);
                (IN_BLOCK as u64 + u64::from(more), flag::INLINE_DATA)
            }
            (_, more) => (
                u64::from(blocks) * u64::from(self.block_size),
                if more { flag::INDEX } else { 0 },
            ),
        };
        Object {
            kind: Kind::Directory,
            size,
            links: 2 + subdirectories + u32::from(directory == 0),
            permissions: 0o755,
            project: self.project(directory),
            flags: flags | self.directory_flags(directory),
            finish: blocks == 0 || self.profile.names.encrypted && directory > 0,
            content: blocks > 0,
            ..Object::default()
        }
    }

    /// A file by its slot and its number among the directory's files.
    pub(super) fn file(&self, slots: &Slots, id: ObjectId, file: u32) -> Object {
        if let Some(plain) = self.draws.plain {
            return plain;
        }
        let ObjectId { directory, slot } = id;
        let draw = |(key, share): (Key, u64)| chance(key.of(directory.into(), slot.into()), share);
        let (kind, size) = self.kind(id);
        let further = self.further_names(directory, file, slots.files);
        let owners = u64::from(self.profile.owners);
        let owner = match owners {
            0 => 0,
            n => 1000 + below(self.draws.owner.of(directory.into(), slot.into()), n) as u32,
        };
        let inline = self.is_inline(slots, id, file, kind, size);
        let regular = kind == Kind::File && !inline;
        let blocks = size.div_ceil(self.block_size.into());
        let fragmented = regular && blocks > 1 && draw(self.draws.fragmented);
        let gap = !fragmented && !inline && kind.has_blocks() && draw(self.draws.gap);
        let in_inode = self.attributes_in_inode(slots, id, file);
        let xattr_block = draw(self.draws.block_attribute);
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
            project: self.project(directory),
            fragmented,
            gap: if gap { self.free_run(id, 0) } else { 0 },
            xattr_block,
            xattr_shared: xattr_block && self.shares_block(slots, id, file),
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
            content: kind == Kind::Symlink || (regular && size > 0 && self.profile.contents),
            ..Object::default()
        }
    }

    /// What directories below the root are besides.
    fn directory_flags(&self, directory: u32) -> u32 {
        let names = &self.profile.names;
        let mut flags = 0;
        if directory > 0 && names.encrypted {
            flags |= flag::ENCRYPT;
        }
        if directory > 0 && names.casefold {
            flags |= flag::CASEFOLD;
        }
        if directory > 0 && self.profile.projects > 0 {
            flags |= flag::PROJINHERIT;
        }
        flags
    }

    /// The project of a directory and its files: that of the directory in the root above it, as it is inherited.
    fn project(&self, directory: u32) -> u32 {
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
            self.draws.project.of(top.into(), 0),
            self.profile.projects.into(),
        ) as u32
    }

    /// Kind and size of a file.
    pub(super) fn kind(&self, id: ObjectId) -> (Kind, u64) {
        let (a, b) = (u64::from(id.directory), u64::from(id.slot));
        let draws = &self.draws;
        if draws.symlinks_and_special > 0 && !self.owns_value(id) {
            let kind = draws.kind.of(a, b);
            if chance(kind, draws.symlinks) {
                let mut length = self.target_length(id);
                if self.profile.names.encrypted {
                    length = encrypted::stored_target(length, self.block_size);
                }
                let fast = length < 60;
                return (
                    if fast {
                        Kind::FastSymlink
                    } else {
                        Kind::Symlink
                    },
                    length,
                );
            }
            if chance(kind, draws.symlinks_and_special) {
                const SPECIAL: [Kind; 4] = [
                    Kind::Fifo,
                    Kind::Socket,
                    Kind::CharacterDevice,
                    Kind::BlockDevice,
                ];
                let nth = below(draws.special_kind.of(a, b), 4) as usize;
                return (SPECIAL.get(nth).copied().unwrap_or(Kind::Fifo), 0);
            }
        }
        let size = match self.profile.file_size.only() {
            Some(size) => size,
            None => self.profile.file_size.draw(draws.size.of(a, b)),
        };
        (Kind::File, size)
    }

    /// Whether a file has a value in another inode. Those are regular files: no user may give a link an attribute.
    fn owns_value(&self, id: ObjectId) -> bool {
        if self.profile.attributes.value <= 0.0 {
            return false;
        }
        let slots = self.slots_of(id.directory);
        match slots.role(id.slot) {
            Role::File(file) => slots.owner(file).is_some(),
            _ => false,
        }
    }

    fn target_length(&self, id: ObjectId) -> u64 {
        let random = self
            .draws
            .target_length
            .of(id.directory.into(), id.slot.into());
        match &self.profile.kinds.target_length {
            Some(length) => length.draw(random),
            None => 20,
        }
    }

    pub(super) fn object_of(&self, slots: &Slots, id: ObjectId) -> Object {
        match slots.role(id.slot) {
            Role::Directory => self.directory(id.directory),
            Role::File(file) => self.file(slots, id, file),
            Role::Value(_) => Object {
                kind: Kind::Value,
                size: self.profile.attributes.value_size.into(),
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
