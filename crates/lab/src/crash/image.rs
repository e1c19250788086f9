//! Images as sparse files, made for one judgement.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use blockio::BlockSource;
use rig::undo::{Journal, Step};

use crate::error::Error;

/// Bytes read at once.
const PIECE: usize = 1 << 20;
/// Zeros of this many bytes stay a hole.
const BLOCK: usize = 4096;

/// A file that goes when this is dropped, and that `fslab clean` removes after a kill -9.
pub(super) struct Throwaway {
    journal: Arc<Journal>,
    step: u64,
    path: PathBuf,
}

impl Throwaway {
    /// A copy of what the source holds, zeros left out.
    pub(super) fn of(source: &dyn BlockSource, journal: &Arc<Journal>) -> Result<Throwaway, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("crash-{}-{number}.img", std::process::id());
        let path = journal.run().join(name);
        let step = journal.will_make(Step::Image { path: path.clone() })?;
        let made = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        let image = Throwaway {
            journal: Arc::clone(journal),
            step,
            path,
        };
        let file = made.map_err(|source| image.failed(source))?;
        pour(source, &file, &image.path)?;
        Ok(image)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::File {
            path: self.path.clone(),
            source,
        }
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        // What cannot be removed stays in the journal, for clean.
        if std::fs::remove_file(&self.path).is_ok() {
            let _ = self.journal.undone(self.step);
        }
    }
}

/// Makes an empty file what the source is.
pub(super) fn pour(source: &dyn BlockSource, file: &File, path: &Path) -> Result<(), Error> {
    let failed = |source| Error::File {
        path: path.to_owned(),
        source,
    };
    file.set_len(source.len()).map_err(failed)?;
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while let Some(data) = source.next_data(at) {
        at = data.start;
        while at < data.end {
            let len = (data.end - at).min(PIECE as u64) as usize;
            let bytes = &mut piece[..len];
            read(source, bytes, at)?;
            for (start, end) in filled(bytes) {
                file.write_all_at(&bytes[start..end], at + start as u64)
                    .map_err(failed)?;
            }
            at += len as u64;
        }
    }
    Ok(())
}

fn read(source: &dyn BlockSource, bytes: &mut [u8], at: u64) -> Result<(), Error> {
    source
        .read_at(bytes, at)
        .map_err(|error| Error::Preflight(error.to_string()))
}

/// Runs of blocks that are not all zero.
fn filled(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (number, block) in bytes.chunks(BLOCK).enumerate() {
        if block.iter().all(|byte| *byte == 0) {
            continue;
        }
        let (start, end) = (number * BLOCK, number * BLOCK + block.len());
        match runs.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => runs.push((start, end)),
        }
    }
    runs
}

/// Whether two sources hold the same bytes.
pub(super) fn same(one: &dyn BlockSource, other: &dyn BlockSource) -> Result<bool, Error> {
    if one.len() != other.len() {
        return Ok(false);
    }
    let (mut a, mut b) = (vec![0; PIECE], vec![0; PIECE]);
    let mut at = 0;
    while at < one.len() {
        let starts = [one.next_data(at), other.next_data(at)];
        let Some(start) = starts.into_iter().flatten().map(|data| data.start).min() else {
            break;
        };
        let len = (one.len() - start).min(PIECE as u64) as usize;
        read(one, &mut a[..len], start)?;
        read(other, &mut b[..len], start)?;
        if a[..len] != b[..len] {
            return Ok(false);
        }
        at = start + len as u64;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use blockio::{Mode, Ram};

    use super::*;

    #[test]
    fn a_copy_holds_the_same_and_its_zeros_are_holes() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        let mut ram = Ram::sparse(64 << 20);
        ram.put(5 << 20, &[7; 5000]);
        ram.put((64 << 20) - 3, b"end");
        let image = Throwaway::of(&ram, &journal).unwrap();
        let copy = blockio::open(image.path(), Mode::Buffered).unwrap();
        assert!(same(&ram, &*copy.source).unwrap());
        let data = copy.source.next_data(0).unwrap();
        assert!(data.start >= 4 << 20 && data.end < 10 << 20, "{data:?}");
        ram.put(60 << 20, &[1]);
        assert!(!same(&ram, &*copy.source).unwrap());
        assert!(!same(&Ram::sparse(1), &*copy.source).unwrap());
        let path = image.path().to_owned();
        drop(image);
        assert!(!path.exists());
        assert_eq!(journal.left(), Vec::new());
    }
}
