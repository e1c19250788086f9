//! What of a journal is obeyed: each step, parsed into a type that can name only what a run makes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::names::{Beneath, ControlFile, DeviceNumber, MappedName, MdUuid, Numbered, OwnFolder};
use super::step::Step;
use crate::device::stack;

/// Most values that one limit sets: four in each of two groups.
const MOST_SETTINGS: usize = 16;
/// Largest readahead that is given back, in sectors of 512 bytes: 4 GiB.
const MOST_READAHEAD: u64 = 8 << 20;

/// One thing to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Remove an image.
    Image(Beneath),
    /// Detach a loop device from its image and remove the image.
    Loop {
        /// The device, when it was bound.
        device: Numbered,
        /// The image.
        image: Beneath,
    },
    /// Remove a device-mapper device.
    Mapped(MappedName),
    /// Stop an md array.
    Array {
        /// Its name.
        device: Numbered,
        /// Its UUID.
        uuid: MdUuid,
    },
    /// Remove a `null_blk` device.
    NullBlk(Numbered),
    /// Wait until a device that goes by itself has gone, a loop device or a disk of the driver ublk.
    Served {
        /// The device, when it was bound.
        device: Numbered,
        /// The file that it is bound to, or whose mark it has.
        file: MappedName,
    },
    /// Remove a mount point.
    MountPoint(Beneath),
    /// Unmount.
    Mount {
        /// The device; only looked at.
        device: PathBuf,
        /// The mount point.
        point: Beneath,
    },
    /// Remove a working folder and what is in it.
    Folder(OwnFolder),
    /// Give a disk its readahead back.
    Readahead {
        /// The node; only looked at.
        device: PathBuf,
        /// Sectors of 512 bytes.
        sectors: u64,
        /// The disk's serial; none in old journals and for devices that the run made.
        serial: Option<String>,
    },
    /// Take a limit back.
    Limit {
        /// The node; only looked at.
        device: PathBuf,
        /// Its number.
        number: DeviceNumber,
        /// What was set.
        files: Vec<ControlFile>,
    },
    /// Remove a control group.
    Group(OwnFolder),
    /// Switch block tracing off.
    Trace(probe::capture::Changes),
    /// Nothing: it says which disk the run formatted.
    Formatted {
        /// The disk's serial.
        serial: String,
    },
}

/// The step of a journal of the run in `run`, which the processes `owners` used; `None` when there is nothing to undo.
///
/// # Errors
/// Why it is not obeyed.
pub(crate) fn parse(
    step: &Step,
    run: &Path,
    owners: &BTreeSet<u32>,
) -> Result<Option<Task>, String> {
    Ok(Some(match step {
        Step::Opened { .. } => return Ok(None),
        Step::Image { path } => Task::Image(Beneath::of(path, run)?),
        Step::Loop { device, image } => Task::Loop {
            device: Numbered::of_node(device, "loop")?,
            image: Beneath::of(image, run)?,
        },
        Step::Mapped { name } => Task::Mapped(MappedName::of(name, owners)?),
        Step::Array { device, uuid } => Task::Array {
            device: Numbered::of_node(device, "md")?,
            uuid: uuid.parse()?,
        },
        Step::NullBlk { name } => Task::NullBlk(Numbered::of(name, "nullb")?),
        Step::Served { device, file } => Task::Served {
            device: Numbered::of_node(device, "loop")
                .or_else(|_| Numbered::of_node(device, stack::model::UBLK))?,
            file: MappedName::of(file, owners)?,
        },
        Step::MountPoint { path } => Task::MountPoint(Beneath::of(path, run)?),
        Step::Mount { device, point } => Task::Mount {
            device: device.clone(),
            point: Beneath::of(point, run)?,
        },
        Step::Folder { path } => Task::Folder(OwnFolder::of(path, owners)?),
        Step::Readahead {
            device,
            sectors,
            serial,
        } => {
            if *sectors > MOST_READAHEAD {
                return Err(format!("{sectors} sectors are no readahead of a disk"));
            }
            Task::Readahead {
                device: device.clone(),
                sectors: *sectors,
                serial: serial.clone(),
            }
        }
        Step::Limit {
            device,
            device_number,
            settings,
        } => {
            if settings.len() > MOST_SETTINGS {
                return Err(format!(
                    "{} values are more than a run sets",
                    settings.len()
                ));
            }
            Task::Limit {
                device: device.clone(),
                number: device_number.parse()?,
                files: settings
                    .iter()
                    .map(ControlFile::of)
                    .collect::<Result<_, _>>()?,
            }
        }
        Step::Group { folder } => Task::Group(OwnFolder::of(folder, owners)?),
        Step::Trace { changes } => {
            changes.check()?;
            Task::Trace(changes.clone())
        }
        Step::Formatted { serial, .. } => Task::Formatted {
            serial: serial.clone(),
        },
    }))
}
