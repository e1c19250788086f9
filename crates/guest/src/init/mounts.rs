//! The filesystems that programs expect to find mounted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

/// Type, where, whether a guest cannot do without it. cgroup v2 alone: limits of a guest
/// have one hierarchy.
const MOUNTS: [(&str, &str, bool); 9] = [
    ("proc", "/proc", true),
    ("sysfs", "/sys", true),
    ("devtmpfs", "/dev", true),
    // A checker on a terminal flushes each line.
    ("devpts", "/dev/pts", false),
    ("tmpfs", "/run", true),
    ("tmpfs", "/tmp", true),
    ("tracefs", "/sys/kernel/tracing", false),
    ("debugfs", "/sys/kernel/debug", false),
    ("cgroup2", "/sys/fs/cgroup", false),
];

/// What trials may be held to in groups of their own: rates and memory.
const CONTROLLERS: [&str; 2] = ["io", "memory"];
const HANDED_DOWN: &str = "/sys/fs/cgroup/cgroup.subtree_control";

/// Of filesystems that a module may bring.
const OF_MODULES: [(&str, &str); 1] = [("configfs", "/sys/kernel/config")];

/// Links that udev makes elsewhere.
const LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];

/// Mounts what is there only after modules are loaded; few need it.
pub(super) fn mount_of_modules() {
    for (kind, place) in OF_MODULES {
        if Path::new(place).is_dir() {
            // What needs it reports that it is missing.
            let _ = mount(kind, place, kind, MountFlags::empty(), None);
        }
    }
}

/// Mounts everything else and makes the links.
pub(super) fn mount_all() -> Result<(), String> {
    for (kind, place, needed) in MOUNTS {
        // In sysfs folders are the kernel's: what it lacks has no place.
        if !place.starts_with("/sys/") {
            fs::create_dir_all(place).map_err(|error| format!("{place}: {error}"))?;
        }
        match mount(kind, place, kind, MountFlags::empty(), None) {
            // devtmpfs may be there already.
            Ok(()) | Err(Errno::BUSY) => {}
            Err(error) if needed => return Err(format!("cannot mount {kind} on {place}: {error}")),
            // The reason is on the console; the guest can go on.
            Err(error) => eprintln!("init: no {kind} on {place}: {error}"),
        }
    }
    hand_down();
    for (target, link) in LINKS {
        let place = Path::new(link);
        if let Some(folder) = place.parent() {
            let _ = fs::create_dir_all(folder);
        }
        if fs::symlink_metadata(place).is_err() {
            symlink(target, place).map_err(|error| format!("{link}: {error}"))?;
        }
    }
    Ok(())
}

/// Has the root group give its controllers to groups below it. No systemd is here to do it, and without
/// it no group could hold a trial to a limit.
fn hand_down() {
    for controller in CONTROLLERS {
        // One by one: a kernel that lacks the one has the other.
        if let Err(error) = fs::write(HANDED_DOWN, format!("+{controller}")) {
            eprintln!("init: no limits of {controller}: {HANDED_DOWN}: {error}");
        }
    }
}
