//! A modelled disk by the kernel's driver for block devices in user space (ublk), where it is loaded.
//!
//! The server makes a device of a number that is chosen here, so that the journal names it before it is there. The driver keeps a mark
//! for its maker, which is that of the disk's name: by it `clean` knows whose the device of a number is. When the server dies the kernel
//! removes the disk, and the server's own node stays until the journal is undone.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ublk::{Control, Info, Mark};

use super::server::Server;
use super::{Bound, Model, Store, step_of};
use crate::device::stack::Part;
use crate::host::Host;
use crate::undo::Journal;
use crate::{Error, Result};

/// What the kernel's names of such disks begin with.
pub(crate) const PREFIX: &str = "ublkb";
/// Numbers that are tried when other processes take those that are free.
const RACES: u32 = 64;

/// The number of such a disk's name.
pub(super) fn number(device: &str) -> Option<u32> {
    device.strip_prefix(PREFIX)?.parse().ok()
}

/// Starts a server with a device of the first number that is free.
pub(super) fn bind(
    model: &Model,
    size: u64,
    file: &str,
    store: &Store,
    journal: &Arc<Journal>,
    parts: &mut Vec<Part>,
) -> Result<Bound> {
    let root = Host::default().path("");
    let mut from = 0;
    for _ in 0..RACES {
        let taken = ublk::devices(&root);
        let free = (from..=u32::MAX).find(|number| !taken.contains(number));
        let number = free.unwrap_or_default();
        let name = format!("{PREFIX}{number}");
        let step = step_of(&node(&name), file);
        let made = journal.will_make(step.clone())?;
        let digits = number.to_string();
        let front = ["--ublk", "--number", &digits, "--mark", file].map(OsStr::new);
        let started = Server::start(model, size, store, &front);
        let started = started.and_then(|mut server| server.ready().map(|()| server));
        match started {
            Ok(server) => {
                parts.push(Part { number: made, step });
                return Ok(Bound { name, server });
            }
            // Another process was quicker, or the server ended for another reason.
            Err(error) => {
                journal.undone(made)?;
                if !ublk::is_there(&root, number) {
                    return Err(error);
                }
                from = number + 1;
            }
        }
    }
    Err(Error::Cannot {
        thing: ublk::CONTROL.into(),
        what: "cannot make a device".into(),
        why: "other processes took every number that was tried".into(),
        next: "end what makes ublk devices".into(),
    })
}

fn node(name: &str) -> PathBuf {
    Path::new("/dev").join(name)
}

/// What the driver says of the device of this number, if it has this file's mark.
fn own(host: &Host, number: u32, file: &str) -> Option<Info> {
    if !ublk::is_there(&host.path(""), number) {
        return None;
    }
    let info = Control::open().and_then(|mut control| control.info(number));
    info.ok().filter(|info| info.mark == Mark::of(file))
}

/// Whether a device is a file's.
pub(super) fn is_own(host: &Host, number: u32, file: &str) -> bool {
    own(host, number, file).is_some()
}

/// Removes what a server that has gone left. One that is alive goes by itself.
pub(super) fn remove_dead(host: &Host, number: u32, file: &str) {
    if own(host, number, file).is_some_and(|info| info.is_dead) {
        // Looked at again by the caller.
        let _ = Control::open().and_then(|mut control| control.delete(number));
    }
}

/// Whether the driver is loaded and can be used.
pub(super) fn is_available(host: &Host) -> bool {
    host.path("dev/ublk-control").exists() && ublk::works().is_ok()
}
