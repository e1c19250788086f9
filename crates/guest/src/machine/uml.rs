//! The command line of User-mode Linux.
//!
//! UML is many processes, traced by one; a kill of that one alone leaves the others. So it is the
//! first process of a pid namespace (`unshare --pid --fork --kill-child`), with which all of them
//! end. Its `uml_dir`, where it keeps a pid file and a socket, is a filesystem of memory that is mounted
//! nowhere (fsmount(2)) and ends with its last process: a folder of the host would remain after
//! kill -9. Without a `uml_dir` UML writes into the home folder, or panics where there is none. It is
//! named from within, as `./`, because a socket's path has 108 bytes at most.
//!
//! A mount namespace of its own would do as well, and is what a user who is not root gets. But such
//! a namespace is born with a copy of every mount, and a copy keeps a filesystem busy after its umount
//! for as long as the guest runs: another run on this machine would check a disk that is still mounted.
//! Its own memory is a file that it removes at once, in /dev/shm because that one is memory.
//!
//! Eight or more disks on a stripe hang in its disk driver (`mkfs.xfs` over md or dm, seen in 6.1, 6.12
//! and 7.2): members have to be slices of one disk there.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::process::{Cpus, Program, by_number, need, words};
use super::{Error, MARK, Machine};
use crate::initramfs;

/// The program, as Debian calls it.
pub(super) const PROGRAM: &str = "linux.uml";
const PACKAGE: &str = "user-mode-linux";
/// The value of [`MARK`]: UML's second console is the channel.
const CHANNEL: &str = "/dev/tty1";
/// ubda to ubdp.
const MOST_DISKS: usize = 16;

/// Whether what UML is started with is here.
pub(super) fn present() -> Result<(), Error> {
    need("unshare", "util-linux")?;
    need("mount", "mount").map(|_| ())
}

/// UML as this machine has it installed.
pub(super) fn installed() -> Result<PathBuf, Error> {
    need(PROGRAM, PACKAGE)
}

/// The command, and the files that it is handed.
pub(super) fn program(machine: &Machine, channel: &UnixStream) -> Result<Program, Error> {
    let asked = machine.disks.len();
    if asked > MOST_DISKS {
        return Err(Error::TooManyDisks {
            asked,
            machine: "User-mode Linux",
            most: MOST_DISKS,
        });
    }
    let unshare = need("unshare", "util-linux")?;
    let number = channel.as_raw_fd();
    let mut line = words(["--pid", "--fork", "--kill-child"]);
    let unmounted = memory().ok();
    if let Some(folder) = &unmounted {
        line.extend(words(["--", "sh", "-c", &shim(machine, ENTER)]));
        line.push(by_number(folder).into());
    } else {
        line.extend(words(["--mount"]));
        if !rustix::process::geteuid().is_root() {
            line.extend(words(["--user", "--map-root-user"]));
        }
        line.extend(words(["--", "sh", "-c", &shim(machine, COVER)]));
        // The console is open already: its folder's place may be taken.
        let covered = machine.console.parent().unwrap_or(Path::new("/"));
        line.push(absolute(covered)?.into());
    }
    if let Some(libraries) = &machine.libraries {
        line.push(absolute(libraries)?.into());
    }
    line.push(absolute(&machine.kernel)?.into());
    line.extend(words([
        format!("mem={}M", machine.memory >> 20),
        format!("initrd={}", by_number(&machine.initramfs)),
        "rootfstype=ramfs".into(),
        "panic=-1".into(),
        "oops=panic".into(),
        "loglevel=4".into(),
        "uml_dir=./".into(),
        "umid=machine".into(),
        "con=null".into(),
        "con0=null,fd:1".into(),
        format!("con1=fd:{number},fd:{number}"),
        format!("{MARK}={CHANNEL}"),
        format!("PATH={}", initramfs::PATH),
    ]));
    for (letter, disk) in ('a'..).zip(&machine.disks) {
        let ubd = format!("ubd{letter}={},,{}", by_number(&disk.file), disk.serial);
        line.extend(words([ubd]));
    }
    line.extend(words(&machine.append));
    let mut passed = vec![machine.initramfs.as_raw_fd(), number];
    passed.extend(machine.disks.iter().map(|disk| disk.file.as_raw_fd()));
    Ok(Program {
        path: unshare,
        arguments: line,
        environment: vec![("TMPDIR", folder_for(machine.memory))],
        passed,
        own: unmounted,
        // Its processes take turns, unless it has several CPUs.
        cpus: if machine.append.iter().any(|word| word.starts_with("ncpus=")) {
            Cpus::Any
        } else {
            Cpus::One
        },
    })
}

/// A filesystem of memory that is mounted nowhere. Linux 5.2 and root have it.
fn memory() -> rustix::io::Result<OwnedFd> {
    let made = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(made.as_fd())?;
    fsmount(
        made.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )
}

/// Enters the folder that is the first argument.
const ENTER: &str = r#"cd "$0" || exit"#;
/// The same, with memory mounted over the folder first.
const COVER: &str = r#"mount -t tmpfs fslab "$0" && cd "$0" || exit"#;
/// Runs the program that the other arguments name.
const RUN: &str = r#""$@"; exit $?"#;
/// The same, with libraries of its own: the folder that is the next argument. The program's interpreter is
/// `lib/ld-linux-x86-64.so.2`, relative to the working folder, and no other program may see the variable: the shell
/// and its tools are this machine's, with this machine's libraries.
const RUN_WITH_LIBRARIES: &str =
    r#"ln -s "$1" lib || exit; shift; LD_LIBRARY_PATH=lib "$@"; exit $?"#;

/// What the shell does that is the first process of the pid namespace. UML ends a panic by abort(3), and the first
/// process of a namespace cannot: the kernel ignores such a signal from the process itself. So a shell is first, and
/// waits for UML.
fn shim(machine: &Machine, enter: &str) -> String {
    let run = match machine.libraries {
        Some(_) => RUN_WITH_LIBRARIES,
        None => RUN,
    };
    format!("{enter}; {run}")
}

/// Memory as a folder.
const SHM: &str = "/dev/shm";

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|source| Error::Prepare {
        what: format!("cannot find {}", path.display()),
        source,
    })
}

/// The folder for UML's memory: one in memory with enough room (a container's has 64 MiB) and without noexec
/// (a container's may have it), or else /tmp.
fn folder_for(memory: u64) -> &'static str {
    let found = rustix::fs::statvfs(SHM);
    let serves = found.is_ok_and(|stat| {
        stat.f_bavail.saturating_mul(stat.f_frsize) > memory
            && !stat.f_flag.contains(StatVfsMountFlags::NOEXEC)
    });
    if serves { SHM } else { "/tmp" }
}
