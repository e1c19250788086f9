//! Nominated steps of simulated histories.

use std::time::Instant;

use anyhow::Result;
use compare::Options;
use compare::history::{By, History, history};
use fixtures::simulated::{Normal, Simulated};
use stats::change::{Settings, changes};

use super::{of_run, percent};
use crate::run::Stop;
use crate::table::{Row, Table};

/// Runs of a still series.
const STILL: usize = 60;
/// Series and runs of the search whose time is measured.
const MANY: usize = 100;
/// Longest that this search may take, seconds.
const SECONDS: f64 = 30.0;

/// Noise of a standard deviation, of which each value remembers a part of the one before (AR(1)).
fn noise(draws: &mut Normal, n: usize, sd: f64, memory: f64) -> Vec<f64> {
    let mut last = draws.draw();
    let values = (0..n).map(|_| {
        let value = last;
        last = memory * last + (1.0 - memory * memory).sqrt() * draws.draw();
        sd * value
    });
    values.collect()
}

/// The history of runs with these logarithms of their rates.
fn of(logs: &[f64]) -> Result<History> {
    let run = |(number, log): (u32, &f64)| {
        let run = Simulated::new(number, vec![vec![1000.0 * log.exp()]]);
        of_run(run.run())
    };
    let runs = (0..).zip(logs).map(run).collect();
    Ok(history("mailserver", runs, By::Date, &Options::default())?)
}

/// Where steps are nominated.
fn nominated(logs: &[f64]) -> Result<Vec<usize>> {
    let found = of(logs)?;
    Ok(found
        .series
        .iter()
        .flat_map(|series| series.steps.iter().map(|step| step.at))
        .collect())
}

/// The share of series in which steps are nominated exactly where they are.
fn exact(n: usize, steps: &[(usize, f64)], sd: f64, times: u32, stop: &Stop) -> Result<f64> {
    let mut draws = Normal::new(n as u64);
    let mut right = 0;
    for _ in 0..times {
        stop.check()?;
        let mut logs = noise(&mut draws, n, sd, 0.0);
        for &(at, ratio) in steps {
            for log in &mut logs[at..] {
                *log += ratio.ln();
            }
        }
        let places: Vec<usize> = steps.iter().map(|(at, _)| *at).collect();
        right += u32::from(nominated(&logs)? == places);
    }
    Ok(f64::from(right) / f64::from(times))
}

/// The share of still series in which a step is nominated.
fn still(memory: f64, sd: f64, times: u32, stop: &Stop) -> Result<f64> {
    let mut draws = Normal::new(7);
    let mut wrong = 0;
    for _ in 0..times {
        stop.check()?;
        let logs = noise(&mut draws, STILL, sd, memory);
        wrong += u32::from(!nominated(&logs)?.is_empty());
    }
    Ok(f64::from(wrong) / f64::from(times))
}

pub(super) fn table(times: u32, stop: &Stop) -> Result<Table> {
    let title = format!("history: steps that are nominated, {times} simulated series each");
    let mut table = Table::new(title, &["measured"]);
    let mut row = |name: &str, cell: String, target: String, met: bool| {
        table.rows.push(Row::new(name, [cell], target, met));
    };
    let down: &[(usize, f64)] = &[(20, 0.9)];
    let both: &[(usize, f64)] = &[(15, 1.13), (35, 0.82)];
    let back: &[(usize, f64)] = &[(20, 0.9), (32, 1.0 / 0.9)];
    for (name, n, steps) in [
        ("-10 % in 40 runs, noise 1 %: at its place", 40, down),
        ("+13 %, -18 % in 60 runs, noise 1 %: both", 60, both),
        ("-10 % and back in 60 runs, noise 1 %: both", 60, back),
    ] {
        let share = exact(n, steps, 0.01, times, stop)?;
        row(name, percent(share), ">= 95.0 %".into(), share >= 0.95);
    }
    for (name, memory, target) in [
        ("still, 60 runs, white noise 3 %: any step", 0.0, 0.05),
        ("still, 60 runs, AR(1) 0.5 of 3 %: any step", 0.5, 0.25),
    ] {
        let share = still(memory, 0.03, times, stop)?;
        let target_text = format!("<= {}", percent(target));
        row(name, percent(share), target_text, share <= target);
    }
    let mut draws = Normal::new(9);
    let begun = Instant::now();
    for _ in 0..MANY {
        stop.check()?;
        let settings = Settings {
            permutations: 40 * MANY - 1,
            ..Settings::default()
        };
        changes(&noise(&mut draws, MANY, 0.02, 0.0), settings)?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let name = format!("search of {MANY} still series of {MANY} runs");
    let met = seconds < SECONDS;
    row(
        &name,
        format!("{seconds:.1} s"),
        format!("< {SECONDS} s"),
        met,
    );
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_remembers_as_asked() {
        let mut draws = Normal::new(3);
        for memory in [0.0, 0.5] {
            let values = noise(&mut draws, 20_000, 1.0, memory);
            let mean = |of: &dyn Fn(usize) -> f64| (1..values.len()).map(of).sum::<f64>() / 2e4;
            let variance = mean(&|at| values[at] * values[at]);
            let together = mean(&|at| values[at] * values[at - 1]);
            assert!((variance - 1.0).abs() < 0.05, "{variance}");
            assert!((together - memory).abs() < 0.05, "{together}");
        }
    }
}
