//! How long a trial's check would take on modelled devices, from its own requests.
//!
//! Nothing is slowed down: the check runs as it would without, and its requests are replayed when the trial is over and its device gone,
//! so that no clock of the trial runs meanwhile. `fslab check` and the readers of a `scan` record their requests themselves. e2fsck, xfs_repair and fsck.ocfs2
//! do not; a block trace of the trial has theirs, with what waited for what inferred. Without one there is no estimate, and the record
//! says why.
//!
//! An estimate that fails does not fail its trial: what was measured is as good without.

use std::path::PathBuf;

use blktrace::Trace;
use device::replay::{Mode, Options};
use device::{Catalogue, Variation};
use modelled::checker::Record;
use modelled::trace::{self, Source};
use modelled::{DeviceReport, Estimator, Job, Report, Row};
use record::{Estimate, EstimatedDevice, EstimatedPass, RunFolder, Stream};
use rundir::RunDir;
use study::EstimateSpec;

use crate::trial_trace::{Recorded, Spans};

/// What read the metadata of a trial, and what is known of its requests.
pub(crate) struct Requests {
    /// The phase of all of them: `check` or `scan`.
    pub(crate) phase: &'static str,
    /// What read.
    pub(crate) reader: String,
    /// Where they are.
    pub(crate) of: Of,
}

/// Where the requests of a reader are.
pub(crate) enum Of {
    /// Recorded in this process; or why they could not be kept.
    Memory(Result<Record, String>),
    /// In the file that the reader wrote, [`file`].
    File,
    /// The program records nothing.
    Program,
}

/// The folder of requests in a run's folder.
pub(crate) const FOLDER: &str = "reads";

/// The file of the requests of a phase, absolute: other programs write it.
pub(crate) fn file(folder: &RunDir, trial: u32, phase: &str) -> PathBuf {
    folder.path().join(RunFolder::reads_of(trial, phase))
}

/// What a trial has left to estimate from.
pub(crate) struct Left<'a> {
    /// The run's folder.
    pub(crate) folder: &'a RunDir,
    /// The trial's number.
    pub(crate) trial: u32,
    /// Bytes of its volume.
    pub(crate) volume: u64,
    /// Text of the user's devices file.
    pub(crate) devices_file: Option<&'a str>,
    /// Its block traces, if it was traced.
    pub(crate) traced: Option<&'a Recorded>,
    /// When its phases ran.
    pub(crate) spans: &'a Spans,
}

/// Why there is no estimate of a program without a trace.
const NO_TRACE: &str =
    "it does not record its requests, and the trial has no block trace of them (set trace = true)";

impl Left<'_> {
    /// The devices that fslab has, and those of the user's file.
    fn catalogue(&self) -> Result<Catalogue, device::Error> {
        match self.devices_file {
            Some(text) => Catalogue::with("the devices file", text),
            None => Catalogue::shipped(),
        }
    }

    /// The estimate of a check on the devices of `spec`.
    pub(crate) fn estimate(&self, spec: &EstimateSpec, requests: Requests) -> Estimate {
        let Requests { phase, reader, of } = requests;
        let none = Estimate {
            phase: phase.to_owned(),
            reader,
            stream: Stream::None,
            cpu: spec.cpu,
            runs: Estimator::default().runs,
            seed: Estimator::default().seed,
            ..Estimate::default()
        };
        let missing = |why: String| Estimate {
            missing: Some(why),
            ..none.clone()
        };
        let catalogue = match self.catalogue() {
            Ok(catalogue) => catalogue,
            Err(error) => return missing(error.to_string()),
        };
        let (spec, small) = self.holding(spec, &catalogue);
        let spec = &spec;
        let found = match of {
            Of::Memory(record) => record.and_then(|record| {
                self.keep(phase, &record)?;
                self.replayed(spec, &catalogue, phase, record)
            }),
            Of::File => Record::read(&file(self.folder, self.trial, phase))
                .map_err(|error| error.to_string())
                .and_then(|record| self.replayed(spec, &catalogue, phase, record)),
            Of::Program => self.traced(spec, &catalogue, phase),
        };
        match found {
            Ok(found) => {
                let mut found = Estimate {
                    phase: none.phase,
                    reader: none.reader,
                    ..found
                };
                for device in &mut found.devices {
                    let is_theirs = |study: &String| self.is_of(study, device, &catalogue);
                    device.studies = device
                        .studies
                        .iter()
                        .filter(|s| is_theirs(s))
                        .cloned()
                        .collect();
                }
                found.devices.extend(small);
                found
            }
            Err(why) => missing(why),
        }
    }

    /// The devices that hold the volume; and the others, which say why there is no estimate on them.
    fn holding(
        &self,
        spec: &EstimateSpec,
        catalogue: &Catalogue,
    ) -> (EstimateSpec, Vec<EstimatedDevice>) {
        let is_small = |name: &String| capacity(catalogue, name).is_some_and(|c| c < self.volume);
        let (small, large): (Vec<String>, Vec<String>) =
            spec.devices.iter().cloned().partition(is_small);
        let small = small.into_iter().map(|name| {
            let bytes = capacity(catalogue, &name).unwrap_or_default();
            EstimatedDevice {
                missing: Some(format!(
                    "has {}, and the volume {}",
                    words::bytes(bytes),
                    words::bytes(self.volume)
                )),
                device: name,
                ..EstimatedDevice::default()
            }
        });
        let spec = EstimateSpec {
            devices: large,
            ..spec.clone()
        };
        (spec, small.collect())
    }

    /// Whether a study's results for a volume of this size were measured on a device: of several devices that stand for its hardware,
    /// the smallest that holds the volume.
    fn is_of(&self, study: &str, device: &EstimatedDevice, catalogue: &Catalogue) -> bool {
        let holds = |found: &device::Device| {
            let bytes = capacity(catalogue, &found.name)?;
            let of_study = found.studies.iter().any(|own| own == study);
            (of_study && bytes >= self.volume).then_some(bytes)
        };
        let smallest = catalogue.devices().filter_map(holds).min();
        smallest == capacity(catalogue, &device.device)
    }

    /// Keeps the requests of a reader in this process, for replays on other devices.
    fn keep(&self, phase: &str, record: &Record) -> Result<(), String> {
        let unkept = |error: String| format!("its requests could not be kept: {error}");
        let file = self.folder.create(RunFolder::reads_of(self.trial, phase));
        let mut file = file.map_err(|error| unkept(error.to_string()))?;
        record.write(&mut file).map_err(|error| {
            let path = self::file(self.folder, self.trial, phase);
            unkept(format!("{}: {error}", path.display()))
        })
    }

    fn replayed(
        &self,
        spec: &EstimateSpec,
        catalogue: &Catalogue,
        phase: &str,
        record: Record,
    ) -> Result<Estimate, String> {
        if record.entries.is_empty() {
            return Err("it read nothing".to_owned());
        }
        let passes: Vec<String> = record.passes.iter().map(|pass| pass.name.clone()).collect();
        let job = record.job(spec.cpu).map_err(|error| error.to_string())?;
        let report = report(catalogue, spec, &job, Vec::new())?;
        let mut estimate = of_report(&report, |index| match index {
            0 => phase.to_owned(),
            index => {
                let pass = passes.get(index - 1).map_or("", String::as_str);
                format!("{phase}_pass_{pass}")
            }
        });
        estimate.stream = Stream::OwnRecord;
        estimate.file = Some(RunFolder::reads_of(self.trial, phase));
        Ok(estimate)
    }

    /// From the trace of the filesystem's device: the whole check, and each of its passes by itself.
    fn traced(
        &self,
        spec: &EstimateSpec,
        catalogue: &Catalogue,
        phase: &str,
    ) -> Result<Estimate, String> {
        let (path, base) = self
            .traced
            .and_then(Recorded::of_filesystem)
            .ok_or(NO_TRACE)?;
        let whole = self.spans.of(phase).ok_or(NO_TRACE)?;
        let open = || Trace::open(&path).map_err(modelled::Error::from);
        let suiting = Source::suiting(catalogue, &spec.devices);
        let suiting = suiting.map_err(|error| error.to_string())?;
        let record = trace::read_either(open, suiting, None, Some(whole));
        let record = record.map_err(|error| error.to_string())?;
        let source = record.source;
        let mut estimate = of_record(catalogue, spec, record, phase)?;
        for (name, window) in self.spans.passes_of(phase) {
            let read = open().and_then(|mut trace| trace::read_within(&mut trace, source, window));
            // A pass without requests has nothing to replay.
            let Ok(record) = read else { continue };
            let pass = of_record(catalogue, spec, record, name)?;
            for (device, of_pass) in estimate.devices.iter_mut().zip(pass.devices) {
                device.passes.extend(of_pass.passes);
            }
        }
        estimate.stream = Stream::BlockTrace;
        estimate.file = Some(base);
        Ok(estimate)
    }
}

/// The estimate of requests of a trace, its first row under this name.
fn of_record(
    catalogue: &Catalogue,
    spec: &EstimateSpec,
    record: trace::Record,
    name: &str,
) -> Result<Estimate, String> {
    let mode = Mode::Dependent { think_limit: None };
    let job = Job::Record {
        requests: record.requests,
        source: record.source,
        options: Options {
            cpu: spec.cpu,
            ..Options::new(mode)
        },
        beside: modelled::modes_beside(mode, None, modelled::DEPTH),
        has_times: true,
    };
    let report = report(catalogue, spec, &job, record.doubts)?;
    let mut estimate = of_report(&report, |_| name.to_owned());
    for device in &mut estimate.devices {
        // The others are kinds of requests.
        device.passes.truncate(1);
    }
    Ok(estimate)
}

fn capacity(catalogue: &Catalogue, name: &str) -> Option<u64> {
    let model = catalogue.model(name, Variation::Nominal).ok()?;
    Some(model.capacity())
}

fn report(
    catalogue: &Catalogue,
    spec: &EstimateSpec,
    job: &Job,
    doubts: Vec<String>,
) -> Result<Report, String> {
    Estimator::default()
        .report(catalogue, &spec.devices, String::new(), job, doubts)
        .map_err(|error| error.to_string())
}

/// A report as the record has it; `phase` names its rows.
fn of_report(report: &Report, phase: impl Fn(usize) -> String) -> Estimate {
    Estimate {
        mode: report.mode.to_owned(),
        cannot_tell: report.cannot_tell.to_owned(),
        cpu: report.cpu,
        runs: report.runs,
        seed: report.seed,
        doubts: report.doubts.clone(),
        devices: report
            .devices
            .iter()
            .map(|device| of_device(device, &phase))
            .collect(),
        ..Estimate::default()
    }
}

fn of_device(device: &DeviceReport, phase: &impl Fn(usize) -> String) -> EstimatedDevice {
    let mut passes: Vec<EstimatedPass> = device
        .rows
        .iter()
        .enumerate()
        .map(|(index, row)| of_row(row, phase(index)))
        .collect();
    if let Some(whole) = passes.first_mut() {
        whole.modelled_busy_percent = Some(device.modelled_busy_percent);
        whole.modelled_idle_percent = Some(device.modelled_idle_percent);
        whole.limit = Some(device.limit.clone());
    }
    let others = device.modelled_other_modes_s.iter();
    EstimatedDevice {
        device: device.device.clone(),
        stands_for: device.stands_for.clone(),
        studies: device.studies.clone(),
        missing: None,
        members: device.members as u64,
        passes,
        modelled_hits: device.modelled_hits,
        modelled_members_busy_percent: device.modelled_members_busy_percent,
        modelled_other_modes_s: others
            .map(|(mode, seconds)| ((*mode).to_owned(), *seconds))
            .collect(),
        assumed: device.assumed.clone(),
        fitted: device.fitted.clone(),
    }
}

fn of_row(row: &Row, phase: String) -> EstimatedPass {
    let modelled = &row.modelled;
    EstimatedPass {
        phase,
        requests: row.requests,
        bytes: row.bytes,
        recorded_s: row.recorded_s,
        modelled_s: modelled.seconds,
        modelled_low_s: modelled.low_s,
        modelled_high_s: modelled.high_s,
        modelled_nominal_s: modelled.nominal_s,
        modelled_ratio: modelled.ratio,
        modelled_response_ms: [
            modelled.mean_ms,
            modelled.p50_ms,
            modelled.p95_ms,
            modelled.p99_ms,
        ],
        modelled_busy_percent: modelled.busy_percent,
        modelled_idle_percent: modelled.idle_percent,
        limit: modelled.limit.clone(),
    }
}

#[cfg(test)]
mod tests;
