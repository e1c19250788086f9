//! Running programs, and stopping when asked to.

use std::io;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use workload::{Observer, Progress};

use crate::needs::Missing;

/// Set by SIGINT and SIGTERM, so that mounts and loop devices are undone on the way out.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Catches the signals from now on.
    pub fn on_signals() -> Result<Stop> {
        let stop = Stop::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    /// Whether a signal has come.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once a signal has come.
    pub fn check(&self) -> Result<()> {
        if self.is_set() {
            bail!("interrupted");
        }
        Ok(())
    }
}

impl Observer for Stop {}

impl Progress for Stop {
    fn cancelled(&self) -> bool {
        self.is_set()
    }
}

/// Ends a bench: prints whether all targets were met (exit code 0), some missed (3), or why it
/// could not be measured: something that it needs is [`Missing`] (2), or it failed (1).
pub fn verdict(name: &str, met: Result<bool>) -> ExitCode {
    match met {
        Ok(true) => {
            println!("all targets met");
            ExitCode::SUCCESS
        }
        Ok(false) => {
            println!("some targets MISSED");
            ExitCode::from(3)
        }
        Err(error) => {
            eprintln!("{name}: {error:#}");
            if error.is::<Missing>() {
                ExitCode::from(2)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

/// Runs a program and returns its standard output; its standard error is the error's text.
pub fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let line = format!("{program} {}", arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot_start(program, error))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("{line}: {}: {}", output.status, message.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Why a program did not start.
pub fn cannot_start(program: &str, error: io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::NotFound {
        return Missing(format!("cannot start {program}: {error}; install it")).into();
    }
    anyhow::Error::new(error).context(format!("cannot start {program}"))
}

/// Writes all back and empties the page, dentry and inode caches.
pub fn drop_caches() -> Result<()> {
    rustix::fs::sync();
    std::fs::write("/proc/sys/vm/drop_caches", "3").context("cannot drop caches")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_ends_a_bench_with_2_and_another_failure_with_1() {
        let missing = output("/no/such/program", &[]).unwrap_err();
        assert!(missing.to_string().contains("/no/such/program"));
        let code = |error| format!("{:?}", verdict("test", Err(error)));
        assert_eq!(code(missing), format!("{:?}", ExitCode::from(2)));
        let failed = output("false", &[]).unwrap_err();
        assert_eq!(code(failed), format!("{:?}", ExitCode::FAILURE));
    }
}
