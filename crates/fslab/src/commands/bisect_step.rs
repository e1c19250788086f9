//! `fslab bisect-step`: one step of `git bisect run`.
//!
//! Every end that is neither good nor bad has a code of its own: git takes any code from 1 to 127 but 125 as bad.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use ::compare::SideRun;
use ::compare::bisect::{Bisection, Measurement, Verdict};
use anyhow::{anyhow, bail};

use crate::cli::BisectArgs;
use crate::commands::compare::{options, sides};
use crate::{exit, out};

pub(crate) fn run(args: &BisectArgs) -> u8 {
    // A panic would end with 101, which git takes as bad.
    let ended = catch_unwind(AssertUnwindSafe(|| step(args)));
    match ended {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            out::say(&format!(
                "fslab: {}; the search stops",
                out::error_line(&error.to_string())
            ));
            exit::BISECT_STOP
        }
        Err(_) => exit::BISECT_STOP,
    }
}

fn step(args: &BisectArgs) -> anyhow::Result<u8> {
    if !args
        .command
        .iter()
        .any(|word| word.to_string_lossy().contains(OUT))
    {
        bail!("the command does not name {OUT}, the folder of its run; add --out {OUT} to it");
    }
    let both = sides(&[args.good.clone(), args.bad.clone()], &args.figures)?;
    let Ok(both) = <[::compare::Side; 2]>::try_from(both) else {
        bail!("--good and --bad are one side each");
    };
    let bisection = Bisection::new(
        &both,
        &options(&args.figures)?,
        args.steps,
        args.most as usize,
    )?;
    if let Some(why) = args.build.as_deref().map(build).transpose()?.flatten() {
        return Ok(print("skip", &why, exit::BISECT_SKIP));
    }
    let measure = |_| measure(args);
    let ended = bisection.step(measure, |line| out::say(&format!("fslab: {line}")))?;
    Ok(match ended.verdict {
        Verdict::Good => print("good", &ended.why, exit::OK),
        Verdict::Bad => print("bad", &ended.why, exit::BISECT_BAD),
        Verdict::Skip => print("skip", &ended.why, exit::BISECT_SKIP),
    })
}

/// The verdict for people: the code says it, so a closed pipe changes nothing.
fn print(verdict: &str, why: &str, code: u8) -> u8 {
    out::say(&format!("fslab: {verdict}: {why}"));
    code
}

/// Stands for the folder of the run in the command.
const OUT: &str = "{out}";

/// Why the commit does not build; none: it does.
fn build(command: &str) -> anyhow::Result<Option<String>> {
    let mut shell = Command::new("sh");
    let status = status(shell.args(["-c", command]), "sh")?;
    match status.code() {
        Some(0) => Ok(None),
        Some(code) => Ok(Some(format!(
            "it does not build: {command} ended with code {code}"
        ))),
        None => bail!("{command}: {status}"),
    }
}

fn status(command: &mut Command, name: &str) -> anyhow::Result<ExitStatus> {
    // What it prints is for people here.
    let started = command
        .stdout(Stdio::from(io::stderr()))
        .stdin(Stdio::null())
        .status();
    started.map_err(|error| anyhow!("cannot start {name}: {error}; check the command"))
}

/// Makes one run of the commit.
fn measure(args: &BisectArgs) -> anyhow::Result<Measurement> {
    let dir = free(&args.out)?;
    let dir = dir.to_string_lossy();
    let words: Vec<String> = args
        .command
        .iter()
        .map(|word| word.to_string_lossy().replace(OUT, &dir))
        .collect();
    let [program, arguments @ ..] = words.as_slice() else {
        bail!("no command to measure with");
    };
    let status = status(Command::new(program).args(arguments), program)?;
    match status.code() {
        Some(0) => {}
        // What `fslab run` gives where a commit does not build, boot or mount, or a measurement is invalid.
        Some(code @ (1 | 2 | 7 | 125)) => {
            return Ok(Measurement::Untestable(format!(
                "the measurement ended with code {code}"
            )));
        }
        _ => bail!("{program}: {status}"),
    }
    let run = record::Run::load(Path::new(&*dir))?;
    let left = run.remaining().len();
    if left > 0 {
        bail!("{dir}: {left} trials have still to run");
    }
    Ok(Measurement::Run(Box::new(SideRun {
        from: dir.into_owned(),
        run,
    })))
}

/// A folder that does not exist yet.
fn free(out: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(out)
        .map_err(|error| anyhow!("{}: {error}; choose another --out", out.display()))?;
    let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let folders = (1..10_000).map(|n| out.join(format!("{now}-{n}")));
    let free = folders
        .into_iter()
        .find(|dir| dir.symlink_metadata().is_err());
    free.ok_or_else(|| anyhow!("{}: full of runs; choose another --out", out.display()))
}
