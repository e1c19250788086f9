//! What is known of a device while its trace is read.

use std::collections::BTreeMap;

use super::average::{Average, Averages};
use super::live::Live;
use super::range::Regions;
use super::seek::Seeks;

/// A step that was not seen.
pub(crate) const NEVER: u64 = u64::MAX;

/// I/Os that are kept while their completion is awaited. Where completions are lost, or were never
/// traced, the oldest are given up.
const OUTSTANDING: usize = 200_000;

/// A bio between its queueing and its completion. Times in ns, [`NEVER`] where a step was not seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Io {
    pub(crate) end: u64,
    pub(crate) queued: u64,
    pub(crate) got: u64,
    pub(crate) inserted: u64,
    pub(crate) merged: u64,
    pub(crate) slept: u64,
    pub(crate) issued: u64,
    /// First sector and sectors of the request it was issued with.
    pub(crate) request: (u64, u32),
    /// btt's process.
    pub(crate) process: u32,
    pub(crate) action: u32,
}

/// Opening and closing of plugs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plugs {
    since: Option<u64>,
    pub(crate) unplugs: u64,
    pub(crate) timer_unplugs: u64,
    /// Seconds.
    pub(crate) plugged: f64,
    pub(crate) requests: u64,
    pub(crate) timer_requests: u64,
}

impl Plugs {
    pub(crate) fn plug(&mut self, time: u64) {
        self.since.get_or_insert(time);
    }

    pub(crate) fn unplug(&mut self, time: u64, requests: u64) {
        if self.close(time) {
            self.unplugs += 1;
            self.requests = self.requests.wrapping_add(requests);
        }
    }

    pub(crate) fn unplug_by_timer(&mut self, time: u64, requests: u64) {
        if self.close(time) {
            self.timer_unplugs += 1;
            self.timer_requests = self.timer_requests.wrapping_add(requests);
        }
    }

    /// Whether there was a plug.
    fn close(&mut self, time: u64) -> bool {
        let since = self.since.take();
        if let Some(since) = since {
            self.plugged += super::average::seconds(time) - super::average::seconds(since);
        }
        since.is_some()
    }

    /// Closes a plug that is still there at the end, as btt does before it prints.
    pub(crate) fn finish(&mut self, end: u64) {
        if self.unplugs > 0 {
            self.unplug(end, 0);
        }
    }
}

pub(crate) struct Device {
    pub(crate) number: u32,
    /// Whether it is stacked on others (md, dm).
    pub(crate) stacked: bool,
    /// Before its first queueing or remap nothing of it counts.
    pub(crate) culling: bool,
    pub(crate) ios: BTreeMap<(u64, u64), Io>,
    /// Numbers the I/Os, so that several may begin at one sector.
    serial: u64,
    pub(crate) forgotten: u64,
    pub(crate) averages: Averages,
    pub(crate) blocks: Average,
    pub(crate) last_queue: Option<u64>,
    pub(crate) queued: u64,
    pub(crate) issued: u64,
    /// Queued and neither merged nor issued, now and summed at each queueing.
    pub(crate) active: u64,
    pub(crate) active_sum: u64,
    pub(crate) q2q: Seeks,
    pub(crate) d2d: Seeks,
    pub(crate) regions: Regions,
    pub(crate) live: Live,
    pub(crate) plugs: Plugs,
    /// Times from queueing to issue in btt's ten classes.
    pub(crate) q2d: [u64; 10],
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Device {
    pub(crate) fn new(number: u32, stacked: bool, time: u64) -> Device {
        Device {
            number,
            stacked,
            culling: true,
            ios: BTreeMap::new(),
            serial: 0,
            forgotten: 0,
            averages: Averages::default(),
            blocks: Average::default(),
            last_queue: None,
            queued: 0,
            issued: 0,
            active: 0,
            active_sum: 0,
            q2q: Seeks::default(),
            d2d: Seeks::default(),
            regions: Regions::default(),
            live: Live::default(),
            plugs: Plugs::default(),
            q2d: [0; 10],
            start: time,
            end: time,
        }
    }

    /// The outstanding I/O that contains a sector: of several the one that begins last, and then the
    /// latest.
    #[inline]
    pub(crate) fn containing(&mut self, sector: u64) -> Option<&mut Io> {
        let mut before = self.ios.range_mut(..=(sector, u64::MAX)).rev().take(4);
        before.find_map(|(_, io)| (sector < io.end).then_some(io))
    }

    /// The place of the outstanding I/O that contains a sector, and when it was queued.
    pub(crate) fn place_of(&self, sector: u64) -> Option<((u64, u64), u64)> {
        let mut before = self.ios.range(..=(sector, u64::MAX)).rev().take(4);
        before.find_map(|(&place, io)| (sector < io.end).then_some((place, io.queued)))
    }

    /// Parts the outstanding I/O that contains a sector at another one.
    pub(crate) fn split(&mut self, sector: u64, middle: u64) {
        let Some((place, _)) = self.place_of(sector) else {
            return;
        };
        let Some(io) = self.ios.get_mut(&place) else {
            return;
        };
        if place.0 < middle && middle < io.end {
            let rest = *io;
            io.end = middle;
            self.keep(middle, rest);
        }
    }

    /// Bios, raised to the requests where requests were put back or bios split, as btt has it.
    pub(crate) fn raised(&self) -> u64 {
        if self.queued > 0 {
            self.queued.max(self.issued)
        } else {
            0
        }
    }

    /// Keeps an I/O until its completion.
    #[inline]
    pub(crate) fn keep(&mut self, sector: u64, io: Io) {
        if self.ios.len() >= OUTSTANDING {
            self.forget();
        }
        self.serial += 1;
        self.ios.insert((sector, self.serial), io);
    }

    /// Gives up the older half of the outstanding I/Os.
    #[cold]
    fn forget(&mut self) {
        let mut times: Vec<u64> = self.ios.values().map(|io| io.queued).collect();
        let middle = times.len() / 2;
        let (_, &mut median, _) = times.select_nth_unstable(middle);
        let before = self.ios.len();
        self.ios.retain(|_, io| io.queued > median);
        self.forgotten += (before - self.ios.len()) as u64;
    }

    pub(crate) fn numbers(&self) -> (u32, u32) {
        (self.number >> 20, self.number & 0xf_ffff)
    }
}

/// btt's class of a time from queueing to issue.
#[inline]
pub(crate) fn q2d_class(ns: u64) -> usize {
    let millis = (super::average::seconds(ns) / 0.001) as u64;
    match millis {
        0..=4 => 0,
        5..=9 => 1,
        10..=24 => 2,
        25..=49 => 3,
        50..=74 => 4,
        75..=99 => 5,
        100..=249 => 6,
        250..=499 => 7,
        500..=999 => 8,
        _ => 9,
    }
}
