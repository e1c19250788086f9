//! Searches for a commit, with git's choice of the next one.

use std::cell::{Cell, RefCell};

use anyhow::Result;
use compare::bisect::{Bisection, Measurement, Verdict};
use compare::{Error, Options, Side};
use fixtures::simulated::Normal;

use super::{percent, side};
use crate::run::Stop;
use crate::table::{Row, Table};

const COMMITS: usize = 64;
/// Rate of a bad commit, as a share of a good one's.
const BAD: f64 = 0.88;
/// Steps of a search through this number of commits.
const STEPS: u32 = 6;
/// Most runs of a step.
const MOST: usize = 20;

/// A tree of commits, from 1.
#[derive(Clone, Copy, Debug)]
struct Tree {
    first_bad: usize,
    untestable: usize,
}

/// The first bad commit by a search, and how many runs it took. None: git could not tell commits apart.
fn search(
    tree: Tree,
    step: impl Fn(bool) -> Result<(Verdict, usize)>,
) -> Result<(Option<usize>, usize)> {
    let (mut good, mut bad, mut runs) = (1, COMMITS, 0);
    let mut skipped: Vec<usize> = Vec::new();
    while bad - good > 1 {
        let middle = usize::midpoint(good, bad);
        let open = (good + 1..bad).filter(|commit| !skipped.contains(commit));
        let Some(next) = open.min_by_key(|commit| commit.abs_diff(middle)) else {
            return Ok((None, runs));
        };
        if next == tree.untestable {
            skipped.push(next);
            continue;
        }
        let (verdict, took) = step(next >= tree.first_bad)?;
        runs += took;
        match verdict {
            Verdict::Good => good = next,
            Verdict::Bad => bad = next,
            Verdict::Skip => skipped.push(next),
        }
    }
    Ok((Some(bad), runs))
}

/// Where the n-th search's first bad commit is, and an untestable one that is not next to it: git could not tell these apart.
const fn tree(number: usize) -> Tree {
    let first_bad = 2 + (number * 37) % (COMMITS - 2);
    Tree {
        first_bad,
        untestable: 2 + (first_bad + 20) % (COMMITS - 3),
    }
}

/// Makes runs of good and of bad commits.
struct Machine {
    draws: RefCell<Normal>,
    /// Runs made so far.
    made: Cell<u32>,
    /// By which share runs vary.
    of_runs: f64,
}

impl Machine {
    fn runs(&self, count: u32, is_bad: bool) -> Side {
        let level = if is_bad { 1000.0 * BAD } else { 1000.0 };
        let first = self.made.get();
        self.made.set(first + count);
        let draws = &mut *self.draws.borrow_mut();
        side(draws, first, count, 3, level, self.of_runs)
    }

    /// A search that is prepared, and how often its good and bad runs were refused because they are not far enough apart. They
    /// are made again then.
    fn prepared(&self, stop: &Stop) -> Result<(Bisection, u32)> {
        let mut refused = 0;
        loop {
            stop.check()?;
            let sides = [self.runs(5, false), self.runs(5, true)];
            match Bisection::new(&sides, &Options::default(), STEPS, MOST) {
                Ok(bisection) => return Ok((bisection, refused)),
                Err(Error::Option(_)) => refused += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Judges a commit; also the number of runs that it took.
    fn step(&self, bisection: &Bisection, is_bad: bool) -> Result<(Verdict, usize)> {
        let before = self.made.get();
        let measure = |_| {
            let made = self.runs(1, is_bad).runs.pop();
            let run = made.ok_or_else(|| Error::Option("no run".to_owned()))?;
            Ok::<_, Error>(Measurement::Run(Box::new(run)))
        };
        let ended = bisection.step(measure, |_| {})?;
        Ok((ended.verdict, (self.made.get() - before) as usize))
    }
}

pub(super) fn table(times: u32, stop: &Stop) -> Result<Table> {
    let title = format!("bisect-step: {times} searches through {COMMITS} commits, one untestable");
    let mut table = Table::new(title, &["right", "runs a search", "sides refused"]);
    // At 1 % good and bad are some twelve spreads apart.
    for (of_runs, target) in [(0.01, 1.0), (0.02, 0.95)] {
        let machine = Machine {
            draws: RefCell::new(Normal::new(64)),
            made: Cell::new(0),
            of_runs,
        };
        let (mut right, mut runs, mut refused) = (0, 0, 0);
        for number in 0..times as usize {
            let (bisection, again) = machine.prepared(stop)?;
            let tree = tree(number);
            let (found, took) = search(tree, |is_bad| machine.step(&bisection, is_bad))?;
            right += u32::from(found == Some(tree.first_bad));
            runs += took;
            refused += again;
        }
        let share = f64::from(right) / f64::from(times);
        table.rows.push(Row::new(
            format!("-12 %, runs vary by {:.0} %", 100.0 * of_runs),
            [
                percent(share),
                format!("{:.1}", runs as f64 / f64::from(times)),
                refused.to_string(),
            ],
            format!(">= {}", percent(target)),
            share >= target,
        ));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sure_step_finds_every_commit() {
        for tree in (0..COMMITS).map(tree) {
            let sure = |is_bad| Ok((if is_bad { Verdict::Bad } else { Verdict::Good }, 2));
            let (found, runs) = search(tree, sure).unwrap();
            assert_eq!(found, Some(tree.first_bad));
            assert!((10..=16).contains(&runs), "{runs}");
        }
    }
}
