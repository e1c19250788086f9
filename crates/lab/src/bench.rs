//! One workload alone, in a directory that is there: `fslab bench`.

use std::io;
use std::path::Path;

use workload::{Observer, Outcome, Progress, throughput, tree};

use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::observer::cold;
use crate::preflight;
use crate::watch::Watcher;

struct BenchObserver<'a> {
    dir: &'a Path,
    watcher: &'a dyn Watcher,
    interrupt: &'a Interrupt,
}

impl Observer for BenchObserver<'_> {
    fn phase_started(&self, name: &str) {
        self.watcher.phase(name);
    }

    fn progress(&self, progress: &Progress) {
        self.watcher.progress(progress);
    }

    fn drop_caches(&self, files: &[&Path]) -> io::Result<workload::Evidence> {
        rig::cache::drop_and_prove(self.dir, files, &[])
            .map(|proof| cold(&proof))
            .map_err(io::Error::other)
    }

    fn cancelled(&self) -> bool {
        self.interrupt.is_raised()
    }
}

impl<'a> BenchObserver<'a> {
    /// Refuses a directory that is not there before anything runs in it.
    fn new(
        dir: &'a Path,
        watcher: &'a dyn Watcher,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Error> {
        preflight::directory(dir)?;
        Ok(BenchObserver {
            dir,
            watcher,
            interrupt,
        })
    }
}

/// Runs `throughput`.
///
/// # Errors
/// Options that cannot be used, and whatever stops the workload.
pub fn throughput(
    options: &throughput::Options,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Outcome, Error> {
    let observer = BenchObserver::new(&options.dir, watcher, interrupt)?;
    Ok(throughput::run(options, &observer)?)
}

/// Runs `tree`.
///
/// # Errors
/// Options that cannot be used, and whatever stops the workload.
pub fn tree(
    options: &tree::Options,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Outcome, Error> {
    let observer = BenchObserver::new(&options.dir, watcher, interrupt)?;
    Ok(tree::run(options, &observer)?)
}
