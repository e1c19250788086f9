//! Replays a job as often as its interval needs.
//!
//! For each device there are the nominal replay, those in other modes, and those with drawn figures. They do not need each other, so as
//! many threads take them as there are processors. Of a long record only the nominal replay is of the whole; the others are of stretches
//! ([`Sample`]), and sixteen of them cost a quarter of it.

use std::sync::{Mutex, PoisonError};

use device::replay::{Estimate, Mode, RUNS, Sample, seed_of_run};
use device::{Catalogue, Nanoseconds, Variation};

use crate::error::Error;
use crate::job::{Job, Outcome, Part, mode_name};
use crate::report::{DeviceReport, Facts, Modelled, Report, Row, Spent};

/// How devices are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimator {
    /// Runs with drawn figures; at least 1.
    pub runs: u32,
    /// Where chance begins.
    pub seed: u64,
    /// Whether each run replays all of a long record, and not stretches of it.
    pub whole: bool,
}

impl Default for Estimator {
    fn default() -> Estimator {
        Estimator {
            runs: RUNS,
            seed: 1,
            whole: false,
        }
    }
}

impl Estimator {
    /// How long a job takes on each of these devices. `subject` is what it is, `doubts` what speaks against its record.
    ///
    /// # Errors
    /// As [`Estimator::estimate`].
    pub fn report(
        self,
        catalogue: &Catalogue,
        names: &[String],
        subject: String,
        job: &Job,
        doubts: Vec<String>,
    ) -> Result<Report, Error> {
        let sample = self.sample(job)?;
        let sample = sample.as_ref();
        let devices = names
            .iter()
            .map(|name| self.estimate_by(sample, catalogue, name, job))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut moves = false;
        for name in names {
            let capacity = catalogue.model(name, Variation::Nominal)?.capacity();
            moves |= job.size() > capacity;
        }
        Ok(Report {
            timing: "modelled",
            subject,
            mode: job.mode(),
            from: job.source(),
            depth: job.depth(),
            place: job.place().filter(|_| moves),
            think_limit_ms: job.think_limit_ms(),
            live: false,
            answers: None,
            cannot_tell: job.cannot_tell(),
            cpu: job.cpu(),
            runs: self.runs,
            seed: self.seed,
            sampled: sample.map(Sample::count),
            commands: 0,
            doubts,
            devices,
        })
    }

    /// How long a job takes on a device.
    ///
    /// # Errors
    /// There is no such device, or a request does not fit it.
    pub fn estimate(
        self,
        catalogue: &Catalogue,
        name: &str,
        job: &Job,
    ) -> Result<DeviceReport, Error> {
        let sample = self.sample(job)?;
        self.estimate_by(sample.as_ref(), catalogue, name, job)
    }

    fn sample(self, job: &Job) -> Result<Option<Sample>, Error> {
        if self.whole {
            return Ok(None);
        }
        job.sample().map_err(Error::Kept)
    }

    fn estimate_by(
        self,
        sample: Option<&Sample>,
        catalogue: &Catalogue,
        name: &str,
        job: &Job,
    ) -> Result<DeviceReport, Error> {
        let device = catalogue.device(name)?.into_owned();
        let Replays {
            nominal,
            drawn,
            others,
        } = self.replays(sample, catalogue, name, job)?;
        let structural = job.structural();
        let seconds = |times: Vec<Nanoseconds>| -> Estimate {
            let times: Vec<f64> = times.into_iter().map(|ns| ns as f64 / 1e9).collect();
            Estimate::of(&times, structural)
        };
        let whole = seconds(drawn.iter().map(|run| run.elapsed).collect());
        let phase = |index: usize| {
            let of = |run: &Timed| run.phases.get(index).copied();
            let times: Vec<Nanoseconds> = drawn.iter().filter_map(of).collect();
            (!times.is_empty()).then(|| seconds(times))
        };
        let mut rows = vec![row(
            name,
            &nominal.all,
            Some((whole, nominal.elapsed)),
            job.recorded(),
        )];
        for (index, part) in nominal.parts.iter().enumerate() {
            let timed = phase(index).zip(nominal.phases.get(index).copied());
            let mut row = row(&part.name, part, timed, job.recorded_phase(index));
            if let Some(work) = nominal.work(index) {
                row.modelled.set_work(&work, job.mode());
            }
            rows.push(row);
        }
        let response = nominal.all.responses.mean() * nominal.all.requests as f64;
        Ok(DeviceReport::new(
            catalogue,
            &device,
            Facts {
                rows,
                spent: Spent::of(&nominal.usage, response, nominal.idle),
                elapsed: nominal.elapsed,
                idle: nominal.idle,
                usage: nominal.usage,
                bound: nominal.bound,
                held: nominal.held,
                others,
                mode: job.mode(),
            },
        ))
    }

    /// All replays of a job on a device.
    fn replays(
        self,
        sample: Option<&Sample>,
        catalogue: &Catalogue,
        name: &str,
        job: &Job,
    ) -> Result<Replays, Error> {
        // The longest first, so that they end at about the same time.
        let mut tasks = vec![Task::Nominal];
        tasks.extend(sample.map(Task::Sampled));
        let others = job.other_modes().iter();
        tasks.extend(others.map(|mode| Task::Other(*mode, sample)));
        let drawn = (0..u64::from(self.runs.max(1))).map(|run| seed_of_run(self.seed, run));
        tasks.extend(drawn.map(|seed| Task::Drawn(seed, sample)));
        let threads = if sample.is_none() && job.may_hold_all() {
            1
        } else {
            std::thread::available_parallelism().map_or(1, usize::from)
        };
        let results = in_threads(&tasks, threads, |task| task.run(catalogue, name, job));
        let mut replays = Replays::default();
        let last = job.last_submission().map_err(Error::Kept)?;
        let mut nominal_sample = None;
        for (task, result) in tasks.iter().zip(results) {
            let result = result?;
            // From a time of stretches to one of the whole, which in the mode open is not over before its last request.
            let nominal = replays.nominal.elapsed;
            let whole = |ns: Nanoseconds, mode: &str| match nominal_sample {
                Some(sampled) => {
                    let scaled = (nominal as f64 * ns as f64 / sampled as f64) as Nanoseconds;
                    scaled.max(if mode == "open" { last } else { 0 })
                }
                None => ns,
            };
            match (task, result) {
                (Task::Nominal, Done::Whole(outcome)) => replays.nominal = *outcome,
                (Task::Sampled(_), Done::Taken(ns)) => nominal_sample = Some(ns.max(1)),
                (Task::Other(mode, _), Done::Taken(ns)) => {
                    let name = mode_name(*mode);
                    replays.others.push((name, whole(ns, name) as f64 / 1e9));
                }
                (Task::Drawn(..), Done::Whole(outcome)) => replays.drawn.push(Timed {
                    elapsed: outcome.elapsed,
                    phases: outcome.phases,
                }),
                (Task::Drawn(..), Done::Taken(ns)) => replays.drawn.push(Timed {
                    elapsed: whole(ns, job.mode()),
                    phases: Vec::new(),
                }),
                (Task::Nominal, Done::Taken(_))
                | (Task::Other(..) | Task::Sampled(_), Done::Whole(_)) => {}
            }
        }
        Ok(replays)
    }
}

/// A replay of a job.
enum Task<'a> {
    /// With the figures of the device file.
    Nominal,
    /// With these, in another mode, of stretches if there are such.
    Other(Mode, Option<&'a Sample>),
    /// With these, of stretches: what the next is compared with.
    Sampled(&'a Sample),
    /// With figures drawn from a seed, of stretches if there are such.
    Drawn(u64, Option<&'a Sample>),
}

/// What a replay gave.
enum Done {
    Whole(Box<Outcome>),
    /// How long it took, ns.
    Taken(Nanoseconds),
}

impl Task<'_> {
    fn run(&self, catalogue: &Catalogue, name: &str, job: &Job) -> Result<Done, Error> {
        let variation = match self {
            Task::Drawn(seed, _) => Variation::Drawn(*seed),
            Task::Nominal | Task::Other(..) | Task::Sampled(_) => Variation::Nominal,
        };
        let mut model = catalogue.model(name, variation)?;
        let model = &mut *model;
        let done = match self {
            Task::Nominal | Task::Drawn(_, None) => {
                job.run(model).map(|outcome| Done::Whole(Box::new(outcome)))
            }
            Task::Other(mode, sample) => {
                job.elapsed_in(Some(*mode), *sample, model).map(Done::Taken)
            }
            Task::Sampled(sample) | Task::Drawn(_, Some(sample)) => {
                job.elapsed_in(None, Some(sample), model).map(Done::Taken)
            }
        };
        done.map_err(|source| Error::Replay {
            device: name.to_owned(),
            source,
        })
    }
}

/// All replays of a job on a device.
#[derive(Default)]
struct Replays {
    nominal: Outcome,
    drawn: Vec<Timed>,
    /// Seconds in other modes, by their names.
    others: Vec<(&'static str, f64)>,
}

/// The times of a run with drawn figures.
#[derive(Clone, Debug)]
struct Timed {
    elapsed: Nanoseconds,
    phases: Vec<Nanoseconds>,
}

/// What `work` gives for each item, in order, by a number of threads.
fn in_threads<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let next = Mutex::new(items.iter().zip(&results));
    blockio::for_each_in_threads(0..threads.min(items.len()), |_| {
        loop {
            let item = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((item, result)) = item else { return };
            let done = work(item);
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        }
    });
    let value =
        |result: Mutex<Option<R>>| result.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().filter_map(value).collect()
}

fn row(
    name: &str,
    part: &Part,
    timed: Option<(Estimate, Nanoseconds)>,
    recorded: Option<Nanoseconds>,
) -> Row {
    let recorded = recorded.map(|ns| ns as f64 / 1e9);
    let ms = |ns: u64| ns as f64 / 1e6;
    let seconds = timed.map(|(estimate, _)| estimate.median);
    Row {
        name: name.to_owned(),
        requests: part.requests,
        bytes: part.bytes,
        recorded_s: recorded,
        modelled: Modelled {
            seconds,
            low_s: timed.map(|(estimate, _)| estimate.low),
            high_s: timed.map(|(estimate, _)| estimate.high),
            nominal_s: timed.map(|(_, nominal)| nominal as f64 / 1e9),
            ratio: seconds
                .zip(recorded.filter(|r| *r > 0.0))
                .map(|(m, r)| m / r),
            mean_ms: part.responses.mean() / 1e6,
            p50_ms: ms(part.responses.quantile(0.5)),
            p95_ms: ms(part.responses.quantile(0.95)),
            p99_ms: ms(part.responses.quantile(0.99)),
            busy_percent: None,
            idle_percent: None,
            limit: None,
        },
    }
}
