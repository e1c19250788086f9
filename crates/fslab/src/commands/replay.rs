//! `fslab replay`.

mod phases;

use std::path::Path;

use blktrace::Trace;
use device::Catalogue;
use device::replay::{Mode, Options, Place};
use modelled::trace::{self, Record, Source};
use modelled::{Error, Estimator, Job, Report, catalogue, checker, write_log};

use crate::cli::DocumentFormat;
use crate::cli::device::{FromArg, ModeArg, PlaceArg, ReplayArgs};
use crate::{exit, out};

/// Ends with [`exit::INVALID`] when the record is not whole; with `--incomplete` after the report.
pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<u8> {
    let catalogue = catalogue(args.devices.devices_file.as_deref())?;
    for (index, name) in args.device.iter().enumerate() {
        catalogue.device(name).map_err(Error::from)?;
        if args.device[..index].contains(name) {
            let name = words::printable(name);
            out::say(&format!(
                "fslab: --device: {name} is given twice; leave one out"
            ));
            return Ok(exit::USAGE);
        }
    }
    let estimator = Estimator {
        runs: args.runs,
        seed: args.seed,
        whole: args.whole,
    };
    if let [path] = &args.bases[..]
        && checker::Record::is_one(path)
    {
        return of_check(args, path, &catalogue, estimator);
    }
    if args.cpu.to_bits() != 1.0_f64.to_bits() && args.mode != ModeArg::Dependent {
        out::say(
            "fslab: --cpu: think times are in the mode dependent alone; leave it out, or use --mode dependent",
        );
        return Ok(exit::USAGE);
    }
    let (record, has_times) = record(args, &catalogue)?;
    if !args.incomplete && !record.doubts.is_empty() {
        return Err(Error::Incomplete {
            name: record.name,
            why: record.doubts.join(", "),
        }
        .into());
    }
    let is_whole = record.doubts.is_empty();
    let options = options(args);
    let source = record.source;
    let size = record.requests.outline().size;
    let job = Job::Record {
        requests: record.requests,
        source,
        options,
        beside: if has_times {
            modelled::modes_beside(options.mode, args.think_limit, args.depth)
        } else {
            Vec::new()
        },
        has_times,
    };
    let mut report =
        estimator.report(&catalogue, &args.device, record.name, &job, record.doubts)?;
    report.commands = record.commands;
    if has_times {
        add_phases(args, &catalogue, estimator, (source, size), &mut report)?;
    }
    print(args, &report)?;
    Ok(if is_whole { exit::OK } else { exit::INVALID })
}

/// Adds the phases of a run's trial, each replayed by itself, after the whole, which is of this source and size.
fn add_phases(
    args: &ReplayArgs,
    catalogue: &Catalogue,
    estimator: Estimator,
    (source, size): (Source, u64),
    report: &mut Report,
) -> Result<(), Error> {
    let ([base], None) = (&args.bases[..], args.traced) else {
        return Ok(());
    };
    let mut place = 1;
    for (name, window) in phases::of_trace(base) {
        let bases = super::trace::report::bases(std::slice::from_ref(base));
        let Ok(bases) = bases else { return Ok(()) };
        let mut record = match trace::read_within(&mut Trace::open_all(&bases)?, source, window) {
            Ok(record) => record,
            // A phase that asked for nothing.
            Err(Error::NoRequests(_)) => continue,
            Err(error) => return Err(error),
        };
        // A smaller device moves a phase as it moves the whole.
        record.requests.widen(size);
        let job = Job::Record {
            requests: record.requests,
            source,
            options: options(args),
            beside: Vec::new(),
            has_times: true,
        };
        let of_phase = estimator.report(catalogue, &args.device, name.clone(), &job, Vec::new())?;
        for (device, of_phase) in report.devices.iter_mut().zip(of_phase.devices) {
            if let Some(row) = of_phase.rows.into_iter().next() {
                let name = name.clone();
                device.rows.insert(place, modelled::Row { name, ..row });
            }
        }
        place += 1;
    }
    Ok(())
}

/// What `fslab check --record` wrote: it has no modes, because it knows what each read waited for.
fn of_check(
    args: &ReplayArgs,
    path: &Path,
    catalogue: &Catalogue,
    estimator: Estimator,
) -> anyhow::Result<u8> {
    let asked = [
        (args.mode != ModeArg::Dependent, "--mode"),
        (args.think_limit.is_some(), "--think-limit"),
        (args.from.is_some(), "--from"),
        (args.place != PlaceArg::Keep, "--place"),
        (args.traced.is_some(), "--traced"),
        (args.depth != modelled::DEPTH, "--depth"),
        (args.incomplete, "--incomplete"),
        (args.whole, "--whole"),
    ];
    if let Some((_, option)) = asked.iter().find(|(asked, _)| *asked) {
        let name = out::path(path);
        out::say(&format!(
            "fslab: {option}: {name} is a check's own record, which needs no such choice; leave it out"
        ));
        return Ok(exit::USAGE);
    }
    let job = checker::Record::read(path)?.job(args.cpu)?;
    let subject = words::printable(&path.display().to_string()).into_owned();
    let report = estimator.report(catalogue, &args.device, subject, &job, Vec::new())?;
    print(args, &report)?;
    Ok(exit::OK)
}

fn print(args: &ReplayArgs, report: &Report) -> anyhow::Result<()> {
    out::print(&match args.format {
        DocumentFormat::Text => report.text(),
        DocumentFormat::Json => report.json()?,
    })
}

/// The requests, and whether they have times: those of a log of writes have none.
fn record(args: &ReplayArgs, catalogue: &Catalogue) -> anyhow::Result<(Record, bool)> {
    let chosen = args.from.map(|from| match from {
        FromArg::Issue => Source::Issue,
        FromArg::Queue => Source::Queue,
    });
    let suiting = || Source::suiting(catalogue, &args.device).map_err(Error::from);
    let source = chosen.map_or_else(suiting, Ok)?;
    if let Some(path) = args.bases.iter().find(|path| write_log::is_log(path)) {
        refuse_what_a_log_lacks(args, path)?;
        return Ok((write_log::read(path, source)?, false));
    }
    if let Some(path) = args.bases.iter().find(|path| checker::Record::is_one(path)) {
        return Err(Error::Alone {
            path: path.display().to_string(),
        }
        .into());
    }
    let mut bases = Vec::new();
    for path in &args.bases {
        bases.extend(super::trace::report::bases(std::slice::from_ref(path))?);
    }
    let open = || Trace::open_all(&bases).map_err(Error::from);
    let record = if chosen.is_some() {
        trace::read(&mut open()?, source, args.traced)
    } else {
        trace::read_either(open, source, args.traced, None)
    };
    Ok((record?, true))
}

fn refuse_what_a_log_lacks(args: &ReplayArgs, path: &Path) -> Result<(), Error> {
    let why = if args.bases.len() > 1 {
        "is a log of writes; replay it by itself"
    } else if args.mode != ModeArg::Saturate {
        "a log of writes has no times, so it cannot be replayed in this mode; use --mode saturate"
    } else if args.traced.is_some() {
        "a log of writes is of one device; leave out --traced"
    } else {
        return Ok(());
    };
    Err(Error::NotOfLog {
        path: path.display().to_string(),
        why,
    })
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
