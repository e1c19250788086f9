//! What recording costs, as a table: events, telemetry rows, and the fold of a large run.
//!
//! `cargo bench -p record`. Figures for the documents, not checks: nothing here fails on time.

use std::path::Path;
use std::time::Instant;

use fixtures::example;
use record::telemetry::Writer;
use record::{Event, Log, Run, RunFolder};
use study::Slot;

const TRIALS: u32 = 2000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let temp = tempfile::tempdir()?;
    telemetry(&temp.path().join("t.tele"))?;
    let folder = RunFolder::create(&temp.path().join("run"))?;
    events(&folder)?;
    let begin = Instant::now();
    let run = Run::load(folder.dir())?;
    println!(
        "loading {} trials: {:.2} s",
        run.trials.len(),
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}

/// A run of many trials: the example's compilebench trial again and again.
fn events(folder: &RunFolder) -> Result<(), record::Error> {
    let entries = example::entries();
    let mut log = Log::create(folder.opened())?;
    let mut start = entries[0].event.clone();
    if let Event::RunStarted { plan, .. } = &mut start {
        let slot = |trial| Slot {
            trial,
            block: 0,
            cell: 3,
            seed: 1,
        };
        plan.slots = (0..TRIALS).map(slot).collect();
    }
    log.emit(start)?;
    let is_of_3 = |event: &Event| match event {
        Event::TrialStarted { slot, .. } => slot.trial == 3,
        Event::FilesystemReady { trial, .. }
        | Event::PhaseFinished { trial, .. }
        | Event::TrialFinished { trial, .. } => *trial == 3,
        _ => false,
    };
    let trial: Vec<Event> = entries
        .into_iter()
        .map(|e| e.event)
        .filter(is_of_3)
        .collect();
    let begin = Instant::now();
    for number in 0..TRIALS {
        for event in &trial {
            let mut event = event.clone();
            match &mut event {
                Event::TrialStarted { slot, .. } => slot.trial = number,
                Event::FilesystemReady { trial, .. }
                | Event::PhaseFinished { trial, .. }
                | Event::TrialFinished { trial, .. } => *trial = number,
                _ => {}
            }
            log.emit(event)?;
        }
    }
    println!(
        "{} events, {:.1} MiB: {:.0} us an event, fdatasync after each trial included",
        log.len(),
        mib(log.path()).unwrap_or_default(),
        begin.elapsed().as_secs_f64() * 1e6 / log.len() as f64
    );
    Ok(())
}

/// 300 columns, 30 of them changed in each of 36,000 rows (an hour at 10 Hz).
fn telemetry(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut writer = Writer::create(path)?;
    for column in 0..300 {
        writer.column(&format!("column {column}"), "count");
    }
    let mut row: Vec<(u32, i64)> = (0..300).map(|c| (c, i64::from(c) * 1_000_003)).collect();
    let begin = Instant::now();
    for n in 0..36_000_u64 {
        for change in 0..30 {
            row[(n as usize * 7 + change * 11) % 300].1 += (change * 997) as i64;
        }
        writer.row(n * 100_000_000, &row)?;
    }
    writer.finish()?;
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "36000 telemetry rows: {:.1} us and {:.0} bytes a row",
        seconds * 1e6 / 36_000.0,
        mib(path)? * 1_048_576.0 / 36_000.0
    );
    Ok(())
}

fn mib(path: &Path) -> std::io::Result<f64> {
    Ok(std::fs::metadata(path)?.len() as f64 / 1_048_576.0)
}
