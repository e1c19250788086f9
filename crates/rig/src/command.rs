//! Runs the programs that make filesystems: found like a root shell finds them, in a process group
//! of their own, killed as a group when a stop is requested, and killed by the kernel when this
//! process dies, so that no mkfs goes on writing while `clean` undoes the run.
#![allow(unsafe_code)] // pre_exec: the child asks for its death signal between fork and exec.

use std::env;
use std::fs;
use std::io::{self, Read, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use progress::Progress;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::{Error, Result};

/// What a program printed.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
}

/// Finds a program on PATH, then where root's programs are even when PATH lacks them.
pub(crate) fn locate(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return executable(Path::new(program)).then(|| program.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|file| executable(file))
}

fn executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Runs a program to its end. `argv[0]` is its path; `answer` is all that its standard input holds. A
/// status other than 0 is an error.
pub(crate) fn run(argv: &[String], answer: &str, progress: &dyn Progress) -> Result<Output> {
    let (output, status) = run_to_end(argv, answer, progress)?;
    if status.success() {
        return Ok(output);
    }
    let name = base_name(argv.first().map_or("", String::as_str));
    Err(Error::ProgramFailed {
        line: useful_line(&output)
            .trim_start_matches(&format!("{name}: "))
            .to_string(),
        status: describe(status),
        command: argv.join(" "),
        program: name,
    })
}

/// The first line that a program prints, whatever its status says: fsck.ocfs2 prints its version and
/// leaves as if that were a wrong use. Empty when it cannot be run or prints nothing.
pub(crate) fn first_line(argv: &[String], progress: &dyn Progress) -> String {
    let text = run_to_end(argv, "", progress).map(|(out, _)| out.stdout + &out.stderr);
    let text = text.unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().to_owned()
}

fn run_to_end(
    argv: &[String],
    answer: &str,
    progress: &dyn Progress,
) -> Result<(Output, ExitStatus)> {
    run_read_by(Builder::new, argv, answer, progress)
}

/// Its output is read by threads that `reader` makes.
fn run_read_by(
    reader: fn() -> Builder,
    argv: &[String],
    answer: &str,
    progress: &dyn Progress,
) -> Result<(Output, ExitStatus)> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(Error::Io {
            thing: "command".into(),
            what: "nothing to run".into(),
            source: io::Error::from(io::ErrorKind::InvalidInput),
            next: "this is a defect: please report it".into(),
        });
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(input(answer).map_err(|e| Error::io(Path::new(program), "cannot answer it", e))?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    // SAFETY: prctl(2) is async-signal-safe and touches no memory of the parent.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(io::Error::from)
        });
    }
    let mut child = command
        .spawn()
        .map_err(|error| Error::io(Path::new(program), "cannot start it", error))?;
    let readers = collect(reader(), child.stdout.take())
        .and_then(|stdout| Ok((stdout, collect(reader(), child.stderr.take())?)));
    let (stdout, stderr) = match readers {
        Ok(readers) => readers,
        Err(error) => {
            let failed = |what| move |error| Error::io(Path::new(program), what, error);
            let pid = Pid::from_child(&child);
            end_group(&mut child, pid).map_err(failed("cannot end it"))?;
            return Err(failed("no thread to read what it prints")(error));
        }
    };
    let waited = wait(&mut child, progress, |pid| {
        pidfd_open(pid, PidfdFlags::empty())
    });
    let output = Output {
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    };
    let name = base_name(program);
    match waited.map_err(|error| Error::io(Path::new(program), "cannot wait for it", error))? {
        None => Err(Error::Interrupted {
            doing: format!("running {name}"),
        }),
        Some(status) => Ok((output, status)),
    }
}

/// A standard input that holds an answer and ends. A pipe takes 4 KiB without a reader, so this does
/// not block.
fn input(answer: &str) -> io::Result<Stdio> {
    if answer.is_empty() {
        return Ok(Stdio::null());
    }
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(answer.as_bytes())?;
    Ok(reader.into())
}

fn base_name(program: &str) -> String {
    Path::new(program).file_name().map_or_else(
        || program.to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".into(),
    }
}

/// Reads a pipe to its end, keeping the first 64 KiB: a program that talks on must not fill memory
/// nor block on a full pipe.
fn collect(
    reader: Builder,
    pipe: Option<impl Read + Send + 'static>,
) -> io::Result<JoinHandle<String>> {
    reader.name("fslab-output".into()).spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(64 << 10).read_to_end(&mut kept);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

/// Waits for the child through a pidfd, so that its end is seen at once. `None`: it was killed
/// because a stop was requested. On an error it is killed as well: a mkfs that is not waited for
/// would go on writing to a device that is given away.
fn wait(
    child: &mut Child,
    progress: &dyn Progress,
    open: impl Fn(Pid) -> rustix::io::Result<OwnedFd>,
) -> io::Result<Option<ExitStatus>> {
    let pid = Pid::from_child(child);
    let ended = open(pid)
        .map_err(io::Error::from)
        .and_then(|pidfd| until_end(child, &pidfd, progress));
    if !matches!(ended, Ok(Some(_))) {
        end_group(child, pid)?;
    }
    ended
}

fn until_end(
    child: &mut Child,
    pidfd: &OwnedFd,
    progress: &dyn Progress,
) -> io::Result<Option<ExitStatus>> {
    let slice = Timespec {
        tv_sec: 0,
        tv_nsec: 50_000_000,
    };
    loop {
        let mut ready = [PollFd::new(pidfd, PollFlags::IN)];
        match poll(&mut ready, Some(&slice)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return child.wait().map(Some),
            Err(error) => return Err(error.into()),
        }
        if progress.cancelled() {
            return Ok(None);
        }
    }
}

fn end_group(child: &mut Child, pid: Pid) -> io::Result<()> {
    let _ = kill_process_group(pid, Signal::TERM);
    let asked = Instant::now();
    while child.try_wait()?.is_none() {
        if asked.elapsed() > Duration::from_secs(2) {
            let _ = kill_process_group(pid, Signal::KILL);
            child.wait()?;
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// The first line that says what went wrong: banners (`mke2fs 1.47.0 (5-Feb-2023)`), blank lines
/// and the usage text are passed over.
fn useful_line(output: &Output) -> String {
    let lines = || {
        output
            .stderr
            .lines()
            .chain(output.stdout.lines())
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    lines()
        .find(|line| !is_banner(line))
        .or_else(|| lines().next())
        .unwrap_or("it printed nothing")
        .to_string()
}

fn is_banner(line: &str) -> bool {
    let banner_of = |name: &str| {
        line.strip_prefix(name)
            .and_then(|rest| rest.trim_start().trim_start_matches('v').chars().next())
            .is_some_and(|c| c.is_ascii_digit())
    };
    banner_of("mke2fs")
        || banner_of("btrfs-progs")
        || banner_of("mkfs.ocfs2")
        || line.starts_with("F2FS-tools:")
        || line.starts_with("Info: ")
        || line.starts_with("See http")
        || line.starts_with("See https")
}

#[cfg(test)]
mod tests {
    use super::*;
    use progress::{Silent, Until};

    fn shell(script: &str) -> Vec<String> {
        let shell = locate("sh").expect("every Unix has sh");
        vec![shell.display().to_string(), "-c".into(), script.into()]
    }

    #[test]
    fn a_program_that_asks_is_answered_and_then_hears_no_more() {
        let script = "read -r a; echo \"$a\"; read -r b || echo end";
        let output = run(&shell(script), "y\n", &Silent).unwrap();
        assert_eq!(output.stdout, "y\nend\n");
        let output = run(&shell("read -r a || echo nothing"), "", &Silent).unwrap();
        assert_eq!(output.stdout, "nothing\n");
    }

    #[test]
    fn a_version_is_heard_whatever_the_status() {
        let line = first_line(&shell("echo; echo ' some 1.0'; exit 16"), &Silent);
        assert_eq!(line, "some 1.0");
        assert_eq!(first_line(&["/no/such/program".into()], &Silent), "");
    }

    #[test]
    fn a_failure_quotes_the_first_useful_line() {
        let script =
            "echo 'mke2fs 1.47.0 (5-Feb-2023)' >&2; echo >&2; echo 'invalid blocks' >&2; exit 3";
        let error = run(&shell(script), "", &Silent).unwrap_err();
        assert_eq!(error.class(), crate::Class::Cell);
        let text = error.to_string();
        assert!(
            text.starts_with("sh: exit status 3: invalid blocks; "),
            "{text}"
        );
    }

    #[test]
    fn a_program_killed_from_outside_may_be_tried_again() {
        let error = run(&shell("kill -9 $$"), "", &Silent).unwrap_err();
        assert_eq!(error.class(), crate::Class::Trial);
        let text = error.to_string();
        assert!(
            text.starts_with("sh: killed by signal 9: it printed nothing"),
            "{text}"
        );
    }

    #[test]
    fn output_comes_back_and_a_flood_does_not_block() {
        let output = run(&shell("yes | head -c 1000000; echo end >&2"), "", &Silent).unwrap();
        assert_eq!(output.stdout.len(), 64 << 10);
        assert_eq!(output.stderr, "end\n");
    }

    #[test]
    fn without_a_thread_the_program_is_ended_and_the_error_is_one_line() {
        let begun = Instant::now();
        // No address space has room for such a stack.
        let reader = || Builder::new().stack_size(1 << 48);
        let error = run_read_by(reader, &shell("exec sleep 1000"), "", &Silent).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("no thread to read what it prints"), "{text}");
        assert!(!text.contains('\n'), "{text}");
        assert!(begun.elapsed() < testkit::HANGS);
    }

    #[test]
    fn cancellation_kills_the_whole_group() {
        let begun = Instant::now();
        let marker = tempfile::tempdir().unwrap();
        let file = marker.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let started = || file.metadata().is_ok_and(|m| m.len() > 0);
        let error = run(&shell(&script), "", &Until::silent(started));
        assert!(matches!(error, Err(Error::Interrupted { .. })), "{error:?}");
        assert!(begun.elapsed() < testkit::HANGS);
        let sleeper = fs::read_to_string(&file).unwrap();
        let gone = (0..100).any(|_| {
            thread::sleep(Duration::from_millis(20));
            let stat = fs::read_to_string(format!("/proc/{}/stat", sleeper.trim()));
            stat.map_or(true, |stat| stat.contains(") Z "))
        });
        assert!(gone, "the grandchild {sleeper} still lives");
    }

    #[test]
    fn a_program_that_cannot_be_waited_for_is_ended_and_reaped() {
        let mut child = Command::new(locate("sleep").unwrap())
            .arg("60")
            .process_group(0)
            .spawn()
            .unwrap();
        let entry = PathBuf::from(format!("/proc/{}", child.id()));
        let error = wait(&mut child, &Silent, |_| Err(rustix::io::Errno::MFILE));
        let error = error.unwrap_err();
        assert_eq!(
            error.raw_os_error(),
            Some(rustix::io::Errno::MFILE.raw_os_error())
        );
        assert!(!entry.exists(), "neither running nor a zombie");
    }

    #[test]
    fn programs_are_found_where_root_finds_them() {
        assert!(locate("sh").is_some());
        assert_eq!(locate("no-such-program-here"), None);
    }
}
