//! One thread of pass 1: the maps that it shares with others, and its own lists.

use blockio::{Content, Piece};

use super::attributes;
use super::attributes::charge::Charge;
use super::maps::Maps;
use super::plan;
use super::tally::{Owners, Statistics};
use super::walk::Item;
use crate::ext4::directories::{Directory, Run};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::P1_ISCAN_ERROR;
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;
use crate::frame::prefetch::Prefetch;

/// What reads nodes of mappings ahead of a walk.
pub(super) fn nodes<'a>(volume: &'a Volume<'a>) -> Prefetch<'a> {
    Prefetch::new(
        volume.source,
        volume.blocks(),
        &volume.sweep(),
        &volume.options,
    )
}

/// An inode that waits for its nodes to be read.
pub(super) struct Deep {
    pub(super) ino: u32,
    pub(super) charge: Charge,
    /// Its checksum is wrong.
    pub(super) wrong: bool,
}

/// One thread, and what it has found.
pub(crate) struct Worker<'a> {
    pub(super) maps: &'a Maps<'a>,
    pub(super) attributes: attributes::Worker<'a>,
    /// The bad-block list.
    pub(super) listed: &'a [u64],
    pub(super) log: Log,
    pub(super) nodes: Prefetch<'a>,
    pub(super) deep: Vec<Deep>,
    /// The slots of these inodes, in the same order.
    pub(super) deep_bytes: Vec<u8>,
    /// Number of nodes that their roots name.
    pub(super) deep_nodes: usize,
    pub(super) directories: Vec<Directory>,
    pub(super) runs: Vec<Run>,
    pub(super) bad: Vec<u32>,
    pub(super) on_bad_blocks: Vec<u32>,
    pub(super) imagic: Vec<u32>,
    pub(super) bad_checksum: Vec<u32>,
    pub(super) owners: Owners,
    pub(super) statistics: Statistics,
    /// First inode whose deletion time looks like the link of a list.
    pub(super) refugee: u32,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        maps: &'a Maps<'a>,
        attributes: &'a attributes::Shared,
        listed: &'a [u64],
        log: Log,
    ) -> Worker<'a> {
        Worker {
            maps,
            attributes: attributes::Worker::new(maps.volume, attributes),
            listed,
            log,
            nodes: nodes(maps.volume),
            deep: Vec::new(),
            deep_bytes: Vec::new(),
            deep_nodes: 0,
            directories: Vec::new(),
            runs: Vec::new(),
            bad: Vec::new(),
            on_bad_blocks: Vec::new(),
            imagic: Vec::new(),
            bad_checksum: Vec::new(),
            owners: Owners::default(),
            statistics: Statistics::default(),
            refugee: u32::MAX,
        }
    }

    /// Takes a finding about an inode.
    pub(super) fn add(&mut self, item: &Item<'_>, finding: Finding) {
        self.log.add(finding.inode(item.ino));
    }

    /// Takes a piece of a table.
    pub(super) fn take(&mut self, piece: &Piece<'_>) {
        let geometry = &self.maps.volume.geometry;
        let group = piece.tag as u32;
        let Some(table) = plan::table(self.maps.volume, group) else {
            return;
        };
        let size = u64::from(geometry.inode_size);
        let block = u64::from(geometry.block_size);
        let of_block = (block / size) as u32;
        let start = piece.offset.saturating_sub(table.first_block * block);
        let before = (start / size) as u32;
        let first = group * geometry.inodes_per_group + before + 1;
        let left = table.inodes.saturating_sub(before);
        match piece.content {
            Content::Data(bytes) => {
                let blocks = bytes.chunks(block as usize);
                for (nth, bytes) in (0..).zip(blocks) {
                    let done = nth * of_block;
                    let count = left.saturating_sub(done).min(of_block);
                    let at = piece.offset / block + u64::from(nth);
                    self.take_table_block(at, first + done, count, bytes);
                }
            }
            Content::Hole(len) => {
                let count = left.min((len / size) as u32);
                self.take_hole(first, count);
            }
            Content::Failed(error) => {
                let count = left.min((error.len / size) as u32);
                let finding = Finding::new(&P1_ISCAN_ERROR)
                    .order(first.into())
                    .group(group);
                let finding = finding.block(piece.offset / block);
                let note = format!("{error}; {count} inodes from {first} on cannot be judged");
                self.log.add(finding.note(note));
                for ino in first..first.saturating_add(count) {
                    self.set_on_bad_block(ino);
                }
            }
        }
    }

    fn take_table_block(&mut self, at: u64, first: u32, count: u32, bytes: &[u8]) {
        if !self.listed.is_empty() && self.listed.binary_search(&at).is_ok() {
            for ino in (first..first.saturating_add(count)).filter(|ino| *ino != 1) {
                self.set_on_bad_block(ino);
            }
            return;
        }
        self.check_table_block(first, count as usize, bytes);
    }

    /// Zeros are free inodes, except for the reserved ones.
    fn take_hole(&mut self, first: u32, count: u32) {
        let size = usize::from(self.maps.volume.geometry.inode_size);
        let zeros = vec![0; size];
        let sb = &self.maps.volume.sb;
        let end = first.saturating_add(count);
        let project = Some(sb.s_prj_quota_inum.get());
        let special = (first..end.min(sb.first_ino()))
            .chain(project.filter(|ino| *ino >= sb.first_ino() && (first..end).contains(ino)));
        for ino in special {
            self.check_table_block(ino, 1, &zeros);
        }
    }

    /// An inode in an unreadable block: it counts as used, and is not checked.
    pub(super) fn set_on_bad_block(&mut self, ino: u32) {
        self.mark_used(ino);
        self.on_bad_blocks.push(ino);
    }
}
