//! Something that is replayed on a device, as often as its interval needs.

use device::replay::{
    self, Bound, Estimate, Kept, Mark, Mode, Options, Program, RUNS, Responses, Structural,
    seed_of_run,
};
use device::{Catalogue, Model, Nanoseconds, Op, Usage, Variation};

use crate::error::Error;
use crate::report::{DeviceReport, Facts, Modelled, Report, Row, Spent, Work, cannot_tell};
use crate::spool::Spooled;

/// What is replayed.
#[derive(Clone, Debug)]
pub enum Job {
    /// A recorded trace.
    Record {
        /// In the order of submission.
        requests: Spooled,
        /// How it is replayed.
        options: Options,
        /// Whether it has times, without which there is no mode but saturate.
        has_times: bool,
    },
    /// Threads of a program that recorded itself.
    Program {
        /// What they did.
        program: Program,
        /// Names of its phases, with the time that each took where it was recorded, ns.
        phases: Vec<(String, Nanoseconds)>,
        /// Factor of processor times.
        cpu: f64,
    },
}

/// How devices are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimator {
    /// Runs with drawn figures; at least 1.
    pub runs: u32,
    /// Where chance begins.
    pub seed: u64,
}

impl Default for Estimator {
    fn default() -> Estimator {
        Estimator {
            runs: RUNS,
            seed: 1,
        }
    }
}

/// Requests of a row.
#[derive(Clone, Debug, Default)]
struct Part {
    name: String,
    requests: u64,
    bytes: u64,
    responses: Responses,
}

impl Part {
    fn named(name: &str) -> Part {
        Part {
            name: name.to_owned(),
            ..Part::default()
        }
    }

    fn add(&mut self, bytes: u64, response: Nanoseconds) {
        self.requests += 1;
        self.bytes += bytes;
        self.responses.add(response);
    }
}

/// One replay.
struct Outcome {
    elapsed: Nanoseconds,
    /// How long each phase took; empty for a trace.
    phases: Vec<Nanoseconds>,
    /// What had been done when each phase ended.
    marks: Vec<Mark>,
    all: Part,
    parts: Vec<Part>,
    idle: Nanoseconds,
    bound: Bound,
    usage: Vec<Usage>,
}

impl Outcome {
    /// What the device did in a phase.
    fn work(&self, phase: usize) -> Option<Work> {
        let mark = self.marks.get(phase)?;
        let none = Mark::default();
        let before = match phase.checked_sub(1) {
            Some(before) => self.marks.get(before)?,
            None => &none,
        };
        Some(Work::between(before, mark, *self.phases.get(phase)?))
    }
}

impl Job {
    /// How long the job took where it was recorded, ns; none where completions are missing.
    pub fn recorded(&self) -> Option<Nanoseconds> {
        match self {
            Job::Record { requests, .. } => requests.outline().recorded,
            Job::Program { phases, .. } => Some(phases.iter().map(|(_, time)| time).sum()),
        }
    }

    /// How it is replayed, as a word of the command line.
    pub fn mode(&self) -> &'static str {
        match self {
            Job::Program { .. } => "program",
            Job::Record { options, .. } => mode_name(options.mode),
        }
    }

    /// Factor of processor times.
    pub fn cpu(&self) -> f64 {
        match self {
            Job::Program { cpu, .. } => *cpu,
            Job::Record { options, .. } => options.cpu,
        }
    }

    /// What it cannot tell, in words that follow `This cannot tell`.
    pub fn cannot_tell(&self) -> &'static str {
        match self {
            Job::Record {
                has_times: false, ..
            } => {
                "anything about reads, of which a log of writes has none, or about a host: the log has no times, and this is \
                 the bound of the device for its writes"
            }
            Job::Record { .. } | Job::Program { .. } => cannot_tell(self.mode()),
        }
    }

    fn structural(&self) -> Structural {
        match self {
            Job::Record { requests, .. } => requests.outline().structural,
            Job::Program { program, .. } => program.structural(),
        }
    }

    fn run(&self, model: &mut dyn Model) -> Result<Outcome, replay::Error> {
        match self {
            Job::Record {
                requests, options, ..
            } => run_record(requests, *options, model),
            Job::Program {
                program,
                phases,
                cpu,
            } => run_program(program, phases, *cpu, model),
        }
    }

    /// The time that the requests alone take in another mode, s.
    fn elapsed_in(&self, mode: Mode, model: &mut dyn Model) -> Result<Option<f64>, replay::Error> {
        let Job::Record {
            requests, options, ..
        } = self
        else {
            return Ok(None);
        };
        let options = Options { mode, ..*options };
        let mut each = |_: &Kept, _, _| {};
        let mut reader = requests.reader();
        let (reader, outline) = (&mut reader, requests.outline());
        let replayed = replay::replay_linked(model, reader, outline, options, &mut each)?;
        Ok(Some(replayed.elapsed as f64 / 1e9))
    }
}

/// The word for a mode.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Open => "open",
        Mode::Closed => "closed",
        Mode::Dependent { .. } => "dependent",
        Mode::Saturate { .. } => "saturate",
    }
}

fn run_record(
    requests: &Spooled,
    options: Options,
    model: &mut dyn Model,
) -> Result<Outcome, replay::Error> {
    let mut all = Part::default();
    let mut parts = ["reads", "writes", "flushes", "discards"].map(Part::named);
    let mut each = |request: &Kept, submitted: Nanoseconds, done: Nanoseconds| {
        let part = match request.op {
            Op::Read => &mut parts[0],
            Op::Write => &mut parts[1],
            Op::Flush => &mut parts[2],
            Op::Discard => &mut parts[3],
        };
        part.add(request.len, done.saturating_sub(submitted));
        all.add(request.len, done.saturating_sub(submitted));
    };
    let mut reader = requests.reader();
    let (reader, outline) = (&mut reader, requests.outline());
    let replayed = replay::replay_linked(model, reader, outline, options, &mut each)?;
    Ok(Outcome {
        elapsed: replayed.elapsed,
        phases: Vec::new(),
        marks: Vec::new(),
        all,
        parts: parts.into_iter().filter(|part| part.requests > 0).collect(),
        idle: replayed.idle,
        bound: replayed.bound,
        usage: replayed.usage,
    })
}

fn run_program(
    program: &Program,
    phases: &[(String, Nanoseconds)],
    cpu: f64,
    model: &mut dyn Model,
) -> Result<Outcome, replay::Error> {
    let mut all = Part::default();
    let mut parts: Vec<Part> = phases.iter().map(|(name, _)| Part::named(name)).collect();
    let of = program.phases_of_requests();
    let mut each = |index: usize, submitted: Nanoseconds, done: Nanoseconds| {
        let len = program.requests()[index].len;
        let response = done.saturating_sub(submitted);
        all.add(len, response);
        if let Some(part) = parts.get_mut(of[index] as usize) {
            part.add(len, response);
        }
    };
    let ran = program.run(model, cpu, &mut each)?;
    let mut begin = 0;
    let mut taken = Vec::with_capacity(ran.ends.len());
    for end in &ran.ends {
        taken.push(end.saturating_sub(begin));
        begin = *end;
    }
    Ok(Outcome {
        elapsed: begin,
        phases: taken,
        marks: ran.marks,
        all,
        parts,
        idle: ran.idle,
        bound: Bound::default(),
        usage: ran.usage,
    })
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
        let devices = names
            .iter()
            .map(|name| self.estimate(catalogue, name, job))
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(Report {
            timing: "modelled",
            subject,
            mode: job.mode(),
            cannot_tell: job.cannot_tell(),
            cpu: job.cpu(),
            runs: self.runs,
            seed: self.seed,
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
        let failed = |source| Error::Replay {
            device: name.to_owned(),
            source,
        };
        let device = catalogue.device(name)?.into_owned();
        let mut model = catalogue.model(name, Variation::Nominal)?;
        let nominal = job.run(&mut *model).map_err(failed)?;
        let drawn = self.drawn(catalogue, name, job)?;
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
        let mut others = Vec::new();
        for mode in job.other_modes() {
            let mut model = catalogue.model(name, Variation::Nominal)?;
            if let Some(seconds) = job.elapsed_in(mode, &mut *model).map_err(failed)? {
                others.push((mode_name(mode), seconds));
            }
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
                others,
                mode: job.mode(),
            },
        ))
    }

    /// The times of all runs, computed by as many threads as there are processors.
    fn drawn(self, catalogue: &Catalogue, name: &str, job: &Job) -> Result<Vec<Timed>, Error> {
        let runs: Vec<u64> = (0..u64::from(self.runs.max(1))).collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let results = std::sync::Mutex::new(vec![None; runs.len()]);
        let next = std::sync::atomic::AtomicUsize::new(0);
        let work = |_: usize| {
            loop {
                let run = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if run >= runs.len() {
                    return;
                }
                let result = self.one(catalogue, name, job, run as u64);
                let mut results = results
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                results[run] = Some(result);
            }
        };
        blockio::for_each_in_threads(0..threads.min(runs.len()), work);
        let results = results
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let results: Result<Vec<Timed>, String> = results.into_iter().flatten().collect();
        // The nominal replay, which came before, has the same requests and sizes.
        results.map_err(Error::Record)
    }

    fn one(self, catalogue: &Catalogue, name: &str, job: &Job, run: u64) -> Result<Timed, String> {
        let variation = Variation::Drawn(seed_of_run(self.seed, run));
        let mut model = catalogue
            .model(name, variation)
            .map_err(|e| e.to_string())?;
        let outcome = job.run(&mut *model).map_err(|e| e.to_string())?;
        Ok(Timed {
            elapsed: outcome.elapsed,
            phases: outcome.phases,
        })
    }
}

/// The times of a run with drawn figures.
#[derive(Clone, Debug)]
struct Timed {
    elapsed: Nanoseconds,
    phases: Vec<Nanoseconds>,
}

impl Job {
    fn recorded_phase(&self, index: usize) -> Option<Nanoseconds> {
        match self {
            Job::Record { .. } => None,
            Job::Program { phases, .. } => phases.get(index).map(|(_, time)| *time),
        }
    }

    /// The modes that a report shows beside its own.
    fn other_modes(&self) -> Vec<Mode> {
        let Job::Record {
            options,
            has_times: true,
            ..
        } = self
        else {
            return Vec::new();
        };
        let all = [
            Mode::Dependent { think_limit: None },
            Mode::Open,
            Mode::Saturate { depth: 32 },
        ];
        let is_other = |mode: &Mode| mode_name(*mode) != mode_name(options.mode);
        all.into_iter().filter(is_other).collect()
    }
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
