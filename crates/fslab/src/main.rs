//! The `fslab` program: turns the arguments into one library call and prints the result.
//!
//! No logic is here. stdout is data, stderr is for people, and every exit code is documented
//! (docs/exit-codes.md).

#[cfg(test)]
mod authority;
mod cli;
mod commands;
mod exit;
mod loop_image;
mod out;
mod output_file;
mod terminal;

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::cli::{
    BenchCommand, BenchLine, Cli, Command, DeviceCommand, FleetCommand, ForgeCommand,
    KernelCommand, TraceCommand,
};

fn main() -> ExitCode {
    // As the first process of a guest kernel there is no command line.
    if let Some(never) = lab::guest::be_guest() {
        match never {}
    }
    // A rank of MPI: started by a launcher, thousands at once, so before everything else. No one types it, so clap does not know it.
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some("__rank") {
        return ExitCode::from(rank(words));
    }
    // At the file size limit (ulimit -f) the write then fails, as on a full disk. Children get the
    // default back.
    let met = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, met) {
        out::say(&format!("fslab: cannot handle SIGXFSZ: {error}; going on"));
    }
    let cli = match Cli::of_process() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    log_to_stderr();
    match dispatch(cli.command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            complain(&error);
            ExitCode::from(commands::exit_code(&error))
        }
    }
}

/// Runs a rank of a launch.
fn rank(words: impl Iterator<Item = String>) -> u8 {
    let Some(args) = ranks::rank::Args::of(words) else {
        out::say("fslab: __rank is started by the launcher of --executor mpi; use fslab run");
        return exit::USAGE;
    };
    ranks::rank::run(&args)
}

/// Prints an error. A reader that has seen enough (`| head`) is none: the exit code says it, as after SIGPIPE.
fn complain(error: &anyhow::Error) {
    if error.downcast_ref::<out::ClosedPipe>().is_none() {
        out::say(&format!("fslab: {}", one_line(error)));
    }
}

/// Logs what `FSLAB_LOG` selects, and only errors without it.
fn log_to_stderr() {
    let log = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .without_time();
    // The filter pulls in regular expressions, which take time to build.
    if std::env::var_os("FSLAB_LOG").is_some() {
        log.with_env_filter(EnvFilter::from_env("FSLAB_LOG")).init();
    } else {
        log.with_max_level(LevelFilter::ERROR).init();
    }
}

fn dispatch(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Run(args) => commands::run::run(args),
        Command::Plan(args) => commands::plan::run(&args),
        Command::Resume(args) => commands::resume::run(&args),
        Command::Studies(args) => commands::studies::run(&args),
        Command::Metrics(args) => commands::metrics::run(&args),
        Command::New(args) => commands::new::run(&args),
        Command::List(args) => commands::list::run(&args),
        Command::Show(args) => commands::show::run(&args),
        Command::Report(args) => commands::report::run(args),
        Command::Explain(args) => commands::explain::run(args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::History(args) => commands::history::run(&args),
        Command::BisectStep(args) => Ok(commands::bisect_step::run(&args)),
        Command::Site(args) => commands::site::run(&args),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Import(args) => commands::import::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Clean(args) => commands::clean::run(&args),
        Command::Bench(command) => bench(&command),
        Command::Layout(args) => commands::layout::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Crash(args) => commands::crash::run(&args),
        Command::Forge(ForgeCommand::Ext4(args)) => commands::forge::ext4::run(&args),
        Command::Forge(ForgeCommand::Ocfs2(args)) => commands::forge::ocfs2::run(&args),
        Command::Forge(ForgeCommand::Xfs(args)) => commands::forge::xfs::run(&args),
        Command::Forge(ForgeCommand::Damage(args)) => commands::forge::damage::run(&args),
        Command::Trace(TraceCommand::Record(args)) => commands::trace::run_record(&args),
        Command::Trace(TraceCommand::Report(args)) => commands::trace::report::run(&args),
        Command::Fleet(FleetCommand::Submit(args)) => commands::fleet::submit(&args),
        Command::Fleet(FleetCommand::Block(args)) => commands::fleet::block(&args),
        Command::Fleet(FleetCommand::Status(args)) => commands::fleet::status(&args),
        Command::Fleet(FleetCommand::Gather(args)) => commands::fleet::gather(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Device(DeviceCommand::List(args)) => commands::device::list(&args),
        Command::Device(DeviceCommand::Show(args)) => commands::device::show(&args),
        Command::Device(DeviceCommand::Check(args)) => commands::device::check(&args),
        Command::Device(DeviceCommand::Bench(args)) => commands::device::bench(&args),
        Command::Device(DeviceCommand::Serve(args)) => commands::device::serve::run(&args),
        Command::Kernel(KernelCommand::List(args)) => commands::kernel::list(&args),
        Command::Kernel(KernelCommand::Fetch(args)) => commands::kernel::fetch(&args),
        Command::Kernel(KernelCommand::Add(args)) => commands::kernel::add(&args),
        Command::Kernel(KernelCommand::Probe(args)) => commands::kernel::probe::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Context(args) => commands::context::run(&args),
        Command::Man(args) => commands::man::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
    }
}

fn bench(line: &BenchLine) -> anyhow::Result<u8> {
    let command = match (&line.command, &line.jobs) {
        (Some(command), _) => command,
        (None, Some(jobs)) => return commands::bench::fio_job(jobs),
        // clap has printed the help.
        (None, None) => return Ok(exit::USAGE),
    };
    match command {
        BenchCommand::Throughput(args) => commands::bench::throughput(args),
        BenchCommand::Tree(args) => commands::bench::tree(args),
        BenchCommand::Stream(args) => commands::bench::stream(args),
        BenchCommand::Fill(args) => commands::bench::fill(args),
        BenchCommand::Age(args) => commands::bench::age(args),
        BenchCommand::Mix(args) => commands::bench::mix(args),
        BenchCommand::Shared(args) => commands::bench::shared(args),
        BenchCommand::Metadata(args) => commands::bench::metadata(args),
        BenchCommand::Fsck(args) => commands::bench::fsck(args),
    }
}

/// clap's own text: help and version to stdout, the rest to stderr with the usage code.
fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let first = std::env::args_os().nth(1);
    // Scripts read fsck's exit codes as bits, in which 1 is "corrected" and 2 is "reboot".
    let checks = first.as_ref().is_some_and(|word| word == "check");
    // git takes 2 as a bad commit.
    let bisects = first.as_ref().is_some_and(|word| word == "bisect-step");
    if !error.use_stderr() {
        return match out::print(&text) {
            Ok(()) => ExitCode::from(exit::OK),
            Err(error) => {
                complain(&error);
                ExitCode::from(match commands::exit_code(&error) {
                    exit::TROUBLE if checks => exit::FSCK_OPERATIONAL,
                    code => code,
                })
            }
        };
    }
    // clap's message, its list of missing arguments with it, without its usage and tips.
    let message: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("tip:"))
        .filter(|line| !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .collect();
    let message = message.join(" ");
    let message = out::error_line(message.trim_start_matches("error: "));
    let next = similar(error).map_or_else(
        || format!("try `{} --help`", command_words()),
        |near| format!("did you mean {near}?"),
    );
    out::say(&format!("fslab: {message}; {next}"));
    ExitCode::from(if checks {
        exit::FSCK_USAGE
    } else if bisects {
        exit::BISECT_STOP
    } else {
        exit::USAGE
    })
}

/// `fslab bench fill`: the commands that the arguments begin with.
fn command_words() -> String {
    let (words, _) = command();
    words.join(" ")
}

/// The commands that the arguments begin with, and the last of them.
fn command() -> (Vec<String>, clap::Command) {
    let mut words = vec!["fslab".to_owned()];
    let mut command = Cli::command();
    for word in std::env::args_os().skip(1) {
        let Some(found) = word.to_str().and_then(|word| command.find_subcommand(word)) else {
            break;
        };
        words.push(found.get_name().to_owned());
        command = found.clone();
    }
    (words, command)
}

/// The command, option or value that a misspelt one is nearest to.
fn similar(error: &clap::Error) -> Option<String> {
    let kinds = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let one = |kind| match error.get(kind)? {
        ContextValue::String(near) => Some(near.clone()),
        ContextValue::Strings(near) => near.first().cloned(),
        _ => None,
    };
    // clap knows a name that begins alike; a swap of letters (`rnu`) is no nearer to it than another word.
    kinds.into_iter().find_map(one).or_else(|| {
        // A known one that does not go with an option has none that is meant instead.
        let misspelt = error.kind() == clap::error::ErrorKind::InvalidSubcommand;
        let typed = one(ContextKind::InvalidSubcommand).filter(|_| misspelt)?;
        let (_, command) = command();
        let names: Vec<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        words::nearest(&typed, names).map(str::to_owned)
    })
}

/// An error in one line. The libraries' messages name their causes themselves.
fn one_line(error: &anyhow::Error) -> String {
    let text = error.to_string();
    let parts: Vec<&str> = text
        .split('\n')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    out::error_line(&parts.join("; "))
}
