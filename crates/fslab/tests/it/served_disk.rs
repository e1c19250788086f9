//! `fslab device serve`: disks in real time, by hand. What they are served by and from stays whole, and nothing of them is left.

use crate::common;

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::guest_script::line;
use common::{Scratch, assert_ran, fslab, is_root, run_in, stderr, wait_until};
use serde_json::Value;

/// Whether this machine can serve a modelled disk; if not, the skip says why.
pub(crate) fn can_serve(scratch: &Scratch) -> bool {
    if !is_root() {
        return false;
    }
    let folder = scratch.join("probe");
    fs::create_dir_all(&folder).unwrap();
    let served = fslab()
        .current_dir(scratch.path())
        .args([
            "device",
            "serve",
            "nvme-2018",
            "--size",
            "1m",
            "--controlled",
            "--fuse",
            "probe",
        ])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if !matches!(served.status.code(), Some(0 | 7)) {
        testkit::skip!("needs FUSE: {}", stderr(&served).trim());
        return false;
    }
    if !Path::new("/dev/loop-control").exists() {
        testkit::skip!("needs loop devices");
        return false;
    }
    true
}

/// A server that is controlled by its input.
struct Served {
    child: Child,
    file: PathBuf,
}

impl Served {
    fn start(scratch: &Scratch, device: &str, more: &[&str]) -> Served {
        let folder = scratch.join("m");
        fs::create_dir(&folder).unwrap();
        let child = fslab()
            .current_dir(scratch.path())
            .args(["device", "serve", device, "--controlled"])
            .args(["--fuse", "m", "--file-name", "it"])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut served = Served {
            child,
            file: folder.join("it"),
        };
        served.say("begin 0");
        served
    }

    /// A line to it, its counters from it.
    fn say(&mut self, text: &str) -> Value {
        let mut line = String::new();
        self.child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(format!("{text}\n").as_bytes())
            .unwrap();
        // One line at a time: nothing is read ahead that a later reader would miss.
        BufReader::new(self.child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

#[test]
fn a_served_file_keeps_bytes_gives_up_holes_and_counts_needs_root() {
    use std::os::unix::fs::FileExt as _;
    let scratch = Scratch::new();
    if !can_serve(&scratch) {
        return;
    }
    let mut served = Served::start(&scratch, "nvme-2018", &["--size", "64m"]);
    // Entries would keep the folder open, and with it the server.
    let names = fs::read_dir(scratch.join("m")).unwrap().flatten().count();
    assert_eq!(names, 1);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&served.file)
        .unwrap();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|i| ((i * 7) >> 3) as u8).collect();
    file.write_all_at(&bytes, 1 << 20).unwrap();
    file.sync_all().unwrap();
    let mut back = vec![0; bytes.len()];
    let fresh = File::open(&served.file).unwrap();
    fresh.read_exact_at(&mut back, 1 << 20).unwrap();
    assert!(back == bytes);
    let punched = Command::new("fallocate")
        .args(["-p", "-o", "1m", "-l", "1m"])
        .arg(&served.file)
        .status();
    if punched.is_ok_and(|status| status.success()) {
        fresh.read_exact_at(&mut back[..4096], 1 << 20).unwrap();
        assert_eq!(back[..4096], [0; 4096]);
    }
    assert!(file.read_at(&mut [0; 8], 64 << 20).unwrap() == 0);
    let counters = served.say("");
    assert!(counters["requests"].as_u64().unwrap() >= 4, "{counters}");
    drop((file, fresh));
    // Without its input it ends.
    drop(served.child.stdin.take());
    let code = served.child.wait().unwrap().code();
    assert!(matches!(code, Some(0 | 7)), "{code:?}");
    scratch.assert_nothing_left();
}

#[test]
fn a_flush_costs_a_served_disk_something_only_where_its_cache_would_lose_writes_needs_root() {
    let scratch = Scratch::new();
    if !can_serve(&scratch) {
        return;
    }
    for (device, flushes) in [("cheetah-15k.5", 0), ("7k500", 1)] {
        let mut served = Served::start(&scratch, device, &["--size", "64m"]);
        let opened = OpenOptions::new().write(true).open(&served.file);
        let file = opened.unwrap();
        let requests = |served: &mut Served| served.say("")["requests"].as_u64().unwrap();
        let before = requests(&mut served);
        file.sync_all().unwrap();
        assert_eq!(requests(&mut served) - before, flushes, "{device}");
        drop(file);
        drop(served.child.stdin.take());
        assert!(matches!(served.child.wait().unwrap().code(), Some(0 | 7)));
        fs::remove_dir(scratch.join("m")).unwrap();
    }
    scratch.assert_nothing_left();
}

/// A loop device on a served file; detached at its end, before the server ends.
struct Loop(String);

impl Loop {
    fn on(file: &Path) -> Loop {
        let made = Command::new("losetup")
            .args(["--find", "--show", "--direct-io=on"])
            .arg(file)
            .output()
            .unwrap();
        let node = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        assert!(node.starts_with("/dev/loop"), "{}", stderr(&made));
        Loop(node)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

/// 5 ms for a request, 100 MB a second, and 10 ms that requests share.
pub(crate) const KNOWN: &str = r#"
[device.memory]
kind = "ssd"
capacity = "1 GB"
flash = { channels = 64, dies = 16, page = "4k", read_us = 0.1, program_us = 0.1, channel_rate = "100 GB/s" }
firmware_us = { read = 0, write = 0 }
buffer = "64m"
link = { rate = "100 GB/s" }

[device.known]
kind = "array"
level = 0
chunk = "1m"
members = "1 x memory"
controller = { request_ms = 5, rate = "100 MB/s", source = "assumed" }
link = { latency_ms = 10, source = "assumed" }
"#;

/// Asserts that `device bench` in a guest found what the known disk takes: 5 ms a request, and 10 ms that requests share. An emulated
/// guest answers late, by what the server counted and by the `way` of a driver to it and back, s; and never early.
pub(crate) fn assert_known_is_found(console: &str, way: f64) {
    let json = |begin: &str| -> Value { serde_json::from_str(line(console, begin)).unwrap() };
    let (counters, fit) = (json("counters "), json("fit "));
    let of = |name: &str| counters[name].as_f64().unwrap();
    assert!(of("requests") > 100.0, "{counters}");
    let late = of("lateness") / of("requests") / 1e9;
    for (name, known, way) in [("request_s", 5e-3, 0.0), ("latency_s", 10e-3, way)] {
        let found = fit["figures"][name].as_f64().unwrap();
        let most = (1.0 + WITHIN) * known + 1.5 * late + way;
        assert!(
            (0.98 * known..most).contains(&found),
            "{name}: {counters} {fit}"
        );
    }
}

/// What a fit, or a replay on a fitted model, may be apart from its device.
const WITHIN: f64 = 0.15;
/// Times that a fit is tried: beside other tests a reader may wake up milliseconds after its answer.
const FITS: usize = 3;

#[test]
fn a_model_is_found_back_from_the_disk_that_it_serves_needs_root() {
    let scratch = Scratch::new();
    if !can_serve(&scratch) {
        return;
    }
    fs::write(scratch.join("known.toml"), KNOWN).unwrap();
    let more = ["--devices-file", "known.toml", "--size", "256m"];
    let mut served = Served::start(&scratch, "known", &more);
    let disk = Loop::on(&served.file);
    let words = [
        "device",
        "bench",
        &disk.0,
        "--write",
        "fitted.toml",
        "--format",
        "json",
    ];
    let mut apart = Ok(());
    let mut woken_late = 0.0_f64;
    for _ in 0..FITS {
        let before = overslept();
        let output = run_in(scratch.path(), &words);
        assert_ran(&output);
        woken_late = woken_late.max(before).max(overslept());
        apart = is_found_back(&serde_json::from_slice(&output.stdout).unwrap());
        if apart.is_ok() {
            break;
        }
    }
    drop(disk);
    let counters = served.say("");
    drop(served.child.stdin.take());
    assert!(matches!(served.child.wait().unwrap().code(), Some(0 | 7)));
    scratch.assert_nothing_left();
    // The file that was written is a device.
    let checked = run_in(scratch.path(), &["device", "check", "fitted.toml"]);
    assert_ran(&checked);
    let Err(apart) = apart else { return };
    // A hundredth may be late: what the fit takes is the sum of many. If all are, what is measured is this machine, not the model.
    let of = |name: &str| counters[name].as_f64().unwrap();
    if of("lateness") / of("requests") > 250e3 || woken_late > 5e-4 {
        testkit::skip!(
            "the disk was not served in time: {counters}, a sleep of 5 ms took {woken_late} s more: {apart}"
        );
        return;
    }
    panic!("{apart}");
}

/// Mean seconds by which short sleeps are longer than they should be.
fn overslept() -> f64 {
    const SLEEP: Duration = Duration::from_millis(5);
    let begin = Instant::now();
    for _ in 0..50 {
        sleep(SLEEP);
    }
    begin.elapsed().as_secs_f64() / 50.0 - SLEEP.as_secs_f64()
}

/// Whether a fit has the figures of [`KNOWN`]; else what is apart.
fn is_found_back(fit: &Value) -> Result<(), String> {
    for (name, known) in [
        ("request_s", 5e-3),
        ("latency_s", 10e-3),
        ("rate_bytes_per_s", 100e6),
    ] {
        let found = fit["figures"][name].as_f64().unwrap_or(f64::INFINITY);
        if (found / known - 1.0).abs() >= WITHIN {
            return Err(format!("{name} is {found}, and {known} was served: {fit}"));
        }
    }
    if fit["figures"]["overlap"] != false {
        return Err(format!("taken for limits side by side: {fit}"));
    }
    // Also of the load that was not used for the fit; 1 MiB may have been cut in halves below the device.
    for load in fit["loads"].as_array().unwrap() {
        let of = |name: &str| load[name].as_f64().unwrap();
        let apart = (of("modelled_s") / of("measured_s") - 1.0).abs();
        if of("len") <= f64::from(512 << 10) && apart >= WITHIN {
            return Err(load.to_string());
        }
    }
    Ok(())
}

/// Ends a process by a signal, and waits for at most 20 s.
fn ended_by_a_signal(child: &mut Child) -> Option<i32> {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    wait_until("the server to end", || child.try_wait().unwrap().is_some());
    child.wait().unwrap().code()
}

#[test]
fn a_signal_ends_a_server_whose_file_is_open_needs_root() {
    use std::os::unix::fs::FileExt as _;
    let scratch = Scratch::new();
    if !can_serve(&scratch) {
        return;
    }
    let mut served = Served::start(&scratch, "nvme-2018", &["--size", "64m"]);
    let file = File::open(&served.file).unwrap();
    file.read_exact_at(&mut [0; 512], 0).unwrap();
    let code = ended_by_a_signal(&mut served.child);
    assert!(matches!(code, Some(0 | 7)), "{code:?}");
    // What is not in the page cache is gone with it.
    assert!(file.read_at(&mut [0; 512], 32 << 20).is_err());
    scratch.assert_nothing_left();
}

/// Why a server of these options does not start, which is code 2.
fn refused(scratch: &Scratch, options: &[&str]) -> String {
    let args = ["device", "serve", "nvme-2018", "--size", "64m"];
    let output = run_in(scratch.path(), &[&args[..], options].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    stderr(&output)
}

#[test]
fn a_store_has_one_server_and_is_there_only_where_it_is_served_needs_root() {
    let scratch = Scratch::new();
    if !can_serve(&scratch) {
        return;
    }
    let refused = |folder, store| refused(&scratch, &["--fuse", folder, "--store", store]);
    refused("none", "new.img");
    assert!(!scratch.join("new.img").exists());
    fs::write(scratch.join("empty.img"), "").unwrap();
    refused("none", "empty.img");
    assert_eq!(fs::read(scratch.join("empty.img")).unwrap(), b"");
    let more = ["--size", "64m", "--store", "store.img"];
    let mut served = Served::start(&scratch, "nvme-2018", &more);
    let error = refused("none", "store.img");
    assert!(error.contains("another server has it"), "{error}");
    let code = ended_by_a_signal(&mut served.child);
    assert!(matches!(code, Some(0 | 7)), "{code:?}");
    assert_eq!(
        fs::metadata(scratch.join("store.img")).unwrap().len(),
        64 << 20
    );
}

#[test]
fn a_store_is_not_the_image_of_a_loop_device_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    // sysfs ends the line, and the name is the rest of it.
    let image = scratch.join("store ");
    File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let disk = Loop::on(&image);
    let error = refused(&scratch, &["--fuse", "none", "--store", "store "]);
    assert!(error.contains("the image of /dev/loop"), "{error}");
    drop(disk);
}

#[test]
fn a_folder_has_one_server_and_a_file_that_is_open_is_served_until_a_signal_needs_root() {
    use std::os::unix::fs::FileExt as _;
    let scratch = Scratch::new();
    if !can_serve(&scratch) {
        return;
    }
    let mut served = Served::start(&scratch, "nvme-2018", &["--size", "64m"]);
    let error = refused(&scratch, &["--fuse", "m"]);
    assert!(error.contains("an empty folder"), "{error}");
    // Unmounted by another, and no longer controlled: the one that has it open goes on.
    let file = File::open(&served.file).unwrap();
    // A lead that no call needs is a second.
    served.say("begin 18446744073709551615");
    let folder = scratch.join("m");
    let unmounted = Command::new("umount").arg("-l").arg(&folder).status();
    assert!(unmounted.unwrap().success());
    drop(served.child.stdin.take());
    sleep(Duration::from_millis(200));
    file.read_exact_at(&mut [0; 512], 4 << 20).unwrap();
    let code = ended_by_a_signal(&mut served.child);
    assert!(matches!(code, Some(0 | 7)), "{code:?}");
    assert!(file.read_at(&mut [0; 512], 32 << 20).is_err());
    scratch.assert_nothing_left();
}

#[test]
fn a_disk_in_memory_that_is_larger_than_memory_is_said_at_the_start() {
    let scratch = Scratch::new();
    // The size of the drive, 500 GB.
    let words = ["device", "serve", "7k500", "--fuse", "none"];
    let output = run_in(scratch.path(), &words);
    let said = stderr(&output);
    assert!(
        said.contains("in memory, and") && said.contains("--store"),
        "{said}"
    );
    let small = refused(&scratch, &["--fuse", "none"]);
    assert!(!small.contains("in memory, and"), "{small}");
}
