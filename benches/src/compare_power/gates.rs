//! Gates on simulated sides.

use anyhow::Result;
use compare::{FailOn, Options, Outcome, compare};
use fixtures::simulated::Normal;

use super::{percent, side};
use crate::run::Stop;
use crate::table::{Row, Table};

/// The largest share of equal sides that a gate on `worse` may fail.
pub(super) const FALSE: f64 = 0.05;
/// The share of slower sides that has to be found where runs vary by at most 2 %.
pub(super) const FOUND: f64 = 0.95;

/// What is simulated: runs a side, blocks of a run, and how much the medians of runs vary.
const SIDES: [(u32, usize, f64); 6] = [
    (3, 5, 0.01),
    (3, 5, 0.02),
    (5, 3, 0.02),
    (5, 5, 0.01),
    (5, 5, 0.02),
    (5, 5, 0.03),
];

/// Equal pairs that pass `not-shown` with a margin of 5 %: runs a side, and the share of docs/metrics.md.
const SHOWN: [(f64, &[(u32, f64)]); 3] = [
    (0.02, &[(3, 0.76), (5, 0.98), (7, 1.0)]),
    (
        0.03,
        &[(3, 0.46), (5, 0.78), (7, 0.90), (10, 0.98), (15, 1.0)],
    ),
    (
        0.05,
        &[(3, 0.24), (5, 0.43), (7, 0.55), (10, 0.70), (15, 0.86)],
    ),
];

fn gate(fail_on: FailOn) -> Options {
    Options {
        fail_on: Some(fail_on),
        ..Options::default()
    }
}

/// The share of pairs of sides whose gate ends with an outcome; the second side has `ratio` of the first one's rate.
fn share(
    fail_on: FailOn,
    outcome: Outcome,
    (runs, blocks, of_runs): (u32, usize, f64),
    ratio: f64,
    times: u32,
    stop: &Stop,
) -> Result<f64> {
    let mut draws = Normal::new(u64::from(runs) * 1000 + blocks as u64);
    let mut count = 0;
    for _ in 0..times {
        stop.check()?;
        let sides = [
            side(&mut draws, 0, runs, blocks, 1000.0, of_runs),
            side(&mut draws, 100, runs, blocks, 1000.0 * ratio, of_runs),
        ];
        count += u32::from(compare(&sides, &gate(fail_on))?.outcome == outcome);
    }
    Ok(f64::from(count) / f64::from(times))
}

pub(super) fn equal_and_slower(times: u32, stop: &Stop) -> Result<Table> {
    let title = format!("--fail-on worse on {times} simulated pairs of sides: code 3");
    let mut table = Table::new(title, &["share"]);
    for sides in SIDES {
        let (runs, blocks, of_runs) = sides;
        let what = format!("{runs} x {blocks}, runs vary by {:.0} %", 100.0 * of_runs);
        let equal = share(FailOn::Worse, Outcome::Failed, sides, 1.0, times, stop)?;
        table.rows.push(Row::new(
            format!("equal, {what}"),
            [percent(equal)],
            format!("<= {}", percent(FALSE)),
            equal <= FALSE,
        ));
    }
    for sides in SIDES.into_iter().filter(|(runs, ..)| *runs == 5) {
        let (runs, blocks, of_runs) = sides;
        let what = format!("{runs} x {blocks}, runs vary by {:.0} %", 100.0 * of_runs);
        let found = share(FailOn::Worse, Outcome::Failed, sides, 0.9, times / 2, stop)?;
        // Where runs vary by 3 %, a side of five shows 10 % in nine of ten cases.
        let target = if of_runs > 0.02 { 0.85 } else { FOUND };
        table.rows.push(Row::new(
            format!("90 % of the rate, {what}"),
            [percent(found)],
            format!(">= {}", percent(target)),
            found >= target,
        ));
    }
    Ok(table)
}

pub(super) fn shown(times: u32, stop: &Stop) -> Result<Table> {
    let title = format!("--fail-on not-shown, margin 5 %, on {times} equal pairs: code 0");
    let mut table = Table::new(title, &["share", "documented"]);
    for (spread, rows) in SHOWN {
        for &(runs, documented) in rows {
            // One trial of each run, whose spread is that of the median: the table is of medians of runs.
            let of_runs = (spread * spread - super::OF_TRIALS * super::OF_TRIALS)
                .max(0.0)
                .sqrt();
            let sides = (runs, 1, of_runs);
            let found = share(FailOn::NotShown, Outcome::Passed, sides, 1.0, times, stop)?;
            // Four standard errors of the draws, and the rounding of the table.
            let error = (documented * (1.0 - documented) / f64::from(times)).sqrt();
            let room = 4.0 * error + 0.02;
            table.rows.push(Row::new(
                format!("{runs} runs a side that vary by {:.0} %", 100.0 * spread),
                [percent(found), percent(documented)],
                format!("+- {}", percent(room)),
                (found - documented).abs() <= room,
            ));
        }
    }
    Ok(table)
}
