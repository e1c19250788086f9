//! How long a plan will take and how much disk it needs, before it runs.
//!
//! Without a probe the rates are assumed, and the plan says so: such an estimate distinguishes minutes
//! from hours, and shows whether the folder has room. With a probe ([`Plan::measured`]) each cell has
//! the rates of its own filesystem and device.

use std::collections::{BTreeMap, BTreeSet};

use device::{Catalogue, Variation};
use serde::{Deserialize, Serialize};

use crate::footprint::{self, Footprint};
use crate::forged;
use crate::limit::Limit;
use crate::model::{Cell, Plan, Stack, VariantCosts};
use crate::units::Bytes;

/// What the target is assumed to do. The default is a plain NVMe disk of a virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Bytes a second, read sequentially.
    pub bytes_per_s: f64,
    /// Bytes a second, written sequentially.
    pub written_per_s: f64,
    /// Bytes a second, read in random order, records of some 256 KiB.
    pub random_bytes_per_s: f64,
    /// Bytes a second, written in random order, records of some 256 KiB.
    #[serde(default = "randomly_written_per_s")]
    pub randomly_written_per_s: f64,
    /// Small files a second created, read, looked up or removed.
    pub files_per_s: f64,
    /// Seconds of one small read.
    #[serde(default = "request_seconds")]
    pub request_seconds: f64,
    /// Seconds of one wait for all data to reach the disk.
    pub sync_seconds: f64,
    /// Seconds to discard, make, mount, unmount and account for one trial.
    pub trial_seconds: f64,
}

/// Of an NVMe disk.
fn request_seconds() -> f64 {
    1e-4
}

/// Of an NVMe disk.
fn randomly_written_per_s() -> f64 {
    600e6
}

impl Default for Rates {
    fn default() -> Self {
        Rates {
            bytes_per_s: 900e6,
            written_per_s: 900e6,
            random_bytes_per_s: 600e6,
            randomly_written_per_s: randomly_written_per_s(),
            files_per_s: 40_000.0,
            request_seconds: request_seconds(),
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
    /// The rates assumed where none were measured.
    pub rates: Rates,
    /// Whether the time is from a probe of the target.
    pub measured: bool,
}

impl Rates {
    /// The rates of a variant: measured where there is a measurement, else as assumed.
    fn of(self, costs: Option<&VariantCosts>) -> Rates {
        /// Seconds of the lab itself: contexts, telemetry, the log.
        const OWN: f64 = 0.1;
        let Some(costs) = costs else {
            return self;
        };
        let trial_seconds = costs.trial_seconds() + OWN;
        let Some(rates) = costs.rates else {
            return Rates {
                trial_seconds,
                ..self
            };
        };
        let random = self.random_bytes_per_s / self.bytes_per_s * rates.read.min(rates.write);
        Rates {
            bytes_per_s: rates.read,
            written_per_s: rates.write,
            random_bytes_per_s: random,
            randomly_written_per_s: random,
            files_per_s: rates.files,
            request_seconds: self.request_seconds,
            sync_seconds: rates.fsync,
            trial_seconds,
        }
    }
}

/// Wall seconds of one trial of each cell, in the order of the cells.
pub fn of_cells(plan: &Plan, rates: Rates) -> Vec<f64> {
    let disks = Disks::of(plan);
    let of = |cell: &Cell| {
        let footprint = footprint::of_cell(cell);
        let costs = plan.measured.as_ref().and_then(|all| all.of_cell(cell.id));
        let rates = rates.of(costs);
        let rates = match costs.and_then(|costs| costs.rates.as_ref()) {
            // They were measured on the modelled disk.
            Some(_) => rates,
            None => disks.hold(cell, rates),
        };
        seconds(&footprint, cell, rates) + check_seconds(&footprint, cell, rates)
    };
    plan.cells.iter().map(of).collect()
}

/// Estimates a plan. One trial has its filesystem on disk at a time.
pub fn estimate(plan: &Plan, rates: Rates) -> Estimate {
    let footprints: Vec<Footprint> = plan.cells.iter().map(footprint::of_cell).collect();
    let mut runs: BTreeMap<usize, f64> = BTreeMap::new();
    for slot in &plan.slots {
        *runs.entry(slot.cell as usize).or_default() += 1.0;
    }
    let mut total = Estimate {
        seconds: reference_seconds(plan) + forging_seconds(plan),
        disk_bytes_peak: 0,
        bytes_written: 0,
        rates,
        measured: plan.measured.is_some(),
    };
    let each = of_cells(plan, rates);
    for (index, (cell, footprint)) in plan.cells.iter().zip(&footprints).enumerate() {
        let runs = runs.get(&index).copied().unwrap_or(0.0);
        total.seconds += runs * each.get(index).copied().unwrap_or(0.0);
        let own = own_bytes(cell);
        let written = footprint.written + footprint.written_randomly + own;
        let times = cell.device.stack.as_ref().map_or(1.0, Stack::amplification);
        total.bytes_written = total
            .bytes_written
            .saturating_add((runs * written * times) as u64);
        let peak = (footprint.peak + own) * times;
        total.disk_bytes_peak = total.disk_bytes_peak.max(peak as u64);
    }
    total
}

fn seconds(footprint: &Footprint, cell: &Cell, rates: Rates) -> f64 {
    let rates = held(rates, cell.device.limit.unwrap_or_default());
    footprint.written / rates.write
        + footprint.read / rates.read
        + footprint.written_randomly / rates.random_write
        + footprint.read_randomly / rates.random_read
        + footprint.files / rates.files
        + footprint.requests * rates.request
        + footprint.syncs * rates.sync
        + footprint.rest
        + rates.trial
}

/// What the modelled disks of a plan can do, by name.
struct Disks(BTreeMap<String, device::Limits>);

impl Disks {
    fn of(plan: &Plan) -> Disks {
        let catalogue = match &plan.devices_file {
            Some(text) => Catalogue::with("the devices file", text),
            None => Catalogue::shipped(),
        };
        let names = plan.cells.iter().filter_map(|cell| cell.device.model());
        let names: BTreeSet<&str> = names.map(|model| model.device.as_str()).collect();
        let limits = |name: &&str| {
            let model = || {
                catalogue
                    .as_ref()
                    .ok()?
                    .model(name, Variation::Nominal)
                    .ok()
            };
            device::limits(|| model().ok_or(())).ok()
        };
        let all = names.iter();
        Disks(
            all.filter_map(|name| Some(((*name).to_owned(), limits(name)?)))
                .collect(),
        )
    }

    /// Rates as far as the modelled disk of the cell lets them.
    fn hold(&self, cell: &Cell, rates: Rates) -> Rates {
        let model = cell.device.model();
        let Some(limits) = model.and_then(|model| self.0.get(&model.device)) else {
            return rates;
        };
        let (read, write) = (limits.random_read_ms / 1e3, limits.random_write_ms / 1e3);
        let (reading, writing) = (limits.sequential[0], limits.sequential_writes);
        // A write cache answers a write at once, and later costs what a read of the same place does; parity costs more.
        let at_random = |each: f64, rate: f64| REQUEST / (each + REQUEST / rate);
        Rates {
            bytes_per_s: rates.bytes_per_s.min(reading),
            written_per_s: rates.written_per_s.min(writing),
            random_bytes_per_s: rates.random_bytes_per_s.min(at_random(read, reading)),
            randomly_written_per_s: rates
                .randomly_written_per_s
                .min(at_random(read.max(write), writing)),
            sync_seconds: rates.sync_seconds.max(read.max(write)),
            request_seconds: rates.request_seconds.max(read),
            ..rates
        }
    }
}

/// Bytes of a request in sequence and at random; a small file costs about one write.
const REQUEST: f64 = 262_144.0;

/// Rates of one cell: the assumed ones, as far as its limit lets them.
struct Held {
    read: f64,
    write: f64,
    random_read: f64,
    random_write: f64,
    files: f64,
    /// Seconds of one small read.
    request: f64,
    sync: f64,
    trial: f64,
}

fn held(rates: Rates, limit: Limit) -> Held {
    let rate = |bytes: Option<Bytes>, operations: Option<u64>| {
        let bytes = bytes.map_or(f64::INFINITY, |n| n.get() as f64);
        bytes.min(operations.map_or(f64::INFINITY, |n| n as f64 * REQUEST))
    };
    let (read, write) = (
        rate(limit.read, limit.read_iops),
        rate(limit.write, limit.write_iops),
    );
    let each = |iops: Option<u64>| iops.map_or(f64::INFINITY, |n| n as f64);
    let (reads, writes) = (each(limit.read_iops), each(limit.write_iops));
    Held {
        read: rates.bytes_per_s.min(read),
        write: rates.written_per_s.min(write),
        random_read: rates.random_bytes_per_s.min(read),
        random_write: rates.randomly_written_per_s.min(write),
        files: rates.files_per_s,
        request: rates.request_seconds.max(1.0 / reads),
        sync: rates.sync_seconds.max(1.0 / writes),
        trial: rates.trial_seconds,
    }
}

/// Seconds to forge each volume once.
fn forging_seconds(plan: &Plan) -> f64 {
    /// Inodes a second, of OCFS2, whose inodes are blocks, and of the others.
    const OCFS2: f64 = 60_000.0;
    const OTHERS: f64 = 300_000.0;
    let forged = plan.cells.iter().filter(|cell| cell.volume.is_forged());
    let mut images: Vec<&Cell> = Vec::new();
    for cell in forged {
        if !images.iter().any(|known| forged::same_image(known, cell)) {
            images.push(cell);
        }
    }
    let seconds = |cell: &Cell| {
        let ocfs2 = cell.filesystem.kind.family() == fskind::Family::Ocfs2;
        forged::inodes(cell) / if ocfs2 { OCFS2 } else { OTHERS }
    };
    images.into_iter().map(seconds).sum()
}

/// Seconds of a check: a start and an end, each file's inode and entry read, and the work on them.
fn check_seconds(footprint: &Footprint, cell: &Cell, rates: Rates) -> f64 {
    const START: f64 = 0.1;
    const FILES: f64 = 200_000.0;
    const METADATA: f64 = 1024.0;
    if cell.check.is_none() {
        return 0.0;
    }
    let rates = held(rates, cell.device.limit.unwrap_or_default());
    START + footprint.kept / FILES + footprint.kept * METADATA / rates.random_read
}

/// Seconds of the raw-device references before the run: of the disk under the images, and of an
/// image for each limit. Each reads five times through the cache and five times around it, three
/// where a read is kept short, and then as long at random.
fn reference_seconds(plan: &Plan) -> f64 {
    if plan.cells.iter().all(|cell| cell.device.is_modelled()) {
        // A model has no raw device below it to read.
        return 0.0;
    }
    let each = plan.reference_seconds;
    let mut limits: Vec<Option<Limit>> = plan.cells.iter().map(|c| c.device.limit).collect();
    limits.sort_by_key(|limit| limit.map(|limit| limit.to_string()));
    limits.dedup();
    let passes = if each < 1.0 { 3.0 } else { 5.0 };
    (1 + limits.len()) as f64 * (2.0 * passes + 1.0) * each
}

/// The filesystem's own structures, at most: 2 % of the device for inode tables and bitmaps, and
/// 64 MiB for a log (XFS's smallest, and a small ext4's journal).
fn own_bytes(cell: &Cell) -> f64 {
    const SHARE: f64 = 0.02;
    const LOG: f64 = 67_108_864.0;
    if cell.volume.is_forged() {
        // In the footprint.
        return 0.0;
    }
    cell.device.size.get() as f64 * SHARE + LOG
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, Study, plan};

    fn cost(blocks: u32, filter: &[&str]) -> Estimate {
        cost_with(blocks, filter, &["run.reference_seconds=0"])
    }

    fn cost_with(blocks: u32, filter: &[&str], set: &[&str]) -> Estimate {
        let overrides = Overrides {
            profile: Some("paper".into()),
            blocks: Some(blocks),
            set: set.iter().map(|&text| text.to_owned()).collect(),
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
    #[test]
    fn a_limit_a_check_and_a_reference_cost_time() {
        let filter = &["filesystem=ext4", "threads=1"];
        let plain = cost(1, filter);
        let with = |set: &str| {
            let cost = cost_with(1, filter, &["run.reference_seconds=0", set]);
            cost.seconds - plain.seconds
        };
        // 2 GiB through 64 MiB/s six times instead of four at 900 and two at 600 MB/s.
        let (all, slow) = ((2_u64 << 30) as f64, (64_u64 << 20) as f64);
        let by_hand = 6.0 * all / slow - 4.0 * all / 900e6 - 2.0 * all / 600e6;
        assert!((with("limit=64m") - by_hand).abs() < 1e-6);
        // 256 requests of 256 KiB a second are 64 MiB/s.
        assert!((with("limit='read_iops=256,write_iops=256'") - by_hand).abs() < 1.0);
        assert!((with("check.enabled=true") - 0.1).abs() < 0.01);
        // The disk and an image, 11 reads of each.
        assert!((with("run.reference_seconds=3") - 66.0).abs() < 1e-6);
    }

    #[test]
    fn a_modelled_disk_is_as_slow_as_its_model() {
        let filter = &["filesystem=ext4", "threads=1"];
        let on = |device: &str| cost_with(1, filter, &["run.reference_seconds=3", device]).seconds;
        let (one, four) = (on("device=model:7k500"), on("device=model:7k500x4"));
        // 2 GiB four times in order, at 64.8 MB/s at the outermost tracks, and twice in records of 256 KiB, each after 12.8 ms.
        let all = (2_u64 << 30) as f64;
        let by_hand = 6.0 * all / 64.8e6 + 2.0 * all / REQUEST * 12.8e-3;
        assert!((one / by_hand - 1.0).abs() < 0.05, "{one} {by_hand}");
        assert!(four < 0.8 * one, "{one} {four}");
        // Parity: a small write reads before it writes, so it takes longer than a read of the same disks.
        let (plain, parity) = (
            on("device=model:piszcz-raid0"),
            on("device=model:piszcz-raid5"),
        );
        assert!(parity > 1.1 * plain, "{plain} {parity}");
    }
}
