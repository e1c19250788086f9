//! When a device had work: the union of the times from issue to completion.

use serde::{Deserialize, Serialize};

use super::average::seconds;
use super::out::Out;
use crate::error::Error;

/// Periods that are kept open for a later one to join.
const OPEN: usize = 8192;

/// Disjoint periods, added mostly in the order of their ends.
#[derive(Default)]
pub(crate) struct Live {
    open: Vec<(u64, u64)>,
    closed: u64,
    covered: u64,
    end: u64,
    log: Option<Log>,
}

/// A file of the periods, as the points of a step plot (btt -Z).
pub(crate) struct Log {
    out: Out,
    /// Level of each step in plots: 0 for the system, then one for each device, in the order of their first
    /// work.
    level: Option<usize>,
    last: u64,
}

impl Log {
    pub(super) fn new(out: Out, level: Option<usize>) -> Log {
        Log {
            out,
            level,
            last: 0,
        }
    }

    fn period(&mut self, from: u64, to: u64) {
        let level = self.level.unwrap_or(0);
        let (low, high) = (format!("{level}.0"), format!("{level}.9"));
        for (time, height) in [
            (self.last, &low),
            (from, &low),
            (from, &high),
            (to, &high),
            (to, &low),
        ] {
            self.out
                .line(format_args!("{:.9} {height}\n", seconds(time)));
        }
        self.last = to;
    }
}

/// How long and how often a device had work. Times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveSummary {
    /// Disjoint periods of work.
    pub periods: u64,
    /// Their sum.
    pub covered: u64,
    /// The last completion, from the beginning of the trace.
    pub end: u64,
}

impl Live {
    /// Adds the time of an I/O.
    #[inline]
    pub(crate) fn add(&mut self, issued: u64, completed: u64) {
        let (mut from, mut to) = (issued, completed);
        self.end = self.end.max(to);
        while let Some(&(last_from, last_to)) = self.open.last() {
            if last_to < from {
                break;
            }
            if to < last_from {
                return self.insert(from, to);
            }
            (from, to) = (from.min(last_from), to.max(last_to));
            self.open.pop();
        }
        self.open.push((from, to));
        if self.open.len() > OPEN {
            self.close(self.open.len() / 2);
        }
    }

    /// A period before the last one, where records were exchanged.
    #[cold]
    fn insert(&mut self, mut from: u64, mut to: u64) {
        let first = self.open.partition_point(|&(_, end)| end < from);
        let mut past = first;
        while past < self.open.len() && self.open[past].0 <= to {
            (from, to) = (from.min(self.open[past].0), to.max(self.open[past].1));
            past += 1;
        }
        self.open.splice(first..past, [(from, to)]);
    }

    /// Takes the oldest periods for final. An I/O that was outstanding all the while would still join
    /// them; it is then counted as if it began later.
    #[cold]
    fn close(&mut self, count: usize) {
        for (from, to) in self.open.drain(..count) {
            self.closed += 1;
            self.covered += to - from;
            if let Some(log) = &mut self.log {
                log.period(from, to);
            }
        }
    }

    pub(super) fn log_to(&mut self, log: Option<Log>) {
        self.log = log;
    }

    /// Whether it has a file without a level yet; then it takes this level.
    pub(super) fn stand(&mut self, level: usize) -> bool {
        match &mut self.log {
            Some(Log {
                level: unset @ None,
                ..
            }) => {
                *unset = Some(level);
                true
            }
            _ => false,
        }
    }

    /// Writes what is left to the file.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.close(self.open.len());
        self.log.as_mut().map_or(Ok(()), |log| log.out.finish())
    }

    pub(crate) fn summary(&self) -> LiveSummary {
        let open: u64 = self.open.iter().map(|(from, to)| to - from).sum();
        LiveSummary {
            periods: self.closed + self.open.len() as u64,
            covered: self.covered + open,
            end: self.end,
        }
    }
}

impl LiveSummary {
    /// btt's mean of a period and of a lull between two, in seconds, and the share of work in %. A
    /// single period counts as all of the time, with means of 0.
    pub fn btt(&self) -> (f64, f64, f64) {
        match self.periods {
            0 => (0.0, 0.0, 0.0),
            1 => (0.0, 0.0, 100.0),
            periods => {
                let end = seconds(self.end);
                let covered = seconds(self.covered);
                let lull = (end - covered) / (periods - 1) as f64;
                (covered / periods as f64, lull, 100.0 * covered / end)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_union_is_what_marking_every_ns_finds(
            periods in proptest::collection::vec((0_u64..300, 0_u64..20), 1..60)
        ) {
            let mut live = Live::default();
            // Half points, so that touching periods join and neighbours do not.
            let mut marked = [false; 700];
            for &(from, length) in &periods {
                live.add(from, from + length);
                marked[(2 * from) as usize..=(2 * (from + length)) as usize].fill(true);
            }
            let starts = (0..700).filter(|&i| marked[i] && (i == 0 || !marked[i - 1])).count();
            let covered = (0..699).filter(|&i| marked[i] && marked[i + 1]).count() / 2;
            let summary = live.summary();
            prop_assert_eq!(summary.periods, starts as u64);
            prop_assert_eq!(summary.covered, covered as u64);
        }
    }
}
