//! Inodes whose forks are btrees.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use ondisk::xfs::dinode::Inode;

use super::inode::Judge;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::prefetch::Prefetch;
use crate::xfs::inode::core::Subject;
use crate::xfs::inode::tree::Blocks;
use crate::xfs::rules::Rules;
use crate::xfs::sink::Sink;
use crate::xfs::state::State;
use crate::xfs::volume::Volume;
use crate::xfs::worker::Worker;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::CHUNK_READ;

/// Blocks of trees, with those that follow on their level.
pub(super) struct Reader<'a> {
    volume: &'a Volume<'a>,
    prefetch: Prefetch<'a>,
}

impl<'a> Reader<'a> {
    fn new(volume: &'a Volume<'a>) -> Reader<'a> {
        let sweep = volume.sweeper().sweep;
        Reader {
            volume,
            prefetch: Prefetch::new(volume.source, 0..volume.geo.blocks, &sweep, &volume.options),
        }
    }
}

impl Blocks for Reader<'_> {
    /// None also where the check is to end: a tree may have as many blocks as the filesystem.
    fn read(&mut self, level: u16, block: u64, next: &[u64]) -> Option<Vec<u8>> {
        if self.volume.guard.is_full() || self.volume.progress.cancelled() {
            return None;
        }
        // Block numbers have gaps between allocation groups; the reader counts without.
        let geo = &self.volume.geo;
        let plain = |block: u64| geo.block_offset(block) >> geo.block_log;
        let next = next.iter().filter(|next| geo.is_block(**next));
        let next = next.map(|next| plain(*next));
        self.prefetch.read(level.into(), plain(block), next).ok()
    }

    fn give_back(&mut self, buffer: Vec<u8>) {
        self.prefetch.give_back(buffer);
    }
}

/// Judges the inodes with these ranks.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(super) fn run(
    volume: &Volume<'_>,
    state: &State,
    rules: &Rules,
    log: &mut Log,
    mut ranks: Vec<u64>,
) -> Result<(), Failure> {
    if ranks.is_empty() {
        return Ok(());
    }
    state.has_fork_trees.store(true, Relaxed);
    ranks.sort_unstable();
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let logs = Mutex::new(Vec::new());
    let none = Mutex::new(Vec::new());
    let empty: &Log = log;
    let threads = volume.options.threads.min(ranks.len());
    blockio::for_each_in_threads(0..threads, |_| {
        let mut judge = Judge::new(volume, Worker::new(rules, state, empty, false));
        let mut reader = Reader::new(volume);
        while let Some(rank) = ranks.get(next.fetch_add(1, Relaxed)) {
            if volume.progress.cancelled() || volume.guard.is_full() {
                stopped.store(true, Relaxed);
                break;
            }
            one(volume, state, &mut judge, &mut reader, *rank);
        }
        let log = judge.finish(&none);
        logs.lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(log);
    });
    for one in logs
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
    {
        log.merge(one);
    }
    volume.guard.hold()?;
    if stopped.into_inner() {
        return Err(Failure::Stopped);
    }
    Ok(())
}

fn one(
    volume: &Volume<'_>,
    state: &State,
    judge: &mut Judge<'_, '_>,
    reader: &mut Reader<'_>,
    rank: u64,
) {
    let geo = &volume.geo;
    let ino = state.chunks.ino(rank);
    let mut bytes = vec![0; geo.inode_size as usize];
    if let Err(error) = volume.source.read_at(&mut bytes, geo.ino_offset(ino)) {
        let finding = Finding::new(&CHUNK_READ).inode(ino);
        judge.worker.find(finding.note(error.to_string()));
        return;
    }
    let subject = Subject {
        ino,
        inode: Inode::new(geo, &bytes),
        free: state.chunks.is_free(rank),
    };
    judge.inode(rank, &subject, Some(reader));
}
