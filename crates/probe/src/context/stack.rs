//! The stack of block devices under a filesystem: loop over file over filesystem over disk,
//! partitions, and dm or md over their members (item 37's tree).

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::collect::Collector;
use crate::mountinfo::{self, Mount};

/// A stack deeper than this is a loop of symlinks or of loop devices.
const MAX_DEPTH: usize = 16;

/// A filesystem that the run touches.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Its mount, unless it is not mounted.
    pub(super) mount: Option<Mount>,
    /// Kernel name of its device; none for tmpfs, NFS and their like.
    pub(super) device: Option<String>,
    /// The device's node.
    pub(super) node: Option<PathBuf>,
}

/// The block devices under the subject.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    /// The filesystem under test.
    pub(super) measured: Option<Target>,
    /// The one that holds the loop image, or the run's folder.
    pub(super) host: Option<Target>,
    /// Every device of both stacks, from the top, each once.
    pub(super) devices: Vec<String>,
    /// The tree under the measured filesystem, or under the host without one.
    pub(super) tree: Option<Value>,
}

/// `/sys/class/block/<device>`: the folder that both disks and partitions have.
pub(super) fn folder(device: &str) -> String {
    format!("/sys/class/block/{device}")
}

/// Kernel name of a device number.
pub(super) fn name_of(c: &Collector<'_>, major: u32, minor: u32) -> Option<String> {
    let wanted = format!("{major}:{minor}");
    let link = c.path(&format!("/sys/dev/block/{wanted}"));
    if let Ok(real) = std::fs::canonicalize(link) {
        return real.file_name().map(|n| n.to_string_lossy().into_owned());
    }
    c.list("/sys/class/block").into_iter().find(|name| {
        c.read(&format!("{}/dev", folder(name)))
            .is_ok_and(|d| d == wanted)
    })
}

/// Kernel name of a device node.
fn name_of_node(c: &Collector<'_>, node: &Path) -> Option<String> {
    let by_number = std::fs::metadata(node).ok().and_then(|m| {
        let device = m.rdev();
        name_of(c, rustix::fs::major(device), rustix::fs::minor(device))
    });
    by_number.or_else(|| {
        let name = node.file_name()?.to_string_lossy().into_owned();
        c.path(&folder(&name)).exists().then_some(name)
    })
}

fn target_of_mount(c: &Collector<'_>, mount: &Mount) -> Target {
    let (major, minor) = mount.device;
    // Major 0 is anonymous: btrfs, overlay, tmpfs. Their source may still name a device.
    let device = (major != 0)
        .then(|| name_of(c, major, minor))
        .flatten()
        .or_else(|| {
            mount
                .source
                .starts_with("/dev/")
                .then(|| name_of_node(c, &mount.source))
                .flatten()
        });
    let node = device.as_ref().map(|name| c.roots().dev.join(name));
    Target {
        mount: Some(mount.clone()),
        device,
        node,
    }
}

/// The filesystem that holds a path.
fn target_of_path(c: &Collector<'_>, path: &Path) -> Option<Target> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    mountinfo::serving(&c.mounts, &path).map(|mount| target_of_mount(c, mount))
}

fn target_of_device(c: &Collector<'_>, node: &Path) -> Option<Target> {
    let device = name_of_node(c, node)?;
    let mount = c
        .mounts
        .iter()
        .rev()
        .map(|mount| target_of_mount(c, mount))
        .find(|target| target.device.as_ref() == Some(&device));
    Some(Target {
        mount: mount.and_then(|t| t.mount),
        device: Some(device),
        node: Some(node.to_path_buf()),
    })
}

/// Backing file of a loop device.
pub(super) fn backing_file(c: &Collector<'_>, device: &str) -> Option<PathBuf> {
    c.read(&format!("{}/loop/backing_file", folder(device)))
        .ok()
        .map(PathBuf::from)
}

/// The disk that a partition is part of.
pub(super) fn disk_of(c: &Collector<'_>, device: &str) -> Option<String> {
    if !c.path(&format!("{}/partition", folder(device))).exists() {
        return None;
    }
    c.list("/sys/class/block")
        .into_iter()
        .find(|disk| c.path(&format!("{}/{device}", folder(disk))).exists())
}

fn kind(c: &Collector<'_>, device: &str) -> &'static str {
    let has = |file: &str| c.path(&format!("{}/{file}", folder(device))).exists();
    if has("partition") {
        "partition"
    } else if has("loop") || device.starts_with("loop") {
        "loop"
    } else if has("dm") {
        "dm"
    } else if has("md") {
        "md"
    } else {
        "disk"
    }
}

fn tree(c: &Collector<'_>, device: &str, depth: usize, seen: &mut Vec<String>) -> Value {
    if !seen.iter().any(|d| d == device) {
        seen.push(device.to_owned());
    }
    let number = c.read(&format!("{}/dev", folder(device))).ok();
    let bytes = c
        .read(&format!("{}/size", folder(device)))
        .ok()
        .and_then(|t| t.parse::<u64>().ok())
        .map(|sectors| sectors * 512);
    let mut node =
        json!({ "name": device, "kind": kind(c, device), "number": number, "bytes": bytes });
    if depth == 0 {
        node["note"] = "deeper levels are not shown".into();
        return node;
    }
    let mut below: Vec<Value> = c
        .list(&format!("{}/slaves", folder(device)))
        .iter()
        .map(|slave| tree(c, slave, depth - 1, seen))
        .collect();
    if let Some(disk) = disk_of(c, device) {
        below.push(tree(c, &disk, depth - 1, seen));
    }
    if let Some(file) = backing_file(c, device) {
        node["backing_file"] = file.to_string_lossy().into();
        if let Some(target) = target_of_path(c, &file) {
            let mount = target.mount.as_ref();
            node["backing_filesystem"] = mount.map(|m| m.kind.clone()).into();
            node["backing_mount"] = mount.map(|m| m.point.to_string_lossy()).into();
            below.extend(target.device.map(|d| tree(c, &d, depth - 1, seen)));
        }
    }
    if !below.is_empty() {
        node["on"] = below.into();
    }
    node
}

impl Stacks {
    pub(super) fn of(c: &Collector<'_>) -> Stacks {
        let subject = c.subject;
        let folder = subject.target_folder.and_then(|p| target_of_path(c, p));
        let measured = subject
            .mount_point
            .and_then(|p| target_of_path(c, p))
            .or_else(|| subject.device.and_then(|d| target_of_device(c, d)))
            .or_else(|| folder.clone());
        let host = measured
            .as_ref()
            .and_then(|t| backing_file(c, t.device.as_ref()?))
            .and_then(|file| target_of_path(c, &file))
            .or(folder)
            .filter(|host| {
                let point = |t: &Target| t.mount.as_ref().map(|m| m.point.clone());
                measured.as_ref().is_none_or(|m| point(m) != point(host))
            });
        let mut stacks = Stacks::default();
        for target in [&measured, &host].into_iter().flatten() {
            if let Some(device) = &target.device {
                let built = tree(c, device, MAX_DEPTH, &mut stacks.devices);
                stacks.tree.get_or_insert(built);
            }
        }
        stacks.measured = measured;
        stacks.host = host;
        stacks
    }
}
