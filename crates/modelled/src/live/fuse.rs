//! One file, served by the kernel's FUSE protocol: under a loop device it is a block device that needs no driver.
//!
//! The protocol is that of `include/uapi/linux/fuse.h` (7.31). What a block device does not need is answered with ENOSYS, and the
//! kernel does not ask again.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use device::Op;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, CWD, OFlags, StatxFlags, statx};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::pace::Work;
use super::slots::HEAD as ANSWER_HEAD;
use super::{Front, Live, Waiting};

/// Name of the file where none is given.
pub const NAME: &str = "disk";

const ROOT: u64 = 1;
const FILE: u64 = 2;

/// Largest write, bytes.
const LARGEST: usize = 1 << 20;
/// Bytes of a request besides its data.
const HEADS: usize = 4096;
/// Bytes of the head of a request.
const HEAD: usize = 40;

const MAJOR: u32 = 7;
const MINOR: u32 = 31;

const ASYNC_READ: u32 = 1;
const BIG_WRITES: u32 = 1 << 5;
const ASYNC_DIO: u32 = 1 << 15;
const MAX_PAGES: u32 = 1 << 22;

const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const WRITE: u32 = 16;
const STATFS: u32 = 17;
const RELEASE: u32 = 18;
const FSYNC: u32 = 20;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const OPENDIR: u32 = 27;
const READDIR: u32 = 28;
const RELEASEDIR: u32 = 29;
const INTERRUPT: u32 = 36;
const DESTROY: u32 = 38;
const BATCH_FORGET: u32 = 42;
const FALLOCATE: u32 = 43;

/// `FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE`: what a loop device makes of a discard.
const PUNCH_HOLE: u32 = 3;

/// How long a server without requests sleeps until it looks whether it is to end.
const IDLE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// A mounted file.
pub struct Mounted {
    connection: Arc<Connection>,
    folder: PathBuf,
    name: String,
    /// Number of the mounted filesystem.
    device: (u32, u32),
    is_aborted: AtomicBool,
}

impl Mounted {
    /// Mounts a file of this name at an empty folder. Needs root.
    ///
    /// # Errors
    /// There is no /dev/fuse, or it may not be mounted there, or something is there already.
    pub fn new(folder: &Path, name: &str) -> io::Result<Mounted> {
        if std::fs::read_dir(folder)?.next().is_some() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        let connection = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open("/dev/fuse")?;
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0,max_read={LARGEST}",
            connection.as_raw_fd()
        );
        let options = std::ffi::CString::new(options).map_err(io::Error::other)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("fslab", folder, "fuse", flags, Some(options.as_c_str()))?;
        let device = device_at(folder).inspect_err(|_| {
            let _ = unmount(folder, UnmountFlags::DETACH);
        })?;
        Ok(Mounted {
            connection: Arc::new(Connection(connection)),
            folder: folder.to_owned(),
            name: name.to_owned(),
            device,
            is_aborted: AtomicBool::new(false),
        })
    }

    /// Serves requests until it is unmounted or aborted.
    ///
    /// # Errors
    /// The connection broke.
    pub fn serve(&self, live: &Live) -> io::Result<()> {
        let is_over = || self.is_aborted.load(Ordering::Relaxed);
        requests(live, &self.connection, &self.name, &is_over)
    }

    /// Unmounts it, and ends [`Mounted::serve`]. What still uses it gets errors, at the latest when the process ends.
    pub fn abort(&self) {
        self.unmount_with(UnmountFlags::DETACH | UnmountFlags::FORCE);
        self.is_aborted.store(true, Ordering::Relaxed);
    }

    /// Unmounts it. What still uses it is served until it is closed.
    pub fn unmount(&self) {
        self.unmount_with(UnmountFlags::DETACH);
    }

    /// It may be unmounted already, and another filesystem be there.
    fn unmount_with(&self, flags: UnmountFlags) {
        if device_at(&self.folder).is_ok_and(|device| device == self.device) {
            let _ = unmount(&self.folder, flags);
        }
    }
}

/// Number of the filesystem that is mounted at a folder, which is not asked: it may not be served yet, or no more.
fn device_at(folder: &Path) -> io::Result<(u32, u32)> {
    let flags = AtFlags::STATX_DONT_SYNC;
    let found = statx(CWD, folder, flags, StatxFlags::BASIC_STATS)?;
    Ok((found.stx_dev_major, found.stx_dev_minor))
}

/// Serves requests for the file of this name until the connection ends or `is_over` says so.
pub(super) fn requests(
    live: &Live,
    connection: &Arc<Connection>,
    name: &str,
    is_over: &dyn Fn() -> bool,
) -> io::Result<()> {
    let mut buffer = vec![0; LARGEST + HEADS];
    while !is_over() {
        match (&connection.0).read(&mut buffer) {
            Ok(len) => {
                let bytes = &buffer[..len];
                let request = Request {
                    bytes,
                    connection,
                    name,
                };
                request.serve(live)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => connection.wait()?,
            // The request was taken back.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            // Unmounted.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A request of the kernel.
struct Request<'a> {
    bytes: &'a [u8],
    connection: &'a Arc<Connection>,
    name: &'a str,
}

/// The kernel's end of a mount: `/dev/fuse`.
pub(super) struct Connection(pub(super) File);

impl Connection {
    /// Waits for a request, for a while.
    fn wait(&self) -> io::Result<()> {
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&IDLE)) {
            Err(error) if error != rustix::io::Errno::INTR => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Answers, with a head that is not yet written. The kernel may have given the request up.
    fn reply(&self, unique: u64, error: i32, answer: &mut [u8]) {
        let len = answer.len() as u32;
        answer[..4].copy_from_slice(&len.to_ne_bytes());
        answer[4..8].copy_from_slice(&(-error).to_ne_bytes());
        answer[8..ANSWER_HEAD].copy_from_slice(&unique.to_ne_bytes());
        let _ = (&self.0).write_all(answer);
    }
}

impl Front for Connection {
    fn answer(&self, unique: u64, work: Work, answer: &mut [u8]) {
        if work.op == Op::Write {
            // `struct fuse_write_out`: how much was written.
            let mut all = [0; ANSWER_HEAD + 8];
            let size = work.len as u32;
            all[ANSWER_HEAD..ANSWER_HEAD + 4].copy_from_slice(&size.to_ne_bytes());
            self.reply(unique, 0, &mut all);
        } else {
            self.reply(unique, 0, answer);
        }
    }
}

impl Request<'_> {
    fn u32_at(&self, at: usize) -> u32 {
        let bytes = self.bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    }

    fn u64_at(&self, at: usize) -> u64 {
        let bytes = self.bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes)
    }

    fn ok(&self, data: &[u8]) {
        let mut answer = vec![0; ANSWER_HEAD + data.len()];
        answer[ANSWER_HEAD..].copy_from_slice(data);
        self.connection.reply(self.u64_at(8), 0, &mut answer);
    }

    fn fail(&self, error: i32) {
        let mut head = [0; ANSWER_HEAD];
        self.connection.reply(self.u64_at(8), error, &mut head);
    }

    fn waiting(&self) -> Waiting {
        Waiting {
            front: Arc::clone(self.connection) as Arc<dyn Front>,
            cookie: self.u64_at(8),
        }
    }

    fn serve(&self, live: &Live) -> io::Result<()> {
        if self.bytes.len() < HEAD {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "FUSE: a request is shorter than its head",
            ));
        }
        let node = self.u64_at(16);
        match self.u32_at(4) {
            INIT => self.init(),
            LOOKUP => self.lookup(live, node),
            GETATTR => self.attributes(live, node),
            OPEN | OPENDIR => self.ok(&[0; 16]),
            READDIR => self.read_folder(),
            READ => self.read(live),
            WRITE => self.write(live),
            FSYNC => self.flush(live),
            FALLOCATE => self.discard(live),
            // Closing makes nothing durable.
            FLUSH | RELEASE | RELEASEDIR | DESTROY => self.ok(&[]),
            STATFS => self.ok(&[0; 80]),
            FORGET | BATCH_FORGET | INTERRUPT => {}
            _ => self.fail(libc::ENOSYS),
        }
        Ok(())
    }

    fn init(&self) {
        let theirs = self.u32_at(HEAD + 12);
        let mut out = Vec::with_capacity(64);
        for value in [
            MAJOR,
            MINOR,
            self.u32_at(HEAD + 8),
            theirs & (ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES),
        ] {
            out.extend(value.to_ne_bytes());
        }
        // Requests in the background, and from which number on the kernel calls it congested.
        out.extend(256_u16.to_ne_bytes());
        out.extend(192_u16.to_ne_bytes());
        out.extend((LARGEST as u32).to_ne_bytes());
        out.extend(1_u32.to_ne_bytes());
        out.extend(((LARGEST / 4096) as u16).to_ne_bytes());
        out.resize(64, 0);
        self.ok(&out);
    }

    fn lookup(&self, live: &Live, node: u64) {
        let name = self.bytes.get(HEAD..).unwrap_or_default();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if node != ROOT || name != self.name.as_bytes() {
            self.fail(libc::ENOENT);
            return;
        }
        let mut out = Vec::with_capacity(128);
        out.extend(FILE.to_ne_bytes());
        out.extend(0_u64.to_ne_bytes());
        // Names and attributes are valid for an hour: they do not change.
        out.extend(3600_u64.to_ne_bytes());
        out.extend(3600_u64.to_ne_bytes());
        out.extend([0; 8]);
        out.extend(attributes(FILE, live.size()));
        self.ok(&out);
    }

    fn attributes(&self, live: &Live, node: u64) {
        let mut out = Vec::with_capacity(104);
        out.extend(3600_u64.to_ne_bytes());
        out.extend([0; 8]);
        out.extend(attributes(node, live.size()));
        self.ok(&out);
    }

    fn read_folder(&self) {
        let mut out = Vec::new();
        if self.u64_at(HEAD + 8) == 0 {
            out.extend(FILE.to_ne_bytes());
            out.extend(1_u64.to_ne_bytes());
            out.extend((self.name.len() as u32).to_ne_bytes());
            // DT_REG.
            out.extend(8_u32.to_ne_bytes());
            out.extend(self.name.as_bytes());
            out.resize(out.len().next_multiple_of(8), 0);
        }
        self.ok(&out);
    }

    fn fail_with(&self, error: &io::Error) {
        self.fail(if error.kind() == io::ErrorKind::InvalidInput {
            libc::EINVAL
        } else {
            libc::EIO
        });
    }

    fn read(&self, live: &Live) {
        let (offset, size) = (self.u64_at(HEAD + 8), self.u32_at(HEAD + 16) as usize);
        let left = usize::try_from(live.size().saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = size.min(left).min(LARGEST);
        if len == 0 {
            self.ok(&[]);
            return;
        }
        if let Err(error) = live.read(self.waiting(), offset, len) {
            self.fail_with(&error);
        }
    }

    fn write(&self, live: &Live) {
        let (offset, size) = (self.u64_at(HEAD + 8), self.u32_at(HEAD + 16));
        let data = self.bytes.get(HEAD + 40..).unwrap_or_default();
        let Some(data) = data.get(..size as usize) else {
            self.fail(libc::EINVAL);
            return;
        };
        if let Err(error) = live.write(self.waiting(), offset, data) {
            self.fail_with(&error);
        }
    }

    /// A hole is a discard; nothing else is allocated or moved.
    fn discard(&self, live: &Live) {
        let (offset, len) = (self.u64_at(HEAD + 8), self.u64_at(HEAD + 16));
        if self.u32_at(HEAD + 24) != PUNCH_HOLE {
            self.fail(libc::EOPNOTSUPP);
            return;
        }
        if let Err(error) = live.discard(self.waiting(), offset, len) {
            self.fail_with(&error);
        }
    }

    /// A loop device asks for flushes of any file; of a disk whose cache loses nothing a kernel asks for none.
    fn flush(&self, live: &Live) {
        if !live.has_volatile_cache() {
            self.ok(&[]);
            return;
        }
        live.flush(self.waiting());
    }
}

/// `struct fuse_attr`.
fn attributes(node: u64, size: u64) -> Vec<u8> {
    let (mode, links, size) = if node == FILE {
        (0o100_600_u32, 1_u32, size)
    } else {
        (0o040_700, 2, 0)
    };
    let mut out = Vec::with_capacity(88);
    for value in [node, size, size.div_ceil(512), 0, 0, 0] {
        out.extend(value.to_ne_bytes());
    }
    for value in [0, 0, 0, mode, links, 0, 0, 0, 4096, 0] {
        out.extend(value.to_ne_bytes());
    }
    out
}
