//! A root or node of an index, as far as it can be judged without the rest of the directory.

use ondisk::ext4::htree::RootInfo;

use super::block_view::Part;
use super::shared::Dir;
use super::worker::{Node, Role, Worker};
use crate::ext4::e2fsck::problems::{
    P2_HTREE_BAD_COUNT, P2_HTREE_BAD_LIMIT, P2_HTREE_BAD_ROOT, P2_HTREE_NODE_CSUM_INVALID,
    P2_HTREE_ROOT_CSUM_INVALID,
};
use crate::ext4::pass2::checksum::Seal;
use crate::frame::finding::Finding;
use ondisk::ext4::directory::rec_len_from_disk;
use ondisk::ext4::feature::Incompat;

/// Where a node's entries begin: after an unused entry.
const NODE: usize = 8;
/// Where a root's information begins: after `.` and `..`.
const INFO: usize = 24;
const ENTRY: usize = 8;
const TAIL: usize = 8;
/// The bits of an entry that are a block.
const BLOCK: u32 = 0x0fff_ffff;

/// Whether a block that is not the first looks like a node: an unused entry over all of it, and the right room.
pub(super) fn is_node(bytes: &[u8], block_size: u32, with_tail: bool) -> bool {
    let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    bytes.len() >= 64
        && bytes[..4] == [0; 4]
        && rec_len_from_disk(word(4), block_size) == bytes.len()
        && bytes[6] == 0
        && usize::from(word(NODE)) == room(bytes.len(), NODE, with_tail)
}

/// Entries that fit after an offset in a block.
fn room(size: usize, at: usize, with_tail: bool) -> usize {
    let tail = if with_tail { TAIL } else { 0 };
    size.saturating_sub(at + tail) / ENTRY
}

/// Stored and computed checksum.
pub(super) fn sums(finding: Finding, seal: Seal) -> Finding {
    match seal.values() {
        Some(sum) => finding
            .found(format!("{:#010x}", sum.stored))
            .expected(format!("{:#010x}", sum.computed)),
        None => finding.note("there is no room for a checksum where one must be"),
    }
}

fn info(bytes: &[u8]) -> RootInfo {
    RootInfo {
        reserved_zero: u32::from_le_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]),
        hash_version: bytes[28],
        info_length: bytes[29],
        indirect_levels: bytes[30],
        unused_flags: bytes[31],
    }
}

impl Worker<'_> {
    /// Judges a root or node and keeps its entries for [`super::tree`].
    /// `broken`: its checksum, if that is wrong.
    pub(super) fn index_block(
        &mut self,
        dir: &Dir<'_>,
        part: &Part<'_>,
        role: Role,
        broken: Option<Seal>,
    ) {
        let bytes = part.bytes;
        let is_root = role == Role::Root;
        let info = info(bytes);
        if let Some(seal) = broken {
            let problem = if is_root {
                &P2_HTREE_ROOT_CSUM_INVALID
            } else {
                &P2_HTREE_NODE_CSUM_INVALID
            };
            let finding = self.of_index(problem, dir, part);
            self.log.add(sums(finding, seal));
        }
        let at = if is_root {
            INFO + usize::from(info.info_length)
        } else {
            NODE
        };
        let word = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let (limit, mut count) = (word(at), word(at + 2));
        let room = room(bytes.len(), at, dir.seed.is_some());
        if limit != room {
            let finding = self.of_index(&P2_HTREE_BAD_LIMIT, dir, part);
            self.log
                .add(finding.found(limit as u64).expected(room as u64));
        }
        if count > room {
            let finding = self.of_index(&P2_HTREE_BAD_COUNT, dir, part);
            let most = format!("at most {room}");
            self.log.add(finding.found(count as u64).expected(most));
            count = room;
        }
        let (pairs, _) = bytes[at..].as_chunks::<ENTRY>();
        let entries = pairs.iter().take(count).enumerate().map(|(nth, pair)| {
            let word = |at: usize| {
                u32::from_le_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]])
            };
            let hash = if nth == 0 { 0 } else { word(0) & !1 };
            (hash, word(4) & BLOCK)
        });
        self.nodes.push(Node {
            dir: dir.at as u32,
            logical: part.logical,
            physical: part.physical,
            key: self.key_after(dir, part),
            entries: entries.collect(),
            root: is_root.then_some((info.hash_version, info.indirect_levels)),
        });
    }

    /// Judges a root's fields about the whole index: e2fsck does so before it looks at the entries of that block.
    pub(super) fn root(&mut self, dir: &Dir<'_>, part: &Part<'_>) {
        let info = info(part.bytes);
        let large = self.shared.volume.sb.has_incompat(Incompat::LARGEDIR);
        let levels = if large { 3 } else { 2 };
        let why = if info.reserved_zero != 0 {
            format!("reserved_zero is {:#x}", info.reserved_zero)
        } else if info.info_length < 8 {
            format!("info_length is {}, not 8", info.info_length)
        } else if info.indirect_levels >= levels {
            format!(
                "indirect_levels is {}, at most {}",
                info.indirect_levels,
                levels - 1
            )
        } else {
            return;
        };
        let finding = self.of_block(&P2_HTREE_BAD_ROOT, dir, part, 0);
        self.log.add(finding.note(why));
    }

    /// e2fsck looks at an index block after its entries.
    fn key_after(&self, dir: &Dir<'_>, part: &Part<'_>) -> u64 {
        let order = self.shared.order;
        order.of(dir.inode(), part.physical, part.logical, part.end)
    }

    fn of_index(
        &self,
        problem: &'static crate::frame::problem::Problem,
        dir: &Dir<'_>,
        part: &Part<'_>,
    ) -> Finding {
        let mut finding = self.of_block(problem, dir, part, part.end);
        finding.place.offset = None;
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondisk::ext4::Seed;
    use ondisk::ext4::htree::{IndexEntry, write_node};

    #[test]
    fn a_node_is_known_by_its_room() {
        let entries = [IndexEntry { hash: 0, block: 1 }];
        for (size, seed) in [(1024, None), (1024, Some(Seed(3))), (65536, None)] {
            let mut node = vec![0; size];
            write_node(&mut node, &entries, seed).unwrap();
            assert!(is_node(&node, size as u32, seed.is_some()));
            assert!(!is_node(&node, size as u32, seed.is_none()));
            node[0] = 1;
            assert!(!is_node(&node, size as u32, seed.is_some()));
        }
    }
}
