//! The command line of User-mode Linux.
//!
//! UML is many processes, traced by one; a kill of that one alone leaves the others. So it is the
//! first process of a pid namespace (`unshare --pid --fork --kill-child`), with which all of them
//! end. Its `uml_dir`, where it keeps a pid file and a socket, is a folder made below the one for
//! files and removed with the machine, and named by its number, because a socket's path has 108
//! bytes at most; without one UML writes into the home folder, or panics where there is none.
//! Its memory is a file that it removes at once, in /dev/shm because that one is memory.
//!
//! Eight or more disks on a stripe hang in its disk driver (`mkfs.xfs` over md or dm, seen in 6.1, 6.12
//! and 7.2): members have to be slices of one disk there.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::process::{Program, by_number, need, words};
use super::{Error, MARK, Machine};

/// The program, as Debian calls it.
pub(super) const PROGRAM: &str = "linux.uml";
const PACKAGE: &str = "user-mode-linux";
/// What [`MARK`] says of the channel: UML's second console.
const CHANNEL: &str = "/dev/tty1";
/// ubda to ubdp.
const MOST_DISKS: usize = 16;

/// Whether what UML is started with is here.
pub(super) fn present() -> Result<(), Error> {
    need("unshare", "util-linux").map(|_| ())
}

/// UML as this machine has it installed.
pub(super) fn installed() -> Result<PathBuf, Error> {
    need(PROGRAM, PACKAGE)
}

/// The command, and the files that it is handed.
pub(super) fn program(
    machine: &Machine,
    channel: &UnixStream,
    folder: &File,
) -> Result<Program, Error> {
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
    if !rustix::process::geteuid().is_root() {
        line.extend(words(["--user", "--map-root-user"]));
    }
    line.extend(words(["--", "sh", "-c", SHIM]));
    line.push(machine.kernel.clone().into());
    line.extend(words([
        format!("mem={}M", machine.memory >> 20),
        format!("initrd={}", by_number(&machine.initramfs)),
        "rootfstype=ramfs".into(),
        "panic=-1".into(),
        "oops=panic".into(),
        "loglevel=4".into(),
        format!("uml_dir={}/", by_number(folder)),
        "umid=machine".into(),
        "con=null".into(),
        "con0=null,fd:1".into(),
        format!("con1=fd:{number},fd:{number}"),
        format!("{MARK}={CHANNEL}"),
    ]));
    for (letter, disk) in ('a'..).zip(&machine.disks) {
        let ubd = format!("ubd{letter}={},,{}", by_number(&disk.file), disk.serial);
        line.extend(words([ubd]));
    }
    line.extend(words(&machine.append));
    let mut passed = vec![machine.initramfs.as_raw_fd(), number, folder.as_raw_fd()];
    passed.extend(machine.disks.iter().map(|disk| disk.file.as_raw_fd()));
    Ok(Program {
        path: unshare,
        arguments: line,
        environment: vec![("TMPDIR", folder_for(machine.memory))],
        passed,
        pinned: true,
    })
}

/// The namespace's first process cannot abort (the kernel takes no such signal from itself), which is
/// how UML ends a panic: it would stand still for ever. So a shell is first, and waits for it.
const SHIM: &str = r#""$0" "$@"; exit $?"#;
/// Memory as a folder.
const SHM: &str = "/dev/shm";

/// Where UML's memory goes: a folder of memory that has room for it (a container's has 64 MiB), or a
/// disk's.
fn folder_for(memory: u64) -> &'static str {
    let room = rustix::fs::statvfs(SHM).map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    if room.is_ok_and(|room| room > memory) {
        SHM
    } else {
        "/tmp"
    }
}
