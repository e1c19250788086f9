//! Block traces of loop devices. The tracer is one for the whole machine, so a test waits until
//! no other recording runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use blktrace::record::{Category, Head, SIZE};
use blktrace::{Action, record};
use probe::capture::{BUFFER, Error, Mask, Options, Plan, Recording, Summary};

const MIB: u64 = 1 << 20;

fn needs_root() -> bool {
    !testkit::root!("block traces and loop devices")
}

fn run(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(
        output.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A loop device with ext4, mounted; undone when dropped.
struct Disk {
    _folder: tempfile::TempDir,
    device: PathBuf,
    mount: PathBuf,
}

impl Disk {
    fn new(mib: u64) -> Disk {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        fs::File::create(&image)
            .unwrap()
            .set_len(mib * MIB)
            .unwrap();
        let mount = folder.path().join("mount");
        fs::create_dir(&mount).unwrap();
        let device = run(&["losetup", "-f", "--show", image.to_str().unwrap()]);
        run(&[
            "mkfs.ext4",
            "-q",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
            &device,
        ]);
        run(&["mount", &device, mount.to_str().unwrap()]);
        Disk {
            _folder: folder,
            device: device.into(),
            mount,
        }
    }

    fn name(&self) -> String {
        self.device.file_name().unwrap().to_str().unwrap().into()
    }

    fn enabled(&self) -> String {
        let path = format!("/sys/block/{}/trace/enable", self.name());
        fs::read_to_string(path).unwrap().trim().to_owned()
    }

    fn write(&self, mib: u64) {
        let to = format!("of={}", self.mount.join("file").display());
        let count = format!("count={mib}");
        run(&["dd", "if=/dev/zero", &to, "bs=1M", &count, "oflag=direct"]);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.mount).status();
        let _ = Command::new("losetup").arg("-d").arg(&self.device).status();
    }
}

fn options(devices: &[&Disk], out: &Path) -> Options {
    Options {
        devices: devices.iter().map(|disk| disk.device.clone()).collect(),
        out: out.into(),
        mask: Mask::default(),
        buffer: BUFFER,
    }
}

/// Starts as soon as the tracer is free.
fn start(options: &Options) -> Recording {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        match Plan::new(options).and_then(Plan::start) {
            Ok(recording) => return recording,
            Err(Error::Busy { .. }) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(100));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// All records of a device, notes among them.
fn records(out: &Path, summary: &Summary) -> Vec<(Head, Vec<u8>)> {
    let mut all = Vec::new();
    for cpu in &summary.cpus {
        let path = out.join(format!("{}.blktrace.{}", summary.device, cpu.cpu));
        let bytes = fs::read(path).unwrap();
        assert_eq!(bytes.len() as u64, cpu.bytes);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let head = Head::parse(rest[..SIZE].try_into().unwrap()).unwrap();
            assert_eq!(head.cpu, cpu.cpu);
            let end = SIZE + usize::from(head.pdu_len);
            all.push((head, rest[SIZE..end].to_vec()));
            rest = &rest[end..];
        }
    }
    all
}

/// Sectors of the file on the device, by FIEMAP as filefrag prints it.
fn sectors(file: &Path) -> Vec<(u64, u64)> {
    let text = run(&["filefrag", "-v", "-b512", file.to_str().unwrap()]);
    let mut extents = Vec::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split(':').map(str::trim).collect();
        if parts.len() < 4 || parts[0].parse::<u32>().is_err() {
            continue;
        }
        let (from, to) = parts[2].split_once("..").unwrap();
        let from: u64 = from.trim().parse().unwrap();
        extents.push((from, to.trim().parse::<u64>().unwrap() + 1));
    }
    extents
}

fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::new();
    for (from, to) in ranges {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

#[test]
fn known_writes_are_traced_to_the_sector_needs_root() {
    if needs_root() {
        return;
    }
    let disk = Disk::new(256);
    let out = tempfile::tempdir().unwrap();
    run(&["sync", "-f", disk.mount.to_str().unwrap()]);
    let recording = start(&options(&[&disk], out.path()));
    assert_eq!(disk.enabled(), "1");
    disk.write(64);
    let summary = recording.finish().unwrap().remove(0);
    assert_eq!(disk.enabled(), "0");
    assert_eq!((summary.lost, summary.degraded), (0, false), "{summary:?}");
    let file = disk.mount.join("file");
    let extents = joined(sectors(&file));
    let inside = |head: &Head| {
        extents
            .iter()
            .any(|(from, to)| head.sector >= *from && head.end() <= *to)
    };
    let all = records(out.path(), &summary);
    let of = |action| -> Vec<Head> {
        all.iter()
            .map(|(head, _)| *head)
            .filter(|head| head.kind() == Some(action) && head.has(Category::Write))
            .filter(|head| head.bytes > 0 && inside(head))
            .collect()
    };
    for action in [Action::Queue, Action::Issue, Action::Complete] {
        let these = of(action);
        let bytes: u64 = these.iter().map(|head| u64::from(head.bytes)).sum();
        assert_eq!(bytes, 64 * MIB, "{action:?}");
        let covered = joined(these.iter().map(|head| (head.sector, head.end())).collect());
        assert_eq!(covered, extents, "{action:?}");
    }
    // A direct write of 1 MiB is at least one bio, and every request is completed once.
    assert!(of(Action::Queue).len() >= 64);
    assert_eq!(of(Action::Issue).len(), of(Action::Complete).len());
    for head in of(Action::Queue) {
        let name = all
            .iter()
            .find(|(note, _)| note.note() == Some(record::Notify::Process) && note.pid == head.pid);
        assert!(name.unwrap().1.starts_with(b"dd\0"));
    }
    let stored = fs::read_to_string(Summary::path(out.path(), &summary.device)).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&stored).unwrap(), summary);
    sequences_are_whole(&all);
    debian_reads_it(out.path(), &summary);
}

/// Without losses each CPU's numbers are 1, 2, 3... and time never goes back.
fn sequences_are_whole(all: &[(Head, Vec<u8>)]) {
    let mut last = std::collections::HashMap::new();
    for (head, _) in all.iter().filter(|(head, _)| head.note().is_none()) {
        let (sequence, time) = last.entry(head.cpu).or_insert((0, 0));
        assert_eq!(head.sequence, *sequence + 1);
        assert!(head.time >= *time);
        (*sequence, *time) = (head.sequence, head.time);
    }
}

fn debian_reads_it(out: &Path, summary: &Summary) {
    if Command::new("blkparse").arg("-V").output().is_err() {
        eprintln!("not compared: blkparse is not installed");
        return;
    }
    let base = out.join(&summary.device);
    let merged = out.join("merged.bin");
    let output = Command::new("blkparse")
        .args(["-i", base.to_str().unwrap(), "-d", merged.to_str().unwrap()])
        .output()
        .unwrap();
    let (text, stored) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success() && stored.is_empty(), "{stored}");
    let entries = format!("Events ({}): {} entries", summary.device, summary.events);
    assert!(text.contains(&entries), "{entries}");
    assert!(text.contains("Skips: 0 forward"));
    assert!(text.contains("[dd]"));
    let queued = text.lines().filter(|line| line.contains(" Q  WS ")).count();
    assert!(queued >= 64, "{queued} lines of Q");
    let btt = Command::new("btt")
        .args(["-i", merged.to_str().unwrap()])
        .current_dir(out)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&btt.stdout);
    assert!(btt.status.success() && text.contains("D2C"), "{text}");
}

#[test]
fn two_devices_are_told_apart_needs_root() {
    if needs_root() {
        return;
    }
    let (one, other) = (Disk::new(64), Disk::new(64));
    let out = tempfile::tempdir().unwrap();
    let mask = Mask::parse("complete").unwrap();
    let recording = start(&Options {
        mask,
        ..options(&[&one, &other], out.path())
    });
    one.write(8);
    other.write(16);
    let summaries = recording.finish().unwrap();
    for (summary, mib) in summaries.iter().zip([8, 16]) {
        let all = records(out.path(), summary);
        assert!(
            all.iter()
                .filter(|(head, _)| head.note().is_none())
                .all(|(head, _)| head.kind() == Some(Action::Complete)),
            "only what was asked for"
        );
        let bytes: u64 = all.iter().map(|(head, _)| u64::from(head.bytes)).sum();
        assert!(bytes >= mib * MIB && bytes < (mib + 4) * MIB, "{bytes}");
    }
    assert_eq!(summaries[0].device, one.name());
    assert!(!summaries[1].lost_is_shared);
}

#[test]
fn a_buffer_too_small_loses_events_and_says_so_needs_root() {
    if needs_root() {
        return;
    }
    let disk = Disk::new(64);
    let out = tempfile::tempdir().unwrap();
    disk.write(32);
    let recording = start(&Options {
        buffer: 64 << 10,
        ..options(&[&disk], out.path())
    });
    // 8,000 direct reads of what the image has in memory, with six events each: far above 64 KiB in 50 ms, even on a slow disk.
    let file = format!("if={}", disk.mount.join("file").display());
    let read = |count| [&file, "of=/dev/null", "bs=4k", count, "iflag=direct"];
    run(&[&["dd"], &read("count=8000")[..]].concat());
    // A few more on each CPU once the buffers are empty again: only a record that follows a loss
    // shows it as a gap.
    std::thread::sleep(std::time::Duration::from_millis(500));
    for cpu in 0..std::thread::available_parallelism().unwrap().get() {
        // A CPU that this process may not use has no losses to show.
        let _ = Command::new("taskset")
            .args(["-c", &cpu.to_string(), "dd", "status=none"])
            .args(read("count=20"))
            .status()
            .unwrap();
    }
    let summary = recording.finish().unwrap().remove(0);
    assert!(summary.lost > 0 && summary.degraded, "{summary:?}");
    assert!(summary.lost_percent() > 0.0);
    // The gaps in the sequences are the same loss.
    let all = records(out.path(), &summary);
    let mut gaps = 0;
    for cpu in &summary.cpus {
        let last = all
            .iter()
            .filter(|(head, _)| head.cpu == cpu.cpu && head.note().is_none())
            .map(|(head, _)| head.sequence)
            .max();
        gaps += u64::from(last.unwrap_or(0)) - cpu.events;
    }
    assert!(
        gaps <= summary.lost && gaps * 10 > summary.lost * 9,
        "{gaps}: {summary:?}"
    );
}

#[test]
fn everything_is_as_before_after_a_drop_needs_root() {
    if needs_root() {
        return;
    }
    let disk = Disk::new(64);
    let out = tempfile::tempdir().unwrap();
    let options = options(&[&disk], out.path());
    let recording = start(&options);
    let busy = Plan::new(&Options {
        out: "/tmp".into(),
        ..options.clone()
    });
    assert!(matches!(busy, Err(Error::Busy { .. })), "{busy:?}");
    drop(recording);
    assert_eq!(disk.enabled(), "0");
    // What the first left is not written over.
    let again = Plan::new(&options);
    assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
    let twice = Plan::new(&Options {
        devices: vec![disk.device.clone(), disk.device.clone()],
        ..options
    });
    assert!(matches!(twice, Err(Error::SameQueue { .. })), "{twice:?}");
}
