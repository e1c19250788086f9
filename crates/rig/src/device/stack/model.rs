//! A modelled disk: a loop device on a file that `fslab device serve` serves by FUSE, in a process of its own.
//!
//! The server answers when its model says (docs/devices.md), and its processor time is not the workload's. Nothing of it needs to
//! be undone after a kill -9: its file is mounted for a moment only, until the loop device has it open; the loop device detaches
//! itself at its last close; and the server ends when its input has ended and its file is in use no more. So what the journal
//! has of it is which loop device is the run's own, with the name of the file that the kernel shows for it.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::mount::{UnmountFlags, unmount};
use serde::Deserialize;

use super::{Part, await_some};
use crate::device::free_loop;
use crate::host::{self, Host, Loop};
use crate::mounted::MOUNT_FOLDER;
use crate::syscall::block;
use crate::undo::{Journal, Step, actions};
use crate::{Error, Result};

/// How long a server may take to end, and a loop device to go.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of sectors.
const SECTOR: u32 = 512;
/// Bytes of a read that shows what the way to the server takes.
const BLOCK: usize = 4096;
/// Such reads.
const READS: usize = 101;
/// Bytes of the server's messages that are kept for an error.
const MESSAGES: u64 = 4096;

/// A modelled disk as a trial asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// A device of `fslab device list`.
    pub device: String,
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
    /// What the kernel shows as the loop device's file.
    file: String,
    /// Holds the loop device until the disk is released.
    device: Option<File>,
    server: Server,
    /// Whether the bytes are in memory; else in an image in the run's folder.
    pub(super) in_memory: bool,
}

struct Server {
    child: Child,
    pipes: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

/// Where the bytes of a disk go.
pub(super) enum Store {
    /// The server's memory.
    Memory,
    /// A sparse file, made and removed with the disk.
    Image(PathBuf),
    /// A file that is there already and stays.
    Kept(PathBuf),
}

impl Store {
    fn file(&self) -> Option<&Path> {
        match self {
            Store::Memory => None,
            Store::Image(path) | Store::Kept(path) => Some(path),
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
    let folder = journal.run().join(MOUNT_FOLDER).join(&file);
    if let Store::Image(path) = store {
        let step = Step::Image { path: path.clone() };
        let number = journal.will_make(step.clone())?;
        parts.push(Part { number, step });
    }
    let point = journal.will_make(Step::MountPoint {
        path: folder.clone(),
    })?;
    host::make_folder(&folder)?;
    let mut server = Server::start(model, size, &folder, &file, store)?;
    let bound = server.ready().and_then(|()| {
        let served = folder.join(&file);
        let opened = OpenOptions::new().read(true).write(true).open(&served);
        let opened =
            opened.map_err(|error| Error::io(&served, "cannot open the served file", error))?;
        let flags = block::LOOP_DIRECT_IO | block::LOOP_AUTOCLEAR;
        free_loop::take(journal, &|node| step_of(node, &file), &|device| {
            let name = file.as_bytes();
            block::loop_configure(device.as_fd(), opened.as_fd(), SECTOR, flags, name)
        })
    });
    // The loop device has the file open; from now on nothing leads to it by a path.
    let detached = unmount(&folder, UnmountFlags::DETACH);
    actions::remove_mount_point_of(journal.dir(), &folder)?;
    journal.note_undone(point);
    let taken = bound?;
    parts.push(Part {
        number: taken.step,
        step: step_of(&taken.node, &file),
    });
    detached.map_err(|error| Error::io(&folder, "cannot detach the served file", error))?;
    let modelled = Modelled {
        host: Host::default(),
        name: taken.name,
        file,
        device: Some(taken.device),
        server,
        in_memory: matches!(store, Store::Memory),
    };
    modelled.verify(size)?;
    let way = modelled.way()?;
    modelled.server.say(&format!("begin {way}"))?;
    Ok(modelled)
}

/// What the journal has of a loop device on a served file.
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

    /// Whether the kernel shows the served file, and serves it without a second copy in the page cache.
    fn verify(&self, size: u64) -> Result<()> {
        let attribute = |name: &str| {
            let path = format!("sys/block/{}/loop/{name}", self.name);
            self.host.text(path).unwrap_or_default()
        };
        let sectors = self.host.text(format!("sys/block/{}/size", self.name));
        let (shown, direct) = (attribute("backing_file"), attribute("dio"));
        let fits = sectors.and_then(|s| s.parse::<u64>().ok()) == Some(size / u64::from(SECTOR));
        if is_file(&shown, &self.file) && direct == "1" && fits {
            return Ok(());
        }
        Err(Error::Cannot {
            thing: format!("/dev/{}", self.name),
            what: "is not the modelled disk that was asked for".into(),
            why: format!("it shows file {shown:?}, direct I/O {direct:?}"),
            next: "see losetup -a".into(),
        })
    }

    /// What a read of 4 KiB takes while the server answers at once, ns: the median of some. It is the kernel's and the server's
    /// own time, and is taken off what the model says.
    fn way(&self) -> Result<u64> {
        let node = Path::new("/dev").join(&self.name);
        let failed =
            |error: std::io::Error| Error::io(&node, "cannot read the modelled disk", error);
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::DIRECT.bits().cast_signed())
            .open(&node);
        let file = opened.map_err(failed)?;
        let mut memory = vec![0; 2 * BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK).min(BLOCK);
        let buffer = &mut memory[start..start + BLOCK];
        let mut times = Vec::with_capacity(READS);
        for _ in 0..READS {
            let begun = Instant::now();
            file.read_exact_at(buffer, 0).map_err(failed)?;
            times.push(begun.elapsed().as_nanos() as u64);
        }
        times.sort_unstable();
        Ok(times[READS / 2])
    }

    /// What the server has done so far.
    pub(super) fn served(&self) -> Result<Served> {
        self.server.say("")
    }

    /// Lets the loop device and the server go.
    pub(super) fn release(mut self) -> Result<()> {
        self.device = None;
        self.server.end()
    }
}

/// Whether the kernel's path of a file that is reached by no path any more is that of this name.
fn is_file(shown: &str, name: &str) -> bool {
    shown.strip_prefix('/') == Some(name)
}

/// The loop device that serves this file, if it is there.
fn find(host: &Host, device: &str, file: &str) -> Option<Loop> {
    let is_it = |lo: &Loop| lo.name == device && is_file(&lo.backing.display().to_string(), file);
    host.loops().into_iter().find(is_it)
}

/// Whether a loop device serves this file.
pub(crate) fn is_own(host: &Host, device: &str, file: &str) -> bool {
    find(host, device, file).is_some()
}

/// Waits until it has gone: it detaches itself once nothing has it open.
pub(super) fn gone(host: &Host, device: &str, file: &str) -> Result<()> {
    let gone = await_some(PATIENCE, || (!is_own(host, device, file)).then_some(()));
    gone.ok_or_else(|| Error::NotUndone {
        thing: format!("/dev/{device}"),
        why: "something has it open".into(),
        next: "end that use; it then detaches itself".into(),
    })
}

impl Server {
    fn start(model: &Model, size: u64, folder: &Path, file: &str, store: &Store) -> Result<Server> {
        let failed = |error| Error::Cannot {
            thing: model.device.clone(),
            what: "cannot start its server".into(),
            why: std::io::Error::to_string(&error),
            next: "see whether this program can be started again".into(),
        };
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command
            .args(["device", "serve", &model.device, "--controlled", "--fuse"])
            .arg(folder)
            .args(["--file-name", file, "--size", &size.to_string()]);
        if let Some(path) = store.file() {
            command.arg("--store").arg(path);
        }
        // A group of its own: a terminal's Ctrl-C is for the run, which ends the server itself.
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = child.map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        Ok(Server {
            pipes: Mutex::new(pipes.map(|(input, output)| (input, BufReader::new(output)))),
            child,
        })
    }

    /// Waits until it serves.
    fn ready(&mut self) -> Result<()> {
        let Err(error) = self.say("") else {
            return Ok(());
        };
        // It has ended: what it said is the reason.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mut said = String::new();
        if let Some(messages) = self.child.stderr.take() {
            let _ = messages.take(MESSAGES).read_to_string(&mut said);
        }
        let line = said.lines().find(|line| !line.is_empty());
        let Some(line) = line else { return Err(error) };
        Err(Error::Cannot {
            thing: "the server of the modelled disk".into(),
            what: "ended".into(),
            why: line.trim_start_matches("fslab: ").to_owned(),
            next: "see docs/devices.md".into(),
        })
    }

    /// A line to it, a line from it.
    fn say(&self, text: &str) -> Result<Served> {
        let failed = |why: String| Error::Cannot {
            thing: "the server of the modelled disk".into(),
            what: "does not answer".into(),
            why,
            next: "see the kernel log (dmesg) for errors of the loop device".into(),
        };
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((input, output)) = pipes.as_mut() else {
            return Err(failed("it was ended".into()));
        };
        let mut line = String::new();
        input
            .write_all(format!("{text}\n").as_bytes())
            .and_then(|()| output.read_line(&mut line))
            .map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&line).map_err(|_| failed("it has ended".into()))
    }

    /// Ends its input, and waits until it has ended.
    fn end(&mut self) -> Result<()> {
        *self.pipes.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut ended = || self.child.try_wait().ok().flatten();
        if await_some(PATIENCE, &mut ended).is_some() {
            return Ok(());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Err(Error::NotUndone {
            thing: "the server of the modelled disk".into(),
            why: "its file was still in use; it was killed".into(),
            next: "see losetup -a".into(),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Without its input it ends as soon as its file is in use no more; it is not waited for.
        *self.pipes.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = self.child.try_wait();
    }
}

/// Whether the kernel serves files from user space.
pub(super) fn has_fuse(host: &Host) -> bool {
    fs::metadata(host.path("dev/fuse")).is_ok() && host.names("sys/fs").contains(&"fuse".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_device_is_the_runs_by_number_and_file() {
        let root = tempfile::tempdir().unwrap();
        let host = Host::below(root.path());
        let folder = root.path().join("sys/block/loop3/loop");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("backing_file"), "/fslab-7-0-model\n").unwrap();
        assert!(is_own(&host, "loop3", "fslab-7-0-model"));
        assert!(!is_own(&host, "loop4", "fslab-7-0-model"));
        assert!(!is_own(&host, "loop3", "fslab-8-0-model"));
        gone(&host, "loop4", "fslab-7-0-model").unwrap();
    }
}
