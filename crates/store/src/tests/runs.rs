//! Runs to import: the example with other names, times, seeds, kernels, tags and values.

use std::fs;
use std::path::{Path, PathBuf};

use fixtures::example;
use jiff::SignedDuration;
use record::{Entry, Event, Status};
use serde_json::json;

/// What a run is like.
#[derive(Clone, Debug)]
pub(crate) struct Like {
    pub(crate) number: u64,
    pub(crate) kernel: &'static str,
    pub(crate) tags: Vec<(&'static str, &'static str)>,
    pub(crate) tool: &'static str,
}

impl Like {
    pub(crate) fn number(number: u64) -> Like {
        Like {
            number,
            kernel: "6.12.48",
            tags: Vec::new(),
            tool: "fslab 0.1.0 (0123456789ab)",
        }
    }
}

/// The events of a run.
pub(crate) fn entries(like: &Like) -> Vec<Entry> {
    let mut entries = example::entries();
    for (n, entry) in entries.iter_mut().enumerate() {
        entry.at += SignedDuration::from_hours(29 * like.number as i64);
        let share = example::mix(like.number * 1000 + n as u64) as f64 / u64::MAX as f64;
        let noise = 1.0 + 0.02 * share;
        match &mut entry.event {
            Event::RunStarted {
                run,
                plan,
                tags,
                tool,
                ..
            } => {
                *run = format!("journal-{}", like.number);
                *tool = like.tool.into();
                plan.seed = u64::MAX - like.number;
                tags.extend(like.tags.iter().map(|(k, v)| ((*k).into(), (*v).into())));
            }
            Event::Context { context, .. } => {
                *context = json!({ "items": {
                    "system.kernel.release": { "value": like.kernel, "source": "/proc/sys/kernel/osrelease" },
                    "cpu.model": { "value": "Example CPU at 2.4 GHz", "source": "/proc/cpuinfo" },
                    "cpu.threads": { "value": "8", "source": "/proc/cpuinfo" },
                    "memory.total_kib": { "value": 16_314_212, "source": "/proc/meminfo" },
                    "cpu.microcode": { "value": null, "source": "/proc/cpuinfo", "reason": "not in this guest" },
                    "odd": { "value": "a\u{0}b | 1e300 \u{1f980}", "source": "test" },
                }});
            }
            Event::TrialFinished { samples, .. } => {
                for sample in samples {
                    sample.value *= noise;
                }
            }
            _ => {}
        }
    }
    entries
}

/// The lines of a log.
pub(crate) fn lines(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| serde_json::to_string(entry).unwrap() + "\n")
        .collect()
}

/// Writes a log.
pub(crate) fn put(dir: &Path, log: &str) -> PathBuf {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join(record::folder::EVENTS), log).unwrap();
    dir.to_owned()
}

/// A whole run in `dir`.
pub(crate) fn run(dir: &Path, like: &Like) -> PathBuf {
    put(dir, &lines(&entries(like)).concat())
}

/// The number of samples that count, by the fold.
pub(crate) fn samples(dir: &Path) -> u64 {
    let run = record::Run::load(dir).unwrap();
    let whole = run
        .trials
        .iter()
        .filter(|trial| trial.status == Status::Finished);
    whole.map(|trial| trial.samples.len() as u64).sum()
}
