//! IOR: ranks that write together, then read, each a file of its own or all of them one.
//!
//! What makes the figures comparable with IOR's is kept: names of files (`testFile`, `testFile.00000003`), where each transfer lies, what
//! is inside of which clock, when a stonewall stops a rank and how far all go on with a wear-out, and who reads whose data.
//!
//! Where we leave IOR, and why:
//! * Times of nodes are compared by their monotonic clocks ([`crate::group::clocks`]). IOR takes minima and maxima of raw gettimeofday
//!   (hpc/ior#431): with one clock half a second ahead it printed 222.68 MiB/s for 595.77.
//! * A stonewall is of each rank alone, as IOR's without its collective option, which can hang (hpc/ior#210). The bytes of all ranks
//!   are counted; IOR's `Stonewall(MiB)` is one task's mean.
//! * After a stonewall without wear-out each rank's data are read as far as they were written.
//! * `reorder = "node"` is refused on one node, where IOR silently reads each rank's own file again.
//! * `reorder = "shuffle"` is a permutation, so each file is read once; IOR's `-Z` leaves some out (hpc/ior#500).
//! * Clocks (b) and (c) come after IOR's own: an fsync by each rank, then a syncfs on each node.

mod files;
mod order;
mod rank;

use std::path::Path;

pub use order::source;
pub use params::SharedSpec;
pub use params::shared::{Layout, Reorder, Test};

use crate::group::{Group, run_as_threads};
use crate::{Error, Observer, Outcome, Workload};
use params::Parameters;

/// Most ranks that are threads.
pub(crate) const MOST_THREADS: u32 = 1024;

impl Workload for SharedSpec {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn dirs(&self) -> Vec<&Path> {
        vec![&self.dir]
    }

    fn writes(&self) -> bool {
        self.test.writes()
    }

    /// Runs it with threads as ranks.
    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error> {
        self.validate()?;
        refuse_threads(self.ranks)?;
        run_as_threads(self.ranks, observer, &|group, observer| {
            run_rank(self, group, observer)
        })
    }
}

/// Refuses more threads than are of use.
pub(crate) fn refuse_threads(ranks: u32) -> Result<(), Error> {
    if ranks <= MOST_THREADS {
        return Ok(());
    }
    let reason = format!("threads are at most {MOST_THREADS}; use processes (--executor mpi)");
    Err(crate::error::bad("ranks", ranks, reason))
}

/// Runs the part of one rank: at rank 0 the outcome of all, elsewhere none.
///
/// # Errors
/// Parameters that cannot be used, and everything that stops this rank.
pub fn run_rank(
    spec: &SharedSpec,
    group: &dyn Group,
    observer: &dyn Observer,
) -> Result<Option<Outcome>, Error> {
    rank::run(spec, group, observer)
}

/// Removes what a run that was killed has left. To be called when no rank is at work any more.
pub fn remove_leftovers(spec: &SharedSpec) {
    if !spec.test.writes() || spec.keep {
        return;
    }
    for rank in 0..spec.ranks {
        let path = files::Files::new(spec, rank).path(rank);
        if let Err(error) = crate::remove::remove(&path) {
            tracing::warn!("{error}");
        }
    }
}

#[cfg(test)]
mod tests;
