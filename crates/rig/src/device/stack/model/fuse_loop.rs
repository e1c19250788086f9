//! A modelled disk by FUSE: a loop device on a file that the server serves.
//!
//! The file is mounted for a moment only, until the loop device has it open; the loop device detaches itself at its last close.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd as _;
use std::sync::Arc;

use rustix::mount::{UnmountFlags, unmount};

use super::server::Server;
use super::{Bound, Model, SECTOR, Store, step_of};
use crate::device::free_loop;
use crate::device::stack::Part;
use crate::host::{self, Host, Loop};
use crate::mounted::MOUNT_FOLDER;
use crate::syscall::block;
use crate::undo::{Journal, Step, actions};
use crate::{Error, Result};

/// Starts a server and binds a loop device to its file. The device is open, which keeps it.
pub(super) fn bind(
    model: &Model,
    size: u64,
    file: &str,
    store: &Store,
    journal: &Arc<Journal>,
    parts: &mut Vec<Part>,
) -> Result<(Bound, File)> {
    let folder = journal.run().join(MOUNT_FOLDER).join(file);
    let point = journal.will_make(Step::MountPoint {
        path: folder.clone(),
    })?;
    host::make_folder(&folder)?;
    let front = [
        OsStr::new("--fuse"),
        folder.as_os_str(),
        OsStr::new("--file-name"),
        OsStr::new(file),
    ];
    let bound = Server::start(model, size, store, &front).and_then(|mut server| {
        server.ready()?;
        let served = folder.join(file);
        let opened = OpenOptions::new().read(true).write(true).open(&served);
        let opened =
            opened.map_err(|error| Error::io(&served, "cannot open the served file", error))?;
        let flags = block::LOOP_DIRECT_IO | block::LOOP_AUTOCLEAR;
        let taken = free_loop::take(journal, &|node| step_of(node, file), &|device| {
            let name = file.as_bytes();
            block::loop_configure(device.as_fd(), opened.as_fd(), SECTOR, flags, name)
        })?;
        Ok((taken, server))
    });
    // The loop device has the file open; from now on nothing leads to it by a path.
    let detached = unmount(&folder, UnmountFlags::DETACH);
    actions::remove_mount_point_of(journal.dir(), &folder)?;
    journal.note_undone(point);
    let (taken, server) = bound?;
    parts.push(Part {
        number: taken.step,
        step: step_of(&taken.node, file),
    });
    detached.map_err(|error| Error::io(&folder, "cannot detach the served file", error))?;
    let bound = Bound {
        name: taken.name,
        server,
    };
    Ok((bound, taken.device))
}

/// Whether the kernel shows the served file, and serves it without a second copy in the page cache; if not, what it shows.
pub(super) fn verify(host: &Host, name: &str, file: &str) -> std::result::Result<(), String> {
    let attribute = |item: &str| {
        let path = format!("sys/block/{name}/loop/{item}");
        host.text(path).unwrap_or_default()
    };
    let (shown, direct) = (attribute("backing_file"), attribute("dio"));
    if is_file(&shown, file) && direct == "1" {
        return Ok(());
    }
    Err(format!("it shows file {shown:?}, direct I/O {direct:?}"))
}

/// Whether the kernel's path of a file that is reached by no path any more is that of this name.
fn is_file(shown: &str, name: &str) -> bool {
    shown.strip_prefix('/') == Some(name)
}

/// Whether a loop device serves this file.
pub(super) fn is_own(host: &Host, device: &str, file: &str) -> bool {
    let is_it = |lo: &Loop| lo.name == device && is_file(&lo.backing.display().to_string(), file);
    host.loops().iter().any(is_it)
}

/// Whether the kernel serves files from user space.
pub(super) fn is_available(host: &Host) -> bool {
    fs::metadata(host.path("dev/fuse")).is_ok() && host.names("sys/fs").contains(&"fuse".into())
}

/// The node of a loop device that is a file's.
#[cfg(test)]
pub(super) fn show(root: &std::path::Path, device: &str, file: &str) {
    let folder = root.join("sys/block").join(device).join("loop");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("backing_file"), format!("/{file}\n")).unwrap();
}
