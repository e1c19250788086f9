//! Runs on loop devices with scripted noise: what is marked does not depend on what else runs.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use probe::noise::Reading;
use progress::{Progress, Silent};
use record::{Entry, QUIET_MACHINE, Status};
use study::{Overrides, Study};

use super::*;
use crate::noise::Source;

const STUDY: &str = r#"
name = "tiny"
title = "Two short trials"
question = "Which trials are repeated?"
include = ["defaults.toml"]

[run]
blocks = 3
seed = 7
reference_seconds = 0.0

[device]
size = "256m"

[factors]
filesystem = ["ext4"]

[[workload]]
name = "iozone"
kind = "throughput"
size = "2m"
record = "256k"
direct = true
settle_seconds = 0.1
threads = 1
"#;

/// Two CPUs that others use while a switch is on, and that are idle otherwise.
#[derive(Debug, Default)]
struct Script {
    busy: Arc<AtomicBool>,
    /// Time of the last reading, and idle hundredths of a second until then.
    idle: Mutex<Option<(u64, f64)>>,
}

impl Source for Script {
    fn read(&self, _disks: &[String]) -> Reading {
        let at_ns = workload::clock::now_ns();
        let mut idle = self.idle.lock().unwrap();
        let (last, before) = idle.unwrap_or((at_ns, 0.0));
        let cpus = if self.busy.load(Ordering::Relaxed) {
            0.4
        } else {
            2.0
        };
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let now = before + (at_ns - last) as f64 / 1e9 * ticks * cpus;
        *idle = Some((at_ns, now));
        let mut reading = Reading {
            at_ns,
            ..Reading::default()
        };
        reading.cpu.all.0[3] = now.round() as u64;
        reading.cpu.each = vec![(0, probe::cpu::Times::default()); 2];
        reading
    }
}

/// Turns the noise on for the first `noisy` attempts at one trial and at its repeats, and may stop the run when the
/// first repeat begins.
struct Director<'a> {
    busy: Arc<AtomicBool>,
    noisy: AtomicU32,
    planned: u32,
    stop: Option<&'a Interrupt>,
}

/// The trial that is disturbed.
const DISTURBED: u32 = 1;

impl Progress for Director<'_> {
    fn inner(&self) -> &dyn Progress {
        &Silent
    }
}

impl Watcher for Director<'_> {
    fn entry(&self, entry: &Entry) {
        let Event::TrialStarted { slot, .. } = &entry.event else {
            return;
        };
        let repeat = slot.trial >= self.planned;
        let due = slot.trial == DISTURBED || repeat;
        let noisy = due && self.noisy.load(Ordering::Relaxed) > 0;
        if noisy {
            self.noisy.fetch_sub(1, Ordering::Relaxed);
        }
        self.busy.store(noisy, Ordering::Relaxed);
        if let Some(interrupt) = self.stop.filter(|_| repeat) {
            interrupt.raise();
        }
    }
}

/// Runs the study, the first `noisy` attempts under noise.
fn run(folder: &Path, times: u32, noisy: u32, stop: Option<&Interrupt>) -> Finished {
    let file = folder.join("tiny.toml");
    std::fs::write(&file, STUDY).unwrap();
    let study = Study::load(&file.to_string_lossy()).unwrap();
    let mut plan = study::plan(&study, &Overrides::default()).unwrap();
    plan.rerun_doubtful = times;
    let busy = Arc::new(AtomicBool::new(false));
    let director = Director {
        busy: Arc::clone(&busy),
        noisy: AtomicU32::new(noisy),
        planned: plan.slots.len() as u32,
        stop,
    };
    let request = Request {
        node: None,
        part: None,
        facts: std::collections::BTreeMap::new(),
        plan,
        target: Target::LoopImages,
        why: None,
        command: vec!["test".into()],
        tool: "test".into(),
        tags: record::Tags::new(),
        noise: Arc::new(Script {
            busy,
            ..Script::default()
        }),
    };
    let quiet = Interrupt::manual();
    start(
        &request,
        &folder.join("out"),
        &director,
        stop.unwrap_or(&quiet),
    )
    .unwrap()
}

fn is_marked(run: &Run, trial: u32) -> bool {
    let evidence = &run.trials[trial as usize].evidence;
    let found = evidence.iter().find(|found| found.name == QUIET_MACHINE);
    found.expect("every trial is judged").holds == Some(false)
}

#[test]
fn a_disturbed_trial_is_marked_and_changes_no_ending_needs_root() {
    if !testkit::root!() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let finished = run(temp.path(), 0, 1, None);
    let marked: Vec<bool> = (0..3)
        .map(|trial| is_marked(&finished.run, trial))
        .collect();
    assert_eq!(marked, [false, true, false]);
    assert_eq!(
        finished.ending,
        Ending::Whole,
        "numbers in doubt are not invalid"
    );
    assert!(finished.run.repeats.is_empty());
    let disturbed = &finished.run.trials[DISTURBED as usize];
    let whole = disturbed.noise.iter().find(|noise| noise.phase.is_none());
    let whole = whole.unwrap();
    assert!((whole.others_cpu - 1.6).abs() < 0.3, "{whole:?}");
    // Each variant was tried before the first trial.
    let measured = finished.run.plan.measured.as_ref().unwrap();
    assert_eq!(measured.variants.len(), 1);
    assert_eq!(measured.variants[0].cells, [0]);
}

#[test]
fn a_doubtful_trial_is_repeated_and_its_quiet_repeat_counts_needs_root() {
    if !testkit::root!() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    // The trial and its first repeat are disturbed, the second repeat is not.
    let Finished { run, ending, .. } = run(temp.path(), 3, 2, None);
    assert_eq!(ending, Ending::Whole);
    assert_eq!(
        run.repeats,
        BTreeMap::from([(3, DISTURBED), (4, DISTURBED)])
    );
    assert_eq!(run.counting(DISTURBED), 4);
    assert!(matches!(run.trials[3].status, Status::Replaced { by: 4 }));
    let counted = run.finished(0);
    let trials: Vec<u32> = counted.iter().map(|(slot, _)| slot.trial).collect();
    assert_eq!(trials.len(), 3, "one for each block");
    assert!(trials.contains(&4) && !trials.contains(&DISTURBED));
    let closing = run.closing.unwrap();
    assert_eq!(
        (closing.finished, closing.failed, closing.skipped),
        (3, 0, 0)
    );
    let text = std::fs::read_to_string(temp.path().join("out/report.txt")).unwrap();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("trial 5 repeats trial 2 and counts in its place"),
        "{text}"
    );
    // The index holds the same trials as the statistic.
    assert!(temp.path().join("out/index.sqlite").is_file());
}

#[test]
fn a_run_that_stops_in_a_repeat_is_resumed_with_it_needs_root() {
    if !testkit::root!() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::manual();
    let first = run(temp.path(), 1, 1, Some(&interrupt));
    assert_eq!(first.ending, Ending::Interrupted { remaining: 1 });
    let out = temp.path().join("out");
    let resumed = resume(&out, "test", &Silent, &Interrupt::manual()).unwrap();
    let run = resumed.run;
    assert_eq!(run.repeats, BTreeMap::from([(3, DISTURBED)]));
    // The noise of the machine now decides which of the two counts; it is one of them.
    assert!(run.remaining().is_empty() && run.to_repeat().is_empty());
    assert_eq!(run.finished(0).len(), 3);
    assert!(matches!(run.counting(DISTURBED), DISTURBED | 3));
    assert_eq!(run.plan.measured, first.run.plan.measured, "measured once");
}
