//! A shape becomes blocks.

use ondisk::ext4::directory::{
    HEAD, LONGEST_NAME, TAIL, TAIL_TYPE, needed, rec_len_from_disk, rec_len_to_disk, seal,
};
use ondisk::ext4::hash::{HashVersion, NameHash};
use ondisk::ext4::htree::{self, IndexEntry, NewRoot};
use ondisk::ext4::inline::IN_BLOCK;
use ondisk::ext4::{FileType, Seed};

use super::block::Block;
use super::index::{Index, Node};
use super::leaf::{DOT, DOT_DOT, FREE, Leaf, WIDE_DOT_DOT};
use super::{Rules, Shape};
use crate::Error;

/// The target of a name; the name itself is written to the place that is passed with its number.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The inode's number.
    pub inode: u32,
    /// Its type.
    pub kind: FileType,
    /// Bytes of the name, as many as the directory grew with.
    pub len: u8,
}

/// The directory itself.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    /// Its inode.
    pub dot: u32,
    /// Its parent's.
    pub dot_dot: u32,
    /// The seed of its blocks, `None` without `metadata_csum`.
    pub seed: Option<Seed>,
}

impl Shape {
    /// What goes into the inode of a directory without blocks: the 60 bytes of `i_block`, and the value of `system.data`.
    ///
    /// # Errors
    ///
    /// [`Error::Population`] for a directory that has blocks, or for records that leave their area.
    pub fn write_inline(
        &self,
        own: Identity,
        entry: impl Fn(u32, &mut [u8; LONGEST_NAME]) -> Entry,
    ) -> Result<([u8; IN_BLOCK], Vec<u8>), Error> {
        match &self.inline {
            Some(inline) => inline.write(&self.rules, own, &entry),
            None => Err(Error::Population(
                "a directory with blocks has no names in its inode".to_owned(),
            )),
        }
    }

    /// Writes the logical blocks from `first` on into `bytes`, as many as it holds whole. `entry`
    /// writes the name of a number and returns its target.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] when an index block does not hold what the rules promised, and for blocks that are not there.
    pub fn write(
        &self,
        first: u32,
        bytes: &mut [u8],
        own: Identity,
        entry: impl Fn(u32, &mut [u8; LONGEST_NAME]) -> Entry,
    ) -> Result<(), Error> {
        let size = self.rules.block_size as usize;
        for (nth, bytes) in (first as usize..).zip(bytes.chunks_exact_mut(size)) {
            match self.blocks.get(nth) {
                Some(Block::Leaf(leaf)) => write_leaf(&self.rules, leaf, bytes, own, &entry)?,
                Some(Block::Root) => {
                    let index = self.index.as_ref().ok_or_else(no_index)?;
                    write_root(&self.rules, index, &self.nodes, bytes, own)?;
                }
                Some(Block::Node(node)) => {
                    let index = self.index.as_ref().ok_or_else(no_index)?;
                    let node = index.nodes.get(*node as usize).ok_or_else(no_index)?;
                    write_node(node, &self.nodes, bytes, own)?;
                }
                None => {
                    return Err(Error::Population(format!(
                        "a directory of {} blocks has no block {nth}",
                        self.blocks.len()
                    )));
                }
            }
        }
        Ok(())
    }
}

fn no_index() -> Error {
    Error::Population("a node without an index".to_owned())
}

pub(super) fn write_root(
    rules: &Rules,
    index: &Index,
    nodes: &[u32],
    bytes: &mut [u8],
    own: Identity,
) -> Result<(), Error> {
    let Some(hashing) = rules.index else {
        return Err(Error::Population("an index without a hash".to_owned()));
    };
    let root = NewRoot {
        dot: own.dot,
        dot_dot: own.dot_dot,
        hash: match rules.secret {
            Some(_) => HashVersion::SipHash,
            None => hashing.version,
        },
        indirect_levels: index.levels,
        file_types: rules.file_types,
    };
    let entries = on_disk(&index.root, (index.levels > 0).then_some(nodes));
    Ok(htree::write_root(bytes, root, &entries, own.seed)?)
}

pub(super) fn write_node(
    node: &Node,
    nodes: &[u32],
    bytes: &mut [u8],
    own: Identity,
) -> Result<(), Error> {
    let entries = on_disk(&node.entries, (node.height > 0).then_some(nodes));
    Ok(htree::write_node(bytes, &entries, own.seed)?)
}

/// Entries with logical blocks in place of nodes' places, where they lead to nodes.
fn on_disk(entries: &[IndexEntry], nodes: Option<&[u32]>) -> Vec<IndexEntry> {
    let block = |entry: &IndexEntry| match nodes {
        Some(nodes) => nodes.get(entry.block as usize).copied().unwrap_or(0),
        None => entry.block,
    };
    let moved = |entry: &IndexEntry| IndexEntry {
        hash: entry.hash,
        block: block(entry),
    };
    entries.iter().map(moved).collect()
}

pub(super) fn write_leaf(
    rules: &Rules,
    leaf: &Leaf,
    bytes: &mut [u8],
    own: Identity,
    entry: &impl Fn(u32, &mut [u8; LONGEST_NAME]) -> Entry,
) -> Result<(), Error> {
    bytes.fill(0);
    let at = write_records(rules, leaf, bytes, own, entry)?;
    if let Some(key) = rules.secret {
        store_hashes(&mut bytes[..at], rules.block_size, key);
    }
    if rules.checksums {
        bytes[at + 4] = TAIL as u8;
        bytes[at + 7] = TAIL_TYPE;
        if let Some(seed) = own.seed {
            seal(bytes, seed);
        }
    }
    Ok(())
}

/// Writes its hash after each name of a block of records. A separate pass, so that blocks without
/// hashes do not need it.
fn store_hashes(bytes: &mut [u8], block_size: u32, key: [u64; 2]) {
    let mut at = 0;
    while let Some(&[a, b, c, d, low, high, name_len, _]) = bytes
        .get(at..)
        .and_then(|record| record.first_chunk::<HEAD>())
    {
        let name_len = usize::from(name_len);
        let name = bytes.get(at + HEAD..at + HEAD + name_len);
        let hash = name
            .filter(|name| [a, b, c, d] != [0; 4] && !matches!(*name, b"." | b".."))
            .map(|name| NameHash::sip(name, key));
        let after = at + needed(name_len, false);
        if let Some((hash, place)) = hash.zip(bytes.get_mut(after..after + 8)) {
            place[..4].copy_from_slice(&hash.major.to_le_bytes());
            place[4..].copy_from_slice(&hash.minor.to_le_bytes());
        }
        // No record is shorter than its head, so this ends.
        at += rec_len_from_disk(u16::from_le_bytes([low, high]), block_size).max(HEAD);
    }
}

/// Writes the records alone, into zeros; returns their end.
pub(super) fn write_records(
    rules: &Rules,
    leaf: &Leaf,
    bytes: &mut [u8],
    own: Identity,
    entry: &impl Fn(u32, &mut [u8; LONGEST_NAME]) -> Entry,
) -> Result<usize, Error> {
    let mut at = 0;
    let mut name = [0; LONGEST_NAME];
    for record in &leaf.records {
        let len = record.len as usize;
        let place = bytes
            .get_mut(at..at + len)
            .ok_or_else(|| Error::Population("records leave their block".to_owned()))?;
        let raw = rec_len_to_disk(len, rules.block_size)
            .ok_or_else(|| Error::Population(format!("a record of {len} bytes")))?;
        place[4..6].copy_from_slice(&raw.to_le_bytes());
        let (inode, kind, name_len) = match record.id {
            FREE => {
                at += len;
                continue;
            }
            DOT | DOT_DOT | WIDE_DOT_DOT => {
                name[..2].copy_from_slice(b"..");
                let (inode, len) = if record.id == DOT {
                    (own.dot, 1)
                } else {
                    (own.dot_dot, 2)
                };
                (inode, FileType::Directory, len)
            }
            id => {
                let entry = entry(id, &mut name);
                (entry.inode, entry.kind, entry.len)
            }
        };
        place[..4].copy_from_slice(&inode.to_le_bytes());
        place[6] = name_len;
        place[7] = if rules.file_types { kind.entry() } else { 0 };
        let name = &name[..usize::from(name_len)];
        place[HEAD..HEAD + name.len()].copy_from_slice(name);
        at += len;
    }
    Ok(at)
}
