//! The disk that a folder's filesystem is on.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
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

/// Bytes of an image of this size that its filesystem has not allocated; 0 for devices.
pub(super) fn holes(path: &Path, size: u64) -> u64 {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => size.saturating_sub(metadata.blocks() * 512),
        _ => 0,
    }
}

/// The largest read that the kernel hands to a block device whole: a power of two of at least 64 KiB. None for other files, and where
/// the kernel does not say. Larger reads are several requests to the device, and each takes a request's time.
pub(super) fn whole_request(path: &Path) -> Option<u64> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.file_type().is_block_device() {
        return None;
    }
    let number = metadata.rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let device = format!("/sys/dev/block/{major}:{minor}");
    // A partition has its disk's queue.
    let mut queues = ["queue", "../queue"].into_iter();
    let text = queues.find_map(|queue| {
        std::fs::read_to_string(format!("{device}/{queue}/max_sectors_kb")).ok()
    })?;
    whole_of(&text)
}

/// The same from the kernel's KiB.
fn whole_of(text: &str) -> Option<u64> {
    let bytes = text.trim().parse::<u64>().ok()?.checked_mul(1024)?;
    let power = bytes.checked_ilog2()?;
    Some((1 << power).max(64 << 10))
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
    fn requests_are_powers_of_two() {
        assert_eq!(whole_of("1280\n"), Some(1 << 20));
        assert_eq!(whole_of("127\n"), Some(64 << 10));
        assert_eq!(whole_of("4\n"), Some(64 << 10));
        assert_eq!(whole_of("0\n"), None);
        assert_eq!(whole_of("many\n"), None);
        assert_eq!(whole_request(Path::new("/proc/version")), None);
    }

    #[test]
    fn a_folder_on_no_disk_is_refused_and_a_file_is_none() {
        let error = folder(Path::new("/proc")).unwrap_err().to_string();
        assert!(error.contains("name the disk"), "{error}");
        assert_eq!(folder(Path::new("/proc/version")).unwrap(), None);
        assert_eq!(folder(Path::new("/no/such/folder")).unwrap(), None);
    }
}
