//! Phase 7: has each inode as many names as it has links, and do quota records say what their owners use?

use ondisk::xfs::directory::file_type;

use super::directories::Directory;
use super::quota::Record;
use super::rules::Rules;
use super::state::State;
use super::volume::Volume;
use super::xfs_repair::log::Log;
use super::xfs_repair::problems::{CONN_ORPHAN, NLINK};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;

mod quotas;

/// The phase. How many inodes were compared.
///
/// # Errors
/// The check was cancelled, or there is no memory.
pub(super) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<u64, Failure> {
    let rules = Rules::new(&volume.geo, &volume.sb, volume.options.now);
    for ag in 0..volume.geo.ag_count {
        if volume.progress.cancelled() {
            return Err(Failure::Stopped);
        }
        for (rank, chunk) in state.chunks.of_group(ag) {
            let once = state.names.exactly_once(rank / 64);
            // Inodes of a chunk are a word of the maps: nearly always all have one name and one link.
            if chunk.used() & !once != 0 || !state.links.are(rank / 64, once) {
                files(state, rank, log);
            }
        }
    }
    for directory in state.directories.list() {
        directory_links(state, &rules, directory, log);
    }
    quotas::run(volume, &rules, state, log);
    Ok(state.files.get().inodes)
}

/// Keeps quota records for the comparison.
pub(super) fn records(state: &State, mut records: Vec<Record>) {
    state.directories.gathered().records.append(&mut records);
}

/// Inodes of a chunk, one by one.
fn files(state: &State, first: u64, log: &mut Log) {
    for rank in first..first + 64 {
        let kind = state.types.get(rank);
        if !(file_type::REGULAR..=file_type::WHITEOUT).contains(&kind)
            || kind == file_type::DIRECTORY
        {
            continue;
        }
        let (names, links) = (state.names.get(rank), state.links.get(rank));
        let ino = state.chunks.ino(rank);
        if names == 0 {
            log.add(Finding::new(&CONN_ORPHAN).inode(ino));
        } else if names != links {
            log.add(Finding::new(&NLINK).inode(ino).found(links).expected(names));
        }
    }
}

/// Links of a directory: its name, `.`, and `..` of each subdirectory; of the root its own `..` instead of a name.
fn directory_links(state: &State, rules: &Rules, directory: &Directory, log: &mut Log) {
    let ino = state.chunks.ino(directory.rank);
    let known = state.types.get(directory.rank) == file_type::DIRECTORY;
    let named = ino == rules.root || state.names.get(directory.rank) > 0;
    if !known || !named {
        return;
    }
    let below = directory
        .subdirectories
        .load(std::sync::atomic::Ordering::Relaxed);
    if below + 2 != u64::from(directory.links) {
        let finding = Finding::new(&NLINK).inode(ino).found(directory.links);
        log.add(finding.expected(below + 2));
    }
}
