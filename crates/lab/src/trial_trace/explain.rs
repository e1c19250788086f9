//! What the traces of a trial give to its record: figures by phase, and whether they are whole.

use std::collections::BTreeMap;
use std::path::PathBuf;

use blktrace::analysis::window::{self, Figures, Places, Window};
use probe::capture::Summary;
use record::{Event, Evidence, Sample};
use study::Clock;

use super::recording::Recorded;

/// Name of the figures of a whole trace among those of phases.
const WHOLE: &str = "trial";

/// When the phases of a trial ran, by its events.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    /// Those whose requests are theirs alone.
    phases: Vec<(String, Window)>,
    /// Checks and readings of metadata, and their passes.
    readings: Vec<(String, Window)>,
}

impl Spans {
    /// Takes note of an event. A phase without its own counters is between the operations of
    /// others: what was traced meanwhile was not done for it alone. A check's passes follow each other.
    pub(crate) fn note(&mut self, event: &Event) {
        let Event::PhaseFinished {
            phase,
            begin_ns,
            end_ns,
            usage,
            ..
        } = event
        else {
            return;
        };
        let window = Window {
            begin_ns: *begin_ns,
            end_ns: *end_ns,
        };
        if usage.is_some() || phase.starts_with("check_") {
            self.phases.push((phase.clone(), window));
        }
        if ["check", "scan"].iter().any(|name| is_of(phase, name)) {
            self.readings.push((phase.clone(), window));
        }
    }

    /// When a check or a reading ran.
    pub(crate) fn of(&self, phase: &str) -> Option<Window> {
        let found = self.readings.iter().find(|(name, _)| name == phase);
        found.map(|(_, window)| *window)
    }

    /// The passes of a check or a reading, in order.
    pub(crate) fn passes_of(&self, phase: &str) -> impl Iterator<Item = (&str, Window)> {
        let passes = self.readings.iter();
        passes
            .filter(move |(name, _)| name != phase && is_of(name, phase))
            .map(|(name, window)| (name.as_str(), *window))
    }
}

/// Whether a phase is this check or reading, or a pass of it.
fn is_of(phase: &str, whole: &str) -> bool {
    let rest = phase.strip_prefix(whole);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("_pass_"))
}

/// What a trial's traces give to its record.
#[derive(Default)]
pub(crate) struct Explained {
    pub(crate) traces: Vec<record::Trace>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) warnings: Vec<String>,
}

impl Recorded {
    /// The trace of the filesystem's device: base of its files, and the same within the run's folder. None where it is not whole.
    pub(crate) fn of_filesystem(&self) -> Option<(PathBuf, String)> {
        let (summary, _) = self.traces.first()?;
        let whole = summary.lost == 0 && self.full.is_none();
        whole.then(|| {
            let base = format!("{}/{}", self.below, summary.device);
            (self.out.reach().join(&summary.device), base)
        })
    }

    /// Explains the traces by phase. `places` is the block map of the first device.
    pub(crate) fn explain(&self, spans: &Spans, places: &Places) -> Explained {
        let mut explained = Explained::default();
        let nowhere = Places::default();
        for (at, (summary, role)) in self.traces.iter().enumerate() {
            let places = if at == 0 { places } else { &nowhere };
            let (trace, samples) = self.one(summary, role, spans, places);
            if at == 0 {
                explained.samples = samples;
            }
            explained.traces.push(trace);
        }
        let (evidence, warning) = self.complete();
        explained.evidence.push(evidence);
        explained.warnings.extend(warning);
        explained
    }

    /// A device's trace, and the samples it gives.
    fn one(
        &self,
        summary: &Summary,
        role: &str,
        spans: &Spans,
        places: &Places,
    ) -> (record::Trace, Vec<Sample>) {
        let mut trace = record::Trace {
            base: format!("{}/{}", self.below, summary.device),
            device: format!("{} ({role})", summary.device),
            events: summary.events,
            lost: summary.lost,
            bytes: summary.bytes,
            figures: BTreeMap::new(),
            notes: self.notes.clone(),
        };
        if summary.lost_is_shared {
            trace
                .notes
                .push("events were lost of all traced devices together".into());
        }
        if summary.traces_itself {
            trace
                .notes
                .push("the trace was written to this disk, and is part of it".into());
        }
        let windows: Vec<Window> = spans.phases.iter().map(|(_, window)| *window).collect();
        let windows = [&windows[..], &[self.whole]].concat();
        let figures = blktrace::Trace::open(&self.out.reach().join(&summary.device))
            .and_then(|mut trace| window::figures(&mut trace, &windows, places));
        let figures = match figures {
            Ok(figures) => figures,
            // A device that had nothing to do.
            Err(blktrace::Error::Empty { .. }) => Vec::new(),
            Err(error) => {
                trace.notes.push(format!("not analysed: {error}"));
                Vec::new()
            }
        };
        let names = spans.phases.iter().map(|(phase, _)| phase.as_str());
        let mut samples = Vec::new();
        for (phase, figures) in names.chain([WHOLE]).zip(figures) {
            let named = named(figures, summary.lost);
            if phase != WHOLE {
                samples.extend(
                    named
                        .iter()
                        .map(|(name, value)| sample(phase, name, *value)),
                );
            }
            trace.figures.insert(phase.to_owned(), named);
        }
        (trace, samples)
    }

    /// Whether nothing is missing.
    fn complete(&self) -> (Evidence, Option<String>) {
        let lost: u64 = self
            .traces
            .iter()
            .map(|(summary, _)| summary.lost)
            .max()
            .unwrap_or(0);
        let events: u64 = self.traces.iter().map(|(summary, _)| summary.events).sum();
        let bytes: u64 = self.traces.iter().map(|(summary, _)| summary.bytes).sum();
        let broken = self.traces.iter().any(|(summary, _)| summary.degraded);
        let mut detail = format!("{events} events in {bytes} bytes, {lost} lost");
        let mut warning = broken.then(|| {
            format!("{lost} events of the block trace were lost: its figures are too low")
        });
        if let Some(bound) = self.full {
            detail.push_str("; stopped at its bound");
            warning = Some(format!(
                "the block trace was stopped at {} MiB, its bound: its figures are of a part of the \
                 trial; a shorter trial, or more free space for the run's folder, is traced whole",
                bound >> 20
            ));
        }
        let silent = events == 0 && warning.is_none();
        if silent {
            warning = Some(
                "the block trace has not one event: either nothing reached the device, or this kernel \
                 writes traces in a form that is not known here (`fslab doctor`)"
                    .into(),
            );
        }
        let evidence = Evidence {
            phase: None,
            name: "trace_complete".into(),
            holds: (!silent).then_some(warning.is_none()),
            detail,
        };
        (evidence, warning)
    }
}

/// Figures with the losses, whose time is not known and which count for every phase.
fn named(figures: Figures, lost: u64) -> BTreeMap<String, f64> {
    let lost = ("trace_lost", lost as f64);
    let all = figures.into_iter().chain([lost]);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn sample(phase: &str, name: &str, value: f64) -> Sample {
    Sample {
        phase: phase.to_owned(),
        metric: name.to_owned(),
        clock: Clock::Original,
        value,
        unit: unit(name).into(),
    }
}

/// The unit of a figure of a trace.
fn unit(name: &str) -> &'static str {
    match name {
        "trace_bio_mean" | "trace_request_mean" | "trace_seek_mean" => "bytes",
        "trace_merge_ratio" | "trace_sequential" | "trace_busy" => "ratio",
        "trace_depth" => "count",
        _ if name.ends_with("_bytes") => "bytes",
        _ if name.ends_with("_share") => "ratio",
        _ if name.contains("2c_") => "s",
        _ => "count",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Left, Of, Requests};
    use std::path::Path;

    use probe::capture::{self, BUFFER};
    use rundir::RunDir;

    fn summary(device: &str, lost: u64) -> Summary {
        Summary {
            format: capture::FORMAT,
            device: device.into(),
            number: "8:0".into(),
            way: "blk tracer".into(),
            clock: "mono".into(),
            kernel: "6.18.0".into(),
            seconds: 1.0,
            actions: "all".into(),
            buffer: BUFFER,
            cpus: Vec::new(),
            events: 10,
            bytes: 480,
            lost,
            lost_is_shared: false,
            broken_pages: 0,
            degraded: lost > 0,
            traces_itself: false,
        }
    }

    fn recorded(out: &Path, lost: u64) -> Recorded {
        Recorded {
            traces: vec![(summary("sda", lost), "the filesystem's device")],
            out: RunDir::open(out).unwrap(),
            below: "traces/trial-0001".into(),
            whole: Window {
                begin_ns: 0,
                end_ns: u64::MAX,
            },
            notes: Vec::new(),
            full: None,
        }
    }

    fn spans() -> Spans {
        let mut spans = Spans::default();
        for (phase, usage) in [
            ("write", Some(record::Usage::default())),
            ("patch", None),
            ("check_pass_1", None),
        ] {
            spans.note(&finished(phase, usage));
        }
        spans
    }

    fn finished(phase: &str, usage: Option<record::Usage>) -> Event {
        Event::PhaseFinished {
            trial: 0,
            phase: phase.into(),
            begin_ns: 0,
            end_ns: u64::MAX,
            detail: serde_json::Value::Null,
            usage,
            memory: None,
            middle: None,
        }
    }

    #[test]
    fn a_trace_gives_figures_of_each_phase_that_ran_alone() {
        let folder = tempfile::tempdir().unwrap();
        let forged = fixtures::block_trace::Forge::plain(1, 200);
        forged.write(folder.path(), "sda").unwrap();
        let explained = recorded(folder.path(), 0).explain(&spans(), &Places::default());
        let trace = &explained.traces[0];
        let phases: Vec<&String> = trace.figures.keys().collect();
        assert_eq!(phases, ["check_pass_1", "trial", "write"]);
        assert_eq!(trace.base, "traces/trial-0001/sda");
        assert_eq!(trace.device, "sda (the filesystem's device)");
        assert_eq!(trace.figures["write"]["trace_lost"], 0.0);
        assert_eq!(trace.figures["write"], trace.figures["trial"]);
        let bios = explained.samples.iter().find(|s| s.metric == "trace_bios");
        assert_eq!(bios.unwrap().value, trace.figures["write"]["trace_bios"]);
        assert!(explained.samples.iter().all(|s| s.phase != "trial"));
        assert_eq!(explained.evidence[0].holds, Some(true));
        assert_eq!(explained.warnings, [""; 0]);
        // Every figure is a metric that studies may name.
        let known = study::names::METRICS;
        assert!(
            explained
                .samples
                .iter()
                .all(|s| known.contains(&s.metric.as_str()))
        );
    }

    #[test]
    fn a_check_is_estimated_from_its_trace_and_only_from_a_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let forged = fixtures::block_trace::Forge::plain(1, 200);
        forged.write(folder.path(), "sda").unwrap();
        let mut spans = spans();
        assert_eq!(spans.of("check"), None);
        for event in ["check", "scan", "checksum"] {
            spans.note(&finished(event, None));
        }
        let passes = |phase| spans.passes_of(phase).map(|(name, _)| name.to_owned());
        assert_eq!(passes("check").collect::<Vec<_>>(), ["check_pass_1"]);
        assert_eq!(passes("scan").count(), 0);
        let run = RunDir::open(folder.path()).unwrap();
        let estimate = |recorded: &Recorded, phase| {
            let left = Left {
                folder: &run,
                trial: 0,
                volume: 1 << 30,
                devices_file: None,
                traced: Some(recorded),
                spans: &spans,
            };
            let spec = study::EstimateSpec {
                devices: vec!["7k500x4".into(), "lun-2011".into()],
                ..study::EstimateSpec::default()
            };
            let requests = Requests {
                phase,
                reader: "e2fsck".into(),
                of: Of::Program,
            };
            left.estimate(&spec, requests)
        };
        let found = estimate(&recorded(folder.path(), 0), "check");
        assert_eq!(found.missing, None);
        assert_eq!(
            (found.stream, found.mode.as_str(), found.reader.as_str()),
            (record::Stream::BlockTrace, "dependent", "e2fsck")
        );
        assert_eq!(found.file.as_deref(), Some("traces/trial-0001/sda"));
        assert_eq!(found.devices.len(), 2);
        for device in &found.devices {
            let phases = device.passes.iter().map(|pass| pass.phase.as_str());
            assert_eq!(phases.collect::<Vec<_>>(), ["check", "check_pass_1"]);
            let [whole, pass] = &device.passes[..] else {
                panic!("{device:?}");
            };
            assert!(whole.requests > 0 && whole.modelled_s > Some(0.0));
            // All of it was in the pass.
            assert_eq!(whole.modelled_s, pass.modelled_s);
        }
        let missing = |estimate: record::Estimate| estimate.missing.unwrap();
        let lost = missing(estimate(&recorded(folder.path(), 7), "check"));
        assert!(lost.contains("no block trace"), "{lost}");
        let unknown = missing(estimate(&recorded(folder.path(), 0), "checksum"));
        assert!(unknown.contains("no block trace"), "{unknown}");
    }

    #[test]
    fn losses_and_a_bound_that_was_reached_are_marked() {
        let folder = tempfile::tempdir().unwrap();
        let explained = recorded(folder.path(), 7).explain(&spans(), &Places::default());
        assert_eq!(explained.evidence[0].name, "trace_complete");
        assert_eq!(explained.evidence[0].holds, Some(false));
        assert!(
            explained.warnings[0].contains("7 events"),
            "{:?}",
            explained.warnings
        );
        let notes = &explained.traces[0].notes;
        assert!(notes[0].starts_with("not analysed: "), "{notes:?}");
        let mut full = recorded(folder.path(), 0);
        full.full = Some(5 << 20);
        let explained = full.explain(&spans(), &Places::default());
        assert_eq!(explained.evidence[0].holds, Some(false));
        assert!(
            explained.warnings[0].contains("stopped at 5 MiB"),
            "{:?}",
            explained.warnings
        );
    }

    #[test]
    fn a_trace_without_an_event_is_not_called_complete() {
        let folder = tempfile::tempdir().unwrap();
        let mut silent = recorded(folder.path(), 0);
        silent.traces[0].0.events = 0;
        let explained = silent.explain(&spans(), &Places::default());
        assert_eq!(explained.evidence[0].holds, None);
        let warning = &explained.warnings[0];
        assert!(warning.contains("not one event"), "{warning}");
    }

    #[test]
    fn units_of_all_figures() {
        let of = |wanted: &str| {
            let names = study::names::METRICS.iter();
            let traced = names.filter(|name| name.starts_with("trace_"));
            traced.filter(|name| unit(name) == wanted).count()
        };
        assert_eq!(
            (of("bytes"), of("ratio"), of("s"), of("count")),
            (6, 5, 4, 8)
        );
    }
}
