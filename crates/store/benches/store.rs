//! What tables of runs cost, as a table: the index of a large run, imports, and questions over all runs.
//!
//! `cargo bench -p store`. Figures for the documents, not checks: nothing here fails on time.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use fixtures::example;
use record::{Event, Log, RunFolder};
use rundir::RunDir;
use store::{Format, Location, Selector, Store, index};
use study::Slot;

/// Trials of the large run.
const TRIALS: u32 = 2000;
/// Runs of the store.
const RUNS: u64 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let temp = tempfile::tempdir()?;
    let large = temp.path().join("large");
    run(&large, 0, TRIALS)?;
    let begin = Instant::now();
    index::rebuild(&RunDir::open(&large)?)?;
    let path = large.join(index::NAME);
    println!(
        "index of {TRIALS} trials: {:.2} s, {:.1} MiB",
        seconds(begin),
        mib(&path)?
    );
    let dirs: Vec<_> = (1..=RUNS)
        .map(|n| temp.path().join(n.to_string()))
        .collect();
    for (dir, number) in dirs.iter().zip(1..) {
        run(dir, number, 12)?;
    }
    let path = temp.path().join("store.sqlite");
    let mut store = Store::open(&Location::File(path.clone()))?;
    let begin = Instant::now();
    store.import(&large)?;
    println!("import of {TRIALS} trials: {:.2} s", seconds(begin));
    let begin = Instant::now();
    for dir in &dirs {
        store.import(dir)?;
    }
    println!(
        "import of {RUNS} runs: {:.2} s, {:.1} MiB in all",
        seconds(begin),
        mib(&path)?
    );
    let begin = Instant::now();
    for dir in &dirs {
        store.import(dir)?;
    }
    println!("the same again: {:.2} s", seconds(begin));
    let begin = Instant::now();
    let exported = store.export(&Selector::default(), Format::Csv, &mut std::io::sink())?;
    println!(
        "export of {} samples as CSV: {:.2} s",
        exported.samples,
        seconds(begin)
    );
    Ok(())
}

/// A run of many trials: the example's compilebench trial again and again.
fn run(dir: &Path, seed: u64, trials: u32) -> Result<(), Box<dyn Error>> {
    let folder = RunFolder::create(dir)?;
    let entries = example::entries();
    let mut log = Log::create(folder.opened())?;
    let slot = |trial| Slot {
        trial,
        block: trial,
        cell: 3,
        seed,
    };
    let mut start = entries[0].event.clone();
    if let Event::RunStarted { plan, .. } = &mut start {
        plan.seed = seed;
        plan.slots = (0..trials).map(slot).collect();
    }
    log.emit(start)?;
    let finished = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::TrialFinished {
            samples, evidence, ..
        } if samples.len() > 20 => Some((samples.clone(), evidence.clone())),
        _ => None,
    });
    let (samples, evidence) = finished.ok_or("the example has no such trial")?;
    for trial in 0..trials {
        log.emit(Event::TrialStarted {
            node: None,
            slot: slot(trial),
            telemetry: None,
        })?;
        log.emit(Event::TrialFinished {
            trial,
            samples: samples.clone(),
            evidence: evidence.clone(),
            warnings: Vec::new(),
            ledger: record::Ledger::default(),
        })?;
    }
    Ok(())
}

fn seconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64()
}

fn mib(path: &Path) -> std::io::Result<f64> {
    Ok(std::fs::metadata(path)?.len() as f64 / 1_048_576.0)
}
