//! Images of loop devices, by sysfs.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The image that the folder `loop` of a block device names; none where it is no loop device, or has no image.
pub(crate) fn of(folder: &Path) -> Option<PathBuf> {
    let mut line = fs::read(folder.join("backing_file")).ok()?;
    // A name may end in a space, and need not be UTF-8.
    line.pop_if(|last| *last == b'\n');
    Some(OsString::from_vec(line).into())
}

/// The loop device that has a file for its image, if one has.
pub(crate) fn device_of(file: &fs::Metadata) -> Option<String> {
    let devices = fs::read_dir("/sys/block").ok()?.flatten();
    let mut devices = devices.map(|device| device.path());
    let found = devices.find(|device| {
        let image = of(&device.join("loop")).and_then(|image| fs::metadata(image).ok());
        image.is_some_and(|image| (image.dev(), image.ino()) == (file.dev(), file.ino()))
    })?;
    Some(format!("/dev/{}", found.file_name()?.to_string_lossy()))
}
