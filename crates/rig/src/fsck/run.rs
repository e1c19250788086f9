//! One check from the program's path to the report.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use progress::{Progress, Until};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use workload::Evidence;
use workload::clock::seconds;

use crate::{Error, Result, command};

use super::Request;
use super::checker::Checker;
use super::checkers;
use super::output::{self, Output};
use super::phases::Account;
use super::process::{self, Process, ProcessResult};
use super::report::{Exit, Report, Verdict};
use super::sampler::{Cpu, Meter, Reading};
use super::terminal;
use super::timeline::Ledger;
use super::watch::{Cut, Passes, ProcessEnd, Watch};

/// What tests put in place of the host.
pub(super) struct Environment<'a> {
    /// Finds a program.
    pub(super) locate: &'a dyn Fn(&str) -> Option<PathBuf>,
    /// From SIGTERM to SIGKILL.
    pub(super) grace: Duration,
}

impl Environment<'_> {
    /// This host.
    pub(super) fn host() -> Environment<'static> {
        Environment {
            locate: &command::locate,
            grace: Duration::from_secs(2),
        }
    }
}

/// The path of a checker's program.
pub(super) fn locate(checker: &dyn Checker, environment: &Environment<'_>) -> Result<PathBuf> {
    (environment.locate)(checker.program()).ok_or_else(|| Error::MissingProgram {
        program: checker.program().into(),
        package: checker.package().into(),
    })
}

/// The program that runs.
fn this_program() -> Result<PathBuf> {
    let found = std::env::current_exe();
    found.map_err(|error| {
        let place = Path::new("/proc/self/exe");
        Error::io(place, "cannot find this program itself", error)
    })
}

/// The command line, with `program` as its first word.
pub(super) fn command_line(
    checker: &dyn Checker,
    program: String,
    request: &Request,
) -> Vec<String> {
    let mut argv = vec![program];
    argv.extend(checker.arguments().iter().map(ToString::to_string));
    argv.extend(request.extra.iter().cloned());
    argv.push(request.device.display().to_string());
    argv
}

/// See [`super::run`].
pub(super) fn run_in(
    request: &Request,
    progress: &dyn Progress,
    environment: &Environment<'_>,
) -> Result<Report> {
    let checker = checkers::of(request)?;
    let program = if request.fslab {
        this_program()?
    } else {
        locate(checker, environment)?
    };
    let argv = command_line(checker, program.display().to_string(), request);
    let version = version(checker, &program, progress);
    let went = carry_out(checker, &argv, request, progress, environment.grace)?;
    if went.cut == Some(Cut::Cancelled) {
        return Err(Error::Interrupted {
            doing: format!("running {}", checker.program()),
        });
    }
    let (verdict, explanation) = judge(checker, &went, request.timeout);
    let mut phases = went.account.phases();
    if let Some(whole) = phases.first_mut() {
        whole.evidence.extend(went.evidence);
    }
    Ok(Report {
        argv,
        version,
        phases,
        spans: went.account.spans(),
        exit: went.ended.exit,
        verdict,
        explanation,
        output: went.output,
        usage: went.ended.usage,
        inventory: went.account.inventory(),
    })
}

/// The first line that the program prints of itself, before any clock runs: that also brings the
/// program itself into memory, so that a cold check is cold of its filesystem only.
fn version(checker: &dyn Checker, program: &Path, progress: &dyn Progress) -> String {
    let argv = [
        program.display().to_string(),
        checker.version_option().into(),
    ];
    let begun = Instant::now();
    let late = || begun.elapsed() > Duration::from_secs(5);
    command::first_line(&argv, &Until::new(progress, late))
}

/// How a check went.
struct Went {
    account: Account,
    ended: ProcessResult,
    cut: Option<Cut>,
    output: String,
    evidence: Vec<Evidence>,
}

fn carry_out(
    checker: &'static dyn Checker,
    argv: &[String],
    request: &Request,
    progress: &dyn Progress,
    grace: Duration,
) -> Result<Went> {
    let program = Path::new(&argv[0]);
    let failed = |what: &'static str| move |error: io::Error| Error::io(program, what, error);
    let terminal = terminal::open().map_err(failed("no terminal for it"))?;
    let mut meter = Meter::new(request.block_name.clone());
    let mut output = Output::new(output::HALF);
    let mut begin = meter.read(0);
    let mut process =
        process::start(argv, terminal.theirs, request.locked).map_err(failed("cannot start it"))?;
    // After our own reading and before the fork, as time(1) does it.
    begin.at_ns = process.begun_ns();
    let mut ledger = Ledger::new(checker, begin.clone());
    meter.follow(process.pid());
    let mut watch = Watch {
        checker,
        process: &mut process,
        meter: &mut meter,
        ledger: &mut ledger,
        output: &mut output,
        progress,
        passes: Passes::default(),
        timeout: request.timeout,
        grace,
    };
    let seen = watch
        .until_end(&terminal.ours)
        .map_err(failed("cannot wait for it"))?;
    let (disk, waited_ns) = (watch.meter.disk(), watch.meter.waited());
    end_children(watch.process, program)?;
    drain(&mut watch, &terminal.ours, seen).map_err(failed("cannot read what it printed"))?;
    let mut ended = process.reap().map_err(failed("cannot wait for it"))?;
    let peak = Peak::of(&ended, &meter, seen);
    let mut end = settle(&mut ended, &peak, begin.at_ns, seen);
    (end.disk, end.waited_ns) = (disk, waited_ns);
    Ok(Went {
        account: Account::of(ledger, end),
        evidence: evidence(&peak, terminal.only_a_pipe),
        ended,
        cut: seen.cut,
        output: output.into_text(),
    })
}

/// Ends the processes that the leader, which has ended, left.
fn end_children(process: &mut Process, program: &Path) -> Result<()> {
    process.signal(Signal::KILL);
    let left = process.end_children(Duration::from_secs(10));
    if left.is_empty() {
        return Ok(());
    }
    Err(Error::NotUndone {
        thing: program.display().to_string(),
        why: format!("its processes {left:?} do not end although killed"),
        next: "see the kernel log (dmesg): their device does not answer".into(),
    })
}

/// Reads what is still under way. No process should be left that prints more; the time is
/// limited in case one is.
fn drain(watch: &mut Watch<'_>, ours: &OwnedFd, seen: ProcessEnd) -> io::Result<()> {
    let begun = Instant::now();
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    while begun.elapsed() < Duration::from_secs(5) {
        let mut fds = [PollFd::new(ours, PollFlags::IN)];
        let ready = poll(&mut fds, Some(&now)).or_else(|error| match error {
            rustix::io::Errno::INTR => Ok(1),
            other => Err(other),
        })?;
        if ready == 0 || !watch.listen(ours, seen.end_ns)? {
            break;
        }
    }
    Ok(())
}

/// What is known of the largest resident memory, KiB.
struct Peak {
    /// The largest VmHWM that was read: it was no less.
    seen: u64,
    /// By wait4(2): it was no more.
    counted: u64,
    /// What wait4 counted is the checker's own, and not that of the process that forked.
    own: bool,
    /// From the last reading of VmHWM to the end, seconds.
    unseen: f64,
}

impl Peak {
    fn of(ended: &ProcessResult, meter: &Meter, seen: ProcessEnd) -> Peak {
        let (at_ns, bytes) = meter.peak_rss();
        Peak {
            seen: bytes / 1024,
            counted: ended.usage.max_rss,
            own: ended.own_peak,
            unseen: seconds(at_ns, seen.end_ns),
        }
    }

    fn kib(&self) -> u64 {
        if self.own || self.seen == 0 {
            self.counted.max(self.seen)
        } else {
            self.seen
        }
    }

    fn evidence(&self) -> Evidence {
        let Peak { seen, counted, .. } = *self;
        let (exact, detail) = if self.own {
            (true, format!("{counted} KiB by wait4"))
        } else if seen == 0 {
            let detail = format!(
                "{counted} KiB at most: it ended before its memory could be read, and wait4 counts \
                 the process that forked too"
            );
            (false, detail)
        } else {
            let detail = format!(
                "at least {seen} KiB by VmHWM, last read {:.0} ms before its end, and at most \
                 {counted} KiB by wait4, which counts the process that forked too",
                self.unseen * 1e3
            );
            (counted as f64 <= seen as f64 * CLOSE, detail)
        };
        Evidence {
            name: "peak_memory".into(),
            holds: exact.then_some(true),
            detail,
        }
    }
}

/// Bounds of a peak that are no further apart than this are one number.
const CLOSE: f64 = 1.05;

/// The last reading: CPU time from wait4, memory from wherever it is the checker's own.
fn settle(ended: &mut ProcessResult, peak: &Peak, begin_ns: u64, seen: ProcessEnd) -> Reading {
    let usage = &mut ended.usage;
    usage.max_rss = peak.kib();
    usage.elapsed = seconds(begin_ns, seen.end_ns);
    Reading {
        at_ns: seen.end_ns,
        cpu: Cpu {
            total: usage.user + usage.system,
            user: usage.user,
            system: usage.system,
        },
        peak_rss: usage.max_rss.saturating_mul(1024),
        ..Reading::default()
    }
}

fn evidence(peak: &Peak, only_a_pipe: Option<String>) -> Vec<Evidence> {
    let mut all = vec![peak.evidence()];
    all.extend(only_a_pipe.map(|why| Evidence {
        name: "boundaries_exact".into(),
        holds: None,
        detail: format!("{why}; lines came when the program's buffer was full"),
    }));
    all
}

fn judge(checker: &dyn Checker, went: &Went, timeout: Duration) -> (Verdict, String) {
    let (verdict, words) = match went.ended.exit {
        Exit::Code(code) => checker.judge(code, went.account.summary()),
        // Ours: the kernel's reasons are none of it.
        Exit::Signal(9) if went.cut.is_some() => {
            (Verdict::Crashed(9), format!("{KILLED} 9 (SIGKILL)"))
        }
        Exit::Signal(signal) => (Verdict::Crashed(signal), killed(signal)),
    };
    if went.cut == Some(Cut::TimedOut) {
        let limit = timeout.as_secs_f64();
        let words = format!("ended after its time limit of {limit} s ({words})");
        return (Verdict::TimedOut, words);
    }
    (verdict, words)
}

const KILLED: &str = "killed by signal";

fn killed(signal: i32) -> String {
    let name = match signal {
        2 => " (SIGINT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL: perhaps for want of memory, see dmesg)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        31 => " (SIGSYS)",
        _ => "",
    };
    format!("{KILLED} {signal}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_reported_with_its_bounds() {
        let reported = |seen, counted, own| {
            let peak = Peak {
                seen,
                counted,
                own,
                unseen: 0.0123,
            };
            let evidence = peak.evidence();
            (peak.kib(), evidence.holds, evidence.detail)
        };
        assert_eq!(
            reported(900, 1000, true),
            (1000, Some(true), "1000 KiB by wait4".into())
        );
        let bounds = "at least 900 KiB by VmHWM, last read 12 ms before its end, and at most 2000 KiB \
                      by wait4, which counts the process that forked too";
        assert_eq!(reported(900, 2000, false), (900, None, bounds.into()));
        assert_eq!(reported(1980, 2000, false).1, Some(true), "as good as one");
        let (kib, holds, detail) = reported(0, 2000, false);
        assert_eq!((kib, holds), (2000, None));
        assert!(detail.starts_with("2000 KiB at most"), "{detail}");
    }
}
