//! What a reader of the filesystem must find in files.

use super::Contents;
use crate::ext4::plan::{Kind, ObjectId, Objects};
use crate::population::{Role, clear_holes};

impl Contents {
    /// The bytes of a regular file from `from` on; fewer at its end.
    pub fn read(&self, id: ObjectId, from: u64, len: usize) -> Vec<u8> {
        let object = self.object(id);
        if object.kind != Kind::File || from >= object.size {
            return Vec::new();
        }
        let len = (object.size - from).min(len as u64);
        let start = from / 8 * 8;
        let mut bytes = vec![0; (from + len - start) as usize];
        if self.population.profile().contents {
            self.population.fill(id, start, &mut bytes);
        }
        if object.fragmented {
            let mut pieces = Vec::new();
            let blocks = self.format.blocks;
            self.population.cut(id, object.size, blocks, &mut pieces);
            clear_holes(&pieces, blocks.size, start, &mut bytes);
        }
        bytes.split_off((from - start) as usize)
    }

    /// The target of a symbolic link, `None` for anything else. Of an encrypted one what is stored: the length of the ciphertext in
    /// two bytes, and the ciphertext.
    pub fn link_target(&self, id: ObjectId) -> Option<Vec<u8>> {
        match self.population.slots(id.directory).role(id.slot) {
            Role::File(_) => match self.kind(id) {
                (Kind::FastSymlink | Kind::Symlink, length) => Some(self.target(id, length)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The extended attributes of a file, by full names.
    pub fn attributes(&self, id: ObjectId) -> Vec<(String, Vec<u8>)> {
        self.population
            .attributes(id, self.format.longest_attribute())
    }
}
