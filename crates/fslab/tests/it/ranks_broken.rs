//! Ranks that are killed or stopped: a failed trial that names them, nothing left, and the run goes on.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::Scratch;
use common::launchers::{self, Hosts, Mpi, ranks_in};
use record::{Run, Status};
use rustix::process::{Pid, Signal, kill_process};

/// Two trials of some seconds each.
const STUDY: &str = r#"
include = ["defaults.toml"]
name = "ranks-broken"
title = "Ranks that break"
[factors]
filesystem = ["ext4"]
[[workload]]
name = "ior"
kind = "shared"
ranks = 2
block = "4k"
transfer = "4k"
segments = 100000
stonewall = 1.5
test = "write"
[run]
blocks = 2
reference_seconds = 0.0
[fleet]
stall = 8
"#;

fn begin(mpi: &Mpi, scratch: &Scratch) -> Child {
    fs::write(scratch.join("study.toml"), STUDY).unwrap();
    fs::create_dir(scratch.join("data")).unwrap();
    let words = "run study.toml --executor mpi --dir data --out run";
    let mut command = mpi.command(scratch.path(), words);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Waits until a file of the first trial grows: the ranks are in their phase.
fn wait_for_work(scratch: &Scratch) -> Vec<i32> {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        let folders = fs::read_dir(scratch.join("data")).unwrap().flatten();
        let grows = |dir: &Path| {
            let path = dir.join("testFile.00000001");
            fs::metadata(path).is_ok_and(|meta| meta.len() > 0)
        };
        if folders.into_iter().any(|entry| grows(&entry.path())) {
            return ranks_in(scratch.path());
        }
        sleep(Duration::from_millis(10));
    }
    panic!("no rank has begun to write");
}

/// The first trial failed and names a rank, the second is whole, and nothing is left.
fn judge(mpi: &Mpi, scratch: &Scratch, mut child: Child, says: &str) {
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(7), "{}", mpi.name);
    let run = Run::load(&scratch.join("run")).unwrap();
    assert_eq!(run.trials.len(), 2);
    let Status::Failed(_, message) = &run.trials[0].status else {
        panic!("{}: {:?}", mpi.name, run.trials[0].status);
    };
    assert!(
        message.starts_with("rank ") && message.contains(says),
        "{}: {message}",
        mpi.name
    );
    assert!(run.trials[0].samples.is_empty(), "no partial sums");
    assert_eq!(run.trials[1].status, Status::Finished, "{}", mpi.name);
    assert_eq!(ranks_in(scratch.path()), Vec::<i32>::new());
    assert_eq!(fs::read_dir(scratch.join("data")).unwrap().count(), 0);
}

/// Files of shared memory that these processes have.
fn segments(ranks: &[i32]) -> Vec<PathBuf> {
    let maps = ranks
        .iter()
        .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/maps")).ok());
    let lines: Vec<String> = maps
        .flat_map(|maps| maps.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let names = lines
        .iter()
        .filter_map(|line| line.get(line.find("/dev/shm/")?..));
    names.map(PathBuf::from).collect()
}

/// MPICH keeps a segment of shared memory, and removes it only when it ends by itself.
fn no_segment_is_left(segments: &[PathBuf]) {
    let left: Vec<_> = segments.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[test]
fn a_killed_rank_fails_its_trial_alone() {
    for mpi in launchers::some() {
        let scratch = Scratch::new();
        let child = begin(&mpi, &scratch);
        let ranks = wait_for_work(&scratch);
        assert_eq!(ranks.len(), 2, "{}", mpi.name);
        let segments = segments(&ranks);
        send(ranks[1], Signal::KILL);
        judge(&mpi, &scratch, child, "9");
        no_segment_is_left(&segments);
    }
}

#[test]
fn a_stopped_rank_fails_its_trial_alone() {
    for mpi in launchers::some() {
        let scratch = Scratch::new();
        let child = begin(&mpi, &scratch);
        let ranks = wait_for_work(&scratch);
        let segments = segments(&ranks);
        send(ranks[0], Signal::STOP);
        judge(&mpi, &scratch, child, "no progress for 8 s");
        no_segment_is_left(&segments);
    }
}

/// A node whose network is gone: no process has ended, and no message comes from it any more.
#[test]
fn a_lost_node_fails_its_trial_and_is_named_needs_root() {
    if !testkit::root!("network namespaces") {
        return;
    }
    let scratch = Scratch::new();
    let Some(hosts) = Hosts::up(scratch.path()) else {
        testkit::skip!("no network namespaces here (ip netns)");
        return;
    };
    let Some(mpi) = hosts.launchers().into_iter().next_back() else {
        return;
    };
    fs::create_dir(scratch.join("data")).unwrap();
    let line = "bench shared --dir data --ranks 4 -b 4k -t 4k -s 1000000 -D 2 --test write --stall 8 --format json";
    let mut command = mpi.command(scratch.path(), line);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let file = scratch.join("data/testFile.00000003");
    let until = Instant::now() + Duration::from_secs(60);
    while !fs::metadata(&file).is_ok_and(|meta| meta.len() > 0) {
        assert!(Instant::now() < until, "no rank has begun to write");
        sleep(Duration::from_millis(10));
    }
    hosts.cut();
    let output = child.wait_with_output().unwrap();
    let message = common::error_line(&output);
    assert!(
        message.contains("on h2: no progress for 8 s in write"),
        "{}: {message}",
        mpi.name
    );
    // No message reaches the lost node: its ranks end when their launcher's agent there finds that it is alone.
    let until = Instant::now() + Duration::from_secs(60);
    while !ranks_in(scratch.path()).is_empty() && Instant::now() < until {
        sleep(Duration::from_millis(100));
    }
    assert_eq!(ranks_in(scratch.path()), Vec::<i32>::new());
    assert_eq!(fs::read_dir(scratch.join("data")).unwrap().count(), 0);
}

/// A signal stops the lab: everything ends, and nothing is left.
#[test]
fn an_interrupt_ends_the_ranks() {
    let Some(mpi) = launchers::all().into_iter().next() else {
        testkit::skip!("no MPI");
        return;
    };
    let scratch = Scratch::new();
    let mut child = begin(&mpi, &scratch);
    wait_for_work(&scratch);
    send(child.id() as i32, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(ranks_in(scratch.path()), Vec::<i32>::new());
    assert_eq!(fs::read_dir(scratch.join("data")).unwrap().count(), 0);
}
