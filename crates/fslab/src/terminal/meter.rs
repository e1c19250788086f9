//! Counters of an operation, and the line that is made of them.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use progress::{Step, Unit};
use study::forecast::Forecast;

/// A share of all, in hundredths of a percent.
const ALL: u64 = 10_000;
/// A step that runs for less than this has no rate yet.
const SETTLED: Duration = Duration::from_millis(500);

/// Everything that was reported, as sums.
#[derive(Debug, Default)]
pub(super) struct Meter {
    names: Mutex<Names>,
    /// Amount of the whole operation; 0: not known.
    foreseen: AtomicU64,
    /// Amount that was announced so far.
    expected: AtomicU64,
    done: AtomicU64,
    /// Bytes, where the unit is another one.
    moved: AtomicU64,
    /// The largest share that was shown: what is found on the way may increase the total, but the shown share must not decrease.
    shown: AtomicU64,
}

/// What changes from step to step.
#[derive(Debug, Default)]
struct Names {
    trials: Option<Trials>,
    /// What the steps belong to: `filesystem=ext4: checking`.
    activity: String,
    /// When the whole amount became known.
    began: Option<Instant>,
    step: Option<Running>,
}

/// The current step.
#[derive(Debug)]
struct Running {
    step: Step,
    began: Instant,
    /// The counters when it began.
    expected: u64,
    done: u64,
    moved: u64,
}

/// How many trials of a run are over.
#[derive(Debug)]
struct Trials {
    all: usize,
    done: usize,
    began: Instant,
    /// When the last one ended.
    finished: Instant,
    forecast: Option<Foreseen>,
}

/// What the trials of a run are expected to take.
#[derive(Debug)]
struct Foreseen {
    forecast: Forecast,
    /// Cells of the trials that are not over, in running order.
    cells: VecDeque<u32>,
    /// The trial that runs: its cell, and when it began.
    current: Option<(u32, Instant)>,
}

/// The counters of the line: of the whole operation if that is known, otherwise of the step.
struct Counts {
    all: u64,
    /// Hundredths of a percent.
    share: u64,
    /// When it began.
    began: Instant,
    /// Done and moved in the step alone.
    done: u64,
    moved: u64,
}

impl Meter {
    /// A run of this many trials begins. One trial needs no position.
    pub(super) fn count_trials(&self, all: usize, now: Instant) {
        self.names().trials = (all > 1).then_some(Trials {
            all,
            done: 0,
            began: now,
            finished: now,
            forecast: None,
        });
    }

    /// The trials of these cells are to come.
    pub(super) fn forecast(&self, forecast: Forecast, cells: VecDeque<u32>, now: Instant) {
        if let Some(trials) = &mut self.names().trials {
            trials.finished = now;
            trials.forecast = Some(Foreseen {
                forecast,
                cells,
                current: None,
            });
        }
    }

    /// One more trial will run at the end.
    pub(super) fn trial_added(&self, cell: u32) {
        if let Some(trials) = &mut self.names().trials {
            trials.all += 1;
            if let Some(foreseen) = &mut trials.forecast {
                foreseen.cells.push_back(cell);
            }
        }
    }

    /// A trial begins. Those before it that never ran are over.
    pub(super) fn trial_began(&self, cell: u32, now: Instant) {
        let mut names = self.names();
        let foreseen = names
            .trials
            .as_mut()
            .and_then(|trials| trials.forecast.as_mut());
        if let Some(foreseen) = foreseen {
            let at = foreseen.cells.iter().position(|next| *next == cell);
            foreseen.cells.drain(..at.map_or(0, |at| at + 1));
            foreseen.current = Some((cell, now));
        }
    }

    /// A trial is over.
    pub(super) fn trial_over(&self, now: Instant) {
        if let Some(trials) = &mut self.names().trials {
            if let Some(foreseen) = &mut trials.forecast
                && let Some((cell, began)) = foreseen.current.take()
            {
                let seconds = now.saturating_duration_since(began).as_secs_f64();
                foreseen.forecast.ended(cell, seconds);
            }
            trials.done += 1;
            trials.finished = now;
        }
    }

    /// Another operation begins: nothing of the one before counts.
    pub(super) fn activity(&self, name: String) {
        let mut names = self.names();
        names.activity = name;
        (names.began, names.step) = (None, None);
        for counter in [
            &self.foreseen,
            &self.expected,
            &self.done,
            &self.moved,
            &self.shown,
        ] {
            counter.store(0, Relaxed);
        }
    }

    pub(super) fn begin(&self, step: Step, now: Instant) {
        let mut names = self.names();
        let amount = step.amount.unwrap_or(0);
        names.step = Some(Running {
            step,
            began: now,
            expected: self.expected.fetch_add(amount, Relaxed),
            done: self.done.load(Relaxed),
            moved: self.moved.load(Relaxed),
        });
        if self.foreseen.load(Relaxed) == 0 {
            self.shown.store(0, Relaxed);
        }
    }

    pub(super) fn foresee(&self, amount: u64, now: Instant) {
        self.names().began.get_or_insert(now);
        let done = self.done.load(Relaxed);
        self.foreseen.store(done.saturating_add(amount), Relaxed);
    }

    pub(super) fn expect(&self, amount: u64) {
        self.expected.fetch_add(amount, Relaxed);
    }

    pub(super) fn advance(&self, amount: u64) {
        self.done.fetch_add(amount, Relaxed);
    }

    pub(super) fn moved(&self, bytes: u64) {
        self.moved.fetch_add(bytes, Relaxed);
    }

    pub(super) fn end(&self) {
        self.names().step = None;
    }

    /// `[3/90, 12 min 5 s left] filesystem=ext4: fill: 42 %, 512.3 MiB/s, 3 s left`; empty while nothing is known.
    pub(super) fn line(&self, now: Instant) -> String {
        let names = self.names();
        if names.activity.is_empty() && names.step.is_none() {
            return String::new();
        }
        let mut line = names
            .trials
            .as_ref()
            .map_or(String::new(), |trials| trials.position(now));
        line.push_str(&names.activity);
        let Some(running) = &names.step else {
            return line;
        };
        // The only phase of a workload may have the workload's name.
        if names.activity.rsplit(": ").next() != Some(&*running.step.name) {
            let colon = if names.activity.is_empty() { "" } else { ": " };
            let _ = write!(line, "{colon}{}", running.step.name);
        }
        let counts = self.counts(&names, running);
        let elapsed = now.saturating_duration_since(running.began);
        let parts = [
            counts.share(&running.step.unit),
            counts.rate(&running.step.unit, elapsed),
            counts.left(&running.step.unit, elapsed, now),
        ];
        for (number, part) in parts.into_iter().flatten().enumerate() {
            let _ = write!(line, "{}{part}", if number == 0 { ": " } else { ", " });
        }
        line
    }

    fn counts(&self, names: &Names, running: &Running) -> Counts {
        let foreseen = self.foreseen.load(Relaxed);
        let (done, expected) = (self.done.load(Relaxed), self.expected.load(Relaxed));
        let of_step = done.saturating_sub(running.done);
        let (all, done, began) = if foreseen > 0 {
            let began = names.began.unwrap_or(running.began);
            (expected.max(foreseen), done, began)
        } else {
            let all = expected.saturating_sub(running.expected);
            (all, of_step, running.began)
        };
        let share = u128::from(done.min(all)) * u128::from(ALL) / u128::from(all.max(1));
        let share = share as u64;
        Counts {
            all,
            share: self.shown.fetch_max(share, Relaxed).max(share),
            began,
            done: of_step,
            moved: self.moved.load(Relaxed).saturating_sub(running.moved),
        }
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// `42 % of 1200 MiB`.
    fn share(&self, unit: &Unit) -> Option<String> {
        if self.all == 0 {
            return None;
        }
        let share = self.share * 100 / ALL;
        Some(match unit {
            Unit::Parts => format!("{share} %"),
            Unit::Bytes => format!("{share} % of {:.0} MiB", mebi(self.all)),
            Unit::Items(items) => format!("{share} % of {} {items}", self.all),
        })
    }

    /// `512.3 MiB/s`, `3.10 M/s`: of this step alone.
    fn rate(&self, unit: &Unit, elapsed: Duration) -> Option<String> {
        if elapsed < SETTLED {
            return None;
        }
        let bytes = if *unit == Unit::Bytes {
            self.done
        } else {
            self.moved
        };
        if bytes > 0 {
            return Some(format!("{:.1} MiB/s", mebi(bytes) / elapsed.as_secs_f64()));
        }
        let rate = self.done as f64 / elapsed.as_secs_f64();
        match unit {
            Unit::Items(_) if rate >= 1e4 => Some(format!("{:.2} M/s", rate / 1e6)),
            Unit::Items(items) if rate > 0.0 => Some(format!("{rate:.0} {items}/s")),
            _ => None,
        }
    }

    /// `3 s left`. By the rate of this step; parts of different steps take different times, so that theirs is the mean of all.
    fn left(&self, unit: &Unit, elapsed: Duration, now: Instant) -> Option<String> {
        if self.all == 0 || self.share >= ALL {
            return None;
        }
        let left = (ALL - self.share) as f64 / ALL as f64;
        let seconds = if *unit == Unit::Parts {
            let whole = now.saturating_duration_since(self.began);
            let known = whole >= SETTLED && self.share > ALL / 100;
            known.then(|| whole.as_secs_f64() * left / (1.0 - left))?
        } else {
            let known = elapsed >= SETTLED && self.done > 0;
            known.then(|| left * self.all as f64 / self.done as f64 * elapsed.as_secs_f64())?
        };
        Some(format!("{} left", words::clock_time(seconds)))
    }
}

impl Foreseen {
    /// Seconds of the trial that runs and of those to come.
    fn left(&self, now: Instant) -> f64 {
        let current = self.current.map_or(0.0, |(cell, began)| {
            let since = now.saturating_duration_since(began).as_secs_f64();
            (self.forecast.trial(cell) - since).max(0.0)
        });
        current + self.forecast.of_trials(self.cells.iter().copied())
    }
}

impl Trials {
    /// `[12/90, 5 min 3 s left] `: by the mean time of the trials that are over, less the time since the last one ended.
    fn position(&self, now: Instant) -> String {
        let mut text = format!("[{}/{}", (self.done + 1).min(self.all), self.all);
        if let Some(foreseen) = self.forecast.as_ref().filter(|_| self.done < self.all) {
            let _ = write!(text, ", {} left", words::clock_time(foreseen.left(now)));
        } else if (1..self.all).contains(&self.done) {
            let took = self
                .finished
                .saturating_duration_since(self.began)
                .as_secs_f64();
            let since = now.saturating_duration_since(self.finished).as_secs_f64();
            let left = took / self.done as f64 * (self.all - self.done) as f64 - since;
            let _ = write!(text, ", {} left", words::clock_time(left.max(0.0)));
        }
        text + "] "
    }
}

fn mebi(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
