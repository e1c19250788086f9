//! Phase 6: the blocks that inodes name, by themselves in one ascending sweep; then names against inodes, hashes and each other.

mod alike;
mod blocks;
mod connect;
mod directories;
mod local;
mod values;
mod wide;

use std::sync::Mutex;

use blockio::{Content, Piece, Span};
use ondisk::xfs::geometry::NULL_INO;

use self::blocks::{Blocks, Gathered};
use super::directories::seen;
use super::hash_tree;
use super::inode::symlink;
use super::named::{NamedRun, Use};
use super::rules::{Fork, Rules};
use super::state::State;
use super::volume::Volume;
use super::worker::Worker;
use super::xfs_repair::log::Log;
use super::xfs_repair::problems::{LINK_READ, NAMED_LEFT_OUT};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::sweep::Crew;

/// The phase. How many blocks were judged.
///
/// # Errors
/// The check was cancelled, or there is no memory.
pub(super) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<u64, Failure> {
    let rules = Rules::new(&volume.geo, &volume.sb, volume.options.now);
    let mut items = state.named.take();
    let wide = if rules.dir_blocks > 1 {
        wide::split(&mut items)
    } else {
        Vec::new()
    };
    let count = items.iter().map(|item| item.count()).sum::<u64>() + wide.len() as u64;
    left_out(state, log);
    let mut gathered = sweep(volume, state, &rules, log, &items)?;
    drop(items);
    wide::run(volume, state, &rules, log, &wide, &mut gathered)?;
    targets(volume, state, &rules, log)?;
    local::run(volume, state, &rules, log)?;
    directories::compare(state, &rules, log);
    let mut worker = Worker::new(&rules, state, log, true);
    alike::run(volume, &rules, gathered.alike, &mut worker)?;
    trees(state, &rules, &mut gathered.members, &mut worker);
    values::compare(state, &rules, gathered.remote, gathered.values, &mut worker);
    log.merge(worker.finish());
    connect::run(state, &rules, log);
    super::phase7::records(state, gathered.records);
    Ok(count)
}

/// Reads the blocks and judges each.
fn sweep(
    volume: &Volume<'_>,
    state: &State,
    rules: &Rules,
    log: &mut Log,
    items: &[NamedRun],
) -> Result<Gathered, Failure> {
    let empty: &Log = log;
    let size = volume.block_size();
    let judges = volume.sweeper().run(
        Crew::All,
        spans(volume, items),
        || Blocks::new(Worker::new(rules, state, empty, true)),
        |judge, piece| {
            let items = &items[piece.tag as usize..];
            let start = volume.geo.block_offset(items[0].fsblock());
            let before = (piece.offset - start) / size as u64;
            sweep_piece(judge, blocks_of(items, before), piece, size);
        },
    )?;
    let mut gathered = Gathered::default();
    for judge in judges {
        let (found, mut more) = judge.finish();
        log.merge(found);
        gathered.take(&mut more);
    }
    Ok(gathered)
}

/// Forks whose blocks were not listed.
fn left_out(state: &State, log: &mut Log) {
    let count = state.named.left_out();
    if count == 0 {
        return;
    }
    let list = state.directories.list().iter();
    for directory in list.filter(|directory| !state.named.has(directory.class)) {
        directory.note(seen::REFUSED);
    }
    log.add(Finding::new(&NAMED_LEFT_OUT).note(format!("{count} forks")));
}

/// Runs that are joined at most: those before a piece of a span are counted once more.
const MOST_JOINED: usize = 4096;

/// Spans of blocks, those joined that follow each other. The tag is the place of the first run in the list.
fn spans(volume: &Volume<'_>, items: &[NamedRun]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut end = None;
    for (nth, item) in items.iter().enumerate() {
        let range = volume.range(item.fsblock(), item.count());
        let follows = end == Some(item.fsblock());
        match spans.last_mut() {
            Some(last)
                if follows
                    && last.range.end == range.start
                    && nth - (last.tag as usize) < MOST_JOINED =>
            {
                last.range.end = range.end;
            }
            _ => spans.push(Span {
                tag: nth as u64,
                range,
            }),
        }
        end = Some(item.fsblock() + item.count());
    }
    spans
}

/// The blocks of runs that follow each other, but for the first `before`.
fn blocks_of(items: &[NamedRun], mut before: u64) -> impl Iterator<Item = NamedRun> {
    let begun = items.iter().position(|item| {
        let is_in = before < item.count();
        if !is_in {
            before -= item.count();
        }
        is_in
    });
    let rest = &items[begun.unwrap_or(items.len())..];
    rest.iter()
        .flat_map(|item| item.blocks())
        .skip(before as usize)
}

fn sweep_piece(
    judge: &mut Blocks<'_>,
    items: impl Iterator<Item = NamedRun>,
    piece: &Piece<'_>,
    size: usize,
) {
    match &piece.content {
        Content::Data(bytes) => {
            for (item, bytes) in items.zip(bytes.chunks_exact(size)) {
                judge.block(item, bytes);
            }
        }
        Content::Hole(length) => judge.hole(items.take(*length as usize / size), &vec![0; size]),
        Content::Failed(error) => {
            let why = error.to_string();
            for item in items.take(error.len as usize / size) {
                judge.unreadable(item, &why);
            }
        }
    }
    judge.worker.hand_over();
}

/// Targets of symbolic links.
fn targets(
    volume: &Volume<'_>,
    state: &State,
    rules: &Rules,
    log: &mut Log,
) -> Result<(), Failure> {
    let mut list = std::mem::take(&mut state.directories.gathered().targets);
    list.sort_unstable_by_key(|(_, part)| part.block);
    let spans = list
        .iter()
        .enumerate()
        .map(|(nth, (_, part))| volume.span(nth as u64, part.block, part.count));
    // The parts of a target are a few blocks: those that a request cuts are read again by themselves.
    let cut = Mutex::new(Vec::new());
    let empty: &Log = log;
    let workers = volume.sweeper().run(
        Crew::All,
        spans.collect(),
        || Worker::new(rules, state, empty, true),
        |worker, piece| {
            let (rank, part) = &list[piece.tag as usize];
            let ino = worker.state.chunks.ino(*rank);
            let whole = part.count * volume.block_size() as u64;
            match &piece.content {
                Content::Data(bytes) if bytes.len() as u64 == whole => {
                    symlink::part(rules, ino, part, bytes, worker);
                }
                _ => {
                    let mut cut = cut
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    cut.push(piece.tag);
                }
            }
        },
    )?;
    for worker in workers {
        log.merge(worker.finish());
    }
    let mut cut = cut
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    cut.sort_unstable();
    cut.dedup();
    let mut worker = Worker::new(rules, state, log, true);
    for nth in cut {
        volume.go_on()?;
        let (rank, part) = &list[nth as usize];
        let ino = state.chunks.ino(*rank);
        match volume.read(part.block, part.count as usize) {
            Ok(bytes) => symlink::part(rules, ino, part, &bytes, &mut worker),
            Err(error) => worker.log.add(
                Finding::new(&LINK_READ)
                    .inode(ino)
                    .block(part.block)
                    .note(error.to_string()),
            ),
        }
    }
    log.merge(worker.finish());
    Ok(())
}

/// Trees of nodes over leaves.
fn trees(state: &State, rules: &Rules, members: &mut [hash_tree::Member], worker: &mut Worker<'_>) {
    members.sort_unstable();
    for tree in members.chunk_by(|one, next| (one.rank, one.fork) == (next.rank, next.fork)) {
        let root = match tree[0].fork {
            Fork::Data => rules.leaf as u32,
            Fork::Attr => 0,
        };
        let ino = state.chunks.ino(tree[0].rank);
        if ino != NULL_INO {
            hash_tree::compare(ino, tree, root, worker);
        }
    }
}

/// Whether a named block is of a directory.
fn is_directory(item: &NamedRun) -> bool {
    item.what() == Use::Directory
}
