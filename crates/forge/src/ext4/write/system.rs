//! The contents of the inodes that every filesystem has, apart from the root, whose content is the population's.

use ondisk::ext4::block_map::write_pointers;
use ondisk::ext4::directory::{self, BlockWriter, rec_len_from_disk, rec_len_to_disk};
use ondisk::ext4::feature::Incompat;
use ondisk::ext4::inode::number;
use ondisk::ext4::xattr::write_inode;
use ondisk::ext4::{FileType, Seed, journal, mmp, orphan};

use super::inode::Inodes;
use super::sink::Sink;
use crate::Error;
use crate::ext4::layout::{Layout, MMP_INTERVAL};
use crate::ext4::place::{Mapping, Plan, System};
use crate::ext4::plan::{Blocks, Home, Kind, Object, ObjectId, Objects};
use crate::image_file::ImageFile;

/// The root as the population knows it.
pub(super) const ROOT: ObjectId = ObjectId {
    directory: 0,
    slot: 0,
};

fn file(layout: &Layout, blocks: u64) -> Object {
    Object {
        kind: Kind::File,
        size: blocks * u64::from(layout.geometry.block_size),
        links: 1,
        permissions: 0o600,
        ..Object::default()
    }
}

/// The journal's inode.
pub(super) fn journal_object(layout: &Layout) -> Object {
    file(layout, layout.journal_blocks.into())
}

/// Fills the slots of the reserved inodes, of lost+found and the orphan file. `slots` is the beginning of the first table.
/// Says which inodes are in use.
pub(super) fn fill_inodes(
    layout: &Layout,
    plan: &Plan<'_>,
    population: &dyn Objects,
    inodes: &Inodes<'_>,
    slots: &mut [u8],
) -> Result<(), Error> {
    let size = usize::from(layout.geometry.inode_size);
    let system = &plan.system;
    for (slot, ino) in slots
        .chunks_exact_mut(size)
        .zip(1_u32..layout.first_free_inode())
    {
        let lost_and_found = Object {
            kind: Kind::Directory,
            links: 2,
            permissions: 0o700,
            ..file(
                layout,
                system
                    .lost_and_found
                    .data
                    .iter()
                    .map(|run| u64::from(run.len))
                    .sum(),
            )
        };
        let none = Mapping::default();
        let (object, mapping) = match ino {
            number::ROOT => (system.root_object, &system.root),
            number::RESIZE if system.resize != 0 => {
                resize(layout, system, slot)?;
                seal(inodes, slot, ino)?;
                continue;
            }
            number::JOURNAL if layout.journal_blocks > 0 => {
                (journal_object(layout), &system.journal)
            }
            Home::LOST_AND_FOUND => (lost_and_found, &system.lost_and_found),
            _ if layout.orphan_inode() == Some(ino) => {
                (file(layout, layout.orphan_blocks.into()), &system.orphan)
            }
            number::BAD => {
                bad(layout, slot)?;
                seal(inodes, slot, ino)?;
                continue;
            }
            _ => system
                .quotas
                .iter()
                .find(|(_, quota, ..)| *quota == ino)
                .map_or((Object::default(), &none), |(_, _, object, mapping)| {
                    (*object, mapping)
                }),
        };
        if object.kind != Kind::Free {
            let mut inode = inodes.fill(slot, 0, &object, mapping)?;
            let inline = layout.superblock.has_incompat(Incompat::INLINE_DATA);
            if ino == Home::LOST_AND_FOUND && inline {
                // mke2fs begins it in its inode, and leaves an empty list of attributes there.
                let start = 128 + usize::from(inode.inode()?.extra_isize());
                write_inode(inode.bytes().get_mut(start..).unwrap_or(&mut []), &[])?;
            }
            if ino == number::ROOT && object.finish {
                population.finish_inode(ROOT, &home(layout, plan, inodes, ino), &mut inode)?;
            }
        }
        seal(inodes, slot, ino)?;
    }
    Ok(())
}

fn seal(inodes: &Inodes<'_>, slot: &mut [u8], ino: u32) -> Result<(), Error> {
    if let Some(seed) = inodes.seed {
        let size = slot.len() as u16;
        ondisk::ext4::inode::InodeMut::new(slot, size)?.seal(seed, ino)?;
    }
    Ok(())
}

/// An inode of the filesystem itself, whose generation is 0.
fn home<'a>(layout: &'a Layout, plan: &'a Plan<'_>, inodes: &Inodes<'_>, ino: u32) -> Home<'a> {
    Home {
        ino,
        seed: inodes.block_seed(ino, 0),
        superblock: &layout.superblock,
        numbers: plan,
    }
}

/// The list of bad blocks: none, but mke2fs leaves the time.
fn bad(layout: &Layout, slot: &mut [u8]) -> Result<(), Error> {
    let mut inode = ondisk::ext4::inode::InodeMut::new(slot, layout.geometry.inode_size)?;
    let raw = inode.raw()?;
    let time = layout.options.time as u32;
    raw.i_atime = time.into();
    raw.i_ctime = time.into();
    raw.i_mtime = time.into();
    Ok(())
}

/// The owner of the blocks kept for descriptors: a file of the largest size that a doubly indirect block maps.
fn resize(layout: &Layout, system: &System, slot: &mut [u8]) -> Result<(), Error> {
    let geometry = &layout.geometry;
    let block_size = u64::from(geometry.block_size);
    let addresses = block_size / 4;
    let size = (12 + addresses + addresses * addresses) * block_size;
    let object = Object {
        size,
        ..file(layout, 0)
    };
    let kept: u64 = geometry
        .reserved_gdt_map()
        .map(|block| 1 + block.backups.len() as u64)
        .sum();
    // A block map whatever the features say.
    let mut plain = layout.clone();
    plain.superblock.s_feature_incompat = plain
        .superblock
        .incompat()
        .without(Incompat::EXTENTS)
        .0
        .into();
    // Each counts as a whole cluster, as mke2fs and e2fsck count them.
    let mapping = Mapping {
        blocks: (kept + 1) * u64::from(geometry.cluster_blocks),
        ..Mapping::default()
    };
    let mut inode = Inodes::new(&plain).fill(slot, 0, &object, &mapping)?;
    inode.raw()?.i_block[13 * 4..14 * 4].copy_from_slice(&(system.resize as u32).to_le_bytes());
    Ok(())
}

/// Writes the root's content, that of lost+found, the journal's superblock and the rest.
pub(super) fn write(layout: &Layout, plan: &Plan<'_>, image: &ImageFile) -> Result<(), Error> {
    let inodes = Inodes::new(layout);
    let system = &plan.system;
    let mut buffer = Vec::new();
    let mut block = Vec::new();
    for (mapping, ino) in [
        (&system.root, number::ROOT),
        (&system.lost_and_found, Home::LOST_AND_FOUND),
        (&system.journal, number::JOURNAL),
        (&system.orphan, layout.orphan_inode().unwrap_or(0)),
    ] {
        inodes.nodes(image, mapping, inodes.block_seed(ino, 0), &mut block)?;
    }
    lost_and_found(layout, &inodes, image, &system.lost_and_found, &mut buffer)?;
    if layout.journal_blocks > 0 {
        write_journal(layout, image, &system.journal)?;
    }
    if layout.orphan_blocks > 0 {
        write_orphans(layout, &inodes, image, &system.orphan)?;
    }
    if system.mmp != 0 {
        let bytes = &mut block;
        bytes.clear();
        bytes.resize(layout.geometry.block_size as usize, 0);
        let time = layout.options.time as u64;
        mmp::write_clean(bytes, MMP_INTERVAL, time, layout.seed())?;
        image.write(system.mmp * u64::from(layout.geometry.block_size), bytes)?;
    }
    for (kind, ino, object, mapping) in &system.quotas {
        inodes.nodes(image, mapping, inodes.block_seed(*ino, 0), &mut block)?;
        let mut bytes = plan.usage.file(*kind);
        let whole = bytes
            .len()
            .next_multiple_of(layout.geometry.block_size as usize);
        debug_assert_eq!(bytes.len() as u64, object.size);
        bytes.resize(whole, 0);
        let size = layout.geometry.block_size;
        let mut sink = Sink::new(image, size, &mapping.data, &mut buffer);
        sink.write(0, &bytes)?;
        sink.finish()?;
    }
    if system.resize != 0 {
        write_reserved(layout, system, image)?;
    }
    Ok(())
}

/// Writes the root's content and attributes, which are the population's.
pub(super) fn write_root(
    layout: &Layout,
    plan: &Plan<'_>,
    population: &dyn Objects,
    inodes: &Inodes<'_>,
    image: &ImageFile,
    buffer: &mut Vec<u8>,
) -> Result<(), Error> {
    let mapping = &plan.system.root;
    let home = home(layout, plan, inodes, number::ROOT);
    super::unit::write_content(
        layout, population, ROOT, &home, image, mapping, true, buffer,
    )?;
    if mapping.xattr != 0 {
        let mut block = vec![0; layout.geometry.block_size as usize];
        population.xattr_block(ROOT, &home, mapping.xattr, &mut block)?;
        image.write(
            mapping.xattr * u64::from(layout.geometry.block_size),
            &block,
        )?;
    }
    Ok(())
}

fn lost_and_found(
    layout: &Layout,
    inodes: &Inodes<'_>,
    image: &ImageFile,
    mapping: &Mapping,
    buffer: &mut Vec<u8>,
) -> Result<(), Error> {
    let block_size = layout.geometry.block_size;
    let seed = inodes.block_seed(Home::LOST_AND_FOUND, 0);
    let kind = layout
        .superblock
        .has_incompat(Incompat::FILETYPE)
        .then_some(FileType::Directory);
    let mut sink = Sink::new(image, block_size, &mapping.data, buffer);
    let mut bytes = vec![0; block_size as usize];
    let blocks: u32 = mapping.data.iter().map(|run| u32::from(run.len)).sum();
    for nth in 0..blocks {
        let mut block = BlockWriter::new(&mut bytes, block_size, seed.is_some())?;
        if nth == 0 {
            block.push(Home::LOST_AND_FOUND, kind, b".", None)?;
            block.push(number::ROOT, kind, b"..", None)?;
        }
        block.finish(seed)?;
        if nth == 0 && layout.superblock.has_incompat(Incompat::INLINE_DATA) {
            part_from_dots(&mut bytes, block_size, seed);
        }
        sink.write(nth, &bytes)?;
    }
    sink.finish().map(|_| ())
}

/// Gives the room after the dots of a block to a record of its own: so it is where mke2fs has moved a directory out of its inode.
fn part_from_dots(bytes: &mut [u8], block_size: u32, seed: Option<Seed>) {
    const DOT: usize = 12;
    let len = rec_len_from_disk(u16::from_le_bytes([bytes[16], bytes[17]]), block_size);
    let dots = rec_len_to_disk(DOT, block_size);
    let rest = rec_len_to_disk(len - DOT, block_size);
    for (at, len) in [(DOT, dots), (2 * DOT, rest)] {
        bytes[at + 4..at + 6].copy_from_slice(&len.unwrap_or(0).to_le_bytes());
    }
    if let Some(seed) = seed {
        directory::seal(bytes, seed);
    }
}

fn write_journal(layout: &Layout, image: &ImageFile, mapping: &Mapping) -> Result<(), Error> {
    let block_size = layout.geometry.block_size;
    let Some(first) = mapping.data.first() else {
        return Ok(());
    };
    let mut bytes = vec![0; block_size as usize];
    let sb = journal::superblock::write_empty(
        &mut bytes,
        block_size,
        layout.journal_blocks,
        layout.superblock.s_uuid,
    )?;
    sb.s_num_fc_blks = layout.fast_commit_blocks.into();
    image.write(first.start * u64::from(block_size), &bytes)
}

fn write_orphans(
    layout: &Layout,
    inodes: &Inodes<'_>,
    image: &ImageFile,
    mapping: &Mapping,
) -> Result<(), Error> {
    let block_size = layout.geometry.block_size;
    let seed = inodes.block_seed(layout.orphan_inode().unwrap_or(0), 0);
    let mut bytes = vec![0; block_size as usize];
    let blocks = mapping
        .data
        .iter()
        .flat_map(|run| run.start..run.start + u64::from(run.len));
    for block in blocks {
        orphan::write(&mut bytes, &[], block, seed)?;
        image.write(block * u64::from(block_size), &bytes)?;
    }
    Ok(())
}

/// The resize inode's doubly indirect block, and the reserved blocks of group 0 that it lists: each lists its
/// copies in the other groups.
fn write_reserved(layout: &Layout, system: &System, image: &ImageFile) -> Result<(), Error> {
    let geometry = &layout.geometry;
    let block_size = u64::from(geometry.block_size);
    let mut bytes = vec![0; block_size as usize];
    let mut list = vec![0; geometry.block_size as usize / 4];
    for kept in geometry.reserved_gdt_map() {
        list[kept.index as usize] = kept.block as u32;
        let backups: Vec<u32> = kept.backups.iter().map(|block| *block as u32).collect();
        write_pointers(&mut bytes, &backups);
        image.write(kept.block * block_size, &bytes)?;
    }
    write_pointers(&mut bytes, &list);
    image.write(system.resize * block_size, &bytes)
}
