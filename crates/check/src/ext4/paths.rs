//! The paths of what was found.
//!
//! A number of an inode tells an owner nothing, and names are not kept while directories are checked: a hundred million
//! of them would not fit. So they are looked up afterwards, for the inodes that findings name and for nobody else: which directory has
//! an entry for each is one more sweep over all directories, and only if there are such findings; the
//! names of the directories above it are read from their parents alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;

use blockio::{Content, Span};
use ondisk::ext4::Inode;
use ondisk::ext4::directory::entries;
use ondisk::ext4::inline::InlineData;
use ondisk::ext4::inode::flag;

use super::{Directory, Failure, Run, State, Volume};
use crate::log::Findings;

/// Inodes whose path is looked for at most.
const WANTED: usize = 20_000;
/// Directories above each other at most; more is a loop, or as good as one.
const DEPTH: usize = 1024;
const ROOT: u32 = 2;

/// Where an inode is named: the directory, and the name there.
type Names = BTreeMap<u32, (u32, Vec<u8>)>;

/// Fills in the paths of the findings; how many inodes have one.
pub(crate) fn fill(
    volume: &Volume<'_>,
    state: &State,
    findings: &mut Findings,
) -> Result<u64, Failure> {
    let wanted = wanted(findings);
    if wanted.is_empty() {
        return Ok(0);
    }
    let directories = &state.directories;
    let files = wanted.iter().filter(|ino| directories.get(**ino).is_none());
    let mut names = Names::new();
    if files.count() > 0 {
        look(
            volume,
            directories.list.iter(),
            &directories.runs,
            &wanted,
            &mut names,
        )?;
    }
    let (children, parents) = above(state, &wanted, &names);
    let runs: Vec<Run> = directories
        .runs
        .iter()
        .filter(|run| parents.contains(&run.inode))
        .copied()
        .collect();
    let inline = parents.iter().filter_map(|ino| directories.get(*ino));
    look(volume, inline, &runs, &children, &mut names)?;
    let mut told = BTreeSet::new();
    for finding in &mut findings.list {
        let place = &finding.place;
        let path = match (place.directory, &place.name, place.inode) {
            // An entry is where it stands, whatever it leads to.
            (Some(directory), Some(name), _) => path(directory, &names).map(|mut path| {
                if path != "/" {
                    path.push('/');
                }
                path + name
            }),
            (Some(ino), None, _) | (None, _, Some(ino)) => path(ino, &names),
            (None, _, None) => None,
        };
        if path.is_some() {
            told.insert(place.inode.or(place.directory));
        }
        finding.path = path;
    }
    Ok(told.len() as u64)
}

/// The inodes that findings name.
fn wanted(findings: &Findings) -> BTreeSet<u32> {
    let mut wanted = BTreeSet::new();
    for finding in &findings.list {
        let ino = finding.place.directory.or(finding.place.inode);
        wanted.extend(ino.filter(|ino| *ino >= 11 || *ino == ROOT));
        if wanted.len() >= WANTED {
            break;
        }
    }
    wanted
}

/// The directories on the way from the wanted ones to the root, and those that have the entries for them.
fn above(state: &State, wanted: &BTreeSet<u32>, names: &Names) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let (mut children, mut parents) = (BTreeSet::new(), BTreeSet::new());
    for ino in wanted {
        let mut at = names.get(ino).map_or(*ino, |(directory, _)| *directory);
        for _ in 0..DEPTH {
            let Some(directory) = state.directories.get(at).filter(|_| at != ROOT) else {
                break;
            };
            let parent = directory.parent.load(Relaxed);
            if parent == 0 || !children.insert(at) {
                break;
            }
            parents.insert(parent);
            at = parent;
        }
    }
    (children, parents)
}

/// From the root down.
fn path(ino: u32, names: &Names) -> Option<String> {
    let (mut at, mut parts) = (ino, Vec::new());
    while at != ROOT {
        let (parent, name) = names.get(&at)?;
        parts.push(String::from_utf8_lossy(name));
        if parts.len() > DEPTH {
            return None;
        }
        at = *parent;
    }
    let mut path = String::new();
    for part in parts.iter().rev() {
        path.push('/');
        path.push_str(part);
    }
    Some(if path.is_empty() { "/".into() } else { path })
}

/// Reads these directories for the names of some inodes. The first that is found stays.
fn look<'a>(
    volume: &Volume<'_>,
    directories: impl Iterator<Item = &'a Directory>,
    runs: &[Run],
    inodes: &BTreeSet<u32>,
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
        }
    })?;
    for found in found {
        for (ino, name) in found {
            names.entry(ino).or_insert(name);
        }
    }
    for directory in directories.filter(|dir| dir.flags & flag::INLINE_DATA != 0) {
        inline(volume, directory.inode, inodes, names);
    }
    Ok(())
}

/// The entries of a block that name one of the inodes.
fn collect(
    directory: u32,
    bytes: &[u8],
    block_size: u32,
    inodes: &BTreeSet<u32>,
    found: &mut Names,
) {
    for entry in entries(bytes, block_size).map_while(Result::ok) {
        let itself = matches!(entry.name, b"." | b".." | b"");
        if !itself && inodes.contains(&entry.inode) {
            found
                .entry(entry.inode)
                .or_insert_with(|| (directory, entry.name.to_vec()));
        }
    }
}

/// The same for a directory within its inode. One that cannot be read has no names.
fn inline(volume: &Volume<'_>, ino: u32, inodes: &BTreeSet<u32>, names: &mut Names) {
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
