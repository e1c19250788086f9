//! A device to be traced.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use super::{Error, detached};

/// A block device and the folder in which the kernel lets it be traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// `sda`, as blktrace names its files.
    pub name: String,
    /// major << 20 | minor, as records hold it.
    pub number: u32,
    /// Folder in sysfs, canonical.
    folder: PathBuf,
}

impl Device {
    /// Finds the device of a node.
    ///
    /// # Errors
    /// When the path is no block device.
    pub fn find(path: &Path) -> Result<Device, Error> {
        let wrong = |why: String| Error::NotADevice {
            path: path.into(),
            why,
        };
        let meta = fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
        if !meta.file_type().is_block_device() {
            return Err(wrong("no block device".into()));
        }
        let (major, minor) = (major(meta.rdev()), minor(meta.rdev()));
        let link = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        let folder = link
            .canonicalize()
            .map_err(|error| wrong(format!("{}: {error}", link.display())))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Ok(Device {
            // sysfs writes a slash as an exclamation mark (cciss!c0d0).
            name: name.replace('!', "_"),
            number: major << 20 | minor,
            folder,
        })
    }

    #[cfg(test)]
    pub(super) fn of_test(name: &str, number: u32) -> Device {
        Device {
            name: name.into(),
            number,
            folder: PathBuf::new(),
        }
    }

    /// `7:3`.
    pub fn numbers(&self) -> String {
        format!("{}:{}", self.number >> 20, self.number & 0xf_ffff)
    }

    /// The whole disk's folder, which holds the partition's.
    fn disk(&self) -> &Path {
        if self.folder.join("partition").exists() {
            self.folder.parent().unwrap_or(&self.folder)
        } else {
            &self.folder
        }
    }

    pub(super) fn same_queue(&self, other: &Device) -> bool {
        self.disk() == other.disk()
    }

    /// The kernel's switch for it.
    pub(super) fn trace(&self) -> PathBuf {
        self.folder.join("trace")
    }

    /// Checks that the kernel can trace it and that it is not being traced.
    pub(super) fn check_free(&self) -> Result<(), Error> {
        let enable = self.trace().join("enable");
        if !enable.exists() {
            return Err(Error::NoMethod {
                why: format!("{} is missing (CONFIG_BLK_DEV_IO_TRACE)", enable.display()),
            });
        }
        match detached::read(&enable)?.as_str() {
            "0" => Ok(()),
            on => Err(Error::Busy {
                thing: enable.display().to_string(),
                why: format!("it says {on}"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_device_is_refused_by_name() {
        for path in ["/dev/null", "/no/such/device", "/tmp"] {
            let error = Device::find(Path::new(path)).unwrap_err();
            assert!(error.to_string().contains(path), "{error}");
            assert_eq!(error.class(), super::super::Class::Usage);
        }
    }
}
