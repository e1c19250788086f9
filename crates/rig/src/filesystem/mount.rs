//! Mounting by the kernel's mount API (fsopen, fsconfig, fsmount, move_mount; Linux 5.2).
//!
//! mount(2) answers a bad option with EINVAL for the whole string. The new API takes options one by
//! one, so the error names the option, and the filesystem context's own log says why. What a
//! filesystem reports only to the kernel log is read from /dev/kmsg, from its position before the mount.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{CWD, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount,
};

use crate::{Error, Result};

/// Mounts `node` on `point` and returns the mount's ID. Each of `options` may be a comma-separated list as in fstab(5).
pub(crate) fn mount(kind: &str, node: &Path, point: &Path, options: &[String]) -> Result<u64> {
    let (options, attributes) = sort(options);
    let mut kernel_log = KernelLog::from_now();
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).map_err(|error| match error {
        Errno::NODEV => Error::NoDriver { kind: kind.into() },
        error => Error::io(point, &format!("cannot begin to mount {kind}"), error),
    })?;
    let refused = |option: &str, error: Errno, log: &mut KernelLog| Error::MountRefused {
        kind: kind.into(),
        option: option.into(),
        message: context_log(&context)
            .or_else(|| log.about(kind, node))
            .unwrap_or_else(|| std::io::Error::from(error).to_string()),
        next: match error {
            Errno::PERM | Errno::ACCESS => "run as root".into(),
            Errno::INVAL | Errno::RANGE => "correct or remove it in the study's mount list".into(),
            _ => "see the kernel log (dmesg)".into(),
        },
    };
    fsconfig_set_string(&context, "source", node)
        .map_err(|error| refused("the device", error, &mut kernel_log))?;
    for option in &options {
        let set = match option.split_once('=') {
            Some((key, value)) => fsconfig_set_string(&context, key, value),
            None => fsconfig_set_flag(&context, option.as_str()),
        };
        set.map_err(|error| refused(&format!("option {option}"), error, &mut kernel_log))?;
    }
    let whole = if options.is_empty() {
        "without options".to_string()
    } else {
        format!("options {}", options.join(","))
    };
    fsconfig_create(&context).map_err(|error| refused(&whole, error, &mut kernel_log))?;
    let mounted = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        .map_err(|error| refused(&whole, error, &mut kernel_log))?;
    // Asked before it is attached: a mount whose ID is unknown could not be undone safely.
    let id = rundir::mount_id(&mounted)
        .map_err(|error| Error::io(point, "cannot tell the new mount's ID", error))?;
    move_mount(
        &mounted,
        "",
        CWD,
        point,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .map_err(|error| Error::io(point, "cannot mount there", error))?;
    Ok(id)
}

/// Whether a mount of this type can be begun.
pub(crate) fn driver_present(kind: &str) -> Result<()> {
    match fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC) {
        Err(Errno::NODEV) => Err(Error::NoDriver { kind: kind.into() }),
        _ => Ok(()),
    }
}

/// Divides options into those of the filesystem and those of the mount.
fn sort(options: &[String]) -> (Vec<String>, MountAttrFlags) {
    let mut own = Vec::new();
    let mut attributes = MountAttrFlags::empty();
    for option in options.iter().flat_map(|list| list.split(',')) {
        let option = option.trim();
        match option {
            // What is so anyway, or speaks to mount(8) alone.
            "" | "defaults" | "rw" | "auto" | "noauto" | "nofail" | "_netdev" | "suid" | "dev"
            | "exec" => {}
            "ro" => {
                attributes |= MountAttrFlags::MOUNT_ATTR_RDONLY;
                own.push(option.to_string());
            }
            // One of three, not bits: the last wins, as in mount(8). `atime` is the kernel's
            // default, which is relatime.
            "noatime" | "relatime" | "strictatime" | "atime" => {
                attributes -= MountAttrFlags::MOUNT_ATTR_NOATIME;
                attributes -= MountAttrFlags::MOUNT_ATTR_STRICTATIME;
                attributes |= match option {
                    "noatime" => MountAttrFlags::MOUNT_ATTR_NOATIME,
                    "strictatime" => MountAttrFlags::MOUNT_ATTR_STRICTATIME,
                    _ => MountAttrFlags::MOUNT_ATTR_RELATIME,
                };
            }
            "nodiratime" => attributes |= MountAttrFlags::MOUNT_ATTR_NODIRATIME,
            "diratime" => attributes -= MountAttrFlags::MOUNT_ATTR_NODIRATIME,
            "nosuid" => attributes |= MountAttrFlags::MOUNT_ATTR_NOSUID,
            "nodev" => attributes |= MountAttrFlags::MOUNT_ATTR_NODEV,
            "noexec" => attributes |= MountAttrFlags::MOUNT_ATTR_NOEXEC,
            "nosymfollow" => attributes |= MountAttrFlags::MOUNT_ATTR_NOSYMFOLLOW,
            _ => own.push(option.to_string()),
        }
    }
    (own, attributes)
}

/// Errors that the filesystem left in its context: one message for each read, `e ` before errors.
fn context_log(context: &impl AsFd) -> Option<String> {
    let mut messages = Vec::new();
    let mut buffer = [0u8; 4096];
    while let Ok(length) = rustix::io::read(context, &mut buffer) {
        if length == 0 {
            break;
        }
        let line = String::from_utf8_lossy(&buffer[..length]);
        if let Some(message) = line.trim().strip_prefix("e ") {
            messages.push(message.to_string());
        }
    }
    (!messages.is_empty()).then(|| messages.join("; "))
}

/// The kernel's log from some moment on.
struct KernelLog {
    file: Option<File>,
}

impl KernelLog {
    fn from_now() -> KernelLog {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open("/dev/kmsg")
            .and_then(|mut file| file.seek(SeekFrom::End(0)).map(|_| file))
            .ok();
        KernelLog { file }
    }

    /// Lines since then that name the filesystem or the device.
    fn about(&mut self, kind: &str, node: &Path) -> Option<String> {
        let file = self.file.as_mut()?;
        let device = node.file_name()?.to_string_lossy().into_owned();
        let mut found = Vec::new();
        let mut record = [0u8; 8192];
        while let Ok(length) = file.read(&mut record) {
            if length == 0 {
                break;
            }
            let text = String::from_utf8_lossy(&record[..length]);
            let Some((_, message)) = text.split_once(';') else {
                continue;
            };
            let line = message.lines().next().unwrap_or_default();
            if line.contains(&device) || line.to_lowercase().contains(kind) {
                found.push(line.to_string());
            }
        }
        (!found.is_empty()).then(|| found.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_divided() {
        let (own, attributes) = sort(&[
            "noatime,data=writeback".into(),
            "defaults".into(),
            "ro".into(),
        ]);
        assert_eq!(own, vec!["data=writeback", "ro"]);
        let expected = MountAttrFlags::MOUNT_ATTR_NOATIME | MountAttrFlags::MOUNT_ATTR_RDONLY;
        assert_eq!(attributes, expected);
    }

    #[test]
    fn of_several_atime_options_the_last_wins() {
        let (noatime, strict, nodir) = (
            MountAttrFlags::MOUNT_ATTR_NOATIME,
            MountAttrFlags::MOUNT_ATTR_STRICTATIME,
            MountAttrFlags::MOUNT_ATTR_NODIRATIME,
        );
        for (options, expected) in [
            ("noatime,strictatime", strict),
            ("strictatime,noatime", noatime),
            ("noatime,relatime", MountAttrFlags::MOUNT_ATTR_RELATIME),
            ("strictatime,atime,nodiratime", nodir),
            ("nodiratime,noatime,diratime", noatime),
        ] {
            assert_eq!(sort(&[options.into()]).1, expected, "{options}");
        }
    }
}
