//! Which parts of the inode tables are read.

use blockio::Span;
use ondisk::ext4::feature::RoCompat;
use ondisk::ext4::group_descriptor::INODE_UNINIT;

use super::super::volume::Volume;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::P1_ISCAN_ERROR;
use crate::frame::finding::Finding;

/// The part of a group's table that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ext4) struct Table {
    /// Where it begins.
    pub(in crate::ext4) first_block: u64,
    /// Inodes that may be in use.
    pub(in crate::ext4) inodes: u32,
}

/// Whether descriptors carry checksums, without which their hints do not count.
fn has_hints(volume: &Volume<'_>) -> bool {
    volume.sb.has_ro_compat(RoCompat::GDT_CSUM) || volume.sb.has_ro_compat(RoCompat::METADATA_CSUM)
}

/// Whether a group's table lies in the filesystem.
fn lies_inside(volume: &Volume<'_>, first_block: u64) -> bool {
    let geometry = &volume.geometry;
    let end = first_block.saturating_add(geometry.inode_table_blocks().into());
    first_block >= geometry.first_data_block.into() && end <= geometry.blocks_count
}

/// The table of a group; none where there is nothing to be read.
pub(in crate::ext4) fn table(volume: &Volume<'_>, group: u32) -> Option<Table> {
    let descriptor = volume.descriptors.get(group as usize)?;
    let first_block = descriptor.inode_table();
    if first_block == 0 || !lies_inside(volume, first_block) {
        return None;
    }
    let mut inodes = volume.geometry.inodes_per_group;
    if has_hints(volume) {
        if descriptor.has_flags(INODE_UNINIT) {
            return None;
        }
        inodes = inodes.saturating_sub(descriptor.itable_unused());
    }
    (inodes > 0).then_some(Table {
        first_block,
        inodes,
    })
}

/// Bytes of a table in whole blocks.
fn bytes(volume: &Volume<'_>, table: Table) -> u64 {
    let inodes = u64::from(table.inodes) * u64::from(volume.geometry.inode_size);
    inodes.next_multiple_of(volume.geometry.block_size.into())
}

/// Bytes of all tables that are read.
pub(crate) fn bytes_to_read(volume: &Volume<'_>) -> u64 {
    let tables = (0..volume.geometry.groups).filter_map(|group| table(volume, group));
    tables.map(|table| bytes(volume, table)).sum()
}

/// All tables as spans in whole blocks, ascending, tagged by their groups; tables outside the filesystem are reported.
pub(in crate::ext4) fn spans(volume: &Volume<'_>, log: &mut Log) -> Vec<Span> {
    let block = u64::from(volume.geometry.block_size);
    let mut spans = Vec::new();
    for (group, descriptor) in (0..).zip(&volume.descriptors) {
        let first_block = descriptor.inode_table();
        if first_block != 0 && !lies_inside(volume, first_block) {
            let first = u64::from(group) * u64::from(volume.geometry.inodes_per_group) + 1;
            let finding = Finding::new(&P1_ISCAN_ERROR).order(first).group(group);
            let finding = finding.block(first_block);
            log.add(
                finding.note(
                    "the inode table is not inside the filesystem; its inodes cannot be judged",
                ),
            );
        }
        if let Some(table) = table(volume, group) {
            let start = table.first_block * block;
            spans.push(Span {
                tag: group.into(),
                range: start..start + bytes(volume, table),
            });
        }
    }
    spans.sort_unstable_by_key(|span| span.range.start);
    spans
}
