//! Machines that fail, for real: User-mode Linux with an init that panics, hangs or is stopped.
//! What a guest does that works is tested where there is a job: in fslab.

use crate::common;
use progress::{Silent, Until};

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use guest::initramfs::{Job, Store};
use guest::kernel::Cache;
use guest::machine::{self, Accelerator, Disk, Engine, Error, GuestExit, Limits, Machine};

/// A machine whose init is a program of the host; words that the kernel does not know are its arguments.
fn machine(uml: &common::Uml, temp: &Path, init: &str, append: &[&str]) -> Machine {
    let cache = Cache::open(Some(temp)).unwrap();
    let store = Store::open(&cache).unwrap();
    let (tools, init) = (
        store.tools(&[]).unwrap(),
        store.init(Path::new(init)).unwrap(),
    );
    let disk = tempfile::tempfile().unwrap();
    disk.set_len(64 << 20).unwrap();
    Machine {
        engine: Engine::Uml,
        kernel: uml.kernel.image.clone(),
        libraries: uml.kernel.libraries.clone(),
        initramfs: machine::initramfs(&[&tools, &init], &Job::default()).unwrap(),
        memory: 256 << 20,
        cpus: 1,
        persistent: None,
        disks: vec![Disk {
            file: disk,
            serial: "disk0".into(),
            log: None,
        }],
        append: (uml.append.iter().map(String::as_str))
            .chain(append.iter().copied())
            .map(str::to_owned)
            .collect(),
        limits: Limits::default(),
        console: temp.join("guests/console"),
        files: temp.join("files"),
    }
}

fn run(machine: &Machine) -> Result<GuestExit, Error> {
    machine.run(&mut |_| true, &Silent)
}

fn nothing_is_left(temp: &Path) {
    assert_eq!(common::holders(temp), Vec::<String>::new());
    assert!(!temp.join("files").exists());
    let left: Vec<_> = fs::read_dir(temp.join("guests")).unwrap().collect();
    assert_eq!(left.len(), 1, "more than the console: {left:?}");
}

#[test]
fn a_panic_is_quoted_from_the_console_needs_uml() {
    let Some(uml) = common::uml() else { return };
    let temp = tempfile::tempdir().unwrap();
    // It ends at once, which a kernel's first process must not.
    let error = run(&machine(&uml, temp.path(), "/bin/true", &[])).unwrap_err();
    assert!(matches!(error, Error::Died { .. }), "{error:?}");
    let printed = error.to_string();
    assert!(
        printed.contains("Kernel panic - not syncing: Attempted to kill init")
            && printed.contains("guests/console")
            && !printed.contains('\n'),
        "{printed}"
    );
    let console = fs::read_to_string(temp.path().join("guests/console")).unwrap();
    assert!(console.contains("Kernel panic"), "{console}");
    nothing_is_left(temp.path());
}

#[test]
fn a_guest_that_says_nothing_is_ended_at_its_time_needs_uml() {
    let Some(uml) = common::uml() else { return };
    let temp = tempfile::tempdir().unwrap();
    let mut machine = machine(&uml, temp.path(), "/bin/sleep", &["1000"]);
    machine.limits.first_line = Duration::from_secs(4);
    let error = run(&machine).unwrap_err();
    assert!(error.never_began(), "{error:?}");
    assert!(
        error
            .to_string()
            .starts_with("the guest sent nothing for 4 s"),
        "{error}"
    );
    nothing_is_left(temp.path());
}

#[test]
fn the_limit_of_the_whole_holds_and_a_stop_is_heard_at_once_needs_uml() {
    let Some(uml) = common::uml() else { return };
    let temp = tempfile::tempdir().unwrap();
    let mut machine = machine(&uml, temp.path(), "/bin/sleep", &["1000"]);
    machine.limits.whole = Duration::from_secs(2);
    let error = run(&machine).unwrap_err();
    assert!(
        matches!(error, Error::TimeLimit { waited, .. } if waited.own == machine.limits.whole),
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
            .run(
                &mut |_| true,
                &Until::silent(|| stop.load(Ordering::Relaxed)),
            )
            .unwrap_err()
    });
    // Nothing else ends this machine: it has no limits.
    assert!(matches!(error, Error::Cancelled), "{error:?}");
    assert!(begun.elapsed() >= Duration::from_secs(1));
    nothing_is_left(temp.path());
}

#[test]
fn what_cannot_be_started_says_so() {
    let temp = tempfile::tempdir().unwrap();
    let nowhere = Path::new("/no/such/kernel");
    let machine = Machine {
        engine: Engine::Uml,
        kernel: nowhere.into(),
        libraries: None,
        initramfs: tempfile::tempfile().unwrap(),
        memory: 256 << 20,
        cpus: 1,
        persistent: None,
        disks: Vec::new(),
        append: Vec::new(),
        limits: Limits::default(),
        console: temp.path().join("console"),
        files: temp.path().join("files"),
    };
    let error = run(&machine).unwrap_err();
    assert!(error.never_began(), "{error:?}");
    assert!(error.to_string().contains("/no/such/kernel"), "{error}");

    let many = Machine {
        disks: (0..17)
            .map(|number| Disk {
                file: File::open("/dev/null").unwrap(),
                serial: format!("disk{number}"),
                log: None,
            })
            .collect(),
        ..machine
    };
    let printed = run(&many).unwrap_err().to_string();
    assert_eq!(
        printed,
        "17 disks, and User-mode Linux takes 16: use fewer members, or slices of one disk"
    );
}

/// A QEMU that refuses at once, as it does where KVM opens and then does not work: no word of init was
/// heard, so another accelerator may be tried.
#[test]
fn a_qemu_that_refuses_at_once_never_began() {
    use std::os::unix::fs::PermissionsExt as _;
    const HERE: &str = "FSLAB_TEST_QEMU";
    let temp = tempfile::tempdir().unwrap();
    if std::env::var_os(HERE).is_none() {
        let qemu = temp.path().join("qemu-system-x86_64");
        let script = "#!/bin/sh\necho 'failed to initialize kvm: No such device' >&2\nexit 1\n";
        fs::write(&qemu, script).unwrap();
        fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
        // PATH is the process's: this test again, with one of its own.
        let me = std::env::current_exe().unwrap();
        let status = std::process::Command::new(me)
            .args([
                "machines::a_qemu_that_refuses_at_once_never_began",
                "--exact",
            ])
            .env("PATH", format!("{}:/usr/bin:/bin", temp.path().display()))
            .env(HERE, "1")
            .output()
            .unwrap();
        assert!(status.status.success(), "{status:?}");
        return;
    }
    let machine = Machine {
        engine: Engine::Qemu(Accelerator::Kvm),
        kernel: "/boot/vmlinux".into(),
        libraries: None,
        initramfs: tempfile::tempfile().unwrap(),
        memory: 256 << 20,
        cpus: 1,
        persistent: None,
        disks: Vec::new(),
        append: Vec::new(),
        limits: Limits::default(),
        console: temp.path().join("console"),
        files: temp.path().join("files"),
    };
    let error = run(&machine).unwrap_err();
    assert!(error.never_began(), "{error:?}");
    let printed = error.to_string();
    assert!(
        printed.contains("exit status: 1") && printed.contains("failed to initialize kvm"),
        "{printed}"
    );
}
