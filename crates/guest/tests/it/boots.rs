//! Guests that boot and do a job. This test program is their init, as fslab itself is elsewhere.

use crate::common::{self, AS_INIT};
use progress::Silent;

use std::fs;
use std::path::Path;

use guest::init::{self, ChannelWriter};
use guest::initramfs::{Job, Part, Store};
use guest::kernel::{Cache, Form, Kernel};
use guest::machine::{self, Accelerator, Disk, Engine, Error, Limits, Machine};
use serde_json::{Value, json};

#[test]
#[ignore = "runs within a guest, as its init"]
fn the_guests_side() {
    assert!(init::asked(), "this is no guest");
    init::run(|job, channel| work(&job, channel));
}

/// What a guest does: says what it sees, sends a file, and ends as ordered.
fn work(job: &Value, channel: &ChannelWriter) -> i32 {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let disk = fs::read_dir("/sys/block").unwrap().flatten().find(|disk| {
        let serial = fs::read_to_string(disk.path().join("serial")).unwrap_or_default();
        serial.trim() == "disk0"
    });
    let disk = disk.unwrap().file_name().to_string_lossy().into_owned();
    let seen = json!({
        "received": job["tell"],
        "proc": mounts.contains(" /proc proc "),
        "sectors": fs::read_to_string(format!("/sys/block/{disk}/size")).unwrap().trim(),
        "stdin": std::io::read_to_string(std::io::stdin()).unwrap(),
        "path": std::env::var("PATH").unwrap(),
    });
    channel.send_document(seen).unwrap();
    assert!(job["die"] != true, "as ordered");
    fs::create_dir_all("/run/out/deep").unwrap();
    // Longer than any buffer on the way.
    fs::write("/run/out/deep/file", vec![0x5a; 3 << 20]).unwrap();
    channel
        .send_below(Path::new("/run/out"), &|_| false)
        .unwrap();
    // More than one heartbeat.
    std::thread::sleep(std::time::Duration::from_millis(1200));
    7
}

fn machine(
    engine: Engine,
    kernel: &Kernel,
    append: &[String],
    parts: &[Part],
    job: &Value,
) -> (Machine, tempfile::TempDir) {
    let temp = tempfile::tempdir().unwrap();
    let job = Job::default().file(Path::new(init::JOB), 0o600, job.to_string().into());
    let disk = tempfile::tempfile().unwrap();
    disk.set_len(96 << 20).unwrap();
    let parts: Vec<&Part> = parts.iter().collect();
    let machine = Machine {
        engine,
        kernel: kernel.image.clone(),
        libraries: kernel.libraries.clone(),
        initramfs: machine::initramfs(&parts, &job).unwrap(),
        memory: 512 << 20,
        cpus: 2,
        persistent: None,
        disks: vec![Disk {
            file: disk,
            serial: "disk0".into(),
            log: None,
        }],
        append: [append, &AS_INIT.map(str::to_owned)].concat(),
        limits: Limits::default(),
        console: temp.path().join("guests/console"),
        files: temp.path().join("files"),
    };
    (machine, temp)
}

fn does_a_job(machine: &Machine, temp: &Path) {
    let mut printed = Vec::new();
    let mut hear = |value| {
        printed.push(value);
        true
    };
    let ended = machine.run(&mut hear, &Silent);
    let ended = ended.unwrap_or_else(|error| {
        panic!(
            "{error}: {}",
            fs::read_to_string(temp.join("guests/console")).unwrap()
        )
    });
    assert_eq!(ended.code, 7);
    assert!(!ended.release.is_empty());
    let expected = json!({
        "received": "ä\n\u{1b}", "proc": true, "sectors": "196608", "stdin": "",
        "path": guest::initramfs::PATH,
    });
    assert_eq!(printed, [expected]);
    let file = fs::read(temp.join("files/deep/file")).unwrap();
    assert!(file.len() == 3 << 20 && file.iter().all(|&byte| byte == 0x5a));
    // What was asked for, and nothing else.
    let names = |folder: &str| -> Vec<String> {
        let entries = fs::read_dir(temp.join(folder)).unwrap().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    };
    assert_eq!(
        (names("files"), names("guests")),
        (vec!["deep".into()], vec!["console".into()])
    );
    println!(
        "  {}: first line after {:.2} s, gone after {:.2} s",
        ended.release, ended.boot_seconds, ended.seconds
    );
}

/// What a guest of this test starts from, without modules.
fn parts(store: &Store) -> Vec<Part> {
    let init = store.init(Path::new("/proc/self/exe")).unwrap();
    vec![store.tools(&[]).unwrap(), init]
}

/// User-mode Linux with a job, unless none runs here.
fn uml(job: &Value) -> Option<(Machine, tempfile::TempDir)> {
    let common::Uml { kernel, append } = common::uml()?;
    let cache = tempfile::tempdir().unwrap();
    let store = Store::open(&Cache::open(Some(cache.path())).unwrap()).unwrap();
    Some(machine(Engine::Uml, &kernel, &append, &parts(&store), job))
}

#[test]
fn a_job_is_done_needs_uml() {
    let Some((machine, temp)) = uml(&json!({"tell": "ä\n\u{1b}"})) else {
        return;
    };
    does_a_job(&machine, temp.path());
}

#[test]
fn an_end_before_the_job_is_quoted_needs_uml() {
    let Some((machine, _temp)) = uml(&json!({"die": true})) else {
        return;
    };
    let error = machine.run(&mut |_| true, &Silent).unwrap_err();
    assert!(
        matches!(error, Error::Died { began: true, .. }),
        "{error:?}"
    );
    let printed = error.to_string();
    assert!(
        printed.contains("panicked at") && printed.contains("as ordered"),
        "{printed}"
    );
}

#[test]
fn a_job_is_done_needs_qemu() {
    let engine = Engine::Qemu(Accelerator::Tcg);
    if common::unless_missing(engine.present()).is_none() {
        return;
    }
    let cache = Cache::open(None).unwrap();
    let kernels = cache.kernels().unwrap();
    let Some(kernel) = kernels.iter().find(|kernel| kernel.form == Form::Vmlinux) else {
        return common::no_kernel(cache.root());
    };
    let store = Store::open(&cache).unwrap();
    let modules = kernel
        .modules_for(&["virtio_pci", "virtio_blk", "virtio_console"])
        .unwrap();
    let names: Vec<&str> = modules.iter().map(String::as_str).collect();
    let mut parts = parts(&store);
    parts.push(store.modules(kernel, &names).unwrap());
    let job = json!({"tell": "ä\n\u{1b}"});
    let (machine, temp) = machine(engine, kernel, &[], &parts, &job);
    does_a_job(&machine, temp.path());
}
