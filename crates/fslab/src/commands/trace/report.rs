//! `fslab trace report`.

use std::collections::BTreeMap;
use std::convert::identity;
use std::io;
use std::path::{Path, PathBuf};

use ::report::trace::{Recorded, Subject, csv, html, md, text};
use blktrace::btt::{FileOptions, Options, Outcome, Stacked};
use blktrace::{Analysis, Trace, btt};

use crate::cli::trace::{TraceFormat, TraceReportArgs};
use crate::out::Output;
use crate::output_file::OutputFile;
use crate::{exit, out};

/// Longest file of devices' names, and longest description beside a trace, in bytes.
const LONGEST_NAMES: u64 = 1 << 20;

/// Ends with [`exit::INVALID`] when the trace is not whole.
pub(crate) fn run(args: &TraceReportArgs) -> anyhow::Result<u8> {
    let window = (args.from.unwrap_or(0.0), args.to.unwrap_or(f64::MAX));
    if !(window.0 >= 0.0 && window.0 < window.1) {
        return Err(usage(
            "--from, --to: not a span of time; give seconds, the first below the second",
        ));
    }
    let bases = bases(&args.bases)?;
    let mut trace = Trace::open_all(&bases).map_err(failed)?;
    let inputs: Vec<PathBuf> = trace.files().iter().map(|file| file.path.clone()).collect();
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let output = Output::of(args.output.as_deref(), &inputs)?;
    if args.format == TraceFormat::Blkparse {
        events(&mut trace, &output)?;
        return Ok(exit::OK);
    }
    let recorded: Vec<Recorded> = bases.iter().filter_map(|base| recorded(base)).collect();
    let options = options(args, &recorded)?;
    let files = args.files.as_ref().map(|folder| all_files(folder, &trace));
    let outcome = btt::run(&mut trace, &options, files.as_ref()).map_err(failed)?;
    let analysis = outcome.analysis();
    known(args, &analysis)?;
    if let Some(files) = &files {
        tables(&files.folder, &trace, &outcome)?;
    }
    let subject = Subject {
        analysis: &analysis,
        recorded: &recorded,
        names: &options.names,
        devices: &args.devices,
        processes: &args.processes,
    };
    let text = match args.format {
        TraceFormat::Text | TraceFormat::Blkparse => text(&subject),
        TraceFormat::Md => md(&subject),
        TraceFormat::Btt => outcome.tables(true) + &outcome.ranges(),
        TraceFormat::Json => serde_json::to_string_pretty(&analysis)? + "\n",
        TraceFormat::Csv => csv(&subject),
        TraceFormat::Html => html(&subject).map_err(lab::Error::from)?,
    };
    if output.is_file() {
        output.text(&text)?;
    } else {
        out::print_bytes(text.as_bytes())?;
    }
    let doubts = subject.doubts();
    let name = out::line(&analysis.name);
    for doubt in &doubts {
        out::say(&format!("fslab: {name}: {}", out::line(doubt)));
    }
    Ok(if doubts.is_empty() {
        exit::OK
    } else {
        exit::INVALID
    })
}

fn usage(text: &str) -> anyhow::Error {
    lab::Error::Preflight(text.to_owned()).into()
}

/// A missing trace is a usage error; one that cannot be read is an I/O error.
fn failed(error: blktrace::Error) -> anyhow::Error {
    use blktrace::Error;
    match error {
        Error::Missing { .. } | Error::NoTraces { .. } => usage(&error.to_string()),
        Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => out::ClosedPipe.into(),
        error => error.into(),
    }
}

/// The bases of all paths.
pub(crate) fn bases(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut bases = Vec::new();
    for path in paths {
        if !path.exists()
            && path
                .parent()
                .is_some_and(|p| !p.as_os_str().is_empty() && !p.is_dir())
        {
            let path = path.display();
            return Err(usage(&format!(
                "{path}: no such folder; name a trace by its base"
            )));
        }
        bases.extend(Trace::bases(path).map_err(failed)?);
    }
    Ok(bases)
}

fn beside(base: &Path, end: &str) -> PathBuf {
    let mut name = base.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The JSON file that the recorder wrote with a trace; blktrace's traces have none.
fn recorded(base: &Path) -> Option<Recorded> {
    let text = input::text(&beside(base, ".blktrace.json"), LONGEST_NAMES).ok()?;
    Recorded::from_json(&text)
}

fn options(args: &TraceReportArgs, recorded: &[Recorded]) -> anyhow::Result<Options> {
    let mut names: BTreeMap<u32, String> = recorded
        .iter()
        .filter_map(|trace| Some((trace.device_number()?, trace.device.clone())))
        .collect();
    let is_stacked = |name: &str| name.starts_with("md") || name.starts_with("dm-");
    let mut stacked = probe::capture::stacked();
    stacked.extend(
        names
            .iter()
            .filter(|(_, name)| is_stacked(name))
            .map(|(number, _)| *number),
    );
    // btt's tables name devices by their numbers unless they are given names.
    if args.format == TraceFormat::Btt {
        names.clear();
    }
    if let Some(path) = &args.names {
        let text = input::text(path, LONGEST_NAMES).map_err(|error| {
            usage(&format!(
                "{}: {error}; name a file of names",
                path.display()
            ))
        })?;
        names.extend(btt::device_names(&text));
    }
    Ok(Options {
        stacked: if args.as_btt {
            Stacked::ByMajor
        } else {
            Stacked::These(stacked)
        },
        as_btt: args.as_btt,
        ignore_remaps: args.no_remaps,
        devices: args.devices.clone(),
        processes: args.processes.clone(),
        from_seconds: args.from,
        to_seconds: args.to,
        names,
        ..Options::default()
    })
}

/// Every file that btt has an option for, under its usual name.
fn all_files(folder: &Path, trace: &Trace) -> FileOptions {
    let name = trace.names().join("-");
    let prefix = || Some(name.clone());
    FileOptions {
        folder: folder.to_owned(),
        iostat: Some(format!("{name}.iostat")),
        iostat_seconds: 1.0,
        per_io: Some(format!("{name}.per_io")),
        per_request: true,
        q2d: prefix(),
        d2c: prefix(),
        q2c: prefix(),
        blocks: prefix(),
        depth: prefix(),
        unplugs: Some(format!("{name}_unplug")),
        seeks: prefix(),
        seeks_per_second: Some(format!("{name}_sps")),
        periodic: Some(1.0),
        rates: true,
        messages: Some(format!("{name}.msg")),
        live: true,
        histograms: prefix(),
    }
}

/// The further files of btt -o: tables, ranges, and lines for programs.
fn tables(folder: &Path, trace: &Trace, outcome: &Outcome) -> anyhow::Result<()> {
    let name = trace.names().join("-");
    for (end, text) in [
        ("avg", outcome.tables(true)),
        ("dat", outcome.ranges()),
        ("xvg", outcome.easy()),
    ] {
        let path = folder.join(format!("{name}.{end}"));
        let written = OutputFile::at(&path, &[]);
        let written =
            written.and_then(|file| file.write(|out| out.write_all(text.as_bytes()), identity));
        written.map_err(|error| {
            usage(&format!(
                "{}: {error}; choose another --files",
                path.display()
            ))
        })?;
    }
    Ok(())
}

/// A process that is not in the trace is a usage error.
fn known(args: &TraceReportArgs, analysis: &Analysis) -> anyhow::Result<()> {
    let devices = analysis.devices.iter().map(|d| (d.major, d.minor));
    let has: Vec<String> = devices
        .map(|(major, minor)| format!("{major},{minor}"))
        .collect();
    for device in &args.devices {
        let asked = format!("{},{}", device >> 20, device & 0xf_ffff);
        if !has.contains(&asked) {
            let has = words::list(&has);
            return Err(usage(&format!(
                "--devices {asked}: not in the trace, which has {has}"
            )));
        }
    }
    for name in &args.processes {
        // btt cuts a name at its first slash.
        let is = |process: &str| process == name || process.split('/').next() == Some(name);
        if !analysis.processes.iter().any(|process| is(&process.name)) {
            let why = "no process of this name queued a request; the report without this option lists those that did";
            return Err(usage(&format!("--processes {}: {why}", out::line(name))));
        }
    }
    Ok(())
}

/// blkparse's text, printed while the trace is read.
fn events(trace: &mut Trace, output: &Output) -> anyhow::Result<()> {
    let options = blktrace::text::Options::default();
    let written = output.write(
        |mut out| blktrace::text::write(trace, &options, &mut out),
        blktrace::Error::Output,
    );
    written.map_err(|error| match error {
        blktrace::Error::Output(error) => output.failed(&error),
        error => failed(error),
    })
}
