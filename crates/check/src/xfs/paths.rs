//! The names in XFS directories of the inodes that findings name.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;

use blockio::{Content, Span};
use ondisk::bytes::be32;
use ondisk::xfs::dinode::{Format, Inode};
use ondisk::xfs::directory::{BLOCK, BLOCK3, Item, block_leaf, block_tail, data_header, item};
use ondisk::xfs::shortform;

use super::directories::{Directory, Form};
use super::lookup;
use super::rules::Rules;
use super::state::State;
use super::volume::Volume;
use crate::frame::failure::Failure;
use crate::frame::log::Findings;
use crate::frame::paths::{self, Names};
use crate::frame::sweep::Crew;

/// Fills in the paths of the findings; how many inodes have one.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(super) fn fill(
    volume: &Volume<'_>,
    state: &State,
    findings: &mut Findings,
) -> Result<u64, Failure> {
    let rules = Rules::new(&volume.geo, &volume.sb, volume.options.now);
    let wanted = paths::wanted(findings, |ino| state.chunks.rank(ino).is_some());
    if wanted.is_empty() {
        return Ok(0);
    }
    let directory = |ino: u64| {
        let place = state.directories.place(state.chunks.rank(ino)?)?;
        state.directories.list().get(place)
    };
    let mut names = Names::new();
    if wanted.iter().any(|ino| directory(*ino).is_none()) {
        let all = state.directories.list().iter();
        look(volume, &rules, state, all, &wanted, &mut names)?;
    }
    let (children, parents) = paths::above(&wanted, &names, |ino| {
        let directory = directory(ino).filter(|_| ino != rules.root)?;
        let parent = directory.parent.load(Relaxed);
        rules.geometry.is_inode(parent).then_some(parent)
    });
    let above = parents.iter().filter_map(|ino| directory(*ino));
    look(volume, &rules, state, above, &children, &mut names)?;
    Ok(paths::fill(findings, &names, rules.root))
}

/// Reads these directories for names of these inodes. The first that is found is kept.
fn look<'a>(
    volume: &Volume<'_>,
    rules: &Rules,
    state: &State,
    directories: impl Iterator<Item = &'a Directory>,
    inodes: &BTreeSet<u64>,
    names: &mut Names,
) -> Result<(), Failure> {
    let (local, blocks): (Vec<&Directory>, Vec<&Directory>) =
        directories.partition(|directory| directory.form == Form::Local);
    let local = local
        .into_iter()
        .map(|directory| state.chunks.ino(directory.rank));
    in_inodes(volume, local, inodes, names)?;
    // Blocks of some thousand directories at a time: their extents are kept.
    for some in blocks.chunks(4096) {
        volume.guard.hold()?;
        in_blocks(volume, rules, state, some, inodes, names)?;
    }
    Ok(())
}

/// Names of directories with data blocks. Blocks of several blocks of the filesystem may be cut by a sweep: they are read one by one.
fn in_blocks(
    volume: &Volume<'_>,
    rules: &Rules,
    state: &State,
    directories: &[&Directory],
    inodes: &BTreeSet<u64>,
    names: &mut Names,
) -> Result<(), Failure> {
    let mut spans = Vec::new();
    for directory in directories {
        if volume.progress.cancelled() {
            return Err(Failure::Stopped);
        }
        let ino = state.chunks.ino(directory.rank);
        let Some(extents) = lookup::extents(volume, ino) else {
            continue;
        };
        if rules.dir_blocks > 1 {
            for block in 0..u64::from(directory.blocks) {
                let offset = block << rules.geometry.dirblk_log;
                let bytes = lookup::directory_block(volume, rules, &extents, offset);
                collect(rules, ino, &bytes.unwrap_or_default(), inodes, names);
            }
            continue;
        }
        let data = extents
            .iter()
            .filter(|extent| extent.offset < rules.leaf && rules.geometry.is_block(extent.block));
        spans.extend(data.map(|extent| volume.span(ino, extent.block, extent.count)));
    }
    spans.sort_unstable_by_key(|span| span.range.start);
    let size = volume.block_size();
    let found = volume
        .sweeper()
        .run(Crew::All, spans, Names::new, |found, piece| {
            if let Content::Data(bytes) = &piece.content {
                for block in bytes.chunks_exact(size) {
                    collect(rules, piece.tag, block, inodes, found);
                }
            }
        })?;
    for (ino, name) in found.into_iter().flatten() {
        names.entry(ino).or_insert(name);
    }
    Ok(())
}

/// Names of directories in inodes, in one sweep.
fn in_inodes(
    volume: &Volume<'_>,
    directories: impl Iterator<Item = u64>,
    inodes: &BTreeSet<u64>,
    names: &mut Names,
) -> Result<(), Failure> {
    let geo = &volume.geo;
    let spans = directories.map(|ino| {
        let start = geo.ino_offset(ino);
        Span {
            tag: ino,
            range: start..start + u64::from(geo.inode_size),
        }
    });
    let found = volume.sweeper_of(geo.inode_size).run(
        Crew::All,
        spans.collect(),
        Names::new,
        |found, piece| {
            let Content::Data(bytes) = &piece.content else {
                return;
            };
            let inode = Inode::new(geo, bytes);
            if inode.format() != Format::Local as u8 {
                return;
            }
            let list = shortform::Directory::new(geo.ftype, inode.data_fork());
            let mut at = list.header();
            while let Some(entry) = list.entry(at).filter(|_| (at as u64) < inode.size()) {
                take(piece.tag, entry.inumber, entry.name, inodes, found);
                at += entry.length;
            }
        },
    )?;
    for (ino, name) in found.into_iter().flatten() {
        names.entry(ino).or_insert(name);
    }
    Ok(())
}

/// The entries of a data block that name one of the inodes.
fn collect(rules: &Rules, ino: u64, bytes: &[u8], inodes: &BTreeSet<u64>, names: &mut Names) {
    let end = match be32(bytes, 0) {
        BLOCK | BLOCK3 => block_leaf(bytes, block_tail(bytes).0).unwrap_or(0),
        _ => bytes.len(),
    };
    let mut at = data_header(rules.geometry.v5);
    while let Some(found) = item(rules.geometry.ftype, bytes, at, end) {
        match found {
            Item::Free { length, .. } => at += length,
            Item::Entry(entry) => {
                take(ino, entry.inumber, entry.name, inodes, names);
                at += entry.length;
            }
        }
    }
}

fn take(directory: u64, ino: u64, name: &[u8], inodes: &BTreeSet<u64>, names: &mut Names) {
    let itself = matches!(name, b"." | b".." | b"");
    if !itself && inodes.contains(&ino) {
        names
            .entry(ino)
            .or_insert_with(|| (directory, name.to_vec()));
    }
}
