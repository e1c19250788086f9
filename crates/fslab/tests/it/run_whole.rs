//! Whole runs on real loop devices: format, mount, load, measure, report; interrupted and killed.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{Scratch, assert_code, assert_ran, fslab, is_root, run_in, stderr, stdout};
use record::{Run, Status};

fn spawn_run(scratch: &Scratch, study: &Path, more: &[&str]) -> Child {
    fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(study)
        .args(["--out", "out"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).expect("the signal is sent");
}

/// Waits until the log has `events` lines that contain `text`.
fn wait_for(log: &Path, text: &str, events: usize) {
    common::wait_until(&format!("{events} x {text}"), || {
        let seen = fs::read_to_string(log).unwrap_or_default();
        seen.lines().filter(|line| line.contains(text)).count() >= events
    });
}

fn finished(run: &Run) -> usize {
    run.trials
        .iter()
        .filter(|trial| trial.status == Status::Finished)
        .count()
}

/// `filesystem evidence` of everything that does not hold.
fn doubts(run: &Run) -> Vec<String> {
    let slots = run
        .plan
        .slots
        .iter()
        .map(|slot| (slot, &run.trials[slot.trial as usize]));
    slots
        .flat_map(|(slot, trial)| {
            let filesystem = &run.plan.cells[slot.cell as usize].levels["filesystem"];
            trial
                .evidence
                .iter()
                // Other tests run at the same time.
                .filter(|found| found.holds == Some(false) && found.name != record::QUIET_MACHINE)
                .map(move |found| format!("{filesystem} {}", found.name))
        })
        .collect()
}

#[test]
fn every_filesystem_is_made_loaded_and_reported_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let names = ["ext2", "ext3", "ext4", "ext4-nojournal", "xfs", "btrfs"];
    let study = scratch.tiny_study(&names, "");
    let output = run_in(
        scratch.path(),
        &[
            "run",
            &study.to_string_lossy(),
            "--out",
            "out",
            "--blocks",
            "1",
        ],
    );
    let run = Run::load(&scratch.join("out")).unwrap();
    assert_eq!(finished(&run), 12);
    // Since Linux 6.14 btrfs takes O_DIRECT writes of checksummed files through the page cache; a
    // run that detects it reports it, and nothing else may be doubtful.
    let doubts: Vec<String> = doubts(&run);
    assert!(
        doubts
            .iter()
            .all(|doubt| doubt == "btrfs direct_io_honoured"),
        "{doubts:?}"
    );
    assert_code(&output, if doubts.is_empty() { 0 } else { 7 });
    for trial in &run.trials {
        let mounted = trial.mounted.as_ref().unwrap();
        assert!(
            !mounted.mkfs.is_empty() && !mounted.options.is_empty(),
            "{mounted:?}"
        );
        assert!(!mounted.superblock.is_empty(), "{mounted:?}");
        assert_eq!(trial.phases.len(), 6);
        assert!(trial.samples.iter().all(|sample| sample.value.is_finite()));
        let direct: Vec<_> = trial
            .evidence
            .iter()
            .filter(|found| found.name == "bytes_on_device")
            .collect();
        assert_eq!(direct.len(), 6);
        assert!(
            direct.iter().all(|found| found.holds == Some(true)),
            "{direct:?}"
        );
    }
    let ext2 = run
        .plan
        .cells
        .iter()
        .position(|c| c.levels["filesystem"] == "ext2")
        .unwrap();
    let slot = run
        .plan
        .slots
        .iter()
        .find(|slot| slot.cell as usize == ext2)
        .unwrap();
    let mounted = run.trials[slot.trial as usize].mounted.as_ref().unwrap();
    assert_eq!(mounted.mounted_type, "ext2");
    assert!(
        !mounted
            .superblock
            .values()
            .any(|value| value.contains("has_journal"))
    );
    for name in ["report.txt", "report.html", "index.sqlite", "events.jsonl"] {
        assert!(scratch.join("out").join(name).is_file(), "{name}");
    }
    common::assert_fits_a_mail(&stdout(&output));
    scratch.assert_nothing_left();
    assert!(fs::read_dir(scratch.join("out/images")).map_or(0, Iterator::count) == 0);
}

#[test]
fn a_directory_run_makes_nothing_but_files() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4", "xfs"], "");
    fs::create_dir(scratch.join("target")).unwrap();
    fs::write(scratch.join("target/precious"), "keep me").unwrap();
    let study = study.to_string_lossy();
    let output = run_in(
        scratch.path(),
        &[
            "run", &study, "--out", "out", "--dir", "target", "--blocks", "1",
        ],
    );
    assert_ran(&output);
    let run = Run::load(&scratch.join("out")).unwrap();
    assert_eq!(
        run.plan.cells.len(),
        2,
        "the filesystems collapse into the one that is there"
    );
    assert_eq!(fs::read_dir(scratch.join("target")).unwrap().count(), 1);
}

#[test]
fn a_run_is_shown_by_the_name_in_the_list() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    fs::create_dir(scratch.join("target")).unwrap();
    let study = study.to_string_lossy();
    let run = ["run", &study, "--dir", "target", "--blocks", "1"];
    assert_ran(&run_in(scratch.path(), &run));
    let listed = run_in(scratch.path(), &["list", "--format", "json"]);
    assert_code(&listed, 0);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let name = listed[0]["name"].as_str().unwrap();
    for command in ["show", "report", "explain"] {
        let output = run_in(scratch.path(), &[command, name]);
        assert_code(&output, 0);
        assert!(!output.stdout.is_empty(), "{command}");
    }
    // The table of trials for programs.
    let table = run_in(scratch.path(), &["show", name, "--format", "csv"]);
    assert_code(&table, 0);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.starts_with("run,trial,block,"), "{table}");
    // A head, and one trial for each of the two numbers of threads.
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.contains(",finished,"), "{table}");
    // A slip of the keyboard, in a name and in a path.
    let (last, start) = (name.len() - 1, &name[..name.len() - 1]);
    let other = if name.ends_with('x') { "y" } else { "x" };
    assert_eq!(start.len(), last);
    for (slip, meant) in [
        (format!("{start}{other}"), name.to_owned()),
        (
            format!("fslab-runs/{start}{other}"),
            format!("fslab-runs/{name}"),
        ),
    ] {
        let refused = run_in(scratch.path(), &["show", &slip]);
        assert_code(&refused, 2);
        let wanted = format!("did you mean {meant}?");
        assert!(stderr(&refused).contains(&wanted), "{}", stderr(&refused));
    }
    let refused = run_in(scratch.path(), &["show", "no-such-run"]);
    assert_code(&refused, 2);
    assert!(stderr(&refused).contains("no-such-run"));
}

#[test]
fn interrupted_twice_it_undoes_and_resumes_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4", "xfs"], "");
    let child = spawn_run(&scratch, &study, &[]);
    wait_for(&scratch.join("out/events.jsonl"), "trial_finished", 2);
    signal(&child, rustix::process::Signal::INT);
    sleep(Duration::from_millis(2));
    signal(&child, rustix::process::Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 130);
    assert!(
        stderr(&output).contains("fslab resume"),
        "{}",
        stderr(&output)
    );
    scratch.assert_nothing_left();
    let before = Run::load(&scratch.join("out")).unwrap();
    assert!(finished(&before) >= 2 && finished(&before) < 8);

    let output = run_in(scratch.path(), &["resume", "out"]);
    assert_ran(&output);
    let after = Run::load(&scratch.join("out")).unwrap();
    assert_eq!(finished(&after), 8);
    assert_eq!(
        (after.plan.seed, &after.plan.slots),
        (before.plan.seed, &before.plan.slots)
    );
    scratch.assert_nothing_left();
}

/// Where a filesystem of a run is mounted now.
fn mounted_in(run: &Path) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    points
        .find(|point| Path::new(point).starts_with(run.join("mnt")))
        .map(PathBuf::from)
}

#[test]
fn killed_on_a_filesystem_that_has_shut_down_it_goes_on_needs_root() {
    if !is_root() {
        return;
    }
    for command in ["clean", "resume"] {
        let scratch = Scratch::new();
        let study = scratch.tiny_study(&["xfs"], "");
        let mut child = spawn_run(&scratch, &study, &[]);
        let run = scratch.join("out");
        let point = loop {
            common::wait_until("a mount", || mounted_in(&run).is_some());
            signal(&child, rustix::process::Signal::STOP);
            if let Some(point) = mounted_in(&run) {
                break point;
            }
            signal(&child, rustix::process::Signal::CONT);
        };
        let shut_down = Command::new("xfs_io")
            .args(["-x", "-c", "shutdown"])
            .arg(&point)
            .status();
        assert!(shut_down.unwrap().success());
        child.kill().expect("kill -9");
        child.wait().expect("the killed child");
        // XFS gives no status of its root from then on.
        assert!(fs::metadata(&point).is_err());
        common::assert_ran(&run_in(scratch.path(), &[command, "out"]));
        scratch.assert_nothing_left();
        if command == "clean" {
            common::assert_ran(&run_in(scratch.path(), &["resume", "out"]));
        }
        let after = Run::load(&run).unwrap();
        assert_eq!(finished(&after), after.trials.len());
        scratch.assert_nothing_left();
    }
}

#[test]
fn killed_at_any_moment_it_loses_no_finished_trial_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4", "xfs", "ext3"], "");
    let mut child = spawn_run(&scratch, &study, &[]);
    let log = scratch.join("out/events.jsonl");
    let mut kept: Vec<(usize, Vec<record::Sample>)> = Vec::new();
    // Moments spread over a trial: after its start, its filesystem, its phases, its end.
    for (moment, text) in [
        "trial_started",
        "filesystem_ready",
        "phase_finished",
        "trial_finished",
        "trial_started",
    ]
    .iter()
    .enumerate()
    {
        let seen = fs::read_to_string(&log).unwrap_or_default();
        let already = seen.lines().filter(|line| line.contains(text)).count();
        wait_for(&log, text, already + 1);
        sleep(Duration::from_millis(moment as u64 * 9));
        child.kill().expect("kill -9");
        child.wait().expect("the killed child");

        let run = Run::load(&scratch.join("out")).unwrap();
        for (trial, samples) in &kept {
            assert_eq!(
                &run.trials[*trial].samples, samples,
                "trial {trial} changed"
            );
        }
        kept = run
            .trials
            .iter()
            .enumerate()
            .filter(|(_, trial)| trial.status == Status::Finished)
            .map(|(n, trial)| (n, trial.samples.clone()))
            .collect();
        let output = run_in(scratch.path(), &["clean", "out"]);
        assert_code(&output, 0);
        scratch.assert_nothing_left();
        child = fslab()
            .current_dir(scratch.path())
            .args(["resume", "out"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
    }
    let output = child.wait_with_output().unwrap();
    assert_ran(&output);
    let run = Run::load(&scratch.join("out")).unwrap();
    assert_eq!(finished(&run), 12);
    assert_eq!(run.resumed, 5);
    scratch.assert_nothing_left();
}

#[test]
fn jsonl_streams_every_event_and_json_is_one_document_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    let study = study.to_string_lossy();
    let output = run_in(
        scratch.path(),
        &[
            "run", &study, "--out", "out", "--blocks", "1", "--format", "jsonl",
        ],
    );
    assert_ran(&output);
    let streamed: Vec<record::Entry> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let logged: Vec<record::Entry> = fs::read_to_string(scratch.join("out/events.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(streamed, logged);
    let output = run_in(scratch.path(), &["report", "out", "--format", "json"]);
    assert_code(&output, 0);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document.is_object());
}

/// A loop device in place of a real disk; its serial is `loop:disk.img`.
struct Disk(String);

impl Disk {
    fn new(scratch: &Scratch) -> Disk {
        let image = scratch.join("disk.img");
        fs::File::create(&image)
            .unwrap()
            .set_len(600 << 20)
            .unwrap();
        let out = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(&image)
            .output()
            .unwrap();
        let node = String::from_utf8(out.stdout).unwrap().trim().to_owned();
        assert!(
            node.starts_with("/dev/loop"),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        Disk(node)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn a_disk_named_by_its_serial_is_used_killed_and_left_blank_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4", "xfs"], "");
    let disk = Disk::new(&scratch);
    let readahead = || {
        let out = Command::new("blockdev")
            .args(["--getra", &disk.0])
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    };
    let before = readahead();
    assert_ne!(before, "64");
    let set = ["--set", "device.readahead=64"];
    let target = [
        &["--device", &disk.0, "--destroy", "loop:disk.img"][..],
        &set,
    ]
    .concat();
    let mut child = spawn_run(&scratch, &study, &target);
    wait_for(&scratch.join("out/events.jsonl"), "phase_finished", 8);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_code(&run_in(scratch.path(), &["clean", "out"]), 0);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&disk.0), "{mounts}");
    assert_eq!(readahead(), before, "a kill leaves the readahead unchanged");

    let output = run_in(scratch.path(), &["resume", "out"]);
    assert_ran(&output);
    assert_eq!(finished(&Run::load(&scratch.join("out")).unwrap()), 8);
    assert_eq!(readahead(), before);
    // Data of another owner would now be refused; ours has been erased.
    let wipefs = Command::new("wipefs").arg(&disk.0).output().unwrap();
    assert!(
        wipefs.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&wipefs.stdout)
    );
}

#[test]
fn a_run_continues_when_its_messages_are_not_read() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    fs::create_dir(scratch.join("target")).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(&study)
        .args(["--out", "out", "--dir", "target", "--blocks", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::from(std::os::fd::OwnedFd::from(writer)))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(finished(&Run::load(&scratch.join("out")).unwrap()), 2);
}
