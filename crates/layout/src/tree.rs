//! Whole trees: open, fstat, FIEMAP and close for each file, by several threads.
//!
//! Nothing is allocated for a file: names lie in one string for each portion of a directory, rows
//! go to a vector that is used again, and what is counted of a file is added to the thread's own
//! tally at once. A directory is listed by one thread, which hands portions of [`PORTION`] entries
//! to the others and works through them itself when nobody is short of work, so memory stays the
//! same for a directory of ten files and of ten million. Within a portion files are opened in the
//! order of their inodes: on a cold disk that reads the inode tables once, and forward.
//!
//! Each thread has its own table of descriptors: in a table that is shared, every open and close
//! takes a lock and every other call two atomic operations on a line that all processors want. A
//! directory is therefore handed on as a path below the root, and opened again by who works on it.
//!
//! A tree ends where another filesystem is mounted: the geometry is that of one. A file with several
//! names is counted once for each. Orders ([`crate::LayoutSummary::listed_blocks`] and its like)
//! compare neighbours within a portion.

#![allow(unsafe_code, reason = "a table of descriptors for each thread")]

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;

use crate::error::{Error, io};
use crate::extent::Extent;
use crate::fiemap::{Failure, Mapper, Request};
use crate::geometry::Geometry;
use crate::summary::Order;
use crate::tally::{FileFacts, Tally};
use crate::{fibmap, file};

/// Entries of a directory that are worked on together.
pub const PORTION: usize = 2048;

/// Portions that may wait for a thread before the lister works on one itself.
const WAITING: usize = 64;

/// Problems that are kept in words; the rest are counted.
const KEPT: usize = 20;

/// How to scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Threads; 0: four for each processor.
    pub threads: usize,
    /// Write each file back before its map is taken.
    pub sync: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Scan {
    /// The sum of all files.
    pub tally: Tally,
    /// What could not be looked at, in words: the first [`KEPT`] of them.
    pub problems: Vec<String>,
    /// How many problems there were.
    pub problem_count: u64,
    /// The filesystem's geometry, where it is known.
    pub geometry: Option<Geometry>,
}

/// Looks at every regular file below a directory.
///
/// # Errors
/// When the directory itself cannot be opened, or its filesystem has no FIEMAP. Whatever fails
/// further down is a problem of the [`Scan`], and does not end it.
pub fn scan(root: &Path, options: Options) -> Result<Scan, Error> {
    let opened = file::open(root)?;
    let geometry = Geometry::of(&opened);
    let magic = rustix::fs::fstatfs(&opened).map_or(0, |fs| fs.f_type as u64);
    let common = Common {
        root: opened.as_fd(),
        path: root,
        geometry: geometry.as_ref(),
        request: Request {
            sync: options.sync,
            ..Request::default()
        },
        magic,
        queue: Queue::default(),
    };
    common.queue.push(Job::List {
        path: PathBuf::new(),
        above: None,
    });
    let threads = match options.threads {
        // On a cold tree a thread mostly waits for the disk.
        0 => 4 * std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let mut scan = Scan::default();
    let mut failure = None;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| Worker::new(&common).work()))
            .collect();
        for worker in workers {
            match worker.join() {
                Ok(done) => {
                    scan.tally.merge(done.tally);
                    scan.problem_count += done.problem_count;
                    let room = KEPT.saturating_sub(scan.problems.len());
                    scan.problems.extend(done.problems.into_iter().take(room));
                    failure = failure.take().or(done.failure);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(Scan { geometry, ..scan }),
    }
}

/// What all threads share.
struct Common<'a> {
    /// The root, by a number that means the same in the tables of all threads.
    root: BorrowedFd<'a>,
    /// Its path, for messages.
    path: &'a Path,
    geometry: Option<&'a Geometry>,
    request: Request,
    magic: u64,
    queue: Queue,
}

/// An open directory. It stays with the thread that opened it.
struct Directory {
    descriptor: OwnedFd,
    /// Below the root; empty for the root itself.
    path: Arc<Path>,
    allocated: u64,
    /// The group or AG of its inode.
    group: Option<u64>,
}

impl Directory {
    /// Opens what is below the root, not through links, and not beyond the root's filesystem.
    fn open(path: &Arc<Path>, common: &Common<'_>) -> Result<Directory, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        let name = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let descriptor = rustix::fs::openat2(common.root, name, flags, Mode::empty(), resolve)?;
        let stat = rustix::fs::fstat(&descriptor)?;
        let group = common
            .geometry
            .map(|geometry| geometry.group_of_inode(stat.st_ino));
        Ok(Directory {
            descriptor,
            path: Arc::clone(path),
            allocated: stat.st_blocks as u64 * 512,
            group,
        })
    }

    /// A name in it, below the root.
    fn child(&self, name: &CStr) -> PathBuf {
        self.path.join(std::ffi::OsStr::from_bytes(name.to_bytes()))
    }
}

/// An entry of a portion.
#[derive(Clone, Copy, Debug)]
struct Entry {
    inode: u64,
    /// Place in the list of the directory.
    index: u32,
    /// Where its name begins.
    name: u32,
}

/// A part of a directory: regular files, or entries of a kind that the directory does not tell.
#[derive(Debug, Default)]
struct Portion {
    entries: Vec<Entry>,
    /// All names, each with its zero byte.
    names: Vec<u8>,
}

impl Portion {
    fn push(&mut self, inode: u64, name: &CStr) {
        self.entries.push(Entry {
            inode,
            index: self.entries.len() as u32,
            name: self.names.len() as u32,
        });
        self.names.extend(name.to_bytes_with_nul());
    }

    fn name(&self, entry: Entry) -> &CStr {
        let bytes = self.names.get(entry.name as usize..).unwrap_or_default();
        CStr::from_bytes_until_nul(bytes).unwrap_or_default()
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.names.clear();
    }
}

/// Paths are below the root.
enum Job {
    /// List this directory, in a directory whose inode is in the group `above`.
    List { path: PathBuf, above: Option<u64> },
    /// Look at these files of a directory.
    Files(Arc<Path>, Portion),
}

/// Jobs, last in first out: that keeps their number near the depth of the tree.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    /// Portions among the jobs.
    portions: usize,
    busy: usize,
    stopped: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job) {
        let mut state = self.lock();
        state.portions += usize::from(matches!(job, Job::Files(..)));
        state.jobs.push(job);
        drop(state);
        self.changed.notify_one();
    }

    fn has_room(&self) -> bool {
        self.lock().portions < WAITING
    }

    /// The next job; `None` when all is done. Whoever gets one calls `done` after it.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                state.portions -= usize::from(matches!(job, Job::Files(..)));
                state.busy += 1;
                return Some(job);
            }
            if state.busy == 0 {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self) {
        let mut state = self.lock();
        state.busy -= 1;
        if state.busy == 0 && state.jobs.is_empty() {
            drop(state);
            self.changed.notify_all();
        }
    }

    fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.jobs.clear();
        drop(state);
        self.changed.notify_all();
    }
}

/// Marks a job as done even when the thread panics: the others must not wait for ever.
struct Done<'a>(&'a Queue);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        } else {
            self.0.done();
        }
    }
}

struct Worker<'a> {
    common: &'a Common<'a>,
    tally: Tally,
    problems: Vec<String>,
    problem_count: u64,
    failure: Option<Error>,
    mapper: Mapper,
    /// Whether a file here has told its map.
    has_maps: bool,
    rows: Vec<Extent>,
    /// First byte of each file of a portion, by place in the list; `u64::MAX`: none.
    firsts: Vec<u64>,
}

impl<'a> Worker<'a> {
    fn new(common: &'a Common<'a>) -> Worker<'a> {
        Worker {
            common,
            tally: Tally::default(),
            problems: Vec::new(),
            problem_count: 0,
            failure: None,
            mapper: Mapper::default(),
            has_maps: false,
            rows: Vec::new(),
            firsts: Vec::new(),
        }
    }

    fn work(mut self) -> Worker<'a> {
        // SAFETY: the descriptors that this thread uses from here on are the root's, which is in
        // the copied table under the same number and stays open there until the thread ends, and
        // those that it opens and closes itself: no `OwnedFd` goes to another thread.
        // Where it is not allowed, the shared table does as well, only slower.
        let _ = unsafe { libc::unshare(libc::CLONE_FILES) };
        while let Some(job) = self.common.queue.next() {
            let done = Done(&self.common.queue);
            match job {
                Job::List { path, above } => self.enter(path, above),
                Job::Files(path, mut portion) => match Directory::open(&path, self.common) {
                    Ok(directory) => self.files(&directory, &mut portion),
                    Err(error) => self.problem(&io("open", self.whole(&path))(error.into())),
                },
            }
            drop(done);
        }
        self
    }

    fn problem(&mut self, error: &Error) {
        self.tally.unreadable();
        self.note(error.to_string());
    }

    fn note(&mut self, words: String) {
        self.problem_count += 1;
        if self.problems.len() < KEPT {
            self.problems.push(words);
        }
    }

    /// A path below the root as the user would name it.
    fn whole(&self, path: &Path) -> PathBuf {
        if path.as_os_str().is_empty() {
            self.common.path.to_owned()
        } else {
            self.common.path.join(path)
        }
    }

    fn enter(&mut self, path: PathBuf, above: Option<u64>) {
        let path = Arc::from(path);
        match Directory::open(&path, self.common) {
            Ok(directory) => {
                if let (Some(above), Some(group)) = (above, directory.group) {
                    self.tally.child(above, group);
                }
                self.list(&directory);
            }
            Err(Errno::XDEV) => {
                self.tally.other();
                self.note(format!(
                    "{}: another filesystem is mounted here, so it was left out; name it by itself",
                    self.whole(&path).display()
                ));
            }
            Err(error) => self.problem(&io("open", self.whole(&path))(error.into())),
        }
    }

    fn list(&mut self, directory: &Directory) {
        self.tally.directory(directory.allocated);
        let mut buffer = vec![MaybeUninit::uninit(); 64 << 10];
        let mut entries = RawDir::new(directory.descriptor.as_fd(), &mut buffer);
        let mut portion = Portion::default();
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.problem(&io("list", self.whole(&directory.path))(error.into()));
                    break;
                }
            };
            let name = entry.file_name();
            match entry.file_type() {
                FileType::Directory if matches!(name.to_bytes(), b"." | b"..") => {}
                FileType::Directory => {
                    self.common.queue.push(Job::List {
                        path: directory.child(name),
                        above: directory.group,
                    });
                }
                FileType::RegularFile | FileType::Unknown => portion.push(entry.ino(), name),
                _ => self.tally.other(),
            }
            if portion.entries.len() == PORTION {
                if self.common.queue.has_room() {
                    let full = std::mem::take(&mut portion);
                    self.common
                        .queue
                        .push(Job::Files(Arc::clone(&directory.path), full));
                } else {
                    self.files(directory, &mut portion);
                    portion.clear();
                }
            }
        }
        self.files(directory, &mut portion);
    }

    fn files(&mut self, directory: &Directory, portion: &mut Portion) {
        if self.failure.is_some() {
            return;
        }
        let mut orders = [Order::default(); 3];
        for pair in portion.entries.windows(2) {
            orders[0].add(pair[0].inode, pair[1].inode);
        }
        portion.entries.sort_unstable_by_key(|entry| entry.inode);
        self.firsts.clear();
        self.firsts.resize(portion.entries.len(), u64::MAX);
        let mut last = None;
        for &entry in &portion.entries {
            let name = portion.name(entry);
            let Some(first) = self.one(directory, name) else {
                continue;
            };
            self.firsts[entry.index as usize] = first;
            if let Some(last) = last.replace(first) {
                orders[2].add(last, first);
            }
        }
        let mut listed = self.firsts.iter().filter(|&&first| first != u64::MAX);
        let mut last = listed.next();
        for first in listed {
            if let Some(last) = last.replace(first) {
                orders[1].add(*last, *first);
            }
        }
        self.tally.orders(orders);
    }

    /// Adds a file; its first byte on the filesystem, where it has one.
    fn one(&mut self, directory: &Directory, name: &CStr) -> Option<u64> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&directory.descriptor, name, flags, Mode::empty());
        let descriptor = match opened {
            Ok(descriptor) => descriptor,
            // A link or socket, on a filesystem whose directories do not tell kinds.
            Err(Errno::LOOP | Errno::NXIO) => {
                self.tally.other();
                return None;
            }
            Err(error) => {
                self.problem(&io("open", self.whole(&directory.child(name)))(
                    error.into(),
                ));
                return None;
            }
        };
        let stat = match rustix::fs::fstat(&descriptor) {
            Ok(stat) => stat,
            Err(error) => {
                self.problem(&io("look at", self.whole(&directory.child(name)))(
                    error.into(),
                ));
                return None;
            }
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => {
                if !matches!(name.to_bytes(), b"." | b"..") {
                    self.common.queue.push(Job::List {
                        path: directory.child(name),
                        above: directory.group,
                    });
                }
                return None;
            }
            _ => {
                self.tally.other();
                return None;
            }
        }
        self.rows.clear();
        let mut facts = FileFacts {
            inode: stat.st_ino,
            size: stat.st_size as u64,
            allocated: stat.st_blocks as u64 * 512,
            indirect: false,
        };
        // A file of neither bytes nor blocks has no map to ask for, once it is known that there
        // are maps.
        let is_empty = (facts.size, facts.allocated) == (0, 0);
        let ask = !is_empty || !self.has_maps;
        if ask && !self.map(&descriptor, facts.size, directory, name) {
            return None;
        }
        self.has_maps = true;
        if self.rows.len() > 1 {
            facts.indirect = self.common.magic == file::EXT
                && fibmap::has_extents_flag(&descriptor) == Some(false);
        }
        self.tally.add(facts, &self.rows, self.common.geometry);
        if let (Some(geometry), Some(group)) = (self.common.geometry, directory.group) {
            self.tally
                .child(group, geometry.group_of_inode(facts.inode));
        }
        let first = self.rows.iter().find(|row| row.flags.has_location());
        first.map(|row| row.physical)
    }

    /// Fills `rows`; whether that worked.
    fn map(&mut self, descriptor: &OwnedFd, size: u64, directory: &Directory, name: &CStr) -> bool {
        let request = self.common.request;
        let failure = match self.mapper.map(descriptor, request, &mut self.rows) {
            Ok(()) => return true,
            Err(failure) => failure,
        };
        let path = self.whole(&directory.child(name));
        let fatal = match failure {
            Failure::Io(error) => {
                self.problem(&io("map", path)(error));
                return false;
            }
            Failure::UnknownFlags(flags) => Error::UnknownFlags { path, flags },
            Failure::Unsupported(_) => {
                let mapped = fibmap::block_size(descriptor)
                    .and_then(|block| fibmap::map(descriptor, size, block, &mut self.rows));
                match mapped {
                    Ok(()) => return true,
                    Err(source) => Error::NoMap {
                        path,
                        filesystem: file::name_of(self.common.magic),
                        what: "files",
                        call: "FIBMAP",
                        source,
                    },
                }
            }
        };
        self.failure = Some(fatal);
        self.common.queue.stop();
        false
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    /// A folder on the disk that the sources are on; `None` where that has no FIEMAP.
    fn folder() -> Option<tempfile::TempDir> {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::fs::write(folder.path().join("probe"), b"x").unwrap();
        let file = File::open(folder.path().join("probe")).unwrap();
        let mapped = Mapper::default().map(&file, Request::default(), &mut Vec::new());
        std::fs::remove_file(folder.path().join("probe")).unwrap();
        if mapped.is_err() {
            println!("skipped: no FIEMAP in the source's folder");
        }
        mapped.ok().map(|()| folder)
    }

    #[test]
    fn every_file_is_counted_once_whatever_the_threads() {
        let Some(folder) = folder() else { return };
        let large = folder.path().join("large");
        std::fs::create_dir(&large).unwrap();
        for n in 0..PORTION + 100 {
            std::fs::write(large.join(format!("{n}")), b"x").unwrap();
        }
        for n in 0..7 {
            let deep = folder.path().join(format!("a/b{n}/c"));
            std::fs::create_dir_all(&deep).unwrap();
            std::fs::write(deep.join("file"), vec![1; 9000]).unwrap();
        }
        std::fs::write(folder.path().join("empty"), b"").unwrap();
        std::os::unix::fs::symlink("large", folder.path().join("link")).unwrap();
        let mut seen = Vec::new();
        for threads in [1, 2, 5] {
            let options = Options {
                threads,
                sync: true,
            };
            let scan = scan(folder.path(), options).unwrap();
            assert_eq!(scan.problems, Vec::<String>::new());
            seen.push(scan.tally.summary());
        }
        let first = &seen[0];
        assert_eq!(first.files, PORTION as u64 + 100 + 7 + 1);
        assert_eq!((first.directories, first.others), (1 + 1 + 1 + 14, 1));
        assert_eq!(first.size, PORTION as u64 + 100 + 7 * 9000);
        assert!(first.unmapped_files >= 1);
        assert_eq!(first.listed_inodes.pairs, PORTION as u64 - 1 + 99);
        assert!(seen.iter().all(|other| {
            (other.files, other.rows, other.extents, other.mapped)
                == (first.files, first.rows, first.extents, first.mapped)
        }));
    }

    #[test]
    fn a_filesystem_without_maps_is_one_error() {
        let error = scan(Path::new("/proc/self/net"), Options::default()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("does not tell where files lie"), "{text}");
        assert!(!text.contains('\n'));
        let error = scan(Path::new("/no/such/folder"), Options::default()).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder"));
    }

    #[test]
    fn what_vanishes_or_is_not_a_file_does_not_end_the_scan() {
        let Some(folder) = folder() else { return };
        let opened = File::open(folder.path()).unwrap();
        let common = Common {
            root: opened.as_fd(),
            path: folder.path(),
            geometry: None,
            request: Request::default(),
            magic: 0,
            queue: Queue::default(),
        };
        let directory = Directory::open(&Arc::from(Path::new("")), &common).unwrap();
        std::fs::write(folder.path().join("there"), b"1").unwrap();
        std::os::unix::fs::symlink("there", folder.path().join("link")).unwrap();
        let mut portion = Portion::default();
        for name in [c"gone", c"link", c"there"] {
            portion.push(1, name);
        }
        let mut worker = Worker::new(&common);
        worker.files(&directory, &mut portion);
        worker.enter("gone-too".into(), None);
        let sum = worker.tally.summary();
        assert_eq!((sum.files, sum.others, sum.unreadable), (1, 1, 2));
        let lines = worker.problems.join("\n");
        let path = folder.path().to_str().unwrap();
        insta::assert_snapshot!(lines.replace(path, "/folder"));
    }
}
