//! Paths of the inodes that findings name.
//!
//! Parents of directories are known. Names are not kept, so the directories on the ways to the root are read once more, and all directories
//! where a finding names a file.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use ondisk::xfs::Extent;
use ondisk::xfs::dinode::{Format, Inode};
use ondisk::xfs::directory::{Item, block_leaf, block_tail, data_header, item};
use ondisk::xfs::shortform;

use super::lookup;
use super::rules::Rules;
use super::state::State;
use super::volume::Volume;
use super::xfs_repair::problems::CONN_ORPHAN_DIR;
use crate::frame::affected::{MOST_UNREACHABLE, Unreachable};
use crate::frame::log::Findings;
use crate::frame::paths::{self, Names};

/// Directories that are read for the names of files; in more, files have no paths.
const MOST_DIRECTORIES: usize = 200_000;

/// Fills in the paths of findings.
pub(super) fn fill(volume: &Volume<'_>, state: &State, findings: &mut Findings) {
    if !volume.options.paths {
        return;
    }
    let rules = Rules::new(&volume.geo, &volume.sb, volume.options.now);
    let parent = |ino: u64| {
        let directory = state.directories.get(state.chunks.rank(ino)?)?;
        let parent = directory.parent.load(Relaxed);
        (parent != 0 && ino != rules.root).then_some(parent)
    };
    let wanted = paths::wanted(findings, |ino| {
        state
            .chunks
            .rank(ino)
            .is_some_and(|rank| state.names.get(rank) > 0 || ino == rules.root)
    });
    let mut names = Names::new();
    let is_file = |ino: &u64| *ino != rules.root && parent(*ino).is_none();
    let directories = state.directories.list();
    if wanted.iter().any(is_file) && directories.len() <= MOST_DIRECTORIES {
        for directory in directories {
            if volume.progress.cancelled() {
                return;
            }
            let ino = state.chunks.ino(directory.rank);
            entries(volume, &rules, ino, |name, child| {
                if wanted.contains(&child) {
                    names.entry(child).or_insert_with(|| (ino, name.to_vec()));
                }
            });
        }
    }
    let (children, parents) = paths::above(&wanted, &names, parent);
    for directory in parents {
        if volume.progress.cancelled() {
            return;
        }
        entries(volume, &rules, directory, |name, child| {
            if children.contains(&child) {
                names
                    .entry(child)
                    .or_insert_with(|| (directory, name.to_vec()));
            }
        });
    }
    paths::fill(findings, &names, rules.root);
}

/// The files below directories that no name leads to, with their paths from there.
pub(super) fn unreachable(volume: &Volume<'_>, state: &State, findings: &Findings) -> Unreachable {
    if !volume.options.paths {
        return Unreachable::default();
    }
    let rules = Rules::new(&volume.geo, &volume.sb, volume.options.now);
    let is_directory = |ino: u64| {
        let rank = state.chunks.rank(ino);
        rank.is_some_and(|rank| state.directories.get(rank).is_some())
    };
    let lost = findings.list.iter();
    let lost = lost.filter(|finding| finding.problem == &CONN_ORPHAN_DIR);
    let mut queue: Vec<u64> = lost.filter_map(|finding| finding.place.inode).collect();
    let (mut names, mut seen) = (Names::new(), 0);
    let mut read: BTreeSet<u64> = queue.iter().copied().collect();
    while let Some(directory) = queue.pop() {
        if volume.progress.cancelled() {
            break;
        }
        entries(volume, &rules, directory, |name, child| {
            seen += 1;
            if names.len() >= MOST_UNREACHABLE {
                return;
            }
            names
                .entry(child)
                .or_insert_with(|| (directory, name.to_vec()));
            if is_directory(child) && read.insert(child) {
                queue.push(child);
            }
        });
    }
    Unreachable::of(&names, seen, rules.root)
}

/// Hands on the names of a directory and what they lead to, as far as it can be read; `.` and `..` are left out.
fn entries(volume: &Volume<'_>, rules: &Rules, ino: u64, mut each: impl FnMut(&[u8], u64)) {
    let geo = &volume.geo;
    if !geo.is_inode(ino) {
        return;
    }
    let mut bytes = vec![0; geo.inode_size as usize];
    if volume
        .source
        .read_at(&mut bytes, geo.ino_offset(ino))
        .is_err()
    {
        return;
    }
    let inode = Inode::new(geo, &bytes);
    if Format::from_byte(inode.format()) == Some(Format::Local) {
        let directory = shortform::Directory::new(geo.ftype, inode.data_fork());
        let mut at = directory.header();
        for _ in 0..directory.count() {
            let Some(entry) = directory.entry(at) else {
                return;
            };
            each(entry.name, entry.inumber);
            at += entry.length;
        }
        return;
    }
    let Some(extents) = lookup::extents(volume, ino) else {
        return;
    };
    let end = (inode.size() >> geo.block_log).min(rules.leaf);
    let (mut offset, mut data) = (0, 0..0);
    while let Some(next) = written(volume, &extents, offset, &mut data).filter(|next| *next < end) {
        if volume.progress.cancelled() {
            return;
        }
        offset = next - next % rules.dir_blocks;
        if let Some(block) = lookup::directory_block(volume, rules, &extents, offset) {
            names(volume, &block, &mut each);
        }
        offset += rules.dir_blocks;
    }
}

/// The first block of a fork at or after this one that is mapped and does not lie in a hole: a damaged directory may map all of a sparse
/// image. `data` is the range of the source that was found last, bytes.
fn written(
    volume: &Volume<'_>,
    extents: &[Extent],
    from: u64,
    data: &mut Range<u64>,
) -> Option<u64> {
    let geo = &volume.geo;
    let after = extents.partition_point(|extent| extent.end() <= from);
    extents[after..].iter().find_map(|extent| {
        let skipped = from.saturating_sub(extent.offset);
        let start = geo.block_offset(extent.block + skipped);
        if !data.contains(&start) {
            *data = volume.source.next_data(start)?;
        }
        let at = extent.offset + skipped + (data.start.saturating_sub(start) >> geo.block_log);
        (at < extent.end()).then_some(at)
    })
}

/// The names of a data block.
fn names(volume: &Volume<'_>, block: &[u8], each: &mut impl FnMut(&[u8], u64)) {
    use ondisk::bytes::be32;
    use ondisk::xfs::directory::{BLOCK, BLOCK3};
    let geo = &volume.geo;
    let end = if [BLOCK, BLOCK3].contains(&be32(block, 0)) {
        block_leaf(block, block_tail(block).0).unwrap_or(0)
    } else {
        block.len()
    };
    let mut at = data_header(geo.v5);
    while let Some(item) = item(geo.ftype, block, at, end) {
        at += match item {
            Item::Entry(entry) => {
                if entry.name != b"." && entry.name != b".." {
                    each(entry.name, entry.inumber);
                }
                entry.length
            }
            Item::Free { length, .. } => length,
        };
    }
}
