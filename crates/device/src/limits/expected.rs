//! What follows from a disk's figures without a simulation.

use crate::array::Level;
use crate::catalogue::Catalogue;
use crate::file::{self, Error, Kind};

/// Addresses of the mean over uniform pairs, along each axis.
const STEPS: u32 = 600;
/// Bytes of a random read.
const BLOCK: f64 = 4096.0;
/// Bytes of a write in order.
const WRITE: f64 = 262_144.0;

/// What formulas give for a device; none where no formula is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// Sustained rates at the start, in the middle and at the end, bytes a second.
    pub sequential: Option<[f64; 3]>,
    /// A random read of 4 KiB alone, ms: command, mean seek over uniform addresses, half a turn, transfer.
    pub random_read_ms: Option<f64>,
    /// By how many times 32 random reads at once are faster than one: least and most of disks that turn as fast.
    pub gain: Option<[f64; 2]>,
    /// Writes of 256 KiB in order to the medium, one at a time, bytes a second: the bytes, and the turn that is lost.
    pub ordered_writes: Option<f64>,
}

/// What formulas give for a device: a disk, or disks striped without anything before them.
///
/// # Errors
/// There is no device of this name.
pub fn expected(catalogue: &Catalogue, name: &str) -> Result<Expected, Error> {
    let device = catalogue.device(name)?;
    if device.controller.is_some() || device.link.is_some() {
        return Ok(Expected::default());
    }
    match &device.kind {
        Kind::Disk(disk) => Ok(of_disk(disk)),
        Kind::Array(array) if array.level == Level::Raid0 => {
            // Of members that differ the slowest decides, and that depends on where it is read.
            let [only] = &array.members[..] else {
                return Ok(Expected::default());
            };
            let member = expected(catalogue, &only.name)?;
            let together = |rates: [f64; 3]| rates.map(|rate| rate * only.count as f64);
            Ok(Expected {
                sequential: member.sequential.map(together),
                // Each member has all radii, as the whole has.
                random_read_ms: member.random_read_ms,
                gain: None,
                ordered_writes: None,
            })
        }
        Kind::Ssd(ssd) => Ok(of_ssd(ssd)),
        Kind::Array(_) => Ok(Expected::default()),
    }
}

/// A page takes its time once for a third of them, and its steps once and three times for the other two.
fn of_ssd(ssd: &file::Ssd) -> Expected {
    let sensing = ssd.read + ssd.read_step * 4.0 / 3.0;
    let moving = BLOCK * 1e6 * (1.0 / ssd.channel + 1.0 / ssd.link);
    Expected {
        random_read_ms: Some((ssd.read_firmware + sensing + moving) / 1e3),
        ..Expected::default()
    }
}

/// What shortest positioning first gains among 32 random reads (Worthington, Ganger and Patt 1994) depends on how much of a read is a
/// turn: these are the ranges of the drives of each speed.
fn gain(rpm: f64, queue: usize) -> Option<[f64; 2]> {
    if queue < 32 {
        return None;
    }
    match rpm as u32 {
        15_000 => Some([2.3, 2.6]),
        10_000 => Some([2.5, 2.9]),
        7200 => Some([2.0, 2.5]),
        _ => None,
    }
}

fn of_disk(disk: &file::Disk) -> Expected {
    let geometry = file::geometry(disk, 1.0, 0.0);
    let seek = file::seek(disk, &geometry, 1.0);
    let turn = geometry.turn();
    let rate_at = |byte: u64| {
        let near = 1 << 20;
        let from = byte.min(disk.capacity.saturating_sub(near));
        let reading = geometry.reading(geometry.radius(from), geometry.radius(from + near));
        near as f64 * 1e9 / reading
    };
    let radii: Vec<f64> = (0..STEPS)
        .map(|step| {
            let share = (f64::from(step) + 0.5) / f64::from(STEPS);
            geometry.radius((disk.capacity as f64 * share) as u64)
        })
        .collect();
    let (mut seeks, mut transfer) = (0.0, 0.0);
    for a in &radii {
        for b in &radii {
            seeks += seek.time((a - b).abs(), false);
        }
    }
    for step in 0..64 {
        transfer += BLOCK * 1e9 / rate_at(disk.capacity / 64 * step);
    }
    let mean_seek = seeks / f64::from(STEPS * STEPS);
    let read = disk.command * 1e6 + mean_seek + turn / 2.0 + transfer / 64.0;
    let outer = rate_at(0);
    Expected {
        sequential: Some([outer, rate_at(disk.capacity / 2), rate_at(disk.capacity)]),
        random_read_ms: Some(read / 1e6),
        gain: gain(disk.rpm, disk.queue),
        ordered_writes: Some(WRITE * 1e9 / (WRITE * 1e9 / outer + turn)),
    }
}
