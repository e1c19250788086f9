//! Pass 2: directory blocks, ascending.

mod block;
mod entry;
pub(crate) mod inline;
mod leaves;
mod trailer;

use std::collections::{BTreeSet, HashSet};

use leaves::Leaves;

use super::blocks::Block;
use super::fsck_ocfs2::log::Log;
use super::state::{JUDGED, State};
use super::volume::Volume;
use crate::frame::failure::Failure;

/// Directory blocks that are announced together.
const BATCH: usize = 1024;
/// Bytes of names after which fsck.ocfs2 forgets those of a directory.
const NAMES: usize = 4 << 20;

/// The pass, and what it remembers from block to block.
struct Pass<'a, 'v> {
    volume: &'a Volume<'v>,
    state: &'a mut State,
    log: &'a mut Log,
    /// The directory of the block before, and its inode.
    directory: u64,
    inode: Option<Block>,
    /// Whether the checksum of that inode is right.
    sound: bool,
    names: HashSet<Vec<u8>>,
    name_bytes: usize,
    index: Leaves,
    /// The block is on the device as it is judged: no bit of it was corrected.
    as_stored: bool,
}

/// A directory block.
#[derive(Clone, Copy)]
struct Place {
    block: u64,
    directory: u64,
    logical: u64,
}

/// Runs the pass.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(crate) fn run(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> Result<(), Failure> {
    state.take_names([
        volume.sb.s_root_blkno.get(),
        volume.sb.s_system_dir_blkno.get(),
    ]);
    let blocks: Vec<Place> = state
        .directory_blocks
        .iter()
        .map(|(&block, &(directory, logical))| Place {
            block,
            directory,
            logical,
        })
        .collect();
    state.twice.forgotten = in_several_runs(&blocks);
    let mut pass = Pass {
        volume,
        state,
        log,
        directory: 0,
        inode: None,
        sound: true,
        names: HashSet::new(),
        name_bytes: 0,
        index: Leaves::default(),
        as_stored: true,
    };
    let size = volume.block_size() as u64;
    for batch in blocks.chunks(BATCH) {
        volume.go_on()?;
        let read = batch.iter().filter(|place| place.logical != JUDGED);
        let read: Vec<u64> = read
            .flat_map(|place| [place.block, place.directory])
            .collect();
        let bytes = read.len() as u64 / 2 * size;
        volume.prefetch(read);
        for place in batch {
            if place.logical == JUDGED {
                pass.pass_by(place.directory);
            } else if !pass.block(*place) {
                return Ok(());
            }
        }
        volume.progress.advance(bytes);
    }
    Ok(())
}

/// Directories whose blocks do not follow each other: fsck.ocfs2 forgets their names on the way.
fn in_several_runs(blocks: &[Place]) -> BTreeSet<u64> {
    let runs = blocks.chunk_by(|one, next| one.directory == next.directory);
    let runs = runs.filter(|run| run[0].logical != JUDGED);
    let mut runs: Vec<u64> = runs.map(|run| run[0].directory).collect();
    runs.sort_unstable();
    let several = runs.windows(2).filter(|pair| pair[0] == pair[1]);
    several.map(|pair| pair[0]).collect()
}

impl Pass<'_, '_> {
    /// Comes to the only block of a directory that pass 1 has judged.
    fn pass_by(&mut self, directory: u64) {
        self.forget_names();
        self.directory = directory;
        self.inode = None;
    }

    fn forget_names(&mut self) {
        self.names.clear();
        self.name_bytes = 0;
    }
}
