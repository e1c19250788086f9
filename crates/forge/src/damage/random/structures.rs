//! One field of one structure.

use ondisk::ext4::inode::number;
use ondisk::ext4::{directory, group_descriptor, inode, xattr};
use zerocopy::IntoBytes;

use super::super::case::get16;
use super::super::error::{Error, missing};
use super::super::field;
use super::super::filesystem::{BlockKind, Filesystem, Map};
use super::draw::{Draw, Limits};
use super::known::{Known, Owned};

pub(super) fn superblock(
    fs: &mut Filesystem<'_>,
    _: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let mut what = String::new();
    fs.edit_superblock(|sb| what = draw.field(sb.as_mut_bytes(), 0, field::SUPERBLOCK, &limits))?;
    Ok(format!("superblock {what}"))
}

pub(super) fn descriptor(
    fs: &mut Filesystem<'_>,
    _: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let group = draw.below(fs.geometry().groups.into()) as u32;
    let wide = fs.geometry().desc_size >= 64 && draw.below(4) == 0;
    let table = if wide {
        field::DESCRIPTOR_HIGH
    } else {
        field::DESCRIPTOR
    };
    let mut what = String::new();
    fs.edit_descriptor(group, |desc| {
        what = draw.field(desc.raw.as_mut_bytes(), 0, table, &limits);
    })?;
    Ok(format!("descriptor of group {group} {what}"))
}

pub(super) fn bitmap_bits(
    fs: &mut Filesystem<'_>,
    _: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let group = draw.below(fs.geometry().groups.into()) as u32;
    let (map, bits, name) = if draw.below(2) == 0 {
        (Map::Blocks, fs.geometry().group_clusters(group), "block")
    } else {
        (Map::Inodes, fs.geometry().inodes_per_group, "inode")
    };
    let desc = fs.descriptor(group)?;
    if desc.has_flags(group_descriptor::INODE_UNINIT) && map == Map::Inodes {
        return missing("inode bitmap in that group");
    }
    // One in eight hits the padding.
    let whole = fs.geometry().block_size * 8;
    let reach = if draw.below(8) == 0 { whole } else { bits };
    let first = draw.below(reach.into()) as u32;
    let count = 1 + draw.below(6) as u32;
    fs.edit_bitmap(group, map, |bytes| {
        for bit in first..(first + count).min(whole) {
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    })?;
    Ok(format!(
        "{name} bitmap of group {group}: {count} bits from {first} on turned"
    ))
}

pub(super) fn inode_field(
    fs: &mut Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let ino = draw.inode(known);
    let extra = fs.geometry().inode_size > 128 && draw.below(5) == 0;
    let table = if extra {
        field::INODE_EXTRA
    } else {
        field::INODE
    };
    let mut what = String::new();
    fs.edit_inode(ino, |slot| {
        what = draw.field(slot.bytes(), 0, table, &limits);
        Ok(())
    })?;
    Ok(format!("inode {ino} {what}"))
}

/// An entry of the tree's root, or a bit of the flags.
pub(super) fn inode_map(
    fs: &mut Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let ino = draw.inode(known);
    let mut what = String::new();
    fs.edit_inode(ino, |slot| {
        match draw.below(9) {
            0..=2 => {
                let bit = draw.below(32);
                let raw = slot.raw()?;
                raw.i_flags = (raw.i_flags.get() ^ 1 << bit).into();
                what = format!("i_flags: bit {bit} turned");
            }
            3 | 4 => what = draw.field(slot.bytes(), 40, field::EXTENT_HEADER, &limits),
            _ => {
                let at = 52 + 12 * draw.below(4) as usize;
                what = draw.field(slot.bytes(), at, field::EXTENT, &limits);
            }
        }
        Ok(())
    })?;
    Ok(format!("inode {ino} {what}"))
}

pub(super) fn tree_node(
    fs: &mut Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let owners: Vec<&Owned> = known
        .mapped
        .iter()
        .chain(&known.directories)
        .filter(|owned| !owned.tree.is_empty())
        .collect();
    let owned = *draw.of(&owners, "extent node or indirect block")?;
    let (block, extents) = *draw.of(&owned.tree, "extent node or indirect block")?;
    let size = fs.block_size();
    let mut what = String::new();
    if extents {
        fs.edit_extent_node(owned.ino, block, |bytes| {
            what = if draw.below(4) == 0 {
                draw.field(bytes, 0, field::EXTENT_HEADER, &limits)
            } else {
                let used = usize::from(get16(bytes, 2)).clamp(1, size / 12 - 1);
                let nth = draw.below(used as u64) as usize;
                format!(
                    "entry {nth} {}",
                    draw.field(bytes, 12 + 12 * nth, field::EXTENT, &limits)
                )
            };
        })?;
    } else {
        fs.edit_block(block, |bytes| {
            let nth = draw.below((size / 4).min(300) as u64) as usize;
            what = format!(
                "word {nth} {}",
                draw.field(bytes, nth * 4, field::POINTER, &limits)
            );
        })?;
    }
    Ok(format!("inode {} tree block {block} {what}", owned.ino))
}

pub(super) fn directory_entry(
    fs: &mut Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let owned = draw.of(&known.directories, "directory with blocks")?;
    let block = *draw.of(&owned.leaves, "directory block")?;
    let size = fs.geometry().block_size;
    let mut what = String::new();
    fs.edit_directory_block(owned.ino, block, |bytes| {
        let starts: Vec<usize> = directory::entries(bytes, size)
            .map_while(Result::ok)
            .map(|entry| entry.offset)
            .collect();
        let nth = draw.below(starts.len().max(1) as u64) as usize;
        let at = starts.get(nth).copied().unwrap_or(0);
        what = format!(
            "entry at {at} {}",
            draw.field(bytes, at, field::ENTRY, &limits)
        );
    })?;
    Ok(format!("directory {} block {block} {what}", owned.ino))
}

pub(super) fn index_block(
    fs: &mut Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let size = fs.geometry().block_size;
    let mut nodes = Vec::new();
    for owned in &known.directories {
        let bytes = fs.inode(owned.ino)?;
        if !fs.view(&bytes)?.has_flags(inode::flag::INDEX) {
            continue;
        }
        for block in &owned.leaves {
            match BlockKind::of(&fs.block(*block)?, size) {
                BlockKind::Root => nodes.push((owned.ino, *block, field::INDEX_ROOT)),
                BlockKind::Node => nodes.push((owned.ino, *block, field::INDEX_NODE)),
                BlockKind::Leaf => {}
            }
        }
    }
    let (ino, block, table) = *draw.of(&nodes, "indexed directory")?;
    let mut what = String::new();
    fs.edit_directory_block(ino, block, |bytes| {
        what = draw.field(bytes, 0, table, &limits);
    })?;
    Ok(format!("directory {ino} index block {block} {what}"))
}

pub(super) fn attribute_block(
    fs: &mut Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let block = *draw.of(&known.attribute_blocks, "block of attributes")?;
    let mut what = String::new();
    fs.edit_attribute_block(block, |bytes| {
        what = if draw.below(3) == 0 {
            draw.field(bytes, 0, field::XATTR_HEADER, &limits)
        } else {
            let starts: Vec<usize> = xattr::List::of_block(bytes)
                .map(|list| {
                    list.entries()
                        .map_while(Result::ok)
                        .map(|entry| entry.offset)
                        .collect()
                })
                .unwrap_or_default();
            let nth = draw.below(starts.len().max(1) as u64) as usize;
            let at = starts.get(nth).copied().unwrap_or(xattr::HEADER);
            format!(
                "entry at {at} {}",
                draw.field(bytes, at, field::XATTR, &limits)
            )
        };
    })?;
    Ok(format!("attribute block {block} {what}"))
}

pub(super) fn attribute_in_inode(
    fs: &mut Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let (ino, at) = *draw.of(&known.with_attributes, "attributes in an inode")?;
    let mut what = String::new();
    fs.edit_inode(ino, |slot| {
        what = draw.field(slot.bytes(), at, field::XATTR, &limits);
        Ok(())
    })?;
    Ok(format!("inode {ino} attribute at {at} {what}"))
}

pub(super) fn journal(
    fs: &mut Filesystem<'_>,
    _: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let block = fs.journal_block()?;
    let mut what = String::new();
    fs.edit_journal(block, |sb| {
        what = draw.field_big_endian(sb.as_mut_bytes(), field::JOURNAL, &limits);
    })?;
    Ok(format!("journal superblock {what}"))
}

pub(super) fn mmp(fs: &mut Filesystem<'_>, _: &Known, draw: &mut Draw) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let block = fs.superblock().s_mmp_block.get();
    if block == 0 {
        return missing("multiple mount protection");
    }
    let mut what = String::new();
    fs.edit_block(block, |bytes| {
        what = draw.field(bytes, 0, field::MMP, &limits);
    })?;
    Ok(format!("MMP block {what}"))
}

/// A word of what quota files, the orphan file or the resize inode hold.
pub(super) fn special_file(
    fs: &mut Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let limits = Limits::of(fs);
    let mut inodes = known.special.clone();
    inodes.retain(|ino| *ino != number::JOURNAL);
    let orphans = fs.superblock().s_orphan_file_inum.get();
    if orphans != 0 {
        inodes.push(orphans);
    }
    let ino = *draw.of(&inodes, "special file")?;
    let blocks = fs.blocks(ino)?;
    let all: Vec<u64> = blocks
        .data
        .iter()
        .take(64)
        .flat_map(|run| run.physical..run.physical + run.len.min(64))
        .chain(blocks.tree.iter().map(|(block, _)| *block))
        .collect();
    let block = *draw.of(&all, "special file with blocks")?;
    let words = fs.block_size() as u64 / 4;
    let mut what = String::new();
    fs.edit_block(block, |bytes| {
        // The used parts are at both ends.
        let nth = match draw.below(3) {
            0 => draw.below(16),
            1 => words - 1 - draw.below(4),
            _ => draw.below(words),
        } as usize;
        what = format!(
            "word {nth} {}",
            draw.field(bytes, nth * 4, field::POINTER, &limits)
        );
    })?;
    Ok(format!("inode {ino} block {block} {what}"))
}
