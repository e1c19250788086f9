//! Why the gate says no: each one line with what it is, why it matters and what to do next.

use std::fmt;
use std::path::PathBuf;

/// One reason to leave a device alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The device as it was named to the gate.
    pub device: PathBuf,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: refused: {}", self.device.display(), self.reason)
    }
}

/// The reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No such path.
    Missing,
    /// A file, a folder, a character device.
    NotABlockDevice {
        /// What it is, in words.
        what: String,
    },
    /// The node is there and the kernel knows no such device.
    NoSuchDisk,
    /// It cannot be opened for reading.
    Unreadable {
        /// The system's answer.
        why: String,
    },
    /// A partition: only whole disks are taken, so that nobody's neighbour is hurt.
    Partition {
        /// Its disk.
        disk: String,
    },
    /// The kernel knows partitions on it.
    HasPartitions {
        /// Their names.
        names: Vec<String>,
    },
    /// A partition table lies on the disk, whether or not the kernel has read it.
    PartitionTable {
        /// `GPT`, `MBR`.
        kind: &'static str,
        /// Entries in use.
        partitions: usize,
    },
    /// It or a partition of it is mounted in our mount namespace.
    Mounted {
        /// The device.
        name: String,
        /// Where.
        point: PathBuf,
    },
    /// It or a partition of it is mounted in the mount namespace of another process.
    MountedElsewhere {
        /// The device.
        name: String,
        /// Where, as that namespace sees it.
        point: PathBuf,
        /// A process that lives there.
        pid: u32,
    },
    /// A member of a mounted btrfs of several devices.
    BtrfsMember {
        /// The filesystem's UUID.
        uuid: String,
    },
    /// Device mapper, md or bcache is built on it.
    Held {
        /// The device or partition.
        name: String,
        /// Who holds it.
        holders: Vec<String>,
    },
    /// It is swap space in use.
    Swap {
        /// The device or partition.
        name: String,
    },
    /// A loop device has it as its backing "file".
    BacksLoop {
        /// The loop device.
        lo: String,
    },
    /// The system runs from it.
    HoldsSystem {
        /// What of the system.
        what: String,
    },
    /// Somebody has it open exclusively: a mount, a volume manager, another tool at work.
    InUse,
    /// It cannot be written.
    ReadOnly,
    /// It has no size: no medium, or an unbound loop device.
    Empty,
    /// Smaller than any filesystem of the lab.
    TooSmall {
        /// Its bytes.
        bytes: u64,
        /// The least that is taken.
        least: u64,
    },
    /// Something lies on it.
    Signature {
        /// What.
        kind: &'static str,
        /// Byte offset.
        offset: u64,
    },
    /// It has no serial number, so nobody can name it beyond doubt.
    NoSerial,
    /// It was not named by its serial number.
    SerialNotGiven {
        /// The one it has.
        serial: String,
    },
    /// The serial given is another's.
    SerialMismatch {
        /// As given.
        given: String,
        /// The one it has.
        serial: String,
    },
    /// Between approval and the first write it became another disk.
    Changed {
        /// What differs.
        what: String,
    },
}

impl fmt::Display for Reason {
    #[allow(clippy::too_many_lines)] // one arm for each reason: a table, not logic
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Missing => write!(f, "there is no such device; list them with lsblk"),
            Reason::NotABlockDevice { what } => write!(
                f,
                "it is {what}, not a block device; for a folder use --dir, for a disk give its /dev node"
            ),
            Reason::NoSuchDisk => write!(
                f,
                "the node is there but the kernel has no such disk; list them with lsblk"
            ),
            Reason::Unreadable { why } if rustix::process::geteuid().is_root() => {
                write!(
                    f,
                    "it cannot be examined ({why}); choose a disk that this system lets you open"
                )
            }
            Reason::Unreadable { why } => {
                write!(f, "it cannot be examined ({why}); run as root")
            }
            Reason::Partition { disk } => write!(
                f,
                "it is a partition, and only whole disks are taken; name the disk: /dev/{disk}"
            ),
            Reason::HasPartitions { names } => write!(
                f,
                "it has partitions ({}); if they may go: wipefs -a each of them, then the disk",
                names.join(", ")
            ),
            Reason::PartitionTable { kind, partitions } => write!(
                f,
                "a {kind} partition table with {partitions} partitions lies on it; if it may go: wipefs -a"
            ),
            Reason::Mounted { name, point } => write!(
                f,
                "{name} is mounted on {}; umount it first",
                point.display()
            ),
            Reason::MountedElsewhere { name, point, pid } => write!(
                f,
                "{name} is mounted on {} in the mount namespace of pid {pid}; end that process, or umount it there: nsenter -m -t {pid}",
                point.display()
            ),
            Reason::BtrfsMember { uuid } => write!(
                f,
                "it is a device of the mounted btrfs {uuid}; umount that first"
            ),
            Reason::Held { name, holders } => write!(
                f,
                "{name} is held by {}; take the volume or array down first (dmsetup, mdadm --stop)",
                holders.join(", ")
            ),
            Reason::Swap { name } => write!(f, "{name} is swap in use; swapoff it first"),
            Reason::BacksLoop { lo } => write!(
                f,
                "loop device {lo} lies on it; detach it first: losetup -d /dev/{lo}"
            ),
            Reason::HoldsSystem { what } => {
                write!(f, "the system runs from it ({what}); choose another disk")
            }
            Reason::InUse => write!(
                f,
                "somebody has it open exclusively; find out who (lsof, dmsetup ls, /proc/mdstat) and end it"
            ),
            Reason::ReadOnly => write!(
                f,
                "it is read-only; make it writable (blockdev --setrw) or choose another disk"
            ),
            Reason::Empty => write!(f, "it has no size (no medium?); insert or attach one"),
            Reason::TooSmall { bytes, least } => write!(
                f,
                "it has {bytes} bytes and at least {least} are needed; choose a larger disk"
            ),
            Reason::Signature { kind, offset } => write!(
                f,
                "it carries {kind} (signature at byte {offset}); if its data may go: wipefs -a"
            ),
            Reason::NoSerial => write!(
                f,
                "it has no serial number, so it cannot be named beyond doubt; use a disk that has one, or loop images (no --device)"
            ),
            Reason::SerialNotGiven { serial } => write!(
                f,
                "everything on it would be destroyed; if you mean it: --destroy {serial}"
            ),
            Reason::SerialMismatch { given, serial } => write!(
                f,
                "its serial is {serial}, not {given}; check that this is the disk you mean"
            ),
            Reason::Changed { what } => write!(
                f,
                "it changed since it was examined ({what}); examine it again before anything is written"
            ),
        }
    }
}
