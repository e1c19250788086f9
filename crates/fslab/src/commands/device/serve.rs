//! `fslab device serve`: a modelled device in real time, until a signal ends it.

mod control;
mod driver;

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use device::Variation;
use lab::Interrupt;
use modelled::live::{Does, Live, Served, Store, fuse, nbd};
use modelled::{Error, catalogue};
use rustix::fs::OFlags;

use self::control::Controlled;
use crate::cli::device::DeviceServeArgs;
use crate::{exit, out};

/// Between two looks at whether a signal came.
const TICK: Duration = Duration::from_millis(50);

/// Ends with [`exit::INVALID`] when too many answers were late for measured times to stand for the device.
pub(crate) fn run(args: &DeviceServeArgs) -> anyhow::Result<u8> {
    let catalogue = catalogue(args.devices.devices_file.as_deref())?;
    let model = catalogue
        .model(&args.name, Variation::Nominal)
        .map_err(Error::from)?;
    let capacity = model.capacity() / 4096 * 4096;
    let size = args.size.map_or(capacity, study::Bytes::get);
    if size == 0 || size > capacity || !size.is_multiple_of(4096) {
        return Err(usage(format!(
            "--size {}: not a multiple of 4 KiB up to the device's {}",
            words::bytes(size),
            words::bytes(capacity)
        )));
    }
    let store = match &args.store {
        None => Store::memory(size),
        Some(path) => stored(path, size, args.controlled)?,
    };
    let interrupt = Interrupt::on_signals()?;
    modelled::live::keep_in_memory();
    let served = if args.ublk {
        driver::serve(model, store, args, &interrupt)?
    } else {
        on_a_front(model, store, args, &interrupt)?
    };
    if !args.controlled {
        out::print(&text(&args.name, &served))?;
    }
    Ok(if served.is_sound() {
        exit::OK
    } else {
        exit::INVALID
    })
}

/// Serves on a socket or by FUSE.
fn on_a_front(
    model: Box<dyn device::Model>,
    store: Store,
    args: &DeviceServeArgs,
    interrupt: &Interrupt,
) -> anyhow::Result<Served> {
    let live = Arc::new(Live::new(model, store));
    if args.controlled {
        live.hold();
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            modelled::live::in_time(Does::Answers);
            live.run();
        });
        let result = match (&args.socket, &args.fuse, &args.nbd) {
            (Some(socket), _, _) => on_socket(&live, socket, interrupt),
            (None, Some(folder), _) => on_fuse(scope, &live, folder, args, interrupt),
            (None, None, Some(device)) => on_nbd(scope, &live, device, interrupt),
            (None, None, None) => Ok(()),
        };
        live.stop();
        result.map(|()| live.served())
    })
}

fn usage(text: String) -> anyhow::Error {
    lab::Error::Preflight(text).into()
}

fn unfit(path: &Path, why: &str) -> anyhow::Error {
    let path = out::path(path);
    usage(format!("{path}: {why}; choose another --store"))
}

/// A store in a file or on persistent memory, which is `new` where a program has just made it.
fn stored(path: &Path, size: u64, new: bool) -> anyhow::Result<Store> {
    let is_device = |metadata: Metadata| metadata.file_type().is_block_device();
    if std::fs::metadata(path).is_ok_and(is_device) {
        return persistent(path, size, new);
    }
    Ok(Store::file(file(path, size)?, size))
}

/// Persistent memory that has room and nothing on it. A disk takes time of its own, so it is no store; it would be overwritten, too.
fn persistent(path: &Path, size: u64, new: bool) -> anyhow::Result<Store> {
    let wrong = |why: &str| unfit(path, why);
    let real = std::fs::canonicalize(path)?;
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    if !name.starts_with("pmem") {
        return Err(wrong("a block device that is no persistent memory (pmem)"));
    }
    // O_EXCL: not while it is mounted, or another program's.
    let flags = OFlags::DIRECT | OFlags::EXCL;
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let mut file = opened.map_err(|error| wrong(&error.to_string()))?;
    let has = file.seek(SeekFrom::End(0))?;
    if has < size {
        let (has, needs) = (words::bytes(has), words::bytes(size));
        return Err(wrong(&format!("has {has}, and the device {needs}")));
    }
    let store = Store::device(file, size, new)?;
    if !store.begins_blank()? {
        return Err(wrong(
            "its first MiB has data, which would be overwritten (dd if=/dev/zero bs=1M count=1 clears it)",
        ));
    }
    Ok(store)
}

/// A store's file of that size.
fn file(path: &Path, size: u64) -> anyhow::Result<File> {
    let wrong = |why: String| unfit(path, &why);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|error| wrong(error.to_string()))?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(wrong("not a regular file".into()));
    }
    match metadata.len() {
        0 => file
            .set_len(size)
            .map_err(|error| wrong(error.to_string()))?,
        len if len == size => {}
        len => {
            let (has, needs) = (words::bytes(len), words::bytes(size));
            return Err(wrong(format!("has {has}, and the device {needs}")));
        }
    }
    Ok(file)
}

fn on_socket(live: &Arc<Live>, path: &Path, interrupt: &Interrupt) -> anyhow::Result<()> {
    let wrong = |error: io::Error| {
        usage(format!(
            "{}: {error}; choose another --socket",
            out::path(path)
        ))
    };
    let listener = bind(path).map_err(wrong)?;
    listener.set_nonblocking(true)?;
    out::say(&format!("fslab: serving on {}", out::path(path)));
    let connections = Connections::default();
    let result = std::thread::scope(|scope| {
        let result = accept(scope, live, &listener, &connections, interrupt);
        // Connections that are open would keep their threads.
        connections.shut_down();
        result
    });
    let _ = std::fs::remove_file(path);
    Ok(result?)
}

/// A socket at this path; a socket whose server is gone makes room. What is no socket stays: it refuses connections, too.
fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let refused = io::ErrorKind::ConnectionRefused;
            let is_socket = std::fs::symlink_metadata(path)?.file_type().is_socket();
            if is_socket && UnixStream::connect(path).is_err_and(|error| error.kind() == refused) {
                std::fs::remove_file(path)?;
                return UnixListener::bind(path);
            }
            Err(error)
        }
        bound => bound,
    }
}

/// Takes connections until a signal comes, each with a thread of its own.
fn accept<'scope, 'env>(
    scope: &'scope std::thread::Scope<'scope, 'env>,
    live: &'env Arc<Live>,
    listener: &UnixListener,
    connections: &'env Connections,
    interrupt: &Interrupt,
) -> io::Result<()> {
    let mut number = 0;
    while !interrupt.is_raised() {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(TICK);
                continue;
            }
            Err(error) => return Err(error),
        };
        stream.set_nonblocking(false)?;
        number += 1;
        connections.add(number, stream.try_clone()?);
        scope.spawn(move || {
            if let Err(error) = nbd::serve(live, stream) {
                out::say(&format!("fslab: a connection ended: {error}"));
            }
            // The client waits for the end, which a copy of the socket in an answer under way would delay.
            connections.end(number);
        });
    }
    Ok(())
}

/// Open connections by number.
#[derive(Default)]
struct Connections(Mutex<BTreeMap<u64, UnixStream>>);

impl Connections {
    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, UnixStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, number: u64, stream: UnixStream) {
        self.open().insert(number, stream);
    }

    fn end(&self, number: u64) {
        if let Some(stream) = self.open().remove(&number) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn shut_down(&self) {
        for stream in self.open().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn on_fuse<'scope, 'env>(
    scope: &'scope std::thread::Scope<'scope, 'env>,
    live: &'env Arc<Live>,
    folder: &'env Path,
    args: &DeviceServeArgs,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let mounted = fuse::Mounted::new(folder, &args.file_name).map_err(|error| {
        usage(format!(
            "{}: {error}; --fuse needs root, an empty folder and /dev/fuse",
            out::path(folder)
        ))
    })?;
    let mounted = Arc::new(mounted);
    let theirs = Arc::clone(&mounted);
    let server = scope.spawn(move || {
        modelled::live::in_time(Does::Requests);
        theirs.serve(live)
    });
    out::say(&format!(
        "fslab: serving {}/{}",
        out::path(folder),
        words::printable(&args.file_name)
    ));
    let input = args.controlled.then(|| control::answer_lines(live));
    let is_over = || input.as_ref().is_some_and(control::Input::has_ended);
    while !interrupt.is_raised() && !is_over() && !server.is_finished() {
        std::thread::sleep(TICK);
    }
    if interrupt.is_raised() {
        mounted.abort();
    } else {
        mounted.unmount();
    }
    ended(server)
}

/// How the thread that takes requests ended.
fn ended(server: ScopedJoinHandle<'_, io::Result<()>>) -> anyhow::Result<()> {
    match server.join() {
        Ok(result) => Ok(result?),
        Err(_) => Err(anyhow::anyhow!(
            "the server of the disk ended early; please report it"
        )),
    }
}

/// Serves a device of the kernel's driver, which a thread of this process lends itself to.
fn on_nbd<'scope, 'env>(
    scope: &'scope std::thread::Scope<'scope, 'env>,
    live: &'env Arc<Live>,
    device: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let attached = nbd::Attached::new(device, live).map_err(|error| {
        usage(format!(
            "{}: {error}; --nbd needs root and a free device of the driver nbd (modprobe nbd)",
            out::path(device)
        ))
    })?;
    let attached = Arc::new(attached);
    let (theirs, drivers) = (Arc::clone(&attached), Arc::clone(&attached));
    let server = scope.spawn(move || {
        modelled::live::in_time(Does::Requests);
        theirs.serve(live)
    });
    scope.spawn(move || drivers.lend());
    out::say(&format!("fslab: serving {}", out::path(device)));
    while !interrupt.is_raised() && !server.is_finished() {
        std::thread::sleep(TICK);
    }
    attached.disconnect();
    ended(server)
}

impl Controlled for Live {
    fn begin(&self, lead: u64) {
        Live::begin(self, lead);
    }

    fn served(&self) -> Served {
        Live::served(self)
    }
}

fn text(name: &str, served: &Served) -> String {
    format!(
        "{name}: {}, modelled {} each; answers left {} late on average, {:.2} % more than 50 us late{}\n",
        words::plural(served.requests, "request"),
        words::short_time(served.mean_modelled() / 1e9),
        words::short_time(served.mean_lateness() / 1e9),
        served.late_percent(),
        if served.is_sound() {
            ""
        } else {
            ": too late to stand for the device (at most 1 % of the answers, and 5 % of the mean time)"
        }
    )
}
