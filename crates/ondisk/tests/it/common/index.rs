//! The part of the walk that is directories: their entries, and the order of their names by hash.

use std::collections::{BTreeMap, BTreeSet};

use ondisk::ext4::directory::{self, Entry};
use ondisk::ext4::feature::Compat;
use ondisk::ext4::hash::{HashVersion, NameHash, name_hash};
use ondisk::ext4::htree::{IndexBlock, Kind};
use ondisk::ext4::inode::{Content, flag};
use ondisk::ext4::{Error, Inode, Seed, casefold, inline};

use super::files;
use super::walk::Walker;

/// A child of an index: its logical block and the hashes it may hold.
type Child = (u32, u64, u64);

/// A directory under examination.
struct Directory<'a> {
    ino: u32,
    inode: &'a Inode<'a>,
    blocks: BTreeMap<u64, u64>,
    seed: Option<Seed>,
}

impl Walker<'_> {
    pub(crate) fn directory(
        &mut self,
        ino: u32,
        inode: &Inode<'_>,
        mapped: &files::Mapped,
        seed: Option<Seed>,
    ) {
        if inode.content() == Content::Inline {
            return self.inline_directory(ino, inode);
        }
        let blocks = mapped
            .data
            .iter()
            .map(|(logical, place, _)| (*logical, *place))
            .collect();
        let dir = Directory {
            ino,
            inode,
            blocks,
            seed,
        };
        let indexed = inode.has_flags(flag::INDEX) && self.sb.has_compat(Compat::DIR_INDEX);
        let inner = if indexed {
            self.index(&dir)
        } else {
            BTreeSet::new()
        };
        for (logical, place) in &dir.blocks {
            let Some(bytes) = self.image.block(self.geometry, *place) else {
                continue;
            };
            for entry in directory::entries(bytes, self.geometry.block_size) {
                match entry {
                    Ok(_) => self.report.good("directory entry"),
                    Err(error) => self.report.error(format_args!("directory {ino}"), &error),
                }
            }
            if let (Some(seed), false) = (seed, inner.contains(logical)) {
                self.report
                    .sum("directory leaf", *place, directory::checksum(bytes, seed));
            }
        }
    }

    fn inline_directory(&mut self, ino: u32, inode: &Inode<'_>) {
        match inline::InlineData::read(inode) {
            Ok(Some(data)) => {
                for entry in data.areas(self.geometry.block_size).into_iter().flatten() {
                    self.report.hold("inline entry", entry.is_ok(), ino);
                }
                let parent = self.image.inode(self.geometry, data.parent()).is_some();
                self.report.hold("inline parent", parent, ino);
            }
            Ok(None) => self
                .report
                .problems
                .push(format!("inline directory {ino} lacks data")),
            Err(error) => self
                .report
                .error(format_args!("inline directory {ino}"), &error),
        }
    }

    fn index_error(&mut self, dir: &Directory<'_>, error: &Error) {
        self.report
            .error(format_args!("index of {}", dir.ino), error);
    }

    fn block_of(&mut self, dir: &Directory<'_>, logical: u32) -> Option<&[u8]> {
        let place = dir.blocks.get(&u64::from(logical));
        let bytes = place.and_then(|place| self.image.block(self.geometry, *place));
        if bytes.is_none() {
            self.report
                .problems
                .push(format!("index of {}: no block {logical}", dir.ino));
        }
        bytes
    }

    /// Checks an index and the hashes of the names below it; gives its inner blocks.
    fn index(&mut self, dir: &Directory<'_>) -> BTreeSet<u64> {
        let mut inner = BTreeSet::from([0]);
        let Some(bytes) = self.block_of(dir, 0).map(<[u8]>::to_vec) else {
            return inner;
        };
        let root = match IndexBlock::read_root(&bytes) {
            Ok(root) => root,
            Err(error) => {
                self.index_error(dir, &error);
                return inner;
            }
        };
        let Kind::Root { info, dot, .. } = root.kind() else {
            return inner;
        };
        self.report.hold(
            "index root",
            dot == dir.ino && info.indirect_levels <= 2,
            dir.ino,
        );
        if let Some(seed) = dir.seed {
            self.report.sum("index block", 0, root.checksum(seed));
        }
        let mut level = children(&root, 0, 1 << 32);
        for _ in 0..info.indirect_levels.min(2) {
            inner.extend(level.iter().map(|(logical, ..)| u64::from(*logical)));
            level = level
                .into_iter()
                .flat_map(|child| self.node(dir, child))
                .take(1 << 20)
                .collect();
        }
        match root.hash_version(self.sb.unsigned_hash()) {
            Some(version) => {
                for child in level {
                    if !inner.contains(&u64::from(child.0)) {
                        self.leaf(dir, child, version);
                    }
                }
            }
            None => self
                .report
                .problems
                .push(format!("index of {}: hash {}", dir.ino, info.hash_version)),
        }
        inner
    }

    /// The children of an inner node.
    fn node(&mut self, dir: &Directory<'_>, (logical, low, high): Child) -> Vec<Child> {
        let Some(bytes) = self.block_of(dir, logical).map(<[u8]>::to_vec) else {
            return Vec::new();
        };
        match IndexBlock::read_node(&bytes, self.geometry.block_size) {
            Ok(node) => {
                if let Some(seed) = dir.seed {
                    self.report
                        .sum("index block", u64::from(logical), node.checksum(seed));
                }
                children(&node, low, high)
            }
            Err(error) => {
                self.index_error(dir, &error);
                Vec::new()
            }
        }
    }

    /// Whether each name of a leaf hashes into its range.
    fn leaf(&mut self, dir: &Directory<'_>, (logical, low, high): Child, version: HashVersion) {
        let Some(bytes) = self.block_of(dir, logical).map(<[u8]>::to_vec) else {
            return;
        };
        for entry in directory::entries(&bytes, self.geometry.block_size).flatten() {
            if entry.inode == 0 {
                continue;
            }
            if let Some(hash) = self.hash(&entry, dir.inode, version) {
                let hash = u64::from(hash.major);
                let holds = low & !1 <= hash && hash <= high;
                let place = format_args!("{} {low:x} {hash:x} {high:x}", dir.ino);
                self.report.hold("name hash", holds, place);
            }
        }
    }

    fn hash(&self, entry: &Entry<'_>, inode: &Inode<'_>, version: HashVersion) -> Option<NameHash> {
        let folds = inode.has_flags(flag::CASEFOLD);
        if folds && inode.has_flags(flag::ENCRYPT) {
            return entry.stored_hash();
        }
        let seed = self.sb.hash_seed();
        if !folds {
            return name_hash(version, seed, entry.name);
        }
        match casefold::fold(entry.name) {
            casefold::Folded::Name(name) => name_hash(version, seed, &name),
            casefold::Folded::Invalid(name) => name_hash(version, seed, name),
            casefold::Folded::NotCovered => None,
        }
    }
}

/// The children of an index block with the range of hashes each may hold.
fn children(block: &IndexBlock<'_>, low: u64, high: u64) -> Vec<Child> {
    let entries: Vec<_> = block.entries().collect();
    let start = |nth: usize| {
        if nth == 0 {
            low
        } else {
            entries[nth].hash.into()
        }
    };
    let end = |nth: usize| entries.get(nth + 1).map_or(high, |next| next.hash.into());
    (0..entries.len())
        .map(|nth| (entries[nth].block, start(nth), end(nth)))
        .collect()
}
