//! The kernel's own view of block devices: sysfs, procfs and device nodes.
//!
//! Everything is read below a root folder that is `/` on a live host and a folder of invented
//! files in tests, because holders, partitions and device-mapper stacks cannot be made on every
//! machine that tests run on, and the gate must be right about them on all.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use fskind::Kind;
use probe::mountinfo;
use rustix::fs::{major, minor};

/// Where `/sys` and `/proc` are looked for.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
}

impl Default for Host {
    fn default() -> Self {
        Host { root: "/".into() }
    }
}

impl Host {
    /// A host whose `/sys` and `/proc` are below `root`.
    pub fn below(root: &Path) -> Host {
        Host { root: root.into() }
    }

    /// A path of the host: `host.path("sys/block")`.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// A small file, trimmed; `None` when it cannot be read or is empty.
    pub fn text(&self, relative: impl AsRef<Path>) -> Option<String> {
        let text = fs::read(self.path(relative)).ok()?;
        let text = String::from_utf8_lossy(&text).trim().to_string();
        (!text.is_empty()).then_some(text)
    }

    /// The path or words in a small file as they are, less the newline at the end: a path may hold
    /// spaces and bytes that are not UTF-8.
    pub fn line(&self, relative: impl AsRef<Path>) -> Option<OsString> {
        let mut bytes = fs::read(self.path(relative)).ok()?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        (!bytes.is_empty()).then(|| OsString::from_vec(bytes))
    }

    /// Names in a folder, sorted; empty when there is none.
    pub fn names(&self, relative: impl AsRef<Path>) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(relative))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// sysfs name of the device with this number (`sda`, `nvme0n1p2`, `loop3`).
    pub fn name_of(&self, major: u32, minor: u32) -> Option<String> {
        let link = fs::canonicalize(self.path(format!("sys/dev/block/{major}:{minor}"))).ok()?;
        // A device directory's name is the kernel's, in which `!` stands for `/` (cciss!c0d0).
        Some(link.file_name()?.to_string_lossy().into_owned())
    }

    /// The whole disk of a device: itself, or its parent when it is a partition.
    pub fn disk_of(&self, name: &str) -> String {
        let Ok(folder) = fs::canonicalize(self.path(format!("sys/class/block/{name}"))) else {
            return name.to_string();
        };
        if !folder.join("partition").exists() {
            return name.to_string();
        }
        folder.parent().and_then(Path::file_name).map_or_else(
            || name.to_string(),
            |disk| disk.to_string_lossy().into_owned(),
        )
    }

    /// Whether the device is a partition.
    pub fn is_partition(&self, name: &str) -> bool {
        self.path(format!("sys/class/block/{name}/partition"))
            .exists()
    }

    /// The kernel's partitions of a disk.
    pub fn partitions(&self, disk: &str) -> Vec<String> {
        let folder = format!("sys/block/{disk}");
        self.names(&folder)
            .into_iter()
            .filter(|name| self.path(&folder).join(name).join("partition").exists())
            .collect()
    }

    /// Device number of a device by its sysfs name.
    pub fn number_of(&self, name: &str) -> Option<(u32, u32)> {
        let text = self.text(format!("sys/class/block/{name}/dev"))?;
        let (major, minor) = text.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// Devices built on this one (device mapper, md, bcache).
    pub fn holders(&self, name: &str) -> Vec<String> {
        self.names(format!("sys/class/block/{name}/holders"))
    }

    /// Devices this one is built on.
    pub fn slaves(&self, name: &str) -> Vec<String> {
        self.names(format!("sys/class/block/{name}/slaves"))
    }

    /// Every bound loop device with the path of its backing file and whether that file is deleted.
    pub fn loops(&self) -> Vec<Loop> {
        self.names("sys/block")
            .into_iter()
            .filter(|name| name.starts_with("loop"))
            .filter_map(|name| {
                let shown = self.line(format!("sys/block/{name}/loop/backing_file"))?;
                let shown = shown.as_bytes();
                let (path, deleted) = match shown.strip_suffix(b" (deleted)") {
                    Some(path) => (path, true),
                    None => (shown, false),
                };
                Some(Loop {
                    backing: OsStr::from_bytes(path).into(),
                    deleted,
                    name,
                })
            })
            .collect()
    }

    /// The disks below a device, itself included: partitions become their disks, stacked devices
    /// their slaves, loop devices the disk of their backing file.
    pub fn ancestry(&self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut todo = vec![name.to_string()];
        while let Some(name) = todo.pop() {
            if found.contains(&name) {
                continue;
            }
            let disk = self.disk_of(&name);
            if disk != name {
                todo.push(disk);
            }
            todo.extend(self.slaves(&name));
            if let Some(lo) = self.loops().into_iter().find(|lo| lo.name == name) {
                todo.extend(self.device_below(&lo.backing));
            }
            found.push(name);
        }
        found
    }

    /// Devices that hold the filesystem of `path`.
    pub fn device_below(&self, path: &Path) -> Vec<String> {
        let Ok(meta) = fs::metadata(path) else {
            return Vec::new();
        };
        if meta.file_type().is_block_device() {
            return self
                .name_of(major(meta.rdev()), minor(meta.rdev()))
                .into_iter()
                .collect();
        }
        if let Some(name) = self.name_of(major(meta.dev()), minor(meta.dev())) {
            return vec![name];
        }
        // btrfs and overlay have numbers without a device: their source says more.
        let Ok(path) = fs::canonicalize(path) else {
            return Vec::new();
        };
        let mounts = mountinfo::own().unwrap_or_default();
        let Some(mount) = mountinfo::serving(&mounts, &path) else {
            return Vec::new();
        };
        let mut names: Vec<String> = self.number_of_node(&mount.source).into_iter().collect();
        let kind = Kind::of_name(&mount.kind);
        if kind.is_some_and(|kind| kind.properties().spans_devices) {
            names.extend(self.btrfs_companions(&names));
        }
        names
    }

    /// sysfs name of a device node.
    pub fn number_of_node(&self, node: &Path) -> Option<String> {
        let meta = fs::metadata(node).ok()?;
        let rdev = meta.file_type().is_block_device().then(|| meta.rdev())?;
        self.name_of(major(rdev), minor(rdev))
    }

    /// The other devices of the mounted btrfs filesystems that any of `names` belongs to.
    pub fn btrfs_companions(&self, names: &[String]) -> Vec<String> {
        self.names("sys/fs/btrfs")
            .into_iter()
            .map(|uuid| self.names(format!("sys/fs/btrfs/{uuid}/devices")))
            .filter(|devices| devices.iter().any(|device| names.contains(device)))
            .flatten()
            .collect()
    }
}

/// A bound loop device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// `loop3`.
    pub name: String,
    /// Path of its backing file as the kernel shows it.
    pub backing: PathBuf,
    /// The file has no name any more.
    pub deleted: bool,
}

impl Loop {
    /// Its node below /dev.
    pub fn node(&self) -> PathBuf {
        Path::new("/dev").join(&self.name)
    }
}

/// Whether this process may do what only root may (effective user 0).
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Creates a folder and what is above it, with an error that names it.
pub(crate) fn make_folder(path: &Path) -> crate::Result<()> {
    fs::create_dir_all(path)
        .map_err(|error| crate::Error::io(path, "cannot make the folder", error))
}

/// Bytes free to all users (what is kept for root is no room for experiments) on the filesystem of `folder`.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(folder)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backing_file_is_read_byte_by_byte() {
        let root = tempfile::tempdir().unwrap();
        for (name, shown, path, deleted) in [
            ("loop0", &b"/a/ image \n"[..], &b"/a/ image "[..], false),
            ("loop1", b"/a/\xFF\xFE.img\n", b"/a/\xFF\xFE.img", false),
            ("loop2", b"/a/line\n\n", b"/a/line\n", false),
            ("loop3", b"/a/gone  (deleted)\n", b"/a/gone ", true),
        ] {
            let folder = root.path().join("sys/block").join(name).join("loop");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("backing_file"), shown).unwrap();
            let found = Host::below(root.path()).loops().pop().unwrap();
            let backing: PathBuf = OsStr::from_bytes(path).into();
            assert_eq!((found.backing, found.deleted), (backing, deleted));
        }
    }
}
