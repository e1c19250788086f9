//! `--set device=model:NAME`: real filesystems on modelled disks, in real time. A model decides when a disk answers, FUSE and a
//! loop device make it one; nothing of it may be left, also after a kill -9.

use crate::common;
use crate::served_disk::{KNOWN, can_serve};

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use common::{
    Scratch, assert_ran, fslab, run_in, stderr, wait_for_mount, wait_until, whole_report,
};
use record::{Run, Status};
use rustix::process::{Pid, Signal, kill_process};

/// Processes that serve a disk of this folder's runs.
fn servers(folder: &Path) -> Vec<String> {
    let here = folder.to_string_lossy().into_owned();
    let lines = fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines
        .filter(|line| line.contains("device serve") && line.contains(&here))
        .collect()
}

fn nothing_is_left(scratch: &Scratch) {
    wait_until("the server to end", || servers(scratch.path()).is_empty());
    scratch.assert_nothing_left();
}

const CHECKED: &str = "\n[check]\nenabled = true\n";

#[test]
fn a_study_on_a_modelled_disk_says_so_and_leaves_nothing_needs_root() {
    let scratch = Scratch::new();
    if !can_serve(&scratch) {
        return;
    }
    let study = scratch.tiny_study(&["ext4", "xfs"], CHECKED);
    let output = fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(&study)
        .args([
            "--set",
            "device=model:nvme-2018",
            "--blocks",
            "1",
            "--out",
            "run",
        ])
        .output()
        .unwrap();
    assert_ran(&output);
    nothing_is_left(&scratch);
    let run = Run::load(&scratch.join("run")).unwrap();
    assert_eq!(run.context_item("run.timing").as_deref(), Some("modelled"));
    assert_eq!(run.trials.len(), 4);
    for trial in &run.trials {
        // A check that is not clean fails the trial: what was written came back.
        assert_eq!(trial.status, Status::Finished, "{trial:?}");
        let facts = &trial.mounted.as_ref().unwrap().device_facts;
        assert_eq!(facts["modelled"], "nvme-2018");
        let served = trial
            .evidence
            .iter()
            .find(|e| e.name == "modelled_disk_in_time");
        let served = served.unwrap();
        // Whether it holds depends on what else the machine does.
        assert!(
            served.holds.is_some() && served.detail.contains(" requests, modelled "),
            "{served:?}"
        );
    }
    let report = whole_report(&scratch.join("run"));
    assert!(report.contains("MODELLED (nvme-2018)"), "{report}");
    assert!(report.contains("[times modelled (nvme-2018)]"), "{report}");
}

#[test]
fn a_device_of_a_file_is_served_and_estimated_on_needs_root() {
    let scratch = Scratch::new();
    if !can_serve(&scratch) {
        return;
    }
    let estimated = format!("{CHECKED}\n[estimate]\ndevices = [\"knownx2\"]\n");
    let study = scratch.tiny_study(&["ext4"], &estimated);
    fs::write(
        scratch.join("own.toml"),
        KNOWN.replace("request_ms = 5", "request_ms = 0.05"),
    )
    .unwrap();
    let words = "--devices-file own.toml --set device=model:known --set check.checker=fslab \
        --blocks 1 --out run";
    let output = fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(&study)
        .args(words.split_whitespace())
        .output()
        .unwrap();
    assert_ran(&output);
    nothing_is_left(&scratch);
    let run = Run::load(&scratch.join("run")).unwrap();
    for trial in &run.trials {
        let facts = &trial.mounted.as_ref().unwrap().device_facts;
        assert_eq!(facts["modelled"], "known");
        let [estimate] = &trial.estimates[..] else {
            panic!("{:?}", trial.estimates);
        };
        assert_eq!(estimate.missing, None);
        assert_eq!(estimate.devices[0].device, "knownx2");
    }
    // Without the file there is no such device.
    let output = fslab()
        .current_dir(scratch.path())
        .arg("plan")
        .arg(&study)
        .args(["--set", "device=model:known"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("no device is named \"knownx2\""),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_image_that_was_forged_is_read_on_a_modelled_disk_needs_root() {
    let scratch = Scratch::new();
    if !can_serve(&scratch) {
        return;
    }
    let output = run_in(
        scratch.path(),
        &[
            "run",
            "fsck-io",
            "--profile",
            "quick",
            "--blocks",
            "1",
            "--set",
            "volume=forged",
            "--set",
            "device=model:nvme-2018",
            "--filter",
            "workload=set-1",
            "--filter",
            "limit=none",
            "--set",
            "run.reference_seconds=0",
            "--out",
            "run",
        ],
    );
    assert_ran(&output);
    nothing_is_left(&scratch);
    let run = Run::load(&scratch.join("run")).unwrap();
    assert!(!run.trials.is_empty());
    for trial in &run.trials {
        assert_eq!(trial.status, Status::Finished, "{trial:?}");
        assert_eq!(
            trial.mounted.as_ref().unwrap().device_facts["store"],
            "a sparse file"
        );
    }
}

#[test]
fn after_a_kill_the_disk_goes_with_what_was_mounted_needs_root() {
    let scratch = Scratch::new();
    if !can_serve(&scratch) {
        return;
    }
    let study = scratch.tiny_study(&["ext4"], "");
    let mut run = fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(&study)
        // Seconds for a trial, so that it is killed in the middle.
        .args([
            "--set",
            "device=model:t7k250",
            "--set",
            "iozone.size=64m",
            "--out",
            "out",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mount = wait_for_mount(&scratch);
    assert_eq!(servers(scratch.path()).len(), 1);
    run.kill().unwrap();
    run.wait().unwrap();
    // What is mounted keeps it.
    assert!(fs::read_dir(&mount).is_ok());
    assert_eq!(servers(scratch.path()).len(), 1);
    let output = run_in(scratch.path(), &["clean", "out"]);
    assert_ran(&output);
    nothing_is_left(&scratch);
}

/// A run on a modelled disk that takes seconds for a trial, and its server.
fn on_a_slow_disk(scratch: &Scratch) -> (Child, Pid) {
    let study = scratch.tiny_study(&["ext4"], "");
    let run = fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(&study)
        .args([
            "--set",
            "device=model:t7k250",
            "--set",
            "iozone.size=64m",
            "--blocks",
            "1",
            "--out",
            "out",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_mount(scratch);
    let tasks = fs::read_dir(format!("/proc/{}/task", run.id())).unwrap();
    let children = tasks.flatten().filter_map(|task| {
        let children = fs::read_to_string(task.path().join("children"));
        children.ok()
    });
    let is_server = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("--controlled")
    };
    let server = children
        .flat_map(|list| {
            let list = list.split_whitespace().map(|pid| pid.parse().unwrap());
            list.collect::<Vec<i32>>()
        })
        .find(is_server);
    (run, Pid::from_raw(server.unwrap()).unwrap())
}

#[test]
fn a_server_that_hangs_holds_no_run_needs_root() {
    let (goes_on, ends) = (Scratch::new(), Scratch::new());
    if !can_serve(&goes_on) {
        return;
    }
    let (mut first, server) = on_a_slow_disk(&goes_on);
    kill_process(server, Signal::STOP).unwrap();
    let (mut second, server) = on_a_slow_disk(&ends);
    kill_process(server, Signal::STOP).unwrap();
    kill_process(Pid::from_child(&second), Signal::TERM).unwrap();
    wait_until("the run to end", || second.try_wait().unwrap().is_some());
    assert_eq!(second.wait().unwrap().code(), Some(130));
    nothing_is_left(&ends);
    // Its other trials have servers of their own.
    wait_until("the run to end", || first.try_wait().unwrap().is_some());
    assert_eq!(first.wait().unwrap().code(), Some(7));
    nothing_is_left(&goes_on);
    let run = Run::load(&goes_on.join("out")).unwrap();
    let failed = run.trials.iter().find_map(|trial| match &trial.status {
        Status::Failed(_, why) => Some(why),
        _ => None,
    });
    let why = failed.unwrap();
    assert!(why.contains("did not answer for 20 s"), "{why}");
}
