//! The operations that walk a tree: read, stat, delete, and noting its order.
//!
//! `os.walk` as the original uses it: a directory is listed whole and closed, then its names are
//! classified, then files and directories are visited in the order of the listing. Names of all
//! open levels are on one stack.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};

use super::worker::{Name, Tally, Worker};
use crate::Error;
use crate::calls::Call;

/// What a walk does with what it meets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Visit {
    /// Read files, top-down.
    Read,
    /// Look up files and directories, bottom-up.
    Stat,
    /// Remove them, bottom-up.
    Delete,
    /// Note the paths of files, top-down.
    Note,
}

impl Worker<'_> {
    /// delete: everything in `tree`, bottom-up; its top directory stays.
    pub(super) fn delete(&mut self, tree: &str) -> Result<Tally, Error> {
        self.walk_tree(tree, Visit::Delete)
    }

    /// read: every file of `tree`, top-down in the order of the directories.
    pub(super) fn read(&mut self, tree: &str) -> Result<Tally, Error> {
        self.walk_tree(tree, Visit::Read)?;
        self.tally.counted = self.tally.read;
        Ok(self.tally)
    }

    /// stat: every file and directory of `tree`, bottom-up.
    pub(super) fn stat(&mut self, tree: &str) -> Result<Tally, Error> {
        self.walk_tree(tree, Visit::Stat)
    }

    /// The paths of all files of `tree`, top-down in the order of its directories.
    pub(super) fn note(&mut self, tree: &str) -> Result<Vec<Vec<u8>>, Error> {
        self.walk_tree(tree, Visit::Note)?;
        Ok(std::mem::take(&mut self.noted))
    }

    fn walk_tree(&mut self, tree: &str, visit: Visit) -> Result<Tally, Error> {
        let top = self.enter(tree);
        self.path.truncate(top - 1);
        self.names.clear();
        self.letters.clear();
        self.walk(top, visit)?;
        Ok(self.tally)
    }

    /// `os.walk` from the path in work. `top` is where paths inside the tree begin.
    fn walk(&mut self, top: usize, visit: Visit) -> Result<(), Error> {
        let (names, letters) = (self.names.len(), self.letters.len());
        let here = self.path.len();
        self.list()?;
        let range = names..self.names.len();
        let topdown = matches!(visit, Visit::Read | Visit::Note);
        if topdown {
            self.files_of(range.clone(), top, visit)?;
        }
        for i in range.clone() {
            if self.names[i].dir {
                self.enter_name(self.names[i]);
                self.walk_into(top, visit)?;
                self.path.truncate(here);
            }
        }
        if !topdown {
            self.files_of(range.clone(), top, visit)?;
            for i in range {
                if self.names[i].dir {
                    self.enter_name(self.names[i]);
                    self.visit_dir(visit)?;
                    self.path.truncate(here);
                }
            }
        }
        self.names.truncate(names);
        self.letters.truncate(letters);
        Ok(())
    }

    /// A directory inside a walk, which Python 2 asks first whether it is a link.
    fn walk_into(&mut self, top: usize, visit: Visit) -> Result<(), Error> {
        if self.compat {
            let begun = self.now();
            self.call(|dir, path| {
                rustix::fs::statat(dir, path, AtFlags::SYMLINK_NOFOLLOW).map(drop)
            })
            .map_err(|e| self.failed("stat", e))?;
            self.ended(Call::Stat, begun);
        }
        self.walk(top, visit)
    }

    fn files_of(
        &mut self,
        range: std::ops::Range<usize>,
        top: usize,
        visit: Visit,
    ) -> Result<(), Error> {
        let here = self.path.len();
        for i in range {
            if !self.names[i].dir {
                self.reporter.check()?;
                self.enter_name(self.names[i]);
                self.visit_file(top, visit)?;
                self.path.truncate(here);
            }
        }
        Ok(())
    }

    fn enter_name(&mut self, name: Name) {
        self.path.push(b'/');
        self.path
            .extend_from_slice(&self.letters[name.at..name.at + name.len]);
    }

    fn visit_file(&mut self, top: usize, visit: Visit) -> Result<(), Error> {
        self.tally.files += 1;
        match visit {
            Visit::Note => self.noted.push(self.path[top..].to_vec()),
            Visit::Read => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let begun = self.now();
                let file = self
                    .call(|dir, path| rustix::fs::openat(dir, path, flags, Mode::empty()))
                    .map_err(|e| self.failed("open", e))?;
                let begun = self.ended(Call::Open, begun);
                let read = self.drain(&file, begun)?;
                let begun = self.now();
                drop(file);
                self.ended(Call::Close, begun);
                self.reporter.add(read);
            }
            Visit::Stat => self.look()?,
            Visit::Delete => {
                let begun = self.now();
                self.call(|dir, path| rustix::fs::unlinkat(dir, path, AtFlags::empty()))
                    .map_err(|e| self.failed("unlink", e))?;
                self.ended(Call::Unlink, begun);
            }
        }
        Ok(())
    }

    fn visit_dir(&mut self, visit: Visit) -> Result<(), Error> {
        if visit == Visit::Stat {
            self.tally.files += 1;
            return self.look();
        }
        self.call(|dir, path| rustix::fs::unlinkat(dir, path, AtFlags::REMOVEDIR))
            .map_err(|e| self.failed("remove directory", e))
    }

    fn look(&mut self) -> Result<(), Error> {
        let begun = self.now();
        self.call(|dir, path| rustix::fs::statat(dir, path, AtFlags::empty()).map(drop))
            .map_err(|e| self.failed("stat", e))?;
        self.ended(Call::Stat, begun);
        Ok(())
    }

    /// `os.listdir` of the path in work onto the stack, then what distinguishes directories from files.
    fn list(&mut self) -> Result<(), Error> {
        let first = self.names.len();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = self
            .call(|dir, path| rustix::fs::openat(dir, path, flags, Mode::empty()))
            .map_err(|e| self.failed("open directory", e))?;
        let mut listed = Ok(());
        let mut entries = RawDir::new(&fd, &mut self.listing);
        let mut unknown = self.compat;
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(e) => {
                    listed = Err(e);
                    break;
                }
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            unknown |= entry.file_type() == FileType::Unknown;
            self.names.push(Name {
                at: self.letters.len(),
                len: name.len(),
                dir: entry.file_type() == FileType::Directory,
            });
            self.letters.extend_from_slice(name);
        }
        listed.map_err(|e| self.failed("list directory", e))?;
        drop(fd);
        if unknown {
            self.tell_apart(first)
        } else {
            Ok(())
        }
    }

    fn tell_apart(&mut self, first: usize) -> Result<(), Error> {
        let here = self.path.len();
        for i in first..self.names.len() {
            self.enter_name(self.names[i]);
            let begun = self.now();
            let stat = self
                .call(|dir, path| rustix::fs::statat(dir, path, AtFlags::empty()))
                .map_err(|e| self.failed("stat", e))?;
            self.ended(Call::Stat, begun);
            self.names[i].dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            self.path.truncate(here);
        }
        Ok(())
    }
}
