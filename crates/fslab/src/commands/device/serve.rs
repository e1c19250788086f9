//! `fslab device serve`: a modelled device in real time, until a signal ends it.

mod control;
mod driver;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use device::Variation;
use lab::Interrupt;
use modelled::live::{Does, Lead, Live, Served, Store, available_memory, fuse, keep_in_memory};
use modelled::{Error, catalogue};
use rustix::fs::{FlockOperation, OFlags};

use self::control::Controlled;
use crate::cli::device::DeviceServeArgs;
use crate::{exit, loop_image, out};

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
    let (store, made) = match &args.store {
        None => (in_memory(size)?, None),
        Some(path) => stored(path, size, args.controlled)?,
    };
    let interrupt = Interrupt::on_signals()?;
    let served = match &args.fuse {
        Some(folder) => by_fuse(model, store, folder, args, &interrupt),
        None => driver::serve(model, store, args, &interrupt),
    };
    let served = served.inspect_err(|error| {
        if let (Some(made), true) = (made, is_usage(error)) {
            made.take_back();
        }
    })?;
    if !args.controlled {
        out::print(&text(&args.name, &served))?;
    }
    Ok(if served.is_sound() {
        exit::OK
    } else {
        exit::INVALID
    })
}

/// Serves by FUSE.
fn by_fuse(
    model: Box<dyn device::Model>,
    store: Store,
    folder: &Path,
    args: &DeviceServeArgs,
    interrupt: &Interrupt,
) -> anyhow::Result<Served> {
    let live = Arc::new(Live::new(model, store));
    lock_memory();
    if args.controlled {
        live.hold();
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            modelled::live::in_time(Does::Answers);
            // Without answers there is no disk.
            let _over = OnPanic(interrupt);
            live.run();
        });
        let result = on_fuse(scope, &live, folder, args, interrupt);
        live.stop();
        result.map(|()| live.served())
    })
}

/// Raises an interrupt where a thread panics.
struct OnPanic<'a>(&'a Interrupt);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.raise();
        }
    }
}

fn usage(text: String) -> anyhow::Error {
    lab::Error::Preflight(text).into()
}

/// Whether nothing was served.
fn is_usage(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<lab::Error>();
    error.is_some_and(|error| matches!(error, lab::Error::Preflight(_)))
}

fn unfit(path: &Path, why: &str) -> anyhow::Error {
    let path = out::path(path);
    usage(format!("{path}: {why}; choose another --store"))
}

/// Locks this process in memory, or says why not.
fn lock_memory() {
    if let Err(why) = keep_in_memory() {
        out::say(&format!(
            "fslab: the server's memory is not locked: {why}; its answers may be late when the machine is short of memory"
        ));
    }
}

fn in_memory(size: u64) -> anyhow::Result<Store> {
    let size_of = words::bytes(size);
    if let Some(available) = available_memory().filter(|available| *available < size) {
        out::say(&format!(
            "fslab: {size_of} in memory, and {} are available: writes of more will fail; choose a smaller --size, or a file by --store",
            words::bytes(available)
        ));
    }
    Store::memory(size).map_err(|error| {
        usage(format!(
            "{size_of} in memory: {error}; choose a smaller --size, or a file by --store"
        ))
    })
}

/// A store in a file or on persistent memory, which is `new` where a program has just made it; and what was made for it.
fn stored(path: &Path, size: u64, new: bool) -> anyhow::Result<(Store, Option<Made>)> {
    let is_device = |metadata: Metadata| metadata.file_type().is_block_device();
    if std::fs::metadata(path).is_ok_and(is_device) {
        return Ok((persistent(path, size, new)?, None));
    }
    let (file, made) = file(path, size)?;
    Ok((Store::file(file, size), made))
}

/// A store's file that this call made.
enum Made {
    /// The file.
    File(PathBuf),
    /// The size of one that was empty.
    Size(File),
}

impl Made {
    fn take_back(self) {
        // What cannot be taken back is an empty store.
        let _ = match self {
            Made::File(path) => std::fs::remove_file(path),
            Made::Size(file) => file.set_len(0),
        };
    }
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

/// A store's file of that size, which no other server has.
fn file(path: &Path, size: u64) -> anyhow::Result<(File, Option<Made>)> {
    let wrong = |why: String| unfit(path, &why);
    let failed = |error: io::Error| unfit(path, &error.to_string());
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let (file, is_new) = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let new = options.create_new(true).open(path).map_err(failed)?;
            (new, true)
        }
        opened => (opened.map_err(failed)?, false),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(wrong("not a regular file".into()));
    }
    // Until this process ends.
    let lock = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
    if lock.is_err_and(|error| error == rustix::io::Errno::WOULDBLOCK) {
        return Err(wrong("another server has it for its store".into()));
    }
    if let Some(device) = loop_image::device_of(&metadata) {
        return Err(wrong(format!("the image of {device}")));
    }
    match metadata.len() {
        0 => {
            let made = if is_new {
                Made::File(path.to_owned())
            } else {
                Made::Size(file.try_clone()?)
            };
            if let Err(error) = file.set_len(size) {
                made.take_back();
                return Err(failed(error));
            }
            Ok((file, Some(made)))
        }
        len if len == size => Ok((file, None)),
        len => {
            let (has, needs) = (words::bytes(len), words::bytes(size));
            Err(wrong(format!("has {has}, and the device {needs}")))
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
    until_over(live, args, interrupt, &server);
    if !interrupt.is_raised() {
        mounted.unmount();
    }
    // What has the file open is served until it closes it, or until a signal.
    while !server.is_finished() {
        if interrupt.is_raised() {
            mounted.abort();
        }
        std::thread::sleep(TICK);
    }
    ended(server)
}

/// Until a signal comes, the input of one that is controlled has ended, or nothing is served any more.
fn until_over(
    live: &Arc<Live>,
    args: &DeviceServeArgs,
    interrupt: &Interrupt,
    server: &ScopedJoinHandle<'_, io::Result<()>>,
) {
    let input = args.controlled.then(|| control::answer_lines(live));
    let is_over = || input.as_ref().is_some_and(control::Input::has_ended);
    while !interrupt.is_raised() && !is_over() && !server.is_finished() {
        std::thread::sleep(TICK);
    }
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

impl Controlled for Live {
    fn begin(&self, lead: Lead) {
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
