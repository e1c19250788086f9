//! What a run makes on the host, one step each.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Place;

/// One value of a control group's file, with what it was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The control file.
    pub file: PathBuf,
    /// What was set.
    pub asked: u64,
    /// What it was; 0 is no limit.
    pub was: u64,
}

/// Something made on the host, as the journal has it. [`super::parse`] decides what of it is obeyed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "made", rename_all = "snake_case")]
pub enum Step {
    /// A process began to use the journal.
    Opened {
        /// Its id.
        pid: u32,
        /// Where the journal was then; none in journals of old versions.
        #[serde(default)]
        place: Option<Place>,
    },
    /// A sparse image file.
    Image {
        /// Its path.
        path: PathBuf,
    },
    /// A loop device bound to an image. The image is what identifies it later, not the number.
    Loop {
        /// `/dev/loop3`.
        device: PathBuf,
        /// The image.
        image: PathBuf,
    },
    /// A device of device-mapper, a logical volume among them.
    Mapped {
        /// Its name, which is ours alone.
        name: String,
    },
    /// An md array.
    Array {
        /// Its node.
        device: PathBuf,
        /// Its UUID as mdadm writes it, which is what identifies it later, not the number.
        uuid: String,
    },
    /// A `null_blk` device.
    NullBlk {
        /// Its folder in configfs.
        name: String,
    },
    /// A disk that a process of the run serves: a loop device on its file, which detaches itself at its last close, or one of the driver
    /// ublk, which goes with the process.
    Served {
        /// `/dev/loop3`, `/dev/ublkb0`.
        device: PathBuf,
        /// Name of the file, or of the mark, which is ours alone and identifies it later, not the number.
        file: String,
    },
    /// A mount point below the run's folder.
    MountPoint {
        /// Its path.
        path: PathBuf,
    },
    /// A mount.
    Mount {
        /// The device.
        device: PathBuf,
        /// The mount point.
        point: PathBuf,
    },
    /// A folder to work in, below a directory that the user gave.
    Folder {
        /// Its path.
        path: PathBuf,
    },
    /// Readahead of a device changed.
    Readahead {
        /// The device.
        device: PathBuf,
        /// What it was, in sectors of 512 bytes.
        sectors: u64,
        /// The disk's serial; none for a device that the run itself made, which takes its readahead with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        serial: Option<String>,
    },
    /// A device's rate limited by the block layer's throttle.
    Limit {
        /// The device.
        device: PathBuf,
        /// `MAJOR:MINOR`.
        device_number: String,
        /// What was set, and what it was.
        settings: Vec<Setting>,
    },
    /// A control group that the run's process enters.
    Group {
        /// Its folder.
        folder: PathBuf,
    },
    /// Block tracing switched on.
    Trace {
        /// What that changes, as it was.
        changes: probe::capture::Changes,
    },
    /// A filesystem on a real disk.
    Formatted {
        /// The disk's serial.
        serial: String,
        /// The filesystem's UUID.
        uuid: String,
    },
}

impl Step {
    /// The step after its run's folder was moved: only what is below the folder counts.
    pub(super) fn moved(&self, old: &Path, new: &Path) -> Option<Step> {
        let to = |path: &Path| path.strip_prefix(old).ok().map(|rest| new.join(rest));
        match self {
            Step::Opened { .. } => None,
            Step::Formatted { .. }
            | Step::Readahead { .. }
            | Step::Limit { .. }
            | Step::Trace { .. }
            | Step::Mapped { .. }
            | Step::Array { .. }
            | Step::NullBlk { .. }
            | Step::Served { .. }
            | Step::Group { .. } => Some(self.clone()),
            Step::Image { path } => to(path).map(|path| Step::Image { path }),
            Step::MountPoint { path } => to(path).map(|path| Step::MountPoint { path }),
            Step::Folder { path } => to(path).map(|path| Step::Folder { path }),
            Step::Loop { device, image } => to(image).map(|image| Step::Loop {
                device: device.clone(),
                image,
            }),
            Step::Mount { device, point } => to(point).map(|point| Step::Mount {
                device: device.clone(),
                point,
            }),
        }
    }
}
