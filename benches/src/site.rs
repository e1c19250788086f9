//! What a site of many runs takes: bytes, and seconds to build it, to build it again when nothing changed, and after one run more.
//!
//! The runs are copies of one, each with a name, a time and a commit of its own: of the example run of the fixtures, or with
//! `--run` of a real one, whose telemetry then counts too. Copies of a run share their values, so the histories of their study are still
//! and have the longest search for steps. Each commit has five runs, so there are as many comparisons as a site makes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use ::site::{Build, Built, Origin, build};
use anyhow::{Context, Result};
use clap::Parser;
use record::event::{Entry, Event};

use crate::arguments::Place;
use crate::run::{Stop, verdict};
use crate::table::{Row, Table};

/// Most bytes of a site of 1,000 runs.
const BYTES: u64 = 200_000_000;
/// Runs of each commit.
const OF_COMMIT: usize = 5;

/// Builds a site of many runs and prints what it takes.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// Runs
    #[arg(long, default_value_t = 1000)]
    runs: usize,
    /// The folder of a run to copy [default: the example run of the tests]
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    verdict("site", measure(arguments))
}

/// Whether the site was small enough and nothing was made twice.
fn measure(arguments: &Arguments) -> Result<bool> {
    let stop = Stop::on_signals()?;
    let folder = tempfile::tempdir_in(&arguments.place.dir)?;
    let (runs, dir) = (folder.path().join("runs"), folder.path().join("site"));
    let entries = match &arguments.run {
        Some(run) => record::log::read(&run.join("events.jsonl"))?.entries,
        None => fixtures::example::entries(),
    };
    for number in 0..arguments.runs {
        stop.check()?;
        copy(&entries, arguments.run.as_deref(), &runs, number)?;
    }
    let origin = Origin::Folder(runs.clone());
    let build = || timed(&dir, &origin, &stop);
    let (first, first_s) = build()?;
    let (again, again_s) = build()?;
    copy(&entries, arguments.run.as_deref(), &runs, arguments.runs)?;
    let (more, more_s) = build()?;
    let most = BYTES * arguments.runs as u64 / 1000;
    let row = |name: &str, built: Built, seconds: f64, target: String, met: bool| {
        let cells = [
            format!("{seconds:.1}"),
            built.files.to_string(),
            format!("{:.1}", built.bytes as f64 / 1e6),
            built.written.to_string(),
        ];
        Row::new(name, cells, target, met)
    };
    let mut table = Table::new(
        format!(
            "A site of {} runs with {} comparisons",
            first.runs, first.comparisons
        ),
        &["seconds", "files", "MB", "written"],
    );
    table.rows = vec![
        row(
            "first build",
            first,
            first_s,
            format!("<= {:.0} MB", most as f64 / 1e6),
            first.bytes <= most,
        ),
        row(
            "nothing changed",
            again,
            again_s,
            "0 written".into(),
            again.written == 0,
        ),
        row(
            "one run more",
            more,
            more_s,
            "1 report".into(),
            more.runs == first.runs + 1 && more.written < first.written,
        ),
    ];
    println!("{}", table.text());
    Ok(table.all_met())
}

fn timed(dir: &Path, origin: &Origin, stop: &Stop) -> Result<(Built, f64)> {
    let begun = Instant::now();
    let built = build(&Build {
        dir,
        origin,
        comparisons: &[],
        tool: "fslab",
        progress: stop,
    })?;
    Ok((built, begun.elapsed().as_secs_f64()))
}

/// Writes the run with a name, a time and a commit of its own; its telemetry is linked.
fn copy(entries: &[Entry], run: Option<&Path>, runs: &Path, number: usize) -> Result<()> {
    let name = format!("run-{number:05}");
    let dir = runs.join(&name);
    fs::create_dir_all(&dir)?;
    let mut log = String::new();
    for entry in entries {
        let mut entry = entry.clone();
        entry.at += hours(number);
        if let Event::RunStarted { run, tags, .. } = &mut entry.event {
            run.clone_from(&name);
            tags.insert("commit".into(), format!("c{:07}", number / OF_COMMIT));
        }
        log.push_str(&serde_json::to_string(&entry)?);
        log.push('\n');
    }
    fs::write(dir.join("events.jsonl"), log)?;
    let Some(telemetry) = run.map(|run| run.join("telemetry")) else {
        return Ok(());
    };
    fs::create_dir(dir.join("telemetry"))?;
    for file in fs::read_dir(&telemetry).with_context(|| telemetry.display().to_string())? {
        let file = file?;
        fs::hard_link(file.path(), dir.join("telemetry").join(file.file_name())).or_else(|_| {
            fs::copy(file.path(), dir.join("telemetry").join(file.file_name())).map(drop)
        })?;
    }
    Ok(())
}

/// A time later by this many hours.
fn hours(count: usize) -> std::time::Duration {
    std::time::Duration::from_secs(3600 * count as u64)
}
