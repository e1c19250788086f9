//! Whole trees: open, fstat and FIEMAP for each file, by several threads; some files are closed at
//! once ([`batch`]).
//!
//! Nothing is allocated for a file: names are in one string for each portion of a directory, rows
//! go to a vector that is used again, and what is counted of a file is added to the thread's own
//! tally at once. A directory is listed by one thread, which hands portions of [`PORTION`] entries
//! to the others and works through them itself when no worker is idle, so memory stays the
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

mod batch;
mod directory;
mod portion;
mod queue;
mod worker;

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;
use crate::fiemap::Request;
use crate::file;
use crate::geometry::{self, Geometry};
use crate::tally::Tally;
use queue::{Job, Queue};
use worker::Worker;

/// Entries of a directory that are worked on together.
pub const PORTION: usize = 2048;

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
    pub geometry: Option<Arc<dyn Geometry>>,
}

/// Looks at every regular file below a directory.
///
/// # Errors
/// When the directory itself cannot be opened, or its filesystem has no FIEMAP. Whatever fails
/// further down is a problem of the [`Scan`], and does not end it.
pub fn scan(root: &Path, options: Options) -> Result<Scan, Error> {
    let opened = file::open(root)?;
    let geometry = geometry::of(&opened);
    let magic = rustix::fs::fstatfs(&opened).map_or(0, |fs| fs.f_type as u64);
    let common = Common {
        root: opened.as_fd(),
        path: root,
        geometry: geometry.as_deref(),
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
        let make = |_| {
            let builder = std::thread::Builder::new();
            builder.spawn_scoped(scope, || Worker::new(&common).work())
        };
        let workers: Vec<_> = (0..threads).map_while(|n| make(n).ok()).collect();
        // Where no thread can be made, this one does it all.
        let alone = workers.is_empty().then(|| Worker::new(&common).work());
        let joined = workers.into_iter().map(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        for done in joined.chain(alone) {
            scan.tally.merge(done.tally);
            scan.problem_count += done.problem_count;
            let room = KEPT.saturating_sub(scan.problems.len());
            scan.problems.extend(done.problems.into_iter().take(room));
            failure = failure.take().or(done.failure);
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
    geometry: Option<&'a dyn Geometry>,
    request: Request,
    magic: u64,
    queue: Queue,
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use super::directory::Directory;
    use super::portion::Portion;
    use super::*;
    use crate::fiemap::Mapper;

    /// A folder on the disk that the sources are on; `None` where that has no FIEMAP.
    fn folder() -> Option<tempfile::TempDir> {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::fs::write(folder.path().join("probe"), b"x").unwrap();
        let file = File::open(folder.path().join("probe")).unwrap();
        let mapped = Mapper::default().map(&file, Request::default(), &mut Vec::new());
        std::fs::remove_file(folder.path().join("probe")).unwrap();
        if mapped.is_err() {
            testkit::skip!("no FIEMAP in the source's folder");
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
        assert!(text.contains("does not report where files are"), "{text}");
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
