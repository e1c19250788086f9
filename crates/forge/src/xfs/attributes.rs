//! Extended attributes: in the inode, in a leaf, and values in blocks of their own.

use ondisk::xfs::attribute::{self, LeafEntry, LeafHead, Name, flag};
use ondisk::xfs::{Geometry, da, hash, remote, shortform};

use crate::Error;
use crate::population::{Namespace, ObjectId, Population};

/// The longest value, bytes.
pub(super) const LONGEST_VALUE: u64 = 4096;

/// An attribute of a file.
#[derive(Debug)]
pub(super) struct Attribute {
    flags: u8,
    name: &'static str,
    pub(super) value: Vec<u8>,
    /// Blocks that the value takes; 0: it is beside the name.
    pub(super) blocks: u32,
}

/// The namespace as a bit of the flags.
fn bit(namespace: Namespace) -> u8 {
    match namespace {
        Namespace::User => 0,
        Namespace::Trusted => flag::ROOT,
        Namespace::Security => flag::SECURE,
    }
}

/// The attributes of a file whose attributes are in a leaf.
pub(super) fn of_leaf(
    geometry: &Geometry,
    population: &Population,
    id: ObjectId,
) -> Vec<Attribute> {
    let mut all: Vec<Attribute> = population
        .block_attributes(id, LONGEST_VALUE)
        .into_iter()
        .map(|(namespace, name, value)| Attribute {
            flags: bit(namespace),
            name,
            value,
            blocks: 0,
        })
        .collect();
    if population.has_note(id) {
        all.push(Attribute {
            flags: 0,
            name: "note",
            value: population.note(id),
            blocks: 0,
        });
    }
    let block = geometry.block_size as usize;
    let room = block - attribute::header(geometry.v5);
    let size = |one: &Attribute| attribute::local_size(one.name.len(), one.value.len());
    let need: usize = all.iter().map(|one| size(one) + LeafEntry::SIZE).sum();
    for one in &mut all {
        // The kernel's limit of three quarters of a block.
        let large = size(one) >= block / 2 + block / 4;
        if one.name == "origin" && (large || need > room) {
            one.blocks = remote::blocks(geometry, one.value.len() as u64) as u32;
        }
    }
    all
}

/// The attribute fork of a file with the small attribute alone.
pub(super) fn in_inode(population: &Population, id: ObjectId) -> Vec<u8> {
    shortform::Attributes::write(&[(0, b"note", &population.note(id))])
}

/// Where a block is, for its header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address {
    pub(super) owner: u64,
    /// In units of 512 bytes.
    pub(super) daddr: u64,
}

/// Writes the leaf; remote values follow it in the fork, in the order of the attributes.
pub(super) fn leaf(
    geometry: &Geometry,
    block: &mut [u8],
    address: Address,
    attributes: &[Attribute],
) -> Result<(), Error> {
    let v5 = geometry.v5;
    block.fill(0);
    let mut order: Vec<(u32, usize, u32)> = Vec::new();
    let mut next = 1;
    for (nth, one) in attributes.iter().enumerate() {
        order.push((hash::name(one.name.as_bytes()), nth, next));
        next += one.blocks;
    }
    order.sort_unstable();
    let (mut end, mut used) = (block.len(), 0);
    for (at, &(hashval, nth, first)) in order.iter().enumerate() {
        let one = &attributes[nth];
        let name = if one.blocks == 0 {
            Name::Local {
                name: one.name.as_bytes(),
                value: &one.value,
            }
        } else {
            Name::Remote {
                name: one.name.as_bytes(),
                block: first,
                length: one.value.len() as u32,
            }
        };
        let size = name.size();
        let low = attribute::header(v5) + attributes.len() * LeafEntry::SIZE;
        let full = || {
            Error::Format(ondisk::Error::Full {
                what: "XFS attributes",
                need: size,
                room: end.saturating_sub(low),
            })
        };
        let start = end.checked_sub(size).filter(|&start| start >= low);
        let start = start.ok_or_else(full)?;
        if !attribute::put_name(block, start, &name) {
            return Err(full());
        }
        end = start;
        used += size;
        let entry = attribute::header(v5) + at * LeafEntry::SIZE;
        *LeafEntry::read_mut(&mut block[entry..])? = LeafEntry {
            hashval: hashval.into(),
            nameidx: (start as u16).into(),
            flags: one.flags | if one.blocks == 0 { flag::LOCAL } else { 0 },
            pad2: 0,
        };
    }
    let base = attribute::header(v5) + attributes.len() * LeafEntry::SIZE;
    let head = LeafHead::read_mut(&mut block[attribute::head_at(v5)..])?;
    head.count = (attributes.len() as u16).into();
    head.usedbytes = (used as u16).into();
    head.firstused = (end as u16).into();
    head.freemap[0] = [(base as u16).into(), ((end - base) as u16).into()];
    let magic = if v5 { da::ATTR_LEAF_3 } else { da::ATTR_LEAF };
    super::write::da_header(geometry, block, address, magic)
}

/// A block of a remote value, which has `part`, its part number `nth`. Each has its own head in version 5.
pub(super) fn value(
    geometry: &Geometry,
    address: Address,
    nth: usize,
    part: &[u8],
) -> Result<Vec<u8>, Error> {
    let mut block = vec![0; geometry.block_size as usize];
    let start = remote::header(geometry.v5);
    block[start..start + part.len()].copy_from_slice(part);
    let of = Remote {
        magic: remote::ATTR_MAGIC,
        offset: (nth * remote::payload(geometry)) as u32,
        bytes: part.len() as u32,
    };
    of.seal(geometry, &mut block, address)?;
    Ok(block)
}

/// The head of a block of a value or of a target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remote {
    pub(super) magic: u32,
    /// First byte in the block.
    pub(super) offset: u32,
    /// Bytes in the block.
    pub(super) bytes: u32,
}

impl Remote {
    /// Writes the head and the checksum in version 5; nothing in version 4, which has none.
    pub(super) fn seal(
        self,
        geometry: &Geometry,
        block: &mut [u8],
        address: Address,
    ) -> Result<(), Error> {
        if !geometry.v5 {
            return Ok(());
        }
        *remote::RemoteHead::read_mut(block)? = remote::RemoteHead {
            magic: self.magic.into(),
            offset: self.offset.into(),
            bytes: self.bytes.into(),
            crc: [0; 4],
            uuid: geometry.uuid,
            owner: address.owner.into(),
            blkno: address.daddr.into(),
            lsn: 0.into(),
        };
        ondisk::xfs::checksum::seal(block, ondisk::xfs::checksum::REMOTE);
        Ok(())
    }
}
