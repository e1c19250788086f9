//! What a filesystem has promised to keep: all that was synced when the power went.
//!
//! A checker reports whether a filesystem is consistent; an empty one is. A power cut also asks
//! whether what fsync(2) and syncfs(2) had confirmed is still there. So everything is listed right after a sync, every byte of files
//! read into a sum, and looked for after recovery. Of what the workload has changed between the sync and the cut nothing was
//! promised, and it is left out; that it was left alone is seen by inode, size and times.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use probe::context::file_sha256;
use serde::{Deserialize, Serialize};

/// Most that are listed.
const MOST_ENTRIES: usize = 200_000;
/// Most bytes of files that are read.
const MOST_BYTES: u64 = 1 << 30;
/// Most lost ones that are named.
const NAMED: usize = 10;
/// Made by mkfs, and moved or changed by a recovery.
const NOT_PROMISED: &str = "lost+found";

/// All that was there and synced at a moment.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Promise {
    /// Files, folders and symlinks, by their paths below the mount point.
    entries: Vec<Entry>,
    /// More than were listed.
    pub(super) unlisted: u64,
    /// Touched between the sync and the cut, and so left out.
    pub(super) touched: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    path: String,
    #[serde(flatten)]
    thing: Thing,
    #[serde(skip)]
    stamp: Stamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum Thing {
    Folder,
    Symlink {
        target: String,
    },
    File {
        bytes: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<String>,
    },
}

/// What changes when it is written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Stamp {
        // A folder changes with each file in it, and is promised to be there, not what is in it.
        if meta.is_dir() {
            return Stamp {
                inode: meta.ino(),
                ..Stamp::default()
            };
        }
        Stamp {
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// What has become of a promise.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) kept: u64,
    /// The first that are not as they were.
    pub(super) lost: Vec<String>,
}

impl Promise {
    /// Syncs the filesystem at `root` and lists what it then holds.
    ///
    /// # Errors
    /// It cannot be synced, or not be read.
    pub(super) fn at(root: &Path) -> io::Result<Promise> {
        rustix::fs::syncfs(File::open(root)?)?;
        let mut promise = Promise::default();
        let mut left = MOST_BYTES;
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let mut found: Vec<_> = fs::read_dir(root.join(&folder))?.collect::<Result<_, _>>()?;
            found.sort_by_key(fs::DirEntry::file_name);
            for one in found {
                let path = folder.join(one.file_name());
                let meta = one.metadata()?;
                if meta.is_dir() && path.as_os_str() != NOT_PROMISED {
                    folders.push(path.clone());
                }
                let named = path.to_str().filter(|path| *path != NOT_PROMISED);
                let (Some(named), true) = (named, promise.entries.len() < MOST_ENTRIES) else {
                    promise.unlisted += u64::from(path.as_os_str() != NOT_PROMISED);
                    continue;
                };
                let thing = Thing::of(&one.path(), &meta, &mut left)?;
                let (path, stamp) = (named.to_owned(), Stamp::of(&meta));
                promise.entries.push(Entry { path, thing, stamp });
            }
        }
        Ok(promise)
    }

    /// Leaves out what was touched since.
    pub(super) fn keep_untouched(&mut self, root: &Path) {
        let before = self.entries.len();
        self.entries.retain(|entry| {
            let now = fs::symlink_metadata(root.join(&entry.path));
            now.is_ok_and(|now| Stamp::of(&now) == entry.stamp)
        });
        self.touched = (before - self.entries.len()) as u64;
    }

    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Bytes of all files, and how many files were read.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let (mut all, mut read) = (0, 0);
        for entry in &self.entries {
            if let Thing::File { bytes, sha256 } = &entry.thing {
                all += bytes;
                read += u64::from(sha256.is_some());
            }
        }
        (all, read)
    }

    /// MidphaseSampler for all of it at `root`.
    pub(super) fn look(&self, root: &Path) -> Kept {
        let mut kept = Kept::default();
        for entry in &self.entries {
            match entry.missing(root) {
                None => kept.kept += 1,
                Some(why) if kept.lost.len() < NAMED => {
                    kept.lost.push(format!("{}: {why}", entry.path));
                }
                Some(_) => {}
            }
        }
        kept
    }
}

impl Thing {
    /// What is at `path`; of `left` bytes that may still be read the file's are taken.
    fn of(path: &Path, meta: &Metadata, left: &mut u64) -> io::Result<Thing> {
        if meta.is_dir() {
            return Ok(Thing::Folder);
        }
        if meta.is_symlink() {
            let target = fs::read_link(path)?.to_string_lossy().into_owned();
            return Ok(Thing::Symlink { target });
        }
        let bytes = meta.len();
        let mut sha256 = None;
        if meta.is_file() && bytes <= *left {
            *left -= bytes;
            sha256 = Some(file_sha256(path)?);
        }
        Ok(Thing::File { bytes, sha256 })
    }
}

impl Entry {
    /// Why it is not as it was; none: it is.
    fn missing(&self, root: &Path) -> Option<String> {
        let path = root.join(&self.path);
        let meta = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some("is gone".into()),
            Err(error) => return Some(format!("cannot be looked at: {error}")),
            Ok(meta) => meta,
        };
        let mut left = match &self.thing {
            Thing::File { sha256: None, .. } => 0,
            _ => u64::MAX,
        };
        match (&self.thing, Thing::of(&path, &meta, &mut left)) {
            (_, Err(error)) => Some(format!("cannot be read: {error}")),
            (was, Ok(is)) if *was == is => None,
            (Thing::File { bytes, .. }, Ok(Thing::File { bytes: now, .. })) if *bytes != now => {
                Some(format!("has {now} bytes of {bytes}"))
            }
            // An empty file is read however little may be.
            (Thing::File { sha256: None, .. }, Ok(Thing::File { .. })) => None,
            (Thing::File { .. }, Ok(Thing::File { .. })) => Some("holds other bytes".into()),
            (Thing::Symlink { .. }, Ok(Thing::Symlink { .. })) => Some("leads elsewhere".into()),
            _ => Some("is something else".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(root.join(NOT_PROMISED)).unwrap();
        fs::write(root.join("a/b/one"), "one").unwrap();
        fs::write(root.join("a/two"), vec![2; 70_000]).unwrap();
        fs::write(root.join("empty"), "").unwrap();
        std::os::unix::fs::symlink("a/two", root.join("link")).unwrap();
        temp
    }

    #[test]
    fn what_is_as_it_was_is_kept_also_through_the_file_of_promises() {
        let temp = folder();
        let promise = Promise::at(temp.path()).unwrap();
        assert_eq!((promise.len(), promise.bytes()), (6, (70_003, 3)));
        let json = serde_json::to_string(&promise).unwrap();
        let promise: Promise = serde_json::from_str(&json).unwrap();
        let kept = promise.look(temp.path());
        assert_eq!(
            kept,
            Kept {
                kept: 6,
                lost: Vec::new()
            }
        );
    }

    #[test]
    fn each_way_of_losing_it_is_named() {
        let temp = folder();
        let root = temp.path();
        let promise = Promise::at(root).unwrap();
        fs::write(root.join("a/b/one"), "eno").unwrap();
        fs::write(root.join("a/two"), vec![2; 4096]).unwrap();
        fs::remove_file(root.join("empty")).unwrap();
        fs::create_dir(root.join("empty")).unwrap();
        fs::remove_file(root.join("link")).unwrap();
        std::os::unix::fs::symlink("a/b", root.join("link")).unwrap();
        let kept = promise.look(root);
        assert_eq!(kept.kept, 2);
        let mut lost = kept.lost.clone();
        lost.sort();
        assert_eq!(
            lost,
            [
                "a/b/one: holds other bytes",
                "a/two: has 4096 bytes of 70000",
                "empty: is something else",
                "link: leads elsewhere",
            ]
        );
        fs::remove_dir_all(root.join("a")).unwrap();
        let kept = promise.look(root);
        assert!(kept.lost.contains(&"a/two: is gone".to_owned()), "{kept:?}");
    }

    #[test]
    fn what_was_touched_since_was_not_promised() {
        let temp = folder();
        let root = temp.path();
        let mut promise = Promise::at(root).unwrap();
        fs::write(root.join("a/b/one"), "other").unwrap();
        fs::write(root.join("a/b/new"), "new").unwrap();
        fs::remove_file(root.join("empty")).unwrap();
        promise.keep_untouched(root);
        assert_eq!((promise.len(), promise.touched), (4, 2));
        assert_eq!(promise.look(root).kept, 4);
    }
}
