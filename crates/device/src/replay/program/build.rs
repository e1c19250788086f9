//! Finds what each step of a program follows, while its steps pass.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::super::engine::Error;
use super::super::estimate::Sequence;
use super::{Action, KeepSteps, Outline, Planned, Step};
use crate::model::Nanoseconds;

/// A thread as far as its steps have passed.
struct Thread {
    places: Range<u32>,
    /// How many have passed.
    passed: u32,
    /// When the last of them had ended, and its phase.
    ended: Nanoseconds,
    phase: usize,
}

/// A step, by its place, and when it had ended.
#[derive(Clone, Copy)]
struct Ended {
    place: u32,
    at: Nanoseconds,
}

/// Is given the steps of a program, in the order in which they began.
///
/// A step follows the step of its thread before it. The first of a thread, or of a thread in a phase, follows the last step of all before
/// it, and a step that comes after other threads have ended follows these too: it joined them. The first step of a
/// phase follows all before it.
pub struct Builder {
    threads: FxHashMap<u32, Thread>,
    count: u32,
    requests: usize,
    phase: usize,
    /// The step before.
    last: Ended,
    /// When the last of all before had ended.
    latest: Nanoseconds,
    /// The last steps of threads that have no others, until a step follows them.
    over: Vec<Ended>,
    sequence: Sequence,
    outline: Outline,
}

impl Builder {
    /// For threads with these numbers of steps, phases that began at these times, and a program that ended at `end`.
    ///
    /// # Errors
    /// There are more steps than numbers.
    pub fn new(
        counts: &BTreeMap<u32, u64>,
        phases: Vec<Nanoseconds>,
        end: Nanoseconds,
    ) -> Result<Builder, Error> {
        let mut threads = FxHashMap::default();
        let mut all = Vec::with_capacity(counts.len());
        let mut first = 0_u32;
        for (thread, count) in counts {
            let count = u32::try_from(*count).map_err(|_| Error::TooMany)?;
            let after = first.checked_add(count).ok_or(Error::TooMany)?;
            let places = first..after;
            all.push(places.clone());
            let (passed, ended, phase) = (0, 0, 0);
            threads.insert(
                *thread,
                Thread {
                    places,
                    passed,
                    ended,
                    phase,
                },
            );
            first = after;
        }
        Ok(Builder {
            threads,
            count: 0,
            requests: 0,
            phase: 0,
            last: Ended { place: 0, at: 0 },
            latest: 0,
            over: Vec::new(),
            sequence: Sequence::default(),
            outline: Outline {
                ended: vec![0; phases.len()],
                phases,
                end,
                threads: all,
                followers: FxHashMap::default(),
                follows: FxHashMap::default(),
                barriers: Vec::new(),
                furthest: (0, 0),
                structural: Sequence::default().structural(),
            },
        })
    }

    /// Takes the next step.
    ///
    /// # Errors
    /// It has no place: its thread was announced with fewer steps. Those of `keep`.
    pub fn add(&mut self, step: &Step, keep: &mut impl KeepSteps) -> Result<(), Error> {
        let phase = self.phase_at(step.began);
        let thread = self.threads.get_mut(&step.thread);
        let thread = thread.ok_or(Error::NoSuch(self.count))?;
        let place = thread.places.start + thread.passed;
        if place >= thread.places.end {
            return Err(Error::NoSuch(self.count));
        }
        let own = (thread.passed > 0).then_some((thread.ended, thread.phase));
        thread.passed += 1;
        (thread.ended, thread.phase) = (step.ended, phase);
        let is_over = place + 1 == thread.places.end;

        let latest = self.followed(step, place, phase, own);
        self.note(step, phase);
        let ended = Ended {
            place,
            at: step.ended,
        };
        if is_over {
            self.over.push(ended);
        }
        let planned = Planned {
            order: self.count,
            phase: phase as u16,
            gap: step.began.saturating_sub(latest),
            action: step.action,
        };
        self.last = ended;
        self.latest = self.latest.max(step.ended);
        self.phase = phase;
        self.count += 1;
        keep.put(place, planned)
    }

    /// Notes which steps a step follows; returns when the last of them had ended. `own` is of the step of its thread before it: when
    /// that had ended, and its phase.
    fn followed(
        &mut self,
        step: &Step,
        place: u32,
        phase: usize,
        own: Option<(Nanoseconds, usize)>,
    ) -> Nanoseconds {
        if self.count == 0 {
            return 0;
        }
        if phase != self.phase {
            self.outline.barriers.push((place, self.count));
            self.outline.follows.insert(place, 1);
            self.over.clear();
            return self.latest;
        }
        let mut others: Vec<Ended> = Vec::new();
        // Its own step before it needs no note, and is the last of all where no other thread came between.
        let is_own = own.is_some() && self.last.place + 1 == place;
        if own.is_none_or(|(_, before)| before != phase) && !is_own {
            others.push(self.last);
        }
        if own.is_some() {
            let joined = self.over.extract_if(.., |over| over.at <= step.began);
            others.extend(joined);
        }
        others.sort_unstable_by_key(|other| other.place);
        others.dedup_by_key(|other| other.place);
        if !others.is_empty() {
            self.outline.follows.insert(place, others.len() as u32);
        }
        for other in &others {
            let followers = self.outline.followers.entry(other.place);
            followers.or_default().push(place);
        }
        let others = others.iter().map(|other| other.at);
        others.chain(own.map(|own| own.0)).max().unwrap_or(0)
    }

    fn note(&mut self, step: &Step, phase: usize) {
        if let Some(ended) = self.outline.ended.get_mut(phase) {
            *ended = step.ended.max(*ended);
        }
        if let Action::Submit { offset, len, .. } = step.action {
            self.sequence.add(offset, u64::from(len));
            let end = offset.saturating_add(len.into());
            if end > self.outline.furthest.1 {
                self.outline.furthest = (self.requests, end);
            }
            self.requests += 1;
        }
    }

    fn phase_at(&self, time: Nanoseconds) -> usize {
        let begun = self.outline.phases.partition_point(|begin| *begin <= time);
        begun.saturating_sub(1)
    }

    /// What is known of the whole, after the last step.
    ///
    /// # Errors
    /// A thread was announced with more steps.
    pub fn finish(mut self) -> Result<Outline, Error> {
        let is_whole = |thread: &Thread| thread.places.start + thread.passed == thread.places.end;
        if !self.threads.values().all(is_whole) {
            return Err(Error::NoSuch(self.count));
        }
        self.outline.structural = self.sequence.structural();
        Ok(self.outline)
    }
}
