//! kill -9 while a run is being written: nothing that was acknowledged is lost, at most the last
//! line is torn, the lock is free at once, and the same log goes on.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fixtures::example;
use record::{Event, Log, Run, RunFolder, log};

/// Set for the process that writes and is killed: the run's folder.
const WRITER: &str = "FSLAB_TEST_WRITER";
const NAME: &str = "killed::a_killed_writer_loses_nothing_that_was_acknowledged";
const KILLS: u32 = 25;

#[test]
fn a_killed_writer_loses_nothing_that_was_acknowledged() {
    match std::env::var_os(WRITER) {
        Some(dir) => write_until_killed(Path::new(&dir)),
        None => kill_and_look(),
    }
}

/// Emits forever, and notes in `acknowledged` each number that `emit` returned.
fn write_until_killed(dir: &Path) {
    let (mut log, folder);
    if dir.join("events.jsonl").exists() {
        folder = RunFolder::open_to_write(dir).unwrap();
        log = Log::append_to(folder.opened()).unwrap().0;
        log.emit(Event::Resumed {
            tool: "test".into(),
        })
        .unwrap();
    } else {
        folder = RunFolder::create(dir).unwrap();
        log = Log::create(folder.opened()).unwrap();
        log.emit(example::entries().remove(0).event).unwrap();
    }
    let events: Vec<Event> = example::entries()
        .into_iter()
        .skip(1)
        .map(|e| e.event)
        .collect();
    let name = dir.with_extension("acknowledged");
    let mut acknowledged = OpenOptions::new()
        .create(true)
        .append(true)
        .open(name)
        .unwrap();
    for event in events.iter().cycle() {
        let entry = log.emit(event.clone()).unwrap();
        acknowledged
            .write_all(format!("{}\n", entry.seq).as_bytes())
            .unwrap();
    }
}

fn kill_and_look() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    let (mut before, mut torn, mut whole) = (0, 0, 0);
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact"])
            .env(WRITER, &dir)
            .stdout(File::create("/dev/null").unwrap())
            .spawn()
            .unwrap();
        // Until it has begun; then a different moment each time.
        let acknowledged = dir.with_extension("acknowledged");
        let known = || fs::metadata(&acknowledged).map_or(0, |m| m.len());
        let deadline = Instant::now() + Duration::from_secs(30);
        while known() <= before {
            assert!(Instant::now() < deadline, "the writer never began");
            sleep(Duration::from_millis(2));
        }
        sleep(Duration::from_micros(u64::from(kill) * 997));
        child.kill().unwrap();
        child.wait().unwrap();

        let loaded = log::read(&dir.join("events.jsonl")).unwrap();
        torn += u32::from(loaded.torn.is_some());
        let last = fs::read_to_string(&acknowledged).unwrap();
        let last: usize = last.lines().last().unwrap().parse().unwrap();
        assert!(
            loaded.entries.len() > last,
            "{} events, {last} known",
            loaded.entries.len()
        );
        let run = Run::load(&dir).unwrap();
        assert_eq!(
            run.resumed, kill,
            "every process but the first resumed the run"
        );
        drop(RunFolder::open_to_write(&dir).unwrap());
        before = known();
        whole = loaded.entries.len();
    }
    println!("{KILLS} kills, {whole} events, {torn} torn last lines");
    assert!(whole > KILLS as usize);
}
