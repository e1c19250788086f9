//! `fslab bench mix` and `fslab bench --fio-job`: jobs as fio runs them.

use std::path::Path;

use lab::Interrupt;
use params::MixSpec;
use params::fio::{self, JobFile};
use workload::Workload;
use workload::mix::{Job, Jobs, fio_json};

use super::{doubt, print};
use crate::cli::LiveFormat;
use crate::cli::bench::{BenchFormat, FioJobArgs, MixArgs, MixFormat};
use crate::out;
use crate::terminal::RunTerminal;

/// Longest job file, in bytes: fio's own examples have 2 KiB.
const LONGEST_JOB_FILE: u64 = 1 << 20;

pub(crate) fn mix(args: &MixArgs) -> anyhow::Result<u8> {
    watch(&args.spec, args.format)
}

pub(crate) fn fio_job(args: &FioJobArgs) -> anyhow::Result<u8> {
    let path = &args.fio_job;
    let text = input::text(path, LONGEST_JOB_FILE).map_err(|error| {
        let path = path.display();
        lab::Error::Preflight(format!(
            "cannot read the job file {path}: {error}; name another"
        ))
    })?;
    let file = fio::parse(&text)
        .map_err(|error| lab::Error::Preflight(format!("{} {error}", path.display())))?;
    watch(&jobs(&file, args), args.format)
}

/// The jobs of a file, with their directories. Their files are removed unless `unlink=0` or `--keep`.
fn jobs(file: &JobFile, args: &FioJobArgs) -> Jobs {
    let job = |job: &fio::Job| Job {
        name: job.name.clone(),
        options: job.options.clone(),
        group_reporting: job.group_reporting,
        spec: MixSpec {
            keep: args.keep || job.unlink == Some(false),
            reuse: args.reuse,
            ..job.placed(args.dir.as_deref().map(Path::new))
        },
    };
    let group = |jobs: &Vec<fio::Job>| jobs.iter().map(job).collect();
    Jobs {
        groups: file.groups.iter().map(group).collect(),
        global: file.global.clone(),
        notes: file.notes.clone(),
    }
}

fn watch(workload: &dyn Workload, format: MixFormat) -> anyhow::Result<u8> {
    let terminal = RunTerminal::new(1, LiveFormat::Text);
    let measured = lab::bench::run(workload, &terminal, &Interrupt::on_signals()?);
    drop(terminal);
    let measured = measured?;
    let outcome = &measured.outcome;
    match format {
        MixFormat::Text => print(&measured, BenchFormat::Text, |_| String::new())?,
        MixFormat::Json => print(&measured, BenchFormat::Json, |_| String::new())?,
        MixFormat::Csv => print(&measured, BenchFormat::Csv, |_| String::new())?,
        MixFormat::Fio => out::print(&fio_json(outcome, crate::cli::VERSION))?,
    }
    if let Some(error) = measured.error {
        return Err(error.into());
    }
    Ok(doubt(&measured))
}
