//! The events as they come: bios on their way, requests in the hands of the driver.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::super::Kind;
use super::super::process::is_journal;
use super::tally::Tally;
use super::{Places, Window};
use crate::file::Event;
use crate::record::{Action, Category, Head, Notify};

/// Bios that are followed at once; of more, completions are lost or were never traced.
const FOLLOWED: usize = 200_000;

/// A bio on its way.
#[derive(Clone, Copy, Debug)]
struct Bio {
    end: u64,
    queued: u64,
    /// Sectors that are not completed.
    left: u64,
    kind: Kind,
}

/// A request in the hands of the driver.
#[derive(Clone, Copy, Debug)]
struct Flight {
    end: u64,
    issued: u64,
}

/// The request that was issued last.
#[derive(Clone, Copy, Debug)]
struct Last {
    end: u64,
    kind: Kind,
    time: u64,
}

/// One pass over a trace, for all windows.
pub(super) struct Watch<'a> {
    places: &'a Places,
    journals: FxHashMap<u32, bool>,
    /// By first sector, and by number where several begin there.
    bios: BTreeMap<(u64, u64), Bio>,
    number: u64,
    longest: u64,
    flying: FxHashMap<u64, Flight>,
    last: Option<Last>,
    /// Up to when the depth is counted.
    now: u64,
    pub(super) tallies: Vec<Tally>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(windows: &[Window], places: &'a Places) -> Watch<'a> {
        Watch {
            places,
            journals: FxHashMap::default(),
            bios: BTreeMap::new(),
            number: 0,
            longest: 0,
            flying: FxHashMap::default(),
            last: None,
            now: 0,
            tallies: windows.iter().map(|window| Tally::new(*window)).collect(),
        }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) {
        let head = &event.head;
        if head.has(Category::Notify) {
            if head.note() == Some(Notify::Process) {
                let name = event
                    .pdu
                    .split(|&byte| byte == 0)
                    .next()
                    .unwrap_or_default();
                let journal = is_journal(&String::from_utf8_lossy(name));
                self.journals.entry(head.pid).or_insert(journal);
            }
            return;
        }
        self.each(head.time, |tally| tally.events += 1);
        let odd = head.has(Category::Passthrough) || head.has(Category::Discard);
        if odd {
            return;
        }
        match head.kind() {
            Some(Action::Queue) => self.queue(head),
            Some(Action::BackMerge | Action::FrontMerge) => {
                self.each(head.time, |tally| tally.merges += 1);
            }
            Some(Action::Issue) => self.issue(head),
            Some(Action::Requeue) => {
                self.advance(head.time);
                self.flying.remove(&head.sector);
            }
            Some(Action::Complete) => self.complete(head),
            _ => {}
        }
    }

    /// The windows that hold a time.
    fn each(&mut self, time: u64, mut add: impl FnMut(&mut Tally)) {
        for tally in &mut self.tallies {
            if tally.window.holds(time) {
                add(tally);
            }
        }
    }

    /// Counts the depth up to here.
    fn advance(&mut self, time: u64) {
        let (from, depth) = (self.now, self.flying.len() as u64);
        self.now = from.max(time);
        if depth == 0 {
            return;
        }
        for tally in &mut self.tallies {
            let ns = tally.window.share(from, time);
            tally.busy_ns += ns;
            tally.depth_ns += u128::from(ns) * u128::from(depth);
        }
    }

    fn kind(&self, head: &Head) -> Kind {
        if let Some(kind) = self.places.at(head.sector) {
            return kind;
        }
        if self.journals.get(&head.pid) == Some(&true) {
            Kind::Journal
        } else if head.has(Category::Meta) {
            Kind::Metadata
        } else {
            self.places.elsewhere.unwrap_or(Kind::Data)
        }
    }

    fn queue(&mut self, head: &Head) {
        let flush = head.has(Category::Flush);
        self.each(head.time, |tally| tally.flushes += u64::from(flush));
        if head.bytes == 0 {
            return;
        }
        let kind = self.kind(head);
        let bytes = u64::from(head.bytes);
        self.each(head.time, |tally| {
            tally.bios += 1;
            tally.kinds[kind as usize] += bytes;
        });
        if self.bios.len() >= FOLLOWED {
            self.bios.clear();
        }
        let sectors = u64::from(head.sectors());
        self.longest = self.longest.max(sectors);
        self.number += 1;
        let bio = Bio {
            end: head.end(),
            queued: head.time,
            left: sectors,
            kind,
        };
        self.bios.insert((head.sector, self.number), bio);
    }

    /// Bios that a request reaches into.
    fn within(&self, head: &Head) -> impl Iterator<Item = (&(u64, u64), &Bio)> {
        let from = head.sector.saturating_sub(self.longest);
        let sector = head.sector;
        self.bios
            .range((from, 0)..(head.end().max(from), 0))
            .filter(move |(_, bio)| bio.end > sector)
    }

    fn issue(&mut self, head: &Head) {
        if head.bytes == 0 {
            return;
        }
        let known = self.within(head).next().map(|(_, bio)| bio.kind);
        let kind = known.unwrap_or_else(|| self.kind(head));
        self.advance(head.time);
        let bytes = u64::from(head.bytes);
        let last = self.last.replace(Last {
            end: head.end(),
            kind,
            time: head.time,
        });
        self.each(head.time, |tally| {
            tally.requests += 1;
            tally.request_bytes += bytes;
            // The first of a window follows nothing.
            let Some(last) = last.filter(|last| tally.window.holds(last.time)) else {
                return;
            };
            let apart = last.end.abs_diff(head.sector);
            tally.pairs += 1;
            tally.sought += apart as f64 * 512.0;
            tally.touching += u64::from(apart == 0);
            let other = (last.kind == Kind::Data) != (kind == Kind::Data);
            tally.switches += u64::from(other && apart > 0);
        });
        if self.flying.len() >= FOLLOWED {
            self.flying.clear();
        }
        let flight = Flight {
            end: head.end(),
            issued: head.time,
        };
        self.flying.insert(head.sector, flight);
    }

    fn complete(&mut self, head: &Head) {
        if head.bytes == 0 {
            return;
        }
        self.advance(head.time);
        if let Some(flight) = self.flying.remove(&head.sector) {
            if head.end() < flight.end {
                self.flying.insert(head.end(), flight);
            } else {
                let ns = head.time.saturating_sub(flight.issued);
                self.each(head.time, |tally| tally.d2c.add(ns));
            }
        }
        let (begin, end) = (head.sector, head.end());
        let reached: Vec<(u64, u64)> = self.within(head).map(|(place, _)| *place).collect();
        for place in reached {
            let Some(bio) = self.bios.get_mut(&place) else {
                continue;
            };
            let done = bio.end.min(end) - place.0.max(begin);
            bio.left = bio.left.saturating_sub(done);
            if bio.left == 0 {
                let ns = head.time.saturating_sub(bio.queued);
                self.bios.remove(&place);
                self.each(head.time, |tally| tally.q2c.add(ns));
            }
        }
    }
}
