//! The lists of all threads of pass 1.

use super::tally::{Owners, Statistics};
use super::worker::Worker;
use crate::ext4::directories::{Directory, Run};
use crate::ext4::e2fsck::log::Log;

/// What the workers leave, joined.
#[derive(Default)]
pub(crate) struct Joined {
    pub(crate) directories: Vec<Directory>,
    pub(crate) runs: Vec<Run>,
    pub(crate) bad: Vec<u32>,
    pub(crate) on_bad_blocks: Vec<u32>,
    pub(crate) imagic: Vec<u32>,
    pub(crate) bad_checksum: Vec<u32>,
    pub(crate) owners: Owners,
    pub(crate) statistics: Statistics,
    pub(crate) refugee: Option<u32>,
}

impl Joined {
    pub(in crate::ext4) fn take(&mut self, mut worker: Worker<'_>, log: &mut Log) {
        log.merge(std::mem::replace(&mut worker.log, Log::new(1)));
        self.directories.append(&mut worker.directories);
        self.runs.append(&mut worker.runs);
        self.bad.append(&mut worker.bad);
        self.on_bad_blocks.append(&mut worker.on_bad_blocks);
        self.imagic.append(&mut worker.imagic);
        self.bad_checksum.append(&mut worker.bad_checksum);
        self.owners.join(std::mem::take(&mut worker.owners));
        self.statistics.add(&worker.statistics);
        let refugee = Some(worker.refugee).filter(|ino| *ino != u32::MAX);
        self.refugee = self.refugee.into_iter().chain(refugee).min();
        worker.attributes.hand_in();
    }
}
