//! Answers as files of the cache, and the folder that a test boot writes to.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use super::{Answer, Key};
use crate::kernel::Cache;
use crate::machine::Error;

/// What begins the names of files and folders that a killed process may leave.
const NEW: &str = ".new-";

fn dir(cache: &Cache) -> PathBuf {
    cache.root().join("probes")
}

fn path(cache: &Cache, kernel: &str, key: &Key) -> PathBuf {
    dir(cache).join(format!("{kernel}@{}.json", key.short()))
}

/// The answer that is kept for this key. One that cannot be read is none.
pub(super) fn read(cache: &Cache, kernel: &str, key: &Key) -> Option<Answer> {
    let bytes = fs::read(path(cache, kernel, key)).ok()?;
    let answer: Answer = serde_json::from_slice(&bytes).ok()?;
    (answer.key == *key).then_some(answer)
}

/// Keeps an answer, by one rename.
pub(super) fn write(cache: &Cache, answer: &Answer) -> io::Result<()> {
    let dir = dir(cache);
    let mut file = tempfile::Builder::new().prefix(NEW).tempfile_in(&dir)?;
    serde_json::to_writer_pretty(&mut file, answer)?;
    let kept = file.persist(path(cache, &answer.kernel, &answer.key))?;
    // A cache may have several users.
    kept.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
}

/// Waits until no other process boots a kernel of this cache for a test: several at once would run into their time
/// limits. Without a lock, as in a cache that cannot be written, they do boot at once, each for itself.
pub(super) fn lock(cache: &Cache) -> Option<File> {
    let dir = dir(cache);
    fs::create_dir_all(&dir).ok()?;
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(dir.join(".lock"))
        .ok()?;
    file.lock().ok()?;
    // What a killed process left: this one alone is at work here.
    for entry in fs::read_dir(&dir).ok()?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(NEW) {
            let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
        }
    }
    Some(file)
}

/// A folder for the console of a test boot, which goes with the value.
pub(super) fn scratch(cache: &Cache) -> Result<tempfile::TempDir, Error> {
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix(NEW);
    let made = builder
        .tempdir_in(dir(cache))
        .or_else(|_| builder.tempdir());
    made.map_err(|source| Error::Prepare {
        what: "cannot make a folder for a test boot".into(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;

    #[test]
    fn an_answer_is_kept_for_its_key_alone_and_leftovers_go() {
        let temp = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(temp.path())).unwrap();
        let key = Key {
            image: "abc".into(),
            ..Key::default()
        };
        let answer = Answer {
            kernel: "uml-7".into(),
            key: key.clone(),
            at: 7,
            outcome: Outcome::Fails {
                reason: "ptrace".into(),
                timed_out: false,
            },
        };
        assert_eq!(read(&cache, "uml-7", &key), None);
        let lock = lock(&cache).unwrap();
        write(&cache, &answer).unwrap();
        assert_eq!(read(&cache, "uml-7", &key), Some(answer.clone()));
        assert_eq!(read(&cache, "uml-7", &Key::default()), None);
        fs::write(path(&cache, "uml-7", &key), "{").unwrap();
        assert_eq!(read(&cache, "uml-7", &key), None);
        let left = scratch(&cache).unwrap().keep();
        drop(lock);
        let again = super::lock(&cache);
        assert!(again.is_some() && !left.exists());
    }

    #[test]
    fn a_cache_that_cannot_be_written_has_a_folder_elsewhere() {
        let cache = Cache::open(Some(std::path::Path::new("/proc/no-cache"))).unwrap();
        assert!(lock(&cache).is_none());
        assert!(scratch(&cache).unwrap().path().is_dir());
    }
}
