//! What each submission of a record waited for, found while its events pass.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use rustc_hash::FxHashMap;

use super::estimate::Structural;
use super::kept::{Keep, Kept};
use super::{Error, Recorded, Sender};
use crate::model::{Nanoseconds, Op};

/// Gaps up to this are always think time.
const SHORTEST_LIMIT: Nanoseconds = 1_000_000;
/// Completions that are remembered, because others than their process may have waited for them.
const RECENT: usize = 32;
/// Requests of kernel threads whose submission is remembered until they are done; their completions may be missing.
const MOST_AWAITED: usize = 1 << 16;

/// What is known of a record as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Requests.
    pub count: u32,
    /// The first request of each process, in order.
    pub starts: Vec<u32>,
    /// The longest gap that is think time: the larger of 1 ms and the 95th percentile of all gaps, within 0.1 %.
    pub think_limit: Nanoseconds,
    /// The byte after the last that was asked for.
    pub size: u64,
    /// How the errors of its results are correlated.
    pub structural: Structural,
    /// When the last request was done, since the first was submitted; none where completions are missing.
    pub recorded: Option<Nanoseconds>,
    /// Requests whose completion is not in the record.
    pub open: u64,
}

/// What is known of a process or a kernel thread while events pass.
#[derive(Clone, Copy, Default)]
struct Process {
    is_kernel: bool,
    /// Its last submission, and when that was.
    submitted: Option<(u32, Nanoseconds)>,
    /// Its last completion, until a submission comes after it; of a kernel thread the last that was waited for.
    completed: Option<Done>,
    in_flight: u32,
}

impl Process {
    /// It waits for something: the number is that of its last completion, and nothing of it is in flight.
    fn is_quiet_since(&self, number: u32) -> bool {
        self.in_flight == 0 && self.completed.is_some_and(|last| last.number == number)
    }
}

/// A request that is done.
#[derive(Clone, Copy)]
struct Done {
    number: u32,
    process: u32,
    submitted: Nanoseconds,
    at: Nanoseconds,
}

/// The last completions, the newest at the end.
#[derive(Default)]
struct Recent(VecDeque<Done>);

impl Recent {
    fn push(&mut self, done: Done) {
        if self.0.len() == RECENT {
            self.0.pop_front();
        }
        self.0.push_back(done);
    }

    /// The newest of which something holds.
    fn newest(&self, holds: impl Fn(&Done) -> bool) -> Option<Done> {
        self.0.iter().rev().find(|done| holds(done)).copied()
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What it does.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Whether it must be on the medium.
    pub fua: bool,
    /// Who sends it.
    pub sender: Sender,
}

/// Takes submissions and completions in the order of their times, and links requests as it puts them where they are kept.
///
/// A process waits for its own requests, and for those of kernel threads that were sent after it had come to rest: a process that
/// calls fsync waits for the journal's thread. A kernel thread waits for nothing by itself. What it sends for one that waits
/// follows the last completion of its own, of another kernel thread for one that waits, or of a process at rest; what none waits for
/// follows time.
///
/// Its memory is that of its processes: of requests it knows only how many are in flight, and when those of kernel threads that
/// are waited for were sent.
pub struct Linker<K> {
    keep: K,
    count: u32,
    first: Nanoseconds,
    now: Nanoseconds,
    in_flight: u32,
    processes: FxHashMap<u32, Process>,
    /// Completions of processes.
    recent: Recent,
    /// Completions of kernel threads that were waited for.
    served: Recent,
    /// What kernel threads have in flight that is waited for, and when they sent it.
    awaited: FxHashMap<u32, Nanoseconds>,
    starts: Vec<u32>,
    gaps: Histogram<u64>,
    size: u64,
    end: Nanoseconds,
    /// Where the last four requests ended.
    ends: VecDeque<(u32, u64)>,
    sequential: u64,
}

impl<K: Keep> Linker<K> {
    /// An empty record.
    pub fn new(keep: K) -> Linker<K> {
        Linker {
            keep,
            count: 0,
            first: 0,
            now: 0,
            in_flight: 0,
            processes: FxHashMap::default(),
            recent: Recent::default(),
            served: Recent::default(),
            awaited: FxHashMap::default(),
            starts: Vec::new(),
            gaps: super::response::times(),
            size: 0,
            end: 0,
            ends: VecDeque::new(),
            sequential: 0,
        }
    }

    /// A submission, and the number of the request. A time before that of the submission before counts as equal: an interrupt can
    /// exchange neighbours.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn submit(&mut self, process: u32, at: Nanoseconds, asked: Asked) -> Result<u32, Error> {
        let number = self.count;
        self.count = number.checked_add(1).ok_or(Error::TooMany)?;
        if number == 0 {
            self.first = at;
        }
        self.now = self.now.max(at);
        let reacts_to = self.waited_for(process, asked.sender);
        let before = self.sent(process, number, asked.sender);
        let gap = reacts_to.map(|done| self.now.saturating_sub(done.at));
        self.keep.push(Kept {
            submitted: self.now - self.first,
            op: asked.op,
            offset: asked.offset,
            len: asked.len,
            fua: asked.fua,
            depth: self.in_flight,
            gap,
            is_timed: asked.sender == Sender::Kernel,
            follows: before.is_some(),
            next: None,
            reaction: None,
            sibling: None,
        })?;
        match before {
            Some(before) => {
                let next = &mut |kept: &mut Kept| kept.next = Some(number);
                self.keep.change(before, next)?;
            }
            None => self.starts.push(number),
        }
        if let Some(done) = reacts_to {
            self.react(number, done.number)?;
        }
        if let Some(gap) = gap {
            self.gaps.saturating_record(gap.max(1));
        }
        self.in_flight += 1;
        let end = asked.offset.saturating_add(asked.len);
        let follows = self.ends.iter().any(|(_, end)| *end == asked.offset);
        self.sequential += u64::from(follows);
        if self.ends.len() == 4 {
            self.ends.pop_front();
        }
        self.ends.push_back((number, end));
        self.size = self.size.max(end);
        Ok(number)
    }

    /// The completion that a submission waited for.
    fn waited_for(&self, process: u32, sender: Sender) -> Option<Done> {
        let of = self.processes.get(&process).copied().unwrap_or_default();
        match sender {
            Sender::Kernel => None,
            Sender::Process => {
                // At rest since its own last completion, it may have waited for what a kernel thread sent after that.
                let rest = of.completed.filter(|_| of.in_flight == 0);
                let by_kernel =
                    rest.and_then(|own| self.served.newest(|done| done.submitted >= own.at));
                by_kernel.or(of.completed)
            }
            Sender::KernelAwaited => {
                let sent = of.submitted.map(|(_, at)| at);
                let waits = |done: &Done| {
                    let process = self.processes.get(&done.process);
                    process.is_some_and(|process| process.is_quiet_since(done.number))
                };
                let process = self.recent.newest(waits);
                let kernel = self.served.newest(|_| true);
                let all = [of.completed, kernel, process].into_iter().flatten();
                // What was done before its last submission was followed by that one.
                all.filter(|done| sent.is_none_or(|sent| done.at > sent))
                    .max_by_key(|done| done.at)
            }
        }
    }

    /// Notes a submission; returns the one before it of the same process.
    fn sent(&mut self, process: u32, number: u32, sender: Sender) -> Option<u32> {
        if sender == Sender::KernelAwaited && self.awaited.len() < MOST_AWAITED {
            self.awaited.insert(number, self.now);
        }
        let of = self.processes.entry(process).or_default();
        of.is_kernel = sender != Sender::Process;
        of.in_flight += 1;
        of.completed = None;
        let before = of.submitted.replace((number, self.now));
        before.map(|(number, _)| number)
    }

    /// Adds a request to those that wait for another.
    fn react(&mut self, number: u32, done: u32) -> Result<(), Error> {
        let mut other = None;
        self.keep.change(done, &mut |kept| {
            other = kept.reaction.replace(number);
        })?;
        if other.is_some() {
            let sibling = &mut |kept: &mut Kept| kept.sibling = other;
            self.keep.change(number, sibling)?;
        }
        Ok(())
    }

    /// More bytes at the end of a request that is in flight.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn extend(&mut self, number: u32, len: u64, fua: bool) -> Result<(), Error> {
        let mut end = 0;
        self.keep.change(number, &mut |kept| {
            kept.len = kept.len.saturating_add(len);
            kept.fua |= fua;
            end = kept.end();
        })?;
        self.size = self.size.max(end);
        for of in &mut self.ends {
            if of.0 == number {
                of.1 = end;
            }
        }
        Ok(())
    }

    /// A request of a process is done: once for each request.
    pub fn complete(&mut self, number: u32, process: u32, at: Nanoseconds) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.end = self.end.max(at);
        let awaited = self.awaited.remove(&number);
        let of = self.processes.entry(process).or_default();
        of.in_flight = of.in_flight.saturating_sub(1);
        let done = Done {
            number,
            process,
            submitted: awaited.unwrap_or(0),
            at,
        };
        if awaited.is_some() {
            of.completed = Some(done);
            self.served.push(done);
        } else if !of.is_kernel {
            of.completed = Some(done);
            self.recent.push(done);
        }
    }

    /// The record.
    pub fn finish(self) -> (K, Outline) {
        let gaps = self.gaps.len();
        let rank = (gaps * 95 / 100 + 1).min(gaps);
        let at_rank = self
            .gaps
            .value_at_quantile(rank as f64 / gaps.max(1) as f64);
        let all_done = self.in_flight == 0 && self.count > 0;
        let outline = Outline {
            count: self.count,
            starts: self.starts,
            think_limit: at_rank.max(SHORTEST_LIMIT),
            size: self.size,
            structural: Structural::of_count(self.sequential, u64::from(self.count)),
            recorded: all_done.then(|| self.end.saturating_sub(self.first)),
            open: u64::from(self.in_flight),
        };
        (self.keep, outline)
    }
}

/// The requests of a record in memory.
///
/// # Errors
/// The record is not in order.
pub fn linked(record: &[Recorded]) -> Result<(Vec<Kept>, Outline), Error> {
    let unordered = record
        .windows(2)
        .position(|pair| pair[1].submitted < pair[0].submitted);
    if let Some(before) = unordered {
        return Err(Error::OutOfOrder { index: before + 1 });
    }
    // A request is done after it was submitted, so that none depends on itself.
    let done = |(index, r): (usize, &Recorded)| {
        let at = r.completed?.max(r.submitted.saturating_add(1));
        Some((at, index as u32))
    };
    let mut ends: Vec<(Nanoseconds, u32)> = record.iter().enumerate().filter_map(done).collect();
    ends.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    let mut linker = Linker::new(Vec::with_capacity(record.len()));
    for request in record {
        while let Some((at, number)) = ends.next_if(|(at, _)| *at <= request.submitted) {
            linker.complete(number, record[number as usize].process, at);
        }
        let asked = Asked {
            op: request.op,
            offset: request.offset,
            len: request.len,
            fua: request.fua,
            sender: request.sender,
        };
        linker.submit(request.process, request.submitted, asked)?;
    }
    for (at, number) in ends {
        linker.complete(number, record[number as usize].process, at);
    }
    Ok(linker.finish())
}
