//! How long a plan will take and how much disk it needs, before it runs.
//!
//! An estimate from assumed rates, printed as such: its use is to tell minutes from hours, and
//! whether the folder has room.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::footprint::{self, Footprint};
use crate::model::{Cell, Plan};

/// What the target is assumed to do. The default is a plain NVMe disk of a virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Bytes a second, sequential, read or written.
    pub bytes_per_s: f64,
    /// Bytes a second in random order, records of some 256 KiB.
    pub random_bytes_per_s: f64,
    /// Small files a second created, read, looked up or removed.
    pub files_per_s: f64,
    /// Seconds of one wait for all data to reach the disk.
    pub sync_seconds: f64,
    /// Seconds to discard, make, mount, unmount and account for one trial.
    pub trial_seconds: f64,
}

impl Default for Rates {
    fn default() -> Self {
        Rates {
            bytes_per_s: 900e6,
            random_bytes_per_s: 600e6,
            files_per_s: 40_000.0,
            sync_seconds: 0.02,
            trial_seconds: 0.5,
        }
    }
}

/// What a plan is expected to cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Wall seconds of the whole run.
    pub seconds: f64,
    /// Most bytes on disk at one time: one trial's filesystem.
    pub disk_bytes_peak: u64,
    /// Bytes written over the whole run.
    pub bytes_written: u64,
    /// The rates assumed.
    pub rates: Rates,
}

/// Estimates a plan. One trial has its filesystem on disk at a time.
pub fn estimate(plan: &Plan, rates: Rates) -> Estimate {
    let footprints: Vec<Footprint> = plan
        .cells
        .iter()
        .map(|c| footprint::of(&c.workload))
        .collect();
    let mut runs: BTreeMap<usize, f64> = BTreeMap::new();
    for slot in &plan.slots {
        *runs.entry(slot.cell as usize).or_default() += 1.0;
    }
    let mut total = Estimate {
        seconds: 0.0,
        disk_bytes_peak: 0,
        bytes_written: 0,
        rates,
    };
    for (index, (cell, footprint)) in plan.cells.iter().zip(&footprints).enumerate() {
        let runs = runs.get(&index).copied().unwrap_or(0.0);
        total.seconds += runs * seconds(footprint, rates);
        let own = own_bytes(cell);
        let written = footprint.written + footprint.written_randomly + own;
        total.bytes_written = total.bytes_written.saturating_add((runs * written) as u64);
        total.disk_bytes_peak = total.disk_bytes_peak.max((footprint.peak + own) as u64);
    }
    total
}

fn seconds(footprint: &Footprint, rates: Rates) -> f64 {
    (footprint.written + footprint.read) / rates.bytes_per_s
        + (footprint.written_randomly + footprint.read_randomly) / rates.random_bytes_per_s
        + footprint.files / rates.files_per_s
        + footprint.syncs * rates.sync_seconds
        + footprint.rest
        + rates.trial_seconds
}

/// The filesystem's own structures, at most: 2 % of the device for inode tables and bitmaps, and
/// 64 MiB for a log (XFS's smallest, and a small ext4's journal).
fn own_bytes(cell: &Cell) -> f64 {
    const SHARE: f64 = 0.02;
    const LOG: f64 = 67_108_864.0;
    cell.device.size.get() as f64 * SHARE + LOG
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, Study, plan};

    fn cost(blocks: u32, filter: &[&str]) -> Estimate {
        let overrides = Overrides {
            profile: Some("paper".into()),
            blocks: Some(blocks),
            filter: filter.iter().map(|&text| text.to_owned()).collect(),
            ..Overrides::default()
        };
        let study = Study::load("journal").unwrap();
        estimate(&plan(&study, &overrides).unwrap(), Rates::default())
    }

    #[test]
    fn one_cell_by_hand() {
        // 8 x 2 GiB: four sequential passes at 900 MB/s, two random ones at 600 MB/s, 8 files at
        // 40,000/s, 8 syncs of 0.02 s and rests of 2 s, 0.5 s around it.
        let gib16 = (16_u64 << 30) as f64;
        let by_hand = 4.0 * gib16 / 900e6 + 2.0 * gib16 / 600e6 + 0.0002 + 8.0 * 2.02 + 0.5;
        let cost = cost(1, &["filesystem=ext4", "threads=8"]);
        assert!((cost.seconds - by_hand).abs() < 1e-6, "{cost:?} {by_hand}");
        let own = 0.02 * (20_u64 << 30) as f64 + (64_u64 << 20) as f64;
        assert_eq!(cost.disk_bytes_peak, (gib16 + own) as u64);
        assert_eq!(cost.bytes_written, (3.0 * gib16 + own) as u64);
    }

    #[test]
    fn time_and_bytes_grow_with_the_blocks_and_the_peak_does_not() {
        let (one, four) = (cost(1, &[]), cost(4, &[]));
        assert!((four.seconds / one.seconds - 4.0).abs() < 1e-9);
        assert!((four.bytes_written as f64 / one.bytes_written as f64 - 4.0).abs() < 1e-6);
        assert_eq!(four.disk_bytes_peak, one.disk_bytes_peak);
    }
}
