//! The state machine: each event moves the I/Os it concerns one step on.
//!
//! btt's rules (its trace_*.c): a get, an insertion, a merge or a sleep concerns the outstanding bio
//! that contains its first sector; an issue and a completion concern every bio that is entirely
//! within them; a completion releases them. Requests without bytes and passthrough requests are left
//! out. Each interval is counted for the whole, for the device and for the process that queued.

use std::ops::RangeInclusive;

use super::average::{Averages, Interval, delta};
use super::device::{Device, Io, NEVER, q2d_class};
use super::files::Files;
use super::live::Live;
use super::options::{Options, Stacked};
use super::process::Processes;
use super::range::Regions;
use crate::analysis::Extra;
use crate::file::Event;
use crate::record::{self, CGROUP, Category, Head, Notify};

/// The major number of md, which the kernel's list of devices keeps for it alone.
const MD: u32 = 9;

/// Sizes in sectors that are counted one by one.
pub(crate) const SIZES: usize = 1025;

pub(crate) struct Engine {
    pub(crate) options: Options,
    pub(crate) devices: Vec<Device>,
    pub(crate) processes: Processes,
    pub(crate) all: Averages,
    last_queue: Option<u64>,
    pub(crate) regions: Regions,
    pub(crate) live: Live,
    pub(crate) queue_sizes: Vec<u64>,
    pub(crate) issue_sizes: Vec<u64>,
    pub(crate) extra: Extra,
    pub(crate) files: Option<Box<Files>>,
    done: Vec<((u64, u64), Io)>,
    limit: u64,
    /// Devices that are in files of periods of work.
    levels: usize,
    /// Times that count, ns.
    window: RangeInclusive<u64>,
}

impl Engine {
    pub(crate) fn new(options: Options, files: Option<Box<Files>>) -> Engine {
        let mut live = Live::default();
        live.log_to(files.as_ref().and_then(|files| files.live(false)));
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        Engine {
            limit: ns(options.range_seconds),
            window: options.from_seconds.map_or(0, ns)..=options.to_seconds.map_or(u64::MAX, ns),
            options,
            levels: 0,
            devices: Vec::new(),
            processes: Processes::default(),
            all: Averages::default(),
            last_queue: None,
            regions: Regions::default(),
            live,
            queue_sizes: vec![0; SIZES],
            issue_sizes: vec![0; SIZES],
            extra: Extra::default(),
            files,
            done: Vec::new(),
        }
    }

    /// Takes an event of a file; `time` is ns from the first one of all.
    #[inline]
    pub(crate) fn event(&mut self, file: usize, event: &Event<'_>, time: u64) {
        let mut head = event.head;
        if head.has(Category::Notify) {
            return self.note(event, time);
        }
        if !self.window.contains(&time) {
            return;
        }
        self.extra.sequence(file, &head, time);
        // Neither blkparse nor btt sees an event without a category.
        if head.action >> 16 == 0 || head.has(Category::Passthrough) {
            self.extra.skipped(&head);
            return;
        }
        if self.options.as_btt && head.action & CGROUP != 0 {
            return;
        }
        head.action &= !CGROUP;
        head.time = time;
        self.extra.at(time);
        if let Some(files) = &mut self.files {
            files.tick(time);
        }
        match head.action & 0xffff {
            1 => self.queue(&head),
            2 | 3 => self.merge(&head),
            4 | 5 | 12 => self.step(&head),
            6 => self.requeue(&head),
            7 => self.issue(&head),
            8 => self.complete(&head),
            9 => {
                if let Some(device) = self.find(head.device) {
                    self.devices[device].plugs.plug(time);
                }
            }
            code @ (10 | 11) => self.unplug(code, &head, event),
            13 if !self.options.as_btt => self.split(&head, event),
            15 => self.remap(&head, event),
            _ => {}
        }
    }

    #[cold]
    fn note(&mut self, event: &Event<'_>, time: u64) {
        match event.head.note() {
            Some(Notify::Process) => {
                self.processes.learn(event);
                self.extra.learn(event);
            }
            Some(Notify::Message) => {
                let head = Head { time, ..event.head };
                if let Some(device) = self.enter(&head, false)
                    && let Some(files) = &mut self.files
                {
                    files.message(&self.devices[device], time, event.payload());
                }
            }
            _ => {}
        }
    }

    #[inline]
    fn find(&self, number: u32) -> Option<usize> {
        self.devices
            .iter()
            .position(|device| device.number == number)
    }

    /// The device of an event, made known if it was not; none before its first queueing.
    #[inline]
    fn enter(&mut self, head: &Head, begins: bool) -> Option<usize> {
        let at = match self.find(head.device) {
            Some(at) => at,
            None => self.meet(head),
        };
        let device = &mut self.devices[at];
        if device.culling {
            if !begins {
                return None;
            }
            device.culling = false;
        }
        device.end = head.time;
        Some(at)
    }

    #[cold]
    fn meet(&mut self, head: &Head) -> usize {
        let stacked = match &self.options.stacked {
            Stacked::ByMajor => matches!(head.device >> 20, 9 | 253 | 254),
            Stacked::These(devices) => head.device >> 20 == MD || devices.contains(&head.device),
        };
        self.devices
            .push(Device::new(head.device, stacked, head.time));
        let at = self.devices.len() - 1;
        if let Some(files) = &mut self.files {
            files.meet(head.device);
            let asked = &self.options.devices;
            if asked.is_empty() || asked.contains(&head.device) {
                self.devices[at].live.log_to(files.live(true));
            }
        }
        at
    }

    /// Counts an interval everywhere.
    #[inline]
    fn count(&mut self, interval: Interval, device: usize, io: &Io, sample: u64) {
        self.all.add(interval, sample);
        self.devices[device].averages.add(interval, sample);
        self.processes.list[io.process as usize]
            .averages
            .add(interval, sample);
        self.extra.interval(interval, io.action, sample);
    }

    fn queue(&mut self, head: &Head) {
        if head.bytes == 0 {
            return;
        }
        let Some(at) = self.enter(head, true) else {
            return;
        };
        let process = self.processes.find(head.pid);
        let io = Io {
            end: head.end(),
            queued: head.time,
            got: NEVER,
            inserted: NEVER,
            merged: NEVER,
            slept: NEVER,
            issued: NEVER,
            request: (0, 0),
            process,
            action: head.action,
        };
        let device = &mut self.devices[at];
        device.keep(head.sector, io);
        let seek = device
            .q2q
            .add(head.sector, head.end(), self.options.absolute_seeks);
        if let Some(files) = &mut self.files {
            files.seek(at, false, head, seek);
        }
        let interval = if device.stacked {
            Interval::Q2QDm
        } else {
            self.queue_sizes[size_class(head.bytes)] += 1;
            Interval::Q2Q
        };
        if let Some(sample) = since(&mut device.last_queue, head.time) {
            device.averages.add(interval, sample);
        }
        device.regions.queue(head.time, self.limit);
        device.queued += 1;
        device.active_sum += device.active;
        device.active += 1;
        if let Some(sample) = since(&mut self.last_queue, head.time) {
            self.all.add(interval, sample);
            self.extra.interval(interval, head.action, sample);
        }
        self.regions.queue(head.time, self.limit);
        let process = &mut self.processes.list[process as usize];
        if let Some(sample) = since(&mut process.last_queue, head.time) {
            process.averages.add(interval, sample);
        }
        process.regions.queue(head.time, self.limit);
        self.extra.queue(head);
    }

    /// A get, a sleep or an insertion.
    #[inline]
    fn step(&mut self, head: &Head) {
        if head.bytes == 0 {
            return;
        }
        let Some(at) = self.enter(head, false) else {
            return;
        };
        self.processes.find(head.pid);
        let (code, time) = (head.action & 0xffff, head.time);
        if let Some(files) = &mut self.files
            && code == 4
        {
            files.got(at, time);
        }
        let Some(io) = self.devices[at].containing(head.sector) else {
            return;
        };
        let before = *io;
        match code {
            4 => {
                io.got = time;
                self.count(Interval::Q2G, at, &before, delta(before.queued, time));
                if before.slept != NEVER {
                    self.count(Interval::S2G, at, &before, delta(before.slept, time));
                }
            }
            5 => io.slept = time,
            _ => {
                io.inserted = time;
                if before.got != NEVER {
                    self.count(Interval::G2I, at, &before, delta(before.got, time));
                }
            }
        }
    }

    fn merge(&mut self, head: &Head) {
        if head.bytes == 0 {
            return;
        }
        let Some(at) = self.enter(head, false) else {
            return;
        };
        self.processes.find(head.pid);
        let device = &mut self.devices[at];
        device.active = device.active.saturating_sub(1);
        if let Some(files) = &mut self.files {
            files.merged(at, head);
        }
        if let Some(io) = device.containing(head.sector) {
            io.merged = head.time;
            let io = *io;
            self.count(Interval::Q2M, at, &io, delta(io.queued, head.time));
        }
        self.extra.merge(head);
    }

    fn requeue(&mut self, head: &Head) {
        if let Some(at) = self.enter(head, false) {
            let device = &mut self.devices[at];
            device.queued += 1;
            device.active += 1;
        }
        self.extra.requeue(head);
    }

    fn issue(&mut self, head: &Head) {
        if head.bytes == 0 {
            return;
        }
        let Some(at) = self.enter(head, false) else {
            return;
        };
        self.processes.find(head.pid);
        let device = &mut self.devices[at];
        device.active = device.active.saturating_sub(1);
        let seek = device
            .d2d
            .add(head.sector, head.end(), self.options.absolute_seeks);
        device.issued += 1;
        if !device.stacked {
            self.issue_sizes[size_class(head.bytes)] += 1;
        }
        if let Some(files) = &mut self.files {
            files.seek(at, true, head, seek);
            files.issued(at, head);
        }
        self.extra.issue(head);
        let mut ios = std::mem::take(&mut self.done);
        if head.end() > head.sector {
            let inside = (head.sector, 0)..(head.end(), 0);
            for (&place, io) in device.ios.range_mut(inside) {
                if io.end <= head.end() {
                    device.q2d[q2d_class(head.time.wrapping_sub(io.queued))] += 1;
                    ios.push((place, *io));
                    io.issued = head.time;
                    io.request = (head.sector, head.sectors());
                }
            }
        }
        for (_, io) in ios.drain(..) {
            if io.inserted != NEVER {
                self.count(Interval::I2D, at, &io, delta(io.inserted, head.time));
            } else if io.merged != NEVER {
                self.count(Interval::M2D, at, &io, delta(io.merged, head.time));
            }
            let q2d = delta(io.queued, head.time);
            self.count(Interval::Q2D, at, &io, q2d);
            if let Some(files) = &mut self.files {
                files.q2d(at, head.time, q2d);
            }
        }
        self.done = ios;
    }

    fn complete(&mut self, head: &Head) {
        if head.bytes == 0 {
            return;
        }
        let Some(at) = self.enter(head, false) else {
            return;
        };
        let process = self.processes.find(head.pid) as usize;
        let device = &mut self.devices[at];
        device.blocks.add(u64::from(head.sectors()));
        device.regions.complete(head.time, self.limit);
        self.regions.complete(head.time, self.limit);
        self.processes.list[process]
            .regions
            .complete(head.time, self.limit);
        self.extra.complete(head);
        if let Some(files) = &mut self.files {
            files.completed(at, head);
        }
        let mut ios = std::mem::take(&mut self.done);
        if head.end() > head.sector {
            let inside = device.ios.range((head.sector, 0)..(head.end(), 0));
            ios.extend(
                inside
                    .filter(|(_, io)| io.end <= head.end())
                    .map(|(&place, &io)| (place, io)),
            );
        }
        for (place, _) in &ios {
            device.ios.remove(place);
        }
        for (place, io) in ios.drain(..) {
            let bio = (head.device, place);
            self.extra.chains.end(bio, io.queued, head.time);
            self.end_of(at, place.0, &io, head);
        }
        self.done = ios;
    }

    /// A bio that is completed.
    fn end_of(&mut self, at: usize, sector: u64, io: &Io, head: &Head) {
        let q2c = delta(io.queued, head.time);
        let interval = if self.devices[at].stacked {
            Interval::Q2CDm
        } else {
            Interval::Q2C
        };
        self.count(interval, at, io, q2c);
        let mut d2c = None;
        if io.issued != NEVER {
            let sample = delta(io.issued, head.time);
            d2c = Some(sample);
            self.count(Interval::D2C, at, io, sample);
            if io.issued <= head.time {
                let live = &mut self.devices[at].live;
                self.levels += usize::from(live.stand(self.levels + 1));
                live.add(io.issued, head.time);
                self.live.add(io.issued, head.time);
            }
        }
        self.extra.end(head.time, d2c);
        if let Some(files) = &mut self.files {
            files.end(at, sector, io, head, q2c, d2c);
        }
    }

    fn unplug(&mut self, code: u32, head: &Head, event: &Event<'_>) {
        let requests = record::number(event.payload()).unwrap_or_default();
        let Some(at) = self.find(head.device) else {
            return;
        };
        let plugs = &mut self.devices[at].plugs;
        if code == 10 {
            plugs.unplug(head.time, requests);
        } else {
            plugs.unplug_by_timer(head.time, requests);
        }
        if let Some(files) = &mut self.files {
            files.unplugged(at, code, requests);
        }
    }

    /// A bio becomes two, each with its own request.
    fn split(&mut self, head: &Head, event: &Event<'_>) {
        if let (Some(at), Some(middle)) = (self.find(head.device), record::number(event.payload()))
        {
            self.devices[at].split(head.sector, middle);
        }
    }

    fn remap(&mut self, head: &Head, event: &Event<'_>) {
        let Some(remapped) = record::remap(event.payload()) else {
            return;
        };
        let lower = Head {
            device: remapped.to,
            ..*head
        };
        self.extra.remap(remapped.from, remapped.to);
        let upper = self.find(remapped.from);
        let above = upper.and_then(|upper| self.devices[upper].place_of(remapped.sector));
        let above = above.map(|(place, queued)| ((remapped.from, place), queued));
        self.extra.chains.remap(head, &remapped, above);
        if self.options.ignore_remaps {
            return;
        }
        if self.enter(&lower, true).is_none() {
            return;
        }
        self.processes.find(head.pid);
        let Some(upper) = self.find(remapped.from) else {
            return;
        };
        let device = &mut self.devices[upper];
        let stacked = device.stacked;
        if let Some(io) = device.containing(remapped.sector) {
            let io = *io;
            let interval = if stacked {
                Interval::Q2ADm
            } else {
                Interval::Q2A
            };
            self.count(interval, upper, &io, delta(io.queued, head.time));
        }
    }
}

/// The class of a size: sectors less one, the last for all above.
#[inline]
fn size_class(bytes: u32) -> usize {
    ((bytes >> 9).saturating_sub(1) as usize).min(SIZES - 1)
}

/// The time since the last queueing, and keeps this one's.
#[inline]
fn since(last: &mut Option<u64>, time: u64) -> Option<u64> {
    let before = last.replace(time)?;
    Some(delta(before, time))
}
