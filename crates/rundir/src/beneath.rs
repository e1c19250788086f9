//! Opening a path beneath a directory without following any link.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// Opens `name` beneath `dir`. `name` is relative and has neither `.` nor `..`; `ELOOP` when any
/// component of it is a link, `EXDEV` when it leads outside (or, with `one_mount`, into another mount).
pub(crate) fn open(
    dir: BorrowedFd<'_>,
    name: &Path,
    flags: OFlags,
    mode: Mode,
    one_mount: bool,
) -> rustix::io::Result<OwnedFd> {
    if !is_plain(name) {
        return Err(Errno::XDEV);
    }
    let mut resolve =
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    if one_mount {
        resolve |= ResolveFlags::NO_XDEV;
    }
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    loop {
        match openat2(dir, name, flags, mode, resolve) {
            // A rename or mount elsewhere on the machine raced with the lookup (openat2(2)).
            Err(Errno::AGAIN) if !flags.contains(OFlags::NONBLOCK) => {}
            // No openat2 (before Linux 5.6), or a seccomp filter without it.
            Err(Errno::NOSYS | Errno::PERM) => return walk(dir, name, flags, mode),
            // A link where a folder is wanted.
            Err(Errno::NOTDIR) if has_link(dir, name) => return Err(Errno::LOOP),
            answer => return answer,
        }
    }
}

/// Whether any component of a path is a link.
fn has_link(dir: BorrowedFd<'_>, name: &Path) -> bool {
    let mut prefixes = name.ancestors().filter(|above| *above != Path::new(""));
    prefixes.any(|above| is_link(dir, above))
}

/// Whether a path consists of names alone.
pub(crate) fn is_plain(name: &Path) -> bool {
    let mut parts = name.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The same, one component at a time. Mounts are crossed: who asks for one mount compares mount IDs.
fn walk(
    dir: BorrowedFd<'_>,
    name: &Path,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    let above = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut held: Option<OwnedFd> = None;
    let mut parts = name.components().peekable();
    while let Some(part) = parts.next() {
        let at = held.as_ref().map_or(dir, AsFd::as_fd);
        let last = parts.peek().is_none();
        let opened = if last {
            openat(at, part.as_os_str(), flags, mode)
        } else {
            openat(at, part.as_os_str(), above, Mode::empty())
        };
        match opened {
            Ok(next) => held = Some(next),
            // O_DIRECTORY with O_NOFOLLOW on a link is ENOTDIR on some kernels, ELOOP on others.
            Err(Errno::NOTDIR) if is_link(at, Path::new(part.as_os_str())) => {
                return Err(Errno::LOOP);
            }
            Err(error) => return Err(error),
        }
    }
    held.ok_or(Errno::NOENT)
}

/// Whether the entry is a symbolic link.
pub(crate) fn is_link(dir: BorrowedFd<'_>, name: &Path) -> bool {
    use rustix::fs::{AtFlags, FileType, statat};
    statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    type Open = fn(BorrowedFd<'_>, &Path) -> rustix::io::Result<OwnedFd>;

    #[test]
    fn both_ways_open_names_and_refuse_links_and_what_leads_outside() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "x").unwrap();
        fs::write(outer.path().join("secret"), "x").unwrap();
        symlink("a", root.join("inside")).unwrap();
        symlink("file", root.join("a/b/link")).unwrap();
        symlink(outer.path(), root.join("out")).unwrap();
        let dir = fs::File::open(&root).unwrap();
        let ways: [Open; 2] = [
            |dir, name| open(dir, name, OFlags::RDONLY, Mode::empty(), false),
            |dir, name| {
                if !is_plain(name) {
                    return Err(Errno::XDEV);
                }
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                walk(dir, name, flags, Mode::empty())
            },
        ];
        for way in ways {
            way(dir.as_fd(), Path::new("a/b/file")).unwrap();
            way(dir.as_fd(), Path::new("a")).unwrap();
            let folder = OFlags::DIRECTORY | OFlags::RDONLY;
            let of_folder = open(
                dir.as_fd(),
                Path::new("inside"),
                folder,
                Mode::empty(),
                false,
            );
            assert_eq!(of_folder.unwrap_err(), Errno::LOOP);
            for link in ["inside/b/file", "a/b/link", "out/secret", "inside"] {
                let error = way(dir.as_fd(), Path::new(link)).unwrap_err();
                assert_eq!(error, Errno::LOOP, "{link}");
            }
            for outside in ["../secret", "/etc/passwd", "a/../a", "", "."] {
                assert_eq!(
                    way(dir.as_fd(), Path::new(outside)).unwrap_err(),
                    Errno::XDEV,
                    "{outside}"
                );
            }
            let missing = way(dir.as_fd(), Path::new("a/none"));
            assert_eq!(missing.unwrap_err(), Errno::NOENT);
        }
    }
}
