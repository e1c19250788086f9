//! One thread's work: lists directories, opens files, takes their maps, and adds them up.

#![allow(unsafe_code, reason = "a table of descriptors for each thread")]

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;

use super::batch::Batch;
use super::directory::Directory;
use super::portion::Portion;
use super::queue::{Done, Job};
use super::{Common, KEPT, PORTION};
use crate::error::{Error, io};
use crate::extent::Extent;
use crate::fiemap::{Failure, Mapper};
use crate::summary::Order;
use crate::tally::{FileFacts, Tally};
use crate::{fibmap, magic};

/// A thread and what it has counted.
pub(super) struct Worker<'a> {
    common: &'a Common<'a>,
    pub(super) tally: Tally,
    pub(super) problems: Vec<String>,
    pub(super) problem_count: u64,
    pub(super) failure: Option<Error>,
    batch: Batch,
    mapper: Mapper,
    /// Whether a file here has reported its map.
    has_maps: bool,
    rows: Vec<Extent>,
    /// First byte of each file of a portion, by place in the list; `u64::MAX`: none.
    firsts: Vec<u64>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(common: &'a Common<'a>) -> Worker<'a> {
        Worker {
            common,
            tally: Tally::default(),
            problems: Vec::new(),
            problem_count: 0,
            failure: None,
            batch: Batch::default(),
            mapper: Mapper::default(),
            has_maps: false,
            rows: Vec::new(),
            firsts: Vec::new(),
        }
    }

    pub(super) fn work(mut self) -> Worker<'a> {
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

    pub(super) fn enter(&mut self, path: PathBuf, above: Option<u64>) {
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

    pub(super) fn files(&mut self, directory: &Directory, portion: &mut Portion) {
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
        let mut batch = std::mem::take(&mut self.batch);
        let mut entries = portion.entries.as_slice();
        loop {
            let taken = batch.open(directory, portion, entries);
            if taken == 0 {
                break;
            }
            entries = &entries[taken..];
            for (entry, file) in batch.opened() {
                let Some(first) = self.one(directory, portion.name(*entry), file) else {
                    continue;
                };
                self.firsts[entry.index as usize] = first;
                if let Some(last) = last.replace(first) {
                    orders[2].add(last, first);
                }
            }
        }
        self.batch = batch;
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
    fn one(
        &mut self,
        directory: &Directory,
        name: &CStr,
        opened: &Result<OwnedFd, Errno>,
    ) -> Option<u64> {
        let descriptor = match opened {
            Ok(descriptor) => descriptor,
            // A link or socket, on a filesystem whose directories do not hold types.
            Err(Errno::LOOP | Errno::NXIO) => {
                self.tally.other();
                return None;
            }
            Err(error) => {
                let path = self.whole(&directory.child(name));
                self.problem(&io("open", path)((*error).into()));
                return None;
            }
        };
        let stat = match rustix::fs::fstat(descriptor) {
            Ok(stat) => stat,
            Err(error) => {
                let path = self.whole(&directory.child(name));
                self.problem(&io("look at", path)(error.into()));
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
        if ask && !self.map(descriptor, facts.size, directory, name) {
            return None;
        }
        self.has_maps = true;
        if self.rows.len() > 1 {
            facts.indirect = magic::is_ext(self.common.magic)
                && fibmap::has_extents_flag(descriptor) == Some(false);
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
                        filesystem: magic::name_of(self.common.magic),
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
