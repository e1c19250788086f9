//! Quota files against what pass 1 has added up.
//!
//! The tree is walked block by block through the file's map, each block of the device once, so that neither a size on disk nor a
//! pointer decides how much is read. As in the reference, a leaf counts with all entries it holds, and an entry whose
//! usage and owner's are not the same makes the whole file wrong.

use std::collections::{BTreeMap, HashSet};

use ondisk::ext4::Inode;
use ondisk::ext4::feature::RoCompat;
use ondisk::ext4::quota::{self, BLOCK, DEPTH, Header, Kind};
use zerocopy::IntoBytes;

use super::super::file::Map;
use super::super::pass1::Taken;
use super::super::{State, Volume};
use super::order;
use crate::finding::Finding;
use crate::log::Log;
use crate::problem::P6_UPDATE_QUOTAS;

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
            Ok(usage) => difference(&usage, taken),
            Err(why) => Some(Finding::new(&P6_UPDATE_QUOTAS).note(why)),
        };
        if let Some(finding) = wrong {
            log.add(finding.inode(ino).order(order(1, nth)));
        }
    }
}

/// The first owner whose usage is not what the file says, and how many there are.
fn difference(file: &BTreeMap<u32, Taken>, taken: &BTreeMap<u32, Taken>) -> Option<Finding> {
    let nothing = Taken::default();
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
    let text = |taken: Taken| format!("{} bytes, {} inodes", taken.bytes, taken.inodes);
    Some(
        Finding::new(&P6_UPDATE_QUOTAS)
            .found(text(says))
            .expected(text(is))
            .note(format!("id {id}, the first of {count}")),
    )
}

fn read(volume: &Volume<'_>, ino: u32, kind: Kind) -> Result<BTreeMap<u32, Taken>, String> {
    let slot = volume.read_slot(ino).map_err(|error| error.to_string())?;
    let inode =
        Inode::read(&slot, volume.geometry.inode_size).map_err(|error| error.to_string())?;
    let mut tree = Tree {
        volume,
        map: volume.map(&inode),
        end: inode.size(),
        seen: HashSet::new(),
        usage: BTreeMap::new(),
    };
    let head = tree.fetch(0)?.ok_or("its header is not mapped")?;
    let header = Header::read(&head, kind).map_err(|error| error.to_string())?;
    plausible(header, inode.size())?;
    tree.node(1, 0)?;
    Ok(tree.usage)
}

/// What the header says of its own file, which decides nothing here, and without which the reference reads no further.
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
    map: Map,
    /// Bytes of the file.
    end: u64,
    /// Bytes of the device that were read.
    seen: HashSet<u64>,
    usage: BTreeMap<u32, Taken>,
}

impl Tree<'_> {
    /// A block of the tree; none if it was read before.
    fn fetch(&mut self, block: u32) -> Result<Option<Vec<u8>>, String> {
        let outside = || format!("a pointer leads to its block {block}, which it does not have");
        let at = u64::from(block) * BLOCK as u64;
        if at >= self.end {
            return Err(outside());
        }
        let block_size = u64::from(self.volume.geometry.block_size);
        let physical = self.map.block(at / block_size).ok_or_else(outside)?;
        let place = physical * block_size + at % block_size;
        if !self.seen.insert(place) {
            return Ok(None);
        }
        let mut bytes = vec![0; BLOCK];
        let read = self.volume.source.read_at(&mut bytes, place);
        read.map_err(|error| error.to_string())?;
        Ok(Some(bytes))
    }

    fn node(&mut self, block: u32, level: usize) -> Result<(), String> {
        let Some(bytes) = self.fetch(block)? else {
            return Err(format!("two pointers lead to its block {block}"));
        };
        for below in ondisk::ext4::block_map::pointers(&bytes) {
            if below == 0 {
                continue;
            }
            if level + 1 < DEPTH {
                self.node(below, level + 1)?;
            } else if let Some(leaf) = self.fetch(below)? {
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
            self.usage.insert(
                entry.dqb_id.get(),
                Taken {
                    bytes: entry.dqb_curspace.get(),
                    inodes: entry.dqb_curinodes.get(),
                },
            );
        }
    }
}
