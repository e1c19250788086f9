//! Whether the filesystem to be checked is mounted read-write.
//!
//! A filesystem that is mounted for writing changes under the checker, so a finding may describe no state that ever existed. The block device
//! may be mounted itself, or a loop device on it or on an image. The kernel lists both; mounts on other
//! machines (a shared disk) it does not know.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A read-write mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writable {
    /// Path of the mount point.
    pub mount_point: PathBuf,
    /// The mounted device as `major:minor`: the target itself, or a loop device on it.
    pub device: String,
}

/// The first read-write mount of this image or device; none also where the kernel's lists cannot be read.
pub fn writable(target: &Path) -> Option<Writable> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let devices = devices(target);
    find(&mounts, &devices)
}

/// The devices of the target, as `major:minor`.
fn devices(target: &Path) -> Vec<String> {
    let Ok(metadata) = fs::metadata(target) else {
        return Vec::new();
    };
    let mut devices = Vec::new();
    if metadata.file_type().is_block_device() {
        let rdev = metadata.rdev();
        let number = format!("{}:{}", rustix::fs::major(rdev), rustix::fs::minor(rdev));
        devices.extend(partitions(&Path::new("/sys/dev/block").join(&number)));
        devices.push(number);
    }
    for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let Ok(backing) = fs::read(entry.path().join("loop/backing_file")) else {
            continue;
        };
        let backing = String::from_utf8_lossy(&backing);
        let same = fs::metadata(backing.trim_end_matches('\n')).is_ok_and(|other| {
            other.dev() == metadata.dev()
                && other.ino() == metadata.ino()
                && other.rdev() == metadata.rdev()
        });
        if same && let Ok(number) = fs::read_to_string(entry.path().join("dev")) {
            devices.push(number.trim().to_owned());
            devices.extend(partitions(&entry.path()));
        }
    }
    devices
}

/// The partitions of a disk, by its folder in sysfs, as `major:minor`.
fn partitions(disk: &Path) -> Vec<String> {
    let entries = fs::read_dir(disk).into_iter().flatten().flatten();
    let parts = entries.filter(|entry| entry.path().join("partition").exists());
    let numbers = parts.filter_map(|part| fs::read_to_string(part.path().join("dev")).ok());
    numbers.map(|number| number.trim().to_owned()).collect()
}

/// Looks for a writable one in the lines of mountinfo (proc_pid_mountinfo(5)). A filesystem may be mounted read-only here
/// and writable elsewhere: the options after the dash are those of the filesystem itself.
fn find(mounts: &str, devices: &[String]) -> Option<Writable> {
    mounts.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(2);
        let device = fields.next()?;
        let point = fields.nth(1)?;
        let options = filesystem.rsplit(' ').next()?;
        let matches = devices.iter().any(|wanted| wanted == device);
        (matches && options.split(',').any(|option| option == "rw")).then(|| Writable {
            mount_point: unescape(point).into(),
            device: device.to_owned(),
        })
    })
}

/// Spaces and some other characters are written as three octal digits.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(code) = code {
            plain.push(code.into());
            plain.push_str(&part[3..]);
        } else {
            plain.push('\\');
            plain.push_str(part);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        21 1 8:1 / / ro,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n\
        35 21 7:3 / /mnt/a\\040b rw,relatime - ext4 /dev/loop3 ro\n\
        36 21 7:4 / /mnt/c\\040d rw - ext4 /dev/loop4 rw,data=ordered\n";

    #[test]
    fn the_filesystems_own_option_decides() {
        let find = |device: &str| find(MOUNTS, &[device.to_owned()]);
        assert_eq!(find("8:1").unwrap().mount_point, Path::new("/"));
        assert_eq!(find("7:3"), None);
        assert_eq!(find("7:4").unwrap().mount_point, Path::new("/mnt/c d"));
        assert_eq!(find("7:5"), None);
        assert_eq!(unescape("a\\134b\\x"), "a\\b\\x");
    }

    #[test]
    fn a_file_that_is_not_mounted_is_not_writable() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(writable(file.path()), None);
        assert_eq!(writable(Path::new("/no/such/file")), None);
    }
}
