//! Directories in inodes whose names may disagree with what they lead to: read once more, now that all inodes are judged.

use blockio::Content;
use ondisk::xfs::dinode::Inode;
use ondisk::xfs::shortform;

use crate::frame::failure::Failure;
use crate::frame::sweep::Crew;
use crate::xfs::directories::{ALL, Form};
use crate::xfs::rules::Rules;
use crate::xfs::sink::Name;
use crate::xfs::state::State;
use crate::xfs::volume::Volume;
use crate::xfs::worker::Worker;
use crate::xfs::xfs_repair::log::Log;

/// Judges the names in question.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(super) fn run(
    volume: &Volume<'_>,
    state: &State,
    rules: &Rules,
    log: &mut Log,
) -> Result<(), Failure> {
    let mut questions = std::mem::take(&mut state.directories.gathered().questions);
    if questions.is_empty() {
        return Ok(());
    }
    questions.sort_unstable();
    questions.dedup();
    let all = questions.last() == Some(&ALL);
    let geo = &volume.geo;
    let list = state.directories.list().iter();
    let wanted = list.filter(|directory| {
        let in_question = all || questions.binary_search(&directory.rank).is_ok();
        directory.form == Form::Local && in_question
    });
    let spans = wanted.map(|directory| {
        let start = geo.ino_offset(state.chunks.ino(directory.rank));
        blockio::Span {
            tag: directory.rank,
            range: start..start + u64::from(geo.inode_size),
        }
    });
    let empty: &Log = log;
    let workers = volume.sweeper_of(geo.inode_size).run(
        Crew::All,
        spans.collect(),
        || Worker::new(rules, state, empty, true),
        |worker, piece| {
            if let Content::Data(bytes) = &piece.content {
                names(worker, piece.tag, bytes);
            }
        },
    )?;
    for worker in workers {
        log.merge(worker.finish());
    }
    Ok(())
}

fn names(worker: &mut Worker<'_>, rank: u64, bytes: &[u8]) {
    let rules = worker.rules;
    let inode = Inode::new(&rules.geometry, bytes);
    let list = shortform::Directory::new(rules.geometry.ftype, inode.data_fork());
    let ino = worker.state.chunks.ino(rank);
    let mut at = list.header();
    while (at as u64) < inode.size() {
        let Some(entry) = list.entry(at).filter(|entry| !entry.name.is_empty()) else {
            return;
        };
        worker.again(&Name {
            directory: ino,
            ino: entry.inumber,
            kind: entry.ftype,
            name: entry.name,
            place: None,
        });
        at += entry.length;
    }
}
