//! Directory blocks of several blocks each. A request may cut them, so each is read by itself, by several threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::blocks::{Blocks, Gathered};
use super::is_directory;
use crate::frame::failure::Failure;
use crate::xfs::named::{Fork, NamedRun, Use};
use crate::xfs::rules::Rules;
use crate::xfs::state::State;
use crate::xfs::volume::Volume;
use crate::xfs::worker::Worker;
use crate::xfs::xfs_repair::log::Log;

/// Takes the blocks of directories out of the list; each run is one of them.
pub(super) fn split(items: &mut Vec<NamedRun>) -> Vec<NamedRun> {
    let (wide, rest) = items.iter().partition(|item| is_directory(item));
    *items = rest;
    wide
}

/// Reads and judges the blocks, those included whose parts are not side by side.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(super) fn run(
    volume: &Volume<'_>,
    state: &State,
    rules: &Rules,
    log: &mut Log,
    items: &[NamedRun],
    gathered: &mut Gathered,
) -> Result<(), Failure> {
    let fragmented = std::mem::take(&mut state.directories.gathered().fragmented);
    if items.is_empty() && fragmented.is_empty() {
        return Ok(());
    }
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results = Mutex::new(Vec::new());
    let empty: &Log = log;
    let unit = rules.dir_blocks as usize;
    let one = |judge: &mut Blocks<'_>, nth: usize| -> bool {
        if let Some(item) = items.get(nth) {
            match volume.read(item.fsblock(), unit) {
                Ok(bytes) => judge.directory(item.rank(), item.offset(), item.fsblock(), &bytes),
                Err(error) => judge.unreadable(*item, &error.to_string()),
            }
            return true;
        }
        let Some(block) = fragmented.get(nth - items.len()) else {
            return false;
        };
        let parts: Result<Vec<Vec<u8>>, _> = block
            .blocks
            .iter()
            .map(|part| volume.read(*part, 1))
            .collect();
        match parts {
            Ok(parts) => {
                judge.directory(block.rank, block.offset, block.blocks[0], &parts.concat());
            }
            Err(error) => {
                let fork = Fork {
                    what: Use::Directory,
                    rank: block.rank,
                    class: 0,
                };
                if let Some(item) = NamedRun::new(fork, block.blocks[0], block.offset, 1) {
                    judge.unreadable(item, &error.to_string());
                }
            }
        }
        true
    };
    blockio::for_each_in_threads(0..volume.options.threads, |_| {
        let mut judge = Blocks::new(Worker::new(rules, state, empty, true));
        while one(&mut judge, next.fetch_add(1, Relaxed)) {
            if volume.progress.cancelled() || volume.guard.is_full() {
                stopped.store(true, Relaxed);
                break;
            }
        }
        let result = judge.finish();
        results
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(result);
    });
    for (found, mut more) in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
        log.merge(found);
        gathered.take(&mut more);
    }
    volume.guard.hold()?;
    if stopped.into_inner() {
        return Err(Failure::Stopped);
    }
    Ok(())
}
