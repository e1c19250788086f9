//! The causes that `fslab explain` names, turned off: does the difference disappear?
//!
//! A study in which the cause differs between two cells is run and explained; then the same study
//! with the cause taken away, or dwarfed, as the rule itself proposes. A rule is right when it held
//! in the first, and when in the second the difference is gone or less than half (of its
//! logarithm); the rest may still be due to the cause. Causes that limits of a device show on any
//! machine are tests of the binary (crates/fslab/tests/counter_experiments.rs); those here are
//! about processor time, which a machine with other work to do distorts.

use std::path::Path;
use std::process::ExitCode;

use crate::arguments::{Binary, Place};
use crate::needs;
use crate::run::{Stop, output, verdict};
use crate::table::{Row, Table};
use anyhow::{Context, Result};
use clap::Parser;
use explain::{Confidence, Explanation, Options};
use record::Run;
use study::Clock;

/// Runs each cause with and without, and prints how the difference changed.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    binary: Binary,
    /// Only the rules whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    #[command(flatten)]
    place: Place,
}

/// A cause and how to take it away.
struct Experiment {
    rule: &'static str,
    /// The factor that carries it.
    factors: &'static str,
    workload: &'static str,
    phase: &'static str,
    /// What is replaced in the study, to take the cause away.
    without: &'static [(&'static str, &'static str)],
    /// Description for the table.
    how: &'static str,
}

const SLOW_DISK: (&str, &str) = ("[device]\n", "[device]\nlimit = \"100m\"\n");
const STREAM: &str =
    "kind = \"stream\"\nblock = \"1m\"\ncount = 512\ntest = \"write\"\nflush = \"fsync\"";

const EXPERIMENTS: [Experiment; 3] = [
    Experiment {
        rule: "cpu_time",
        factors: "mount = [\"\", \"nodelalloc\"]",
        workload: STREAM,
        phase: "write",
        without: &[SLOW_DISK],
        how: "disk of 100 MiB/s",
    },
    Experiment {
        rule: "delayed_allocation",
        factors: "mount = [\"\", \"nodelalloc\"]",
        workload: STREAM,
        phase: "write",
        without: &[("nodelalloc", "data=writeback")],
        how: "both with it",
    },
    Experiment {
        rule: "cpu_bound_writer",
        factors: "",
        workload: "kind = \"throughput\"\nsize = \"128m\"\nsettle_seconds = 0\ninclude_fsync = false\n\
                   [workload.factors]\nrecord = [\"1m\", \"1k\"]",
        phase: "initial_write",
        without: &[SLOW_DISK, ("include_fsync = false", "include_fsync = true")],
        how: "disk of 100 MiB/s, fsync",
    },
];

/// A difference and the rule's answer; `None`: no difference.
type Measured = Option<(f64, Option<Confidence>)>;

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    verdict("counter_experiments", measure(arguments))
}

fn measure(arguments: &Arguments) -> Result<bool> {
    needs::root("loop devices and mounts")?;
    let stop = Stop::on_signals()?;
    let folder = tempfile::tempdir_in(&arguments.place.dir)?;
    let mut table = Table::new(
        "causes with and without: times as slow, and the rule's answer",
        &["with", "rule", "without", "rule", "taken away by"],
    );
    let chosen = EXPERIMENTS
        .iter()
        .filter(|e| e.rule.contains(&arguments.only));
    for experiment in chosen {
        stop.check()?;
        let on = experiment.study();
        let off = experiment
            .without
            .iter()
            .fold(on.clone(), |text, (from, to)| text.replace(from, to));
        let with = experiment.measure(&arguments.binary.fslab, folder.path(), "with", &on)?;
        stop.check()?;
        let without =
            experiment.measure(&arguments.binary.fslab, folder.path(), "without", &off)?;
        table.rows.push(experiment.row(with, without));
    }
    println!("{}", table.text());
    Ok(table.all_met())
}

impl Experiment {
    fn study(&self) -> String {
        let Experiment {
            rule,
            factors,
            workload,
            ..
        } = self;
        format!(
            "name = \"{rule}\"\ntitle = \"A counter-experiment\"\n\
             question = \"Is the named cause the cause?\"\n\
             [filesystem.ext4]\nkind = \"ext4\"\n\
             mkfs = [\"-E\", \"lazy_itable_init=0,lazy_journal_init=0\"]\n\
             [run]\nblocks = 7\nseed = 11\nreference_seconds = 0\n\
             [device]\nsize = \"1g\"\n\
             [factors]\nfilesystem = [\"ext4\"]\n{factors}\n\
             [[workload]]\nname = \"w\"\n{workload}\n"
        )
    }

    /// Runs the study; returns the difference of its phase under clock (a).
    fn measure(&self, fslab: &Path, folder: &Path, name: &str, text: &str) -> Result<Measured> {
        let out = folder.join(format!("{}-{name}", self.rule));
        let file = out.with_extension("toml");
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        let words = [
            "run".as_ref(),
            file.as_os_str(),
            "--out".as_ref(),
            out.as_os_str(),
        ];
        let words: Vec<String> = words.map(|w| w.to_string_lossy().into_owned()).into();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        output(&fslab.to_string_lossy(), &words)?;
        let run = Run::load(&out)?;
        let explained = explain::explain(&run, Some(&out), &Options::default())?;
        let of = |e: &&Explanation| {
            e.difference.phase == self.phase && e.difference.clock == Clock::Original
        };
        Ok(explained.explanations.iter().find(of).map(|e| {
            let finding = e.holds().find(|finding| finding.rule == self.rule);
            let confidence = finding.and_then(|finding| finding.judgement.confidence());
            (e.difference.times, confidence)
        }))
    }

    fn row(&self, with: Measured, without: Measured) -> Row {
        let [a, b] = cells(with);
        let [c, d] = cells(without);
        Row::new(
            self.rule,
            [a, b, c, d, self.how.into()],
            "goes",
            goes(with, without),
        )
    }
}

/// Whether the rule held and its difference disappeared with the cause.
fn goes(with: Measured, without: Measured) -> bool {
    let Some((times, Some(_))) = with else {
        return false;
    };
    without.is_none_or(|(rest, _)| rest.ln() < 0.5 * times.ln())
}

fn cells(measured: Measured) -> [String; 2] {
    let Some((times, confidence)) = measured else {
        return ["~".into(), "-".into()];
    };
    let word = confidence.map_or("no".into(), |c| format!("{c:?}").to_lowercase());
    [format!("{times:.2}"), word]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_proven_when_its_difference_goes_with_it() {
        let held = Some((2.0, Some(Confidence::Low)));
        assert!(goes(held, None));
        assert!(goes(held, Some((1.3, None))));
        assert!(!goes(held, Some((1.5, None))));
        assert!(goes(held, Some((1.1, Some(Confidence::Low)))));
        assert!(!goes(Some((2.0, None)), None));
        assert!(!goes(None, None));
    }

    #[test]
    fn every_study_is_one() {
        for experiment in &EXPERIMENTS {
            let on = experiment.study();
            for (from, _) in experiment.without {
                assert!(on.contains(from), "{}: {from}", experiment.rule);
            }
        }
    }
}
