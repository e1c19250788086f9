//! A fast path for sound blocks, which are nearly all.
//!
//! A block that is judged entry by entry is asked some thirty questions for each name, and most of the time of a check went
//! there. Here the same questions are asked so that one loop answers all of them with "nothing" or with "perhaps", and at the first
//! "perhaps" nothing has happened and the block is judged from its beginning by the rules ([`Worker::block`]). So no finding is
//! raised here, and what is not obviously sound is doubted: names that are folded or encrypted, roots of indexes, whatever
//! a faulty inode is named by.
//!
//! The names of an indexed directory are hashed eight at a time, and two equal names have equal hashes, so that nothing else is needed
//! to see that none is used twice.

use std::sync::atomic::Ordering::Relaxed;

use ondisk::ext4::directory::{self, HEAD, TAIL, needed, rec_len_from_disk};
use ondisk::ext4::hash::{HashVersion, LANES, name_hashes};
use ondisk::ext4::inode::number::ROOT;
use ondisk::ext4::{Checksum, FileType};

use crate::ext4::inode_set::slot_of;
use crate::ext4::pass2::block::{Hashes, entry_at};
use crate::ext4::pass2::block_view::{At, Part};
use crate::ext4::pass2::index;
use crate::ext4::pass2::names;
use crate::ext4::pass2::names::Names;
use crate::ext4::pass2::shared::{Dir, Shared};
use crate::ext4::pass2::worker::{BlockEntries, Leaf, Role, Worker};

/// The shortest record.
const SHORTEST: usize = 12;

/// An entry's first 8 bytes.
struct Head {
    inode: u32,
    rec_len: usize,
    name_len: usize,
    kind: u8,
}

impl Head {
    fn read(bytes: &[u8], at: usize, block_size: u32) -> Option<Head> {
        let head = bytes.get(at..)?.first_chunk::<HEAD>()?;
        let word = u64::from_le_bytes(*head);
        Some(Head {
            inode: word as u32,
            rec_len: rec_len_from_disk((word >> 32) as u16, block_size),
            name_len: usize::from((word >> 48) as u8),
            kind: (word >> 56) as u8,
        })
    }

    /// Whether it is a record, of a chain that continues for `rest` bytes.
    fn fits(&self, rest: usize) -> bool {
        self.rec_len >= SHORTEST
            && self.rec_len.is_multiple_of(4)
            && self.rec_len <= rest
            && needed(self.name_len, false) <= self.rec_len
    }
}

impl Worker<'_> {
    /// Takes a block if nothing is wrong with it; otherwise changes nothing.
    pub(super) fn plain(
        &mut self,
        dir: &Dir<'_>,
        physical: u64,
        logical: u32,
        bytes: &[u8],
    ) -> bool {
        let mut seen = std::mem::take(&mut self.seen);
        seen.entries.clear();
        seen.children.clear();
        let hashes = self.look(dir, logical, bytes, &mut seen);
        if let Some(hashes) = hashes {
            self.take_plain(dir, physical, logical, bytes, &seen);
            if dir.indexed {
                self.leaves.push(Leaf {
                    dir: dir.at as u32,
                    logical,
                    role: Role::Leaf,
                    min: hashes.min,
                    max: hashes.max,
                });
            }
        }
        self.seen = seen;
        hashes.is_some()
    }

    /// The hashes of its names if all is well; of no name in a directory without an index.
    fn look(
        &mut self,
        dir: &Dir<'_>,
        logical: u32,
        bytes: &[u8],
        seen: &mut BlockEntries,
    ) -> Option<Hashes> {
        let shared = self.shared;
        if !shared.is_plain(dir) {
            return None;
        }
        let size = shared.volume.geometry.block_size;
        let has_root = logical == 0 && dir.indexed;
        if has_root || (dir.indexed && index::is_node(bytes, size, dir.seed.is_some())) {
            return None;
        }
        let end = match dir.seed {
            None => bytes.len(),
            Some(_) => bytes.len().checked_sub(TAIL)?,
        };
        let start = if logical == 0 {
            dots(shared, dir, bytes, end)?
        } else {
            0
        };
        walk(shared, dir, &bytes[..end], start, seen)?;
        if let Some(seed) = dir.seed
            && !directory::checksum(bytes, seed).is_some_and(Checksum::matches)
        {
            return None;
        }
        if dir.indexed {
            hash(shared, &mut self.names, bytes, &seen.entries)
        } else {
            differ(&mut self.names, bytes, &seen.entries).then_some(Hashes::NONE)
        }
    }

    /// Counts its names.
    fn take_plain(
        &mut self,
        dir: &Dir<'_>,
        physical: u64,
        logical: u32,
        bytes: &[u8],
        seen: &BlockEntries,
    ) {
        let shared = self.shared;
        let named = &shared.state.name_counts;
        let size = shared.volume.geometry.block_size;
        if logical == 0 {
            let above = Head::read(bytes, SHORTEST, size).map_or(0, |head| head.inode);
            dir.directory.dotdot.store(above, Relaxed);
            self.batch.add(named, slot_of(dir.inode()));
            self.batch.add(named, slot_of(above));
        }
        for entry in &seen.entries {
            if let Some(head) = Head::read(bytes, (entry >> 8) as usize, size) {
                self.batch.add(named, slot_of(head.inode));
            }
        }
        let part = &Part {
            bytes,
            start: 0,
            end: bytes.len(),
            nth: 2,
            physical,
            logical,
        };
        for at in &seen.children {
            if let Ok(entry) = &entry_at(bytes, *at as usize, bytes.len(), false, size) {
                self.child(At { dir, part, entry });
            }
        }
    }
}

impl Shared<'_> {
    /// Whether names in this directory are what they seem.
    fn is_plain(&self, dir: &Dir<'_>) -> bool {
        self.with_short_path
            && self.with_types
            && self.volume.claims.uninit.is_empty()
            && dir.policy.is_none()
            && !(dir.folds || dir.stores_hashes || dir.strict || dir.bad_checksum)
    }
}

/// Where the third entry begins, if the first two are `.` and `..` and all is well with them. Whether `..` leads to the right
/// directory is pass 3's question.
fn dots(shared: &Shared<'_>, dir: &Dir<'_>, bytes: &[u8], end: usize) -> Option<usize> {
    let size = shared.volume.geometry.block_size;
    let (own, above) = (
        Head::read(bytes, 0, size)?,
        Head::read(bytes, SHORTEST, size)?,
    );
    let is_directory = |head: &Head| {
        let kind = FileType::Directory.entry();
        head.kind == kind
            && shared.state.entry_type(head.inode) == kind
            && shared.is_legal(head.inode)
            && !shared.is_suspect(head.inode)
    };
    let is_sound = own.inode == dir.inode()
        && own.rec_len == SHORTEST
        && own.name_len == 1
        && is_directory(&own)
        && above.fits(end.checked_sub(SHORTEST)?)
        && above.name_len == 2
        && is_directory(&above)
        && bytes.get(HEAD..HEAD + 2)? == b".\0"
        && bytes.get(SHORTEST + HEAD..SHORTEST + HEAD + 3)? == b"..\0";
    is_sound.then_some(SHORTEST + above.rec_len)
}

/// Follows a chain that fills `bytes`; none at the first entry that may be faulty.
fn walk(
    shared: &Shared<'_>,
    dir: &Dir<'_>,
    bytes: &[u8],
    start: usize,
    seen: &mut BlockEntries,
) -> Option<()> {
    let size = shared.volume.geometry.block_size;
    let (own, state) = (dir.inode(), shared.state);
    let mut at = start;
    while at < bytes.len() {
        let head = Head::read(bytes, at, size)?;
        if !head.fits(bytes.len() - at) {
            return None;
        }
        if head.inode != 0 {
            let name = &bytes[at + HEAD..][..head.name_len];
            let is_sound = head.inode != own
                && head.inode != ROOT
                && shared.is_legal(head.inode)
                && head.kind != 0
                && state.entry_type(head.inode) == head.kind
                && names::is_plain(name)
                && !shared.is_suspect(head.inode);
            if !is_sound {
                return None;
            }
            seen.entries.push((at << 8 | head.name_len) as u32);
            if head.kind == FileType::Directory.entry() {
                seen.children.push(at as u32);
            }
        }
        at += head.rec_len;
    }
    Some(())
}

fn name(bytes: &[u8], entry: u32) -> &[u8] {
    let at = (entry >> 8) as usize + HEAD;
    bytes.get(at..at + (entry & 0xff) as usize).unwrap_or(&[])
}

/// The hashes of these names; nothing if two are equal, or if there is no hash.
fn hash(shared: &Shared<'_>, names: &mut Names, bytes: &[u8], entries: &[u32]) -> Option<Hashes> {
    let version: HashVersion = shared.hash?;
    let mut hashes = Hashes::NONE;
    names.begin();
    for entries in entries.chunks(LANES) {
        let mut group: [&[u8]; LANES] = [&[]; LANES];
        for (place, entry) in group.iter_mut().zip(entries) {
            *place = name(bytes, *entry);
        }
        let found = name_hashes(version, shared.hash_seed, &group)?;
        for hash in &found[..entries.len()] {
            hashes.take(hash.major);
            // The lowest bit is not part of the hash.
            let key = hash.major >> 1;
            if names.insert(key, key, |other| other == key) {
                return None;
            }
        }
    }
    Some(hashes)
}

/// Whether no two of these names are equal, as far as hashes can tell.
fn differ(names: &mut Names, bytes: &[u8], entries: &[u32]) -> bool {
    names.begin();
    entries.iter().all(|entry| {
        let key = names::hash(name(bytes, *entry)) as u32;
        !names.insert(key, key, |other| other == key)
    })
}

#[cfg(test)]
pub(super) mod tests;
