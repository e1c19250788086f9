//! Gates on real runs of a device that is limited in its rate.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use compare::{FailOn, Options, Outcome, Side, compare};
use record::Run;

use super::gates::{FALSE, FOUND};
use super::{Arguments, of_run, percent};
use crate::needs;
use crate::run::{Stop, cannot_start};
use crate::table::{Row, Table};

/// Bytes a second of the whole device, and of the one at 90 %.
const RATES: [u64; 2] = [40_000_000, 36_000_000];
/// Runs of the whole device: the first five are the base, and A/A sides are drawn from all.
const WHOLE: u32 = 12;
/// Runs of a side.
const RUNS: usize = 5;
/// Blocks of a run.
const BLOCKS: u32 = 5;

/// Writes 40 MiB past the page cache, in a second: the block layer's throttle lets bursts through, so a shorter phase
/// is faster than the limit.
const STUDY: &str = r#"
name = "limited"
title = "A device with a limited rate"
question = "Is a device at 90 % of its rate found?"
include = ["defaults.toml"]

[run]
reference_seconds = 0

[device]
size = "256m"

[filesystem.ext4]
mkfs = ["-E", "lazy_itable_init=0,lazy_journal_init=0"]

[factors]
filesystem = ["ext4"]

[[workload]]
name = "write"
kind = "stream"
test = "write"
block = "1m"
count = 40
direct = true
"#;

/// Runs the study once, at a rate.
fn run(arguments: &Arguments, folder: &Path, rate: u64, number: u32, stop: &Stop) -> Result<Run> {
    stop.check()?;
    let out = folder.join(format!("{rate}-{number}"));
    let program = &arguments.binary.fslab;
    let output = std::process::Command::new(program)
        .arg("run")
        .arg(folder.join("limited.toml"))
        .args(["--set", &format!("limit={rate}")])
        .args(["--blocks", &BLOCKS.to_string()])
        .args(["--seed", &(u64::from(number) + rate).to_string()])
        .arg("--out")
        .arg(&out)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| cannot_start(&program.display().to_string(), error))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().last().unwrap_or_default();
    // 7: evidence does not hold, which the comparison judges.
    let ended = matches!(output.status.code(), Some(0 | 7));
    ensure!(ended, "fslab run: {}: {last}", output.status);
    Run::load(&out).with_context(|| out.display().to_string())
}

fn side(name: &str, runs: &[&Run]) -> Side {
    Side {
        name: name.to_owned(),
        runs: runs.iter().map(|run| of_run((*run).clone())).collect(),
    }
}

/// How a gate on `worse` ends.
fn outcome(base: &[&Run], other: &[&Run]) -> Result<Outcome> {
    let options = Options {
        fail_on: Some(FailOn::Worse),
        metric: Some("throughput".to_owned()),
        phase: Some("write".to_owned()),
        across: vec!["device.limit".to_owned()],
        ..Options::default()
    };
    let compared = compare(&[side("base", base), side("other", other)], &options)?;
    Ok(compared.outcome)
}

/// Numbers from 0 in an order of chance.
struct Shuffle(u64);

impl Shuffle {
    fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let other = fixtures::example::mix(self.0) % (at as u64 + 1);
            order.swap(at, other as usize);
        }
        order
    }
}

/// The share of outcomes that are "failed", of sides of [`RUNS`] runs drawn from these; without `others` both are drawn from
/// `whole`.
fn failed(whole: &[Run], others: Option<&[Run]>, times: u32, stop: &Stop) -> Result<f64> {
    let (mut shuffle, mut count) = (Shuffle(1), 0);
    for _ in 0..times {
        stop.check()?;
        let order = shuffle.order(whole.len());
        let drawn = |places: &[usize]| places.iter().map(|at| &whole[*at]).collect::<Vec<_>>();
        let base = drawn(&order[..RUNS]);
        let other = match others {
            Some(others) => others.iter().collect(),
            None => drawn(&order[RUNS..2 * RUNS]),
        };
        count += u32::from(outcome(&base, &other)? == Outcome::Failed);
    }
    Ok(f64::from(count) / f64::from(times))
}

pub(super) fn table(arguments: &Arguments, stop: &Stop) -> Result<Table> {
    needs::root("loop devices and mounts")?;
    needs::measured(&arguments.binary.fslab)?;
    let folder = tempfile::tempdir_in(&arguments.place.dir)?;
    fs::write(folder.path().join("limited.toml"), STUDY)?;
    let count = if arguments.quick { 10 } else { WHOLE };
    let (mut whole, mut slow) = (Vec::new(), Vec::new());
    for number in 0..count {
        whole.push(run(arguments, folder.path(), RATES[0], number, stop)?);
        // In turn, so that both see the same hour.
        if number < RUNS as u32 {
            slow.push(run(arguments, folder.path(), RATES[1], number, stop)?);
        }
    }
    let times = arguments.times(1000);
    let first: Vec<&Run> = whole.iter().take(RUNS).collect();
    let found = outcome(&first, &slow.iter().collect::<Vec<_>>())? == Outcome::Failed;
    let power = failed(&whole, Some(&slow), times, stop)?;
    let wrong = failed(&whole, None, times, stop)?;
    let title = format!(
        "real runs of a loop image limited to {} MB/s",
        RATES[0] / 1_000_000
    );
    let mut table = Table::new(title, &["measured"]);
    let mut row = |name: String, cell: String, target: String, met: bool| {
        table.rows.push(Row::new(name, [cell], target, met));
    };
    row(
        "90 % of the rate, 5 x 5 in turn: code 3".into(),
        if found { "yes" } else { "no" }.into(),
        "yes".into(),
        found,
    );
    row(
        format!("the same against 5 of {count}, {times} draws"),
        percent(power),
        format!(">= {}", percent(FOUND)),
        power >= FOUND,
    );
    row(
        format!("A/A: 5 against 5 of {count}, {times} draws"),
        percent(wrong),
        format!("<= {}", percent(FALSE)),
        wrong <= FALSE,
    );
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_each_number_once() {
        let mut shuffle = Shuffle(5);
        let orders: Vec<Vec<usize>> = (0..50).map(|_| shuffle.order(12)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..12).collect::<Vec<_>>());
        }
        assert!(orders.iter().any(|order| order != &orders[0]));
    }
}
