//! What a workload needs from its caller: a receiver of its reports, and cold caches.

use std::io;
use std::path::Path;

use crate::phase::{Evidence, PhaseReport};

/// Progress of a phase. Sent at most ten times a second, never from inside the timed loop.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The phase, in snake case.
    pub phase: String,
    /// Bytes done in this phase.
    pub bytes: u64,
    /// Bytes to do in this phase.
    pub bytes_total: u64,
    /// Steps (records, files, runs) done in the whole workload.
    pub steps: u64,
    /// Steps to do in the whole workload.
    pub steps_total: u64,
}

/// The surroundings of a running workload. All methods have do-nothing defaults, so the unit
/// struct [`Silent`] is the test double.
pub trait Observer: Sync {
    /// Called just before a phase's preparation ends and its clock starts.
    fn phase_started(&self, _name: &str) {}
    /// Called after the phase's last clock has stopped.
    fn phase_finished(&self, _phase: &PhaseReport) {}
    /// Called when a phase has written `files` and closed them, before the fsync of clock (b): the
    /// one moment at which it shows what the filesystem has put off. What it takes is left out of
    /// clocks (b) and (c); what the disk writes meanwhile is not, so it has to be short.
    fn written(&self, _phase: &str, _files: &[&Path]) {}
    /// See [`Progress`].
    fn progress(&self, _progress: &Progress) {}
    /// Makes the caches cold and proves it for `files` (a sample of the working set; may be
    /// empty). The default does nothing, and its evidence states that.
    fn drop_caches(&self, _files: &[&Path]) -> io::Result<Evidence> {
        Ok(Evidence {
            name: "cold_cache".into(),
            holds: None,
            detail: "the caches cannot be dropped here".into(),
        })
    }
    /// Really unmounts and mounts the filesystem under the workload, which has no file open; the
    /// evidence (`cold_cache`) describes what was done. The default cannot: [`io::ErrorKind::Unsupported`],
    /// and the workload drops caches instead, with a warning.
    fn remount(&self) -> io::Result<Evidence> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the filesystem cannot be unmounted here",
        ))
    }
    /// Whether the run should stop: the workload then returns `Error::Interrupted` soon.
    fn cancelled(&self) -> bool {
        false
    }
}

/// No observer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
