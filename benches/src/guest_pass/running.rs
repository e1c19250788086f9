//! One run of the binary, and what it recorded.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::run::{Stop, cannot_start};
use anyhow::{Context, Result, bail};
use record::{Run, Status};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::guest_pass::kernels::Kernel;

/// Exit code of a run whose trials are whole, with evidence in doubt: a busy machine's.
const IN_DOUBT: i32 = 7;
/// Exit code of a command line that cannot be: here, of a kernel that lacks something.
const REFUSED: i32 = 2;

/// What is run.
pub(crate) struct Errand<'a> {
    /// The binary.
    pub(crate) fslab: &'a Path,
    /// The study's file.
    pub(crate) study: &'a Path,
    /// What it runs in.
    pub(crate) kernel: &'a Kernel,
    /// Further words of the command.
    pub(crate) more: &'a [&'a str],
    /// The run's folder, which is not there yet.
    pub(crate) out: &'a Path,
}

/// What came of it.
pub(crate) enum Ran {
    /// The run, with or without failed trials.
    Recorded(Box<Run>),
    /// It was not begun: the kernel lacks something, in fslab's words.
    Lacks(String),
}

/// Runs the study and reads what was recorded. The output of fslab is beside the run's folder, in `.log`.
///
/// # Errors
/// fslab does not start, or ends without a run; a signal came, and then it was asked to stop.
pub(crate) fn run(errand: &Errand<'_>, stop: &Stop) -> Result<Ran> {
    let log = beside(errand.out, "log");
    let said = File::create(&log).with_context(|| format!("cannot make {}", log.display()))?;
    let mut command = Command::new(errand.fslab);
    command
        .arg("run")
        .arg(errand.study)
        .args(["--executor", errand.kernel.executor]);
    if let Some(name) = &errand.kernel.name {
        command.args(["--kernel", name]);
    }
    let child = command
        .args(errand.more)
        .arg("--out")
        .arg(errand.out)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        .spawn()
        .map_err(|error| cannot_start(&errand.fslab.display().to_string(), error))?;
    let status = wait(child, stop)?;
    let said = last_line(&log);
    if status.code() == Some(REFUSED) && said.contains(" lacks ") {
        return Ok(Ran::Lacks(said));
    }
    let run =
        Run::load(errand.out).with_context(|| format!("fslab gave no run ({status}): {said}"))?;
    let failed = |run: &Run| {
        let mut trials = run.trials.iter();
        trials.any(|trial| matches!(trial.status, Status::Failed(..)))
    };
    match status.code() {
        Some(0 | IN_DOUBT) => {}
        // A trial that failed says so itself.
        Some(_) if failed(&run) => {}
        _ => bail!("the run ended with {status}: {said}"),
    }
    Ok(Ran::Recorded(Box::new(run)))
}

/// A file beside the run's folder.
pub(crate) fn beside(out: &Path, extension: &str) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

/// Waits for it. Once a signal has come it is asked to stop as well, and takes its guest with it.
fn wait(mut child: Child, stop: &Stop) -> Result<ExitStatus> {
    let pid = Pid::from_child(&child);
    let ended = pidfd_open(pid, PidfdFlags::empty())?;
    let look = Timespec {
        tv_sec: 0,
        tv_nsec: 200_000_000,
    };
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            stop.check()?;
            return Ok(status);
        }
        if stop.is_set() && !asked {
            kill_process(pid, Signal::TERM)?;
            asked = true;
        }
        // An interrupted sleep is a short one.
        let _ = poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&look));
    }
}

fn last_line(log: &Path) -> String {
    let said = std::fs::read(log).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().rfind(|line| !line.trim().is_empty());
    line.unwrap_or("it printed nothing").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A program in fslab's place.
    fn errand(script: &str) -> Result<Ran> {
        let dir = tempfile::tempdir().unwrap();
        let fslab = dir.path().join("fslab");
        std::fs::write(&fslab, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&fslab, PermissionsExt::from_mode(0o755)).unwrap();
        let errand = Errand {
            fslab: &fslab,
            study: Path::new("study.toml"),
            kernel: &Kernel::qemu("6.1"),
            more: &[],
            out: &dir.path().join("out"),
        };
        run(&errand, &Stop::default())
    }

    #[test]
    fn a_refusal_is_told_from_a_failure() {
        let ran = errand("echo 'kernel x lacks null_blk; next' >&2; exit 2").unwrap();
        assert!(matches!(ran, Ran::Lacks(said) if said == "kernel x lacks null_blk; next"));
        for (script, says) in [
            ("echo 'fslab: no such kernel' >&2; exit 2", "no such kernel"),
            (
                "echo \"$* \" >&2; exit 1",
                "run study.toml --executor qemu --kernel 6.1",
            ),
            ("exit 1", "it printed nothing"),
        ] {
            let said = format!("{:#}", errand(script).err().unwrap());
            assert!(
                said.contains("gave no run") && said.contains(says),
                "{said}"
            );
        }
    }
}
