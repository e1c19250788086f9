//! What a store of many runs costs: importing 1,000 runs of 3,600 samples, questions over them, exports, and the size.
//!
//! SQLite in a file, and PostgreSQL in a server that the bench starts for itself (builds with `--features postgres` on a
//! machine with the package postgresql; else left out, with a note). Both are asked the same questions, and their answers are compared. Targets are
//! for 1,000 runs; with fewer they are in proportion. The logs are made one at a time, so the scratch folder holds the stores alone:
//! some 0.8 GB.
//!
//! Imports include reading the log: most of their time is JSON. Questions are SQL as docs/store.md has it, from a connection that
//! is open (SQLite) or by `psql` (PostgreSQL).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use fixtures::example;
use jiff::SignedDuration;
use record::{Entry, Event, Sample};
use rusqlite::Connection;
use serde_json::json;
use store::{Format, Location, Selector, Store};
use study::{Clock, Slot};
use testkit::postgres::Server;

use crate::arguments::Place;
use crate::run::{Stop, output, verdict};
use crate::table::{Printer, Row, Table};

/// Phases and metrics of a cell: 180 figures.
const PHASES: usize = 10;
const METRICS: usize = 18;
/// Blocks of a run; of the four cells of the example that is 3,600 samples.
const BLOCKS: u32 = 5;
/// Kernels of the runs, in turn.
const KERNELS: u32 = 12;
/// Runs for which the targets are.
const WHOLE: f64 = 1000.0;

/// Measures a store of many runs.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Runs to import, from 50 on.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(50..=100_000))]
    runs: u32,
    /// Fifty runs: a quick look, not a result.
    #[arg(long)]
    quick: bool,
}

pub(crate) fn main(arguments: &Arguments) -> std::process::ExitCode {
    verdict("store_scale", measure(arguments))
}

/// Asks a store a query and returns what it prints.
type Ask<'a> = Box<dyn FnMut(&str) -> Result<String> + 'a>;

/// A store that is measured.
struct Measured {
    name: &'static str,
    store: Store,
    /// Seconds of all imports.
    imports: f64,
}

/// Most seconds and megabytes of each figure, for [`WHOLE`] runs.
struct Targets {
    import: f64,
    size: f64,
    samples: f64,
    series: f64,
    medians: f64,
}

const SQLITE: Targets = Targets {
    import: 60.0,
    size: 250.0,
    samples: 1.0,
    // SQLite computes the medians of all series before it chooses one.
    series: 60.0,
    medians: 60.0,
};
const POSTGRES: Targets = Targets {
    import: 90.0,
    size: 600.0,
    samples: 1.0,
    series: 2.0,
    medians: 60.0,
};
/// Most seconds in which ten runs are read for a comparison, whatever else the store has.
const READ: f64 = 1.0;

/// Whether all targets were met.
fn measure(arguments: &Arguments) -> Result<bool> {
    let stop = Stop::on_signals()?;
    let runs = if arguments.quick { 50 } else { arguments.runs };
    let folder = tempfile::tempdir_in(&arguments.place.dir)?;
    let path = folder.path().join("store.sqlite");
    let server = server();
    let mut stores = vec![Measured {
        name: "SQLite",
        store: Store::open(&Location::File(path.clone()))?,
        imports: 0.0,
    }];
    if let Some(server) = &server {
        stores.push(Measured {
            name: "PostgreSQL",
            store: Store::open(&Location::Server(server.url.clone()))?,
            imports: 0.0,
        });
    }
    let samples = fill(&mut stores, runs, folder.path(), &stop)?;
    let share = f64::from(runs) / WHOLE;
    let mut printer = Printer::default();
    let mut answers = Vec::new();
    for measured in &mut stores {
        let mut ask: Ask<'_> = if let (Some(server), "PostgreSQL") = (&server, measured.name) {
            Box::new(|sql| output("psql", &["-X", "-A", "-t", "-c", sql, &server.url]))
        } else {
            let connection = Connection::open(&path)?;
            Box::new(move |sql| answer(&connection, sql))
        };
        let targets = if measured.name == "SQLite" {
            SQLITE
        } else {
            POSTGRES
        };
        let size = match measured.name {
            "SQLite" => std::fs::metadata(&path)?.len() as f64,
            _ => ask("select pg_database_size(current_database())")?
                .trim()
                .parse()?,
        };
        let title = format!("{}: {runs} runs, {samples} samples", measured.name);
        let mut sheet = Sheet {
            table: Table::new(title, &["measured"]),
            share,
        };
        sheet.seconds(
            "import, with reading the logs",
            measured.imports,
            targets.import,
        );
        sheet.size(size, targets.size);
        stop.check()?;
        answers.push(questions(&mut sheet, measured, &targets, &mut ask)?);
        stop.check()?;
        exports(&mut sheet, &mut measured.store, samples)?;
        printer.show(&sheet.table);
    }
    if answers.len() == 1 {
        println!("PostgreSQL left out: build with --features postgres, and install postgresql");
    }
    ensure!(
        answers.iter().all(|answer| *answer == answers[0]),
        "the stores answer differently: {answers:?}"
    );
    Ok(printer.all_met())
}

/// A server, where this build can speak to it.
fn server() -> Option<Server> {
    cfg!(feature = "postgres").then(Server::start).flatten()
}

/// A table whose targets are in proportion to the runs.
struct Sheet {
    table: Table,
    share: f64,
}

impl Sheet {
    fn seconds(&mut self, name: &str, seconds: f64, target: f64) {
        // A fixed part: starting a program, planning a query.
        let target = (target * self.share).max(0.5);
        self.table.rows.push(Row::new(
            name,
            [format!("{seconds:.2} s")],
            format!("< {target:.1} s"),
            seconds < target,
        ));
    }

    fn size(&mut self, bytes: f64, target: f64) {
        // An empty PostgreSQL database has 8 MB.
        let (size, target) = (bytes / 1e6, target * self.share + 8.0);
        self.table.rows.push(Row::new(
            "size",
            [format!("{size:.0} MB")],
            format!("< {target:.0} MB"),
            size < target,
        ));
    }
}

/// Imports the runs into each store in turn; the number of samples.
fn fill(stores: &mut [Measured], runs: u32, folder: &Path, stop: &Stop) -> Result<u64> {
    let dir = folder.join("run");
    let mut samples = 0;
    for number in 0..runs {
        stop.check()?;
        samples += write(&dir, number)?;
        for measured in &mut *stores {
            let begun = Instant::now();
            measured.store.import(&dir)?;
            measured.imports += begun.elapsed().as_secs_f64();
        }
        std::fs::remove_dir_all(&dir)?;
    }
    Ok(samples)
}

/// The first row of an answer, columns with a bar between them.
fn answer(connection: &Connection, sql: &str) -> Result<String> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let row = statement.query_row([], |row| {
        let text = |column| {
            row.get_ref(column).map(|value| match value {
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                rusqlite::types::ValueRef::Real(number) => number.to_string(),
                rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                _ => String::new(),
            })
        };
        (0..columns).map(text).collect::<rusqlite::Result<Vec<_>>>()
    })?;
    Ok(row.join("|"))
}

/// Questions over all runs and of ten of them. What both stores must answer alike.
fn questions(
    sheet: &mut Sheet,
    measured: &mut Measured,
    targets: &Targets,
    ask: &mut dyn FnMut(&str) -> Result<String>,
) -> Result<Vec<String>> {
    let mut answers = Vec::new();
    let ids = ask(
        "select k.cell_id || ' ' || m.metric_id from cell_kind k, metric m
         where k.label = (select min(label) from cell_kind) and m.phase = 'phase_3' and m.metric = 'metric_7'",
    )?;
    let (cell, metric) = ids
        .trim()
        .split_once(' ')
        .context("the series is not in the store")?;
    let sample = format!(
        "select count(*) || ' samples' from sample where cell_id = {cell} and metric_id = {metric} and value > 0"
    );
    let series = format!(
        "select count(*) || ' kernels, ' || sum(runs) || ' runs' from kernel_median
         where cell_id = {cell} and metric_id = {metric}"
    );
    let medians = "select count(*) from run_median where median > 0";
    for (name, sql, target) in [
        (
            "the samples of one series",
            sample.as_str(),
            targets.samples,
        ),
        ("one series by kernel", series.as_str(), targets.series),
        ("the medians of all runs", medians, targets.medians),
    ] {
        let begun = Instant::now();
        let answer = ask(sql)?;
        sheet.seconds(name, begun.elapsed().as_secs_f64(), target);
        answers.push(answer.trim().to_owned());
    }
    let begun = Instant::now();
    let mut read = Vec::new();
    for side in ["tag.group=1", "tag.group=2"] {
        let runs = measured.store.runs(&side.parse::<Selector>()?)?;
        ensure!(runs.len() == 5, "{side} has {} runs", runs.len());
        let of_run = |run: &record::Run| {
            run.trials
                .iter()
                .map(|trial| trial.samples.len())
                .sum::<usize>()
        };
        read.push(format!("{side} {}", runs.iter().map(of_run).sum::<usize>()));
    }
    let seconds = begun.elapsed().as_secs_f64();
    sheet.table.rows.push(Row::new(
        "10 runs, as compare reads them",
        [format!("{seconds:.2} s")],
        format!("< {READ:.1} s"),
        seconds < READ,
    ));
    answers.extend(read);
    Ok(answers)
}

/// Exports of everything.
fn exports(sheet: &mut Sheet, store: &mut Store, samples: u64) -> Result<()> {
    for (format, name) in [
        (Format::Csv, "export as CSV"),
        (Format::Parquet, "export as Parquet"),
    ] {
        if !format.is_built() {
            continue;
        }
        let begun = Instant::now();
        let exported = store.export(&Selector::default(), format, &mut std::io::sink())?;
        let seconds = begun.elapsed().as_secs_f64();
        ensure!(
            exported.samples == samples,
            "{} of {samples} samples",
            exported.samples
        );
        sheet.seconds(name, seconds, 120.0);
    }
    Ok(())
}

/// Writes the log of a run; the number of its samples. The first ten runs are in two groups of five.
fn write(dir: &Path, number: u32) -> Result<u64> {
    let mut plan = example::plan();
    plan.seed = u64::from(number);
    plan.blocks = BLOCKS;
    plan.slots.clear();
    for block in 0..BLOCKS {
        for cell in &plan.cells {
            plan.slots.push(Slot {
                trial: plan.slots.len() as u32,
                block,
                cell: cell.id,
                seed: u64::from(number * BLOCKS + block),
            });
        }
    }
    let slots = plan.slots.clone();
    let mut tags = BTreeMap::from([("branch".to_owned(), "main".to_owned())]);
    if number < 10 {
        tags.insert("group".to_owned(), (1 + number / 5).to_string());
    }
    let kernel = format!("6.{}.3", 1 + number % KERNELS);
    let mut events = vec![
        Event::RunStarted {
            format: record::FORMAT,
            run: format!("run-{number}"),
            tool: "fslab 0.1.0 (0123456789ab)".into(),
            command: ["fslab", "run", "journal"].map(String::from).into(),
            target: "loop images".into(),
            tags,
            plan: Box::new(plan),
            part: None,
        },
        Event::Context {
            when: "start".into(),
            context: context(&kernel),
        },
    ];
    for slot in &slots {
        events.push(Event::TrialStarted {
            slot: *slot,
            telemetry: None,
            node: None,
        });
        events.push(Event::TrialFinished {
            trial: slot.trial,
            samples: samples(number, *slot),
            evidence: Vec::new(),
            warnings: Vec::new(),
            ledger: record::Ledger::default(),
        });
    }
    events.push(Event::RunFinished {
        finished: slots.len() as u32,
        failed: 0,
        skipped: 0,
        seconds: 60.0,
        peak_rss: 20 << 20,
    });
    let first = example::entries()[0].at + SignedDuration::from_hours(i64::from(number) * 11);
    let mut log = String::new();
    for (seq, event) in (0..).zip(events) {
        let entry = Entry {
            seq,
            at: first + SignedDuration::from_secs(seq as i64),
            event,
        };
        log.push_str(&serde_json::to_string(&entry)?);
        log.push('\n');
    }
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    std::fs::write(dir.join(record::folder::EVENTS), log)?;
    Ok((slots.len() * PHASES * METRICS) as u64)
}

fn context(kernel: &str) -> serde_json::Value {
    let item = |value: String| json!({ "number": 1, "value": value, "source": "a bench" });
    let mut items = serde_json::Map::new();
    items.insert("system.kernel.release".into(), item(kernel.to_owned()));
    // As many as a record of a real machine.
    items.extend((0..60).map(|n| (format!("item.{n}"), item(format!("value {n}")))));
    json!({ "items": items })
}

/// Samples of a trial, whose values are all different.
fn samples(number: u32, slot: Slot) -> Vec<Sample> {
    let mut samples = Vec::with_capacity(PHASES * METRICS);
    for phase in 0..PHASES {
        for metric in 0..METRICS {
            let at = (u64::from(number) << 32)
                + u64::from(slot.trial) * 1000
                + (phase * METRICS + metric) as u64;
            let share = example::mix(at) as f64 / u64::MAX as f64;
            samples.push(Sample {
                phase: format!("phase_{phase}"),
                metric: format!("metric_{metric}"),
                clock: Clock::Original,
                value: 1e8 * (1.0 + 0.04 * share),
                unit: "bytes_per_s".into(),
            });
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_the_samples_that_are_counted() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(write(temp.path(), 3).unwrap(), 3600);
        let run = record::Run::load(temp.path()).unwrap();
        let counted: usize = run.trials.iter().map(|trial| trial.samples.len()).sum();
        assert_eq!((counted, run.remaining().len()), (3600, 0));
        assert_eq!(run.tags["group"], "1");
    }
}
