//! The system calls of the operations.
//!
//! Paths are resolved from the working directory's descriptor (`kernel-5/drivers/net/tg3.c`): the
//! walk through a tree's directories, which is part of what compilebench measures, is the same as
//! the original's; the components above the working directory, which belong to no filesystem under
//! test, are not walked. Nothing is allocated inside the loops: a name is copied after its tree's
//! into one buffer, directories are listed into one stack, and the data are two buffers.
//!
//! In compat the calls are those of the original under CPython 2, which its users ran: `os.walk`
//! of that version looks up every name (`stat`) to tell directories from files, and every directory
//! once more (`lstat`), which on a cold disk is an order of its own for reading inodes. Its stdio
//! splits the last partial block of a file into a separate write; here a buffer is one write.

use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, SeekFrom};
use rustix::io::{Errno, retry_on_intr};

use super::dataset::{FileSet, TOP};
use super::progress::Reporter;
use crate::Error;
use crate::calls::{Call, Calls};
use crate::clock::now_ns;
use crate::error::is_no_space;

/// Bytes and files of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Bytes as the original counts them.
    pub(super) counted: u64,
    /// Bytes written.
    pub(super) written: u64,
    /// Bytes read.
    pub(super) read: u64,
    /// Files touched; for a stat, directories too.
    pub(super) files: u64,
    /// Writes that were short and continued.
    pub(super) short: u64,
}

/// How the files of a set are opened for writing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Writing {
    /// Unlink each file first.
    pub(super) unlink: bool,
    /// Read each file to its end and truncate it first.
    pub(super) rewrite: bool,
}

/// A directory entry on the stack of a walk: where its name is in the worker's buffer of names.
#[derive(Clone, Copy)]
pub(super) struct Name {
    /// First byte of the name.
    pub(super) at: usize,
    /// Bytes of the name.
    pub(super) len: usize,
    /// Whether it is a directory.
    pub(super) dir: bool,
}

/// The thread that does everything.
pub(super) struct Worker<'a> {
    root: PathBuf,
    dir: OwnedFd,
    pub(super) compat: bool,
    /// Whether calls are timed.
    timed: bool,
    /// How long the calls of the operation in work took; empty unless they are timed.
    pub(super) calls: Calls,
    pub(super) reporter: &'a Reporter<'a>,
    phase: &'static str,
    asked: u64,
    pub(super) tally: Tally,
    data: Vec<u8>,
    input: Vec<u8>,
    /// The path in work, without a NUL.
    pub(super) path: Vec<u8>,
    /// Directories of the set in work that were made in this operation.
    seen: Vec<bool>,
    pub(super) names: Vec<Name>,
    pub(super) letters: Vec<u8>,
    pub(super) listing: Vec<MaybeUninit<u8>>,
    pub(super) noted: Vec<Vec<u8>>,
}

impl<'a> Worker<'a> {
    /// Opens the working directory.
    pub(super) fn new(
        root: &Path,
        buffer: usize,
        compat: bool,
        timed: bool,
        reporter: &'a Reporter<'a>,
    ) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(CWD, root, flags, Mode::empty())
            .map_err(|e| Error::io("open working directory", root)(e.into()))?;
        Ok(Worker {
            root: root.to_owned(),
            dir,
            compat,
            timed,
            calls: Calls::default(),
            reporter,
            phase: "",
            asked: 0,
            tally: Tally::default(),
            data: vec![b'a'; buffer],
            input: vec![0; buffer],
            path: Vec::with_capacity(4096),
            seen: Vec::new(),
            names: Vec::with_capacity(1024),
            letters: Vec::with_capacity(16 * 1024),
            listing: vec![MaybeUninit::uninit(); 32 * 1024],
            noted: Vec::new(),
        })
    }

    /// An operation of `phase` begins that will write `asked` bytes.
    pub(super) fn begin(&mut self, phase: &'static str, asked: u64) {
        (self.phase, self.asked) = (phase, asked);
        self.tally = Tally::default();
        self.calls = Calls::default();
        self.reporter.begin(phase);
    }

    /// The time, where calls are timed.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        if self.timed { now_ns() } else { 0 }
    }

    /// Counts a call that began at a time of [`Worker::now`] and has just ended, and returns when.
    #[inline]
    pub(super) fn ended(&mut self, call: Call, begin_ns: u64) -> u64 {
        let now = self.now();
        if self.timed {
            self.calls.record(call, now.saturating_sub(begin_ns));
        }
        now
    }

    /// Waits until everything is on the device.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        self.path.clear();
        let begun = self.now();
        rustix::fs::syncfs(&self.dir).map_err(|e| self.failed("sync", e))?;
        self.ended(Call::Sync, begun);
        Ok(())
    }

    /// create, patch, compile: every file of `set` into `tree`, which is made when missing.
    pub(super) fn write_set(
        &mut self,
        set: &FileSet,
        tree: &str,
        how: Writing,
    ) -> Result<Tally, Error> {
        let top = self.enter(tree);
        self.make_dir(top - 1)?;
        self.seen.clear();
        self.seen.resize(set.dirs().len(), false);
        for file in set.files() {
            self.reporter.check()?;
            self.path.truncate(top);
            self.path.extend_from_slice(set.path(file));
            if file.dir != TOP && !self.seen[file.dir as usize] {
                self.make_dirs(set, top, file.dir)?;
            }
            self.write_file(file.size, how)?;
            self.tally.files += 1;
            self.tally.counted += file.size;
            self.reporter.add(file.size);
        }
        Ok(self.tally)
    }

    /// clean: unlinks every file of `set`.
    pub(super) fn clean(&mut self, set: &FileSet, tree: &str) -> Result<Tally, Error> {
        let top = self.enter(tree);
        for file in set.files() {
            self.reporter.check()?;
            self.path.truncate(top);
            self.path.extend_from_slice(set.path(file));
            let begun = self.now();
            let done = self.call(|dir, path| rustix::fs::unlinkat(dir, path, AtFlags::empty()));
            done.map_err(|e| self.failed("unlink", e))?;
            self.ended(Call::Unlink, begun);
            self.tally.files += 1;
            self.tally.counted += file.size;
            self.reporter.add(file.size);
        }
        Ok(self.tally)
    }

    /// Removes a tree's empty top directory.
    pub(super) fn remove_top(&mut self, tree: &str) -> Result<(), Error> {
        let top = self.enter(tree);
        self.path.truncate(top - 1);
        self.call(|dir, path| rustix::fs::unlinkat(dir, path, AtFlags::REMOVEDIR))
            .map_err(|e| self.failed("remove directory", e))
    }

    /// Begins a path with a tree's name and a slash; returns its length.
    pub(super) fn enter(&mut self, tree: &str) -> usize {
        self.path.clear();
        self.path.extend_from_slice(tree.as_bytes());
        self.path.push(b'/');
        self.path.len()
    }

    /// A system call on the path in work.
    pub(super) fn call<T>(
        &mut self,
        call: impl FnOnce(&OwnedFd, &CStr) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        self.path.push(0);
        // Names hold no NUL, so the one just pushed is the first.
        let done = match CStr::from_bytes_until_nul(&self.path) {
            Ok(path) => call(&self.dir, path),
            Err(_) => Err(Errno::INVAL),
        };
        self.path.pop();
        done
    }

    /// The same on the first `len` bytes of it.
    fn call_on<T>(
        &mut self,
        len: usize,
        call: impl FnOnce(&OwnedFd, &CStr) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let Some(&after) = self.path.get(len) else {
            return self.call(call);
        };
        self.path[len] = 0;
        let done = match CStr::from_bytes_until_nul(&self.path) {
            Ok(path) => call(&self.dir, path),
            Err(_) => Err(Errno::INVAL),
        };
        self.path[len] = after;
        done
    }

    /// mkdir of the first `len` bytes; an existing directory is fine.
    fn make_dir(&mut self, len: usize) -> Result<(), Error> {
        let mode = Mode::from_raw_mode(0o777);
        match self.call_on(len, |dir, path| rustix::fs::mkdirat(dir, path, mode)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(e) => Err(self.failed("make the directory of", e)),
        }
    }

    /// `os.makedirs`: looks for the directory above, makes it when missing, then makes this one.
    /// All of them then count as seen.
    fn make_dirs(&mut self, set: &FileSet, top: usize, dir: u32) -> Result<(), Error> {
        let parent = set.dirs()[dir as usize].parent;
        let above = match parent {
            TOP => top - 1,
            parent => top + usize::from(set.dirs()[parent as usize].len),
        };
        let there = self.call_on(above, |dir, path| {
            rustix::fs::statat(dir, path, AtFlags::empty()).map(drop)
        });
        if there == Err(Errno::NOENT) && parent != TOP {
            self.make_dirs(set, top, parent)?;
        }
        self.make_dir(top + usize::from(set.dirs()[dir as usize].len))?;
        let mut seen = dir;
        while seen != TOP && !std::mem::replace(&mut self.seen[seen as usize], true) {
            seen = set.dirs()[seen as usize].parent;
        }
        Ok(())
    }

    fn write_file(&mut self, size: u64, how: Writing) -> Result<(), Error> {
        let mut begun = self.now();
        if how.unlink {
            // The original ignores what is not there: a delta has new files.
            let done = self.call(|dir, path| rustix::fs::unlinkat(dir, path, AtFlags::empty()));
            match done {
                Ok(()) => begun = self.ended(Call::Unlink, begun),
                Err(Errno::NOENT) => begun = self.now(),
                Err(e) => return Err(self.failed("unlink", e)),
            }
        }
        let mut flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        if self.compat {
            flags |= OFlags::APPEND;
        } else if !how.rewrite {
            flags |= OFlags::TRUNC;
        }
        let mode = Mode::from_raw_mode(0o666);
        let file = self
            .call(|dir, path| rustix::fs::openat(dir, path, flags, mode))
            .map_err(|e| self.failed("open", e))?;
        begun = self.ended(Call::Open, begun);
        if how.rewrite {
            self.drain(&file, begun)?;
            rustix::fs::ftruncate(&file, 0).map_err(|e| self.failed("truncate", e))?;
            rustix::fs::seek(&file, SeekFrom::Start(0)).map_err(|e| self.failed("seek in", e))?;
            begun = self.now();
        }
        let mut left = size;
        while left > 0 {
            let piece = left.min(self.data.len() as u64) as usize;
            let got = retry_on_intr(|| rustix::io::write(&file, &self.data[..piece]))
                .map_err(|e| self.failed("write", e))?;
            begun = self.ended(Call::Write, begun);
            if got == 0 {
                return Err(self.failed("write", Errno::NOSPC));
            }
            self.tally.short += u64::from(got < piece);
            self.tally.written += got as u64;
            left -= got as u64;
        }
        drop(file);
        self.ended(Call::Close, begun);
        Ok(())
    }

    /// Reads to the end, a buffer at a time, as the original: until a read returns nothing. The
    /// call before the first read ended at `begun`. The last read, which finds the end, counts too.
    pub(super) fn drain(&mut self, file: &OwnedFd, mut begun: u64) -> Result<u64, Error> {
        let mut read = 0;
        loop {
            let got = retry_on_intr(|| rustix::io::read(file, &mut self.input[..]))
                .map_err(|e| self.failed("read", e))?;
            begun = self.ended(Call::Read, begun);
            if got == 0 {
                self.tally.read += read;
                return Ok(read);
            }
            read += got as u64;
        }
    }

    /// The error of a call on the path in work.
    pub(super) fn failed(&self, what: &'static str, errno: Errno) -> Error {
        let path = self.root.join(OsStr::from_bytes(&self.path));
        let source = std::io::Error::from(errno);
        if is_no_space(&source) {
            return Error::NoSpace {
                phase: self.phase.to_owned(),
                path,
                written: self.tally.written,
                asked: self.asked,
            };
        }
        Error::Io { what, path, source }
    }
}
