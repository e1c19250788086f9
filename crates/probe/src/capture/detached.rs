//! Kernel filesystems without a mount point.
//!
//! tracefs is often not mounted. Mounting it in a folder of ours would leave the mount after a
//! kill -9, and a recursive removal of that folder would walk into the kernel's settings. Since Linux
//! 5.2 a filesystem can be opened as a detached mount (fsopen(2), fsmount(2)): it hangs on a file
//! descriptor alone, no other process sees it, and the kernel takes it back with the process.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::Error;

/// An open filesystem of the kernel.
#[derive(Debug)]
pub(super) struct Detached {
    root: PathBuf,
    /// None where the usual mount is used.
    _mount: Option<OwnedFd>,
}

impl Detached {
    /// Opens a filesystem by its type; where that is not allowed, takes the one at `usual`.
    pub(super) fn open(kind: &str, usual: &Path) -> io::Result<Detached> {
        match mount(kind) {
            Ok(mount) => Ok(Detached {
                root: PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd())),
                _mount: Some(mount),
            }),
            // The folder is there when nothing is mounted in it, too.
            Err(_) if fs::read_dir(usual).is_ok_and(|mut entries| entries.next().is_some()) => {
                Ok(Detached {
                    root: usual.into(),
                    _mount: None,
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A setting without the newline.
    pub(super) fn read(&self, name: &str) -> Result<String, Error> {
        read(&self.path(name))
    }

    pub(super) fn write(&self, name: &str, value: &str) -> Result<(), Error> {
        write(&self.path(name), value)
    }
}

fn mount(kind: &str) -> rustix::io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )
}

/// Reads a setting of the kernel, without the newline. With large reads: some of these files
/// (`events/header_page`) end after the first read, however small it was.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    use std::io::Read;
    let failed = |error| Error::kernel(path, "cannot read the setting", error);
    let mut file = fs::File::open(path).map_err(failed)?;
    let mut text = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => text.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// Writes a setting of the kernel. Opened without O_CREAT: these files are there or not.
pub(super) fn write(path: &Path, value: &str) -> Result<(), Error> {
    use std::io::Write;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .open(path)
        .map_err(|error| Error::kernel(path, "cannot open the setting", error))?;
    file.write_all(value.as_bytes())
        .map_err(|error| Error::kernel(path, "cannot change the setting", error))
}

/// The word in brackets: `local global [mono]`.
pub(super) fn chosen(text: &str) -> Option<&str> {
    text.split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_word_is_in_brackets() {
        assert_eq!(chosen("local global [mono] boot"), Some("mono"));
        assert_eq!(chosen("local"), None);
    }
}
