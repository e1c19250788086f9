//! Shell scripts in the place of checkers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use progress::{Progress, Recorder, Silent, Step};

use crate::fsck::run::{Environment, run_in};
use crate::fsck::{Exit, Report, Request, Verdict};
use crate::{Class, Error, Result};

/// A child that goes on and prints its PID: the host's, which a fake in a PID namespace of its own
/// learns from /proc alone. The fake goes on once that is printed, and once the child was seen.
const CHILD: &str = "f=$(mktemp); sh -c 'read -r n _ < /proc/self/stat; echo \"child $n\"; \
                     echo > $0; exec sleep 1000' $f & \
                     until [ -s $f ]; do sleep 0.02; done; sleep 0.3; rm $f";
/// The same in its own session, whose parent is gone.
const ORPHAN: &str = "f=$(mktemp); setsid sh -c 'setsid sh -c \"read -r n _ < /proc/self/stat; \
                      echo orphan \\$n; echo > $0; exec sleep 1000\" & \
                      until [ -s $0 ]; do sleep 0.02; done; sleep 0.5; exit' $f & wait $!; rm $f";

/// A folder with one fake in it, under the name of the real one.
struct Fake {
    folder: tempfile::TempDir,
    /// How long it may take to end when it is asked to.
    grace: Duration,
}

impl Fake {
    fn new(body: &str) -> Fake {
        let folder = tempfile::tempdir().unwrap();
        let (text, file) = (folder.path().join("text"), folder.path().join("e2fsck"));
        let script =
            format!("#!/bin/sh\ncase \"$*\" in *-V*) echo 'fake 1.0'; exit 0;; esac\n{body}\n");
        fs::write(&text, script).unwrap();
        fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).unwrap();
        // Copied by another process: were it open for writing here, a test that forks at that
        // moment would hold it open and the kernel would not run it (ETXTBSY).
        let copied = Command::new("cp").arg(&text).arg(&file).status().unwrap();
        assert!(copied.success());
        let grace = Duration::from_millis(300);
        Fake { folder, grace }
    }

    fn run_for(&self, timeout: Duration, progress: &dyn Progress) -> Result<Report> {
        let request = Request {
            kind: "ext4".into(),
            fslab: false,
            device: "/dev/null".into(),
            block_name: None,
            extra: vec!["-E".into(), "fragcheck".into()],
            timeout,
            locked: None,
        };
        let environment = Environment {
            locate: &|name| Some(self.folder.path().join(name)).filter(|file| file.exists()),
            grace: self.grace,
        };
        run_in(&request, progress, &environment)
    }

    fn run(&self) -> Report {
        self.run_for(Duration::from_secs(60), &Silent).unwrap()
    }
}

fn lives(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The number after `key` in the output.
fn number<'a>(output: &'a str, key: &str) -> &'a str {
    let line = output.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap_or_else(|| panic!("no {key} in {output:?}"))
}

#[test]
fn a_missing_program_names_its_package() {
    let fake = Fake::new("");
    fs::remove_file(fake.folder.path().join("e2fsck")).unwrap();
    let error = fake.run_for(Duration::from_secs(1), &Silent).unwrap_err();
    assert_eq!(error.class(), Class::Cell);
    assert!(
        error.to_string().contains("apt install e2fsprogs"),
        "{error}"
    );
}

#[test]
fn one_that_is_no_program_is_an_error_of_this_trial() {
    let fake = Fake::new("");
    fs::write(
        fake.folder.path().join("e2fsck"),
        "#!/no/such/interpreter\n",
    )
    .unwrap();
    let error = fake.run_for(Duration::from_secs(1), &Silent).unwrap_err();
    assert!(error.to_string().contains("cannot start it"), "{error}");
}

#[test]
fn arguments_environment_and_input_are_as_documented() {
    let report = Fake::new("echo \"args $*\"; env | sort; cat; [ -t 1 ] && [ -t 2 ] && echo terminal; read -r a b c d e f t rest < /proc/self/stat; echo \"tty $t\"; pwd").run();
    let program = &report.argv[0];
    let wanted = ["-fn", "-tt", "-E", "fragcheck", "/dev/null"];
    assert_eq!(report.argv[1..], wanted);
    assert!(program.ends_with("/e2fsck"), "{program}");
    assert_eq!(report.version, "fake 1.0");
    let lines: Vec<&str> = report.output.lines().map(str::trim).collect();
    assert_eq!(lines[0], "args -fn -tt -E fragcheck /dev/null");
    assert!(
        lines.contains(&"LC_ALL=C") && lines.contains(&"terminal"),
        "{lines:?}"
    );
    assert!(
        !lines
            .iter()
            .any(|l| l.starts_with("CARGO") || l.starts_with("HOME=")),
        "{lines:?}"
    );
    assert_eq!(
        lines[lines.len() - 2..],
        ["tty 0", "/"],
        "no controlling terminal"
    );
    assert_eq!(
        (report.exit, report.verdict),
        (Exit::Code(0), Verdict::Clean)
    );
    let seen = report.phases[0]
        .evidence
        .iter()
        .find(|e| e.name == "passes_seen");
    assert_eq!(seen.unwrap().holds, Some(false), "it printed no heading");
}

#[test]
fn an_operational_error_keeps_its_words() {
    let report = Fake::new("echo 'e2fsck: cannot open' >&2; exit 8").run();
    assert_eq!(
        (report.exit, report.verdict),
        (Exit::Code(8), Verdict::Operational)
    );
    assert_eq!(report.output, "e2fsck: cannot open\n");
    assert_eq!(report.explanation, "exit code 8: operational error");
}

#[test]
fn a_crash_is_reported_by_its_signal_and_keeps_what_was_done() {
    let report = Fake::new("ulimit -c 0; echo 'Pass 1: Checking'; kill -SEGV $$").run();
    assert_eq!(
        (report.exit, report.verdict),
        (Exit::Signal(11), Verdict::Crashed(11))
    );
    assert_eq!(report.explanation, "killed by signal 11 (SIGSEGV)");
    assert_eq!(report.output, "Pass 1: Checking\n");
    let names: Vec<&str> = report.phases.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["check", "check_pass_1"]);
    let caught = Fake::new("echo 'Signal (11) SIGSEGV si_code=SEGV_MAPERR'; exit 8").run();
    assert_eq!(caught.verdict, Verdict::Crashed(11));
}

#[test]
fn a_hang_is_ended_with_its_children_though_they_ignore_the_first_signal() {
    let fake = Fake::new(&format!(
        "trap '' TERM; read -r n _ < /proc/self/stat; echo \"own $n\"; {CHILD}; {ORPHAN}; \
         echo 'Pass 1: Checking'; sleep 1000; sleep 1000"
    ));
    let begun = Instant::now();
    let report = fake.run_for(Duration::from_secs(6), &Silent).unwrap();
    assert!(begun.elapsed() < testkit::HANGS);
    assert_eq!(
        (report.exit, report.verdict),
        (Exit::Signal(9), Verdict::TimedOut)
    );
    assert_eq!(
        report.explanation,
        "ended after its time limit of 6 s (killed by signal 9 (SIGKILL))"
    );
    for key in ["child ", "orphan ", "own "] {
        let pid = number(&report.output, key);
        assert!(!lives(pid), "{key}{pid} lives");
    }
    assert!(report.usage.elapsed >= 6.3, "{:?}", report.usage);
    assert_eq!(report.phases.len(), 2, "what it did is kept");
}

#[test]
fn one_that_obeys_the_first_signal_reports_how_it_ended() {
    let mut fake = Fake::new("trap 'echo cancelled; exit 32' TERM; while :; do sleep 0.05; done");
    fake.grace = Duration::from_secs(30);
    let report = fake.run_for(Duration::from_secs(1), &Silent).unwrap();
    assert_eq!(
        (report.exit, report.verdict),
        (Exit::Code(32), Verdict::TimedOut)
    );
    assert!(report.output.ends_with("cancelled\n"), "{}", report.output);
    assert_eq!(
        report.explanation,
        "ended after its time limit of 1 s (exit code 32: cancelled by request)"
    );
}

/// Asks to stop once the second pass has begun.
#[derive(Default)]
struct Impatient {
    stop: AtomicBool,
    recorder: Recorder,
}

impl Progress for Impatient {
    fn inner(&self) -> &dyn Progress {
        &self.recorder
    }

    fn begin(&self, step: Step) {
        let second = step.name == "check_pass_2";
        self.stop.fetch_or(second, Ordering::Relaxed);
        self.recorder.begin(step);
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[test]
fn an_interrupt_ends_the_group() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let fake = Fake::new(&format!(
        "echo 'Pass 1: a'; \
         sh -c 'read -r n _ < /proc/self/stat; echo $n > {0}; exec sleep 1000' & \
         until [ -s {0} ]; do sleep 0.02; done; echo 'Pass 2: b'; wait",
        file.path().display()
    ));
    let observer = Impatient::default();
    let error = fake
        .run_for(Duration::from_secs(60), &observer)
        .unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error}");
    assert!(!lives(fs::read_to_string(file.path()).unwrap().trim()));
    let recorder = &observer.recorder;
    assert_eq!(recorder.steps(), ["check", "check_pass_1", "check_pass_2"]);
    assert_eq!(recorder.advanced(), 1);
}

#[test]
fn children_that_outlive_their_checker_are_ended_too() {
    let begun = Instant::now();
    let report = Fake::new(&format!("{CHILD}; {ORPHAN}; exit 0")).run();
    assert!(begun.elapsed() < testkit::HANGS);
    assert_eq!(report.verdict, Verdict::Clean);
    for key in ["child ", "orphan "] {
        assert!(!lives(number(&report.output, key)), "{}", report.output);
    }
}

/// As a user other than root.
#[test]
fn without_a_namespace_children_are_known_by_then() {
    crate::fsck::process::NO_NAMESPACE.set(true);
    let report = Fake::new(&format!("{CHILD}; {ORPHAN}; exit 0")).run();
    crate::fsck::process::NO_NAMESPACE.set(false);
    assert_eq!(report.verdict, Verdict::Clean);
    for key in ["child ", "orphan "] {
        assert!(!lives(number(&report.output, key)), "{}", report.output);
    }
}

#[test]
fn garbage_and_silence_are_no_passes() {
    let report = Fake::new("head -c 300000 /dev/urandom; exit 4").run();
    assert_eq!(report.verdict, Verdict::Errors);
    assert!(report.output.len() >= 300_000, "{}", report.output.len());
    let report = Fake::new("exit 0").run();
    assert_eq!((report.output.as_str(), report.phases.len()), ("", 1));
    assert!(report.phases[0].seconds > 0.0);
}

#[test]
fn a_flood_is_drained_and_kept_up_to_the_bound() {
    let report = Fake::new(
        "echo first; yes 'Inode 12 ref count is 7, should be 1.  Fix? no' | head -c 100000000; echo; echo last",
    )
    .run();
    assert!(report.output.starts_with("first\n"));
    assert!(report.output.ends_with("\nlast\n"));
    assert!(report.output.contains(" bytes cut here ...]\n"));
    assert!(
        report.output.len() <= (1 << 20) + 100,
        "{}",
        report.output.len()
    );
    assert!(report.usage.elapsed < 60.0, "{:?}", report.usage);
}

#[test]
fn one_that_closes_its_output_is_still_waited_for() {
    let cpu = workload::clock::Cpu::thread();
    let report = Fake::new("exec >/dev/null 2>&1; sleep 0.5; exit 1").run();
    assert_eq!(report.exit, Exit::Code(1));
    assert!(report.usage.elapsed >= 0.5);
    let spent = (workload::clock::Cpu::thread() - cpu).total();
    assert!(spent < 0.2, "waiting took {spent} s of CPU");
}

/// grep prints through the C library, as e2fsck does: on a pipe both lines would come at the end.
#[test]
fn a_line_is_a_boundary_when_it_is_printed() {
    let report = Fake::new(
        "(echo 'Pass 1: a'; sleep 1.2; echo 'Pass 2: b'; sleep 0.8; \
          echo 'Pass 2: Memory used: 1k/0k (1k/1k), time:  0.80/ 0.00/ 0.00'; sleep 0.8) | grep Pass",
    )
    .run();
    let seconds: Vec<f64> = report.phases.iter().map(|phase| phase.seconds).collect();
    // A busy machine may delay a line, but not by as much as lies between two of them.
    assert!(seconds[1] > 0.7 && seconds[2] > 0.3, "{seconds:?}");
    let after = seconds[0] - seconds[1] - seconds[2];
    assert!(seconds[0] >= 2.8 && after > 0.3, "{seconds:?}");
    assert_eq!(
        report.phases[1].evidence[0].holds, None,
        "{:?}",
        report.phases[1]
    );
    let spans: Vec<&str> = report.spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(spans, ["check", "check_pass_1", "check_pass_2"]);
}

#[test]
fn processor_time_and_memory_belong_to_the_pass_that_used_them() {
    let busy = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done";
    let report = Fake::new(&format!(
        "echo 'Pass 1: a'; sleep 0.2; echo 'Pass 2: b'; {busy}"
    ))
    .run();
    let figure = |at: usize, name: &str| report.phases[at].figures[name];
    let cpu = |at: usize| figure(at, "user_seconds") + figure(at, "system_seconds");
    assert!(cpu(1) < 0.05, "{}", cpu(1));
    assert!(cpu(2) > cpu(1) && cpu(2) > 0.02, "{}", cpu(2));
    let whole = report.usage.user + report.usage.system;
    assert!((cpu(0) - whole).abs() < 1e-9 && cpu(1) + cpu(2) <= whole + 1e-6);
    assert!(figure(2, "peak_rss") > 100_000.0 && figure(2, "peak_rss") < f64::from(1 << 26));
}

/// A program that cannot be ended by anything but the end of its pass.
#[test]
fn nothing_is_left_of_many() {
    let before = sleepers();
    let fake = Fake::new("sleep 1001 & sleep 1001 & (sleep 1001 & sleep 1001) & wait");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| fake.run_for(Duration::from_millis(150), &Silent).unwrap());
        }
    });
    assert_eq!(sleepers(), before);
}

fn sleepers() -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| sleeps_1001(path))
        .collect()
}

fn sleeps_1001(process: &Path) -> bool {
    fs::read(process.join("cmdline")).is_ok_and(|line| line == b"sleep\x001001\x00")
}
