//! The disks of a trial's machine.
//!
//! A plain device is one disk, a stack has one for each member. User-mode Linux hangs with eight or more of
//! its disks below a stripe (docs/guest.md), so there a stack's members are slices of one disk, cut by
//! dm-linear in the guest; sizes and offsets within members are the same.

use std::fs::File;
use std::path::{Path, PathBuf};

use guest::machine::Disk;
use study::{Bytes, DeviceSpec};

use crate::target::{GuestMachine, Target};

/// Serial of a disk by its number.
fn serial(number: usize) -> String {
    format!("disk{number}")
}

/// Bytes of each disk that a machine gets for this device.
pub(super) fn sizes(device: &DeviceSpec, machine: GuestMachine) -> Vec<u64> {
    let members: Vec<u64> = device.disks().into_iter().map(Bytes::get).collect();
    if cut(device, machine) {
        vec![members.iter().sum()]
    } else {
        members
    }
}

/// Whether the members are slices of one disk.
fn cut(device: &DeviceSpec, machine: GuestMachine) -> bool {
    machine == GuestMachine::Uml && device.disks().len() > 1
}

/// Sparse files without names: they go with the last process that has them open.
pub(super) fn make(
    images: &Path,
    device: &DeviceSpec,
    machine: GuestMachine,
) -> Result<Vec<Disk>, String> {
    let one = |(number, size): (usize, u64)| {
        file(images, size)
            .map(|file| Disk {
                file,
                serial: serial(number),
                log: None,
            })
            .map_err(|error| {
                format!(
                    "{}: cannot make the guest's disk of {} MiB: {error}; choose another --out",
                    images.display(),
                    size >> 20
                )
            })
    };
    let sizes = sizes(device, machine).into_iter().enumerate();
    sizes.map(one).collect()
}

pub(super) fn file(images: &Path, size: u64) -> std::io::Result<File> {
    std::fs::create_dir_all(images)?;
    let file = tempfile::tempfile_in(images)?;
    file.set_len(size)?;
    Ok(file)
}

/// Serials of these disks, for the guest.
pub(super) fn serials(disks: &[Disk]) -> Vec<String> {
    disks.iter().map(|disk| disk.serial.clone()).collect()
}

/// The target within the guest: one disk as a whole disk of any machine is.
pub(super) fn target(mut found: Vec<(PathBuf, String)>) -> Target {
    match (found.len(), found.pop()) {
        (1, Some((path, serial))) => Target::Device { path, serial },
        (_, last) => {
            found.extend(last);
            Target::Disks(found)
        }
    }
}

#[cfg(test)]
mod tests {
    use study::{Layers, Md, Metadata, RaidLevel, Stack};

    use super::*;

    fn device(layers: Option<Layers>) -> DeviceSpec {
        DeviceSpec {
            size: Bytes(330 << 20),
            stack: layers.map(|layers| Stack {
                name: "it".into(),
                about: String::new(),
                layers,
            }),
            ..DeviceSpec::default()
        }
    }

    fn raid(level: RaidLevel, members: u32) -> DeviceSpec {
        device(Some(Layers::Md(Md {
            level,
            members,
            chunk: Some(Bytes(64 << 10)),
            metadata: Metadata::V1_2,
            assume_clean: true,
        })))
    }

    #[test]
    fn qemu_has_a_disk_for_each_member_and_uml_one_for_all() {
        let array = raid(RaidLevel::Raid0, 11);
        assert_eq!(sizes(&array, GuestMachine::Qemu), vec![31 << 20; 11]);
        assert_eq!(sizes(&array, GuestMachine::Uml), vec![341 << 20]);
    }

    #[test]
    fn a_plain_device_is_one_disk() {
        let plain = device(None);
        for machine in [GuestMachine::Qemu, GuestMachine::Uml] {
            assert_eq!(sizes(&plain, machine), [330 << 20]);
        }
        let disk = |n: usize| (PathBuf::from(format!("/dev/vd{n}")), serial(n));
        assert!(matches!(target(vec![disk(0)]), Target::Device { .. }));
        assert_eq!(target(Vec::new()), Target::Disks(Vec::new()));
        let two = target(vec![disk(0), disk(1)]);
        assert_eq!(two, Target::Disks(vec![disk(0), disk(1)]));
    }

    #[test]
    fn disks_are_made_with_their_serials() {
        let temp = tempfile::tempdir().unwrap();
        let disks = make(temp.path(), &raid(RaidLevel::Raid5, 4), GuestMachine::Qemu).unwrap();
        assert_eq!(serials(&disks), ["disk0", "disk1", "disk2", "disk3"]);
        assert_eq!(disks[3].file.metadata().unwrap().len(), 111 << 20);
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    }
}
