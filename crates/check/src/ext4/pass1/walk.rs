//! What a walk over the blocks of one inode keeps, whether the map is one of extents or of pointers.

use blockio::ReadError;
use ondisk::ext4::extent::{self, Header};
use ondisk::ext4::{FileType, Inode, Seed};
use zerocopy::FromBytes;

use super::super::directories::Run;

/// The inode whose blocks are walked.
#[derive(Clone, Copy)]
pub(in crate::ext4) struct Item<'i> {
    pub(in crate::ext4) ino: u32,
    pub(in crate::ext4) inode: Inode<'i>,
    pub(in crate::ext4) kind: Option<FileType>,
    pub(in crate::ext4) is_dir: bool,
    pub(in crate::ext4) is_reg: bool,
    /// Its checksum is wrong.
    pub(in crate::ext4) wrong: bool,
}

impl<'i> Item<'i> {
    pub(in crate::ext4) fn new(ino: u32, inode: Inode<'i>, wrong: bool) -> Item<'i> {
        let kind = inode.file_type();
        Item {
            ino,
            inode,
            kind,
            is_dir: kind == Some(FileType::Directory),
            is_reg: kind == Some(FileType::Regular),
            wrong,
        }
    }
}

/// Why a walk did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ext4) enum Stuck {
    /// A node cannot be read.
    Unread(ReadError),
    /// A node is no node.
    NoNode(u64),
    /// A node whose checksum is wrong, where that ends a walk.
    BadChecksum(u64),
    /// A node lies below itself.
    Round(u64),
    /// A pointer to an indirect block leads out of the filesystem.
    Outside(u64),
    /// The content is marked as inline, on a filesystem without inline content.
    Inline,
    /// More nodes than there are blocks: mappings that lead into each other.
    Endless,
    /// More blocks of directories than there are blocks.
    Unlisted,
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stuck::Unread(error) => error.fmt(f),
            Stuck::NoNode(block) => write!(f, "block {block} is no extent node"),
            Stuck::BadChecksum(block) => write!(f, "the checksum of block {block} is wrong"),
            Stuck::Round(block) => write!(f, "extent node {block} lies below itself"),
            Stuck::Outside(block) => write!(f, "indirect block {block} is outside the filesystem"),
            Stuck::Inline => f.write_str("its content is marked as inline"),
            Stuck::Endless => {
                f.write_str("mappings lead into each other and are not followed further")
            }
            Stuck::Unlisted => f.write_str(
                "directories have more blocks than the filesystem, and the rest of this one's is not read for names",
            ),
        }
    }
}

impl Stuck {
    /// Whether the walk was ended here alone: the reference would go on for a very long time.
    pub(in crate::ext4) fn is_ours(&self) -> bool {
        matches!(self, Stuck::Endless | Stuck::Unlisted)
    }
}

/// Levels of a tree whose filling is looked at.
pub(in crate::ext4) const LEVELS: usize = 5;

/// The state of a walk.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "what was asked and seen, each by itself"
)]
pub(in crate::ext4) struct Walk {
    /// Clusters counted so far (extents), or blocks that begin one (pointers).
    pub(in crate::ext4) blocks: u64,
    /// Last logical block that is mapped; all ones before the first.
    pub(in crate::ext4) last: u64,
    /// The same of those that hold data; -1 before the first.
    pub(in crate::ext4) last_written: i64,
    /// Last logical block of a directory that was noted, as a hole or as a block; -1 before the first.
    pub(in crate::ext4) last_listed: i64,
    /// Block that came before this one; 0 before the first.
    pub(in crate::ext4) previous: u64,
    /// First logical block not yet mapped by an extent.
    pub(in crate::ext4) next: u64,
    /// Blocks with contents that lie past the end of the source.
    pub(in crate::ext4) cut: u64,
    /// Illegal pointers.
    pub(in crate::ext4) illegal: u32,
    /// Blocks do not follow each other.
    pub(in crate::ext4) fragmented: bool,
    /// What logical block 0 maps to.
    pub(in crate::ext4) first: Option<u64>,
    /// The question about all illegal pointers has been asked.
    pub(in crate::ext4) asked_illegal: bool,
    /// The one about too many blocks likewise.
    pub(in crate::ext4) asked_too_big: bool,
    /// Blocks of a directory were left out, because more were listed than there are.
    pub(in crate::ext4) unlisted: bool,
    /// Entries in use, and there is room for, in each level of an extent tree.
    pub(in crate::ext4) levels: [(u64, u64); LEVELS],
    /// Why it ended early.
    pub(in crate::ext4) stuck: Option<Stuck>,
}

impl Walk {
    /// Before the first block; `blocks` are those of attributes.
    pub(in crate::ext4) fn new(blocks: u64) -> Walk {
        Walk {
            blocks,
            last: u64::MAX,
            last_written: -1,
            last_listed: -1,
            previous: 0,
            next: 0,
            cut: 0,
            illegal: 0,
            fragmented: false,
            first: None,
            asked_illegal: false,
            asked_too_big: false,
            unlisted: false,
            levels: [(0, 0); LEVELS],
            stuck: None,
        }
    }

    /// Whether, with bigalloc, these blocks do not lie in their clusters as the logical ones do in theirs, or a logical cluster is torn.
    pub(in crate::ext4) fn is_misaligned(&self, ratio: u64, block: u64, logical: u64) -> bool {
        if ratio <= 1 {
            return false;
        }
        if logical % ratio != block % ratio {
            return true;
        }
        self.previous != 0
            && !logical.is_multiple_of(ratio)
            && logical / ratio == self.last / ratio
            && block / ratio != self.previous / ratio
    }

    /// Notes blocks of a directory, and as holes what was left out before them.
    pub(in crate::ext4) fn list(
        &mut self,
        runs: &mut Vec<Run>,
        inode: u32,
        physical: u64,
        logical: u64,
        len: u64,
    ) {
        let next = self.last_listed.saturating_add(1).max(0) as u64;
        if next < logical {
            add_run(runs, inode, 0, next, logical - next);
        }
        add_run(runs, inode, physical, logical, len);
        if len > 0 {
            self.last_listed = (logical + len - 1) as i64;
        }
    }
}

/// Adds a run to those of a directory, which are neighbours in the list; holes have no block.
fn add_run(runs: &mut Vec<Run>, inode: u32, physical: u64, logical: u64, len: u64) {
    let (Ok(logical), Ok(len)) = (u32::try_from(logical), u32::try_from(len)) else {
        // No directory is that long; what maps it has been reported.
        return;
    };
    if let Some(last) = runs.last_mut()
        && last.inode == inode
        && last.logical.checked_add(last.len) == Some(logical)
        && let Some(joined) = last.len.checked_add(len)
    {
        let follows = match (last.physical, physical) {
            (0, 0) => true,
            (0, _) | (_, 0) => false,
            (before, now) => before + u64::from(last.len) == now,
        };
        if follows {
            last.len = joined;
            return;
        }
    }
    if len > 0 {
        runs.push(Run {
            physical,
            logical,
            len,
            inode,
        });
    }
}

/// The counts of a node, where it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ext4) struct Head {
    pub(in crate::ext4) entries: u16,
    pub(in crate::ext4) max: u16,
    pub(in crate::ext4) depth: u16,
}

impl Head {
    /// The header of the node that fills `bytes`, if it can be one: its magic, and counts that fit. Its depth is not judged,
    /// as the reference does not: how deep a node lies is decided by the root.
    pub(in crate::ext4) fn of(bytes: &[u8]) -> Option<Head> {
        let (header, _) = Header::ref_from_prefix(bytes).ok()?;
        let head = Head {
            entries: header.eh_entries.get(),
            max: header.eh_max.get(),
            depth: header.eh_depth.get(),
        };
        let room = extent::capacity(bytes.len());
        let sound = header.eh_magic.get() == extent::MAGIC
            && head.entries <= head.max
            && (room.saturating_sub(2)..=room).contains(&head.max);
        sound.then_some(head)
    }
}

/// Whether the checksum after the last entry of a node is right, where there is one; `seed` is that of the inode.
pub(in crate::ext4) fn node_checksum_matches(seed: Option<Seed>, bytes: &[u8], head: Head) -> bool {
    let at = 12 + 12 * usize::from(head.max);
    match (seed, bytes.get(at..at + 4)) {
        (Some(seed), Some(stored)) => stored == seed.over(&bytes[..at]).to_le_bytes(),
        _ => true,
    }
}

/// Entry number `nth` of a node.
pub(in crate::ext4) fn entry(bytes: &[u8], nth: usize) -> Option<&[u8; 12]> {
    bytes.get(12..)?.as_chunks::<12>().0.get(nth)
}

/// Whether `i_block` holds pointers at all: a directory, a file, or a link that does not fit the inode.
pub(in crate::ext4) fn has_blocks(inode: &Inode<'_>, kind: Option<FileType>) -> bool {
    use ondisk::ext4::inode::flag;
    match kind {
        Some(FileType::Directory | FileType::Regular) => {}
        Some(FileType::Symlink) => {
            let raw = inode.raw();
            if inode.file_acl() == 0 {
                if raw.i_blocks_lo.get() == 0 {
                    return false;
                }
            } else {
                let size = raw.i_size_lo.get();
                let second = inode.block_words()[1];
                return size >= 60 || (size > 4 && second == 0);
            }
        }
        _ => return false,
    }
    !inode.has_flags(flag::INLINE_DATA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_join_and_holes_are_noted() {
        let (mut walk, mut runs) = (Walk::new(0), Vec::new());
        walk.list(&mut runs, 12, 100, 0, 1);
        walk.list(&mut runs, 12, 101, 1, 2);
        walk.list(&mut runs, 12, 200, 5, 1);
        walk.list(&mut runs, 12, 205, 6, 1);
        let found: Vec<_> = runs
            .iter()
            .map(|r| (r.physical, r.logical, r.len))
            .collect();
        assert_eq!(found, [(100, 0, 3), (0, 3, 2), (200, 5, 1), (205, 6, 1)]);
        walk.list(&mut runs, 12, 7, 1 << 33, 1);
        assert_eq!(runs.len(), 4, "beyond 2^32 nothing is noted");
    }

    #[test]
    fn clusters_must_fit_their_blocks() {
        let mut walk = Walk::new(0);
        assert!(!walk.is_misaligned(1, 5, 4));
        assert!(walk.is_misaligned(16, 5, 4));
        assert!(!walk.is_misaligned(16, 20, 4));
        walk.previous = 19;
        walk.last = 3;
        assert!(!walk.is_misaligned(16, 20, 4));
        walk.previous = 35;
        assert!(walk.is_misaligned(16, 20, 4), "cluster 0 is in two places");
    }

    #[test]
    fn a_head_is_judged_by_its_room() {
        let mut root = [0_u8; 60];
        extent::write_leaf(&mut root, &[]).unwrap();
        let head = Head {
            entries: 0,
            max: 4,
            depth: 0,
        };
        assert_eq!(Head::of(&root), Some(head));
        root[4] = 1;
        assert_eq!(Head::of(&root), None, "room for one is two too few");
        root[4] = 4;
        root[6] = 99;
        assert_eq!(Head::of(&root).unwrap().depth, 99);
        root[2] = 5;
        assert_eq!(Head::of(&root), None);
        assert_eq!(Head::of(&root[..8]), None);
    }
}
