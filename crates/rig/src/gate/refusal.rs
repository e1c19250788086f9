//! Why the gate says no: each one line with what it is, why it matters and what to do next.

use std::fmt;
use std::path::PathBuf;

/// One reason to leave a device alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The device as it was named to the gate.
    pub device: PathBuf,
    /// The reason.
    pub reason: Reason,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.device.display().to_string();
        let (cause, next) = (self.reason.cause(), self.reason.next(&device));
        write!(f, "{device}: refused: {cause}; {next}")
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
    /// A partition: only whole disks are taken, because its neighbours could be overwritten.
    Partition {
        /// Its disk.
        disk: String,
    },
    /// The kernel knows partitions on it.
    HasPartitions {
        /// Their names.
        names: Vec<String>,
    },
    /// A partition table is on the disk, whether or not the kernel has read it.
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
        /// The mount point.
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
        /// The holder.
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
    /// It is open exclusively: a mount, a volume manager, another tool at work.
    InUse,
    /// A process has it open, or a partition of it, a device built on it, or the file below it.
    Open {
        /// The device or file.
        name: String,
        /// The process.
        pid: u32,
        /// Its program.
        command: String,
        /// The descriptor can write.
        writes: bool,
    },
    /// Another loop device is over the same file.
    SharedFile {
        /// The other loop device.
        lo: String,
        /// The file.
        file: PathBuf,
    },
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
    /// Something is on it.
    Signature {
        /// The format, with an article: `an XFS filesystem`.
        kind: &'static str,
        /// Byte offset of its magic number.
        offset: u64,
        /// What its superblock says of it, where that is read.
        detail: Option<String>,
    },
    /// It holds data that no signature explains.
    NotEmpty {
        /// Byte offset of the first that was found.
        offset: u64,
        /// Seconds since 1970 when a run of this tool left the disk, after which something was written; none where
        /// no run has.
        left: Option<u64>,
    },
    /// It has no serial number, so it cannot be named beyond doubt.
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.cause(), self.next("DEVICE"))
    }
}

impl Reason {
    /// The reason in words.
    fn cause(&self) -> String {
        match self {
            Reason::Missing => "there is no such device".into(),
            Reason::NotABlockDevice { what } => format!("it is {what}, not a block device"),
            Reason::NoSuchDisk => "the node is there but the kernel has no such disk".into(),
            Reason::Unreadable { why } => format!("it cannot be examined ({why})"),
            Reason::Partition { .. } => "it is a partition, and only whole disks are taken".into(),
            Reason::HasPartitions { names } => format!("it has partitions ({})", names.join(", ")),
            Reason::PartitionTable { kind, partitions } => {
                format!("a {kind} partition table with {partitions} partitions is on it")
            }
            Reason::Mounted { name, point } => format!("{name} is mounted on {}", point.display()),
            Reason::MountedElsewhere { name, point, pid } => format!(
                "{name} is mounted on {} in the mount namespace of pid {pid}",
                point.display()
            ),
            Reason::BtrfsMember { uuid } => format!("it is a device of the mounted btrfs {uuid}"),
            Reason::Held { name, holders } => format!("{name} is held by {}", holders.join(", ")),
            Reason::Swap { name } => format!("{name} is swap in use"),
            Reason::BacksLoop { lo } => format!("loop device {lo} is on it"),
            Reason::HoldsSystem { what } => format!("the system runs from it ({what})"),
            Reason::InUse => "a mount, a volume or a program has claimed it exclusively".into(),
            Reason::Open {
                name,
                pid,
                command,
                writes,
            } => {
                let how = if *writes { "writing" } else { "reading" };
                format!("{command} (pid {pid}) has {name} open for {how}")
            }
            Reason::SharedFile { lo, file } => {
                format!("loop device {lo} is over the same file, {}", file.display())
            }
            Reason::ReadOnly => "it is read-only".into(),
            Reason::Empty => "it has no size (no medium?)".into(),
            Reason::TooSmall { bytes, least } => {
                format!("it has {bytes} bytes and at least {least} are needed")
            }
            Reason::Signature {
                kind,
                offset,
                detail,
            } => {
                let detail = detail.as_ref().map(|detail| format!("{detail}; "));
                let detail = detail.unwrap_or_default();
                format!("it carries {kind} ({detail}signature at byte {offset})")
            }
            Reason::NotEmpty { offset, left: None } => {
                format!("it holds data without a known signature (at byte {offset})")
            }
            Reason::NotEmpty {
                offset,
                left: Some(_),
            } => format!("data were written to it after fslab left it (at byte {offset})"),
            Reason::NoSerial => {
                "it has no serial number, so it cannot be named beyond doubt".into()
            }
            Reason::SerialNotGiven { .. } => "everything on it would be destroyed".into(),
            Reason::SerialMismatch { given, serial } => {
                format!("its serial is {serial}, not {given}")
            }
            Reason::Changed { what } => format!("it changed since it was examined ({what})"),
        }
    }

    /// What to do next.
    fn next(&self, device: &str) -> String {
        let fixed = match self {
            Reason::Partition { disk } => return format!("name the disk: /dev/{disk}"),
            Reason::MountedElsewhere { pid, .. } => {
                return format!("end that process, or umount it there: nsenter -m -t {pid}");
            }
            Reason::BacksLoop { lo } | Reason::SharedFile { lo, .. } => {
                return format!("detach it first: losetup -d /dev/{lo}");
            }
            Reason::Open { pid, .. } => return format!("end that process (pid {pid}) first"),
            Reason::HasPartitions { .. } => {
                return format!(
                    "if they may go: {}, then blockdev --rereadpt {device}",
                    emptying(device)
                );
            }
            Reason::PartitionTable { .. } | Reason::Signature { .. } | Reason::NotEmpty { .. } => {
                return format!("if its data may go: {}", emptying(device));
            }
            Reason::SerialNotGiven { serial } => {
                return format!("if you mean it: --destroy {serial}");
            }
            Reason::Missing | Reason::NoSuchDisk => "list them with lsblk",
            Reason::NotABlockDevice { .. } => {
                "for a folder use --dir, for a disk give its /dev node"
            }
            Reason::Unreadable { .. } if rustix::process::geteuid().is_root() => {
                "choose a disk that this system lets you open"
            }
            Reason::Unreadable { .. } => "run as root",
            Reason::Mounted { .. } => "umount it first",
            Reason::BtrfsMember { .. } => "umount that first",
            Reason::Held { .. } => "take the volume or array down first (dmsetup, mdadm --stop)",
            Reason::Swap { .. } => "swapoff it first",
            Reason::HoldsSystem { .. } => "choose another disk",
            Reason::InUse => "find out who (lsof, dmsetup ls, /proc/mdstat) and end it",
            Reason::ReadOnly => "make it writable (blockdev --setrw) or choose another disk",
            Reason::Empty => "insert or attach one",
            Reason::TooSmall { .. } => "choose a larger disk",
            Reason::NoSerial => "use a disk that has one, or loop images (no --device)",
            Reason::SerialMismatch { .. } => "check that this is the disk you mean",
            Reason::Changed { .. } => "examine it again before anything is written",
        };
        fixed.into()
    }
}

/// The commands that empty a disk. `wipefs -a` does not: it clears signatures and leaves the data.
fn emptying(device: &str) -> String {
    format!(
        "blkdiscard -f {device} (or, if the disk keeps old data or cannot discard, blkdiscard -zf {device})"
    )
}
