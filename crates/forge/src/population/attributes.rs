//! Extended attributes: which files have them, and their names and values.

use super::files::drawn;
use super::random::below;
use super::slots::{Role, Slots};
use super::{FileKind, ObjectId, Population};

/// The longest value of the attribute in an inode, bytes.
pub(crate) const NOTE: usize = 24;

/// The namespace of an attribute's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespace {
    User,
    Trusted,
    Security,
}

impl Namespace {
    /// The prefix that readers see.
    fn prefix(self) -> &'static str {
        match self {
            Self::User => "user.",
            Self::Trusted => "trusted.",
            Self::Security => "security.",
        }
    }
}

impl Population {
    /// Users' attributes are for regular files alone, as in the kernel.
    fn is_regular(&self, id: ObjectId) -> bool {
        matches!(self.file_kind(id), FileKind::Regular(_))
    }

    /// Whether a file has the small attribute in its inode.
    pub(crate) fn has_note(&self, id: ObjectId) -> bool {
        drawn(id, self.keys.inode_attribute) && self.is_regular(id)
    }

    /// The value of the small attribute in an inode.
    pub(crate) fn note(&self, id: ObjectId) -> Vec<u8> {
        self.letters(id, 0, 1, NOTE as u64)
    }

    /// Whether a file has a block of attributes, its own or a shared one.
    pub(crate) fn has_attribute_block(&self, id: ObjectId) -> bool {
        drawn(id, self.keys.block_attribute)
    }

    /// The files of a group that share a block of attributes, in their order. To be iterated no
    /// further than needed: a group may have a thousand files, and each costs a query.
    pub(crate) fn sharers(
        &self,
        slots: &Slots,
        id: ObjectId,
        file: u32,
    ) -> impl Iterator<Item = ObjectId> {
        let sharing = self.profile.attributes.block_sharing.max(1);
        let first = file / sharing * sharing;
        let group = first..first.saturating_add(sharing).min(slots.files);
        group
            .map(move |file| ObjectId {
                slot: slots.of_file(file),
                ..id
            })
            .filter(|id| self.has_attribute_block(*id))
    }

    /// The first file that has the block of this one.
    fn first_sharer(&self, slots: &Slots, id: ObjectId, file: u32) -> ObjectId {
        if self.profile.attributes.block_sharing < 2 {
            return id;
        }
        self.sharers(slots, id, file).next().unwrap_or(id)
    }

    /// Whether a file before this one has the same block of attributes.
    pub(crate) fn shares_block(&self, slots: &Slots, id: ObjectId, file: u32) -> bool {
        self.first_sharer(slots, id, file) != id
    }

    /// `least` to `most` letters that belong to an object and a number.
    fn letters(&self, id: ObjectId, nth: u64, least: u64, most: u64) -> Vec<u8> {
        let random = self
            .keys
            .attribute_value
            .of(u64::from(id.directory) << 32 | u64::from(id.slot), nth);
        let len = least + below(random, most - least + 1);
        (0..len)
            .map(|at| b'a' + (random.rotate_left(at as u32 * 7) % 26) as u8)
            .collect()
    }

    /// Names and values of the attributes in a file's block; no value is longer than `longest` bytes.
    pub(crate) fn block_attributes(
        &self,
        id: ObjectId,
        longest: u64,
    ) -> Vec<(Namespace, &'static str, Vec<u8>)> {
        let mut found = vec![
            (Namespace::Trusted, "rank", self.letters(id, 2, 0, 12)),
            (Namespace::Security, "label", self.letters(id, 3, 16, 40)),
        ];
        if self.is_regular(id) && self.profile.attributes.block_sharing == 1 {
            found.push((Namespace::User, "origin", self.letters(id, 1, 1, longest)));
        }
        found
    }

    /// The bytes of a value that files of a directory share.
    pub(crate) fn value(&self, directory: u32, value: u32) -> Vec<u8> {
        let size = self.profile.attributes.value_size as usize;
        let key = self.keys.attribute_value;
        let words = (0..).flat_map(|nth| {
            key.of(u64::from(directory) << 32 | u64::from(value), 1 << 32 | nth)
                .to_le_bytes()
        });
        words.take(size).collect()
    }

    /// The number of the value that a file has, if it has one.
    pub(crate) fn value_of(&self, slots: &Slots, file: u32) -> Option<u32> {
        let owner = slots.owner(file)?;
        Some(owner / self.profile.attributes.value_sharing)
    }

    /// How many files have a value.
    pub(crate) fn references(&self, slots: &Slots, value: u32) -> u32 {
        let sharing = self.profile.attributes.value_sharing;
        (slots.owners - value * sharing).min(sharing)
    }

    /// The attributes that a reader finds, by their full names.
    pub(crate) fn attributes(&self, id: ObjectId, longest: u64) -> Vec<(String, Vec<u8>)> {
        let slots = self.slots(id.directory);
        let Role::File(file) = slots.role(id.slot) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        if self.has_note(id) {
            found.push(("user.note".to_owned(), self.note(id)));
        }
        if let Some(value) = self.value_of(&slots, file) {
            found.push(("user.value".to_owned(), self.value(id.directory, value)));
        }
        if self.has_attribute_block(id) {
            let first = self.first_sharer(&slots, id, file);
            for (namespace, name, value) in self.block_attributes(first, longest) {
                found.push((format!("{}{name}", namespace.prefix()), value));
            }
        }
        found
    }
}
