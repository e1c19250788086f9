//! Run folders that an attacker made: links, FIFOs, devices, another user's files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use fixtures::example;
use record::telemetry::{Reader, Writer};
use record::{Error, Log, Run, RunFolder, State};
use rundir::RunDir;

/// A run that was stopped, with a torn last line.
fn stopped(dir: &Path) {
    fs::create_dir_all(dir.join("telemetry")).unwrap();
    let mut text = String::new();
    for entry in &example::entries()[..20] {
        text.push_str(&(serde_json::to_string(entry).unwrap() + "\n"));
    }
    fs::write(dir.join("events.jsonl"), text + "{\"seq").unwrap();
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        testkit::skip!("needs root");
    }
    root
}

#[test]
fn a_run_with_a_link_anywhere_in_it_is_not_written() {
    for (name, folder) in [
        ("lock", false),
        ("undo.jsonl", false),
        ("events.jsonl.torn", false),
        ("telemetry", true),
        ("telemetry/trial-0003.tele", false),
        ("report.part", false),
        ("index.sqlite", false),
        ("checks", true),
        ("layouts", true),
        ("traces", true),
        ("mnt", true),
        ("images", true),
        ("guests", true),
    ] {
        let temp = tempfile::tempdir().unwrap();
        let (run, victim) = (temp.path().join("run"), temp.path().join("victim"));
        stopped(&run);
        if folder {
            fs::create_dir(&victim).unwrap();
            let _ = fs::remove_dir(run.join(name));
        } else {
            fs::write(&victim, "data").unwrap();
        }
        symlink(&victim, run.join(name)).unwrap();
        let error = RunFolder::open_to_write(&run).unwrap_err();
        assert!(matches!(error, Error::Unsafe(_)), "{name}: {error}");
        let line = error.to_string();
        assert!(
            line.contains(&format!("{name}: refused: it is a symbolic link")),
            "{line}"
        );
        if !folder {
            assert_eq!(fs::read_to_string(&victim).unwrap(), "data", "{name}");
        }
    }
}

#[test]
fn a_log_that_is_a_link_is_not_read() {
    let temp = tempfile::tempdir().unwrap();
    let (run, other) = (temp.path().join("run"), temp.path().join("other"));
    stopped(&other);
    fs::create_dir(&run).unwrap();
    symlink(other.join("events.jsonl"), run.join("events.jsonl")).unwrap();
    let error = Run::load(&run).unwrap_err().to_string();
    assert!(
        error.contains("events.jsonl: refused: it is a symbolic link"),
        "{error}"
    );
    let error = Log::append_to(&RunDir::open(&run).unwrap())
        .unwrap_err()
        .to_string();
    assert!(error.contains("it is a symbolic link"), "{error}");
    // The way to a run may be a link: that is the caller's choice.
    symlink(&other, temp.path().join("link")).unwrap();
    Run::load(&temp.path().join("link")).unwrap();
}

#[test]
fn a_torn_line_is_not_kept_through_a_link() {
    let temp = tempfile::tempdir().unwrap();
    let run = temp.path().join("run");
    stopped(&run);
    let victim = temp.path().join("victim");
    fs::write(&victim, "data").unwrap();
    symlink(&victim, run.join("events.jsonl.torn")).unwrap();
    let error = Log::append_to(&RunDir::open(&run).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Unsafe(_)), "{error}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "data");
}

#[test]
fn telemetry_is_neither_written_nor_read_through_a_link() {
    let temp = tempfile::tempdir().unwrap();
    let victim = temp.path().join("victim");
    fs::write(&victim, "data").unwrap();
    symlink(&victim, temp.path().join("t.tele")).unwrap();
    let error = Writer::create(&temp.path().join("t.tele")).unwrap_err();
    assert!(matches!(error, Error::Unsafe(_)), "{error}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "data");
    fs::create_dir(temp.path().join("run")).unwrap();
    for name in ["../victim", "/etc/passwd", "../t.tele"] {
        let error = Reader::read_in(&temp.path().join("run"), name).unwrap_err();
        assert!(!matches!(error, Error::Telemetry { .. }), "{name}: {error}");
    }
    let error = Reader::read_in(temp.path(), "t.tele").unwrap_err();
    assert!(matches!(error, Error::Unsafe(_)), "{error}");
}

/// Makes a FIFO, or a node of a character device, which only root may.
fn special(path: &Path, device: Option<&str>) {
    let mut command = match device {
        None => Command::new("mkfifo"),
        Some(_) => Command::new("mknod"),
    };
    command.arg(path);
    if let Some(minor) = device {
        command.args(["c", "1", minor]);
    }
    assert!(command.status().unwrap().success());
}

#[test]
fn fifos_and_devices_neither_hang_nor_fill_memory_and_the_list_goes_on_needs_root() {
    if !is_root() {
        return;
    }
    // A FIFO, /dev/zero, /dev/urandom.
    for device in [None, Some("5"), Some("9")] {
        let temp = tempfile::tempdir().unwrap();
        stopped(&temp.path().join("good"));
        for name in ["events.jsonl", "lock", "telemetry"] {
            let run = temp.path().join(name.replace('.', "-"));
            stopped(&run);
            let path = run.join(name);
            let _ = fs::remove_file(&path);
            let _ = fs::remove_dir(&path);
            special(&path, device);
        }
        let begun = Instant::now();
        let listed = record::list(temp.path()).unwrap();
        assert_eq!(listed.len(), 4, "{listed:?}");
        let bad: Vec<&State> = (listed.iter())
            .map(|run| &run.state)
            .filter(|state| matches!(state, State::Damaged { .. }))
            .collect();
        assert_eq!(bad.len(), 1, "{bad:?}");
        let text = record::list::render(&listed);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains("not a file"), "{text}");
        for name in ["events-jsonl", "lock", "telemetry"] {
            let error = RunFolder::open_to_write(&temp.path().join(name)).unwrap_err();
            assert!(matches!(error, Error::Unsafe(_)), "{name}: {error}");
        }
        let error = Reader::read(&temp.path().join("telemetry/telemetry")).unwrap_err();
        assert!(matches!(error, Error::Unsafe(_)), "{error}");
        assert!(begun.elapsed() < testkit::HANGS);
    }
}

#[test]
fn a_run_of_another_user_is_read_but_not_written_by_root_needs_root() {
    type Spoil = fn(&Path);
    if !is_root() {
        return;
    }
    let ways: [Spoil; 5] = [
        |run| chown(run, Some(12345), None).unwrap(),
        |run| chown(run.join("events.jsonl"), Some(12345), None).unwrap(),
        |run| chown(run.join("telemetry"), Some(12345), None).unwrap(),
        |run| fs::set_permissions(run, fs::Permissions::from_mode(0o777)).unwrap(),
        |run| {
            let mode = fs::Permissions::from_mode(0o777);
            fs::set_permissions(run.join("telemetry"), mode).unwrap();
        },
    ];
    for spoil in ways {
        let temp = tempfile::tempdir().unwrap();
        let run = temp.path().join("run");
        stopped(&run);
        spoil(&run);
        Run::load(&run).unwrap();
        let error = RunFolder::open_to_write(&run).unwrap_err();
        assert!(matches!(error, Error::Unsafe(_)), "{error}");
        assert!(!run.join("lock").exists());
    }
    // Nor does a new run begin in an empty folder of another user.
    let temp = tempfile::tempdir().unwrap();
    chown(temp.path(), Some(12345), None).unwrap();
    let error = RunFolder::create(temp.path()).unwrap_err();
    assert!(matches!(error, Error::Unsafe(_)), "{error}");
}

#[test]
fn a_line_has_a_limit() {
    let temp = tempfile::tempdir().unwrap();
    stopped(temp.path());
    let log = fs::OpenOptions::new()
        .append(true)
        .open(temp.path().join("events.jsonl"));
    log.unwrap().set_len(1 << 36).unwrap();
    let error = Run::load(temp.path()).unwrap_err().to_string();
    assert!(error.contains("a line longer than 32 MiB"), "{error}");
}

#[test]
fn a_folder_that_was_moved_or_deleted_is_noticed() {
    let temp = tempfile::tempdir().unwrap();
    let (run, moved) = (temp.path().join("run"), temp.path().join("moved"));
    stopped(&run);
    let folder = RunFolder::open(&run).unwrap();
    let presence = folder.presence().unwrap();
    presence.require().unwrap();
    fs::rename(&run, &moved).unwrap();
    let line = presence.require().unwrap_err().to_string();
    assert!(
        line.contains(&format!("was moved to {}", moved.display())),
        "{line}"
    );
    fs::create_dir(&run).unwrap();
    assert!(presence.require().is_err(), "another folder in its place");
    fs::remove_dir(&run).unwrap();
    fs::rename(&moved, &run).unwrap();
    presence.require().unwrap();
    fs::remove_file(run.join("events.jsonl")).unwrap();
    let line = presence.require().unwrap_err().to_string();
    assert!(line.contains("events.jsonl was deleted"), "{line}");
    fs::remove_dir_all(&run).unwrap();
    let line = presence.require().unwrap_err().to_string();
    assert!(line.contains("was deleted"), "{line}");
}
