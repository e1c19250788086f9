//! The names in ext4 directories of the inodes that findings name.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use blockio::{Content, Span};
use ondisk::ext4::Inode;
use ondisk::ext4::directory::entries;
use ondisk::ext4::inline::InlineData;
use ondisk::ext4::inode::flag;
use ondisk::ext4::inode::number::ROOT;

use super::directories::{Directory, Run};
use super::e2fsck::problems::P3_UNCONNECTED_DIR;

use super::state::State;
use super::volume::Volume;
use crate::frame::affected::{MOST_UNREACHABLE, Unreachable};
use crate::frame::failure::Failure;
use crate::frame::log::Findings;
use crate::frame::paths::{self, Names};

/// Fills in the paths of the findings; how many inodes have one.
pub(crate) fn fill(
    volume: &Volume<'_>,
    state: &State,
    findings: &mut Findings,
) -> Result<u64, Failure> {
    let root = u64::from(ROOT);
    let wanted = paths::wanted(findings, |ino| ino >= 11 || ino == root);
    if wanted.is_empty() {
        return Ok(0);
    }
    let directories = &state.directories;
    let directory = |ino: u64| directories.get(u32::try_from(ino).ok()?);
    let mut names = Names::new();
    if wanted.iter().any(|ino| directory(*ino).is_none()) {
        look(
            volume,
            directories.list.iter(),
            &directories.runs,
            Wanted::These(&wanted),
            &mut names,
        )?;
    }
    let (children, parents) = paths::above(&wanted, &names, |ino| {
        let directory = directory(ino).filter(|_| ino != root)?;
        let parent = directory.parent.load(Relaxed);
        (parent != 0).then_some(parent.into())
    });
    let runs: Vec<Run> = directories
        .runs
        .iter()
        .filter(|run| parents.contains(&run.inode.into()))
        .copied()
        .collect();
    let inline = parents.iter().filter_map(|ino| directory(*ino));
    look(volume, inline, &runs, Wanted::These(&children), &mut names)?;
    Ok(paths::fill(findings, &names, root))
}

/// The files below directories that no name leads to, with their paths from there.
pub(crate) fn unreachable(
    volume: &Volume<'_>,
    state: &State,
    findings: &Findings,
) -> Result<Unreachable, Failure> {
    let lost = findings.list.iter();
    let lost = lost.filter(|finding| finding.problem == &P3_UNCONNECTED_DIR);
    let lost: BTreeSet<u64> = lost.filter_map(|finding| finding.place.inode).collect();
    if lost.is_empty() {
        return Ok(Unreachable::default());
    }
    let directories = &state.directories;
    let parent = |ino: u64| {
        let directory = directories.get(u32::try_from(ino).ok()?)?;
        let parent = u64::from(directory.parent.load(Relaxed));
        (parent != 0 && ino != u64::from(ROOT)).then_some(parent)
    };
    let all = directories
        .list
        .iter()
        .map(|directory| directory.inode.into());
    let below = paths::below(&lost, all, parent);
    let of_below = |ino: u32| below.contains(&ino.into());
    let runs = directories.runs.iter().filter(|run| of_below(run.inode));
    let runs: Vec<Run> = runs.copied().collect();
    let inline = directories.list.iter().filter(|dir| of_below(dir.inode));
    let (mut names, seen) = (Names::new(), AtomicU64::new(0));
    look(volume, inline, &runs, Wanted::All(&seen), &mut names)?;
    Ok(Unreachable::of(&names, seen.into_inner(), ROOT.into()))
}

/// Which entries are collected.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// Those that name one of these inodes.
    These(&'a BTreeSet<u64>),
    /// All, which are counted; of too many those of the highest inodes are dropped.
    All(&'a AtomicU64),
}

impl Wanted<'_> {
    fn has(self, ino: u64) -> bool {
        match self {
            Wanted::These(inodes) => inodes.contains(&ino),
            Wanted::All(seen) => {
                seen.fetch_add(1, Relaxed);
                true
            }
        }
    }

    /// Drops what is too many. Which are kept does not depend on the threads.
    fn bound(self, names: &mut Names) {
        while matches!(self, Wanted::All(_)) && names.len() > MOST_UNREACHABLE {
            names.pop_last();
        }
    }
}

/// Reads these directories for names of these inodes. The first that is found is kept.
fn look<'a>(
    volume: &Volume<'_>,
    directories: impl Iterator<Item = &'a Directory>,
    runs: &[Run],
    inodes: Wanted<'_>,
    names: &mut Names,
) -> Result<(), Failure> {
    let block = u64::from(volume.geometry.block_size);
    let spans = runs.iter().filter(|run| run.physical != 0).map(|run| Span {
        tag: run.inode.into(),
        range: run.physical.saturating_mul(block)
            ..run
                .physical
                .saturating_add(run.len.into())
                .saturating_mul(block),
    });
    let block_size = volume.geometry.block_size;
    let found = volume.sweep_watched(spans.collect(), Names::new, |found, piece| {
        if let Content::Data(bytes) = &piece.content {
            for bytes in bytes.chunks(volume.block_size()) {
                collect(piece.tag as u32, bytes, block_size, inodes, found);
            }
            inodes.bound(found);
        }
    })?;
    for found in found {
        for (ino, name) in found {
            names.entry(ino).or_insert(name);
        }
        inodes.bound(names);
    }
    for directory in directories.filter(|dir| dir.flags & flag::INLINE_DATA != 0) {
        inline(volume, directory.inode, inodes, names);
    }
    Ok(())
}

/// The entries of a block that name one of the inodes.
fn collect(directory: u32, bytes: &[u8], block_size: u32, inodes: Wanted<'_>, found: &mut Names) {
    for entry in entries(bytes, block_size).map_while(Result::ok) {
        let itself = matches!(entry.name, b"." | b".." | b"");
        if !itself && entry.inode != 0 && inodes.has(entry.inode.into()) {
            found
                .entry(entry.inode.into())
                .or_insert_with(|| (directory.into(), entry.name.to_vec()));
        }
    }
}

/// The same for a directory within its inode. One that cannot be read has no names.
fn inline(volume: &Volume<'_>, ino: u32, inodes: Wanted<'_>, names: &mut Names) {
    let geometry = &volume.geometry;
    let position = geometry.index_of_inode(ino).and_then(|(group, _)| {
        let descriptor = volume.descriptors.get(group as usize)?;
        geometry.inode_position(ino, descriptor)
    });
    let Some((block, offset)) = position else {
        return;
    };
    let at = block
        .saturating_mul(u64::from(geometry.block_size))
        .saturating_add(offset.into());
    let mut bytes = vec![0; geometry.inode_size.into()];
    if volume.source.read_at(&mut bytes, at).is_err() {
        return;
    }
    let Ok(inode) = Inode::read(&bytes, geometry.inode_size) else {
        return;
    };
    let Ok(Some(data)) = InlineData::read(&inode) else {
        return;
    };
    for area in [&data.head[4..], data.tail] {
        collect(ino, area, geometry.block_size, inodes, names);
    }
}
