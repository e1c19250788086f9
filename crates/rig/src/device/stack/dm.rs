//! Targets of device-mapper: linear, striped, delay, flakey, log-writes.
//!
//! Devices are known by a name of ours, which holds the process and the trial; their node is the
//! kernel's own (`/dev/dm-3`), found by that name in sysfs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{await_some, run, words};
use crate::host::Host;
use crate::undo::actions::PATIENCE;
use crate::{Error, Result, command};
use progress::Silent;

const PROGRAM: &str = "dmsetup";
const PACKAGE: &str = "dmsetup";
/// Bytes of a sector of device-mapper's tables.
pub(super) const SECTOR: u64 = 512;
/// How long a device may take to appear in sysfs.
const APPEARS: Duration = Duration::from_secs(5);

/// A piece of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The device's node.
    pub node: PathBuf,
    /// Where it begins, bytes.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// The table of a slice.
pub fn linear(piece: &Piece) -> String {
    let (length, offset) = (piece.length / SECTOR, piece.offset / SECTOR);
    format!("0 {length} linear {} {offset}", piece.node.display())
}

/// The table of stripes over whole members: as much of each as is whole chunks of the smallest.
pub fn striped(members: &[Piece], chunk: u64) -> String {
    let least = members.iter().map(|piece| piece.length).min().unwrap_or(0);
    let each = least / chunk.max(SECTOR) * chunk;
    let length = each * members.len() as u64 / SECTOR;
    let mut table = format!("0 {length} striped {} {}", members.len(), chunk / SECTOR);
    for member in members {
        let offset = member.offset / SECTOR;
        let _ = write!(table, " {} {offset}", member.node.display());
    }
    table
}

/// The table of a device that waits; flushes wait like writes.
pub fn delay(piece: &Piece, read_ms: u32, write_ms: u32) -> String {
    let (length, node) = (piece.length / SECTOR, piece.node.display());
    format!("0 {length} delay {node} 0 {read_ms} {node} 0 {write_ms}")
}

/// The table of a device that works and fails by turns.
pub fn flakey(piece: &Piece, up: u32, down: u32, feature: Option<&str>) -> String {
    let (length, node) = (piece.length / SECTOR, piece.node.display());
    let feature = feature.map_or(String::new(), |feature| format!(" 1 {feature}"));
    format!("0 {length} flakey {node} 0 {up} {down}{feature}")
}

/// The table of a device whose writes are logged.
pub fn log_writes(piece: &Piece, log: &Path) -> String {
    let (length, node) = (piece.length / SECTOR, piece.node.display());
    format!("0 {length} log-writes {node} {}", log.display())
}

/// Makes the device `name` and gives its sysfs name.
pub(super) fn create(host: &Host, name: &str, table: &str) -> Result<String> {
    let arguments = words([
        "create",
        name,
        "--noudevsync",
        "--noudevrules",
        "--table",
        table,
    ]);
    run(PROGRAM, PACKAGE, &arguments)?;
    appeared(host, name)
}

/// The sysfs name of a device that was just made.
pub(super) fn appeared(host: &Host, name: &str) -> Result<String> {
    await_some(APPEARS, || {
        let found = find(host, name)?;
        Path::new("/dev").join(&found).exists().then_some(found)
    })
    .ok_or_else(|| Error::Cannot {
        thing: name.into(),
        what: "cannot find the new device".into(),
        why: "sysfs or /dev does not show it".into(),
        next: "is /dev a devtmpfs?".into(),
    })
}

/// Sysfs name of the device called `name` (`dm-3`).
pub(crate) fn find(host: &Host, name: &str) -> Option<String> {
    let devices = host.names("sys/block");
    devices
        .into_iter()
        .filter(|device| device.starts_with("dm-"))
        .find(|device| host.text(format!("sys/block/{device}/dm/name")).as_deref() == Some(name))
}

/// Gives a device another table while it is in use. What was on its way reaches the old one, what comes waits for the new one:
/// no request is torn.
pub(in crate::device) fn swap(name: &str, table: &str) -> Result<()> {
    run(PROGRAM, PACKAGE, &words(["load", name, "--table", table]))?;
    // Without `--nolockfs` the filesystem upon it would be frozen first, which syncs it.
    run(PROGRAM, PACKAGE, &words(["suspend", "--nolockfs", name]))?;
    let resume = words(["resume", "--noudevsync", "--noudevrules", name]);
    run(PROGRAM, PACKAGE, &resume).map(|_| ())
}

/// Removes the device called `name`; not there is success.
pub(super) fn remove(host: &Host, name: &str) -> Result<()> {
    let begun = Instant::now();
    let arguments = words(["remove", "--noudevsync", "--noudevrules", name]);
    loop {
        if find(host, name).is_none() {
            return Ok(());
        }
        let Err(error) = run(PROGRAM, PACKAGE, &arguments) else {
            continue;
        };
        // udev or a scanner may look at it for a moment.
        if begun.elapsed() >= PATIENCE {
            return Err(Error::NotUndone {
                thing: name.into(),
                why: error.to_string(),
                next: format!("end its use (dmsetup info {name}), then: dmsetup remove {name}"),
            });
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Sends a device a message: `mark NAME` to dm-log-writes.
///
/// # Errors
/// What dmsetup says.
pub fn message(name: &str, message: &str) -> Result<()> {
    let mut arguments = words(["message", name, "0"]);
    arguments.extend(message.split(' ').map(str::to_owned));
    run(PROGRAM, PACKAGE, &arguments).map(|_| ())
}

/// The device's table as the kernel has it; none when it cannot be read.
pub(super) fn table(name: &str) -> Option<String> {
    let program = command::locate(PROGRAM)?.display().to_string();
    let argv = [program, "table".into(), name.into()];
    let out = command::run(&argv, "", &Silent).ok()?;
    Some(out.stdout.trim().to_owned()).filter(|table| !table.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(node: &str, offset: u64, length: u64) -> Piece {
        Piece {
            node: node.into(),
            offset,
            length,
        }
    }

    #[test]
    fn tables_are_in_sectors() {
        const MIB: u64 = 1 << 20;
        let disk = piece("/dev/vda", 3 * MIB, MIB);
        assert_eq!(linear(&disk), "0 2048 linear /dev/vda 6144");
        let members = [
            piece("/dev/vda", 0, MIB + 4096),
            piece("/dev/vdb", 0, 2 * MIB),
        ];
        assert_eq!(
            striped(&members, 64 << 10),
            "0 4096 striped 2 128 /dev/vda 0 /dev/vdb 0"
        );
        assert_eq!(
            delay(&members[1], 5, 7),
            "0 4096 delay /dev/vdb 0 5 /dev/vdb 0 7"
        );
        assert_eq!(
            flakey(&members[1], 60, 5, Some("drop_writes")),
            "0 4096 flakey /dev/vdb 0 60 5 1 drop_writes"
        );
        assert_eq!(
            log_writes(&members[1], Path::new("/dev/vdc")),
            "0 4096 log-writes /dev/vdb /dev/vdc"
        );
    }

    #[test]
    fn a_device_is_found_by_its_own_name() {
        let root = tempfile::tempdir().unwrap();
        for (device, name) in [("dm-0", "vg-home"), ("dm-1", "fslab-7-0-top")] {
            let folder = root.path().join("sys/block").join(device).join("dm");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("name"), format!("{name}\n")).unwrap();
        }
        let host = Host::below(root.path());
        assert_eq!(find(&host, "fslab-7-0-top").as_deref(), Some("dm-1"));
        assert_eq!(find(&host, "fslab-7-0"), None);
        remove(&host, "fslab-7-0").unwrap();
    }
}
