//! `rm -rf` of one directory, counted.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, unlinkat};

use crate::Error;
use crate::calls::{Call, Calls};
use crate::clock::now_ns;
use crate::fill::child::open_base;
use crate::fill::count::Counts;

/// Removes a directory and all that is in it, and counts what it held.
pub(super) fn remove(root: &Path, path: &str, calls: &mut Calls) -> Result<Counts, Error> {
    let root_fd = open_base(root)?;
    let full = root.join(path);
    let mut counts = Counts::default();
    empty(&open(&root_fd, path, &full)?, &full, calls, &mut counts)?;
    unlinkat(&root_fd, path, AtFlags::REMOVEDIR)
        .map_err(|e| Error::io("remove", &full)(e.into()))?;
    counts.directories += 1;
    Ok(counts)
}

fn open<P: rustix::path::Arg>(at: impl AsFd, path: P, full: &Path) -> Result<OwnedFd, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty()).map_err(|e| Error::io("open", full)(e.into()))
}

/// Removes what is in an open directory. As deep as the tree is: a level for each round.
fn empty(dir: &OwnedFd, path: &Path, calls: &mut Calls, counts: &mut Counts) -> Result<(), Error> {
    let failed = |what| move |e: rustix::io::Errno| Error::io(what, path)(e.into());
    for entry in Dir::read_from(dir).map_err(failed("list"))? {
        let entry = entry.map_err(failed("list"))?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let is_directory = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_err(failed("examine what is in"))?;
                FileType::from_raw_mode(stat.st_mode) == FileType::Directory
            }
            kind => kind == FileType::Directory,
        };
        if is_directory {
            let inside = path.join(name.to_string_lossy().as_ref());
            empty(&open(dir, name, &inside)?, &inside, calls, counts)?;
            unlinkat(dir, name, AtFlags::REMOVEDIR)
                .map_err(|e| Error::io("remove", &inside)(e.into()))?;
            counts.directories += 1;
        } else {
            let begin = now_ns();
            unlinkat(dir, name, AtFlags::empty()).map_err(failed("remove a file of"))?;
            calls.record(Call::Unlink, now_ns() - begin);
            counts.files += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn removes_all_levels_and_counts_them() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("0a/a1/a2")).unwrap();
        for file in ["0a/1", "0a/a1/2", "0a/a1/a2/3", "stays"] {
            fs::write(root.path().join(file), "x").unwrap();
        }
        let mut calls = Calls::default();
        let counts = remove(root.path(), "0a", &mut calls).unwrap();
        assert_eq!((counts.files, counts.directories), (3, 3));
        assert_eq!(calls.count(Call::Unlink), 3);
        assert!(root.path().join("stays").exists() && !root.path().join("0a").exists());
        let error = remove(root.path(), "0a", &mut calls).unwrap_err();
        assert!(error.to_string().contains("0a: No such file"), "{error}");
    }
}
