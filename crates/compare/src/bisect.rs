//! One step of a search for the commit that made something slower.
//!
//! `git bisect run` takes 0 as good, 125 as untestable, any other code below 128 as bad, and stops at 128 and above. So what is
//! neither good nor bad must never end with a small number: an invalid measurement that ended with 7 was taken as bad, and the
//! wrong commit was found.
//!
//! The threshold is the middle of the good and the bad runs on logarithms. They have to be four spreads apart, or the search is
//! refused: a step could not be decided. Twelve steps that are each right in 95 of 100 cases are all right in 54. So a step
//! measures again until its interval, of level 1 - 0.05 / steps, is on one side of the threshold.

use serde::Serialize;
use stats::precision::t_two_sided_quantile;

use crate::context::Times;
use crate::error::Error;
use crate::figure::{self, Figure, Measured, cells_of};
use crate::format::phrase;
use crate::key::Keys;
use crate::options::Options;
use crate::plan::pooled;
use crate::side::{Side, SideRun, disjoint};

/// How far apart good and bad runs have to be, in standard deviations of runs.
pub const APART: f64 = 4.0;

/// Fewest runs of a step: one alone shows no spread of its own.
const FEWEST: usize = 2;

/// What a run of the commit gave.
#[derive(Debug)]
pub enum Measurement {
    /// A run.
    Run(Box<SideRun>),
    /// The commit cannot be tested: it does not build, boot or mount.
    Untestable(String),
}

/// What a commit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Like the good runs.
    Good,
    /// Like the bad runs.
    Bad,
    /// Not testable, or still unclear.
    Skip,
}

/// The end of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ended {
    /// What the commit is.
    pub verdict: Verdict,
    /// Why, in one line.
    pub why: String,
    /// The medians of its runs.
    pub values: Vec<f64>,
}

/// A step to be made.
pub struct Bisection {
    figure: Figure,
    /// Cells of the same parameters have this key.
    key: String,
    keys: Keys,
    times: Option<Times>,
    unit: String,
    /// Logarithms of the medians of good and bad runs.
    groups: [Vec<f64>; 2],
    threshold: f64,
    good_is_above: bool,
    level: f64,
    most: usize,
}

impl Bisection {
    /// Prepares a step from good and bad runs. `steps` is how many steps the whole search takes, `most` how many runs one
    /// may take.
    ///
    /// # Errors
    /// Runs from which no threshold follows, more or less than one figure, emulated times.
    pub fn new(
        sides: &[Side; 2],
        options: &Options,
        steps: u32,
        most: usize,
    ) -> Result<Bisection, Error> {
        disjoint(sides)?;
        figure::check(sides, options)?;
        let runs = sides
            .iter()
            .flat_map(|side| side.runs.iter().map(|one| &one.run));
        let keys = Keys::of(runs, &options.across);
        let (key, figure) = one_figure(&sides[0], &keys, options)?;
        let mut unit = String::new();
        let mut groups: Vec<Vec<f64>> = Vec::new();
        let mut times = Vec::new();
        for (side, name) in sides.iter().zip(["good", "bad"]) {
            let (_, cells) = cells_of(side, &keys);
            let cell = cells.get(&key).ok_or_else(|| {
                refused(format!("no {name} run has the cell that the good runs have; run the same study for both"))
            })?;
            let measured = Measured::of(side, cell, &figure);
            if let Some(first) = measured.invalid.first() {
                return Err(refused(format!(
                    "a {name} run is invalid: {first}; leave it out or run it again"
                )));
            }
            let values = measured.values(true);
            if values.len() < 2 || values.iter().any(|value| *value <= 0.0) {
                return Err(refused(format!(
                    "--{name} has {}: the spread of runs takes two or more, of values above zero",
                    words::plural(values.len() as u64, "run")
                )));
            }
            unit.clone_from(&measured.unit);
            groups.push(values.iter().map(|value| value.ln()).collect());
            times.extend(side.runs.iter().map(|one| Times::of(&one.run)));
        }
        let [good, bad] = [&groups[0], &groups[1]].map(|group| mean(group));
        let groups = [groups[0].clone(), groups[1].clone()];
        let spread = pooled(&groups).unwrap_or(0.0);
        let gap = (good - bad).abs();
        if gap <= 0.0 || gap < APART * spread {
            return Err(refused(format!(
                "good and bad runs differ by {}, and runs vary by {}: they have to be {APART} spreads apart; choose \
                 commits that differ more, a quieter machine, or a count",
                phrase::percent((bad - good).exp()),
                phrase::share(spread)
            )));
        }
        let times = if figure::is_of_time(&unit) {
            Some(one_clock(times)?)
        } else {
            None
        };
        Ok(Bisection {
            figure,
            key,
            keys,
            times,
            unit,
            groups,
            threshold: f64::midpoint(good, bad),
            good_is_above: good > bad,
            level: 1.0 - 0.05 / f64::from(steps.max(1)),
            most: most.max(FEWEST),
        })
    }

    /// Measures until the commit is good or bad. `measure` makes the n-th run, from 1; `say` prints progress.
    ///
    /// # Errors
    /// Those of `measure`, and a run of something else: the search has to stop.
    pub fn step<E: From<Error>>(
        &self,
        mut measure: impl FnMut(usize) -> Result<Measurement, E>,
        say: impl Fn(&str),
    ) -> Result<Ended, E> {
        let mut logs: Vec<f64> = Vec::new();
        let values = |logs: &[f64]| logs.iter().map(|log| log.exp()).collect::<Vec<_>>();
        for number in 1..=self.most {
            let skip = |why: String, logs: &[f64]| Ended {
                verdict: Verdict::Skip,
                why,
                values: values(logs),
            };
            let run = match measure(number)? {
                Measurement::Run(run) => *run,
                Measurement::Untestable(why) => return Ok(skip(why, &logs)),
            };
            match self.value(&run)? {
                Ok(value) => logs.push(value.ln()),
                Err(why) => return Ok(skip(why, &logs)),
            }
            let half = self.half(&logs);
            let mean = mean(&logs);
            let ends = [mean - half, mean + half];
            say(&self.progress(number, logs[logs.len() - 1], ends));
            let above = match ends {
                [low, _] if low > self.threshold => true,
                [_, high] if high < self.threshold => false,
                _ => continue,
            };
            if logs.len() < FEWEST {
                continue;
            }
            let verdict = if above == self.good_is_above {
                Verdict::Good
            } else {
                Verdict::Bad
            };
            return Ok(Ended {
                verdict,
                why: format!(
                    "after {}: {}",
                    words::plural(number as u64, "run"),
                    self.interval(ends)
                ),
                values: values(&logs),
            });
        }
        Ok(Ended {
            verdict: Verdict::Skip,
            why: format!("still unclear after {} runs", self.most),
            values: values(&logs),
        })
    }

    /// Half the interval of the mean: the spread is that within the good, the bad and these runs.
    fn half(&self, logs: &[f64]) -> f64 {
        let [good, bad] = self.groups.clone();
        let free = good.len() + bad.len() + logs.len() - 3;
        let spread = pooled(&[good, bad, logs.to_vec()]).unwrap_or(0.0);
        t_two_sided_quantile(self.level, free as f64) * spread / (logs.len() as f64).sqrt()
    }

    /// The median of a run; as inner error why the commit cannot be tested.
    fn value(&self, run: &SideRun) -> Result<Result<f64, String>, Error> {
        if let Some(times) = &self.times {
            let these = Times::of(&run.run);
            if these != *times {
                return Err(refused(format!(
                    "{}: {these}, but the good and bad runs have {times}; measure all on the same machine",
                    run.from
                )));
            }
        }
        let side = Side {
            name: run.from.clone(),
            runs: vec![run.clone()],
        };
        let (_, cells) = cells_of(&side, &self.keys);
        let cell = cells.get(&self.key).ok_or_else(|| {
            refused(format!(
                "{} has not the cell of the good and bad runs; run the same study",
                run.from
            ))
        })?;
        let measured = Measured::of(&side, cell, &self.figure);
        if let Some(first) = measured.invalid.first() {
            return Ok(Err(format!("evidence does not hold: {first}")));
        }
        match measured.values(true).first() {
            Some(value) if *value > 0.0 => Ok(Ok(*value)),
            Some(_) => Ok(Err("its value is zero".to_owned())),
            None => Ok(Err(format!(
                "no whole trial: {} failed",
                words::plural(measured.failed as u64, "trial")
            ))),
        }
    }

    fn progress(&self, number: usize, log: f64, ends: [f64; 2]) -> String {
        let (factor, unit) = phrase::scale(&self.unit, self.threshold.exp());
        let value = words::significant(log.exp() * factor);
        format!("run {number}: {value} {unit}; {}", self.interval(ends))
    }

    fn interval(&self, ends: [f64; 2]) -> String {
        let (factor, unit) = phrase::scale(&self.unit, self.threshold.exp());
        let [low, high, threshold] = [ends[0], ends[1], self.threshold]
            .map(|log| words::significant(log.exp().min(1e300) * factor));
        let times = match &self.times {
            Some(times) if *times != Times::Real => format!(" [{times}]"),
            _ => String::new(),
        };
        format!(
            "{} interval {low}..{high} {unit}, good is {} {threshold}{times}",
            phrase::share(self.level),
            if self.good_is_above { "above" } else { "below" }
        )
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn refused(why: String) -> Error {
    Error::Option(why)
}

/// The cell and the figure that the options leave.
fn one_figure(side: &Side, keys: &Keys, options: &Options) -> Result<(String, Figure), Error> {
    let (order, cells) = cells_of(side, keys);
    let mut found = Vec::new();
    for key in order {
        let cell = &cells[&key];
        if options.passes(&cell.cell) {
            for figure in figure::figures(side, &cell.cell.workload_name, options) {
                let label = format!(
                    "{}, {} {} {}",
                    cell.cell.label(),
                    figure.phase,
                    figure.metric,
                    figure.clock.mark()
                );
                found.push((key.clone(), figure, label));
            }
        }
    }
    match found.len() {
        1 => {
            let (key, figure, _) = found.remove(0);
            Ok((key, figure))
        }
        0 => Err(refused(
            "no figure of a cell passes --filter, --phase and --metric".to_owned(),
        )),
        count => Err(refused(format!(
            "{count} figures, and a search follows one: choose it with --filter, --phase and --metric, as in {}",
            words::printable(&found[0].2)
        ))),
    }
}

/// The times of all runs, which are one clock's and no emulator's.
fn one_clock(times: Vec<Times>) -> Result<Times, Error> {
    let mut times = times;
    times.sort();
    times.dedup();
    match times.as_slice() {
        [Times::Emulated(by)] => Err(refused(format!(
            "emulated times ({by}) say nothing of the code: search by a count (--metric), or run with --virtual-time"
        ))),
        [one] => Ok(one.clone()),
        _ => Err(refused(
            "good and bad runs have times of different clocks: measure all on the same machine"
                .to_owned(),
        )),
    }
}
