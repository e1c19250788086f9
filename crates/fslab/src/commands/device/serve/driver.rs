//! The front of the kernel's driver: `--ublk`.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use lab::Interrupt;
use modelled::live::{Lead, Served, Store, ublk};
use rustix::fs::OFlags;

use super::control::{self, Controlled};
use super::{TICK, lock_memory, usage};
use crate::cli::device::DeviceServeArgs;
use crate::out;

/// Serves until a signal comes, or the input has ended and nothing uses the disk.
pub(super) fn serve(
    model: Box<dyn device::Model>,
    store: Store,
    args: &DeviceServeArgs,
    interrupt: &Interrupt,
) -> anyhow::Result<Served> {
    let disk = Arc::new(ublk::Disk::new(model, store));
    lock_memory();
    if args.controlled {
        disk.hold();
    }
    std::thread::scope(|scope| {
        let running = disk
            .start(scope, args.number, ublk::Mark::of(&args.mark))
            .map_err(|error| wrong(args, &error))?;
        let node = Path::new("/dev").join(running.name());
        out::say(&format!("fslab: serving {}", node.display()));
        let input = args.controlled.then(|| control::answer_lines(&disk));
        let is_unused = || input.as_ref().is_some_and(control::Input::has_ended) && !is_used(&node);
        while !interrupt.is_raised() && !running.is_over() && !is_unused() {
            std::thread::sleep(TICK);
        }
        running.end()?;
        Ok(disk.served())
    })
}

/// Whether a filesystem is mounted from it, or another program has it for its own.
fn is_used(node: &Path) -> bool {
    let alone = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::EXCL.bits().cast_signed())
        .open(node);
    alone.is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
}

fn wrong(args: &DeviceServeArgs, error: &io::Error) -> anyhow::Error {
    match (error.kind(), args.number) {
        (io::ErrorKind::AlreadyExists, Some(number)) => usage(format!(
            "--number {number}: there is a device of that number; choose another, or leave it out"
        )),
        (io::ErrorKind::NotFound, _) => usage(format!(
            "--ublk: this kernel has no {}: it is there once the module ublk_drv (Linux 6.0) is loaded; --fuse needs no driver",
            ublk::CONTROL
        )),
        _ => usage(format!(
            "--ublk: {error}; it needs root, {} and io_uring (kernel.io_uring_disabled = 0)",
            ublk::CONTROL
        )),
    }
}

impl Controlled for ublk::Disk {
    fn begin(&self, lead: Lead) {
        ublk::Disk::begin(self, lead);
    }

    fn served(&self) -> Served {
        ublk::Disk::served(self)
    }
}
