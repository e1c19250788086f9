//! The disk that a folder's filesystem is on.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The block device of a folder; none where `path` is no folder.
///
/// # Errors
/// Its filesystem is on no disk, or on several: the kernel then gives it a number of no device.
pub(super) fn folder(path: &Path) -> Result<Option<PathBuf>, Error> {
    let Ok(metadata) = std::fs::metadata(path) else {
        // Opening it says why.
        return Ok(None);
    };
    if !metadata.is_dir() {
        return Ok(None);
    }
    let number = metadata.dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let facts = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/uevent"));
    let name = facts.ok().and_then(|facts| name_of(&facts));
    match name {
        Some(name) => Ok(Some(Path::new("/dev").join(name))),
        None => Err(Error::Measured(format!(
            "{}: the filesystem of this folder is not on one disk (device {major}:{minor}); name the disk",
            words::printable(&path.display().to_string())
        ))),
    }
}

/// The node of a device by its facts in sysfs.
fn name_of(facts: &str) -> Option<String> {
    let mut names = facts
        .lines()
        .filter_map(|line| line.strip_prefix("DEVNAME="));
    let name = names.next()?;
    (!name.is_empty() && !name.split('/').any(|part| part == "..")).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_named_and_stays_in_dev() {
        assert_eq!(
            name_of("MAJOR=7\nMINOR=0\nDEVNAME=loop0\nDEVTYPE=disk\n").as_deref(),
            Some("loop0")
        );
        assert_eq!(name_of("DEVNAME=mapper/a\n").as_deref(), Some("mapper/a"));
        assert_eq!(name_of("DEVNAME=../etc/passwd\n"), None);
        assert_eq!(name_of(""), None);
    }

    #[test]
    fn a_folder_on_no_disk_is_refused_and_a_file_is_none() {
        let error = folder(Path::new("/proc")).unwrap_err().to_string();
        assert!(error.contains("name the disk"), "{error}");
        assert_eq!(folder(Path::new("/proc/version")).unwrap(), None);
        assert_eq!(folder(Path::new("/no/such/folder")).unwrap(), None);
    }
}
