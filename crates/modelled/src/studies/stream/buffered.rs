//! A reader through the page cache, with the readahead of Linux 2.6.
//!
//! A window is read ahead of the reader. A reader that meets the mark in a window (its first page once windows have grown) asks for the
//! next one. Bios end where the stripe below ends, and each is waited for by itself. `plug = "2.6"`: what was asked for stays in
//! the plugged queue until the reader has to wait, or a queue holds four requests (`unplug_thresh`); since 2.6.39 a task's own
//! plug goes out when it is done asking (`plug = "none"`).

use std::collections::VecDeque;

use device::Op;
use serde::Deserialize;

use super::super::host::Host;
use super::{DEEPEST, FAR, LARGEST, MANY, Sizes, size};

/// Members that a stripe goes over, at most.
const MOST_MEMBERS: u64 = 4096;

/// Rates at which a reader copies, MiB a second.
const COPY: std::ops::RangeInclusive<f64> = 1.0..=1e9;

/// Requests in a plugged queue that open it.
const UNPLUG: usize = 4;

/// See [`super::Stream::Buffered`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Buffered {
    /// Size of the file or of the part of the device that is read in order.
    #[serde(deserialize_with = "size")]
    run: u64,
    /// Distance of one such part to the next.
    #[serde(deserialize_with = "size")]
    every: u64,
    /// Parts that are simulated.
    runs: u64,
    /// Parts that there are: processor time is for all of them.
    of: u64,
    /// First byte.
    #[serde(deserialize_with = "size")]
    start: u64,
    /// Bytes of a read call.
    #[serde(deserialize_with = "size")]
    record: u64,
    /// Largest window.
    #[serde(deserialize_with = "size")]
    readahead: u64,
    plug: Plug,
    /// Stripe of the device, at which bios end, and how many members it goes over.
    #[serde(deserialize_with = "size")]
    stripe: u64,
    members: u64,
    /// Rate at which the reader copies, MiB a second; none where the processor time says it.
    copy: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Plug {
    #[serde(rename = "2.6")]
    Old,
    #[serde(rename = "none")]
    None,
}

/// A bio: where, and its number in the device once it has gone out.
struct Piece {
    offset: u64,
    end: u64,
    tag: Option<u64>,
}

/// The windows of a part that is read.
struct Window {
    end: u64,
    mark: u64,
    len: u64,
}

impl Buffered {
    pub(super) fn is_sequential(&self) -> bool {
        self.runs == 1 || self.run >= self.every
    }

    pub(super) fn sizes(&self) -> Sizes {
        vec![
            ("run", self.run, self.every),
            ("every", self.every, FAR),
            ("runs", self.runs, self.of),
            ("of", self.of, MANY),
            ("record", self.record, LARGEST),
            ("readahead", self.readahead, LARGEST),
            ("stripe", self.stripe, FAR),
            ("members", self.members, MOST_MEMBERS),
        ]
    }

    /// What of it cannot be, besides numbers that are out of range.
    pub(super) fn problem(&self) -> Option<String> {
        if self.readahead.div_ceil(self.stripe) > DEEPEST {
            return Some(format!(
                "`stripe`: a window has more than {DEEPEST} of them"
            ));
        }
        let copy = self.copy.filter(|rate| !COPY.contains(rate));
        copy.map(|rate| format!("`copy`: {rate} is not a rate of 1 MiB a second or more"))
    }

    /// Bios that are simulated, at most.
    pub(super) fn requests(&self) -> u64 {
        // They end at stripes and at windows, of which the first ones may be as small as four records.
        let bios = self.run.div_ceil(self.stripe) + self.run.div_ceil(self.readahead) + 64;
        self.runs.saturating_mul(bios)
    }

    /// Bytes that are read.
    pub(super) fn bytes(&self) -> u64 {
        self.runs.saturating_mul(self.run)
    }

    pub(super) fn end(&self) -> Option<u64> {
        let last = self
            .runs
            .saturating_sub(1)
            .checked_mul(self.spread()?)?
            .checked_add(self.start)?;
        last.checked_add(self.run)
    }

    /// Parts that are simulated are spread evenly over all.
    fn spread(&self) -> Option<u64> {
        (self.of / self.runs.max(1)).max(1).checked_mul(self.every)
    }

    pub(super) fn run(&self, host: &mut Host, cpu: f64) -> u64 {
        let all = self.of.max(1) as f64 * self.run as f64;
        let per_byte = cpu / all
            + self
                .copy
                .map_or(0.0, |rate| 1e9 / (rate * f64::from(1 << 20)));
        let spread = self.spread().unwrap_or(self.every);
        for run in 0..self.runs {
            self.read(host, self.start + run * spread, per_byte);
        }
        self.runs * self.run
    }

    /// Reads one part in order.
    fn read(&self, host: &mut Host, begin: u64, per_byte: f64) {
        let end = begin + self.run;
        let first = self.first_window();
        let mut window = Window {
            end: (begin + first).min(end),
            // The first page after what was asked for; the first of all where more was asked for than a window holds.
            mark: if self.record < first {
                begin + self.record
            } else {
                begin
            },
            len: first,
        };
        let mut pieces = VecDeque::new();
        self.add(&mut pieces, begin, window.end);
        send(host, &mut pieces);
        let mut at = begin;
        while at < end {
            if at >= window.mark && window.end < end {
                let len = self.grown(window.len);
                let to = (window.end + len).min(end);
                self.add(&mut pieces, window.end, to);
                window = Window {
                    mark: window.end,
                    end: to,
                    len,
                };
                if self.plug == Plug::None || self.is_full(&pieces) {
                    send(host, &mut pieces);
                }
            }
            let Some(piece) = pieces.front() else {
                return;
            };
            let piece_end = piece.end;
            let until = piece_end.min(if at < window.mark { window.mark } else { end });
            if piece.tag.is_none_or(|tag| !host.is_done(tag)) {
                send(host, &mut pieces);
                if let Some(tag) = pieces.front().and_then(|piece| piece.tag) {
                    host.wait(tag);
                }
            }
            let step = until - at;
            host.compute(step as f64 * per_byte);
            at += step;
            if at >= piece_end {
                pieces.pop_front();
            }
        }
    }

    /// Linux 2.6.23 and later (`get_init_ra_size`): twice or four times what was asked for.
    fn first_window(&self) -> u64 {
        let asked = self.record.next_power_of_two();
        if asked <= self.readahead / 32 {
            asked * 4
        } else if asked <= self.readahead / 4 {
            asked * 2
        } else {
            self.readahead
        }
    }

    /// `get_next_ra_size`.
    fn grown(&self, len: u64) -> u64 {
        let factor = if len < self.readahead / 16 { 4 } else { 2 };
        (len * factor).min(self.readahead)
    }

    /// Bios of a range, which end at the stripe.
    fn add(&self, pieces: &mut VecDeque<Piece>, from: u64, to: u64) {
        let mut offset = from;
        while offset < to {
            let end = ((offset / self.stripe + 1) * self.stripe).min(to);
            pieces.push_back(Piece {
                offset,
                end,
                tag: None,
            });
            offset = end;
        }
    }

    /// Whether a queue of a member holds enough requests to be opened.
    fn is_full(&self, pieces: &VecDeque<Piece>) -> bool {
        let mut counts = vec![0; self.members.max(1) as usize];
        for piece in pieces.iter().rev().take_while(|piece| piece.tag.is_none()) {
            counts[(piece.offset / self.stripe % self.members.max(1)) as usize] += 1;
        }
        counts.iter().any(|count| *count >= UNPLUG)
    }
}

/// Sends what was not yet sent.
fn send(host: &mut Host, pieces: &mut VecDeque<Piece>) {
    let waiting = pieces.iter().rev().take_while(|piece| piece.tag.is_none());
    let from = pieces.len() - waiting.count();
    for piece in pieces.range_mut(from..) {
        piece.tag = Some(host.submit(Op::Read, piece.offset, piece.end - piece.offset));
    }
}
