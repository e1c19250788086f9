//! Extended attributes of files, in the inode, in a block, and with values in inodes of their own; and what else is written
//! into an inode last.

use ondisk::ext4::device::Device;
use ondisk::ext4::inode::InodeMut;
use ondisk::ext4::xattr::{NewEntry, NewValue, value_hash, write_block};

use super::{Contents, inline, xattr_area};
use crate::Error;
use crate::ext4::plan::{Home, Kind, ObjectId, Owed};
use crate::population::{NOTE, Namespace, Role, Slots};

/// Bytes after an inode's fields that both attributes in an inode need at most.
pub(super) const NEEDED: usize = 4 + (20 + NOTE) + 24 + 4;
const USER: u8 = index(Namespace::User);

/// The number of a namespace in an entry (`e_name_index`).
const fn index(namespace: Namespace) -> u8 {
    match namespace {
        Namespace::User => 1,
        Namespace::Trusted => 4,
        Namespace::Security => 6,
    }
}

impl Contents {
    /// Whether a file has something after its inode's fields.
    pub(super) fn attributes_in_inode(&self, slots: &Slots, id: ObjectId, file: u32) -> bool {
        self.population.has_note(id) || slots.owner(file).is_some()
    }

    pub(super) fn attribute_block(
        &self,
        id: ObjectId,
        home: &Home<'_>,
        at: u64,
        block: &mut [u8],
    ) -> Result<(), Error> {
        let what = &self.population;
        let slots = what.slots(id.directory);
        let owners = match slots.role(id.slot) {
            Role::File(file) if what.profile().attributes.block_sharing > 1 => {
                what.sharers(&slots, id, file).count() as u32
            }
            _ => 1,
        };
        let found = what.block_attributes(id, self.format.longest_attribute());
        let entries = found.into_iter().map(|(namespace, name, value)| NewEntry {
            index: index(namespace),
            name: name.into(),
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
        let slots = self.population.slots(id.directory);
        let file = match slots.role(id.slot) {
            Role::File(file) => file,
            Role::Value(value) => return self.finish_value(&slots, id, value, home, inode),
            Role::Directory if self.population.profile().names.encrypted => {
                return xattr_area::write(inode, &[self.context(id)]);
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
                let (major, minor) = self.population.device_number(id);
                let words = Device { major, minor }.to_disk().unwrap_or([0, 0]);
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
        if self.population.has_note(id) {
            entries.push(NewEntry {
                index: USER,
                name: b"note".to_vec(),
                value: NewValue::Here(self.population.note(id)),
            });
        }
        if let Some(value) = self.population.value_of(slots, file) {
            let bytes = self.population.value(id.directory, value);
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
        xattr_area::write(inode, &entries)
    }

    /// Bytes that an owner of a value is charged: whole clusters. Each owner pays for all of it.
    fn value_charge(&self) -> u64 {
        let whole = u64::from(self.format.blocks.size) * u64::from(self.format.blocks.cluster);
        u64::from(self.population.profile().attributes.value_size).next_multiple_of(whole)
    }

    /// Adds the blocks of a value to the space that its owner takes.
    fn charge(&self, inode: &mut InodeMut<'_>) -> Result<(), Error> {
        let block_size = self.format.blocks.size;
        let taken = inode.inode()?.sectors(self.format.huge_file, block_size);
        Ok(inode.set_sectors(taken + self.value_charge() / 512, block_size)?)
    }

    /// What quotas charge an object for its value, whose own inode they do not count.
    pub(super) fn owed_for_values(&self, id: ObjectId) -> Owed {
        let slots = self.population.slots(id.directory);
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
        let hash = value_hash(
            home.superblock.seed(),
            &self.population.value(id.directory, value),
        );
        let raw = inode.raw()?;
        // A reference count has 64 bits: i_ctime above, i_version below. i_mtime and i_generation would name the owner
        // in Lustre's form, and must not.
        raw.i_ctime = 0.into();
        raw.i_osd1 = self.population.references(slots, value).into();
        raw.i_atime = hash.into();
        Ok(())
    }
}
