//! Findings, from several threads and in the order of `xfs_repair`'s phases.

use std::collections::BTreeSet;
use std::sync::Arc;

use ondisk::xfs::Geometry;

use super::problems::{
    AGI_UNLINKED, CONN_ORPHAN, CONN_ORPHAN_DIR, FILE_SIZE_EXTENT, INODE_UNLINKED, REFC_COW_LEFT,
    is_own,
};
use super::{Exit, Run, counts};
use crate::frame::finding::{Finding, Key};
use crate::frame::log::{Findings, Log as Frame};
use crate::frame::problem::{Class, Problem};

/// Findings of one worker, or of all.
///
/// A finding's position is (phase, allocation group, inode, block of the file, offset), so that the report does not depend on the
/// number of threads.
#[derive(Debug)]
pub(crate) struct Log {
    frame: Frame,
    /// Bits of a block number and of an inode number within an allocation group.
    bits: (u32, u32),
    /// Phases 6 and 7 are skipped by `xfs_repair`.
    skips_names: bool,
    /// After a replay in memory, inodes that were unlinked while open: a mount would free them.
    unlinked: Option<Arc<BTreeSet<u64>>>,
}

impl Log {
    /// An empty log that keeps this many findings per problem.
    pub(crate) fn new(keep: usize) -> Log {
        Log {
            frame: Frame::new(keep),
            bits: (63, 63),
            skips_names: false,
            unlinked: None,
        }
    }

    /// From now on findings are ordered by the allocation groups of this geometry.
    pub(crate) fn set_geometry(&mut self, geometry: &Geometry) {
        self.bits = (geometry.agblk_log.into(), geometry.agino_bits());
    }

    /// An empty log for a worker. It is joined by [`Log::merge`].
    #[must_use]
    pub(crate) fn fork(&self) -> Log {
        Log {
            frame: self.frame.fork(),
            bits: self.bits,
            skips_names: false,
            unlinked: self.unlinked.clone(),
        }
    }

    /// Takes all findings of a worker.
    pub(crate) fn merge(&mut self, other: Log) {
        self.frame.merge(other.frame);
    }

    /// Takes a finding.
    pub(crate) fn add(&mut self, finding: Finding) {
        self.add_times(finding, 1);
    }

    /// From now on what a crash leaves on a sound filesystem is no finding: these unlinked inodes, staging extents, blocks after
    /// the end of a file.
    pub(crate) fn excuse(&mut self, unlinked: &BTreeSet<u64>) {
        self.unlinked = Some(Arc::new(unlinked.clone()));
    }

    fn is_excused(&self, finding: &Finding) -> bool {
        let Some(unlinked) = &self.unlinked else {
            return false;
        };
        let of_inode = [&INODE_UNLINKED, &CONN_ORPHAN, &CONN_ORPHAN_DIR].contains(&finding.problem);
        // A file that was open has blocks after its end, which a mount leaves until it is opened and closed again.
        [&AGI_UNLINKED, &REFC_COW_LEFT, &FILE_SIZE_EXTENT].contains(&finding.problem)
            || of_inode
                && finding
                    .place
                    .inode
                    .is_some_and(|ino| unlinked.contains(&ino))
    }

    /// Takes a finding that represents this many alike.
    pub(crate) fn add_times(&mut self, mut finding: Finding, times: u64) {
        if self.is_excused(&finding) {
            return;
        }
        let place = &finding.place;
        let inode = place.directory.or(place.inode);
        let group = place
            .group
            .map(u64::from)
            .or(inode.map(|ino| ino.unbounded_shr(self.bits.1)))
            .or(place.block.map(|block| block.unbounded_shr(self.bits.0)));
        finding.key = Key([
            finding.problem.rank.into(),
            group.map_or(0, |group| group.saturating_add(1)),
            inode.map_or(0, |ino| ino.saturating_add(1)),
            place.logical.or(place.block).unwrap_or(0),
            place.offset.unwrap_or(0).into(),
        ]);
        if is_own(finding.problem) {
            finding = finding.beyond_reference();
        }
        if finding.problem.class == Class::Stop {
            finding = finding.stops_reference();
        }
        self.frame.add_times(finding, times);
    }

    /// `xfs_repair` skips phases 6 and 7.
    pub(crate) fn skip_names(&mut self) {
        self.skips_names = true;
    }

    /// All findings in order, and the run of `xfs_repair` that they come to: what it never reaches is marked.
    pub(crate) fn finish(self) -> (Findings, Run) {
        let mut findings = self.frame.finish();
        let stop = findings.list.iter().find(|one| one.reference_stops);
        let (ends_at, last) = stop.map_or((None, u16::MAX), |one| {
            (Some(one.problem.name), one.problem.rank)
        });
        let is_hidden = |problem: &Problem| {
            problem.rank > last || self.skips_names && (5..=6).contains(&problem.rank)
        };
        let mut ended = false;
        for finding in &mut findings.list {
            if ended || is_hidden(finding.problem) {
                finding.hide();
            }
            ended |= finding.reference_stops;
        }
        let mut run = Run {
            exit: Exit::Complete,
            ends_at,
            ..Run::default()
        };
        for tally in &findings.tallies {
            let problem = tally.problem;
            if counts(problem.class) && !is_own(problem) && !is_hidden(problem) {
                *run.codes.entry(problem.name).or_default() += tally.count;
            }
        }
        if ends_at.is_some() || !run.codes.is_empty() {
            run.exit = Exit::Code(super::EXIT_WARNED);
        }
        (findings, run)
    }
}
