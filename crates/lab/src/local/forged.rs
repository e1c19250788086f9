//! Trials on a volume that was written directly. Nothing is mounted, so nothing but reading is measured.
//!
//! The image is written for the first trial that reads it and kept for those after it; the next volume takes its place, so that there is one
//! image on the disk at a time. A limited device and limited memory apply to the reading, not to the writing.

use std::cell::Cell as Shared;
use std::time::Instant;

use forge::{Error, Written};
use record::{FailureKind, Ledger, Sample};
use rig::Prepared;
use rig::device::image_place::ImagePlace;
use study::{Cell, Clock, Trial, WorkloadSpec};

use super::LocalExecutor;
use super::findings::{Findings, Stopped};
use crate::executor::Emit;
use crate::forged::{self, Volume};

/// The phase in which a volume is written.
const PHASE: &str = "forge";

/// The image of the trials at hand.
pub(super) struct Image {
    /// The cell that it was written for.
    cell: Cell,
    place: ImagePlace,
    written: Written,
    /// Seconds that writing took, sync included.
    seconds: f64,
    /// Whether a trial has reported these figures.
    reported: Shared<bool>,
    /// Bytes of all metadata, once a reader has met them.
    pub(super) metadata: Shared<Option<u64>>,
}

impl LocalExecutor<'_> {
    /// Writes the volume of a trial, unless the last trial's is the same, and binds it to a device.
    pub(super) fn prepare_forged(
        &mut self,
        trial: &Trial,
        ledger: &mut Ledger,
    ) -> Result<Prepared, Stopped> {
        let known = self.forged.as_ref();
        if !known.is_some_and(|image| study::forged::same_image(&image.cell, &trial.cell)) {
            self.forge(trial, ledger)?;
        }
        let Some(image) = &self.forged else {
            return Err(stopped(
                FailureKind::Trial,
                "no volume was written".to_owned(),
            ));
        };
        let request = Self::request(&trial.cell, trial.devices_file.as_deref());
        let made = (forged::command(&trial.cell), image.written.maker.clone());
        let progress = self.interrupt.with(self.watcher);
        let path = image.place.path().to_owned();
        let prepared = self.rig.prepare_image(&request, &path, made, &progress);
        prepared.map_err(|error| self.rig_failure(error))
    }

    fn forge(&mut self, trial: &Trial, ledger: &mut Ledger) -> Result<(), Stopped> {
        if let Some(mut last) = self.forged.take() {
            let removed = last.place.remove();
            removed.map_err(|error| self.rig_failure(error))?;
        }
        let volume = Volume::of(&trial.cell).map_err(|why| stopped(FailureKind::Cell, why))?;
        forged::room(&trial.cell, &self.images).map_err(|why| stopped(FailureKind::Cell, why))?;
        self.watcher.activity(trial, "forging the volume");
        let progress = self.interrupt.with(self.watcher);
        let size = trial.cell.device.size.get();
        let place = self.rig.image_place(size, &progress);
        let place = place.map_err(|error| self.rig_failure(error))?;
        let begun = Instant::now();
        let written = volume.write(place.path(), &progress);
        let written = written.map_err(|error| self.forge_failure(&error))?;
        let seconds = begun.elapsed().as_secs_f64();
        ledger.mkfs += seconds;
        self.forged = Some(Image {
            cell: trial.cell.clone(),
            place,
            written,
            seconds,
            reported: Shared::new(false),
            metadata: Shared::new(None),
        });
        Ok(())
    }

    /// Reads what was written, or has it checked.
    pub(super) fn measure_forged(
        &self,
        trial: &Trial,
        prepared: &mut Prepared,
        ledger: &mut Ledger,
        emit: &mut Emit<'_>,
    ) -> Result<Findings, Stopped> {
        let mut findings = Findings::default();
        findings
            .samples
            .extend(self.forged.iter().flat_map(samples));
        if let WorkloadSpec::Scan(spec) = &trial.cell.workload {
            self.read_metadata(trial, spec, prepared, &mut findings, ledger, emit)?;
        }
        self.check(trial, prepared, &mut findings, ledger, emit)?;
        Ok(findings)
    }

    fn forge_failure(&self, error: &Error) -> Stopped {
        let kind = match error {
            _ if self.interrupt.is_raised() => FailureKind::Interrupted,
            Error::Stopped => FailureKind::Interrupted,
            Error::Io { .. } => FailureKind::Trial,
            // Another trial's volume would be refused as well.
            _ => FailureKind::Cell,
        };
        stopped(kind, format!("forging the volume: {error}"))
    }
}

fn stopped(kind: FailureKind, message: String) -> Stopped {
    Stopped {
        kind,
        message,
        fatal: None,
    }
}

/// How many inodes there are; for the first trial of a volume, what writing it cost as well.
fn samples(image: &Image) -> Vec<Sample> {
    let Written { inodes, bytes, .. } = image.written;
    let rate = if image.seconds > 0.0 {
        inodes as f64 / image.seconds
    } else {
        0.0
    };
    let figures = [
        ("seconds", image.seconds, "s"),
        ("count", inodes as f64, "count"),
        ("files", rate, "files_per_s"),
        ("disk_bytes", bytes as f64, "bytes"),
    ];
    let sample = |(metric, value, unit): (&str, f64, &str)| Sample {
        phase: PHASE.to_owned(),
        metric: metric.to_owned(),
        clock: Clock::Original,
        value,
        unit: unit.to_owned(),
    };
    let first = !image.reported.replace(true);
    let wanted = |(metric, ..): &(&str, f64, &str)| first || *metric == "count";
    figures.into_iter().filter(wanted).map(sample).collect()
}
