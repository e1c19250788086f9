//! What a workload needs from its caller: a receiver of its reports, and cold caches.

use std::io;
use std::path::Path;

use progress::{Progress, Silent};

use crate::phase::{Evidence, PhaseReport};

/// The surroundings of a running workload: its progress, its phases, and what only the owner of the filesystem can do.
/// All methods have defaults that do nothing, so [`Silent`] is an observer.
///
/// Progress is reported at most ten times a second and never from inside a timed loop. Steps are phases; their unit is a part
/// ([`progress::Unit::Parts`]) of the whole workload: a record, a file or a run. When [`Progress::cancelled`] is true, the
/// workload soon returns `Error::Interrupted`.
pub trait Observer: Progress {
    /// Called just before a phase's preparation ends and its clock starts.
    fn phase_started(&self, _name: &str) {}
    /// Called after the phase's last clock has stopped.
    fn phase_finished(&self, _phase: &PhaseReport) {}
    /// Called when a phase has written `files` and closed them, before the fsync of clock (b): the
    /// one moment at which it shows what the filesystem has put off. What it takes is left out of
    /// clocks (b) and (c); what the disk writes meanwhile is not, so it has to be short.
    fn written(&self, _phase: &str, _files: &[&Path]) {}
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
}

impl Observer for Silent {}
