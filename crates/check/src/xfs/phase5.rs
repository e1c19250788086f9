//! Phase 5: realtime bitmap and summary against what files use.
//!
//! Both are files in the data part, so the realtime device is not needed. A bit of the bitmap is set for each free extent; the
//! summary has for each power of two and each block of the bitmap the number of free runs of that size that begin there.

mod file;

use ondisk::bytes::le32;
use ondisk::xfs::realtime::{levels, summary_at, summary_bytes};

use super::state::State;
use super::volume::Volume;
use super::xfs_repair::log::Log;
use super::xfs_repair::problems::{
    RT_CONTENT, RT_FREXTENTS, RT_HOLE, RT_MAP, RT_OPEN, RT_READ, RT_SIZE,
};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Extents that are counted between two questions whether to go on.
const AT_ONCE: u64 = 1 << 20;
/// Words of the summary that are compared; a superblock may claim more than there is memory for.
const MOST_SUMMARY: u64 = 1 << 26;

/// The phase. How many objects were judged.
///
/// # Errors
/// The check was cancelled.
pub(super) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<u64, Failure> {
    let sb = &volume.sb;
    let extents = state.realtime.len();
    let mut count = 0;
    for first in (0..extents).step_by(AT_ONCE as usize) {
        volume.go_on()?;
        let some = first..extents.min(first + AT_ONCE);
        count += some
            .filter(|extent| !state.realtime.is_taken(*extent))
            .count() as u64;
    }
    if count != sb.sb_frextents.get() {
        let finding = Finding::new(&RT_FREXTENTS);
        log.add(finding.found(sb.sb_frextents.get()).expected(count));
    }
    let bitmap_bytes = u64::from(sb.sb_rbmblocks.get()) << volume.geo.block_log;
    let bitmap = |extent: u64| extent < extents && !state.realtime.is_taken(extent);
    compare(volume, sb.sb_rbmino.get(), bitmap_bytes, log, |word| {
        (0..32).fold(0, |bits, bit| {
            bits | u32::from(bitmap(word * 32 + bit)) << bit
        })
    })?;
    let words = u64::from(levels(sb)) * u64::from(sb.sb_rbmblocks.get());
    if words <= MOST_SUMMARY {
        let summary = summary(volume, state, words as usize)?;
        compare(
            volume,
            sb.sb_rsumino.get(),
            summary_bytes(sb),
            log,
            |word| summary.get(word as usize).copied().unwrap_or(0),
        )?;
    }
    Ok(extents)
}

/// The counters of the summary as files leave them.
fn summary(volume: &Volume<'_>, state: &State, words: usize) -> Result<Vec<u32>, Failure> {
    let sb = &volume.sb;
    let in_block = 8_u64 << volume.geo.block_log;
    let mut counts = vec![0; words];
    let mut add = |start: u64, end: u64| {
        if let Some(level) = (end - start).checked_ilog2()
            && let Some(count) = counts.get_mut(summary_at(sb, level, start / in_block) as usize)
        {
            *count += 1;
        }
    };
    let mut start = None;
    for extent in 0..state.realtime.len() {
        if extent % AT_ONCE == 0 {
            volume.go_on()?;
        }
        match (state.realtime.is_taken(extent), start) {
            (false, None) => start = Some(extent),
            (true, Some(first)) => {
                add(first, extent);
                start = None;
            }
            _ => {}
        }
    }
    if let Some(first) = start {
        add(first, state.realtime.len());
    }
    Ok(counts)
}

/// Compares a file, word by word.
fn compare(
    volume: &Volume<'_>,
    ino: u64,
    bytes: u64,
    log: &mut Log,
    expected: impl Fn(u64) -> u32,
) -> Result<(), Failure> {
    let mut raise = |problem: &'static Problem, note: String| {
        log.add(Finding::new(problem).inode(ino).note(note));
    };
    let file = match file::open(volume, ino) {
        Ok(file) => file,
        Err(file::Refused::Inode) => {
            raise(&RT_OPEN, "cannot be read".into());
            return Ok(());
        }
        Err(file::Refused::Map) => {
            raise(&RT_MAP, "its map cannot be read".into());
            return Ok(());
        }
    };
    if file.size != bytes {
        raise(&RT_SIZE, format!("{} bytes, expected {bytes}", file.size));
        return Ok(());
    }
    let block_size = u64::from(volume.geo.block_size);
    for block in 0..bytes / block_size {
        volume.go_on()?;
        let Some(fsblock) = file.block(block) else {
            raise(&RT_HOLE, format!("block {block}"));
            continue;
        };
        let Ok(found) = volume.read(fsblock, 1) else {
            raise(&RT_READ, format!("block {block}"));
            continue;
        };
        let first = block * block_size / 4;
        let words = 0..block_size / 4;
        let differ = |word: &u64| le32(&found, *word as usize * 4) != expected(first + word);
        if let Some(word) = words.into_iter().find(differ) {
            raise(&RT_CONTENT, format!("block {block}, word {word}"));
        }
    }
    Ok(())
}
