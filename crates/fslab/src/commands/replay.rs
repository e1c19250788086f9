//! `fslab replay`.

use blktrace::Trace;
use device::replay::{Mode, Options, Place};
use modelled::trace::{Source, read};
use modelled::{Error, Estimator, Job, Report, cannot_tell, catalogue};

use crate::cli::DocumentFormat;
use crate::cli::device::{FromArg, ModeArg, PlaceArg, ReplayArgs};
use crate::{exit, out};

/// Ends with [`exit::INVALID`] when the trace is not whole; with `--incomplete` after the report.
pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<u8> {
    let catalogue = catalogue(args.devices.devices_file.as_deref())?;
    for name in &args.device {
        catalogue.device(name).map_err(Error::from)?;
    }
    let mut bases = Vec::new();
    for path in &args.bases {
        bases.extend(super::trace::report::bases(std::slice::from_ref(path))?);
    }
    let mut trace = Trace::open_all(&bases).map_err(Error::from)?;
    let source = match args.from {
        FromArg::Issue => Source::Issue,
        FromArg::Queue => Source::Queue,
    };
    let record = read(&mut trace, source, args.traced)?;
    if !args.incomplete && !record.doubts.is_empty() {
        return Err(Error::Incomplete {
            name: record.name,
            why: record.doubts.join(", "),
        }
        .into());
    }
    let is_whole = record.doubts.is_empty();
    let job = Job::Record {
        requests: record.requests,
        options: options(args),
    };
    let estimator = Estimator {
        runs: args.runs,
        seed: args.seed,
    };
    let devices: Result<Vec<_>, Error> = args
        .device
        .iter()
        .map(|name| estimator.estimate(&catalogue, name, &job))
        .collect();
    let report = Report {
        timing: "modelled",
        subject: record.name,
        mode: job.mode(),
        cannot_tell: cannot_tell(job.mode()),
        cpu: args.cpu,
        runs: args.runs,
        seed: args.seed,
        doubts: record.doubts,
        devices: devices?,
    };
    out::print(&match args.format {
        DocumentFormat::Text => report.text(),
        DocumentFormat::Json => report.json()?,
    })?;
    Ok(if is_whole { exit::OK } else { exit::INVALID })
}

fn options(args: &ReplayArgs) -> Options {
    let mode = match args.mode {
        ModeArg::Open => Mode::Open,
        ModeArg::Closed => Mode::Closed,
        ModeArg::Dependent => Mode::Dependent {
            think_limit: args.think_limit,
        },
        ModeArg::Saturate => Mode::Saturate { depth: args.depth },
    };
    Options {
        mode,
        cpu: args.cpu,
        place: match args.place {
            PlaceArg::Keep => Place::Keep,
            PlaceArg::Scale => Place::Scale,
            PlaceArg::Wrap => Place::Wrap,
        },
    }
}
