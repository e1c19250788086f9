//! Machines that fail, for real: User-mode Linux with an init that panics, hangs or is stopped.
//! What a guest does that works is tested where there is a job: in fslab.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use guest::initramfs::{Job, Store};
use guest::kernel::Cache;
use guest::machine::{self, Disk, Ended, Engine, Error, Limits, Machine};

/// The program of User-mode Linux, or why the test is skipped.
fn uml() -> Option<std::path::PathBuf> {
    let found = machine::installed_uml();
    if let Err(missing) = &found {
        println!("skipped: {missing}");
    }
    found.ok()
}

/// A machine whose init is a program of the host; words that the kernel does not know are its arguments.
fn machine(kernel: &Path, temp: &Path, init: &str, append: &[&str]) -> Machine {
    let cache = Cache::open(Some(temp)).unwrap();
    let tools = Store::open(&cache).unwrap().tools(&[]).unwrap();
    let disk = tempfile::tempfile().unwrap();
    disk.set_len(64 << 20).unwrap();
    Machine {
        engine: Engine::Uml,
        kernel: kernel.to_owned(),
        initramfs: machine::initramfs(&[&tools], &Job::new(Path::new(init))).unwrap(),
        memory: 256 << 20,
        cpus: 1,
        disks: vec![Disk {
            file: disk,
            serial: "disk0".into(),
        }],
        append: append.iter().map(|&word| word.to_owned()).collect(),
        limits: Limits::default(),
        console: temp.join("guests/console"),
        files: temp.join("files"),
    }
}

fn run(machine: &Machine) -> Result<Ended, Error> {
    machine.run(&mut |_| true, &|| false)
}

/// Processes that hold a file below `folder` open: a machine's console is one.
fn holders(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let me = std::process::id().to_string();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let pid = process.file_name().to_string_lossy().into_owned();
        if pid == me || !pid.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let Ok(files) = fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        let held = files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|target| target.starts_with(folder));
        if held {
            found.push(pid);
        }
    }
    found
}

fn nothing_is_left(temp: &Path) {
    assert_eq!(holders(temp), Vec::<String>::new());
    let left: Vec<_> = fs::read_dir(temp.join("files")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_panic_is_quoted_from_the_console() {
    let Some(kernel) = uml() else { return };
    let temp = tempfile::tempdir().unwrap();
    // It ends at once, which a kernel's first process must not.
    let error = run(&machine(&kernel, temp.path(), "/bin/true", &[])).unwrap_err();
    assert!(matches!(error, Error::Died { .. }), "{error:?}");
    let said = error.to_string();
    assert!(
        said.contains("Kernel panic - not syncing: Attempted to kill init")
            && said.contains("guests/console")
            && !said.contains('\n'),
        "{said}"
    );
    let console = fs::read_to_string(temp.path().join("guests/console")).unwrap();
    assert!(console.contains("Kernel panic"), "{console}");
    nothing_is_left(temp.path());
}

#[test]
fn a_guest_that_says_nothing_is_ended_at_its_time() {
    let Some(kernel) = uml() else { return };
    let temp = tempfile::tempdir().unwrap();
    let mut machine = machine(&kernel, temp.path(), "/bin/sleep", &["1000"]);
    machine.limits.first_line = Duration::from_secs(4);
    let begun = Instant::now();
    let error = run(&machine).unwrap_err();
    assert!(error.never_began(), "{error:?}");
    assert!(
        error
            .to_string()
            .starts_with("the guest said nothing for 4 s"),
        "{error}"
    );
    assert!(begun.elapsed() < Duration::from_secs(20));
    nothing_is_left(temp.path());
}

#[test]
fn the_limit_of_the_whole_holds_and_a_stop_is_heard_at_once() {
    let Some(kernel) = uml() else { return };
    let temp = tempfile::tempdir().unwrap();
    let mut machine = machine(&kernel, temp.path(), "/bin/sleep", &["1000"]);
    machine.limits.whole = Duration::from_secs(2);
    let error = run(&machine).unwrap_err();
    assert!(
        matches!(error, Error::TimeLimit { seconds: 2, .. }),
        "{error:?}"
    );
    nothing_is_left(temp.path());

    machine.limits = Limits::default();
    let (begun, stop) = (Instant::now(), AtomicBool::new(false));
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(1));
            stop.store(true, Ordering::Relaxed);
        });
        machine
            .run(&mut |_| true, &|| stop.load(Ordering::Relaxed))
            .unwrap_err()
    });
    assert!(matches!(error, Error::Cancelled), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(5));
    nothing_is_left(temp.path());
}

#[test]
fn what_cannot_be_started_says_so() {
    let temp = tempfile::tempdir().unwrap();
    let nowhere = Path::new("/no/such/kernel");
    let machine = Machine {
        engine: Engine::Uml,
        kernel: nowhere.into(),
        initramfs: tempfile::tempfile().unwrap(),
        memory: 256 << 20,
        cpus: 1,
        disks: Vec::new(),
        append: Vec::new(),
        limits: Limits::default(),
        console: temp.path().join("console"),
        files: temp.path().join("files"),
    };
    let said = run(&machine).unwrap_err().to_string();
    assert!(said.contains("/no/such/kernel"), "{said}");

    let many = Machine {
        disks: (0..17)
            .map(|number| Disk {
                file: File::open("/dev/null").unwrap(),
                serial: format!("disk{number}"),
            })
            .collect(),
        ..machine
    };
    let said = run(&many).unwrap_err().to_string();
    assert_eq!(
        said,
        "17 disks, and User-mode Linux takes 16: use fewer members, or slices of one disk"
    );
}
