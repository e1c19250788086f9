//! The folder of one run: its files, and who may write.
//!
//! One writer at a time holds an exclusive `flock` on the file `lock`, whose text is the writer's
//! pid. `flock` was chosen over a pid file alone because the kernel drops it when the holder dies,
//! also by kill -9, so a dead run never has to be unlocked by hand; and over locking the log itself
//! because readers would then collide with writers on file systems that map `flock` to byte ranges.
//! Looking whether a run is being written takes the lock shared for a moment; a writer that meets
//! such a moment tries again for a tenth of a second before it gives up.

use std::ffi::CString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rundir::{Authority, RunDir, Whereabouts};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::Error;
use crate::names::name_of;
pub use crate::names::{EVENTS, RUNS, default_dir, meant};

const LOCK: &str = "lock";
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// A run's folder. When made by [`create`](Self::create) or [`open_to_write`](Self::open_to_write)
/// it holds the run's lock until dropped.
#[derive(Debug)]
pub struct RunFolder {
    dir: RunDir,
    name: String,
    lock: Option<File>,
}

impl RunFolder {
    /// Makes the folder (and those above it) with its sub-folders, and locks it. An empty folder
    /// that is there is taken.
    ///
    /// # Errors
    /// [`Error::RunExists`], [`Error::NotEmpty`], [`Error::NotAFolder`], [`Error::CannotCreate`],
    /// [`Error::Locked`].
    pub fn create(dir: &Path) -> Result<RunFolder, Error> {
        let failed = |cause| Error::CannotCreate {
            dir: dir.to_owned(),
            cause,
        };
        match fs::metadata(dir) {
            Ok(found) if !found.is_dir() => {
                return Err(Error::NotAFolder {
                    dir: dir.to_owned(),
                });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut builder = DirBuilder::new();
                let made = builder.recursive(true).mode(0o755).create(dir);
                made.map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        RunFolder::begin(RunDir::open_itself(dir)?)
    }

    /// Makes the sub-folders of an opened folder, which must be empty, and locks it.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn begin(dir: RunDir) -> Result<RunFolder, Error> {
        let path = dir.path().to_owned();
        let failed = |cause| Error::CannotCreate {
            dir: path.clone(),
            cause,
        };
        refuse_unless_empty(&dir)?;
        dir.require(Authority::Obeys)?;
        let mut folder = RunFolder::of(dir);
        folder.lock = match lock(&folder.dir, &folder.name) {
            Err(Error::Io { cause, .. }) => return Err(failed(cause)),
            other => Some(other?),
        };
        for sub in ["telemetry", "images", "mnt"] {
            match folder.dir.make_folder(sub) {
                Err(rundir::Error::Io { source, .. }) => return Err(failed(source)),
                other => drop(other?),
            }
        }
        Ok(folder)
    }

    /// Opens a run to read it; nothing is locked. The folder may be anyone's: no link in it is followed,
    /// and its log is read only when it is a regular file.
    ///
    /// # Errors
    /// [`Error::NotARun`]; [`Error::Unsafe`]; [`Error::Io`] when it cannot be reached.
    pub fn open(dir: &Path) -> Result<RunFolder, Error> {
        let missing = || Error::not_a_run(dir);
        let opened = RunDir::open(dir).map_err(|error| match Error::from(error) {
            Error::Io { cause, .. } if is_elsewhere(&cause) => missing(),
            other => other,
        })?;
        let folder = RunFolder::of(opened);
        match folder.dir.read(EVENTS) {
            Ok(Some(_)) => Ok(folder),
            Ok(None) => Err(missing()),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a run to go on with it, and locks it. As root the folder and what is in it must belong to root or to the
    /// caller; nothing in it may be a link.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Error::Locked`] while another process writes it.
    pub fn open_to_write(dir: &Path) -> Result<RunFolder, Error> {
        // What is no run is said first.
        RunFolder::open(dir)?;
        let mut folder = RunFolder::of(RunDir::open_as(dir, Authority::ObeysAll)?);
        if folder.dir.read(EVENTS)?.is_none() {
            return Err(Error::not_a_run(dir));
        }
        folder.lock = Some(lock(&folder.dir, &folder.name)?);
        Ok(folder)
    }

    fn of(dir: RunDir) -> RunFolder {
        RunFolder {
            name: name_of(dir.path()),
            dir,
            lock: None,
        }
    }

    /// Removes the folder of a run in which nothing was recorded: its empty sub-folders, its log, lock and
    /// the files named. What else is in it stays, and then the folder stays as well.
    pub fn discard(self, files: &[&str]) {
        for sub in ["telemetry", "images", "mnt"] {
            // Not empty: something is left that `fslab clean` undoes.
            let _ = self.dir.remove_empty(sub);
        }
        for file in files {
            let _ = self.dir.remove(file);
        }
        let own = [EVENTS, LOCK];
        let is_own = |name: &CString| own.iter().any(|own| name.to_bytes() == own.as_bytes());
        if !self.dir.names("").is_ok_and(|left| left.iter().all(is_own)) {
            return;
        }
        for file in own {
            let _ = self.dir.remove(file);
        }
        // Only an empty folder can be removed so, also where another has its place now.
        let dir = self.dir();
        let _ = fs::remove_dir(dir);
        // The usual folder of runs may have been made for this one.
        if let Some(runs) = dir.parent().filter(|runs| runs.ends_with(RUNS)) {
            let _ = fs::remove_dir(runs);
        }
    }

    /// The run's name: its folder's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Absolute path of the folder.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The folder as it was opened.
    pub fn opened(&self) -> &RunDir {
        &self.dir
    }

    /// A check that the folder is still in its place, for a thread of its own.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn presence(&self) -> Result<Presence, Error> {
        let dir = self.dir.try_clone()?;
        Ok(Presence { dir })
    }

    /// Whether this value holds the run's lock.
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// The event log: the truth.
    pub fn events(&self) -> PathBuf {
        self.dir().join(EVENTS)
    }

    /// Folder of the telemetry files.
    pub fn telemetry(&self) -> PathBuf {
        self.dir().join("telemetry")
    }

    /// Telemetry file of a trial (0-based), relative to the folder, as `TrialStarted` names it; the
    /// file's own number counts from 1. A trial that runs again after a resume gets it anew.
    pub fn telemetry_of(trial: u32) -> String {
        format!("telemetry/trial-{:04}.tele", trial + 1)
    }

    /// Folder of the listings of where a trial's files lay (0-based), relative to the folder.
    pub fn layouts_of(trial: u32) -> String {
        format!("layouts/trial-{:04}", trial + 1)
    }

    /// Folder of a trial's block traces (0-based), relative to the folder.
    pub fn traces_of(trial: u32) -> String {
        format!("traces/trial-{:04}", trial + 1)
    }

    /// Requests of a phase of a trial (0-based), relative to the folder.
    pub fn reads_of(trial: u32, phase: &str) -> String {
        format!("reads/trial-{:04}.{phase}", trial + 1)
    }

    /// Folder of the loop images.
    pub fn images(&self) -> PathBuf {
        self.dir().join("images")
    }

    /// Folder of the mount points.
    pub fn mounts(&self) -> PathBuf {
        self.dir().join("mnt")
    }
}

/// Whether a run's folder is still where it was opened.
#[derive(Debug)]
pub struct Presence {
    dir: RunDir,
}

impl Presence {
    /// Requires that the folder and its log are still in their place.
    ///
    /// # Errors
    /// [`Error::FolderGone`] when it was moved or deleted, or its log was deleted.
    pub fn require(&self) -> Result<(), Error> {
        let gone = |fate: String, next: String, now| Error::FolderGone {
            dir: self.dir.path().to_owned(),
            fate,
            next,
            now,
        };
        let again = || "run the study again".to_owned();
        match self.dir.whereabouts() {
            Whereabouts::Here if self.dir.status(Path::new(EVENTS))?.is_none() => Err(gone(
                format!("lost its log ({EVENTS} was deleted)"),
                again(),
                None,
            )),
            Whereabouts::Here => Ok(()),
            Whereabouts::Moved(now) => Err(gone(
                format!("was moved to {}", now.display()),
                format!(
                    "leave it in one place, then go on with `fslab resume {}`",
                    now.display()
                ),
                Some(now),
            )),
            Whereabouts::Deleted => Err(gone("was deleted".to_owned(), again(), None)),
        }
    }
}

fn refuse_unless_empty(dir: &RunDir) -> Result<(), Error> {
    let names = dir.names("")?;
    let path = || dir.path().to_owned();
    if names
        .iter()
        .any(|name| name.to_bytes() == EVENTS.as_bytes())
    {
        return Err(Error::RunExists { dir: path() });
    }
    match names.first() {
        None => Ok(()),
        Some(found) => Err(Error::NotEmpty {
            dir: path(),
            found: found.to_string_lossy().into_owned(),
        }),
    }
}

/// Whether a path leads to nothing, not to a folder, or cannot be a path at all (too long).
fn is_elsewhere(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename
    )
}

/// Takes the lock and writes this process's pid into it.
fn lock(dir: &RunDir, run: &str) -> Result<File, Error> {
    let path = dir.path().join(LOCK);
    let cannot = |cause: io::Error| Error::io("lock", &path, cause);
    let mut file = match dir.write(LOCK) {
        Err(rundir::Error::Io { source, .. }) => return Err(cannot(source)),
        other => other?,
    };
    for _ in 0..TRIES {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let pid = format!("{}\n", std::process::id());
                file.set_len(0)
                    .and_then(|()| file.write_all(pid.as_bytes()))
                    .map_err(cannot)?;
                return Ok(file);
            }
            Err(Errno::AGAIN | Errno::INTR) => thread::sleep(PAUSE),
            Err(errno) => return Err(cannot(errno.into())),
        }
    }
    Err(Error::Locked {
        run: run.to_owned(),
        holder: holder(dir),
    })
}

/// The process that writes the run in `dir` now; none when none does, or when that cannot be seen.
pub fn writer(dir: &RunDir) -> Option<String> {
    let file = dir.read(LOCK).ok()??;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::AGAIN) => Some(holder(dir)),
        _ => None,
    }
}

fn holder(dir: &RunDir) -> String {
    let mut text = String::new();
    if let Ok(Some(file)) = dir.read(LOCK) {
        // Unreadable: not known.
        let _ = file.take(32).read_to_string(&mut text);
    }
    match text.trim().parse::<u32>() {
        Ok(pid) => format!("pid {pid}"),
        Err(_) => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::datetime;
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

    fn text(result: Result<RunFolder, Error>) -> String {
        let text = result.unwrap_err().to_string();
        assert!(!text.contains('\n'), "{text}");
        text
    }

    #[test]
    fn a_new_run_gets_its_folders_and_its_lock() {
        let temp = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&temp.path().join("runs/a")).unwrap();
        assert_eq!(folder.name(), "a");
        assert!(folder.is_locked());
        for sub in [folder.telemetry(), folder.images(), folder.mounts()] {
            assert!(sub.is_dir(), "{}", sub.display());
        }
        let pid = fs::read_to_string(folder.dir().join("lock")).unwrap();
        assert_eq!(pid.trim(), std::process::id().to_string());
    }

    #[test]
    fn a_name_is_one_line_whatever_the_folder_is_called() {
        let temp = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&temp.path().join("two\nlines\u{1b}[2J")).unwrap();
        assert_eq!(folder.name(), "two\\nlines\\u{1b}[2J");
        assert!(folder.dir().ends_with("two\nlines\u{1b}[2J"));
    }

    #[test]
    fn an_empty_folder_is_taken_and_a_full_one_refused() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("thesis.tex"), "x").unwrap();
        let message = text(RunFolder::create(temp.path()));
        assert!(
            message.contains("thesis.tex") && message.contains("--out"),
            "{message}"
        );
        let empty = temp.path().join("empty");
        fs::create_dir(&empty).unwrap();
        RunFolder::create(&empty).unwrap();
    }

    #[test]
    fn an_existing_run_is_refused_with_the_way_on() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(EVENTS), "").unwrap();
        let message = text(RunFolder::create(temp.path()));
        assert!(
            message.contains("fslab resume") && message.contains("--out"),
            "{message}"
        );
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(text(RunFolder::create(&file)).contains("not a folder"));
        let message = text(RunFolder::create(&file.join("run")));
        assert!(
            message.starts_with("cannot make the run folder"),
            "{message}"
        );
    }

    #[test]
    fn a_read_only_place_is_named_needs_root() {
        if !testkit::root!() {
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        mount(
            "tmpfs",
            temp.path(),
            "tmpfs",
            MountFlags::RDONLY,
            c"mode=0755",
        )
        .unwrap();
        let below = RunFolder::create(&temp.path().join("run"));
        let itself = RunFolder::create(temp.path());
        unmount(temp.path(), UnmountFlags::DETACH).unwrap();
        for result in [below, itself] {
            let message = text(result);
            assert!(
                message.contains("Read-only file system") && message.contains("--out"),
                "{message}"
            );
        }
    }

    #[test]
    fn one_writer_at_a_time() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("a");
        let first = RunFolder::create(&dir).unwrap();
        fs::write(first.events(), "").unwrap();
        let me = format!("pid {}", std::process::id());
        assert_eq!(
            writer(&RunDir::open(&dir).unwrap()).as_deref(),
            Some(me.as_str())
        );
        let message = text(RunFolder::open_to_write(&dir));
        assert_eq!(
            message,
            format!(
                "run a is being written by {me}: wait until it ends, or stop it with Ctrl-C there"
            )
        );
        RunFolder::open(&dir).unwrap();
        drop(first);
        // A process that another test starts at this moment has the lock's file open, too, until it executes its program.
        let begun = std::time::Instant::now();
        while writer(&RunDir::open(&dir).unwrap()).is_some() && begun.elapsed().as_secs() < 10 {
            std::thread::yield_now();
        }
        assert_eq!(writer(&RunDir::open(&dir).unwrap()), None);
        RunFolder::open_to_write(&dir).unwrap();
    }

    #[test]
    fn a_folder_without_a_log_is_no_run() {
        let temp = tempfile::tempdir().unwrap();
        assert!(text(RunFolder::open(temp.path())).contains("events.jsonl"));
        assert!(text(RunFolder::open(&temp.path().join("none"))).contains("not a run folder"));
    }

    #[test]
    fn a_run_is_meant_by_its_folder_or_its_name() {
        let temp = tempfile::tempdir().unwrap();
        let runs = temp.path();
        for run in ["one", "sorted/two", "too/deep/three"] {
            fs::create_dir_all(runs.join(run)).unwrap();
            fs::write(runs.join(run).join(EVENTS), "").unwrap();
        }
        fs::create_dir(runs.join("none")).unwrap();
        for (named, is) in [
            ("one", runs.join("one")),
            ("two", runs.join("sorted/two")),
            ("./one", "./one".into()),
            ("three", "three".into()),
            ("none", "none".into()),
            ("src", "src".into()),
        ] {
            assert_eq!(meant(named.into(), runs), is, "{named}");
        }
        assert_eq!(meant("one".into(), &runs.join("gone")), Path::new("one"));
    }

    #[test]
    fn default_names_hold_study_and_time() {
        let now = datetime(2026, 1, 2, 3, 4, 5, 0);
        assert_eq!(
            default_dir("journal", now),
            Path::new("fslab-runs/journal-20260102-030405")
        );
        assert_eq!(
            default_dir("../my study", now),
            Path::new("fslab-runs/.._my_study-20260102-030405")
        );
    }
}
