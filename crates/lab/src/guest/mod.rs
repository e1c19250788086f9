//! Trials in a guest kernel: a machine for each, gone before the next.
//!
//! A guest is made anew for every trial, so no trial sees what another left in memory, and boots in
//! two seconds. Before the first trial one guest takes its own context record; that boot also
//! shows whether the machine works at all, and, where the processor promises KVM, whether
//! it keeps the promise: if nothing is heard of init in ten seconds, the run goes on under TCG
//! and says so.
//!
//! The trial's last event is held back until the guest has said its own last line and every file is
//! kept: what a machine that died half-way has said does not make a whole trial.
//!
//! The clock of a guest runs, but what it times is an emulated processor or a disk behind two kernels. So
//! the run's context says `emulated`, reports mark every time with it, and none is compared with
//! a host's. Counts, layouts, traces and verdicts of checkers are as true as anywhere.

mod disks;
mod image;
mod inside;
mod job;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use guest::machine::{self, Accelerator, Disk, Engine, Limits, Machine};
use probe::context::{ContextRecord, Item};
use record::{Event, FailureKind, Ledger, Reference, RunFolder};
use serde_json::Value;
use study::{Plan, Trial};
use workload::Progress;

use self::image::Image;
use self::job::{Job, Said};
use crate::error::Error;
use crate::executor::{Emit, Executor, Failure, Surroundings};
use crate::interrupt::Interrupt;
use crate::target::{GuestMachine, GuestTarget};
use crate::watch::Watcher;

pub use inside::be_guest;

/// How long KVM has to show that it works.
const KVM_PROOF: Duration = Duration::from_secs(10);
/// A trial's limit: so long, and so many times its estimate on a host's disk.
const LEAST_LIMIT: Duration = Duration::from_secs(600);
const SLOWER: f64 = 60.0;

/// Whether guests of this plan can run here at all: programs, a kernel, and what the plan needs of
/// it.
///
/// # Errors
/// The first thing missing, and where it comes from.
pub fn preflight(target: &GuestTarget, plan: &Plan) -> Result<(), Error> {
    engine(target.machine, Accelerator::Tcg)
        .present()
        .map_err(Error::Guest)?;
    image::check(target, plan)
}

fn engine(machine: GuestMachine, accelerator: Accelerator) -> Engine {
    match machine {
        GuestMachine::Uml => Engine::Uml,
        GuestMachine::Qemu => Engine::Qemu(accelerator),
    }
}

/// Runs trials in guest kernels.
pub struct GuestExecutor<'a> {
    target: GuestTarget,
    engine: Engine,
    image: Image,
    limit: Duration,
    folder: PathBuf,
    images: PathBuf,
    context: Option<ContextRecord>,
    watcher: &'a dyn Watcher,
    interrupt: &'a Interrupt,
}

impl<'a> GuestExecutor<'a> {
    /// Finds the kernel and puts together what guests of this plan start from.
    ///
    /// # Errors
    /// When there is no such kernel, or something cannot be put together.
    pub fn open(
        target: &GuestTarget,
        plan: &Plan,
        folder: &RunFolder,
        watcher: &'a dyn Watcher,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Error> {
        let accelerator = Accelerator::promised();
        Ok(GuestExecutor {
            engine: engine(target.machine, accelerator),
            target: target.clone(),
            image: Image::of(target, plan)?,
            limit: limit(plan),
            folder: folder.dir().to_owned(),
            images: folder.images(),
            context: None,
            watcher,
            interrupt,
        })
    }

    /// Boots a machine with a job and hands on what it says.
    fn boot(
        &self,
        job: &Job,
        disks: Vec<Disk>,
        console: &str,
        heard: &mut dyn FnMut(Said) -> bool,
    ) -> Result<machine::Ended, machine::Error> {
        let first_line = match self.engine {
            Engine::Qemu(Accelerator::Kvm) if self.context.is_none() => KVM_PROOF,
            _ => Limits::default().first_line,
        };
        let machine = Machine {
            engine: self.engine,
            kernel: self.image.kernel.clone(),
            initramfs: self.image.with_job(job)?,
            memory: self.image.memory,
            cpus: self.image.cpus,
            disks,
            append: Vec::new(),
            limits: Limits {
                first_line,
                whole: self.limit,
                ..Limits::default()
            },
            console: self.folder.join(console),
            files: self.folder.clone(),
        };
        let mut strange = false;
        let mut hear = |said: Value| {
            if let Ok(said) = serde_json::from_value(said) {
                heard(said)
            } else {
                strange = true;
                false
            }
        };
        let interrupt = self.interrupt;
        let ended = machine.run(&mut hear, &|| interrupt.is_raised());
        if strange {
            let why = "a line of another fslab; is the initramfs of this build?";
            return Err(machine::Error::Garbled {
                source: std::io::Error::other(why),
                console: self.folder.join(console),
            });
        }
        ended
    }

    fn take_context(&self, around: &Surroundings) -> Result<ContextRecord, machine::Error> {
        let mut record = None;
        let job = Job::Context {
            around: Box::new(around.clone()),
        };
        let mut hear = |said| {
            if let Said::Context(taken) = said {
                record = Some(*taken);
            }
            true
        };
        let console = "guests/context.console";
        let ended = self.boot(&job, Vec::new(), console, &mut hear)?;
        record.ok_or_else(|| machine::Error::Died {
            status: format!("code {}", ended.code),
            began: true,
            console: self.folder.join(console),
            last: ended.last,
        })
    }

    /// Adds what the guest cannot know of itself.
    fn describe(&self, record: &mut ContextRecord) {
        let accelerator = match self.engine {
            Engine::Uml => "none",
            Engine::Qemu(accelerator) => accelerator.name(),
        };
        let host = rustix::system::uname();
        let host = host.release().to_string_lossy().into_owned();
        for (name, value) in [
            ("run.executor", self.target.machine.name()),
            ("run.accelerator", accelerator),
            ("run.timing", timing(self.engine)),
            ("run.host_kernel", &host),
        ] {
            let item = Item {
                number: 50,
                value: value.into(),
                source: "the lab".into(),
                reason: None,
                volatile: false,
            };
            record.items.insert(name.into(), item);
        }
    }

    fn attempt(&self, trial: &Trial, emit: &mut Emit<'_>) -> Result<Event, Stopped> {
        let disks = self.disks(trial)?;
        let job = Job::Trial {
            trial: Box::new(trial.clone()),
            context: self.context.clone().map(Box::new),
            serials: disks::serials(&disks),
        };
        let (mut finished, mut failed) = (None, None);
        let mut hear = |said| match said {
            // Held back until the guest is whole.
            Said::Event(event) if matches!(*event, Event::TrialFinished { .. }) => {
                finished = Some(*event);
                true
            }
            Said::Event(event) => emit(*event),
            Said::Failed {
                kind,
                message,
                ledger,
            } => {
                failed = Some(Stopped {
                    kind,
                    message,
                    ledger,
                });
                true
            }
            Said::Context(_) => true,
            other => {
                self.show(trial, &other);
                true
            }
        };
        let console = format!("guests/trial-{:04}.console", trial.slot.trial + 1);
        self.watcher.step(trial, "booting the guest");
        let ended = self.boot(&job, disks, &console, &mut hear);
        let ended = ended.map_err(|error| stopped(&error))?;
        if let Some(failed) = failed {
            return Err(failed);
        }
        let mut event = finished.ok_or_else(|| self.nothing_said(&ended, &console))?;
        if let Event::TrialFinished { ledger, .. } = &mut event {
            // The boot and the power switch are the making of this trial's device.
            ledger.device += (ended.seconds - ledger.total).max(0.0);
        }
        Ok(event)
    }

    fn show(&self, trial: &Trial, said: &Said) {
        match said {
            Said::Step(step) => self.watcher.step(trial, step),
            Said::Phase(name) => self.watcher.phase(name),
            Said::Progress(phase, [bytes, bytes_total, steps, steps_total]) => {
                self.watcher.progress(&Progress {
                    phase: phase.clone(),
                    bytes: *bytes,
                    bytes_total: *bytes_total,
                    steps: *steps,
                    steps_total: *steps_total,
                });
            }
            _ => {}
        }
    }

    /// The disks of the trial's machine.
    fn disks(&self, trial: &Trial) -> Result<Vec<Disk>, Stopped> {
        let device = &trial.cell.device;
        disks::make(&self.images, device, self.target.machine).map_err(|message| Stopped {
            kind: FailureKind::Trial,
            message,
            ledger: Ledger::default(),
        })
    }

    /// A guest that ended with neither a result nor a failure: its console knows why.
    fn nothing_said(&self, ended: &machine::Ended, console: &str) -> Stopped {
        let console = self.folder.join(console);
        let machine::Ended { code, last, .. } = ended;
        Stopped {
            kind: FailureKind::Cell,
            message: format!(
                "the guest ended with code {code} and no result{last}; its console is {}",
                console.display()
            ),
            ledger: Ledger::default(),
        }
    }
}

/// What times of this machine are: `real` or `emulated`. Under KVM the processor itself runs the
/// guest, but its disk is a file behind two kernels.
fn timing(_engine: Engine) -> &'static str {
    "emulated"
}

/// Why an attempt ended early.
struct Stopped {
    kind: FailureKind,
    message: String,
    ledger: Ledger,
}

fn stopped(error: &machine::Error) -> Stopped {
    let kind = match error {
        machine::Error::Cancelled => FailureKind::Interrupted,
        machine::Error::MissingProgram { .. } | machine::Error::TooManyDisks { .. } => {
            FailureKind::Cell
        }
        _ => FailureKind::Trial,
    };
    Stopped {
        kind,
        message: error.to_string(),
        ledger: Ledger::default(),
    }
}

/// How long one guest of this plan may live.
fn limit(plan: &Plan) -> Duration {
    let trials = plan.slots.len().max(1) as f64;
    let whole = study::estimate::estimate(plan, study::estimate::Rates::default()).seconds;
    // Trials differ: the longest may be all of it.
    let longest = whole.min(whole / trials * 10.0);
    LEAST_LIMIT + Duration::from_secs_f64(longest * SLOWER)
}

impl Executor for GuestExecutor<'_> {
    fn context(&mut self, around: &Surroundings) -> Result<ContextRecord, Error> {
        self.watcher.phase("booting a guest");
        let taken = match self.take_context(around) {
            Err(error) if self.engine == Engine::Qemu(Accelerator::Kvm) && error.never_began() => {
                self.engine = Engine::Qemu(Accelerator::Tcg);
                self.take_context(around)
            }
            other => other,
        };
        let mut record = taken.map_err(|error| match error {
            machine::Error::Cancelled => Error::Interrupted(error.to_string()),
            other => Error::Guest(other),
        })?;
        self.describe(&mut record);
        Ok(record)
    }

    fn compare_with(&mut self, context: ContextRecord) {
        self.context = Some(context);
    }

    /// A guest's disk is a file: what the host's disk can do says nothing of it.
    fn references(&mut self, _plan: &Plan) -> Vec<Result<Reference, String>> {
        vec![Err(format!(
            "raw-device reference: not measured: the trials run in a guest ({}) whose times are emulated",
            self.target
        ))]
    }

    fn run(&mut self, trial: &Trial, emit: &mut Emit<'_>) -> Result<(), Failure> {
        let begun = Instant::now();
        let attempt = self.attempt(trial, emit);
        let total = begun.elapsed().as_secs_f64();
        match attempt {
            Ok(mut event) => {
                if let Event::TrialFinished { ledger, .. } = &mut event {
                    ledger.total = total;
                }
                emit(event);
                Ok(())
            }
            Err(stopped) => Err(Failure {
                kind: stopped.kind,
                message: stopped.message,
                ledger: Ledger {
                    total,
                    ..stopped.ledger
                },
                fatal: None,
            }),
        }
    }
}
