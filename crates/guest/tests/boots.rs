//! Guests that boot and do a job: this test binary is their init, as fslab's is. So it has no test harness,
//! whose `main` would stand in the way.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guest::init::{self, Voice};
use guest::initramfs::{Job, Store};
use guest::kernel::{Cache, Form};
use guest::machine::{self, Accelerator, Disk, Engine, Error, Limits, Machine};
use serde_json::{Value, json};

fn main() {
    let guest = init::asked().then(|| init::run(|job, voice| work(&job, voice)));
    assert!(guest.is_none(), "a guest ends by itself");
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let tests: [(&str, fn()); 3] = [
        ("uml_does_a_job", uml_does_a_job),
        ("uml_ends_before_its_job", uml_ends_before_its_job),
        ("qemu_does_a_job", qemu_does_a_job),
    ];
    for (name, test) in tests {
        if wanted.as_deref().is_none_or(|word| name.contains(word)) {
            test();
            println!("test {name} ... ok");
        }
    }
}

/// What a guest does: says what it sees, sends a file, and ends as it is told.
fn work(job: &Value, voice: &Voice) -> i32 {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let disk = fs::read_dir("/sys/block").unwrap().flatten().find(|disk| {
        let serial = fs::read_to_string(disk.path().join("serial")).unwrap_or_default();
        serial.trim() == "disk0"
    });
    let disk = disk.unwrap().file_name().to_string_lossy().into_owned();
    let seen = json!({
        "told": job["tell"],
        "proc": mounts.contains(" /proc proc "),
        "sectors": fs::read_to_string(format!("/sys/block/{disk}/size")).unwrap().trim(),
        "null": fs::read("/dev/null").unwrap().len(),
        "stdin": fs::read_link("/dev/stdin").is_ok(),
    });
    voice.say(seen).unwrap();
    assert!(job["die"] != true, "as it was told");
    fs::create_dir_all("/run/out/deep").unwrap();
    // Longer than any buffer on the way.
    fs::write("/run/out/deep/file", vec![0x5a; 3 << 20]).unwrap();
    voice.send_below(Path::new("/run/out"), &|_| false).unwrap();
    // More than one heartbeat.
    std::thread::sleep(Duration::from_millis(1200));
    7
}

fn machine(
    engine: Engine,
    kernel: PathBuf,
    parts: &[&guest::initramfs::Part],
    job: &Value,
) -> (Machine, tempfile::TempDir) {
    let temp = tempfile::tempdir().unwrap();
    let init = std::env::current_exe().unwrap();
    let job = Job::new(&init).file(Path::new(init::JOB), 0o600, job.to_string().into());
    let disk = tempfile::tempfile().unwrap();
    disk.set_len(96 << 20).unwrap();
    let machine = Machine {
        engine,
        kernel,
        initramfs: machine::initramfs(parts, &job).unwrap(),
        memory: 512 << 20,
        cpus: 2,
        disks: vec![Disk {
            file: disk,
            serial: "disk0".into(),
        }],
        append: Vec::new(),
        limits: Limits::default(),
        console: temp.path().join("console"),
        files: temp.path().join("files"),
    };
    (machine, temp)
}

fn does_a_job(machine: &Machine, temp: &Path) {
    let mut said = Vec::new();
    let mut hear = |value| {
        said.push(value);
        true
    };
    let ended = machine.run(&mut hear, &|| false);
    let ended = ended.unwrap_or_else(|error| {
        panic!(
            "{error}: {}",
            fs::read_to_string(temp.join("console")).unwrap()
        )
    });
    assert_eq!(ended.code, 7);
    assert!(!ended.release.is_empty());
    let expected = json!({
        "told": "ä\n\u{1b}", "proc": true, "sectors": "196608", "null": 0, "stdin": true,
    });
    assert_eq!(said, [expected]);
    let file = fs::read(temp.join("files/deep/file")).unwrap();
    assert!(file.len() == 3 << 20 && file.iter().all(|&byte| byte == 0x5a));
    let left: Vec<_> = fs::read_dir(temp.join("files")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    println!(
        "  {}: first line after {:.2} s, gone after {:.2} s",
        ended.release, ended.boot_seconds, ended.seconds
    );
}

fn uml() -> Option<PathBuf> {
    let found = machine::installed_uml();
    if let Err(missing) = &found {
        println!("skipped: {missing}");
    }
    found.ok()
}

fn uml_does_a_job() {
    let Some(kernel) = uml() else { return };
    let cache = tempfile::tempdir().unwrap();
    let store = Store::open(&Cache::open(Some(cache.path())).unwrap()).unwrap();
    let tools = store.tools(&[]).unwrap();
    let (machine, temp) = machine(
        Engine::Uml,
        kernel,
        &[&tools],
        &json!({"tell": "ä\n\u{1b}"}),
    );
    does_a_job(&machine, temp.path());
}

fn uml_ends_before_its_job() {
    let Some(kernel) = uml() else { return };
    let cache = tempfile::tempdir().unwrap();
    let store = Store::open(&Cache::open(Some(cache.path())).unwrap()).unwrap();
    let tools = store.tools(&[]).unwrap();
    let (machine, _temp) = machine(Engine::Uml, kernel, &[&tools], &json!({"die": true}));
    let error = machine.run(&mut |_| true, &|| false).unwrap_err();
    assert!(matches!(error, Error::Died { .. }), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("Attempted to kill init"), "{said}");
}

fn qemu_does_a_job() {
    let engine = Engine::Qemu(Accelerator::Tcg);
    if let Err(missing) = engine.present() {
        println!("skipped: {missing}");
        return;
    }
    let cache = Cache::open(None).unwrap();
    let kernels = cache.kernels().unwrap();
    let Some(kernel) = kernels.iter().find(|kernel| kernel.form == Form::Vmlinux) else {
        println!(
            "skipped: no kernel in {}; fslab kernel fetch 6.1-cloud",
            cache.root().display()
        );
        return;
    };
    let store = Store::open(&cache).unwrap();
    let modules = kernel
        .modules_for(&["virtio_pci", "virtio_blk", "virtio_console"])
        .unwrap();
    let names: Vec<&str> = modules.iter().map(String::as_str).collect();
    let parts = [
        store.tools(&[]).unwrap(),
        store.modules(kernel, &names).unwrap(),
    ];
    let parts: Vec<_> = parts.iter().collect();
    let job = json!({"tell": "ä\n\u{1b}"});
    let (machine, temp) = machine(engine, kernel.image.clone(), &parts, &job);
    does_a_job(&machine, temp.path());
}
