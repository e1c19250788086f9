//! A modelled disk: a process of its own, `fslab device serve`, serves it by one of two fronts of the kernel.
//!
//! The server answers when its model says (docs/devices.md), and its processor time is not the workload's. Where the kernel has its driver
//! for block devices in user space loaded (ublk), the disk is one of that; else it is a loop device on a file that is served by FUSE, which
//! needs no driver. A host's modules are not loaded for it. Little of either needs to be undone after a kill -9: the server
//! ends when its input has ended and its disk is in use no more, and takes the disk along. What the journal has of it is which device is the
//! run's own, with the name of the file that the kernel shows for it, or whose mark the driver has.

mod driver;
mod fuse_loop;
mod server;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use serde::Deserialize;

use self::server::Server;
use super::{Part, await_some};
use crate::host::Host;
use crate::undo::{Journal, Step};
use crate::{Error, Result};

pub(crate) use driver::PREFIX as UBLK;

/// How long a server may take to end, and its device to go.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of sectors.
const SECTOR: u32 = 512;
/// Bytes of a read that shows what the way to the server takes.
const BLOCK: usize = 4096;
/// Bytes of one that shows what its bytes take besides.
const LARGE: usize = 128 << 10;
/// Such reads while the server answers at once.
const READS: usize = 101;
/// Such reads while it answers when the model says.
const PACED: u64 = 21;
/// Spreads their blocks over the disk (the golden ratio of 2^64, Knuth).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Nanoseconds that waking up may take at most; what takes longer is something else.
const MOST_BEYOND: i64 = 500_000;

/// A modelled disk as a trial asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// A device of `fslab device list`, or of the devices file.
    pub device: String,
    /// Text of a devices file.
    pub devices_file: Option<String>,
}

/// What a server has done so far; times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Served {
    /// Requests.
    pub requests: u64,
    /// Sum of their modelled times.
    pub modelled: u64,
    /// Sum of the times by which their answers left late.
    pub lateness: u64,
    /// Answers that left more than 50 us late.
    pub late: u64,
    /// Whether times that were measured with it stand for the device.
    pub sound: bool,
}

/// A modelled disk that is served.
pub(super) struct Modelled {
    host: Host,
    name: String,
    /// Holds the loop device until the disk is released; none for a disk of the driver.
    device: Option<File>,
    server: Server,
    /// Where the bytes are.
    pub(super) store: &'static str,
    /// How the kernel reaches the server.
    pub(super) front: &'static str,
    /// What the way there and back takes by itself, ns.
    pub(super) way: u64,
    /// And for each MiB.
    way_of_mib: u64,
}

/// A server, and the disk's sysfs name.
struct Bound {
    name: String,
    server: Server,
}

/// Where the bytes of a disk go.
pub(super) enum Store {
    /// The server's memory.
    Memory,
    /// A sparse file, made and removed with the disk.
    Image(PathBuf),
    /// A file that is there already and stays.
    Kept(PathBuf),
    /// A device that is memory of this machine.
    Persistent(PathBuf),
}

impl Store {
    fn file(&self) -> Option<&Path> {
        match self {
            Store::Memory => None,
            Store::Image(path) | Store::Kept(path) | Store::Persistent(path) => Some(path),
        }
    }

    /// As a trial's facts name it.
    fn name(&self) -> &'static str {
        match self {
            Store::Memory => "memory",
            Store::Image(_) | Store::Kept(_) => "a sparse file",
            Store::Persistent(_) => "persistent memory",
        }
    }
}

/// Makes a disk of `size` bytes. `name` is its own among all runs of this machine. Parts that were made are in `parts` also
/// where this fails.
pub(super) fn serve(
    model: &Model,
    size: u64,
    name: &str,
    store: &Store,
    journal: &Arc<Journal>,
    parts: &mut Vec<Part>,
) -> Result<Modelled> {
    let file = format!("{name}-model");
    if let Store::Image(path) = store {
        let step = Step::Image { path: path.clone() };
        let number = journal.will_make(step.clone())?;
        parts.push(Part { number, step });
    }
    let host = Host::default();
    let (bound, device, front) = if driver::is_available(&host) {
        let bound = driver::bind(model, size, &file, store, journal, parts)?;
        (bound, None, "ublk")
    } else {
        let (bound, device) = fuse_loop::bind(model, size, &file, store, journal, parts)?;
        (bound, Some(device), "FUSE and a loop device")
    };
    let mut modelled = Modelled {
        host,
        name: bound.name,
        device,
        server: bound.server,
        store: store.name(),
        front,
        way: 0,
        way_of_mib: 0,
    };
    modelled.verify(size, &file)?;
    modelled.measure_way(size)?;
    Ok(modelled)
}

/// What the journal has of a device that is served.
fn step_of(node: &Path, file: &str) -> Step {
    Step::Served {
        device: node.into(),
        file: file.to_owned(),
    }
}

impl Modelled {
    /// Its sysfs name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is the disk that was asked for.
    fn verify(&self, size: u64, file: &str) -> Result<()> {
        let wrong = |why: String| Error::Cannot {
            thing: format!("/dev/{}", self.name),
            what: "is not the modelled disk that was asked for".into(),
            why,
            next: "see losetup -a, or /sys/class/ublk-char".into(),
        };
        if self.device.is_some() {
            fuse_loop::verify(&self.host, &self.name, file).map_err(wrong)?;
        }
        let sectors = self.host.text(format!("sys/block/{}/size", self.name));
        let sectors = sectors.unwrap_or_default();
        if sectors.parse::<u64>().ok() == Some(size / u64::from(SECTOR)) {
            return Ok(());
        }
        Err(wrong(format!("it has {sectors} sectors")))
    }

    /// Finds what the way to the server and back takes, and starts the model with it.
    ///
    /// While the model runs, a processor and its timer wake up slower after its pauses than without them, and the server moves bytes while
    /// the device would: the way of requests becomes longer by the one, and that of bytes shorter by the other.
    fn measure_way(&mut self, size: u64) -> Result<()> {
        self.way = self.way_of(BLOCK)?;
        let large = LARGE as u64 <= size;
        if large {
            self.way_of_mib = of_mib(self.way_of(LARGE)? as i64 - self.way as i64);
        }
        self.begin()?;
        self.way += self.beyond(size, BLOCK)?.clamp(0, MOST_BEYOND) as u64;
        self.begin()?;
        if large {
            let before = self.way_of_mib * (LARGE - BLOCK) as u64 / (1 << 20);
            let beyond = self.beyond(size, LARGE)?.min(MOST_BEYOND);
            self.way_of_mib = of_mib(before as i64 + beyond);
            self.begin()?;
        }
        Ok(())
    }

    /// Has answers leave when the model says, less the way.
    fn begin(&self) -> Result<()> {
        let line = format!("begin {} {}", self.way, self.way_of_mib);
        self.server.say(&line).map(drop)
    }

    /// What a read of `len` bytes takes while the server answers at once, ns: the median of some. It is the kernel's and the server's
    /// own time, and is taken off what the model says.
    fn way_of(&self, len: usize) -> Result<u64> {
        let mut read = self.reader(len)?;
        let times: Result<Vec<u64>> = (0..READS).map(|_| read(0)).collect();
        Ok(median(times?))
    }

    /// What a read of `len` bytes takes longer than the model says, ns: the median of some all over the disk.
    fn beyond(&self, size: u64, len: usize) -> Result<i64> {
        let mut read = self.reader(len)?;
        let blocks = (size / len as u64).max(1);
        let mut said = self.served()?.modelled;
        let times: Result<Vec<i64>> = (1..=PACED)
            .map(|nth| {
                let block = nth.wrapping_mul(SPREAD) % blocks;
                let measured = read(block * len as u64)?;
                let now = self.served()?.modelled;
                let modelled = now - said;
                said = now;
                Ok(measured as i64 - modelled as i64)
            })
            .collect();
        Ok(median(times?))
    }

    /// Reads of `len` bytes past the page cache: the nanoseconds of each.
    fn reader(&self, len: usize) -> Result<impl FnMut(u64) -> Result<u64>> {
        let node = Path::new("/dev").join(&self.name);
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::DIRECT.bits().cast_signed())
            .open(&node);
        let failed =
            move |error: std::io::Error| Error::io(&node, "cannot read the modelled disk", error);
        let file = opened.map_err(&failed)?;
        let mut memory = vec![0; len + BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK).min(BLOCK);
        Ok(move |offset| {
            let begun = Instant::now();
            file.read_exact_at(&mut memory[start..start + len], offset)
                .map_err(&failed)?;
            Ok(begun.elapsed().as_nanos() as u64)
        })
    }

    /// What the server has done so far.
    pub(super) fn served(&self) -> Result<Served> {
        self.server.say("")
    }

    /// Lets the device and the server go.
    pub(super) fn release(mut self) -> Result<()> {
        self.device = None;
        self.server.end()
    }
}

/// What a large read takes longer than a small one, for each MiB.
fn of_mib(longer: i64) -> u64 {
    longer.max(0) as u64 * (1 << 20) / (LARGE - BLOCK) as u64
}

fn median<T: Ord + Copy>(mut times: Vec<T>) -> T {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Whether a device serves this file, or has its mark.
pub(crate) fn is_own(host: &Host, device: &str, file: &str) -> bool {
    match driver::number(device) {
        Some(number) => driver::is_own(host, number, file),
        None => fuse_loop::is_own(host, device, file),
    }
}

/// Waits until it has gone: by itself, once nothing has it open. What a dead server of the driver has left is removed.
pub(super) fn gone(host: &Host, device: &str, file: &str) -> Result<()> {
    let look = || {
        if let Some(number) = driver::number(device) {
            driver::remove_dead(host, number, file);
        }
        (!is_own(host, device, file)).then_some(())
    };
    await_some(PATIENCE, look).ok_or_else(|| Error::NotUndone {
        thing: format!("/dev/{device}"),
        why: "something has it open".into(),
        next: "end that use; it then goes by itself".into(),
    })
}

/// Whether the kernel has one of the fronts.
pub(super) fn is_available(host: &Host) -> bool {
    fuse_loop::is_available(host) || driver::is_available(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_device_is_the_runs_by_number_and_file() {
        let root = tempfile::tempdir().unwrap();
        let host = Host::below(root.path());
        fuse_loop::show(root.path(), "loop3", "fslab-7-0-model");
        assert!(is_own(&host, "loop3", "fslab-7-0-model"));
        assert!(!is_own(&host, "loop4", "fslab-7-0-model"));
        assert!(!is_own(&host, "loop3", "fslab-8-0-model"));
        gone(&host, "loop4", "fslab-7-0-model").unwrap();
    }

    #[test]
    fn a_disk_of_the_driver_that_is_not_there_is_no_runs() {
        let root = tempfile::tempdir().unwrap();
        let host = Host::below(root.path());
        assert_eq!(driver::number("ublkb12"), Some(12));
        assert_eq!(driver::number("loop1"), None);
        assert!(!is_own(&host, "ublkb3", "fslab-7-0-model"));
        gone(&host, "ublkb3", "fslab-7-0-model").unwrap();
        assert!(!driver::is_available(&host));
    }
}
