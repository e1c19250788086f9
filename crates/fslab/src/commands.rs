//! One file for each subcommand, and what they share.

pub(crate) mod bench;
pub(crate) mod bisect_step;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod crash;
pub(crate) mod device;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fleet;
pub(crate) mod forge;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod kernel;
pub(crate) mod layout;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod metrics;
pub(crate) mod new;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod site;
pub(crate) mod studies;
pub(crate) mod trace;

use std::path::{Path, PathBuf};

use lab::{
    Class, Ending, ExecutorRequest, Finished, GuestMachine, PlanRequest, Planned, RanksRequest,
    Runner, Target,
};
use study::{DevicesFile, Order, Overrides};
use words::plural;

use crate::cli::{ExecutorArg, LiveFormat, OrderArg, StoreArg, StudyArgs, TargetArgs};
use crate::{exit, out};

/// Version and commit, as the log keeps them.
pub(crate) fn tool() -> String {
    format!("fslab {}", crate::cli::VERSION)
}

/// The exit code of an error that reached the top.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<out::ClosedPipe>().is_some() {
        return exit::CLOSED_PIPE;
    }
    if let Some(error) = error.downcast_ref::<guest::kernel::Error>() {
        return if error.is_usage() {
            exit::USAGE
        } else {
            exit::TROUBLE
        };
    }
    if let Some(error) = error.downcast_ref::<::compare::Error>() {
        return if error.is_usage() {
            exit::USAGE
        } else {
            exit::TROUBLE
        };
    }
    if let Some(error) = error.downcast_ref::<::site::Error>() {
        return match error {
            ::site::Error::Interrupted => exit::INTERRUPTED,
            error if error.is_usage() => exit::USAGE,
            _ => exit::TROUBLE,
        };
    }
    if let Some(error) = error.downcast_ref::<::fleet::Error>() {
        return if error.is_refusal() {
            exit::REFUSED
        } else if error.is_usage() {
            exit::USAGE
        } else {
            exit::TROUBLE
        };
    }
    if error.downcast_ref::<::explain::Error>().is_some() {
        return exit::USAGE;
    }
    if let Some(error) = error.downcast_ref::<modelled::Error>() {
        return match error {
            error if error.is_usage() => exit::USAGE,
            error if error.is_invalid() => exit::INVALID,
            _ => exit::TROUBLE,
        };
    }
    match error.downcast_ref::<lab::Error>().map(lab::Error::class) {
        Some(Class::Usage) => exit::USAGE,
        Some(Class::Refused) => exit::REFUSED,
        Some(Class::Incomplete) => exit::INCOMPLETE,
        Some(Class::Invalid) => exit::INVALID,
        Some(Class::Interrupted) => exit::INTERRUPTED,
        Some(Class::Trouble) | None => exit::TROUBLE,
    }
}

pub(crate) fn overrides(args: &StudyArgs) -> Overrides {
    Overrides {
        profile: args.profile.clone(),
        set: args.set.clone(),
        filter: args.filter.clone(),
        blocks: args.blocks,
        seed: args.seed,
        order: args.order.map(|order| match order {
            OrderArg::Blocked => Order::Blocked,
            OrderArg::Sequential => Order::Sequential,
        }),
        ..Overrides::default()
    }
}

/// Expands the study for the target, and chooses the executor.
pub(crate) fn planned(study: &StudyArgs, args: &TargetArgs) -> anyhow::Result<Planned> {
    let file = study.devices.devices_file.as_deref();
    let file = file.map(modelled::read_file).transpose()?;
    let file = file.map(|(name, text)| DevicesFile { name, text });
    let loaded = study::Study::load_with(&study.study, file.as_ref()).map_err(lab::Error::from)?;
    let ranks = ranks(args)?;
    let request = PlanRequest {
        overrides: overrides(study),
        named: named(args),
        kernels: args.kernel.clone(),
        modules: args.modules.clone(),
        executor: ExecutorRequest {
            runner: args.executor.and_then(|executor| match executor {
                ExecutorArg::Host => Some(Runner::Host),
                ExecutorArg::Uml => Some(Runner::Guest(GuestMachine::Uml)),
                ExecutorArg::Qemu => Some(Runner::Guest(GuestMachine::Qemu)),
                ExecutorArg::Mpi => None,
            }),
            virtual_time: args.virtual_time,
            cache: args.cache.cache.as_deref().map(absolute),
            say: Some(|text| out::say(&format!("fslab: {text}"))),
        },
        ranks,
    };
    Ok(Planned::new(&loaded, request)?)
}

/// What is asked of ranks, with `--executor mpi`.
fn ranks(args: &TargetArgs) -> anyhow::Result<Option<RanksRequest>> {
    let refuse = |why: &str| Err(lab::Error::Preflight(why.to_owned()).into());
    match (args.executor, &args.dir) {
        (Some(ExecutorArg::Mpi), Some(_)) => Ok(Some(RanksRequest {
            launcher: args.launcher.clone(),
            library: args.mpi_library.clone(),
        })),
        (Some(ExecutorArg::Mpi), None) => {
            refuse("--executor mpi needs --dir DIR, a directory that all nodes share")
        }
        _ if args.launcher.is_some() || args.mpi_library.is_some() => refuse(
            "--launcher and --mpi-library belong to --executor mpi; add it, or leave them out",
        ),
        (Some(_), Some(_)) => refuse(
            "--dir is a directory of this machine's kernel; leave out --executor, or choose --executor mpi",
        ),
        _ => Ok(None),
    }
}

/// The directory or disk on the command line.
fn named(args: &TargetArgs) -> Option<Target> {
    match (&args.dir, &args.device, &args.destroy) {
        (Some(dir), _, _) => Some(Target::Directory(absolute(dir))),
        (None, Some(device), Some(serial)) => Some(Target::Device {
            path: absolute(device),
            serial: serial.clone(),
        }),
        _ => None,
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The given folder of runs; otherwise the default one, if it exists.
pub(crate) fn runs(named: Option<&PathBuf>) -> Option<PathBuf> {
    let usual = PathBuf::from(record::folder::RUNS);
    named.cloned().or_else(|| usual.is_dir().then_some(usual))
}

/// The store that is named, by an option or the environment; otherwise the default one.
pub(crate) fn store_location(args: &StoreArg) -> anyhow::Result<store::Location> {
    let of_environment = || {
        std::env::var("FSLAB_STORE")
            .ok()
            .filter(|text| !text.is_empty())
    };
    match args.store.clone().or_else(of_environment) {
        Some(text) => Ok(text.parse().map_err(lab::Error::Store)?),
        None => Ok(store::Location::usual()),
    }
}

/// The share of trials that ran on a busy machine; none: no trial did.
fn noise(run: &record::Run) -> Option<String> {
    let counts = |trial: &&record::TrialRecord| trial.status == record::Status::Finished;
    let all = run.trials.iter().filter(counts).count();
    let busy = run
        .trials
        .iter()
        .filter(counts)
        .filter(|trial| trial.is_noisy())
        .count();
    let next = match run.plan.rerun_doubtful {
        0 => "; --rerun-doubtful N repeats such trials at the end of a run",
        _ => ", their repeats included",
    };
    let share = 100.0 * busy as f64 / all.max(1) as f64;
    (busy > 0).then(|| {
        format!(
            "fslab: {busy} of {} ({share:.0} %) ran while others used the machine; they are marked \
             ^ in the report{next}",
            plural(all as u64, "trial")
        )
    })
}

/// Prints a finished run's report in the requested format, and how the run ended. `lost`: why its
/// events could not be printed to the end; a run that is otherwise whole ends with that error.
pub(crate) fn finish(
    finished: &Finished,
    format: LiveFormat,
    lost: Option<anyhow::Error>,
) -> anyhow::Result<u8> {
    let dir = out::path(&finished.dir);
    let code = match finished.ending {
        Ending::Whole => exit::OK,
        Ending::Invalid {
            failed,
            not_run,
            doubtful,
        } => {
            let not_run = match not_run {
                0 => String::new(),
                count => format!(", {count} did not run because their cell cannot"),
            };
            out::say(&format!(
                "fslab: {} failed{not_run}, {} with invalid measurements; they are marked in the report, and \
                 `fslab show {dir}` gives the reasons",
                plural(u64::from(failed), "trial"),
                plural(u64::from(doubtful), "trial")
            ));
            exit::INVALID
        }
        Ending::Interrupted { remaining } => {
            out::say(&format!(
                "fslab: interrupted with {} to go; everything mounted is undone \
                 and the results so far are kept; continue with `fslab resume {dir}`",
                plural(u64::from(remaining), "trial")
            ));
            return Ok(exit::INTERRUPTED);
        }
    };
    let format = match format {
        LiveFormat::Jsonl => None,
        LiveFormat::Text => Some(::report::Format::Text),
        LiveFormat::Json => Some(::report::Format::Json),
    };
    if let Some(format) = format {
        let options = ::report::Options {
            format,
            part: ::report::Part::First,
            ..::report::Options::default()
        };
        let text = ::report::render(&finished.run, Some(&finished.dir), &options);
        out::print(&text.map_err(lab::Error::from)?)?;
    }
    if let Some(line) = noise(&finished.run) {
        out::say(&line);
    }
    out::say(&format!("report: {dir}/report.txt and {dir}/report.html"));
    match lost {
        Some(error) if code == exit::OK => Err(error),
        _ => Ok(code),
    }
}
