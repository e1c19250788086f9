//! What the root tests share.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // each test program uses its part

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rig::{Request, Rig, Target};

pub const MIB: u64 = 1 << 20;

/// A rig on loop images in the run's folder.
pub fn open(run: &Path) -> Rig {
    let folder = run.to_path_buf();
    Rig::open(Target::LoopImages { folder }, run).unwrap()
}

/// A filesystem of `kind` on an image of `image_size` bytes. The kernel begins lazy initialisation up to
/// 5 s late, which the tests do not wait for.
pub fn request(kind: &str, image_size: u64) -> Request {
    let mkfs = match kind {
        "ext4" => &["-E", "lazy_itable_init=0"][..],
        _ => &[],
    };
    Request {
        image_size,
        kind: kind.into(),
        mkfs: mkfs.iter().map(ToString::to_string).collect(),
        ..Request::default()
    }
}

/// Root, and alone in this program; says so when it is not root.
pub fn root() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if rig::host::is_root() {
        return Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner));
    }
    testkit::skip!("needs root");
    None
}

/// Whether the kernel still knows anything of a run: a loop device on an image of it, or a mount.
pub fn traces(run: &Path) -> Vec<String> {
    let run = run.canonicalize().unwrap();
    let loops = rig::host::Host::default().loops().into_iter();
    let mut found: Vec<String> = loops
        .filter(|lo| lo.backing.starts_with(&run))
        .map(|lo| format!("{} on {}", lo.name, lo.backing.display()))
        .collect();
    let mounts = probe::mountinfo::own().unwrap().into_iter();
    found.extend(
        mounts
            .filter(|mount| mount.point.starts_with(&run))
            .map(|mount| format!("mount {}", mount.point.display())),
    );
    found
}

/// The example `prepare`, which cargo builds beside this test, with a trial of `kind`.
pub fn start(run: &Path, kind: &str, bounds: &[&str]) -> Child {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap();
    // The tests do not wait for the kernel's lazy initialisation.
    let quick = if kind.starts_with("ext") {
        vec!["-E", "lazy_itable_init=0"]
    } else {
        Vec::new()
    };
    Command::new(built.join("examples/prepare"))
        .arg(run)
        .arg(kind)
        .args(bounds)
        .args(quick)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("cargo test -p rig builds the example; with --test alone it does not")
}

/// Waits until the trial of [`start`] is ready, and returns where its filesystem is mounted.
pub fn wait_until_prepared(child: &mut Child) -> PathBuf {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let point = line.trim_end().strip_prefix("prepared ");
    PathBuf::from(point.unwrap_or_else(|| panic!("{line:?}")))
}

pub fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Where a controller's tree of version 1 is mounted; says so when it is not.
pub fn v1(controller: &str) -> Option<PathBuf> {
    let mounts = probe::mountinfo::own().unwrap().into_iter();
    let found = { mounts }.find(|mount| {
        mount.kind == "cgroup" && mount.super_options.iter().any(|o| o == controller)
    });
    if found.is_none() {
        testkit::skip!("needs the {controller} controller of cgroup version 1");
    }
    found.map(|mount| mount.point)
}

/// Lines of the root group's throttle files about a device.
pub fn throttles(blkio: &Path, node: &Path) -> Vec<String> {
    let rdev = fs::metadata(node).unwrap().rdev();
    let number = format!("{}:{} ", rustix::fs::major(rdev), rustix::fs::minor(rdev));
    let mut found = Vec::new();
    for item in ["read_bps", "write_bps", "read_iops", "write_iops"] {
        let file = blkio.join(format!("blkio.throttle.{item}_device"));
        for line in fs::read_to_string(file).unwrap().lines() {
            if let Some(rate) = line.strip_prefix(&number) {
                found.push(format!("{item} {rate}"));
            }
        }
    }
    found
}

/// Files and folders below a folder, relative, sorted.
pub fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            found.push(path.strip_prefix(folder).unwrap().display().to_string());
            if path.is_dir() {
                todo.push(path);
            }
        }
    }
    found.sort();
    found
}
