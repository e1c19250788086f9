//! `fslab check --device`: how long the same check would take on a modelled device.

use std::sync::{Mutex, PoisonError};

use ::blockio::BlockSource;
use ::blockio::layer::{OnModel, Recording};
use ::check::{Cost, Observer, Pass};
use ::device::{Catalogue, Variation};
use ::modelled::checker::{self, job};
use ::modelled::{Error, Estimator, Report, catalogue};
use progress::Progress;

use crate::cli::check::CheckArgs;
use crate::out;

/// A device of the command line that the target fits.
pub(super) struct Wanted {
    catalogue: Catalogue,
    name: String,
    cpu: f64,
    waits: bool,
}

/// Why the device cannot be used: the command line is wrong.
pub(super) struct Refusal(pub(super) String);

impl Wanted {
    /// The device that was asked for, if any.
    pub(super) fn of(args: &CheckArgs, len: u64) -> Result<Option<Wanted>, Refusal> {
        let Some(name) = &args.device else {
            return Ok(None);
        };
        let refused = |error: Error| Refusal(error.to_string());
        let catalogue = catalogue(args.devices.devices_file.as_deref()).map_err(refused)?;
        let model = catalogue
            .model(name, Variation::Nominal)
            .map_err(|error| refused(error.into()))?;
        if model.capacity() < len {
            return Err(Refusal(format!(
                "{}: has {}, and {name} {}; choose a larger device ({name}x2 is two of them)",
                out::path(&args.target),
                words::bytes(len),
                words::bytes(model.capacity())
            )));
        }
        Ok(Some(Wanted {
            catalogue,
            name: name.clone(),
            cpu: args.cpu,
            waits: args.live,
        }))
    }

    /// The source that is checked: recorded, and with `--live` as slow as the device.
    pub(super) fn recorded(
        &self,
        source: Box<dyn BlockSource>,
    ) -> Result<Recording<Box<dyn BlockSource>>, Error> {
        if !self.waits {
            return Ok(Recording::new(source));
        }
        let model = self.catalogue.model(&self.name, Variation::Nominal)?;
        Ok(Recording::new(Box::new(OnModel::new(source, model))))
    }

    /// What the recorded check would take there.
    pub(super) fn report(
        &self,
        source: &Recording<Box<dyn BlockSource>>,
        passes: Vec<checker::Pass>,
        end: u64,
    ) -> Result<Report, Error> {
        let entries = source
            .take()
            .map_err(|error| Error::Record(error.to_string()))?;
        let job = job(entries, passes, end, self.cpu);
        let estimator = Estimator::default();
        let device = estimator.estimate(&self.catalogue, &self.name, &job)?;
        let subject = source.name().to_string();
        Ok(Report {
            timing: "modelled",
            subject: format!("this check of {}", words::printable(&subject)),
            mode: job.mode(),
            cannot_tell: job.cannot_tell(),
            cpu: self.cpu,
            runs: estimator.runs,
            seed: estimator.seed,
            doubts: Vec::new(),
            devices: vec![device],
        })
    }
}

/// Notes when passes begin, and passes everything on.
pub(super) struct Noted<'a, O, C> {
    inner: &'a O,
    clock: C,
    passes: Mutex<Vec<checker::Pass>>,
}

impl<'a, O: Observer, C: Fn() -> u64 + Send + Sync> Noted<'a, O, C> {
    pub(super) fn new(inner: &'a O, clock: C) -> Self {
        Noted {
            inner,
            clock,
            passes: Mutex::default(),
        }
    }

    fn now(&self) -> u64 {
        (self.clock)()
    }

    pub(super) fn passes(self) -> Vec<checker::Pass> {
        self.passes
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O: Observer, C: Fn() -> u64 + Send + Sync> Progress for Noted<'_, O, C> {
    fn inner(&self) -> &dyn Progress {
        self.inner
    }
}

impl<O: Observer, C: Fn() -> u64 + Send + Sync> Observer for Noted<'_, O, C> {
    fn pass_started(&self, pass: &'static Pass) {
        let began = self.now();
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        passes.push(checker::Pass {
            name: pass.heading.to_owned(),
            began,
        });
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
    Ok(serde_json::to_string_pretty(&document)?)
}
