//! A filesystem in use: it is filled, thinned out and filled again, by the kernel, until it is stopped.
//!
//! Progress is counted in operations, and a copy of the device waits for a number of operations, never for a time: on a
//! slow machine the copies are of the same moments as on a fast one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard};

use rustix::fs::{XattrFlags, lsetxattr, statvfs, syncfs};

/// Number of directories, and of possible names in each: enough that the kernel indexes them at every block size.
const DIRECTORIES: u64 = 8;
const NAMES: u64 = 500;
/// Operations between two fsyncs.
const SYNC: u64 = 90;

/// Progress of the ageing, and whether to continue.
#[derive(Default)]
pub(crate) struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    done: u64,
    wanted: Wanted,
    at: Where,
}

/// Requests to the ageing thread.
#[derive(Default, PartialEq)]
enum Wanted {
    #[default]
    GoOn,
    Hold,
    Stop,
}

/// State of the ageing thread.
#[derive(Default, PartialEq)]
enum Where {
    #[default]
    Within,
    /// Paused between two operations.
    Between,
    Ended,
}

impl Progress {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn wait(&self, holds: impl Fn(&State) -> bool) {
        let waiting = |state: &mut State| state.at != Where::Ended && !holds(state);
        let state = self.changed.wait_while(self.state(), waiting).unwrap();
        assert!(
            state.at != Where::Ended,
            "the ageing came to an end by itself"
        );
    }

    fn want(&self, wanted: Wanted) {
        self.state().wanted = wanted;
        self.changed.notify_all();
    }

    /// Waits until this many more operations are done.
    pub(crate) fn wait_for(&self, more: u64) {
        let until = self.state().done + more;
        self.wait(|state| state.done >= until);
    }

    /// Runs something between two operations.
    pub(crate) fn between<T>(&self, act: impl FnOnce() -> T) -> T {
        self.want(Wanted::Hold);
        self.wait(|state| state.at == Where::Between);
        let value = act();
        self.want(Wanted::GoOn);
        value
    }

    /// When dropped, stops the ageing after the current operation: also on a panic, so that no thread waits for ever.
    pub(crate) fn stopping(&self) -> Stopping<'_> {
        Stopping(self)
    }

    /// Counts an operation; returns whether to do another.
    fn done(&self) -> bool {
        let mut state = self.state();
        state.done += 1;
        if state.wanted == Wanted::Hold {
            state.at = Where::Between;
        }
        self.changed.notify_all();
        let held = |state: &mut State| state.wanted == Wanted::Hold;
        let mut state = self.changed.wait_while(state, held).unwrap();
        state.at = Where::Within;
        state.wanted != Wanted::Stop
    }
}

/// See [`Progress::stopping`].
pub(crate) struct Stopping<'a>(&'a Progress);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.want(Wanted::Stop);
    }
}

/// Reports that the ageing has ended, also on a panic.
struct Ended<'a>(&'a Progress);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.state().at = Where::Ended;
        self.0.changed.notify_all();
    }
}

/// What the operations did, so that a test in which nothing happened fails.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) files: u64,
    pub(crate) sparse: u64,
    pub(crate) hard_links: u64,
    pub(crate) symlinks: u64,
    pub(crate) attributes: u64,
    pub(crate) removed: u64,
    pub(crate) fillings: u64,
}

/// Pseudo-random numbers, the same for a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Ages the filesystem below `root` until it is stopped.
pub(crate) fn age(root: &Path, seed: u64, progress: &Progress) -> Done {
    let _ended = Ended(progress);
    let mut ager = Ager {
        root,
        random: Random(seed),
        step: 0,
        filling: true,
        done: Done::default(),
    };
    loop {
        ager.operation();
        if !progress.done() {
            return ager.done;
        }
    }
}

struct Ager<'a> {
    root: &'a Path,
    random: Random,
    step: u64,
    filling: bool,
    done: Done,
}

impl Ager<'_> {
    fn directory(&mut self) -> PathBuf {
        self.root
            .join(format!("d{}", self.random.below(DIRECTORIES)))
    }

    /// A name of 12 to 92 bytes, the same for the same number.
    fn file(&mut self) -> PathBuf {
        let directory = self.directory();
        let number = self.random.below(NAMES);
        let rest = "n".repeat((number * 37 % 81) as usize);
        directory.join(format!("file-{number:03}-{rest}end"))
    }

    /// One operation of a user. ENOSPC, ENOENT and EEXIST are expected.
    fn operation(&mut self) {
        self.step += 1;
        let result = if self.filling {
            self.fill()
        } else {
            self.thin()
        };
        if result.is_err_and(|error| error.kind() == io::ErrorKind::StorageFull) && self.filling {
            self.filling = false;
            self.done.fillings += 1;
        }
        if self.step.is_multiple_of(SYNC) {
            let root = File::open(self.root).unwrap();
            syncfs(&root).unwrap();
            let left = statvfs(self.root).unwrap();
            self.filling |= left.f_bavail > left.f_blocks / 2;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let file = self.file();
        match self.random.below(20) {
            0..=10 => {
                let parent = file.parent().unwrap();
                fs::create_dir(parent)
                    .or_else(|error| ignore(error, io::ErrorKind::AlreadyExists))?;
                let bytes = vec![self.step as u8; self.random.below(120_000) as usize];
                fs::write(&file, bytes)?;
                self.done.files += 1;
            }
            11 => self.sparse(&file)?,
            12 | 13 => {
                fs::hard_link(&file, self.directory().join(format!("link-{}", self.step)))?;
                self.done.hard_links += 1;
            }
            14 | 15 => {
                // A target in the inode, and one too long for it.
                let target = "t".repeat(self.random.below(150) as usize + 1);
                symlink(target, &file)?;
                self.done.symlinks += 1;
            }
            16 | 17 => {
                // A value in the inode, in a shared block, and in its own block.
                let value = vec![b'v'; [30, 400, 900][self.random.below(3) as usize]];
                let name = format!("user.{}", self.random.below(4));
                lsetxattr(&file, name, &value, XattrFlags::empty())?;
                self.done.attributes += 1;
            }
            18 => fs::rename(&file, self.file())?,
            _ => self.remove(&file)?,
        }
        Ok(())
    }

    /// A file with holes: several levels of mapping.
    fn sparse(&mut self, file: &Path) -> io::Result<()> {
        let file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(file)?;
        for _ in 0..24 {
            file.write_all_at(b"piece", self.random.below(600) * 16_384)?;
        }
        if self.random.below(3) == 0 {
            file.set_len(self.random.below(600) * 16_384)?;
        }
        self.done.sparse += 1;
        Ok(())
    }

    /// Removes or truncates a file.
    fn thin(&mut self) -> io::Result<()> {
        let directory = self.directory();
        if self.random.below(300) == 0 {
            return fs::remove_dir_all(directory);
        }
        let names = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
        let Some(entry) = names.get(self.random.below(names.len().max(1) as u64) as usize) else {
            return Ok(());
        };
        if self.random.below(8) == 0 {
            let file = OpenOptions::new().write(true).open(entry.path())?;
            return file.set_len(self.random.below(9000));
        }
        self.remove(&entry.path())
    }

    fn remove(&mut self, file: &Path) -> io::Result<()> {
        fs::remove_file(file)?;
        self.done.removed += 1;
        Ok(())
    }
}

fn ignore(error: io::Error, kind: io::ErrorKind) -> io::Result<()> {
    if error.kind() == kind {
        Ok(())
    } else {
        Err(error)
    }
}
