//! What a trace holds and what it lacks, as JSON beside its files (`<dev>.blktrace.json`).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Error;

/// Version of the JSON file.
pub const FORMAT: u32 = 1;

/// A device's trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: u32,
    /// `sda`.
    pub device: String,
    /// `8:0`.
    pub number: String,
    /// How the events were taken: `blk tracer`.
    pub way: String,
    /// Clock of the records' times: `mono`, CLOCK_MONOTONIC.
    pub clock: String,
    /// Kernel's release.
    pub kernel: String,
    /// Seconds of tracing.
    pub seconds: f64,
    /// Categories asked for, or `all`.
    pub actions: String,
    /// Bytes of the kernel's buffer for each CPU.
    pub buffer: u64,
    /// For each CPU.
    pub cpus: Vec<Cpu>,
    /// Events in the files, notes not among them.
    pub events: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Events lost, on all CPUs. Of all devices that were traced together: the kernel does not record whose.
    pub lost: u64,
    /// Whether `lost` may be other devices'.
    pub lost_is_shared: bool,
    /// Pages of the kernel's buffer that could not be read.
    pub broken_pages: u64,
    /// Whether an analysis has to be marked: events were lost or could not be read.
    pub degraded: bool,
    /// The files are on the device itself, so its trace includes their own writes.
    pub traces_itself: bool,
}

/// A CPU's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Its number.
    pub cpu: u32,
    /// Events in its file.
    pub events: u64,
    /// Bytes of its file.
    pub bytes: u64,
    /// Events lost in its buffer.
    pub lost: u64,
}

impl Summary {
    /// Share of the events that were lost, in percent.
    pub fn lost_percent(&self) -> f64 {
        let all = self.events + self.lost;
        if all == 0 {
            0.0
        } else {
            100.0 * self.lost as f64 / all as f64
        }
    }

    /// The path of a device's summary.
    pub fn path(dir: &Path, device: &str) -> PathBuf {
        dir.join(format!("{device}.blktrace.json"))
    }

    pub(super) fn write(&self, dir: &Path) -> Result<(), Error> {
        let path = Summary::path(dir, &self.device);
        let failed = |error| Error::output(&path, "cannot write the summary", error);
        let mut text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))?;
        text.push('\n');
        std::fs::write(&path, text).map_err(failed)
    }
}

/// Events that a CPU's buffer lost so far, by its `stats` file: overwritten ones, ones that came
/// while a writer was interrupted for a whole round, and ones that found the buffer full.
pub(super) fn lost(stats: &str) -> u64 {
    let of = |name: &str| {
        let line = stats
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|number| number.trim().parse::<u64>().ok())
            .unwrap_or(0)
    };
    of("overrun") + of("commit overrun") + of("dropped events")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_of_loss_count() {
        let stats = "entries: 5\noverrun: 10\ncommit overrun: 2\nbytes: 3\n\
            oldest event ts: 1.0\ndropped events: 30\nread events: 74\n";
        assert_eq!(lost(stats), 42);
        assert_eq!(lost(""), 0);
        assert_eq!(lost("overrun: x\n"), 0);
    }
}
