//! Quota files against what pass 1 has added up.
//!
//! The tree is walked block by block through the file's map, each block of the file once at each level, so that no pointer
//! decides how much is read. As in the reference, depth alone decides what a block is: one that was a node may come again as a leaf. A
//! leaf counts with all entries it holds, and an entry whose usage and owner's are not the same makes the whole file wrong.

use std::collections::BTreeMap;

use ondisk::ext4::Inode;
use ondisk::ext4::feature::RoCompat;
use ondisk::ext4::quota::{self, BLOCK, DEPTH, Header, Kind};
use zerocopy::IntoBytes;

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::P6_UPDATE_QUOTAS;
use crate::ext4::file::Map;
use crate::ext4::pass1::tally::OwnerUsage;
use crate::ext4::post::order;
use crate::ext4::state::State;
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;

/// All quota files that the superblock names.
pub(super) fn check(volume: &Volume<'_>, state: &State, log: &mut Log) {
    let sb = &volume.sb;
    if !sb.has_ro_compat(RoCompat::QUOTA) {
        return;
    }
    let owners = &state.owners;
    let files = [
        (Kind::User, sb.s_usr_quota_inum.get(), &owners.users),
        (Kind::Group, sb.s_grp_quota_inum.get(), &owners.groups),
        (Kind::Project, sb.s_prj_quota_inum.get(), &owners.projects),
    ];
    for (nth, (kind, ino, taken)) in (0..).zip(files) {
        if ino == 0 {
            continue;
        }
        // Inodes of 128 bytes have no project.
        let none = BTreeMap::new();
        let taken = match kind {
            Kind::Project if volume.geometry.inode_size <= 128 => &none,
            _ => taken,
        };
        let wrong = match read(volume, ino, kind) {
            Ok(Usage { owners, twice }) => difference(&owners, taken).or_else(|| {
                let note = format!("two pointers lead to its block {}", twice?);
                let finding = Finding::new(&P6_UPDATE_QUOTAS).note(note);
                Some(finding.beyond_reference())
            }),
            Err(why) => Some(Finding::new(&P6_UPDATE_QUOTAS).note(why)),
        };
        if let Some(finding) = wrong {
            log.add(finding.inode(ino).order(order(1, nth)));
        }
    }
}

/// The first owner whose usage differs from the file, and the number of such owners.
fn difference(
    file: &BTreeMap<u32, OwnerUsage>,
    taken: &BTreeMap<u32, OwnerUsage>,
) -> Option<Finding> {
    let nothing = OwnerUsage::default();
    let mut first = None;
    let mut count = 0_u64;
    let ids: std::collections::BTreeSet<u32> = file.keys().chain(taken.keys()).copied().collect();
    for id in ids {
        let says = file.get(&id).copied().unwrap_or(nothing);
        let is = taken.get(&id).copied().unwrap_or(nothing);
        // An owner without an entry is wrong even if nothing is left of what was taken.
        if says != is || !file.contains_key(&id) {
            count += 1;
            first.get_or_insert((id, says, is));
        }
    }
    let (id, says, is) = first?;
    let text = |taken: OwnerUsage| format!("{} bytes, {} inodes", taken.bytes, taken.inodes);
    Some(
        Finding::new(&P6_UPDATE_QUOTAS)
            .found(text(says))
            .expected(text(is))
            .note(format!("id {id}, the first of {count}")),
    )
}

/// Contents of a quota file.
struct Usage {
    owners: BTreeMap<u32, OwnerUsage>,
    /// A block of its tree that is a node, and something else as well.
    twice: Option<u32>,
}

fn read(volume: &Volume<'_>, ino: u32, kind: Kind) -> Result<Usage, String> {
    let slot = volume.read_slot(ino).map_err(|error| error.to_string())?;
    let inode =
        Inode::read(&slot, volume.geometry.inode_size).map_err(|error| error.to_string())?;
    let mut tree = Tree {
        volume,
        places: Places::of(&volume.map(&inode)),
        end: inode.size(),
        seen: BTreeMap::new(),
        usage: Usage {
            owners: BTreeMap::new(),
            twice: None,
        },
    };
    let head = tree.fetch(0)?;
    let header = Header::read(&head, kind).map_err(|error| error.to_string())?;
    plausible(header, inode.size())?;
    tree.node(1, 0)?;
    Ok(tree.usage)
}

/// The header's fields about its own file, which decide nothing here, and without which the reference reads no further.
fn plausible(header: &Header, size: u64) -> Result<(), String> {
    /// The largest file that is taken for one of quotas.
    const LARGEST: u64 = 1 << 31;
    let blocks = header.dqi_blocks.get();
    if size > LARGEST || u64::from(blocks) > size.div_ceil(BLOCK as u64) {
        return Err(format!(
            "{size} bytes are not the {blocks} blocks of dqi_blocks"
        ));
    }
    let lists = [
        ("dqi_free_blk", header.dqi_free_blk.get()),
        ("dqi_free_entry", header.dqi_free_entry.get()),
    ];
    match lists.into_iter().find(|(_, first)| *first >= blocks) {
        Some((field, first)) => Err(format!("{field} is {first}, and it has {blocks} blocks")),
        None => Ok(()),
    }
}

struct Tree<'a> {
    volume: &'a Volume<'a>,
    places: Places,
    /// Bytes of the file.
    end: u64,
    /// A bit for each level at which a block was read.
    seen: BTreeMap<u32, u8>,
    usage: Usage,
}

/// The bit of leaves.
const LEAF: u8 = 1 << DEPTH;

impl Tree<'_> {
    /// Whether a block comes for the first time at this level.
    fn is_new(&mut self, block: u32, level: usize) -> bool {
        let bit = 1 << level;
        let before = self.seen.entry(block).or_default();
        // One leaf holds several owners, and each has a pointer to it.
        let others = if bit == LEAF { !LEAF } else { u8::MAX };
        if *before & others != 0 {
            self.usage.twice.get_or_insert(block);
        }
        let new = *before & bit == 0;
        *before |= bit;
        new
    }

    /// A block of the file.
    fn fetch(&self, block: u32) -> Result<Vec<u8>, String> {
        if self.volume.progress.cancelled() {
            return Err("the check was stopped".into());
        }
        let outside = || format!("a pointer leads to its block {block}, which it does not have");
        let at = u64::from(block) * BLOCK as u64;
        if at >= self.end {
            return Err(outside());
        }
        let block_size = u64::from(self.volume.geometry.block_size);
        let physical = self.places.block(at / block_size).ok_or_else(outside)?;
        let place = physical * block_size + at % block_size;
        let mut bytes = vec![0; BLOCK];
        let read = self.volume.source.read_at(&mut bytes, place);
        read.map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    fn node(&mut self, block: u32, level: usize) -> Result<(), String> {
        if !self.is_new(block, level) {
            return Ok(());
        }
        let bytes = self.fetch(block)?;
        for below in ondisk::ext4::block_map::pointers(&bytes) {
            if below == 0 {
                continue;
            }
            if level + 1 < DEPTH {
                self.node(below, level + 1)?;
            } else if self.is_new(below, DEPTH) {
                let leaf = self.fetch(below)?;
                self.leaf(&leaf);
            }
        }
        Ok(())
    }

    fn leaf(&mut self, bytes: &[u8]) {
        for entry in quota::slots(bytes) {
            if entry.as_bytes().iter().all(|byte| *byte == 0) {
                continue;
            }
            self.usage.owners.insert(
                entry.dqb_id.get(),
                OwnerUsage {
                    bytes: entry.dqb_curspace.get(),
                    inodes: entry.dqb_curinodes.get(),
                },
            );
        }
    }
}

/// Where the blocks of a file lie, to be asked for in any order. A map in a million pieces is looked through once, not for each block.
struct Places {
    /// Pieces of the file, not adjacent: first block, the one after the last, first block of the device.
    pieces: BTreeMap<u64, (u64, u64)>,
}

impl Places {
    /// Of several pieces that map a block the first one counts, as it does for [`Map::block`].
    fn of(map: &Map) -> Places {
        let mut pieces = BTreeMap::new();
        // What is mapped already: where pieces touch, they are one here.
        let mut covered: BTreeMap<u64, u64> = BTreeMap::new();
        for stretch in &map.stretches {
            let (start, end) = (stretch.logical, stretch.logical.saturating_add(stretch.len));
            let (mut first, mut last) = (start, end);
            // Up to here, from the end, it is not known yet whether the blocks are mapped.
            let mut open = end;
            while let Some((from, to)) = before(&covered, end).filter(|(_, to)| *to >= start) {
                covered.remove(&from);
                if to < open {
                    pieces.insert(to, (open, stretch.physical + (to - start)));
                }
                open = open.min(from);
                (first, last) = (first.min(from), last.max(to));
            }
            if start < open {
                pieces.insert(start, (open, stretch.physical));
            }
            covered.insert(first, last);
        }
        Places { pieces }
    }

    /// The device's block of a block of the file.
    fn block(&self, logical: u64) -> Option<u64> {
        let (start, (end, physical)) = self.pieces.range(..=logical).next_back()?;
        (logical < *end).then(|| physical + (logical - start))
    }
}

/// The last that begins at `end` or before it.
fn before(covered: &BTreeMap<u64, u64>, end: u64) -> Option<(u64, u64)> {
    let (from, to) = covered.range(..=end).next_back()?;
    Some((*from, *to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext4::file::Stretch;

    #[test]
    fn the_first_piece_that_maps_a_block_counts() {
        let pieces = [
            (10, 100, 5),
            (0, 200, 3),
            (12, 300, 10),
            (2, 400, 30),
            (40, 500, 0),
            (32, 600, 2),
            (0, 700, 50),
        ];
        let stretches = pieces.map(|(logical, physical, len)| Stretch {
            logical,
            physical,
            len,
        });
        let map = Map {
            stretches: stretches.into(),
            ..Map::default()
        };
        let places = Places::of(&map);
        for logical in 0..60 {
            assert_eq!(places.block(logical), map.block(logical), "block {logical}");
        }
    }
}
