//! Phase 3: inodes, in one ascending sweep over the chunks.
//!
//! Each inode is judged whole where the sweep meets it. Those whose forks are btrees follow after the sweep, because their blocks lie
//! elsewhere: their trees are walked by several threads, each with a window of blocks read ahead.

mod inode;
mod trees;

use std::sync::Mutex;

use blockio::{Content, Piece, Span};
use ondisk::xfs::geometry::CHUNK;

use self::inode::Judge;
use super::chunks::Chunk;
use super::rules::Rules;
use super::state::State;
use super::volume::Volume;
use super::worker::Worker;
use super::xfs_repair::log::Log;
use super::xfs_repair::problems::CHUNK_READ;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::sweep::Crew;

/// The phase. How many inodes were judged.
///
/// # Errors
/// The check was cancelled, or there is no memory.
pub(super) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<u64, Failure> {
    let mut rules = Rules::new(&volume.geo, &volume.sb, volume.options.now);
    let len = volume.source.len();
    rules.cut_at = (volume.sb.bytes() > len).then_some(len);
    let deferred = Mutex::new(Vec::new());
    let empty: &Log = log;
    let judges = volume.sweeper().run(
        Crew::All,
        spans(volume, state),
        || Judge::new(volume, Worker::new(&rules, state, empty, false)),
        |judge, piece| {
            sweep_piece(state, judge, piece);
            judge.worker.share_claims();
            judge.hand_over(&deferred);
        },
    )?;
    for judge in judges {
        log.merge(judge.finish(&deferred));
    }
    let deferred = deferred
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    trees::run(volume, state, &rules, log, deferred)?;
    if !state.is_second() {
        state.directories.seal();
        state.named.seal();
    }
    Ok(state.files.get().inodes)
}

/// Spans of chunks, those joined that are side by side on disk. The tag is the rank of the first inode.
fn spans(volume: &Volume<'_>, state: &State) -> Vec<Span> {
    let geo = &volume.geo;
    let mut spans: Vec<Span> = Vec::new();
    for ag in 0..geo.ag_count {
        // The rank after the last span, which a chunk continues only without a gap.
        let mut next = None;
        for (rank, chunk) in state.chunks.of_group(ag) {
            for (first, count) in parts(&chunk) {
                let start = geo.ino_offset(geo.ino(ag, chunk.start + first));
                let end = start + (u64::from(count) << geo.inode_log);
                let rank = rank + u64::from(first);
                match spans.last_mut() {
                    Some(last) if next == Some(rank) && last.range.end == start => {
                        last.range.end = end;
                    }
                    _ => spans.push(Span {
                        tag: rank,
                        range: start..end,
                    }),
                }
                next = Some(rank + u64::from(count));
            }
        }
    }
    spans
}

/// The parts of a chunk that exist: first inode and number.
fn parts(chunk: &Chunk) -> impl Iterator<Item = (u32, u32)> {
    let holes = chunk.hole_bits();
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= CHUNK {
            return None;
        }
        at += (holes >> at).trailing_ones();
        if at >= CHUNK {
            return None;
        }
        let first = at;
        at += (holes >> at).trailing_zeros().min(CHUNK - at);
        Some((first, at - first))
    })
}

fn sweep_piece(state: &State, judge: &mut Judge<'_, '_>, piece: &Piece<'_>) {
    let geo = judge.volume.geo;
    let start = geo.ino_offset(state.chunks.ino(piece.tag));
    let rank = piece.tag + ((piece.offset - start) >> geo.inode_log);
    let size = geo.inode_size as usize;
    match &piece.content {
        Content::Data(bytes) => judge.inodes(rank, bytes.chunks_exact(size)),
        Content::Hole(length) => {
            let zeros = vec![0; size];
            let count = (length >> geo.inode_log) as usize;
            judge.inodes(rank, std::iter::repeat_n(&zeros[..], count));
        }
        Content::Failed(error) => {
            let finding = Finding::new(&CHUNK_READ).inode(state.chunks.ino(rank));
            judge.worker.log.add(finding.note(error.to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_leave_out_holes() {
        let chunk = |holes| Chunk {
            start: 0,
            holes,
            free: 0,
        };
        let list = |holes| parts(&chunk(holes)).collect::<Vec<_>>();
        assert_eq!(list(0), [(0, 64)]);
        assert_eq!(list(0xff00), [(0, 32)]);
        assert_eq!(list(0x00ff), [(32, 32)]);
        assert_eq!(list(0x0ff0), [(0, 16), (48, 16)]);
        assert_eq!(list(0xffff), []);
    }
}
