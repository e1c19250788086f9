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

/// Exit code of a run that finished with doubtful evidence, as on a busy machine.
const IN_DOUBT: i32 = 7;
/// Exit code of an invalid command line: here, a kernel that lacks something.
const REFUSED: i32 = 2;

/// Arguments of a run.
pub(crate) struct Errand<'a> {
    /// The binary.
    pub(crate) fslab: &'a Path,
    /// The study's file.
    pub(crate) study: &'a Path,
    /// The kernel it runs in.
    pub(crate) kernel: &'a Kernel,
    /// Further words of the command.
    pub(crate) more: &'a [&'a str],
    /// The run's folder, which must not exist yet.
    pub(crate) out: &'a Path,
}

/// Result of a run.
pub(crate) enum Ran {
    /// The run, with or without failed trials.
    Recorded(Box<Run>),
    /// It was refused: the kernel lacks something; fslab's message.
    Lacks(String),
}

/// Runs the study and reads what was recorded. The output of fslab is beside the run's folder, in `.log`.
///
/// # Errors
/// fslab does not start, or ends without a run; or a signal came, and fslab was asked to stop.
pub(crate) fn run(errand: &Errand<'_>, stop: &Stop) -> Result<Ran> {
    let log = beside(errand.out, "log");
    let stderr = File::create(&log).with_context(|| format!("cannot make {}", log.display()))?;
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
        .stderr(stderr)
        .spawn()
        .map_err(|error| cannot_start(&errand.fslab.display().to_string(), error))?;
    let status = wait(child, stop)?;
    let message = last_line(&log);
    if status.code() == Some(REFUSED) && message.contains(" lacks ") {
        return Ok(Ran::Lacks(message));
    }
    let run = Run::load(errand.out)
        .with_context(|| format!("fslab gave no run ({status}): {message}"))?;
    let failed = |run: &Run| {
        let mut trials = run.trials.iter();
        trials.any(|trial| matches!(trial.status, Status::Failed(..)))
    };
    match status.code() {
        Some(0 | IN_DOUBT) => {}
        // A failed trial is in the record.
        Some(_) if failed(&run) => {}
        _ => bail!("the run ended with {status}: {message}"),
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

/// Waits for fslab; forwards a signal, on which it stops its guest as well.
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
    let message = std::fs::read(log).unwrap_or_default();
    let message = String::from_utf8_lossy(&message);
    let line = message.lines().rfind(|line| !line.trim().is_empty());
    line.unwrap_or("it printed nothing").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A script in place of fslab.
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
    fn a_refusal_is_distinguished_from_a_failure() {
        let ran = errand("echo 'kernel x lacks null_blk; next' >&2; exit 2").unwrap();
        assert!(matches!(ran, Ran::Lacks(message) if message == "kernel x lacks null_blk; next"));
        for (script, says) in [
            ("echo 'fslab: no such kernel' >&2; exit 2", "no such kernel"),
            (
                "echo \"$* \" >&2; exit 1",
                "run study.toml --executor qemu --kernel 6.1",
            ),
            ("exit 1", "it printed nothing"),
        ] {
            let message = format!("{:#}", errand(script).err().unwrap());
            assert!(
                message.contains("gave no run") && message.contains(says),
                "{message}"
            );
        }
    }
}
