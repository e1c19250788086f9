//! Something that is replayed on a device: the requests of a trace, or a program that recorded itself.

use device::replay::{
    self, Bound, Finished, Mark, Mode, Options, Place, Program, Requests as _, Responses, Sample,
    Sent, Structural,
};
use device::{Model, Nanoseconds, Op, Usage};

use crate::report::{Work, cannot_tell};
use crate::spool::Spooled;
use crate::trace::Source;

/// Requests that a sample has at least.
const SAMPLE: u32 = 1 << 15;
/// And at most: 18 MiB.
const LARGEST_SAMPLE: u32 = 1 << 18;
/// The part of a record that a sample is between these: sixteen replays of it cost a quarter of one replay of the record.
const PART: u32 = 64;

/// Requests in flight of the mode saturate, where no number is given.
pub const DEPTH: u32 = 32;

/// What is replayed.
#[derive(Clone, Debug)]
pub enum Job {
    /// A recorded trace.
    Record {
        /// In the order of submission.
        requests: Spooled,
        /// Which events they are.
        source: Source,
        /// How it is replayed.
        options: Options,
        /// Modes whose times are given beside that of its own, see [`modes_beside`].
        beside: Vec<Mode>,
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

/// Requests of a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) responses: Responses,
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
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) elapsed: Nanoseconds,
    /// How long each phase took; empty for a trace.
    pub(crate) phases: Vec<Nanoseconds>,
    /// What had been done when each phase ended.
    marks: Vec<Mark>,
    pub(crate) all: Part,
    pub(crate) parts: Vec<Part>,
    pub(crate) idle: Nanoseconds,
    pub(crate) bound: Bound,
    pub(crate) usage: Vec<Usage>,
    /// Most requests that were held at once.
    pub(crate) held: usize,
}

impl Outcome {
    /// What the device did in a phase.
    pub(crate) fn work(&self, phase: usize) -> Option<Work> {
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

    pub(crate) fn structural(&self) -> Structural {
        match self {
            Job::Record { requests, .. } => requests.outline().structural,
            Job::Program { program, .. } => program.structural(),
        }
    }

    pub(crate) fn run(&self, model: &mut dyn Model) -> Result<Outcome, replay::Error> {
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

    /// Stretches that stand for a long record.
    pub(crate) fn sample(&self) -> Result<Option<Sample>, replay::Error> {
        let Job::Record { requests, .. } = self else {
            return Ok(None);
        };
        let outline = requests.outline();
        Sample::of(
            &mut requests.reader(),
            outline,
            (outline.count / PART).clamp(SAMPLE, LARGEST_SAMPLE),
        )
    }

    /// When the last request of a record was submitted, ns since the first.
    pub(crate) fn last_submission(&self) -> Result<Nanoseconds, replay::Error> {
        let Job::Record { requests, .. } = self else {
            return Ok(0);
        };
        match requests.outline().count.checked_sub(1) {
            Some(last) => Ok(requests.reader().get(last)?.submitted),
            None => Ok(0),
        }
    }

    /// The time that a record takes, or stretches of it, ns: in its own mode where none is given.
    pub(crate) fn elapsed_in(
        &self,
        mode: Option<Mode>,
        sample: Option<&Sample>,
        model: &mut dyn Model,
    ) -> Result<Nanoseconds, replay::Error> {
        let Job::Record {
            requests, options, ..
        } = self
        else {
            return Ok(0);
        };
        let mode = mode.unwrap_or(options.mode);
        let options = Options { mode, ..*options };
        if let Some(sample) = sample {
            return sample.replay(model, options);
        }
        let (mut reader, outline) = (requests.reader(), requests.outline());
        let replayed =
            replay::replay_linked(model, &mut reader, outline, options, &mut |_, _, _| {})?;
        Ok(replayed.elapsed)
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
    let mut parts = ["reads", "writes", "flushes", "discards"].map(Part::named);
    let mut each = |request: Finished, submitted: Nanoseconds, done: Nanoseconds| {
        let part = match request.op {
            Op::Read => &mut parts[0],
            Op::Write => &mut parts[1],
            Op::Flush => &mut parts[2],
            Op::Discard => &mut parts[3],
        };
        part.add(request.len, done.saturating_sub(submitted));
    };
    let mut reader = requests.reader();
    let (reader, outline) = (&mut reader, requests.outline());
    let replayed = replay::replay_linked(model, reader, outline, options, &mut each)?;
    Ok(Outcome {
        elapsed: replayed.elapsed,
        phases: Vec::new(),
        marks: Vec::new(),
        all: Part {
            name: String::new(),
            requests: replayed.requests,
            bytes: replayed.bytes,
            responses: replayed.responses,
        },
        parts: parts.into_iter().filter(|part| part.requests > 0).collect(),
        idle: replayed.idle,
        bound: replayed.bound,
        usage: replayed.usage,
        held: replayed.most_held,
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
    let mut each = |sent: Sent, submitted: Nanoseconds, done: Nanoseconds| {
        let response = done.saturating_sub(submitted);
        all.add(sent.len, response);
        if let Some(part) = parts.get_mut(sent.phase) {
            part.add(sent.len, response);
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
        held: ran.most_held,
    })
}

impl Job {
    pub(crate) fn recorded_phase(&self, index: usize) -> Option<Nanoseconds> {
        match self {
            Job::Record { .. } => None,
            Job::Program { phases, .. } => phases.get(index).map(|(_, time)| *time),
        }
    }

    /// The modes that a report shows beside its own.
    pub(crate) fn other_modes(&self) -> &[Mode] {
        match self {
            Job::Record { beside, .. } => beside,
            Job::Program { .. } => &[],
        }
    }

    /// Requests in flight, where that is its mode.
    pub(crate) fn depth(&self) -> Option<u32> {
        match self {
            Job::Record {
                options:
                    Options {
                        mode: Mode::Saturate { depth },
                        ..
                    },
                ..
            } => Some(*depth),
            Job::Record { .. } | Job::Program { .. } => None,
        }
    }

    /// Bytes of the device that the requests need where they are.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Job::Record { requests, .. } => requests.outline().size,
            Job::Program { .. } => 0,
        }
    }

    /// Whether a device that does not keep up has more requests waiting than several replays at once should hold in memory.
    pub(crate) fn may_hold_all(&self) -> bool {
        match self {
            Job::Record {
                requests, options, ..
            } => options.mode == Mode::Open && requests.outline().count > 1 << 19,
            Job::Program { .. } => false,
        }
    }

    /// How requests are moved where they do not fit the device.
    pub(crate) fn place(&self) -> Option<&'static str> {
        let Job::Record { options, .. } = self else {
            return None;
        };
        match options.place {
            Place::Keep => None,
            Place::Scale => Some("scale"),
            Place::Wrap => Some("wrap"),
        }
    }

    /// The longest think time that was given, ms.
    pub(crate) fn think_limit_ms(&self) -> Option<f64> {
        let Job::Record {
            options:
                Options {
                    mode: Mode::Dependent { think_limit },
                    ..
                },
            ..
        } = self
        else {
            return None;
        };
        think_limit.map(|limit| limit as f64 / 1e6)
    }

    /// Which events of a trace it replays; a log of writes has none.
    pub(crate) fn source(&self) -> Option<Source> {
        match self {
            Job::Record {
                source,
                has_times: true,
                ..
            } => Some(*source),
            Job::Record { .. } | Job::Program { .. } => None,
        }
    }
}

/// The modes that a report gives beside `own`: where they agree, the mode does not matter.
pub fn modes_beside(own: Mode, think_limit: Option<Nanoseconds>, depth: u32) -> Vec<Mode> {
    let all = [
        Mode::Dependent { think_limit },
        Mode::Open,
        Mode::Saturate { depth },
    ];
    let is_other = |mode: &Mode| mode_name(*mode) != mode_name(own);
    all.into_iter().filter(is_other).collect()
}
