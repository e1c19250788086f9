//! The names in OCFS2 directories of the inodes that findings name.

use std::collections::BTreeSet;

use ondisk::ocfs2::dinode::INLINE_DATA;
use ondisk::ocfs2::directory::{self, Entry, record_length};

use super::state::State;
use super::volume::{Volume, from};
use crate::frame::failure::Failure;
use crate::frame::log::Findings;
use crate::frame::paths::{self, Names};

/// Directory blocks that are announced together.
const BATCH: usize = 1024;

/// Fills in the paths of the findings. Paths in the system directory begin with `//`, as debugfs.ocfs2 has them.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(crate) fn fill(
    volume: &Volume<'_>,
    state: &State,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let root = volume.sb.s_root_blkno.get();
    let system = volume.sb.s_system_dir_blkno.get();
    let wanted = paths::wanted(findings, |inode| inode != 0);
    let mut names = Names::new();
    if !wanted.is_empty() {
        look(volume, state, None, &wanted, &mut names)?;
    }
    let (children, parents) = paths::above(&wanted, &names, |inode| {
        let parent = state.directories.get(&inode)?.entry;
        (inode != root && inode != system && parent != 0).then_some(parent)
    });
    if !children.is_empty() {
        look(volume, state, Some(&parents), &children, &mut names)?;
    }
    names.insert(system, (root, Vec::new()));
    paths::fill(findings, &names, root);
    Ok(())
}

/// Reads the directories, or some of them, for names of these inodes. The first that is found is kept.
fn look(
    volume: &Volume<'_>,
    state: &State,
    directories: Option<&BTreeSet<u64>>,
    inodes: &BTreeSet<u64>,
    names: &mut Names,
) -> Result<(), Failure> {
    let chosen = |directory: &u64| directories.is_none_or(|some| some.contains(directory));
    let places = state.directory_blocks.iter();
    let places: Vec<(u64, u64)> = places
        .map(|(block, (directory, _))| (*block, *directory))
        .filter(|(_, directory)| chosen(directory))
        .collect();
    for batch in places.chunks(BATCH) {
        volume.go_on()?;
        volume.prefetch(batch.iter().map(|(block, _)| *block).collect());
        for &(block, directory) in batch {
            let Ok(bytes) = volume.read(block) else {
                continue;
            };
            // The names of a directory in its inode are after the inode's fields.
            let start = if block == directory { INLINE_DATA } else { 0 };
            collect(directory, from(&bytes, start), inodes, names);
        }
    }
    Ok(())
}

/// The entries that name one of the inodes. Where an entry is damaged the search goes on for the next one that can be one, so that a file whose
/// name fsck.ocfs2 does not come to has its name here.
fn collect(directory: u64, bytes: &[u8], inodes: &BTreeSet<u64>, names: &mut Names) {
    let mut offset = 0;
    while let Some((entry, name)) = directory::entry_at(bytes, offset) {
        let Some(length) = length(entry, name, bytes.len() - offset) else {
            offset += 4;
            continue;
        };
        let inode = entry.inode.get();
        let itself = matches!(name, b"." | b".." | b"");
        if !itself && inodes.contains(&inode) && !names.contains_key(&inode) {
            names.insert(inode, (directory, name.to_vec()));
        }
        offset += length;
    }
}

/// Bytes of an entry that makes sense in the `room` that is left.
fn length(entry: &Entry, name: &[u8], room: usize) -> Option<usize> {
    let length = usize::from(entry.rec_len.get());
    let unused = entry.inode.get() == 0;
    let sound = length >= record_length(name.len())
        && (unused || !name.is_empty())
        && length.is_multiple_of(4)
        && length <= room
        && name.len() == usize::from(entry.name_len)
        && !name.contains(&0)
        && !name.contains(&b'/');
    sound.then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(inode: u64, length: u16, name: &[u8]) -> Vec<u8> {
        let mut bytes = inode.to_le_bytes().to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend([name.len() as u8, 1]);
        bytes.extend(name);
        bytes.resize(length.into(), 0);
        bytes
    }

    #[test]
    fn names_after_a_damaged_entry_are_found() {
        let mut block = entry(9, 16, b".");
        block.extend(entry(100, 24, b"first"));
        block.extend(entry(101, 24, b"second"));
        block.extend(entry(102, 64, b"third"));
        let wanted = BTreeSet::from([9, 100, 101, 102]);
        let read = |block: &[u8]| {
            let mut names = Names::new();
            collect(9, block, &wanted, &mut names);
            names
                .into_values()
                .map(|(_, name)| name)
                .collect::<Vec<_>>()
        };
        assert_eq!(read(&block), [&b"first"[..], b"second", b"third"]);
        // The length of an entry leads into the middle of another, or nowhere.
        for (at, length) in [(16 + 8, 7_u16), (16 + 8, 0xFFFC), (8, 0)] {
            let mut damaged = block.clone();
            damaged[at..at + 2].copy_from_slice(&length.to_le_bytes());
            let names = read(&damaged);
            assert!(names.contains(&b"second".to_vec()) && names.contains(&b"third".to_vec()));
        }
    }
}
