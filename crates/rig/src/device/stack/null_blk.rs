//! `null_blk`: a device of the kernel's memory, as fast or slow as asked (Documentation/block/null_blk.rst).
//!
//! Made through configfs. The folder is called as the disk will be: since Linux 6.1 the disk takes the
//! folder's name, before that it took the next number, given by the folder's `index`.

use std::fs;
use std::path::{Path, PathBuf};

use super::await_some;
use crate::gate::is_claimed;
use crate::host::Host;
use crate::undo::actions::PATIENCE;
use crate::{Error, Result};

/// Where configfs has it.
const FOLDER: &str = "sys/kernel/config/nullb";
/// Numbers that are tried; 0 is what the module makes by itself.
const NUMBERS: std::ops::Range<u32> = 1..128;
/// Completions by a timer (`NULL_IRQ_TIMER`).
const BY_TIMER: &str = "2";

/// A device to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NullBlk {
    /// Nanoseconds that each request takes; 0: none.
    pub latency_ns: u64,
    /// MiB a second at most; 0: not held.
    pub mbps: u32,
    /// Bytes of a zone; none: not zoned.
    pub zone: Option<u64>,
}

/// A name that is free: of the folder and, on new kernels, of the disk.
pub(super) fn free_name(host: &Host) -> Result<String> {
    let taken = |name: &String| {
        host.path(FOLDER).join(name).exists() || host.path("sys/block").join(name).exists()
    };
    NUMBERS
        .map(|number| format!("nullb{number}"))
        .find(|name| !taken(name))
        .ok_or_else(|| Error::Cannot {
            thing: "null_blk".into(),
            what: "no free device".into(),
            why: format!("{} exist already", NUMBERS.end),
            next: "remove some (rmdir /sys/kernel/config/nullb/*)".into(),
        })
}

/// Attributes in the order of writing, `power` last.
fn attributes(null: &NullBlk, size: u64) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("size", (size >> 20).to_string()),
        ("blocksize", "512".into()),
        ("memory_backed", "1".into()),
    ];
    if null.latency_ns > 0 {
        all.push(("irqmode", BY_TIMER.into()));
        all.push(("completion_nsec", null.latency_ns.to_string()));
    }
    if null.mbps > 0 {
        all.push(("mbps", null.mbps.to_string()));
    }
    if let Some(zone) = null.zone {
        all.push(("zoned", "1".into()));
        all.push(("zone_size", (zone >> 20).to_string()));
    }
    all.push(("power", "1".into()));
    all
}

/// Makes the device in the folder `name`, which [`free_name`] gave; returns its sysfs name.
pub(super) fn create(host: &Host, name: &str, null: &NullBlk, size: u64) -> Result<String> {
    let folder = host.path(FOLDER).join(name);
    fs::create_dir(&folder)
        .map_err(|error| Error::io(&folder, "cannot make a null_blk device", error))?;
    for (attribute, value) in attributes(null, size) {
        let file = folder.join(attribute);
        fs::write(&file, &value).map_err(|error| Error::Cannot {
            thing: file.display().to_string(),
            what: format!("cannot set it to {value}"),
            why: error.to_string(),
            next: "this kernel's null_blk cannot do it; choose another device or kernel".into(),
        })?;
    }
    let index = host.text(Path::new(FOLDER).join(name).join("index"));
    let numbered = index.map(|index| format!("nullb{index}"));
    let candidates: Vec<String> = std::iter::once(name.to_owned()).chain(numbered).collect();
    let found = await_some(PATIENCE, || {
        let is_it = |disk: &&String| {
            let sectors = host.text(format!("sys/block/{disk}/size"));
            let sectors = sectors.and_then(|sectors| sectors.parse::<u64>().ok());
            sectors == Some(size >> 20 << 11) && Path::new("/dev").join(disk.as_str()).exists()
        };
        candidates.iter().find(is_it).cloned()
    });
    found.ok_or_else(|| Error::Cannot {
        thing: folder.display().to_string(),
        what: "cannot find the new device".into(),
        why: format!("neither of {} is there", candidates.join(", ")),
        next: "see the kernel log (dmesg)".into(),
    })
}

fn folder(host: &Host, name: &str) -> PathBuf {
    host.path(FOLDER).join(name)
}

/// Whether the folder is there.
pub(super) fn is_left(host: &Host, name: &str) -> bool {
    folder(host, name).exists()
}

/// The same where nothing uses the disk: its name does not tell which run made it.
pub(super) fn remove_unused(host: &Host, name: &str) -> Result<()> {
    let numbered = folder(host, name).join("index");
    let index = fs::read_to_string(numbered).unwrap_or_default();
    let disks = [name.to_owned(), format!("nullb{}", index.trim())];
    for disk in disks.iter().filter(|disk| host.number_of(disk).is_some()) {
        if is_claimed(&Path::new("/dev").join(disk)) || !host.holders(disk).is_empty() {
            return Err(Error::NotUndone {
                thing: name.to_owned(),
                why: format!("/dev/{disk} is in use"),
                next: "end that use if it is this run's, then clean again".into(),
            });
        }
    }
    remove(host, name)
}

/// Switches it off and removes it; not there is success.
pub(super) fn remove(host: &Host, name: &str) -> Result<()> {
    let folder = folder(host, name);
    if !folder.exists() {
        return Ok(());
    }
    // What was never switched on cannot be switched off.
    let _ = fs::write(folder.join("power"), "0");
    let mut last = None;
    let gone = await_some(PATIENCE, || match fs::remove_dir(&folder) {
        Ok(()) => Some(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(()),
        Err(error) => {
            last = Some(error);
            None
        }
    });
    match (gone, last) {
        (None, Some(error)) => Err(Error::io(&folder, "cannot remove the device", error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_is_set_and_power_comes_last() {
        let plain = attributes(&NullBlk::default(), 64 << 20);
        let names: Vec<&str> = plain.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["size", "blocksize", "memory_backed", "power"]);
        assert_eq!(plain[0].1, "64");
        let slow = NullBlk {
            latency_ns: 1_000_000,
            mbps: 20,
            zone: Some(16 << 20),
        };
        let text: Vec<String> = attributes(&slow, 1 << 30)
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            text.join(" "),
            "size=1024 blocksize=512 memory_backed=1 irqmode=2 completion_nsec=1000000 mbps=20 \
             zoned=1 zone_size=16 power=1"
        );
    }

    #[test]
    fn the_modules_own_device_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let host = Host::below(root.path());
        fs::create_dir_all(root.path().join("sys/block/nullb0")).unwrap();
        fs::create_dir_all(root.path().join("sys/kernel/config/nullb/nullb1")).unwrap();
        assert_eq!(free_name(&host).unwrap(), "nullb2");
        assert!(is_left(&host, "nullb1"));
        remove(&host, "nullb7").unwrap();
    }
}
