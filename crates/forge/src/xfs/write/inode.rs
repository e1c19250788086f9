//! One inode, and the blocks that belong to it.

use ondisk::checksum::crc32c;
use ondisk::xfs::dinode::{self, Dinode, Format, flag2, mode};
use ondisk::xfs::extent::SIZE;
use ondisk::xfs::{checksum, remote, shortform};

use super::Shared;
use super::group::Writer;
use crate::Error;
use crate::population::{FileKind, ObjectId, scramble};
use crate::xfs::attributes::{self, Address, Remote};
use crate::xfs::contents::{Kind, Object};
use crate::xfs::directory::{Form, Shape};
use crate::xfs::fork;
use crate::xfs::readback::device_number;
use crate::xfs::volume::Empty;

/// `di_mode`.
pub(super) fn mode_of(kind: Kind) -> u16 {
    match kind {
        Kind::Freed => 0,
        Kind::Directory => mode::DIRECTORY | 0o755,
        Kind::File(FileKind::Regular(_)) => mode::REGULAR | 0o644,
        Kind::File(FileKind::Symlink(_)) => mode::SYMLINK | 0o777,
        Kind::File(FileKind::CharacterDevice) => mode::CHAR | 0o644,
        Kind::File(FileKind::BlockDevice) => mode::BLOCK | 0o644,
        Kind::File(FileKind::Fifo) => mode::FIFO | 0o644,
        Kind::File(FileKind::Socket) => mode::SOCKET | 0o644,
    }
}

/// A generation that depends on the seed and the inode.
fn generation(empty: &Empty, ino: u64) -> u32 {
    scramble(empty.options.seed ^ scramble(ino)) as u32
}

/// The fields of an inode that are its own.
#[derive(Debug, Clone, Copy)]
struct Fields {
    size: u64,
    blocks: u64,
    extents: u64,
    attribute_extents: u32,
    format: Format,
    attribute_format: Format,
}

/// Writes a core and the checksum of the inode, whose literal area is complete.
fn put_core(empty: &Empty, bytes: &mut [u8], ino: u64, object: &Object, fields: &Fields) {
    let geometry = &empty.geometry;
    let time = empty.time();
    let wide = geometry.nrext64;
    let flags2 =
        if geometry.bigtime { flag2::BIGTIME } else { 0 } | if wide { flag2::NREXT64 } else { 0 };
    let core = Dinode {
        di_magic: dinode::MAGIC.into(),
        di_mode: mode_of(object.kind).into(),
        di_version: if geometry.v5 { 3 } else { 2 },
        di_format: fields.format as u8,
        di_onlink: 0.into(),
        di_uid: object.owner.into(),
        di_gid: object.owner.into(),
        di_nlink: object.links.into(),
        di_projid_lo: 0.into(),
        di_projid_hi: 0.into(),
        di_big_nextents: if wide { fields.extents } else { 0 }.into(),
        di_atime: time.into(),
        di_mtime: time.into(),
        di_ctime: time.into(),
        di_size: fields.size.into(),
        di_nblocks: fields.blocks.into(),
        di_extsize: 0.into(),
        di_nextents: if wide {
            fields.attribute_extents
        } else {
            fields.extents as u32
        }
        .into(),
        di_anextents: if wide {
            0
        } else {
            fields.attribute_extents as u16
        }
        .into(),
        di_forkoff: object.fork_offset,
        di_aformat: fields.attribute_format as u8,
        di_dmevmask: 0.into(),
        di_dmstate: 0.into(),
        di_flags: 0.into(),
        di_gen: generation(empty, ino).into(),
        di_next_unlinked: u32::MAX.into(),
        di_crc: [0; 4],
        di_changecount: 1.into(),
        di_lsn: 0.into(),
        di_flags2: flags2.into(),
        di_cowextsize: 0.into(),
        di_pad2: [0; 12],
        di_crtime: time.into(),
        di_ino: ino.into(),
        di_uuid: geometry.uuid,
    };
    let size = dinode::core_size(geometry.v5);
    bytes[..size].copy_from_slice(&zerocopy::IntoBytes::as_bytes(&core)[..size]);
    seal(empty, bytes);
}

/// Stores the checksum of an inode in which the field is zero.
fn seal(empty: &Empty, bytes: &mut [u8]) {
    if empty.geometry.v5 {
        let sum = !crc32c(!0, bytes);
        bytes[checksum::INODE..checksum::INODE + 4].copy_from_slice(&sum.to_le_bytes());
    }
}

/// An inode of a chunk that was never used.
pub(super) fn never_used(empty: &Empty, bytes: &mut [u8], ino: u64) -> Result<(), Error> {
    bytes.fill(0);
    let v5 = empty.geometry.v5;
    let mut whole = [0; Dinode::SIZE];
    let core = Dinode::read_mut(&mut whole)?;
    core.di_magic = dinode::MAGIC.into();
    core.di_version = if v5 { 3 } else { 2 };
    core.di_gen = generation(empty, ino).into();
    core.di_next_unlinked = u32::MAX.into();
    core.di_ino = ino.into();
    core.di_uuid = empty.geometry.uuid;
    let size = dinode::core_size(v5);
    bytes[..size].copy_from_slice(&whole[..size]);
    seal(empty, bytes);
    Ok(())
}

/// Gives an inode of mkfs.xfs the time of the options.
pub(super) fn restamp(empty: &Empty, bytes: &mut [u8]) -> Result<(), Error> {
    let time = empty.time();
    let v5 = empty.geometry.v5;
    let mut whole = [0; Dinode::SIZE];
    let size = dinode::core_size(v5);
    whole[..size].copy_from_slice(&bytes[..size]);
    let core = Dinode::read_mut(&mut whole)?;
    for field in [&mut core.di_atime, &mut core.di_mtime, &mut core.di_ctime] {
        *field = time.into();
    }
    core.di_crtime = time.into();
    core.di_crc = [0; 4];
    bytes[..size].copy_from_slice(&whole[..size]);
    seal(empty, bytes);
    Ok(())
}

/// A regular file's inode without what is its own, for files that differ in nothing else: the checksum is zero.
#[derive(Debug, Default)]
pub(super) struct Template {
    bytes: Vec<u8>,
    extents: usize,
}

impl Template {
    /// Takes the inode of a file in `extents` extents.
    fn keep(&mut self, v5: bool, bytes: &[u8], extents: usize) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        if v5 {
            self.bytes[checksum::INODE..checksum::INODE + 4].fill(0);
        }
        self.extents = extents;
    }
}

impl Writer<'_> {
    /// The same as [`Writer::inode`] for a file like all others, where all are alike and have no contents.
    pub(super) fn file(
        &mut self,
        bytes: &mut [u8],
        ino: u64,
        id: ObjectId,
        object: &Object,
        shape: &Shape,
    ) -> Result<(), Error> {
        let Shared {
            empty, contents, ..
        } = self.shared;
        let v5 = empty.geometry.v5;
        let extents = self.uses.contents.len();
        let alike = contents.population.plain_size().is_some()
            && !contents.population.profile().contents
            && matches!(object.kind, Kind::File(_));
        if !alike
            || extents > 1
            || self.template.bytes.is_empty()
            || self.template.extents != extents
        {
            self.inode(bytes, ino, id, object, shape)?;
            if alike && extents <= 1 {
                self.template.keep(v5, bytes, extents);
            }
            return Ok(());
        }
        bytes.copy_from_slice(&self.template.bytes);
        let core = Dinode::read_mut(bytes)?;
        core.di_gen = generation(empty, ino).into();
        if v5 {
            core.di_ino = ino.into();
        }
        if let Some(extent) = self.uses.contents.first() {
            let at = dinode::core_size(v5);
            bytes[at..at + SIZE].copy_from_slice(&extent.to_bytes());
        }
        seal(empty, bytes);
        Ok(())
    }

    /// Writes an inode into its bytes, and its blocks; [`Writer::uses`] has their places.
    pub(super) fn inode(
        &mut self,
        bytes: &mut [u8],
        ino: u64,
        id: ObjectId,
        object: &Object,
        shape: &Shape,
    ) -> Result<(), Error> {
        let Shared { empty, .. } = self.shared;
        let geometry = &empty.geometry;
        bytes.fill(0);
        let mut fields = Fields {
            size: 0,
            blocks: self.uses.blocks(),
            extents: self.uses.contents.len() as u64,
            attribute_extents: self.uses.attributes.len() as u32,
            format: Format::Extents,
            attribute_format: Format::Extents,
        };
        let literal = &mut bytes[dinode::core_size(geometry.v5)..];
        let (data, rest) = match object.fork_offset {
            0 => (literal, None),
            at => {
                let (data, rest) = literal.split_at_mut(usize::from(at) * 8);
                (data, Some(rest))
            }
        };
        match object.kind {
            Kind::Freed => {}
            Kind::Directory => self.directory_fork(data, ino, id, shape, &mut fields)?,
            Kind::File(kind) => self.file_fork(data, ino, id, kind, object, &mut fields)?,
        }
        if let Some(fork) = rest {
            self.attribute_fork(fork, ino, id, object, &mut fields)?;
        }
        put_core(empty, bytes, ino, object, &fields);
        Ok(())
    }

    fn directory_fork(
        &mut self,
        fork: &mut [u8],
        ino: u64,
        id: ObjectId,
        shape: &Shape,
        fields: &mut Fields,
    ) -> Result<(), Error> {
        let contents = self.shared.contents;
        if shape.form == Form::Local {
            let bytes = self.local_directory(id.directory, shape);
            fork[..bytes.len()].copy_from_slice(&bytes);
            fields.size = bytes.len() as u64;
            fields.format = Format::Local;
            return Ok(());
        }
        let extents = std::mem::take(&mut self.extents);
        let blocks: u64 = extents.iter().map(|extent| extent.count).sum();
        fields.size = (shape.data.len() * contents.rules.block as usize) as u64;
        fields.extents = extents.len() as u64;
        fields.blocks = blocks + self.tree.len() as u64;
        let tree = std::mem::take(&mut self.tree);
        let geometry = &self.shared.empty.geometry;
        let format = fork::write(geometry, fork, &extents, ino, &tree, &mut |at, block| {
            self.put_near(geometry.agbno_of(at), block)
        });
        fields.format = format?;
        self.extents = extents;
        self.tree = tree;
        Ok(())
    }

    /// Writes extents into a fork, and the blocks of their tree.
    fn map(
        &self,
        fork: &mut [u8],
        ino: u64,
        extents: &[ondisk::xfs::Extent],
        tree: &[u64],
    ) -> Result<Format, Error> {
        let empty = self.shared.empty;
        let geometry = &empty.geometry;
        fork::write(geometry, fork, extents, ino, tree, &mut |at, block| {
            empty.image.write(geometry.block_offset(at), block)
        })
    }

    fn file_fork(
        &mut self,
        fork: &mut [u8],
        ino: u64,
        id: ObjectId,
        kind: FileKind,
        object: &Object,
        fields: &mut Fields,
    ) -> Result<(), Error> {
        let population = &self.shared.contents.population;
        match kind {
            FileKind::Regular(size) => {
                fields.size = size;
                fields.format = self.map(fork, ino, &self.uses.contents, &self.uses.tree)?;
                self.data(id, size)
            }
            FileKind::Symlink(length) => {
                let target = population.target(id, length);
                fields.size = length;
                if object.data == 0 {
                    fork[..target.len()].copy_from_slice(&target);
                    fields.format = Format::Local;
                    return Ok(());
                }
                fields.format = self.map(fork, ino, &self.uses.contents, &self.uses.tree)?;
                self.target_blocks(ino, &target)
            }
            FileKind::CharacterDevice | FileKind::BlockDevice => {
                let (major, minor) = device_number(population, id);
                fork[..4].copy_from_slice(&(major << 18 | minor).to_be_bytes());
                fields.format = Format::Dev;
                Ok(())
            }
            FileKind::Fifo | FileKind::Socket => {
                fields.format = Format::Dev;
                Ok(())
            }
        }
    }

    /// Writes the blocks of a symbolic link: one head for each extent.
    fn target_blocks(&self, ino: u64, target: &[u8]) -> Result<(), Error> {
        let empty = self.shared.empty;
        let geometry = &empty.geometry;
        let header = remote::header(geometry.v5);
        let mut done = 0;
        for extent in &self.uses.contents {
            let room = (extent.count as usize) << geometry.block_log;
            let part = &target[done..target.len().min(done + room - header)];
            let mut block = vec![0; room];
            block[header..header + part.len()].copy_from_slice(part);
            let of = Remote {
                magic: remote::SYMLINK_MAGIC,
                offset: done as u32,
                bytes: part.len() as u32,
            };
            let address = Address {
                owner: ino,
                daddr: geometry.daddr(extent.block),
            };
            of.seal(geometry, &mut block, address)?;
            let at = geometry.block_offset(extent.block);
            empty.image.write(at, &block)?;
            done += part.len();
        }
        Ok(())
    }

    /// Writes the contents of a file, where the profile asks for contents.
    fn data(&self, id: ObjectId, size: u64) -> Result<(), Error> {
        /// Bytes that are written at once.
        const PIECE: u64 = 1 << 20;
        let Shared {
            empty, contents, ..
        } = self.shared;
        let geometry = &empty.geometry;
        if !contents.population.profile().contents {
            return Ok(());
        }
        let block = geometry.block_size as usize;
        let mut bytes = Vec::new();
        for extent in self.uses.contents.iter().filter(|one| !one.unwritten) {
            let from = extent.offset << geometry.block_log;
            let end = (from + (extent.count << geometry.block_log)).min(size);
            let mut at = from;
            while at < end {
                let len = PIECE.min(end - at) as usize;
                bytes.clear();
                bytes.resize(len.next_multiple_of(block), 0);
                contents.population.fill(id, at, &mut bytes[..len]);
                let to = geometry.block_offset(extent.block) + (at - from);
                empty.image.write(to, &bytes)?;
                at += len as u64;
            }
        }
        Ok(())
    }

    fn attribute_fork(
        &self,
        fork: &mut [u8],
        ino: u64,
        id: ObjectId,
        object: &Object,
        fields: &mut Fields,
    ) -> Result<(), Error> {
        let Shared {
            empty, contents, ..
        } = self.shared;
        let geometry = &empty.geometry;
        if object.note {
            let bytes = attributes::in_inode(&contents.population, id);
            debug_assert!(bytes.len() >= shortform::ATTR_HEADER);
            fork[..bytes.len()].copy_from_slice(&bytes);
            fields.attribute_format = Format::Local;
            return Ok(());
        }
        for (place, extent) in fork.chunks_exact_mut(SIZE).zip(&self.uses.attributes) {
            place.copy_from_slice(&extent.to_bytes());
        }
        let mut places = self
            .uses
            .attributes
            .iter()
            .flat_map(|extent| extent.block..extent.block + extent.count);
        let all = attributes::of_leaf(geometry, &contents.population, id);
        let mut next = || {
            let block = places.next().unwrap_or(0);
            let address = Address {
                owner: ino,
                daddr: geometry.daddr(block),
            };
            (geometry.block_offset(block), address)
        };
        let (at, address) = next();
        let mut leaf = vec![0; geometry.block_size as usize];
        attributes::leaf(geometry, &mut leaf, address, &all)?;
        empty.image.write(at, &leaf)?;
        for one in all.iter().filter(|one| one.blocks > 0) {
            let parts = one.value.chunks(remote::payload(geometry)).enumerate();
            for (nth, part) in parts {
                let (at, address) = next();
                let block = attributes::value(geometry, address, nth, part)?;
                empty.image.write(at, &block)?;
            }
        }
        Ok(())
    }
}
