//! Failures of guests, end to end: a clear line, a documented exit code, and nothing left.

use crate::common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use common::guests::{begun, can, nothing_is_left, with};
use common::{assert_code, assert_ran, error_line, fslab, is_root, run_in};
use record::{FailureKind, Run, Status};

fn program(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A run that is refused: its one line. Nothing was made.
fn refused(temp: &Path, path: &str, args: &[&str]) -> String {
    let output = fslab()
        .current_dir(temp)
        .env("PATH", path)
        .env("FSLAB_CACHE", temp.join("cache/fslab"))
        .args(with(args))
        .args(["--out", "run"])
        .output()
        .unwrap();
    assert_code(&output, 2);
    assert!(!temp.join("run").exists());
    nothing_is_left(temp);
    error_line(&output)
}

#[test]
fn what_is_not_installed_is_named_with_its_package() {
    let temp = tempfile::tempdir().unwrap();
    let empty = temp.path().join("bin");
    fs::create_dir(&empty).unwrap();
    let path = empty.to_str().unwrap();
    let message = refused(temp.path(), path, &["--executor", "qemu"]);
    assert!(
        message.contains("qemu-system-x86_64 is not installed")
            && message.contains("apt-get install qemu-system-x86 seabios"),
        "{message}"
    );
    let message = refused(temp.path(), path, &["--executor", "uml"]);
    assert!(
        message.contains("is not installed") && message.contains("apt-get install "),
        "{message}"
    );
}

/// A kernel of the cache with what a virtual machine needs, and ext4 without its module.
#[test]
fn a_module_that_a_kernel_lacks_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(3 << 20, 0);
    elf.extend(b"Linux version 6.12.1-mine (me@here) #1\0");
    fs::write(temp.path().join("vmlinux"), elf).unwrap();
    let config = "CONFIG_PCI=y\nCONFIG_VIRTIO_PCI=y\nCONFIG_VIRTIO_BLK=y\nCONFIG_VIRTIO_CONSOLE=y\n\
                  CONFIG_EXT4_FS=m\nCONFIG_XFS_FS=y\nCONFIG_CGROUPS=y\nCONFIG_MEMCG=y\n";
    fs::write(temp.path().join("config"), config).unwrap();
    let cache = temp.path().join("cache/fslab");
    let cache = cache.to_str().unwrap();
    let added = run_in(
        temp.path(),
        &[
            "kernel", "add", "mine", "--kernel", "vmlinux", "--config", "config", "--cache", cache,
        ],
    );
    assert_code(&added, 0);
    // Whether QEMU is installed is not the question here.
    program(
        &temp.path().join("bin/qemu-system-x86_64"),
        "#!/bin/sh\nexit 1\n",
    );
    let path = format!("{}:/usr/bin:/bin", temp.path().join("bin").display());
    let args = ["--executor", "qemu", "--kernel", "mine"];
    let message = refused(temp.path(), &path, &args);
    assert!(
        message.contains("mine")
            && message.contains("ext4")
            && message.contains("fslab kernel list"),
        "{message}"
    );
}

/// A PATH on which UML is started by an `unshare` that, from the nth start on, changes what is run: `case` is
/// a piece of a shell's `case`, about each word `$a` of its command line.
fn path_that_changes(temp: &Path, from: u32, case: &str) -> String {
    let starts = temp.join("starts");
    let script = format!(
        r#"#!/bin/sh
n=$(cat {starts} 2>/dev/null || echo 0)
echo $((n + 1)) >{starts}
if [ "$n" -ge {from} ]; then
  previous=
  for a do
    shift
    case "$previous $a" in
      {case}
    esac
    previous=$a
    set -- "$@" "$a"
  done
fi
exec /usr/bin/unshare "$@"
"#,
        starts = starts.display()
    );
    program(&temp.join("bin/unshare"), &script);
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", temp.join("bin").display())
}

/// Without an initramfs the kernel finds no init, and panics.
const PANICS: &str = r#"*" initrd="*) continue ;;"#;
/// Its process is stopped for ever; the shell's last command continues in the background.
const HANGS: &str = r#""-c "*) a=${a%'"$@"; exit $?'}'"$@" & sleep 4; kill -STOP $!; wait' ;;"#;

fn run_with(temp: &Path, path: &str) -> Output {
    fslab()
        .current_dir(temp)
        .env("PATH", path)
        .env("FSLAB_GUEST_SILENCE", "10")
        .args(with(&["--executor", "uml", "--out", "run"]))
        .output()
        .unwrap()
}

/// The message of the only trial, which failed.
fn failed(temp: &Path, kind: FailureKind) -> String {
    let run = Run::load(&temp.join("run")).unwrap();
    match &run.trials[0].status {
        Status::Failed(found, message) if *found == kind => message.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_guest_that_panics_fails_its_trial_with_the_panic_needs_uml() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    // The first guest takes the context.
    let path = path_that_changes(temp.path(), 1, PANICS);
    let output = run_with(temp.path(), &path);
    assert_code(&output, 7);
    let message = failed(temp.path(), FailureKind::Trial);
    assert!(
        message.contains("Kernel panic - not syncing: ")
            && message.contains("guests/trial-0001.console")
            && !message.contains('\n'),
        "{message}"
    );
    let console = temp.path().join("run/guests/trial-0001.console");
    let console = fs::read_to_string(console).unwrap();
    assert!(console.contains("Kernel panic"), "{console}");
    nothing_is_left(temp.path());
}

#[test]
fn a_first_guest_that_panics_ends_the_run_needs_uml() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let path = path_that_changes(temp.path(), 0, PANICS);
    let output = run_with(temp.path(), &path);
    assert_code(&output, 1);
    let message = error_line(&output);
    assert!(
        message.contains("Kernel panic - not syncing: ")
            && message.contains("guests/context.console"),
        "{message}"
    );
    nothing_is_left(temp.path());
}

#[test]
fn a_guest_that_hangs_is_ended_needs_uml() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let path = path_that_changes(temp.path(), 1, HANGS);
    let output = run_with(temp.path(), &path);
    assert_code(&output, 7);
    let message = failed(temp.path(), FailureKind::Trial);
    // On a busy machine it stops before its first line.
    assert!(
        message.contains("the guest hangs: no heartbeat for 10 s")
            || message.contains("the guest sent nothing for 10 s"),
        "{message}"
    );
    nothing_is_left(temp.path());
}

/// A mount, unmounted on drop.
struct Full(PathBuf);

impl Full {
    /// A filesystem without an inode for a fourth file: a trial's console, the folder of what arrives and a folder
    /// in it are the first three, and have room, because a machine whose own output cannot be written ends before
    /// anything else. Bytes would not do: how long the file that arrives is depends on how fast its trial was.
    fn over(folder: &Path) -> Full {
        let status = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "nr_inodes=4", "fslab-test"])
            .arg(folder)
            .status();
        assert!(status.unwrap().success());
        Full(folder.to_owned())
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        // The guest's last process may still be ending with a file open there.
        for _ in 0..100 {
            let status = std::process::Command::new("umount").arg(&self.0).status();
            if status.is_ok_and(|status| status.success()) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}

#[test]
fn a_full_disk_is_named_and_the_run_goes_on_when_there_is_room_needs_uml_needs_root() {
    if !is_root() {
        return;
    }
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let mut child = begun(temp.path());
    child.kill().unwrap();
    child.wait().unwrap();
    // What the killed run had begun there would be hidden by the mount, and so not be swept.
    let guests = temp.path().join("run/guests");
    fs::remove_dir_all(&guests).unwrap();
    fs::create_dir(&guests).unwrap();
    let full = Full::over(&guests);
    let output = run_in(temp.path(), &["resume", "run"]);
    assert_code(&output, 6);
    let line = error_line(&output);
    assert!(
        line.contains("cannot be kept") && line.contains("go on with `fslab resume"),
        "{line}"
    );
    let message = failed(temp.path(), FailureKind::Interrupted);
    assert!(
        message.contains("telemetry/trial-0001.tele")
            && message.contains("No space left on device")
            && message.contains("free space, then `fslab resume`"),
        "{message}"
    );
    drop(full);
    nothing_is_left(temp.path());
    let output = run_in(temp.path(), &["resume", "run"]);
    assert_ran(&output);
    let run = Run::load(&temp.path().join("run")).unwrap();
    assert_eq!(run.trials[0].status, Status::Finished);
    nothing_is_left(temp.path());
}
