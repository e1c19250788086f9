//! Guests of end-to-end tests.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{fslab, wait_until};

/// One workload of ext4 that takes a second or two in a guest.
pub(crate) const SMALL: [&str; 9] = [
    "journal",
    "--profile",
    "quick",
    "--filter",
    "filesystem=ext4",
    "--filter",
    "workload=compilebench",
    "--set",
    "device.size=256m",
];

/// A run of one such trial.
pub(crate) fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run"], &SMALL[..], &["--blocks", "1"], more].concat()
}

/// Whether guests of this kind can run here. Only what is not installed is a reason to skip, and
/// not where FSLAB_NEED_GUESTS says that everything is.
pub(crate) fn can(executor: &str) -> bool {
    let qemu = guest::machine::Engine::Qemu(guest::machine::Accelerator::Tcg);
    let installed = match executor {
        "uml" => guest::machine::installed_uml().map(drop),
        _ => qemu.present(),
    };
    let missing = match installed {
        Ok(()) if executor == "uml" || kernel_for_qemu() => return true,
        Ok(()) => "no kernel for qemu in the cache; fslab kernel fetch 6.1-cloud".to_owned(),
        Err(missing @ guest::machine::Error::MissingProgram { .. }) => missing.to_string(),
        Err(error) => panic!("{error}"),
    };
    assert!(std::env::var_os("FSLAB_NEED_GUESTS").is_none(), "{missing}");
    testkit::skip!("{missing}");
    false
}

fn kernel_for_qemu() -> bool {
    let cache = guest::kernel::Cache::open(None).unwrap();
    let kernels = cache.kernels().unwrap();
    kernels
        .iter()
        .any(|kernel| kernel.form == guest::kernel::Form::Vmlinux)
}

/// Processes that hold a file below `folder` open.
pub(crate) fn holders(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let pid = process.file_name().to_string_lossy().into_owned();
        let Ok(files) = fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        let mut held = files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok());
        if held.any(|target| target.starts_with(folder)) {
            found.push(pid);
        }
    }
    found
}

/// No process, mount or loop device of this folder, and in the run nothing but what a run has.
pub(crate) fn nothing_is_left(folder: &Path) {
    let begun = Instant::now();
    while !holders(folder).is_empty() {
        let alive = holders(folder);
        assert!(begun.elapsed() < Duration::from_secs(20), "{alive:?} live");
        sleep(Duration::from_millis(20));
    }
    let here = folder.to_string_lossy().into_owned();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&here), "{mounts}");
    for disk in fs::read_dir("/sys/block").unwrap().flatten() {
        let file = disk.path().join("loop/backing_file");
        let file = fs::read_to_string(file).unwrap_or_default();
        assert!(
            !file.starts_with(&here),
            "{} has {file}",
            disk.path().display()
        );
    }
    let run = folder.join("run");
    if !run.exists() {
        return;
    }
    let known = [
        "events.jsonl",
        "guests",
        "images",
        "index.sqlite",
        "lock",
        "mnt",
        "promises",
        "report.html",
        "report.txt",
        "telemetry",
    ];
    let names = |dir: &Path| -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.collect()
    };
    let strange: Vec<String> = names(&run)
        .into_iter()
        .filter(|name| !known.contains(&name.as_str()))
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
    assert_eq!(names(&run.join("images")), Vec::<String>::new());
    for name in names(&run.join("guests")) {
        assert!(name.ends_with(".console"), "{name}");
    }
}

/// Starts a run in UML and waits until its trial's guest is up.
pub(crate) fn begun(dir: &Path) -> Child {
    let mut child = fslab()
        .current_dir(dir)
        .args(with(&["--executor", "uml", "--out", "run"]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let console = dir.join("run/guests/trial-0001.console");
    wait_until("a guest", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        console.is_file()
    });
    // UML has made its processes.
    sleep(Duration::from_millis(700));
    child
}
