//! What devices do: blocks overwritten, misplaced, with bits turned.

use super::super::error::{Error, missing};
use super::super::filesystem::Filesystem;
use super::draw::Draw;
use super::known::Known;

/// A block that matters.
pub(super) fn metadata_block(
    fs: &Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<u64, Error> {
    let group = draw.below(fs.geometry().groups.into()) as u32;
    let desc = fs.descriptor(group)?;
    Ok(match draw.below(6) {
        0 => desc.block_bitmap(),
        1 => desc.inode_bitmap(),
        2 => desc.inode_table() + draw.below(8.min(fs.geometry().inode_table_blocks()).into()),
        3 => {
            let owned = draw.of(&known.mapped, "mapped file")?;
            draw.of(&owned.tree, "tree block")?.0
        }
        4 if !known.attribute_blocks.is_empty() => {
            *draw.of(&known.attribute_blocks, "block of attributes")?
        }
        _ => {
            let owned = draw.of(&known.directories, "directory")?;
            *draw.of(&owned.leaves, "directory block")?
        }
    })
}

pub(super) fn whole_block(
    fs: &mut Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let block = metadata_block(fs, known, draw)?;
    let size = fs.block_size();
    // A sector, or all of it.
    let (from, to) = if draw.below(2) == 0 {
        let sector = draw.below((size / 512) as u64) as usize * 512;
        (sector, sector + 512)
    } else {
        (0, size)
    };
    let kind = draw.below(3);
    let noise: Vec<u8> = (from..to).map(|_| draw.below(256) as u8).collect();
    fs.edit_block(block, |bytes| match kind {
        0 => bytes[from..to].fill(0),
        1 => bytes[from..to].fill(0xff),
        _ => bytes[from..to].copy_from_slice(&noise),
    })?;
    let with = ["zeros", "ones", "noise"][kind as usize];
    Ok(format!(
        "block {block} bytes {from} to {to} overwritten with {with}"
    ))
}

/// A block that was written to another block's place.
pub(super) fn misplaced_block(
    fs: &mut Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let from = metadata_block(fs, known, draw)?;
    let to = metadata_block(fs, known, draw)?;
    if from == to {
        return missing("second block");
    }
    let bytes = fs.block(from)?;
    fs.put_block(to, &bytes)?;
    Ok(format!("block {from} written over block {to}"))
}

/// A few bytes anywhere in a block that matters.
pub(super) fn noise(
    fs: &mut Filesystem<'_>,
    known: &Known,
    draw: &mut Draw,
) -> Result<String, Error> {
    let block = metadata_block(fs, known, draw)?;
    let size = fs.block_size() as u64;
    let mut turned = Vec::new();
    let mut bytes = fs.block(block)?;
    for _ in 0..=draw.below(4) {
        let (at, bit) = (draw.below(size) as usize, draw.below(8));
        bytes[at] ^= 1 << bit;
        turned.push(format!("{at}.{bit}"));
    }
    fs.put_block(block, &bytes)?;
    Ok(format!("block {block}: bits {} turned", turned.join(", ")))
}
