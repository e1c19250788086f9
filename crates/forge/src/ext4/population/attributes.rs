//! Extended attributes of files, in the inode, in a block, and with values in inodes of their own; and what else is written
//! into an inode last.

use ondisk::ext4::Superblock;
use ondisk::ext4::device::Device;
use ondisk::ext4::inode::InodeMut;
use ondisk::ext4::xattr::{NewEntry, NewValue, value_hash, write_block, write_inode};

use super::Generated;
use super::inline;
use super::random::{below, chance};
use super::slots::{Role, Slots};
use crate::ext4::Error;
use crate::ext4::plan::{Home, Kind, ObjectId, Owed};

/// Bytes behind an inode's fields that both attributes in an inode need at most.
pub(super) const NEEDED: usize = 4 + (20 + NOTE) + 24 + 4;
/// The longest value of the attribute in an inode.
pub(super) const NOTE: usize = 24;
/// `user.`
const USER: u8 = 1;
/// `trusted.`
const TRUSTED: u8 = 4;
/// `security.`
const SECURITY: u8 = 6;

/// Bytes behind an inode's fields, as inodes of this filesystem are made.
pub(super) fn inode_room(sb: &Superblock) -> usize {
    let extra = usize::from(sb.s_want_extra_isize.get().max(32));
    usize::from(sb.inode_size()).saturating_sub(128 + extra)
}

/// Writes attributes behind an inode's fields.
pub(super) fn write_behind(inode: &mut InodeMut<'_>, entries: &[NewEntry]) -> Result<(), Error> {
    let start = 128 + usize::from(inode.inode()?.extra_isize());
    let body = inode.bytes().get_mut(start..).unwrap_or(&mut []);
    Ok(write_inode(body, entries)?)
}

impl Generated {
    /// Whether a file has something behind its inode's fields.
    pub(super) fn attributes_in_inode(&self, slots: &Slots, id: ObjectId, file: u32) -> bool {
        self.has_note(id) || slots.owner(file).is_some()
    }

    /// Users' attributes are for regular files alone, as the kernel has it.
    fn is_regular(&self, id: ObjectId) -> bool {
        self.kind(id).0 == Kind::File
    }

    pub(super) fn has_note(&self, id: ObjectId) -> bool {
        let (key, share) = self.draws.inode_attribute;
        share > 0
            && chance(key.of(id.directory.into(), id.slot.into()), share)
            && self.is_regular(id)
    }

    fn has_block(&self, id: ObjectId) -> bool {
        let (key, share) = self.draws.block_attribute;
        share > 0 && chance(key.of(id.directory.into(), id.slot.into()), share)
    }

    /// Who of a group of files shares a block of attributes, in their order. To be asked no further than needed: a group may have a
    /// thousand files, and each of them is asked for.
    fn sharers(&self, slots: &Slots, id: ObjectId, file: u32) -> impl Iterator<Item = ObjectId> {
        let sharing = self.profile.attributes.block_sharing.max(1);
        let first = file / sharing * sharing;
        let group = first..first.saturating_add(sharing).min(slots.files);
        group
            .map(move |file| ObjectId {
                slot: slots.of_file(file),
                ..id
            })
            .filter(|id| self.has_block(*id))
    }

    /// Who has the block of a file first.
    fn first_sharer(&self, slots: &Slots, id: ObjectId, file: u32) -> ObjectId {
        if self.profile.attributes.block_sharing < 2 {
            return id;
        }
        self.sharers(slots, id, file).next().unwrap_or(id)
    }

    /// Whether the block of a file is another's, too, who has it before.
    pub(super) fn shares_block(&self, slots: &Slots, id: ObjectId, file: u32) -> bool {
        self.first_sharer(slots, id, file) != id
    }

    /// Letters that belong to an object and a number.
    pub(super) fn letters(&self, id: ObjectId, nth: u64, least: u64, most: u64) -> Vec<u8> {
        let random = self
            .draws
            .attribute_value
            .of(u64::from(id.directory) << 32 | u64::from(id.slot), nth);
        let len = least + below(random, most - least + 1);
        (0..len)
            .map(|at| b'a' + (random.rotate_left(at as u32 * 7) % 26) as u8)
            .collect()
    }

    /// The names and values of the attributes in a file's block.
    fn block_entries(&self, id: ObjectId) -> Vec<(u8, &'static [u8], Vec<u8>)> {
        let long = u64::from(self.block_size / 4).min(500);
        let mut entries = vec![
            (TRUSTED, &b"rank"[..], self.letters(id, 2, 0, 12)),
            (SECURITY, &b"label"[..], self.letters(id, 3, 16, 40)),
        ];
        if self.is_regular(id) && self.profile.attributes.block_sharing == 1 {
            entries.push((USER, &b"origin"[..], self.letters(id, 1, 1, long)));
        }
        entries
    }

    /// The bytes of a value that files of a directory share.
    pub(super) fn value(&self, directory: u32, value: u32) -> Vec<u8> {
        let size = self.profile.attributes.value_size as usize;
        let key = self.draws.attribute_value;
        let words = (0..).flat_map(|nth| {
            key.of(u64::from(directory) << 32 | u64::from(value), 1 << 32 | nth)
                .to_le_bytes()
        });
        words.take(size).collect()
    }

    /// How many files have a value.
    fn references(&self, slots: &Slots, value: u32) -> u32 {
        let sharing = self.profile.attributes.value_sharing;
        (slots.owners - value * sharing).min(sharing)
    }

    /// The attributes that a reader finds, by their full names.
    pub(super) fn attributes_of(&self, id: ObjectId) -> Vec<(String, Vec<u8>)> {
        let slots = self.slots_of(id.directory);
        let Role::File(file) = slots.role(id.slot) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        if self.has_note(id) {
            found.push(("user.note".to_owned(), self.letters(id, 0, 1, NOTE as u64)));
        }
        if let Some(owner) = slots.owner(file) {
            let value = owner / self.profile.attributes.value_sharing;
            found.push(("user.value".to_owned(), self.value(id.directory, value)));
        }
        if self.has_block(id) {
            let first = self.first_sharer(&slots, id, file);
            for (index, name, value) in self.block_entries(first) {
                let prefix = ondisk::ext4::xattr::prefix(index).unwrap_or("");
                found.push((format!("{prefix}{}", String::from_utf8_lossy(name)), value));
            }
        }
        found
    }

    pub(super) fn attribute_block(
        &self,
        id: ObjectId,
        home: &Home<'_>,
        at: u64,
        block: &mut [u8],
    ) -> Result<(), Error> {
        let slots = self.slots_of(id.directory);
        let owners = match slots.role(id.slot) {
            Role::File(file) if self.profile.attributes.block_sharing > 1 => {
                self.sharers(&slots, id, file).count() as u32
            }
            _ => 1,
        };
        let entries = self.block_entries(id).into_iter();
        let entries = entries.map(|(index, name, value)| NewEntry {
            index,
            name: name.to_vec(),
            value: NewValue::Here(value),
        });
        let entries: Vec<NewEntry> = entries.collect();
        Ok(write_block(
            block,
            &entries,
            owners,
            at,
            home.superblock.metadata_seed(),
        )?)
    }

    /// What the layout cannot know of an inode.
    pub(super) fn finish(
        &self,
        id: ObjectId,
        home: &Home<'_>,
        inode: &mut InodeMut<'_>,
    ) -> Result<(), Error> {
        let slots = self.slots_of(id.directory);
        let file = match slots.role(id.slot) {
            Role::File(file) => file,
            Role::Value(value) => return self.finish_value(&slots, id, value, home, inode),
            Role::Directory if self.profile.names.encrypted => {
                return write_behind(inode, &[self.context(id)]);
            }
            Role::Directory => return self.finish_directory(&slots, id, home, inode),
            _ => return Ok(()),
        };
        match self.kind(id) {
            (Kind::FastSymlink, length) => {
                let target = self.target(id, length);
                inode.raw()?.i_block[..target.len()].copy_from_slice(&target);
            }
            (Kind::CharacterDevice | Kind::BlockDevice, _) => {
                let words = self.device(id).to_disk().unwrap_or([0, 0]);
                for (place, word) in inode.raw()?.i_block.chunks_exact_mut(4).zip(words) {
                    place.copy_from_slice(&word.to_le_bytes());
                }
            }
            _ => {}
        }
        self.write_attributes(&slots, id, file, home, inode)
    }

    fn write_attributes(
        &self,
        slots: &Slots,
        id: ObjectId,
        file: u32,
        home: &Home<'_>,
        inode: &mut InodeMut<'_>,
    ) -> Result<(), Error> {
        let mut entries = Vec::new();
        let (kind, size) = self.kind(id);
        if self.is_encrypted(kind) {
            entries.push(self.context(id));
        }
        if self.is_inline(slots, id, file, kind, size) {
            let bytes = self.read(id, 0, size as usize);
            entries.push(inline::content(&bytes, &mut inode.raw()?.i_block));
        }
        if self.has_note(id) {
            entries.push(NewEntry {
                index: USER,
                name: b"note".to_vec(),
                value: NewValue::Here(self.letters(id, 0, 1, NOTE as u64)),
            });
        }
        if let Some(owner) = slots.owner(file) {
            let value = owner / self.profile.attributes.value_sharing;
            let bytes = self.value(id.directory, value);
            let slot = slots.of_value(value);
            self.charge(inode)?;
            entries.push(NewEntry {
                index: USER,
                name: b"value".to_vec(),
                value: NewValue::Inode {
                    ino: home.inode(ObjectId { slot, ..id }),
                    size: bytes.len() as u32,
                    hash: value_hash(home.superblock.seed(), &bytes),
                },
            });
        }
        if entries.is_empty() {
            return Ok(());
        }
        write_behind(inode, &entries)
    }

    /// Bytes that an owner of a value is charged: whole clusters. Each owner pays for all of it.
    fn value_charge(&self) -> u64 {
        let whole = u64::from(self.block_size) * u64::from(self.cluster);
        u64::from(self.profile.attributes.value_size).next_multiple_of(whole)
    }

    /// Adds the blocks of a value to the space that its owner takes.
    fn charge(&self, inode: &mut InodeMut<'_>) -> Result<(), Error> {
        let taken = inode.inode()?.sectors(self.huge_file, self.block_size);
        Ok(inode.set_sectors(taken + self.value_charge() / 512, self.block_size)?)
    }

    /// What quotas charge an object for its value, whose own inode they do not count.
    pub(super) fn owed_for_values(&self, id: ObjectId) -> Owed {
        let slots = self.slots_of(id.directory);
        match slots.role(id.slot) {
            Role::File(file) if slots.owner(file).is_some() => Owed {
                bytes: self.value_charge(),
                inodes: 1,
            },
            _ => Owed::default(),
        }
    }

    fn finish_value(
        &self,
        slots: &Slots,
        id: ObjectId,
        value: u32,
        home: &Home<'_>,
        inode: &mut InodeMut<'_>,
    ) -> Result<(), Error> {
        let hash = value_hash(home.superblock.seed(), &self.value(id.directory, value));
        let raw = inode.raw()?;
        // A reference count has 64 bits: i_ctime above, i_version below. i_mtime and i_generation would name the owner
        // in Lustre's form, and must not.
        raw.i_ctime = 0.into();
        raw.i_osd1 = self.references(slots, value).into();
        raw.i_atime = hash.into();
        Ok(())
    }

    /// The number of a device.
    pub(super) fn device(&self, id: ObjectId) -> Device {
        let random = self
            .draws
            .special_kind
            .of(id.slot.into(), id.directory.into());
        Device {
            major: 1 + below(random, 4095) as u32,
            minor: below(random.rotate_left(32), 1 << 20) as u32,
        }
    }
}
