//! Guests of end-to-end tests.

use std::fs;
use std::path::{Path, PathBuf};
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

/// Whether guests of this kind can run here, by `fslab kernel probe`. A test is skipped where none does, and fails
/// where FSLAB_NEED_GUESTS says that some do.
pub(crate) fn can(executor: &str) -> bool {
    let probe = fslab()
        .args(["kernel", "probe", executor])
        .output()
        .unwrap();
    if probe.status.success() {
        return true;
    }
    let why = format!(
        "{}{}",
        String::from_utf8_lossy(&probe.stdout),
        String::from_utf8_lossy(&probe.stderr)
    );
    assert!(std::env::var_os("FSLAB_NEED_GUESTS").is_none(), "{why}");
    testkit::skip!("{}", why.trim().replace('\n', "; "));
    false
}

/// A User-mode Linux that runs on this machine.
pub(crate) struct Uml {
    pub(crate) image: PathBuf,
    /// The folder of its own libraries, `lib` beside the image.
    pub(crate) libraries: Option<PathBuf>,
    /// Arguments that its command line needs on this machine.
    pub(crate) append: Vec<String>,
}

impl Uml {
    /// The one that runs would use, where [`can`] has found one.
    pub(crate) fn of_this_machine() -> Uml {
        let probe = fslab()
            .args(["kernel", "probe", "uml", "--format", "json"])
            .output()
            .unwrap();
        let answers: serde_json::Value = serde_json::from_slice(&probe.stdout).unwrap();
        let works = |answer: &&serde_json::Value| answer["outcome"] == "works";
        let answer = answers["probes"].as_array().unwrap().iter().find(works);
        let answer = answer.unwrap();
        let cache = guest::kernel::Cache::open(None).unwrap();
        let kernel = cache.kernel(answer["kernel"].as_str().unwrap()).unwrap();
        Uml {
            image: kernel.image,
            libraries: kernel.libraries,
            append: serde_json::from_value(answer["append"].clone()).unwrap(),
        }
    }

    /// Copies the image, and its libraries beside it.
    pub(crate) fn copy_to(&self, image: &Path) {
        fs::copy(&self.image, image).unwrap();
        let Some(libraries) = &self.libraries else {
            return;
        };
        let to = image.with_file_name("lib");
        fs::create_dir_all(&to).unwrap();
        for library in fs::read_dir(libraries).unwrap().flatten() {
            fs::copy(library.path(), to.join(library.file_name())).unwrap();
        }
    }
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

/// Asserts that there is no process, mount or loop device of this folder.
pub(crate) fn nothing_is_held(folder: &Path) {
    let begun = Instant::now();
    while !holders(folder).is_empty() {
        let alive = holders(folder);
        assert!(begun.elapsed() < testkit::HANGS, "{alive:?} live");
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
}

/// Asserts that nothing is held, and that the run has only its usual files.
pub(crate) fn nothing_is_left(folder: &Path) {
    nothing_is_held(folder);
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
