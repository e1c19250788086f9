//! The blocks of directories, files, targets and values.

use std::sync::PoisonError;

use ondisk::ext4::FileType;
use ondisk::ext4::inline::IN_BLOCK;

use super::Contents;
use super::directory_cache::{Packed, Template};
use crate::Error;
use crate::ext4::directory::{Entry, Identity};
use crate::ext4::plan::{Blocks, Home, Kind, ObjectId, Piece};
use crate::population::{Class, LOST_AND_FOUND, Role, Slots, Target};

/// Bytes that are made at once.
const CHUNK: usize = 256 << 10;

/// Inode numbers of a directory's slots.
struct Inodes {
    /// First slot, its inode number; each continues with the next.
    runs: Vec<(u32, u32)>,
}

impl Inodes {
    fn of(directory: u32, slots: u32, home: &Home<'_>) -> Self {
        let mut runs = Vec::new();
        let mut slot = 0;
        while slot < slots {
            let (ino, count) = home.run(ObjectId { directory, slot });
            runs.push((slot, ino));
            slot = slot.saturating_add(count.max(1));
        }
        Self { runs }
    }

    fn get(&self, slot: u32) -> u32 {
        let after = self.runs.partition_point(|(first, _)| *first <= slot);
        let run = after.checked_sub(1).and_then(|nth| self.runs.get(nth));
        run.map_or(0, |(first, ino)| ino + (slot - first))
    }
}

impl Contents {
    pub(super) fn write_content(
        &self,
        id: ObjectId,
        home: &Home<'_>,
        blocks: &mut dyn Blocks,
    ) -> Result<(), Error> {
        let slots = self.population.slots(id.directory);
        match slots.role(id.slot) {
            Role::Directory => self.write_directory(id.directory, &slots, home, blocks),
            Role::Value(value) => {
                self.write_short(&self.population.value(id.directory, value), blocks)
            }
            Role::File(file) => match self.kind(id) {
                (Kind::Symlink, length) => self.write_short(&self.target(id, length), blocks),
                (Kind::File, _) if self.population.profile().contents => {
                    let object = self.file(&slots, id, file);
                    let mut pieces = Vec::new();
                    if object.fragmented {
                        self.population
                            .cut(id, object.size, self.format.blocks, &mut pieces);
                    } else {
                        pieces.push(Piece {
                            blocks: object.size.div_ceil(self.format.blocks.size.into()) as u32,
                            ..Piece::default()
                        });
                    }
                    self.write_file(id, object.size, &pieces, blocks)
                }
                _ => Ok(()),
            },
            Role::Free | Role::Nothing => Ok(()),
        }
    }

    /// Writes bytes and fills their last block with zeros.
    fn write_short(&self, bytes: &[u8], blocks: &mut dyn Blocks) -> Result<(), Error> {
        let mut whole = bytes.to_vec();
        whole.resize(
            bytes
                .len()
                .next_multiple_of(self.format.blocks.size as usize),
            0,
        );
        blocks.write(0, &whole)
    }

    fn write_file(
        &self,
        id: ObjectId,
        size: u64,
        pieces: &[Piece],
        blocks: &mut dyn Blocks,
    ) -> Result<(), Error> {
        let block_size = self.format.blocks.size as usize;
        let most = (CHUNK / block_size) as u32;
        let mut bytes = Vec::new();
        let mut at = 0;
        for piece in pieces {
            at += piece.hole;
            let end = at + piece.blocks;
            if piece.unwritten {
                at = end;
            }
            while at < end {
                let count = (end - at).min(most);
                bytes.clear();
                bytes.resize(count as usize * block_size, 0);
                let first = u64::from(at) * u64::from(self.format.blocks.size);
                let len = (size - first).min(bytes.len() as u64) as usize;
                self.population.fill(id, first, &mut bytes[..len]);
                blocks.write(at, &bytes)?;
                at += count;
            }
        }
        Ok(())
    }

    fn write_directory(
        &self,
        directory: u32,
        slots: &Slots,
        home: &Home<'_>,
        blocks: &mut dyn Blocks,
    ) -> Result<(), Error> {
        if let Some(full) = self.full.get() {
            return Err(Error::Option(full.to_string()));
        }
        let template = self
            .template(directory)
            .map_err(|full| Error::Option(full.to_string()))?;
        let inodes = Inodes::of(directory, slots.total(), home);
        let own = self.identity(directory, home);
        let entry = |target: Target, place: &mut [u8; 255]| {
            self.entry(directory, slots, target, home, &inodes, place)
        };
        let (shape, targets) = match &*template {
            Template::Whole { shape, targets } => (shape, targets),
            Template::Vast(vast) => {
                let one = self.cache.vast.lock();
                let _one = one.unwrap_or_else(PoisonError::into_inner);
                let entry = |tag, place: &mut [u8; 255]| entry(Packed(tag).target(), place);
                let grown = self.grown(directory, slots);
                return vast.write(&grown, own, entry, |at, block| blocks.write(at, block));
            }
        };
        let block_size = self.format.blocks.size as usize;
        let most = (CHUNK / block_size) as u32;
        let all = shape.blocks();
        let mut bytes = vec![0; all.min(most) as usize * block_size];
        for first in (0..all).step_by(most as usize) {
            let count = (all - first).min(most) as usize;
            let bytes = &mut bytes[..count * block_size];
            shape.write(first, bytes, own, |name, place| {
                let packed = targets.get(name as usize);
                entry(packed.map_or(Target::Gone, |packed| packed.target()), place)
            })?;
            blocks.write(first, bytes)?;
        }
        Ok(())
    }

    /// The names of a directory stored in its inode: the 60 bytes of `i_block`, and the value of `system.data`.
    pub(super) fn names_inline(
        &self,
        directory: u32,
        slots: &Slots,
        home: &Home<'_>,
    ) -> Result<([u8; IN_BLOCK], Vec<u8>), Error> {
        let template = self
            .template(directory)
            .map_err(|full| Error::Option(full.to_string()))?;
        let Template::Whole { shape, targets } = &*template else {
            return Err(Error::Population(format!(
                "directory {directory} has grown since it was asked first"
            )));
        };
        let inodes = Inodes::of(directory, slots.total(), home);
        shape.write_inline(self.identity(directory, home), |name, place| {
            let packed = targets.get(name as usize);
            let target = packed.map_or(Target::Gone, |packed| packed.target());
            self.entry(directory, slots, target, home, &inodes, place)
        })
    }

    fn identity(&self, directory: u32, home: &Home<'_>) -> Identity {
        let parent = ObjectId {
            directory: self.population.parent(directory),
            slot: 0,
        };
        Identity {
            dot: home.ino,
            dot_dot: home.inode(parent),
            seed: home.seed,
        }
    }

    /// The target of a directory's name; the name is written to `place`.
    fn entry(
        &self,
        directory: u32,
        slots: &Slots,
        target: Target,
        home: &Home<'_>,
        inodes: &Inodes,
        place: &mut [u8; 255],
    ) -> Entry {
        let names = self.population.names();
        match target {
            Target::File(slot) => Entry {
                inode: inodes.get(slot),
                kind: self.file_type(ObjectId { directory, slot }),
                len: names.make(slots.set, Class::File, slot, place),
            },
            Target::Subdirectory(nth) => Entry {
                inode: home.inode(ObjectId {
                    directory: self.population.children(directory).start + nth,
                    slot: 0,
                }),
                kind: FileType::Directory,
                len: names.make(slots.set, Class::Subdirectory, nth, place),
            },
            Target::Link(nth) => {
                let to = self.population.link(directory, nth);
                Entry {
                    inode: home.inode(to),
                    kind: self.file_type(to),
                    len: names.make(slots.set, Class::Link, nth, place),
                }
            }
            Target::LostAndFound | Target::Gone => {
                place[..LOST_AND_FOUND.len()].copy_from_slice(LOST_AND_FOUND);
                Entry {
                    inode: Home::LOST_AND_FOUND,
                    kind: FileType::Directory,
                    len: LOST_AND_FOUND.len() as u8,
                }
            }
        }
    }

    fn file_type(&self, id: ObjectId) -> FileType {
        if !self.population.has_other_kinds() {
            return FileType::Regular;
        }
        self.kind(id).0.file_type().unwrap_or(FileType::Regular)
    }

    /// The target of a symbolic link, as it is stored.
    pub(super) fn target(&self, id: ObjectId, length: u64) -> Vec<u8> {
        if self.population.profile().names.encrypted {
            return self.encrypted_target(id, length);
        }
        self.population.target(id, length)
    }
}
