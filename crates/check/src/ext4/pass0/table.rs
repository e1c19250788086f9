//! The table of group descriptors: reading it, and whether it can be that of this filesystem at all.

use std::ops::Range;

use blockio::{BlockSource, Fault, ReadError};
use ondisk::ext4::feature::Incompat;
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, DescriptorChecksum, INODE_UNINIT};
use ondisk::ext4::{Geometry, GroupDescriptor, Superblock};

use crate::ext4::volume::Claims;

/// The descriptors as they are to be used, and what they claimed.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub descriptors: Vec<GroupDescriptor>,
    pub claims: Claims,
}

/// Bytes read at once.
const CHUNK: u64 = 1 << 20;

/// The block of descriptors number `index` that belongs to the superblock in use.
fn place(geometry: &Geometry, backup: Option<u64>, index: u32) -> Option<u64> {
    let Some(block) = backup else {
        return geometry.desc_block(index);
    };
    let zero = u64::from(block == 0 && geometry.block_size == 1024);
    if index < geometry.first_meta_bg.min(geometry.desc_blocks()) {
        return block.checked_add(1 + zero + u64::from(index));
    }
    // The second group of a metablock group has the copy, if there is a second group.
    geometry
        .backup_desc_block(0, index)
        .or_else(|| geometry.desc_block(index))
}

/// Reads the whole table. Nothing is asked of memory before the last block is known to lie within the source.
pub(super) fn read(
    source: &dyn BlockSource,
    sb: &Superblock,
    geometry: &Geometry,
    backup: Option<u64>,
) -> Result<Table, ReadError> {
    let block_size = u64::from(geometry.block_size);
    let per_block = geometry.descs_per_block();
    let last = place(geometry, backup, geometry.desc_blocks() - 1).unwrap_or(u64::MAX);
    within(source, last, block_size)?;
    let mut table = Table::default();
    table.descriptors.reserve_exact(geometry.groups as usize);
    table.claims.flags.reserve_exact(geometry.groups as usize);
    let reader = Reader {
        size: geometry.desc_size,
        way: DescriptorChecksum::of(sb),
        backup: backup.is_some_and(|block| block > 1),
    };
    let mut buffer = Vec::new();
    let mut index = 0;
    while index < geometry.desc_blocks() {
        let first = place(geometry, backup, index).unwrap_or(u64::MAX);
        let most = (CHUNK / block_size).max(1);
        let run = (1..most)
            .take_while(|nth| {
                place(geometry, backup, index + *nth as u32) == first.checked_add(*nth)
            })
            .count() as u32
            + 1;
        within(source, first.saturating_add(u64::from(run) - 1), block_size)?;
        buffer.resize(run as usize * block_size as usize, 0);
        source.read_at(&mut buffer, first * block_size)?;
        for (nth, block) in (index..).zip(buffer.chunks_exact(block_size as usize)) {
            let left = geometry.groups - nth * per_block;
            let size = usize::from(geometry.desc_size);
            for (place, bytes) in (0..left.min(per_block)).zip(block.chunks_exact(size)) {
                reader.add(nth * per_block + place, bytes, &mut table);
            }
        }
        index += run;
    }
    Ok(table)
}

/// That the table of a superblock whose arithmetic is impossible would lie inside the source: e2fsck reads it before it looks at
/// any field that is.
pub(super) fn exists(
    source: &dyn BlockSource,
    sb: &Superblock,
    groups: u64,
) -> Result<(), ReadError> {
    // The library has looked at these two.
    let block_size = 1024_u64 << sb.s_log_block_size.get().min(6);
    let per_block = block_size / u64::from(sb.desc_size().max(1)).min(block_size);
    let blocks = groups.div_ceil(per_block);
    let first = u64::from(sb.s_first_data_block.get());
    let old = if sb.has_incompat(Incompat::META_BG) {
        u64::from(sb.s_first_meta_bg.get()).min(blocks)
    } else {
        blocks
    };
    within(source, first.saturating_add(old), block_size)?;
    if old < blocks {
        let group = (blocks - 1) * per_block;
        let last = group.saturating_mul(sb.s_blocks_per_group.get().into());
        within(source, first.saturating_add(last), block_size)?;
    }
    Ok(())
}

/// That a block lies inside the source.
fn within(source: &dyn BlockSource, block: u64, block_size: u64) -> Result<(), ReadError> {
    let end = block
        .checked_add(1)
        .and_then(|end| end.checked_mul(block_size));
    if end.is_some_and(|end| end <= source.len()) {
        return Ok(());
    }
    Err(ReadError {
        name: std::sync::Arc::clone(source.name()),
        offset: block.saturating_mul(block_size),
        len: block_size,
        fault: Fault::PastEnd(source.len()),
    })
}

struct Reader {
    size: u16,
    way: DescriptorChecksum,
    /// The library trusts no backup about what was never written.
    backup: bool,
}

impl Reader {
    fn add(&self, group: u32, bytes: &[u8], table: &mut Table) {
        // As many bytes as it needs: `Geometry` has the size.
        let Ok(mut descriptor) = GroupDescriptor::read(bytes, self.size) else {
            return;
        };
        let clear = |descriptor: &mut GroupDescriptor| {
            let flags = descriptor.flags() & !(INODE_UNINIT | BLOCK_UNINIT);
            descriptor.raw.bg_flags = flags.into();
            descriptor.set_itable_unused(0);
        };
        if self.way.allows_uninit() {
            if self.backup {
                clear(&mut descriptor);
            } else if let Some(sum) = self.way.verify(group, bytes)
                && !sum.matches()
            {
                table.claims.checksums.push((group, sum));
            }
            table.claims.flags.push(descriptor.flags());
        } else {
            table.claims.flags.push(descriptor.flags());
            let claims = descriptor.flags() & (INODE_UNINIT | BLOCK_UNINIT) != 0;
            if claims || descriptor.itable_unused() != 0 {
                table.claims.uninit.push(group);
                table.claims.unused.push(descriptor.itable_unused());
                clear(&mut descriptor);
            }
        }
        table.descriptors.push(descriptor);
    }
}

/// Why the table cannot be right: the first piece, in the order of the groups, that lies outside of where it may lie, or else any
/// two that overlap.
///
/// e2fsck marks each piece in a bitmap of the whole filesystem. Ranges do the same: neighbours of a kind lie side by side in
/// most filesystems, so that there are few.
pub(super) fn contradiction(
    sb: &Superblock,
    geometry: &Geometry,
    descriptors: &[GroupDescriptor],
) -> Option<String> {
    let flex_bg = sb.has_incompat(Incompat::FLEX_BG);
    let table_blocks = u64::from(geometry.inode_table_blocks());
    let mut kinds: [Ranges; 4] = Default::default();
    for (layout, descriptor) in geometry.group_layouts().zip(descriptors) {
        let group = layout.group;
        let range = geometry.metadata_range(group, flex_bg);
        let pieces = [
            ("block bitmap", descriptor.block_bitmap(), 1),
            ("inode bitmap", descriptor.inode_bitmap(), 1),
            ("inode table", descriptor.inode_table(), table_blocks),
        ];
        for ((what, start, len), kind) in pieces.into_iter().zip(&mut kinds) {
            let end = start.saturating_add(len);
            if start < range.start || end > range.end {
                return Some(format!(
                    "the {what} of group {group} would begin at block {start}, outside of {}-{}",
                    range.start,
                    range.end - 1
                ));
            }
            kind.push(start..end);
        }
        let own = &mut kinds[3];
        if let Some(block) = layout.superblock {
            own.push(block..block + 1);
        }
        own.push(layout.descriptors.start..layout.reserved_gdt.end);
    }
    let mut all: Vec<Range<u64>> = kinds.into_iter().flat_map(|kind| kind.0).collect();
    all.sort_unstable_by_key(|range| (range.start, range.end));
    let overlap = all.windows(2).find(|pair| pair[1].start < pair[0].end)?;
    Some(format!(
        "block {} is claimed by two bitmaps, tables or copies of the superblock",
        overlap[1].start
    ))
}

/// Ranges that are joined while they are consecutive.
#[derive(Debug, Default)]
struct Ranges(Vec<Range<u64>>);

impl Ranges {
    fn push(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.0.push(range),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_after_not_before() {
        let mut ranges = Ranges::default();
        for range in [5..6, 6..9, 9..9, 4..5, 5..7] {
            ranges.push(range);
        }
        assert_eq!(ranges.0, [5..9, 4..7]);
    }
}
