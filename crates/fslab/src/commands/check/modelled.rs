//! `fslab check --device`: how long the same check would take on a modelled device. `--record`: what it read, as a file.

use std::convert::identity;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ::blockio::BlockSource;
use ::blockio::layer::{Lateness, OnModel, Recording};
use ::check::{Cost, Observer, Pass};
use ::device::{Catalogue, Variation};
use ::modelled::checker::{self, Record};
use ::modelled::{Error, Estimator, Report, catalogue};
use progress::Progress;
use rustix::thread::set_current_timer_slack;

use crate::cli::check::CheckArgs;
use crate::output_file::OutputFile;
use crate::{exit, out};

/// What the reads of a check are recorded for: a device of the command line that the target fits, a file.
pub(super) struct Wanted<'a> {
    device: Option<OnDevice>,
    file: Option<(&'a Path, OutputFile)>,
}

/// The source that is checked.
pub(super) struct Source {
    pub(super) recording: Recording<Box<dyn BlockSource>>,
    /// How late its reads are answered, where they wait for the device.
    late: Option<Lateness>,
}

struct OnDevice {
    catalogue: Catalogue,
    name: String,
    cpu: f64,
    waits: bool,
}

/// Why nothing is checked, and the exit code.
pub(super) struct Refusal {
    pub(super) why: String,
    pub(super) code: u8,
}

impl Refusal {
    /// The command line is wrong.
    fn usage(why: String) -> Refusal {
        Refusal {
            why,
            code: exit::FSCK_USAGE,
        }
    }
}

impl Wanted<'_> {
    /// What was asked for, if anything.
    pub(super) fn of(args: &CheckArgs, len: u64) -> Result<Option<Wanted<'_>>, Refusal> {
        // Before the check: it would be done for nothing.
        let file = args.record.as_deref().map(|path| {
            let beside = [
                &args.journal,
                &args.log_device,
                &args.rt_device,
                &args.devices.devices_file,
            ];
            let beside = beside.into_iter().flatten().map(PathBuf::as_path);
            let inputs: Vec<&Path> = beside.chain([args.target()]).collect();
            let file = OutputFile::at(path, &inputs);
            let file = file.map_err(|error| Refusal {
                why: unkept(path, &error),
                code: exit::FSCK_OPERATIONAL,
            })?;
            Ok((path, file))
        });
        let file = file.transpose()?;
        if args.device.is_none() && args.devices.devices_file.is_some() {
            let why = "--devices-file is for --device; leave it out, or name a device of it";
            return Err(Refusal::usage(why.to_owned()));
        }
        let device = match &args.device {
            Some(name) => Some(OnDevice::of(args, name, &out::path(args.target()), len)?),
            None => None,
        };
        Ok((device.is_some() || file.is_some()).then_some(Wanted { device, file }))
    }

    /// The device of a filesystem of `len` bytes that does not exist yet.
    pub(super) fn planned(args: &CheckArgs, len: u64) -> Result<Wanted<'_>, Refusal> {
        let device = args.device.as_deref();
        let device = device.map(|name| OnDevice::of(args, name, "the filesystem", len));
        Ok(Wanted {
            device: device.transpose()?,
            file: None,
        })
    }

    /// The source that is checked: recorded, and with `--live` as slow as the device.
    pub(super) fn recorded(&self, source: Box<dyn BlockSource>) -> Result<Source, Error> {
        let Some(device) = self.device.as_ref().filter(|device| device.waits) else {
            return Ok(Source {
                recording: Recording::new(source),
                late: None,
            });
        };
        let model = device.catalogue.model(&device.name, Variation::Nominal)?;
        // Threads that are started from here on wake up when they are to, not up to 50 us later.
        let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
        let source = OnModel::new(source, model);
        let late = Some(source.lateness());
        Ok(Source {
            recording: Recording::new(Box::new(source)),
            late,
        })
    }

    /// What the check read.
    pub(super) fn record(source: &Source, passes: &[Noted], end: u64) -> Result<Record, Error> {
        let entries = source.recording.take();
        let entries = entries.map_err(|error| {
            let folder = std::env::temp_dir();
            let folder = out::path(&folder);
            Error::Record(format!("{folder}: {error}; name another folder in TMPDIR"))
        })?;
        let pass = |noted: &Noted| checker::Pass {
            name: noted.pass.name.to_owned(),
            began: noted.began,
        };
        Ok(Record {
            entries,
            passes: passes.iter().map(pass).collect(),
            end,
        })
    }

    /// What the check would take on the device.
    pub(super) fn report(
        &self,
        source: &Source,
        mut record: Record,
        passes: &[Noted],
    ) -> Result<Option<Report>, Error> {
        let Some(device) = &self.device else {
            return Ok(None);
        };
        for (pass, noted) in record.passes.iter_mut().zip(passes) {
            noted.pass.heading.clone_into(&mut pass.name);
        }
        let job = record.job(device.cpu)?;
        let subject = source.recording.name().to_string();
        let subject = format!("this check of {}", words::printable(&subject));
        let names = [device.name.clone()];
        let estimator = Estimator::default();
        let report = estimator.report(&device.catalogue, &names, subject, &job, Vec::new())?;
        Ok(Some(Report {
            live: device.waits,
            answers: source.late.as_ref().map(|late| late.so_far().into()),
            ..report
        }))
    }

    /// Writes the record to the file that was asked for.
    pub(super) fn keep(&self, record: &Record) -> Result<(), Error> {
        let Some((path, file)) = &self.file else {
            return Ok(());
        };
        let written = file.write(|out| record.write(out), identity);
        written.map_err(|error| Error::Record(unkept(path, &error)))
    }
}

impl OnDevice {
    fn of(args: &CheckArgs, name: &str, what: &str, len: u64) -> Result<OnDevice, Refusal> {
        let refused = |error: Error| Refusal::usage(error.to_string());
        let catalogue = catalogue(args.devices.devices_file.as_deref()).map_err(refused)?;
        let model = catalogue
            .model(name, Variation::Nominal)
            .map_err(|error| refused(error.into()))?;
        if model.capacity() < len {
            let striped = striped(&catalogue, name, len.div_ceil(model.capacity().max(1)));
            return Err(Refusal::usage(format!(
                "{what}: has {}, and {name} {}; choose a larger device{}",
                words::bytes(len),
                words::bytes(model.capacity()),
                striped.unwrap_or_default()
            )));
        }
        Ok(OnDevice {
            catalogue,
            name: name.to_owned(),
            cpu: args.cpu,
            waits: args.live,
        })
    }
}

/// Names what is this many times as large, as the end of a message; none where no device is called that.
fn striped(catalogue: &Catalogue, name: &str, times: u64) -> Option<String> {
    let member = name.rsplit_once('x').and_then(|(member, count)| {
        let count: u64 = count.parse().ok()?;
        catalogue.device(member).ok().map(|_| (member, count))
    });
    let (member, count) = member.unwrap_or((name, 1));
    let larger = format!("{member}x{}", count.saturating_mul(times));
    catalogue.device(&larger).ok()?;
    Some(format!(" ({larger} is {} of {member})", count * times))
}

fn unkept(path: &Path, error: &io::Error) -> String {
    let path = out::path(path);
    format!("{path}: {error}; name another file with --record, or leave it out")
}

/// A pass, and when it began.
pub(super) struct Noted {
    pass: &'static Pass,
    began: u64,
}

/// Notes when passes begin, and passes everything on.
pub(super) struct Notes<'a, C> {
    inner: &'a dyn Observer,
    clock: C,
    passes: Mutex<Vec<Noted>>,
}

impl<'a, C: Fn() -> u64 + Send + Sync> Notes<'a, C> {
    pub(super) fn new(inner: &'a dyn Observer, clock: C) -> Self {
        Notes {
            inner,
            clock,
            passes: Mutex::default(),
        }
    }

    pub(super) fn passes(self) -> Vec<Noted> {
        self.passes
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Fn() -> u64 + Send + Sync> Progress for Notes<'_, C> {
    fn inner(&self) -> &dyn Progress {
        self.inner
    }
}

impl<C: Fn() -> u64 + Send + Sync> Observer for Notes<'_, C> {
    fn pass_started(&self, pass: &'static Pass) {
        let began = (self.clock)();
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        passes.push(Noted { pass, began });
        drop(passes);
        self.inner.pass_started(pass);
    }

    fn pass_finished(&self, cost: &Cost) {
        self.inner.pass_finished(cost);
    }
}

/// The document of a check with the modelled one in it.
pub(super) fn in_document(document: &str, report: &Report) -> anyhow::Result<String> {
    let mut document: serde_json::Value = serde_json::from_str(document)?;
    document["modelled"] = serde_json::to_value(report)?;
    if report.live {
        // Its reads waited for the model: no time of the check is of this machine's disk.
        document["timing"] = "modelled".into();
    }
    Ok(serde_json::to_string_pretty(&document)?)
}
