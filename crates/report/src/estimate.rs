//! How long a run's checks would take on modelled devices, beside how long they took here.
//!
//! The trials have these numbers in their records: each check's own requests were replayed when it was over. None of them is a sample,
//! so no table, comparison or verdict of a report has them; they are here and nowhere else, and each is called modelled. A published
//! number is beside one only where the device stands for the hardware of that study.

use record::{Estimate, EstimatedDevice, EstimatedPass, Status, Stream, TrialRecord};
use serde::Serialize;
use study::{Cell, Clock};

use crate::fill::Sources;
use crate::grid::Grid;
use crate::labels::Labels;
use crate::numbers::{range, short};
use crate::published::Published;
use crate::scan;

/// What was estimated.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Estimates {
    /// One for each check or reading, and device.
    pub(crate) rows: Vec<Row>,
    /// What has none, and why.
    pub(crate) missing: Vec<Missing>,
    /// The devices, each once.
    pub(crate) devices: Vec<Device>,
    /// Published numbers that stand beside modelled ones.
    pub(crate) beside: Option<Beside>,
    /// What the replays cannot tell, each sentence once.
    pub(crate) cannot_tell: Vec<String>,
    /// What speaks against the records, each once.
    pub(crate) doubts: Vec<String>,
    /// Factor of processor times.
    pub(crate) cpu: f64,
    /// Replays with drawn figures for each interval.
    pub(crate) runs: u32,
}

/// A check or a reading on a device.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// [`study::Cell::id`].
    pub(crate) cell: u32,
    /// The cell, by the levels in which the cells differ.
    pub(crate) label: String,
    /// What read.
    pub(crate) reader: String,
    /// Where its requests come from.
    pub(crate) stream: Stream,
    /// The device.
    pub(crate) device: String,
    /// Trials.
    pub(crate) n: usize,
    /// The whole first, then its passes.
    pub(crate) passes: Vec<Pass>,
}

/// A pass, or all of them: medians of the trials.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pass {
    /// Its phase.
    pub(crate) phase: String,
    /// `all`, `0a`, `1`.
    #[serde(rename = "pass")]
    pub(crate) name: String,
    /// Requests.
    pub(crate) requests: f64,
    /// Bytes.
    pub(crate) bytes: f64,
    /// Seconds that it took in this run.
    pub(crate) this_run_s: Option<f64>,
    /// Seconds on the device.
    pub(crate) modelled_s: Option<f64>,
    /// 5 % are below.
    pub(crate) modelled_low_s: Option<f64>,
    /// 5 % are above.
    pub(crate) modelled_high_s: Option<f64>,
    /// Modelled by this run's.
    pub(crate) modelled_ratio: Option<f64>,
    /// Share of the time in which the busiest part of the device worked, percent.
    pub(crate) modelled_busy_percent: Option<f64>,
    /// Share of the time in which nothing was in flight, percent.
    pub(crate) modelled_idle_percent: Option<f64>,
    /// What decides how long it takes.
    pub(crate) limit: Option<String>,
    /// Published seconds, in the order of [`Beside::columns`]; none where the device is not that hardware.
    pub(crate) published_s: Vec<Option<f64>>,
}

/// What has no estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Missing {
    /// The cell, by the levels in which the cells differ.
    pub(crate) label: String,
    /// What read.
    pub(crate) reader: String,
    /// Why.
    pub(crate) why: String,
}

/// A device, and what its figures rest on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Device {
    /// Its name.
    #[serde(rename = "device")]
    pub(crate) name: String,
    /// What it stands for.
    pub(crate) stands_for: String,
    /// Figures without a source.
    pub(crate) assumed: Vec<String>,
    /// Figures that were fitted.
    pub(crate) fitted: Vec<String>,
    /// The studies that were measured on it.
    pub(crate) studies: Vec<String>,
}

/// Published numbers beside modelled ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Beside {
    /// The document: `Mushran 2011`.
    pub(crate) document: String,
    /// Its days, one for each column; empty where it has one number.
    pub(crate) columns: Vec<&'static str>,
    /// What must be known of them.
    pub(crate) note: &'static str,
}

/// Checks that a sentence of the first screen has room for.
const CHECKS: usize = 5;

impl Estimates {
    /// A line for each device: how long its checks would take there.
    pub(crate) fn brief(&self) -> Vec<String> {
        let of = |device: &Device| -> Option<String> {
            let rows = self.rows.iter().filter(|row| row.device == device.name);
            let all: Vec<String> = rows.filter_map(Row::brief).collect();
            let (first, more) = all.split_at(all.len().min(CHECKS));
            let more = match more.len() {
                0 => String::new(),
                count => format!(", and {count} more"),
            };
            (!first.is_empty()).then(|| format!("{}: {}{more}", device.name, first.join(", ")))
        };
        self.devices.iter().filter_map(of).collect()
    }
}

impl Row {
    /// `set-1 164.0 s (131.2..213.2)`.
    fn brief(&self) -> Option<String> {
        let pass = self.passes.first()?;
        let bounds = pass.modelled_low_s.zip(pass.modelled_high_s);
        let bounds = bounds.map_or(String::new(), |(low, high)| {
            format!(" ({})", range(low, high, short))
        });
        Some(format!(
            "{} {} s{bounds}",
            self.label,
            short(pass.modelled_s?)
        ))
    }
}

/// The estimates of the report's trials; none without any.
pub(crate) fn of(sources: &Sources<'_>, grids: &[Grid]) -> Option<Estimates> {
    let plan = &sources.run.plan;
    let trials: Vec<_> = sources
        .slots()
        .filter(|(_, trial)| trial.status == Status::Finished && !trial.estimates.is_empty())
        .collect();
    let of_cell = |cell: &Cell| -> Vec<&TrialRecord> {
        let own = trials.iter().filter(|(slot, _)| slot.cell == cell.id);
        own.map(|(_, trial)| *trial).collect()
    };
    let cells: Vec<&Cell> = plan
        .cells
        .iter()
        .filter(|c| !of_cell(c).is_empty())
        .collect();
    let labels = Labels::of(plan, &cells);
    let theirs = Theirs::of(sources, grids, &cells);
    let mut found = Estimates {
        beside: theirs.beside(),
        ..Estimates::default()
    };
    for cell in &cells {
        let trials = of_cell(cell);
        for phase in ["scan", "check"] {
            let all = trials.iter().flat_map(|trial| {
                let own = trial.estimates.iter();
                let own = own.filter(|estimate| estimate.phase == phase);
                own.map(|estimate| (*trial, estimate))
            });
            let all: Vec<(&TrialRecord, &Estimate)> = all.collect();
            found.add(cell, &labels.of_cell(cell), &all, &theirs);
        }
    }
    found.without_empty_columns();
    (!cells.is_empty()).then_some(found)
}

impl Estimates {
    /// Adds the estimates of one phase of a cell.
    fn add(
        &mut self,
        cell: &Cell,
        label: &str,
        trials: &[(&TrialRecord, &Estimate)],
        theirs: &Theirs<'_>,
    ) {
        for (_, estimate) in trials {
            if let Some(why) = &estimate.missing {
                push_new(
                    &mut self.missing,
                    Missing {
                        label: label.to_owned(),
                        reader: estimate.reader.clone(),
                        why: why.clone(),
                    },
                );
                continue;
            }
            (self.cpu, self.runs) = (estimate.cpu, estimate.runs);
            push_new(&mut self.cannot_tell, estimate.cannot_tell.clone());
            for doubt in &estimate.doubts {
                push_new(&mut self.doubts, doubt.clone());
            }
            for device in &estimate.devices {
                match &device.missing {
                    None => push_new(&mut self.devices, of_device(device)),
                    Some(why) => push_new(
                        &mut self.missing,
                        Missing {
                            label: label.to_owned(),
                            reader: estimate.reader.clone(),
                            why: format!("{} {why}", device.device),
                        },
                    ),
                }
            }
        }
        let whole = trials.iter().find(|(_, e)| e.missing.is_none());
        let Some((_, first)) = whole else { return };
        for device in first.devices.iter().filter(|d| d.missing.is_none()) {
            let own = trials.iter().filter_map(|(trial, estimate)| {
                let mut devices = estimate.devices.iter();
                let found = devices.find(|found| found.device == device.device)?;
                Some((*trial, found))
            });
            let own: Vec<(&TrialRecord, &EstimatedDevice)> = own.collect();
            let pass = |pass: &EstimatedPass| {
                let published = theirs.seconds(cell, device, &pass.phase);
                of_pass(&pass.phase, &first.phase, &own, published)
            };
            self.rows.push(Row {
                cell: cell.id,
                label: label.to_owned(),
                reader: first.reader.clone(),
                stream: first.stream,
                device: device.device.clone(),
                n: own.len(),
                passes: device.passes.iter().map(pass).collect(),
            });
        }
    }

    /// Without published columns that are empty in all rows.
    fn without_empty_columns(&mut self) {
        let Some(beside) = &mut self.beside else {
            return;
        };
        let passes = || self.rows.iter().flat_map(|row| &row.passes);
        let used: Vec<bool> = (0..beside.columns.len())
            .map(|at| passes().any(|pass| pass.published_s.get(at).is_some_and(Option::is_some)))
            .collect();
        let mut at = used.iter();
        beside.columns.retain(|_| at.next() == Some(&true));
        for pass in self.rows.iter_mut().flat_map(|row| &mut row.passes) {
            let mut at = used.iter();
            pass.published_s.retain(|_| at.next() == Some(&true));
        }
        if beside.columns.is_empty() {
            self.beside = None;
        }
    }
}

/// Adds what is not there yet.
fn push_new<T: PartialEq>(all: &mut Vec<T>, new: T) {
    if !all.contains(&new) {
        all.push(new);
    }
}

fn of_device(device: &EstimatedDevice) -> Device {
    Device {
        name: device.device.clone(),
        stands_for: device.stands_for.clone(),
        assumed: device.assumed.clone(),
        fitted: device.fitted.clone(),
        studies: device.studies.clone(),
    }
}

/// Medians over the trials of one pass; the words of the trial in the middle.
fn of_pass(
    phase: &str,
    whole: &str,
    trials: &[(&TrialRecord, &EstimatedDevice)],
    published_s: Vec<Option<f64>>,
) -> Pass {
    let passes = trials.iter().filter_map(|(_, device)| device.pass(phase));
    let mut passes: Vec<&EstimatedPass> = passes.collect();
    let median = |of: &dyn Fn(&EstimatedPass) -> Option<f64>| {
        median(passes.iter().filter_map(|pass| of(pass)).collect())
    };
    let measured = trials.iter().filter_map(|(trial, _)| seconds(trial, phase));
    let this_run_s = self::median(measured.collect()).or_else(|| median(&|pass| pass.recorded_s));
    let modelled_s = median(&|pass| pass.modelled_s);
    let mut pass = Pass {
        phase: phase.to_owned(),
        name: name(phase, whole),
        requests: median(&|pass| Some(pass.requests as f64)).unwrap_or_default(),
        bytes: median(&|pass| Some(pass.bytes as f64)).unwrap_or_default(),
        this_run_s,
        modelled_s,
        modelled_low_s: median(&|pass| pass.modelled_low_s),
        modelled_high_s: median(&|pass| pass.modelled_high_s),
        modelled_ratio: ratio(modelled_s, this_run_s),
        modelled_busy_percent: median(&|pass| pass.modelled_busy_percent),
        modelled_idle_percent: median(&|pass| pass.modelled_idle_percent),
        limit: None,
        published_s,
    };
    passes.sort_by(|a, b| f64::total_cmp(&of_time(a), &of_time(b)));
    let middle = passes.get(passes.len().saturating_sub(1) / 2);
    pass.limit = middle.and_then(|pass| pass.limit.clone());
    pass
}

fn of_time(pass: &EstimatedPass) -> f64 {
    pass.modelled_s.unwrap_or(0.0)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| stats::order::median_mut(&mut values))
}

fn ratio(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    above.zip(below.filter(|s| *s > 0.0)).map(|(a, b)| a / b)
}

/// Seconds of a phase by the trial's own clock.
fn seconds(trial: &TrialRecord, phase: &str) -> Option<f64> {
    let mut samples = trial.samples.iter();
    let found = samples.find(|sample| {
        sample.phase == phase && sample.metric == "seconds" && sample.clock == Clock::Original
    });
    found.map(|sample| sample.value)
}

/// `all` or the pass.
fn name(phase: &str, whole: &str) -> String {
    let rest = phase.strip_prefix(whole);
    match rest.and_then(|rest| rest.strip_prefix("_pass_")) {
        Some(pass) => pass.to_owned(),
        None => "all".to_owned(),
    }
}

/// Where published numbers of a run come from.
struct Theirs<'a> {
    document: Option<&'static Published>,
    grids: &'a [Grid],
    /// Whether the cells are the readers of 2011.
    scans: bool,
}

impl<'a> Theirs<'a> {
    fn of(sources: &Sources<'_>, grids: &'a [Grid], cells: &[&Cell]) -> Theirs<'a> {
        Theirs {
            document: sources.published,
            grids,
            scans: cells.iter().any(|cell| scan::spec(cell).is_some()),
        }
    }

    fn beside(&self) -> Option<Beside> {
        let document = &self.document?.document;
        Some(if self.scans {
            Beside {
                document: document.short(),
                columns: vec!["16 Sep", "21 Sep"],
                note: "The volume of 16 September had 1.5 million files, that of 21 September 15 million: where this one has others, compare \
                       how the sets stand to each other, not seconds.",
            }
        } else {
            Beside {
                document: document.short(),
                columns: vec![""],
                note: "",
            }
        })
    }

    /// Published seconds of a phase of a cell, one for each column; none on a device that does not stand for that hardware.
    fn seconds(&self, cell: &Cell, device: &EstimatedDevice, phase: &str) -> Vec<Option<f64>> {
        let Some(published) = self.document else {
            return Vec::new();
        };
        let is_theirs = device.studies.contains(&published.document.doc);
        if self.scans {
            let found = scan::published_seconds(Some(published).filter(|_| is_theirs), cell, phase);
            return found.to_vec();
        }
        vec![is_theirs.then(|| self.in_grids(cell, phase)).flatten()]
    }

    /// The number that a grid has beside the seconds of a phase.
    fn in_grids(&self, cell: &Cell, phase: &str) -> Option<f64> {
        let panels = self.grids.iter().flat_map(|grid| &grid.panels);
        let places = panels.flat_map(|panel| {
            let lines = panel.lines.iter();
            lines.flat_map(|line| panel.columns.iter().zip(&line.places))
        });
        let mut figures = places.filter(|(head, place)| {
            head.phase == phase && head.metric == "seconds" && place.figure.cell == Some(cell.id)
        });
        figures.find_map(|(_, place)| Some(place.figure.published.as_ref()?.value))
    }
}
