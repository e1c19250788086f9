//! Trials in a guest kernel: a machine for each, ended before the next.
//!
//! Every trial has a new guest, so no trial sees what another left in memory. It boots in
//! two seconds. Before the first trial one guest takes its own context record; that boot also
//! shows whether the machine works at all, and, where the processor promises KVM, whether
//! it keeps the promise: if init sends nothing in ten seconds, the run goes on under TCG
//! with a note.
//!
//! The trial's last event is held back until the guest has sent its own last line and every file is
//! in its place: the messages of a machine that died half-way are not a whole trial.
//!
//! The clock of a guest runs, but what it times is an emulated processor or a disk below two kernels. So
//! the run's context says `emulated`, reports mark every time with it, and none is compared with
//! a host's. Counts, layouts, traces and verdicts of checkers are as true as anywhere.

mod account;
mod context;
mod crash;
mod disks;
mod files;
mod image;
mod inside;
mod job;
mod limits;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use guest::machine::{self, Accelerator, Disk, Engine, Limits, Machine};
use progress::{Silent, Step};
use record::{Event, FailureKind, Ledger, Reference, RunFolder};
use rundir::RunDir;
use serde_json::Value;
use study::{Plan, Trial};

use self::account::{Account, Stopped};
use self::crash::Logged;
use self::files::Arriving;
use self::image::Image;
use self::job::{GuestMessage, Job};
use self::limits::{KVM_PROOF, LEAST_LIMIT, limits, patient};
use crate::error::Error;
use crate::executor::{Emit, Executor, Failure, KernelContext, Surroundings};
use crate::interrupt::Interrupt;
use crate::noise::{self, NoiseMeter};
use crate::target::{GuestMachine, GuestTarget};
use crate::watch::Watcher;

pub use inside::be_guest;

/// Whether guests of this plan can run here at all: programs, a kernel, and what the plan needs of
/// it.
///
/// # Errors
/// The first thing missing, and where it comes from.
pub fn preflight(target: &GuestTarget, plan: &Plan) -> Result<(), Error> {
    present(target.machine).map_err(Error::Guest)?;
    image::check(target, plan)
}

/// Whether what runs such a machine is installed.
pub(crate) fn present(machine: GuestMachine) -> Result<(), machine::Error> {
    engine(machine, Accelerator::Tcg).present()
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
    /// One for each kernel.
    kernels: Vec<Image>,
    /// How long a guest may live, by cell.
    limits: Vec<Duration>,
    /// Why KVM is not what runs the guests, though the processor promises it.
    no_kvm: Option<String>,
    folder: Arc<RunDir>,
    images: PathBuf,
    contexts: Vec<KernelContext>,
    /// Where readings of the host's noise come from; none for virtual time, which no noise changes.
    noise: Option<Arc<dyn noise::Source>>,
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
        let accelerator = if target.virtual_time {
            Accelerator::Virtual
        } else {
            Accelerator::promised()
        };
        Ok(GuestExecutor {
            engine: engine(target.machine, accelerator),
            target: target.clone(),
            kernels: Image::all(target, plan)?,
            limits: limits(plan),
            no_kvm: None,
            folder: Arc::new(folder.opened().try_clone().map_err(record::Error::from)?),
            images: folder.images(),
            contexts: Vec::new(),
            noise: None,
            watcher,
            interrupt,
        })
    }

    /// Judges the noise of the host during each trial, from these readings.
    #[must_use]
    pub fn listening(mut self, noise: Arc<dyn noise::Source>) -> Self {
        self.noise = (!self.target.virtual_time).then_some(noise);
        self
    }

    /// Boots a machine with a job and passes on its messages.
    fn boot(
        &self,
        image: &Image,
        job: &Job,
        attached: Attached,
        place: &Place<'_>,
        heard: &mut dyn FnMut(GuestMessage) -> bool,
    ) -> Result<machine::GuestExit, machine::Error> {
        let first_line = match self.engine {
            Engine::Qemu(Accelerator::Kvm) if self.contexts.is_empty() => KVM_PROOF,
            _ => Limits::default().first_line,
        };
        let machine = Machine {
            engine: self.engine,
            kernel: image.kernel.clone(),
            libraries: image.libraries.clone(),
            initramfs: image.with_job(job)?,
            memory: image.memory,
            cpus: image.cpus,
            disks: attached.disks,
            persistent: attached.persistent,
            append: image.append.clone(),
            limits: patient(Limits {
                first_line,
                whole: place.limit,
                ..Limits::default()
            }),
            console: place.console.clone(),
            files: place.files.folder(),
        };
        let mut strange = false;
        let mut hear = |message: Value| {
            if let Ok(message) = serde_json::from_value(message) {
                heard(message)
            } else {
                strange = true;
                false
            }
        };
        let ended = machine.run(&mut hear, &self.interrupt.with(&Silent));
        let ended = ended.map_err(|error| match error {
            machine::Error::Unkept { path, source } => machine::Error::Unkept {
                path: place.files.shown(&path),
                source,
            },
            other => other,
        });
        if strange {
            let why = "a line of another fslab; is the initramfs of this build?";
            return Err(machine::Error::Garbled {
                source: std::io::Error::other(why),
                console: place.console.clone(),
            });
        }
        ended
    }

    /// Where a guest's console and files go.
    fn place<'b>(&self, name: &str, files: &'b Arriving, limit: Duration) -> Place<'b> {
        Place {
            console: (self.folder.path().join("guests")).join(format!("{name}.console")),
            files,
            limit,
        }
    }

    fn attempt(&self, trial: &Trial, emit: &mut Emit<'_>) -> Result<Event, Stopped> {
        let image = self.image(trial)?;
        let mut disks = self.disks(trial)?;
        let persistent = self.persistent(trial, image)?;
        let logged = Logged::of(trial, &mut disks, &self.images)?;
        let job = Job::Trial {
            trial: Box::new(trial.clone()),
            context: self.context_of(trial).map(Box::new),
            serials: disks::serials(&disks),
            persistent: persistent.is_some(),
        };
        let number = trial.slot.trial;
        let name = format!("trial-{:04}", number + 1);
        let unkept = |error: String| Stopped::new(FailureKind::Trial, error);
        let files =
            Arriving::new(&self.folder, &name).map_err(|error| unkept(error.to_string()))?;
        let limit = self.limits.get(trial.slot.cell as usize);
        let place = self.place(&name, &files, limit.copied().unwrap_or(LEAST_LIMIT));
        let mut account = Account::of(number);
        let mut hear = |message| {
            let mut show = |message: &GuestMessage| {
                if let Some(logged) = &logged {
                    logged.see(message);
                }
                self.show(trial, message);
            };
            let mut emit = |event: Event| {
                if let Some(logged) = &logged {
                    logged.note(&event);
                }
                emit(event)
            };
            account.record(message, &mut emit, &mut show)
        };
        self.watcher.activity(trial, "booting the guest");
        let attached = Attached { disks, persistent };
        let ended = self.boot(image, &job, attached, &place, &mut hear);
        if let Some(strange) = account.strange() {
            return Err(strange);
        }
        let (ended, console) = (ended.map_err(stopped)?, place.console);
        if ended.code == 0 {
            let installed = files.install(number);
            installed.map_err(|error| unkept(error.to_string()))?;
        }
        let mut event = account.close(&ended, &console)?;
        if let Event::TrialFinished { ledger, .. } = &mut event {
            // The boot and the power switch are the making of this trial's device.
            ledger.device += (ended.seconds - ledger.total).max(0.0);
        }
        if let Some(logged) = logged {
            self.watcher.activity(trial, crate::crash::trial::JUDGING);
            let judged = logged.judge(trial, &self.folder, self.watcher, self.interrupt)?;
            judged.report(emit, &mut event);
        }
        Ok(event)
    }

    fn show(&self, trial: &Trial, message: &GuestMessage) {
        match message {
            GuestMessage::Activity(activity) => self.watcher.activity(trial, activity),
            GuestMessage::Progress(event) => event.clone().report(self.watcher),
            _ => {}
        }
    }

    /// What a trial's guest starts from.
    fn image(&self, trial: &Trial) -> Result<&Image, Stopped> {
        let level = self.level(trial);
        let mut images = self.kernels.iter();
        let found = images.find(|image| image.level.as_deref() == level);
        found.ok_or_else(|| {
            let message = format!(
                "no kernel {}: the run's target names none for it; begin a new run",
                level.unwrap_or_default()
            );
            Stopped::new(FailureKind::Cell, message)
        })
    }

    /// The level of the kernel factor, where there is one.
    fn level<'t>(&self, trial: &'t Trial) -> Option<&'t str> {
        let several = !self.target.kernels.is_empty();
        trial.cell.kernel.as_deref().filter(|_| several)
    }

    /// Persistent memory of the trial's machine, if a modelled disk needs it: sparse, and gone with the machine.
    fn persistent(&self, trial: &Trial, image: &Image) -> Result<Option<File>, Stopped> {
        let is_modelled = trial.cell.device.is_modelled();
        let Some(size) = image.persistent.filter(|_| is_modelled) else {
            return Ok(None);
        };
        let made = disks::file(&self.images, size);
        made.map(Some).map_err(|error| {
            let images = self.images.display();
            let message = format!(
                "{images}: cannot make the guest's persistent memory of {} MiB: {error}; choose another --out",
                size >> 20
            );
            Stopped::new(FailureKind::Trial, message)
        })
    }

    /// The disks of the trial's machine.
    fn disks(&self, trial: &Trial) -> Result<Vec<Disk>, Stopped> {
        let device = &trial.cell.device;
        disks::make(&self.images, device, self.target.machine)
            .map_err(|message| Stopped::new(FailureKind::Trial, message))
    }
}

/// What a guest has besides its memory.
#[derive(Default)]
struct Attached {
    disks: Vec<Disk>,
    persistent: Option<File>,
}

/// Where one guest's console and files go, and how long it may live.
struct Place<'a> {
    console: PathBuf,
    files: &'a Arriving,
    limit: Duration,
}

fn stopped(error: machine::Error) -> Stopped {
    let kind = match &error {
        // A full disk is nothing of the trial's: the run ends, and the trial runs again on resume.
        machine::Error::Cancelled | machine::Error::Unkept { .. } => FailureKind::Interrupted,
        machine::Error::MissingProgram { .. } | machine::Error::TooManyDisks { .. } => {
            FailureKind::Cell
        }
        _ => FailureKind::Trial,
    };
    let message = error.to_string();
    let fatal = match error {
        machine::Error::Unkept { path, source } => Some(Box::new(rig::Error::Io {
            thing: path.display().to_string(),
            what: "a guest's result cannot be kept".into(),
            source,
            next: "free space".into(),
        })),
        _ => None,
    };
    Stopped {
        fatal,
        ..Stopped::new(kind, message)
    }
}

impl Executor for GuestExecutor<'_> {
    fn contexts(&mut self, around: &Surroundings) -> Result<Vec<KernelContext>, Error> {
        let mut all = Vec::new();
        for at in 0..self.kernels.len() {
            let step = format!("booting Linux {}", self.kernels[at].called);
            self.watcher.begin(Step::new(step));
            all.push(self.taken(at, around)?);
        }
        Ok(all)
    }

    fn notes(&mut self) -> Vec<String> {
        let note = |why| format!("KVM does not work here, the guests run under TCG: {why}");
        self.no_kvm.take().map(note).into_iter().collect()
    }

    fn compare_with(&mut self, contexts: Vec<KernelContext>) {
        self.contexts = contexts;
    }

    /// A guest's disk is a file: what the host's disk can do is not what it can do.
    fn references(&mut self, _plan: &Plan) -> Vec<Result<Reference, String>> {
        vec![Err(format!(
            "raw-device reference: not measured: the trials run in a guest ({}) whose times are emulated",
            self.target
        ))]
    }

    fn run(&mut self, trial: &Trial, emit: &mut Emit<'_>) -> Result<(), Failure> {
        let begun = Instant::now();
        let meter = self.noise.clone().map(|noise| NoiseMeter::new(noise, None));
        let before = meter.as_ref().map(NoiseMeter::read);
        let attempt = self.attempt(trial, emit);
        let heard = meter.zip(before).and_then(|(meter, before)| {
            let after = meter.read();
            let pair = [&before, &after];
            meter.between(None, pair, pair)
        });
        let total = begun.elapsed().as_secs_f64();
        match attempt {
            Ok(mut event) => {
                if let Event::TrialFinished {
                    ledger, evidence, ..
                } = &mut event
                {
                    ledger.total = total;
                    evidence.extend(heard.as_ref().and_then(noise::evidence));
                }
                if let Some(noise) = heard {
                    let trial = trial.slot.trial;
                    emit(Event::Noise { trial, noise });
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
                fatal: stopped.fatal,
            }),
        }
    }
}
