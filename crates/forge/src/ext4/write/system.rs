//! The inodes of the filesystem's own that depend on the population: the root, whose content is the population's, and the quota files.

use ondisk::ext4::inode::{InodeMut, number};
use ondisk::ext4::mmp;

use super::content::write_content;
use super::inode::Inodes;
use super::sink::Sink;
use crate::Error;
use crate::ext4::layout::Layout;
use crate::ext4::place::{Mapping, Plan};
use crate::ext4::plan::{Blocks as _, Home, Object, ObjectId, Objects};

/// The root as the population knows it.
const ROOT: ObjectId = ObjectId {
    directory: 0,
    slot: 0,
};

/// The first inodes, up to the first that the population may have: those that mke2fs made, with the root and the quota files.
pub(super) fn inodes(
    layout: &Layout,
    plan: &Plan<'_>,
    population: &dyn Objects,
    inodes: &Inodes<'_>,
) -> Result<Vec<u8>, Error> {
    let mut slots = layout.reserved.clone();
    let root = (number::ROOT, plan.system.root_object, &plan.system.root);
    let quotas = plan.system.quotas.iter();
    let quotas = quotas.map(|file| (file.ino, file.object, &file.mapping));
    for (ino, object, mapping) in std::iter::once(root).chain(quotas) {
        put(layout, inodes, &mut slots, ino, &object, mapping, |inode| {
            if ino == number::ROOT && object.finish {
                population.finish_inode(ROOT, &home(layout, plan, inodes, ino), inode)?;
            }
            Ok(())
        })?;
    }
    Ok(slots)
}

fn put(
    layout: &Layout,
    inodes: &Inodes<'_>,
    slots: &mut [u8],
    ino: u32,
    object: &Object,
    mapping: &Mapping,
    finish: impl FnOnce(&mut InodeMut<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let size = usize::from(layout.geometry.inode_size);
    let at = (ino as usize - 1) * size;
    let slot = &mut slots[at..at + size];
    slot.fill(0);
    let mut inode = inodes.fill(slot, 0, object, mapping)?;
    finish(&mut inode)?;
    if let Some(seed) = inodes.seed {
        inode.seal(seed, ino)?;
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

/// Writes the quota files, what maps them and the root, and a block against double mounts that names neither the host nor the image.
pub(super) fn write(layout: &Layout, plan: &Plan<'_>) -> Result<(), Error> {
    let inodes = Inodes::new(layout);
    let image = &layout.image;
    let block_size = layout.geometry.block_size;
    let mut buffer = Vec::new();
    let mut block = Vec::new();
    let seed = inodes.block_seed(number::ROOT, 0);
    inodes.nodes(image, &plan.system.root, seed, &mut block)?;
    for file in &plan.system.quotas {
        let seed = inodes.block_seed(file.ino, 0);
        inodes.nodes(image, &file.mapping, seed, &mut block)?;
        let mut bytes = plan.usage.file(file.kind);
        debug_assert_eq!(bytes.len() as u64, file.object.size);
        bytes.resize(bytes.len().next_multiple_of(block_size as usize), 0);
        let mut sink = Sink::new(image, block_size, &file.mapping.data, &mut buffer);
        sink.write(0, &bytes)?;
        sink.finish()?;
    }
    let sb = &layout.superblock;
    if sb.s_mmp_block.get() != 0 {
        block.clear();
        block.resize(block_size as usize, 0);
        let (interval, time) = (sb.s_mmp_interval.get(), layout.options.time as u64);
        mmp::write_clean(&mut block, interval, time, layout.seed())?;
        image.write(sb.s_mmp_block.get() * u64::from(block_size), &block)?;
    }
    Ok(())
}

/// Writes the root's content and attributes, which are the population's.
pub(super) fn write_root(
    layout: &Layout,
    plan: &Plan<'_>,
    population: &dyn Objects,
    inodes: &Inodes<'_>,
    buffer: &mut Vec<u8>,
) -> Result<(), Error> {
    let image = &layout.image;
    let mapping = &plan.system.root;
    let home = home(layout, plan, inodes, number::ROOT);
    write_content(
        layout, population, ROOT, &home, image, mapping, true, buffer,
    )?;
    if mapping.xattr != 0 {
        let block_size = layout.geometry.block_size;
        let mut block = vec![0; block_size as usize];
        population.xattr_block(ROOT, &home, mapping.xattr, &mut block)?;
        image.write(mapping.xattr * u64::from(block_size), &block)?;
    }
    Ok(())
}
