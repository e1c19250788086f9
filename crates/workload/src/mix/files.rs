//! The jobs' files: made before the clock starts, and removed at the end.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FallocateFlags, OFlags};

use super::data;
use crate::engine::Direction;
use crate::error::is_no_space;
use crate::remove::remove_all;
use crate::{Error, Evidence, Observer};
use params::MixSpec;
use params::mix::Preallocation;

/// Bytes written at a time before the clock.
const CHUNK: usize = 1 << 20;

/// The files that a run has made. They are removed when this is dropped, whatever happened, but for
/// those that a job keeps.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Whether each is kept.
    made: BTreeMap<PathBuf, bool>,
}

/// Whether a job that only reads would have to make a file.
pub(super) fn missing(spec: &MixSpec) -> bool {
    paths(spec).iter().any(|path| !is_whole(path, spec))
}

/// The files of a job; none for the null engine.
pub(super) fn paths(spec: &MixSpec) -> Vec<PathBuf> {
    if !spec.engine.capabilities().transfers {
        return Vec::new();
    }
    (0..spec.files()).map(|file| spec.path(file)).collect()
}

fn is_whole(path: &Path, spec: &MixSpec) -> bool {
    let found = std::fs::symlink_metadata(path);
    found.is_ok_and(|meta| meta.is_file() && meta.len() >= spec.file_bytes())
}

/// How a job finds a file.
enum Found {
    Absent,
    /// To be replaced: it has this program's own name, or this run made it, and too short.
    Leftover,
    Usable,
}

impl Files {
    /// Makes a job's files, with data or blocks as the job finds them in fio, and drops them from the
    /// page cache where that was asked for.
    pub(super) fn prepare(
        &mut self,
        spec: &MixSpec,
        observer: &dyn Observer,
    ) -> Result<Evidence, Error> {
        let (mut used, mut removed) = (0, 0);
        let paths = paths(spec);
        for (number, path) in (0..).zip(&paths) {
            match self.found(path, spec)? {
                Found::Usable => used += 1,
                found => {
                    if matches!(found, Found::Leftover) {
                        std::fs::remove_file(path)
                            .map_err(Error::io("remove the leftover", path))?;
                        removed += 1;
                    }
                    self.made.insert(path.clone(), spec.keep);
                    make(path, number, spec, observer)?;
                }
            }
            if spec.invalidate {
                drop_cached(path)?;
            }
        }
        let state = match (spec.is_laid_out(), spec.fallocate) {
            (true, _) => "written whole",
            (false, Preallocation::Native) => "preallocated",
            (false, Preallocation::None) => "without blocks",
        };
        let new = paths.len() - used;
        Ok(Evidence {
            name: "file_state".into(),
            holds: Some(true),
            detail: format!(
                "{new} of {} made anew ({state}), {removed} leftovers removed; {used} used as found",
                paths.len()
            ),
        })
    }

    fn found(&self, path: &Path, spec: &MixSpec) -> Result<Found, Error> {
        let refuse = |reason: &str| {
            Err(Error::Unsupported {
                what: "mix",
                path: path.to_owned(),
                reason: reason.into(),
            })
        };
        let meta = match std::fs::symlink_metadata(path) {
            Ok(meta) => meta,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
            Err(e) => return Err(Error::io("examine", path)(e)),
        };
        if !meta.is_file() {
            return refuse("it is not a regular file; name another, or remove it");
        }
        let is_made = self.made.contains_key(path);
        if is_whole(path, spec)
            && (is_made || spec.reuse || !spec.rw.writes() && !spec.has_own_names())
        {
            return Ok(Found::Usable);
        }
        if is_made || spec.has_own_names() {
            return Ok(Found::Leftover);
        }
        if spec.rw.writes() && !spec.reuse {
            return refuse(
                "the file exists and would be overwritten; remove it, name another, or pass --reuse",
            );
        }
        refuse("the file exists and is too short for the size; take a smaller size, or remove it")
    }

    /// Removes the files that were made, but for those that are kept.
    pub(super) fn remove(&mut self) -> Result<(), Error> {
        let made = std::mem::take(&mut self.made).into_iter();
        remove_all(made.filter_map(|(path, kept)| (!kept).then_some(path)))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!("{error}");
        }
    }
}

/// A file of the job's size: data, or as many blocks as the filesystem reserves.
fn make(path: &Path, number: u32, spec: &MixSpec, observer: &dyn Observer) -> Result<(), Error> {
    let size = spec.file_bytes();
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o640)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(path)
        .map_err(Error::io("create", path))?;
    if spec.is_laid_out() {
        return write(&file, path, number, spec, observer);
    }
    if spec.fallocate == Preallocation::Native {
        match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size) {
            // Without it the file has no blocks, as in fio.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
            Err(error) => return Err(failed("preallocate", path, error.into(), 0, size)),
        }
    }
    file.set_len(size)
        .map_err(Error::io("set the size of", path))?;
    file.sync_all().map_err(Error::io("fsync", path))
}

fn write(
    file: &File,
    path: &Path,
    number: u32,
    spec: &MixSpec,
    observer: &dyn Observer,
) -> Result<(), Error> {
    let size = spec.file_bytes();
    let mut chunk = vec![0; CHUNK];
    let mut written = 0;
    while written < size {
        if observer.cancelled() {
            return Err(Error::Interrupted {
                phase: "mix".into(),
            });
        }
        let now = chunk
            .len()
            .min(usize::try_from(size - written).unwrap_or(CHUNK));
        data::fill(
            &mut chunk[..now],
            spec.seed ^ u64::from(number) << 40 ^ written,
        );
        file.write_all_at(&chunk[..now], written)
            .map_err(|source| failed("write", path, source, written, size))?;
        written += now as u64;
    }
    file.sync_all()
        .map_err(|source| failed("fsync", path, source, written, size))
}

fn failed(what: &'static str, path: &Path, source: io::Error, written: u64, asked: u64) -> Error {
    if is_no_space(&source) {
        return Error::NoSpace {
            phase: "mix".into(),
            path: path.to_owned(),
            written,
            asked,
        };
    }
    Error::io(what, path)(source)
}

/// What fio's `invalidate` does. Some filesystems (tmpfs) keep the pages.
fn drop_cached(path: &Path) -> Result<(), Error> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)
        .map_err(|e| Error::io("drop from the page cache", path)(e.into()))
}

/// Opens a thread's file, and advises the kernel of the order as fio does.
pub(super) fn open(spec: &MixSpec, thread: u32) -> Result<(PathBuf, File), Error> {
    if !spec.engine.capabilities().transfers {
        let path = PathBuf::from("/dev/null");
        let file = File::open(&path).map_err(Error::io("open", &path))?;
        return Ok((path, file));
    }
    let path = spec.path(thread);
    let mut flags = OFlags::NOFOLLOW;
    if spec.direct {
        flags |= OFlags::DIRECT;
    }
    let file = OpenOptions::new()
        .read(spec.has(Direction::Read))
        .write(spec.has(Direction::Write))
        .custom_flags(flags.bits() as i32)
        .open(&path)
        .map_err(Error::io("open", &path))?;
    let advice = if spec.rw.is_random() {
        Advice::Random
    } else {
        Advice::Sequential
    };
    rustix::fs::fadvise(&file, 0, None, advice)
        .map_err(|e| Error::io("advise the kernel of", &path)(e.into()))?;
    Ok((path, file))
}
