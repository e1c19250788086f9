//! Trials under limits of rate and memory: checked, compared with the unlimited disk, killed and resumed.

use crate::common;

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use common::checked::{FILL, STREAM, run, sound, study};
use common::{Scratch, assert_code, can_limit, fslab, run_in, stdout};
use record::Status;

/// Control groups left by processes of ours.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&format!("fslab-{pid}-")) {
                found.push(entry.path());
            }
            todo.push(entry.path());
        }
    }
    found
}

/// Lines of the block layer's throttle files (version 1) that name this device.
fn throttles(device: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/sys/fs/cgroup/blkio")
        .into_iter()
        .flatten()
        .flatten()
    {
        if !entry
            .file_name()
            .to_string_lossy()
            .starts_with("blkio.throttle")
        {
            continue;
        }
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let of_device = text
            .lines()
            .filter(|line| line.starts_with(&format!("{device} ")))
            .filter(|line| line.split(' ').count() == 2);
        found.extend(of_device.map(|line| format!("{}: {line}", entry.path().display())));
    }
    found
}

/// `7:3` of the loop device whose image lies in this folder.
fn loop_of(scratch: &Scratch) -> String {
    let here = scratch.path().to_string_lossy().into_owned();
    for entry in fs::read_dir("/sys/block").unwrap().flatten() {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file"));
        if backing.is_ok_and(|file| file.contains(&here)) {
            let number = fs::read_to_string(entry.path().join("dev")).unwrap();
            return number.trim().to_owned();
        }
    }
    panic!("no loop device of {here}");
}

#[test]
fn streams_and_fills_are_checked_under_limits_needs_root() {
    if !can_limit() {
        return;
    }
    let scratch = Scratch::new();
    let limits = "limit = [\"none\", \"read=40m,write=80m\"]\nmemory = [\"160m\"]\n";
    let study = study(&scratch, "\"ext4\", \"xfs\"", limits, &[STREAM, FILL]);
    let output = run(&scratch, &study, &[]);
    let run = sound(&scratch, &output);
    assert_eq!(run.trials.len(), 8);
    for slot in &run.plan.slots {
        let (cell, trial) = (
            &run.plan.cells[slot.cell as usize],
            &run.trials[slot.trial as usize],
        );
        assert_eq!(trial.status, Status::Finished, "{}", cell.label());
        let phase = |name: &str| trial.phases.iter().find(|phase| phase.name == name);
        let check = phase("check").unwrap();
        let program = if cell.levels["filesystem"] == "xfs" {
            "xfs_repair"
        } else {
            "e2fsck"
        };
        let usage = check.usage.as_ref().unwrap();
        assert_eq!(usage.of, program);
        assert!(usage.elapsed > 0.0 && usage.max_rss > 0, "{usage:?}");
        let pass = phase("check_pass_1").unwrap();
        assert!(pass.begin_ns >= check.begin_ns && pass.end_ns <= check.end_ns);
        assert!(pass.usage.is_none(), "a pass is not a process");
        for phase in &trial.phases[..trial.phases.len().min(2)] {
            let memory = phase.memory.as_ref().unwrap();
            assert_eq!(memory.limit, Some(160 << 20), "{}", phase.name);
            assert!(memory.peak.unwrap() > 0 && memory.peak.unwrap() <= 160 << 20);
            assert!(memory.memory_total > 160 << 20);
        }
        let sample = |phase: &str, metric: &str| {
            let mut all = trial.samples.iter();
            all.find(|s| s.phase == phase && s.metric == metric)
                .map(|s| s.value)
        };
        assert!(sample("check", "seconds").unwrap() > 0.0);
        assert!(sample("check", "device_read").unwrap() > 0.0);
        assert_eq!(sample("check", "swap_ins"), Some(0.0));
        if cell.workload_name == "fill" {
            assert_eq!(sample("fill", "count"), Some(300.0));
            let usage = phase("fill").unwrap().usage.as_ref().unwrap();
            assert_eq!(usage.of, "fslab");
        } else if cell.device.limit.is_some() {
            // 24 MiB at 40 MiB/s; the block layer lets a first slice, and what was read ahead of
            // the clock, through.
            let read = sample("read", "throughput").unwrap();
            assert!(read < 80.0 * f64::from(1 << 20), "{read} bytes a second");
        }
        let cold = trial
            .evidence
            .iter()
            .find(|e| e.name == "cold_cache" && e.phase.as_deref() == Some("check"));
        assert_eq!(cold.unwrap().holds, Some(true));
        let kept = scratch.join(&format!("out/checks/trial-{:04}.txt", slot.trial + 1));
        let kept = fs::read_to_string(kept).unwrap();
        assert!(
            kept.contains(program) && kept.to_lowercase().contains("phase 1")
                || kept.contains("Pass 1")
        );
    }
    common::assert_fits_a_mail(&stdout(&output));
    scratch.assert_nothing_left();
}

#[test]
fn the_disk_itself_is_read_first_and_recorded_in_log_and_context_needs_root() {
    if !can_limit() {
        return;
    }
    let scratch = Scratch::new();
    let study = study(
        &scratch,
        "\"ext4\"",
        "limit = [\"none\", \"50m\"]\n",
        &[FILL],
    );
    let output = run(&scratch, &study, &["--set", "run.reference_seconds=0.05"]);
    let run = sound(&scratch, &output);
    let images: Vec<_> = run
        .references
        .iter()
        .filter(|reference| reference.device == "loop image")
        .collect();
    assert_eq!(images.len(), 2, "{:?}", run.references);
    assert_eq!(images[0].limit, None);
    assert_eq!(images[1].limit.as_deref(), Some("50m"));
    for image in &images {
        assert_eq!((image.sequential.len(), image.pass_seconds), (3, 0.05));
        assert!(
            image.line.contains("Timing buffered disk reads"),
            "{image:?}"
        );
    }
    // The underlying disk is measured too, or the reason why not is reported (a container may not open it).
    let disk = run.references.len() == 3;
    let noted = run.notes.iter().any(|note| note.contains("raw-device"));
    assert!(disk || noted, "{:?} {:?}", run.references, run.notes);
    let reference = &run.contexts["start"]["items"]["block.raw_reference"]["value"];
    assert!(
        reference
            .as_str()
            .unwrap()
            .contains("a loop image like the trials', held to 50m: "),
        "{reference}"
    );
    scratch.assert_nothing_left();
}

#[test]
fn killed_under_limits_it_is_cleaned_and_resumed_needs_root() {
    if !can_limit() {
        return;
    }
    let scratch = Scratch::new();
    let limits = "limit = [\"write=6m\"]\nmemory = [\"160m\"]\n";
    let study = study(&scratch, "\"ext4\"", limits, &[STREAM]);
    let mut child = fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(&study)
        .args(["--out", "out", "--blocks", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mount = common::wait_for_mount(&scratch);
    common::wait_until("the file", || mount.join("bigfile").exists());
    let device = loop_of(&scratch);
    common::wait_until("limits of its device", || !throttles(&device).is_empty());
    common::wait_until("limits of its memory", || !groups_of(child.id()).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();

    let output = run_in(scratch.path(), &["clean", "out"]);
    assert_code(&output, 0);
    assert_eq!(
        throttles(&device),
        Vec::<String>::new(),
        "{}",
        stdout(&output)
    );
    assert_eq!(groups_of(child.id()), Vec::<PathBuf>::new());
    scratch.assert_nothing_left();

    let output = run_in(scratch.path(), &["resume", "out"]);
    let run = sound(&scratch, &output);
    assert!(
        run.trials
            .iter()
            .all(|trial| trial.status == Status::Finished)
    );
    assert!(
        run.trials
            .iter()
            .all(|trial| trial.phases.iter().any(|phase| phase.name == "check"))
    );
    assert_eq!(run.resumed, 1);
    scratch.assert_nothing_left();
}
