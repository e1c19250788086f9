//! What a reader of the filesystem must find.

use super::names::Class;
use super::slots::Role;
use super::template::{LOST_AND_FOUND, Target};
use super::{Generated, Piece};
use crate::ext4::plan::{Kind, ObjectId, Population};

/// What a name of a directory stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Listed {
    /// The directory for what a repair finds.
    LostAndFound,
    /// A subdirectory, by its number.
    Directory(u32),
    /// A file; several names may stand for the same.
    File(ObjectId),
}

/// A name of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// The name.
    pub name: Vec<u8>,
    /// What it stands for.
    pub what: Listed,
}

impl Generated {
    /// The profile it was made of.
    pub fn profile(&self) -> &super::Profile {
        &self.profile
    }

    /// The parent of a directory; the root's is the root.
    pub fn parent(&self, directory: u32) -> u32 {
        self.tree.parent(directory)
    }

    /// The names of a directory but `.` and `..`, in the order of their making.
    pub fn list(&self, directory: u32) -> Vec<Named> {
        let slots = self.slots_of(directory);
        let set = slots.set;
        let name = |class, number| {
            let mut place = [0; 255];
            let len = self.nursery.names.make(set, class, number, &mut place);
            place[..len.into()].to_vec()
        };
        let first = self.tree.children(directory).start;
        let targets = self.tale(directory, &slots).targets();
        let named = targets.into_iter().map(|target| match target {
            Target::LostAndFound | Target::Gone => Named {
                name: LOST_AND_FOUND.to_vec(),
                what: Listed::LostAndFound,
            },
            Target::Subdirectory(nth) => Named {
                name: name(Class::Subdirectory, nth),
                what: Listed::Directory(first + nth),
            },
            Target::File(slot) => Named {
                name: name(Class::File, slot),
                what: Listed::File(ObjectId { directory, slot }),
            },
            Target::Link(nth) => Named {
                name: name(Class::Link, nth),
                what: Listed::File(self.link(directory, nth)),
            },
        });
        named.collect()
    }

    /// The bytes of a regular file from `from` on; fewer at its end.
    pub fn read(&self, id: ObjectId, from: u64, len: usize) -> Vec<u8> {
        let object = self.object(id);
        if object.kind != Kind::File || from >= object.size {
            return Vec::new();
        }
        let len = (object.size - from).min(len as u64);
        let start = from / 8 * 8;
        let mut bytes = vec![0; (from + len - start) as usize];
        if self.profile.contents {
            self.fill(id, start, &mut bytes);
        }
        if object.fragmented {
            let mut pieces = Vec::new();
            self.cut(id, object.size, &mut pieces);
            self.clear_holes(&pieces, start, &mut bytes);
        }
        bytes.split_off((from - start) as usize)
    }

    /// Makes zeros of what is no written block.
    fn clear_holes(&self, pieces: &[Piece], start: u64, bytes: &mut [u8]) {
        let end = start + bytes.len() as u64;
        let block_size = u64::from(self.block_size);
        let mut clear = |from: u64, to: u64| {
            let (from, to) = (from.clamp(start, end), to.clamp(start, end));
            bytes[(from - start) as usize..(to - start) as usize].fill(0);
        };
        let mut at = 0;
        for piece in pieces {
            let data = at + u64::from(piece.hole) * block_size;
            clear(at, data);
            at = data + u64::from(piece.blocks) * block_size;
            if piece.unwritten {
                clear(data, at);
            }
        }
    }

    /// The target of a symbolic link, `None` for anything else. Of an encrypted one what is stored: the length of the ciphertext in
    /// two bytes, and the ciphertext.
    pub fn link_target(&self, id: ObjectId) -> Option<Vec<u8>> {
        match self.slots_of(id.directory).role(id.slot) {
            Role::File(_) => match self.kind(id) {
                (Kind::FastSymlink | Kind::Symlink, length) => Some(self.target(id, length)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Major and minor number of a device.
    pub fn device_number(&self, id: ObjectId) -> (u32, u32) {
        let device = self.device(id);
        (device.major, device.minor)
    }

    /// The extended attributes of a file, by full names.
    pub fn attributes(&self, id: ObjectId) -> Vec<(String, Vec<u8>)> {
        self.attributes_of(id)
    }
}
