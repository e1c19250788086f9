//! One process of a fill: fs_mark's do_run.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};

use super::method::{Again, SyncMethod};
use super::place::{Place, Walk};
use super::{space, sys};
use crate::calls::{Call, Calls};
use crate::clock::{Cpu, now_ns};
use crate::engine::{ABORT, Counter, Flags};
use crate::gate::Ticket;
use crate::{Error, error};
use params::fill::Mkdir;

/// Flag: the filesystem is full; no process begins another file, and what exists is synced.
pub(crate) const FULL: u32 = 4;

/// What all processes of a fill have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) phase: &'static str,
    pub(crate) size: u64,
    pub(crate) write_size: u64,
    pub(crate) method: SyncMethod,
    pub(crate) mkdir: Mkdir,
    pub(crate) sync_target_only: bool,
}

/// Which subdirectories of a base the run itself has made, one bit each.
#[derive(Debug, Default)]
pub(crate) struct Made(Vec<AtomicU64>);

impl Made {
    pub(crate) fn new(directories: u32) -> Made {
        Made(
            (0..directories.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect(),
        )
    }

    fn set(&self, number: u32) {
        if let Some(word) = self.0.get(number as usize / 64) {
            word.fetch_or(1 << (number % 64), Ordering::Relaxed);
        }
    }

    /// The numbers that are set, ascending.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let words = (0_u32..).zip(&self.0);
        words.flat_map(|(at, word)| {
            let word = word.load(Ordering::Relaxed);
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| at * 64 + bit)
        })
    }
}

/// The task of one process in one iteration.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) base: &'a Path,
    pub(crate) walk: Walk,
    pub(crate) names: super::names::Names,
    pub(crate) files: u64,
    pub(crate) made: &'a Made,
}

impl Task<'_> {
    pub(crate) fn place(&self) -> Place {
        Place::new(self.walk.clone(), self.names.clone())
    }
}

/// What a process has done. Times are CLOCK_MONOTONIC nanoseconds.
#[derive(Debug)]
pub(crate) struct ChildResult {
    /// fs_mark's loop clock: names, mkdirs and the sync method's tail are inside, unlinks not.
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    /// Files that are whole.
    pub(crate) files: u64,
    pub(crate) short: u64,
    /// Calls that were repeated, because space was only reserved.
    pub(crate) repeated: u64,
    pub(crate) calls: Calls,
    pub(crate) cpu: Cpu,
    /// Its position in the walk over subdirectories.
    pub(crate) walk: Walk,
    /// The error that ended it early.
    pub(crate) stopped: Option<Stopped>,
}

/// Why a process ended before its last file.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// No space for this file, of which nothing is left.
    Full(PathBuf),
    /// Something else.
    Failed(Error),
}

/// A system call that failed on the current file.
struct Failure {
    what: &'static str,
    source: io::Error,
}

fn failed<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Failure {
    move |source| Failure {
        what,
        source: source.into(),
    }
}

/// What a process needs before its clock starts.
struct Tools {
    base: OwnedFd,
    zeros: Vec<u8>,
}

/// A process at work.
pub(crate) struct Child<'a> {
    how: &'a How,
    task: &'a Task<'a>,
    flags: &'a Flags,
    done: &'a Counter,
    place: Place,
    calls: Calls,
    short: u64,
    repeated: u64,
}

/// The whole life of a process. Trouble raises a flag, so that the others stop as well.
pub(crate) fn live(
    how: &How,
    task: &Task<'_>,
    flags: &Flags,
    done: &Counter,
    mut ticket: Ticket<'_>,
) -> Result<ChildResult, Error> {
    let tools = prepare(how, task).inspect_err(|_| flags.raise(ABORT))?;
    let child = Child {
        how,
        task,
        flags,
        done,
        place: task.place(),
        calls: Calls::default(),
        short: 0,
        repeated: 0,
    };
    ticket.wait();
    Ok(child.run(&tools))
}

/// Own descriptors, base open, buffer touched: all before READY.
fn prepare(how: &How, task: &Task<'_>) -> Result<Tools, Error> {
    sys::own_descriptors().map_err(|source| Error::Unsupported {
        what: "a descriptor table for each process",
        path: task.base.to_owned(),
        reason: format!("unshare(CLONE_FILES): {source}; allow it in the container's profile"),
    })?;
    let base = open_base(task.base)?;
    let mut zeros = vec![0; how.write_size.min(how.size) as usize];
    // Memory that was never written is one page of zeros, mapped everywhere.
    std::hint::black_box(&mut zeros).fill(0);
    Ok(Tools { base, zeros })
}

pub(crate) fn open_base(base: &Path) -> Result<OwnedFd, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(base, flags, Mode::empty()).map_err(|e| Error::io("open", base)(e.into()))
}

/// Repeats a call that found no space, when writing out what is dirty gives some back.
///
/// XFS reserves the most blocks that a file not yet written could need for its extents, several for
/// each; tens of thousands of small files reserve a filesystem full while a third of it is used. It then
/// flushes and tries once more by itself, and with several writers that may fail again. Such
/// a "no space left" does not show the filesystem's size, which the end of a fill is meant to show.
#[inline]
fn again_if_reserved<T>(
    answer: rustix::io::Result<T>,
    on: &OwnedFd,
    repeated: &mut u64,
    call: impl FnOnce() -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    match answer {
        Err(rustix::io::Errno::NOSPC) if space::comes_back(on) => {
            *repeated += 1;
            call()
        }
        answer => answer,
    }
}

impl Child<'_> {
    fn run(mut self, tools: &Tools) -> ChildResult {
        let cpu = Cpu::thread();
        let begin_ns = now_ns();
        let mut files = 0;
        let mut stopped = None;
        while files < self.task.files && !self.flags.up(ABORT | FULL) {
            if let Err(failure) = self.file(files, tools) {
                // One that stops because others failed or were interrupted has no reason of its own.
                stopped = (!self.flags.up(ABORT)).then(|| self.stop(failure));
                break;
            }
            files += 1;
            self.done.show(files);
        }
        if !self.flags.up(ABORT)
            && let Err(failure) = self.tail(files, &tools.base)
        {
            self.flags.raise(ABORT);
            stopped = Some(Stopped::Failed(self.error(failure)));
        }
        ChildResult {
            begin_ns,
            end_ns: now_ns(),
            files,
            short: self.short,
            repeated: self.repeated,
            calls: self.calls,
            cpu: Cpu::thread() - cpu,
            walk: self.place.walk().clone(),
            stopped,
        }
    }

    fn path(&self) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let file = std::ffi::OsStr::from_bytes(self.place.file().to_bytes());
        self.task.base.join(file)
    }

    fn error(&self, failure: Failure) -> Error {
        Error::io(failure.what, self.path())(failure.source)
    }

    /// Signals the others, and classifies the error.
    fn stop(&self, failure: Failure) -> Stopped {
        if error::is_no_space(&failure.source) {
            self.flags.raise(FULL);
            return Stopped::Full(self.path());
        }
        self.flags.raise(ABORT);
        Stopped::Failed(self.error(failure))
    }

    /// One file: name, mkdir, creat, writes, fsync, close. What could not be made whole is removed.
    #[inline]
    fn file(&mut self, index: u64, tools: &Tools) -> Result<(), Failure> {
        let moved = self.place.next(index, now_ns);
        if moved || self.how.mkdir == Mkdir::EveryFile {
            self.make_directory(&tools.base)?;
        }
        let begin = now_ns();
        let (begin, file) = match self.create(&tools.base) {
            Ok(file) => (begin, file),
            // The directory has been removed since it was created.
            Err(rustix::io::Errno::NOENT) if self.how.mkdir == Mkdir::FirstUse => {
                self.make_directory(&tools.base)?;
                (
                    now_ns(),
                    self.create(&tools.base).map_err(failed("create"))?,
                )
            }
            Err(source) => return Err(failed("create")(source)),
        };
        let created = now_ns();
        self.fill(file, tools, created).inspect_err(|_| {
            let _ = unlinkat(&tools.base, self.place.file(), AtFlags::empty());
        })?;
        self.calls.record(Call::Creat, created - begin);
        Ok(())
    }

    #[inline]
    fn create(&mut self, base: &OwnedFd) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::TRUNC | OFlags::CLOEXEC;
        let file = self.place.file();
        let open = || openat(base, file, flags, Mode::from_raw_mode(0o666));
        again_if_reserved(open(), base, &mut self.repeated, open)
    }

    /// Zeros, fsync, close. Times are counted when the file is closed.
    #[inline]
    fn fill(&mut self, file: OwnedFd, tools: &Tools, created: u64) -> Result<(), Failure> {
        let (last_write, written) = self.write(&file, &tools.zeros, created)?;
        let mut synced = written;
        if self.how.method.in_band() {
            rustix::fs::fsync(&file).map_err(failed("fsync"))?;
            synced = now_ns();
        }
        sys::close(file).map_err(failed("close"))?;
        let closed = now_ns();
        self.calls.record(Call::Write, last_write);
        if self.how.method.in_band() {
            self.calls.record(Call::Fsync, synced - written);
        }
        self.calls.record(Call::Close, closed - synced);
        Ok(())
    }

    /// Writes the file. Returns what the last write took, not yet counted, and when it ended.
    #[inline]
    fn write(
        &mut self,
        file: &OwnedFd,
        zeros: &[u8],
        mut before: u64,
    ) -> Result<(u64, u64), Failure> {
        let mut left = self.how.size;
        loop {
            let now = left.min(zeros.len() as u64) as usize;
            // A file of no bytes gets one write of none, as in fs_mark.
            let write = || rustix::io::write(file, &zeros[..now]);
            let written = match again_if_reserved(write(), file, &mut self.repeated, write) {
                Ok(0) if now > 0 => {
                    return Err(failed("write")(io::Error::from(io::ErrorKind::WriteZero)));
                }
                Ok(written) => written,
                Err(rustix::io::Errno::INTR) => 0,
                Err(source) => return Err(failed("write")(source)),
            };
            let after = now_ns();
            self.short += u64::from(written < now);
            left -= written as u64;
            if left == 0 {
                return Ok((after - before, after));
            }
            if self.flags.up(ABORT) {
                return Err(failed("write")(io::Error::from(io::ErrorKind::Interrupted)));
            }
            self.calls.record(Call::Write, after - before);
            before = after;
        }
    }

    /// mkdir of the current directory; that it is there is no error.
    #[inline]
    fn make_directory(&mut self, base: &OwnedFd) -> Result<(), Failure> {
        let mode = Mode::from_raw_mode(0o777);
        let directory = self.place.directory();
        let make = || {
            if directory.is_empty() {
                return rustix::fs::mkdir(self.task.base, mode);
            }
            mkdirat(base, directory, mode)
        };
        match again_if_reserved(make(), base, &mut self.repeated, make) {
            Ok(()) => {
                self.task.made.set(self.place.number());
                Ok(())
            }
            Err(rustix::io::Errno::EXIST) => Ok(()),
            Err(source) => Err(failed("make the directory of")(source)),
        }
    }

    /// What the sync method does after all files.
    fn tail(&mut self, files: u64, base: &OwnedFd) -> Result<(), Failure> {
        if self.how.method.syncs() {
            let begin = now_ns();
            if self.how.sync_target_only {
                rustix::fs::syncfs(base).map_err(failed("sync the filesystem of"))?;
            } else {
                rustix::fs::sync();
            }
            self.calls.record(Call::Sync, now_ns() - begin);
        }
        match self.how.method.again() {
            Again::Nothing => Ok(()),
            Again::First => self.sync_again(0..files.min(1), base),
            Again::Backwards => self.sync_again((0..files).rev(), base),
            Again::Forwards => self.sync_again(0..files, base),
        }
    }

    fn sync_again(
        &mut self,
        files: impl Iterator<Item = u64>,
        base: &OwnedFd,
    ) -> Result<(), Failure> {
        for index in files {
            if self.flags.up(ABORT) {
                break;
            }
            self.place.again(index);
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let begin = now_ns();
            let file = openat(base, self.place.file(), flags, Mode::empty())
                .map_err(failed("open again"))?;
            rustix::fs::fsync(file.as_fd()).map_err(failed("fsync"))?;
            sys::close(file).map_err(failed("close"))?;
            self.calls.record(Call::Fsync, now_ns() - begin);
        }
        Ok(())
    }
}

/// Removes the first `files` files of a task, in the order of their creation. Files that are not
/// there are passed over when `missing_is_fine`.
pub(crate) fn unlink(
    task: &Task<'_>,
    walk: &Walk,
    files: u64,
    missing_is_fine: bool,
) -> Result<Calls, Error> {
    let base = open_base(task.base)?;
    let mut place = Place::new(walk.clone(), task.names.clone());
    let mut calls = Calls::default();
    for index in 0..files {
        place.again(index);
        let begin = now_ns();
        match unlinkat(&base, place.file(), AtFlags::empty()) {
            Ok(()) => calls.record(Call::Unlink, now_ns() - begin),
            Err(rustix::io::Errno::NOENT) if missing_is_fine => {}
            Err(source) => {
                use std::os::unix::ffi::OsStrExt;
                let file = std::ffi::OsStr::from_bytes(place.file().to_bytes());
                return Err(Error::io("remove", task.base.join(file))(source.into()));
            }
        }
    }
    Ok(calls)
}
