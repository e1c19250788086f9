//! A block of a directory, or the part of an inode that holds one: its checksum, its chain of entries, its place in the index.

use ondisk::ext4::casefold::Folded;
use ondisk::ext4::directory::{Entry, HEAD, needed, rec_len_from_disk};
use ondisk::ext4::hash::{HashVersion, name_hash};

use super::block_view::{At, Part};
use super::index;
use super::names::fold;
use super::shared::{Dir, Shared};
use super::worker::{Leaf, Role, Worker};
use crate::ext4::e2fsck::problems::{
    P2_DIR_CORRUPTED, P2_LEAF_NODE_MISSING_CSUM, P2_LEAF_NODE_ONLY_CSUM_INVALID,
};
use crate::ext4::pass2::checksum::Seal;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// The hashes of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hashes {
    pub(super) min: u32,
    pub(super) max: u32,
}

impl Hashes {
    /// Of no name.
    pub(super) const NONE: Hashes = Hashes {
        min: u32::MAX,
        max: 0,
    };

    pub(super) fn take(&mut self, hash: u32) {
        self.min = self.min.min(hash);
        self.max = self.max.max(hash);
    }
}

/// The entry at a byte of a chain that ends at `end`, or why there is none.
pub(super) fn entry_at(
    bytes: &[u8],
    at: usize,
    end: usize,
    with_hash: bool,
    block_size: u32,
) -> Result<Entry<'_>, &'static str> {
    let record = bytes.get(at..end).unwrap_or(&[]);
    let Some(head) = record.first_chunk::<HEAD>() else {
        return Err("the rest of the block has no room for an entry");
    };
    let rec_len = rec_len_from_disk(u16::from_le_bytes([head[4], head[5]]), block_size);
    let name_len = usize::from(head[6]);
    if rec_len < needed(1, with_hash) {
        return Err("rec_len is too short for any entry");
    }
    if !rec_len.is_multiple_of(4) {
        return Err("rec_len is no multiple of 4");
    }
    let Some(record) = record.get(..rec_len) else {
        return Err("rec_len runs out of the block");
    };
    if needed(name_len, with_hash) > rec_len {
        return Err("name_len runs out of rec_len");
    }
    let (name, slack) = record[HEAD..].split_at(name_len);
    Ok(Entry {
        offset: at,
        inode: u32::from_le_bytes([head[0], head[1], head[2], head[3]]),
        rec_len,
        file_type: head[7],
        name,
        slack,
    })
}

/// The hash that orders a name in its index. `Err`: it cannot be judged.
pub(super) fn hash_of(
    shared: &Shared<'_>,
    dir: &Dir<'_>,
    version: Option<HashVersion>,
    entry: &Entry<'_>,
) -> Result<u32, ()> {
    // e2fsck takes 0 where the number means no hash.
    let Some(version) = version else { return Ok(0) };
    let hash = if version == HashVersion::SipHash {
        entry.stored_hash()
    } else if dir.folds {
        let name = match fold(entry.name) {
            Folded::Name(name) => name,
            // The kernel hashes what is no UTF-8 as it is; e2fsck takes what its tables make of it, or the hash before.
            Folded::Invalid(_) | Folded::NotCovered => return Err(()),
        };
        name_hash(version, shared.hash_seed, &name)
    } else {
        name_hash(version, shared.hash_seed, entry.name)
    };
    Ok(hash.map_or(0, |hash| hash.major))
}

/// The hashes of all names of a leaf, and nothing else.
pub(super) fn hashes(
    shared: &Shared<'_>,
    dir: &Dir<'_>,
    version: Option<HashVersion>,
    bytes: &[u8],
) -> Hashes {
    let size = shared.volume.geometry.block_size;
    let end = Seal::of(bytes, dir.seed).end_of_leaf(bytes.len(), dir.seed);
    let (mut found, mut at) = (Hashes::NONE, 0);
    while at < end {
        let Ok(entry) = entry_at(bytes, at, end, dir.stores_hashes, size) else {
            break;
        };
        if entry.inode != 0
            && shared.is_legal(entry.inode)
            && let Ok(hash) = hash_of(shared, dir, version, &entry)
        {
            found.take(hash);
        }
        at += entry.rec_len;
    }
    found
}

impl Worker<'_> {
    /// A block of the device.
    pub(super) fn block(&mut self, dir: &Dir<'_>, physical: u64, logical: u32, bytes: &[u8]) {
        if self.plain(dir, physical, logical, bytes) {
            return;
        }
        let seal = Seal::of(bytes, dir.seed);
        // The checksum of a block begins with the inode, which e2fsck then cannot read.
        let is_broken = seal.is_broken() || (dir.bad_checksum && seal.values().is_some());
        let role = if !dir.indexed {
            Role::Leaf
        } else if logical == 0 {
            Role::Root
        } else if index::is_node(
            bytes,
            self.shared.volume.geometry.block_size,
            dir.seed.is_some(),
        ) {
            Role::Node
        } else {
            Role::Leaf
        };
        let is_leaf = role == Role::Leaf;
        let mut part = Part {
            bytes,
            start: 0,
            end: bytes.len(),
            nth: if logical == 0 { 0 } else { 2 },
            physical,
            logical,
        };
        if is_leaf {
            if seal.lacks_tail() {
                let finding = self.of_block(&P2_LEAF_NODE_MISSING_CSUM, dir, &part, 0);
                self.log.add(finding);
            }
            part.end = seal.end_of_leaf(bytes.len(), dir.seed);
        }
        if role == Role::Root {
            self.root(dir, &part);
        }
        let mut hashes = Hashes::NONE;
        let whole = self.chain(dir, &part, &mut hashes, dir.indexed && is_leaf);
        match role {
            Role::Root | Role::Node => {
                self.index_block(dir, &part, role, is_broken.then_some(seal));
            }
            _ if whole && is_broken => {
                let finding = self.of_block(&P2_LEAF_NODE_ONLY_CSUM_INVALID, dir, &part, part.end);
                self.log.add(index::sums(finding, seal));
            }
            _ => {}
        }
        if dir.indexed {
            self.leaves.push(Leaf {
                dir: dir.at as u32,
                logical,
                role,
                min: hashes.min,
                max: hashes.max,
            });
        }
    }

    /// Follows a chain of entries to its end; whether it came there.
    pub(super) fn chain(
        &mut self,
        dir: &Dir<'_>,
        part: &Part<'_>,
        hashes: &mut Hashes,
        with_hashes: bool,
    ) -> bool {
        let size = self.shared.volume.geometry.block_size;
        let version = self.shared.expected_hash(dir);
        self.names.begin();
        let mut twins = false;
        let (mut at, mut nth) = (part.start, part.nth);
        while at < part.end {
            let with_hash = nth > 1 && dir.stores_hashes;
            let entry = match entry_at(part.bytes, at, part.end, with_hash, size) {
                Ok(entry) => entry,
                Err(why) => {
                    let finding = self.of_block(&P2_DIR_CORRUPTED, dir, part, at);
                    self.log.add(finding.note(why));
                    return false;
                }
            };
            let place = At {
                dir,
                part,
                entry: &entry,
            };
            if self.entry(place, nth, &mut twins) && with_hashes {
                match hash_of(self.shared, dir, version, &entry) {
                    Ok(hash) => hashes.take(hash),
                    Err(()) => self.unjudged += 1,
                }
            }
            at += entry.rec_len;
            nth = (nth + 1).min(2);
        }
        true
    }

    /// A finding about a block at a byte of it.
    pub(super) fn of_block(
        &self,
        problem: &'static Problem,
        dir: &Dir<'_>,
        part: &Part<'_>,
        offset: usize,
    ) -> Finding {
        let order = self.shared.order;
        let finding = Finding::new(problem)
            .inode(dir.inode())
            .logical(part.logical.into())
            .offset(offset)
            .order(order.of(dir.inode(), part.physical, part.logical, offset))
            .listed(dir.inode(), part.logical);
        match part.physical {
            0 => finding,
            block => finding.block(block),
        }
    }
}
