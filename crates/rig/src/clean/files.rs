//! Removing working folders: by descriptor, never through a link.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rundir::RunDir;
use rustix::fs::{AtFlags, FileType, statat};
use rustix::process::{geteuid, getuid};

use crate::undo::{self, OwnFolder, actions};
use crate::{Error, Result};

/// The folder that holds `folder`, opened from the root without following a link.
fn open_parent(folder: &OwnFolder) -> Result<OwnedFd> {
    let root = RunDir::open(Path::new("/")).map_err(undo::unusable)?;
    let below = folder.parent().strip_prefix("/").unwrap_or(folder.parent());
    root.folder_or_self(below, false).map_err(undo::unusable)
}

/// Whether a working folder is there and is one.
///
/// # Errors
/// [`Error::Untrusted`] for what is no folder of the run.
pub(super) fn is_there(folder: &OwnFolder) -> Result<bool> {
    match open_parent(folder) {
        Ok(parent) => look(&parent, folder),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn look(parent: &OwnedFd, folder: &OwnFolder) -> Result<bool> {
    let path = folder.path();
    let stat = match statat(parent, folder.name(), AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::NOENT) => return Ok(false),
        answer => answer.map_err(|error| Error::io(&path, "cannot look at it", error))?,
    };
    let owners = [geteuid().as_raw(), getuid().as_raw()];
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return refuse(&path, "the journal says folder, and it is none");
    }
    if !owners.contains(&stat.st_uid) {
        return refuse(&path, &format!("it belongs to user {}", stat.st_uid));
    }
    Ok(true)
}

fn refuse<T>(path: &Path, why: &str) -> Result<T> {
    Err(Error::Untrusted {
        thing: path.display().to_string(),
        why: format!("not undone: {why}"),
        next: "look at it and remove it by hand".into(),
    })
}

/// Removes a working folder and what is in it, but never through a mount inside it.
pub(super) fn remove_work_folder(folder: &OwnFolder) -> Result<()> {
    let path = folder.path();
    let parent = open_parent(folder)?;
    if !look(&parent, folder)? {
        return Ok(());
    }
    match rundir::remove_tree(&parent, OsStr::new(folder.name())) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            refuse(&path, &error.to_string())
        }
        answer => actions::gone_is_fine(answer)
            .map_err(|error| Error::io(&path, "cannot remove the working folder", error)),
    }
}
