//! Figures of a trace between two moments: what the block layer did during a phase.
//!
//! A trace of a trial holds several phases, and a comparison is of one phase with another. So the
//! figures that a record keeps are gathered window by window, in one pass for all of them. Times are
//! those of the records (CLOCK_MONOTONIC, as `probe` and `workload` take theirs), not counted from the
//! first event. An interval belongs to the window in which it ends, a request to that in which it was
//! issued, the depth to every window it reaches into.
//!
//! What a bio carries is best known from its place on the device: only a journal's thread and the META flag say it in the
//! trace, and ext4 writes its inode tables, bitmaps and maps back through the device's page cache, by
//! a flusher thread and without that flag. A caller that knows the filesystem's map passes it as [`Places`].

mod tally;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::BTreeMap;

use tally::Tally;
use watch::Watch;

use super::Kind;
use crate::error::Error;
use crate::pipeline;
use crate::trace::Trace;

/// A stretch of time, nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From here.
    pub begin_ns: u64,
    /// To here.
    pub end_ns: u64,
}

impl Window {
    fn holds(&self, time: u64) -> bool {
        (self.begin_ns..=self.end_ns).contains(&time)
    }

    /// Nanoseconds of `from..to` that are in it.
    fn share(&self, from: u64, to: u64) -> u64 {
        to.min(self.end_ns).saturating_sub(from.max(self.begin_ns))
    }
}

/// What is where on the traced device, in sectors of 512 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// First sector, sector after the last, and what is there; by rising sectors, apart.
    regions: Vec<(u64, u64, Kind)>,
    /// What is elsewhere; none: known from the trace alone.
    elsewhere: Option<Kind>,
}

impl Places {
    /// Of regions in any order; where two overlap the one that begins first counts. `elsewhere` is for
    /// maps that are whole: then what is in no region is known, too.
    pub fn new(mut regions: Vec<(u64, u64, Kind)>, elsewhere: Option<Kind>) -> Places {
        regions.sort_unstable();
        let mut all: Vec<(u64, u64, Kind)> = Vec::with_capacity(regions.len());
        for (begin, end, kind) in regions {
            let begin = all.last().map_or(begin, |last| begin.max(last.1));
            match all.last_mut() {
                _ if begin >= end => {}
                Some(last) if last.1 == begin && last.2 == kind => last.1 = end,
                _ => all.push((begin, end, kind)),
            }
        }
        Places {
            regions: all,
            elsewhere,
        }
    }

    fn at(&self, sector: u64) -> Option<Kind> {
        let after = self.regions.partition_point(|region| region.0 <= sector);
        let region = self.regions.get(after.checked_sub(1)?)?;
        (sector < region.1).then_some(region.2)
    }
}

/// Figures by name (docs/metrics.md, "Block traces"): counts, bytes, seconds and shares. A mean or a
/// share of nothing is left out.
pub type Figures = BTreeMap<&'static str, f64>;

/// The figures of each window.
///
/// # Errors
/// A trace that is damaged.
pub fn figures(
    trace: &mut Trace,
    windows: &[Window],
    places: &Places,
) -> Result<Vec<Figures>, Error> {
    let mut watch = Watch::new(windows, places);
    pipeline::each(trace, |_, event| {
        watch.event(event);
        Ok(())
    })?;
    Ok(watch.tallies.iter().map(Tally::figures).collect())
}
