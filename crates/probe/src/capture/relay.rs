//! blktrace's own way: relay files in debugfs.
//!
//! BLKTRACESETUP on a device's node makes `block/<name>/trace<cpu>` in debugfs, a file for each CPU
//! whose bytes are the records. It is taken where ftrace has no blk tracer and lockdown leaves debugfs
//! open ([`super::methods`]): the kernel option that builds the one builds the other, so that is a kernel
//! whose ftrace was left out, or one on which another program keeps the tracer's only instance.
//!
//! The files are read, not mapped: a copy of some MB/s costs nothing beside the load that makes them.
//! read(2) on a relay file never waits, and poll(2) wakes only when a sub-buffer is full; so one thread
//! looks at all files every 50 ms, as it does with the tracer. What the kernel drops it counts itself
//! (`dropped`), and the numbers that are missing in the sequences say on which CPU.
//!
//! The trace of a killed process keeps running in the kernel. A living recorder holds a lock on the trace's
//! `dropped` file, so that `fslab clean` can tell the one from the other.

mod copy;
mod ioctl;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::detached::Detached;
use super::{Device, Error, Mask, output};
use copy::Copy;

/// How long the reader sleeps when the files were empty.
const POLL: Duration = Duration::from_millis(50);

/// Sub-buffers of a CPU: blktrace's number.
const BUFFERS: u32 = 4;

/// The largest sub-buffer (blktrace -b).
const LARGEST: u64 = 16 << 20;

/// debugfs, where it can be read.
pub(super) fn debugfs() -> Result<Detached, Error> {
    let usual = Path::new("/sys/kernel/debug");
    Detached::open("debugfs", usual).map_err(|error| Error::NoMethod {
        why: format!("debugfs cannot be opened ({error}); it needs root"),
    })
}

/// Whether the kernel offers it: debugfs with its folder of block traces, which lockdown leaves open.
pub(super) fn available() -> Result<(), Error> {
    let no = |why: String| Err(Error::NoMethod { why });
    let debugfs = debugfs()?;
    if !debugfs.path("block").is_dir() {
        return no("debugfs has no block (CONFIG_BLK_DEV_IO_TRACE)".into());
    }
    let security = Detached::open("securityfs", Path::new("/sys/kernel/security"));
    // Without the lockdown module the file is missing: nothing is locked.
    let lockdown = security.and_then(|fs| std::fs::read_to_string(fs.path("lockdown")));
    match lockdown.as_deref().ok().and_then(super::detached::chosen) {
        None | Some("none") => Ok(()),
        Some(level) => no(format!(
            "kernel lockdown ({level}) forbids to read debugfs's trace files"
        )),
    }
}

/// What a device's trace counted.
pub(super) struct Counted {
    /// CPU, events, bytes, and numbers missing.
    pub(super) cpus: Vec<(u32, u64, u64, u64)>,
    /// Events dropped, by the kernel's own count.
    pub(super) dropped: u64,
    /// Files that do not hold records.
    pub(super) broken: u64,
}

/// A device that is traced.
#[derive(Debug)]
struct Traced {
    node: File,
    /// Its folder in debugfs.
    folder: PathBuf,
    copies: Vec<Copy>,
    /// Held while it is ours.
    _lock: File,
}

/// Traces that run.
#[derive(Debug)]
pub(super) struct Session {
    /// The nodes, to be stopped while the thread reads.
    nodes: Vec<File>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Vec<Traced>, Error>>>,
}

fn open_node(node: &Path) -> Result<File, Error> {
    OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(node)
        .map_err(|error| Error::kernel(node, "cannot open the device", error))
}

/// The folder of a trace in debugfs.
fn folder(debugfs: &Detached, name: &str) -> PathBuf {
    debugfs.path("block").join(name)
}

fn lock(dropped: &Path) -> Result<File, Error> {
    let failed = |error| Error::kernel(dropped, "cannot lock the trace", error);
    let file = File::open(dropped).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::Busy {
            thing: dropped.display().to_string(),
            why: "another fslab records".into(),
        }),
        Err(error) => Err(failed(error.into())),
    }
}

/// The relay files of a trace's folder, by CPU.
fn files(folder: &Path) -> Result<Vec<(u32, PathBuf)>, Error> {
    let failed = |error| Error::kernel(folder, "cannot list the relay files", error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let cpu = entry.file_name();
        let cpu = cpu
            .to_str()
            .and_then(|name| name.strip_prefix("trace")?.parse().ok());
        files.extend(cpu.map(|cpu| (cpu, entry.path())));
    }
    files.sort_unstable();
    Ok(files)
}

impl Traced {
    /// Opens the files of a trace that was set up.
    fn open(node: File, folder: PathBuf, out: &Path, device: &Device) -> Result<Traced, Error> {
        let lock = lock(&folder.join("dropped"))?;
        let copies = files(&folder)?
            .iter()
            .map(|(cpu, from)| Copy::new(*cpu, from, &output::path(out, device, *cpu)))
            .collect::<Result<_, _>>()?;
        Ok(Traced {
            node,
            folder,
            copies,
            _lock: lock,
        })
    }

    fn pass(&mut self, buffer: &mut [u8]) -> Result<bool, Error> {
        let mut any = false;
        for copy in &mut self.copies {
            any |= copy.pass(buffer)?;
        }
        Ok(any)
    }

    /// Ends the copies and reads the kernel's count; the trace itself is still there.
    fn finish(&mut self) -> Result<Counted, Error> {
        let dropped = super::detached::read(&self.folder.join("dropped"))?;
        for copy in &mut self.copies {
            copy.finish()?;
        }
        let of = |copy: &Copy| (copy.cpu, copy.events, copy.bytes, copy.missing);
        Ok(Counted {
            cpus: self.copies.iter().map(of).collect(),
            dropped: dropped.trim().parse().unwrap_or(0),
            broken: self.copies.iter().filter(|copy| copy.broken).count() as u64,
        })
    }
}

/// Reads all files until it is stopped and they are empty.
fn run(mut traced: Vec<Traced>, stop: &AtomicBool) -> Result<Vec<Traced>, Error> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        // Asked before reading: what was logged before the stop is read after it.
        let stopping = stop.load(Ordering::Acquire);
        let mut any = false;
        for traced in &mut traced {
            any |= traced.pass(&mut buffer)?;
        }
        if stopping && !any {
            return Ok(traced);
        }
        if !stopping {
            std::thread::park_timeout(POLL);
        }
    }
}

impl Session {
    /// Sets all devices up and lets them run. What was begun is taken back on an error.
    pub(super) fn start(
        nodes: &[PathBuf],
        devices: &[Device],
        (mask, buffer): (Mask, u64),
        out: &Path,
    ) -> Result<Session, Error> {
        let debugfs = debugfs()?;
        let mut session = Session {
            nodes: Vec::new(),
            stop: Arc::default(),
            thread: None,
        };
        let size = buffer.div_ceil(u64::from(BUFFERS)).min(LARGEST) as u32;
        let mut traced = Vec::new();
        for (path, device) in nodes.iter().zip(devices) {
            let node = open_node(path)?;
            let name = ioctl::setup(&node, mask.bits(), size, BUFFERS)
                .map_err(|error| begun(path, error))?;
            let again = |error| Error::kernel(path, "cannot keep the device open", error);
            session.nodes.push(node.try_clone().map_err(again)?);
            traced.push(Traced::open(node, folder(&debugfs, &name), out, device)?);
        }
        for traced in &traced {
            ioctl::start(&traced.node)
                .map_err(|error| Error::kernel(&traced.folder, "cannot start the trace", error))?;
        }
        session.read(traced, out, debugfs)?;
        Ok(session)
    }

    fn read(&mut self, traced: Vec<Traced>, out: &Path, debugfs: Detached) -> Result<(), Error> {
        let stop = Arc::clone(&self.stop);
        let spawned = std::thread::Builder::new()
            .name("fslab-relay".into())
            .spawn(move || {
                // The mount lives as long as its files are read.
                let _debugfs = debugfs;
                run(traced, &stop)
            });
        let thread =
            spawned.map_err(|error| Error::output(out, "cannot start the reader thread", error))?;
        self.thread = Some(thread);
        Ok(())
    }

    /// Whether the reader stopped by itself.
    pub(super) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Stops the traces, reads what is left, and ends them. A count for each device.
    pub(super) fn finish(mut self) -> Result<Vec<Counted>, Error> {
        let mut first = Ok(());
        for node in &self.nodes {
            let stopped = ioctl::stop(node);
            first = first
                .and(stopped.map_err(|e| Error::kernel(Path::new("BLKTRACESTOP"), "failed", e)));
        }
        let traced = self.join();
        let counted = traced.and_then(|mut traced| {
            let counted = traced.iter_mut().map(Traced::finish);
            counted.collect::<Result<Vec<_>, Error>>()
        });
        let ended = self.end();
        let counted = counted?;
        first.and(ended).map(|()| counted)
    }

    fn join(&mut self) -> Result<Vec<Traced>, Error> {
        self.stop.store(true, Ordering::Release);
        let gone = || {
            let error = io::Error::other("it ended without an answer");
            Error::output(Path::new("relay"), "the reader thread", error)
        };
        let Some(thread) = self.thread.take() else {
            return Err(gone());
        };
        thread.thread().unpark();
        thread.join().unwrap_or_else(|_| Err(gone()))
    }

    /// Takes the traces from the kernel.
    fn end(&mut self) -> Result<(), Error> {
        let mut first = Ok(());
        for node in self.nodes.drain(..) {
            let ended = ioctl::teardown(&node);
            first = first
                .and(ended.map_err(|e| Error::kernel(Path::new("BLKTRACETEARDOWN"), "failed", e)));
        }
        first
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for node in &self.nodes {
            let _ = ioctl::stop(node);
        }
        if self.thread.is_some() {
            drop(self.join());
        }
        let _ = self.end();
    }
}

/// Why a trace cannot be set up.
fn begun(node: &Path, error: io::Error) -> Error {
    match rustix::io::Errno::from_io_error(&error) {
        Some(rustix::io::Errno::BUSY) => Error::Busy {
            thing: node.display().to_string(),
            why: "BLKTRACESETUP says that the device is traced".into(),
        },
        Some(rustix::io::Errno::PERM | rustix::io::Errno::NOTTY) => Error::NoMethod {
            why: format!("{}: BLKTRACESETUP: {error}", node.display()),
        },
        _ => Error::kernel(node, "cannot set the trace up", error),
    }
}

/// Whether a device's trace exists and has no owner.
pub(super) fn is_left(name: &str) -> bool {
    debugfs().is_ok_and(|debugfs| lock(&folder(&debugfs, name).join("dropped")).is_ok())
}

/// Ends the trace that a killed process left on a device.
pub(super) fn take_back(node: &Path) -> Result<(), Error> {
    let file = open_node(node)?;
    // A trace that was set up and never started cannot be stopped.
    let _ = ioctl::stop(&file);
    ioctl::teardown(&file).map_err(|error| Error::kernel(node, "cannot end the trace", error))
}

#[cfg(test)]
mod tests;
