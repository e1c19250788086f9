//! The safety gate: nothing is destroyed by surprise.
//!
//! A real disk is taken only when it is not in use ([`usage`], [`open_files`]), when it is empty or
//! holds what this tool left ([`content`]), and when it was named by its serial number. The gate
//! collects every reason to refuse instead of stopping at the first, so that one run of it lists all that
//! has to be done. It examines twice: when the run is planned, and
//! again just before the first write, then holding the disk open exclusively, so that it cannot be
//! mounted in between and a disk that was swapped for another (`diskseq`) is noticed.
//!
//! The exclusive hold covers discarding and wiping, no more: mkfs and mount claim the disk
//! themselves, which they could not while it is held here. So between the wipe and mkfs, and between
//! mkfs and the mount, another program could take the disk. Its number and sequence are compared
//! again right before mkfs and after the mount; a disk swapped in the moment after is not noticed.

mod content;
mod open_files;
mod refusal;
mod serial;
mod usage;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{Advice, OFlags, fadvise, major, minor};
use rustix::io::Errno;

pub(crate) use content::leave_marker;
pub use ondisk::signature::Signature;
use ondisk::signature::{self, ReadAt};
use ondisk::swap;
use open_files::Openers;
pub use refusal::{Reason, Refusal};
pub(crate) use serial::of as serial_of;

use crate::host::Host;
use crate::syscall::block;
use crate::{Error, Result};

/// The least a disk must have: 64 MiB holds any ext filesystem; others refuse by themselves.
pub const LEAST_BYTES: u64 = 64 << 20;

/// The least of each, where a device is made of several.
const LEAST_MEMBER: u64 = 2 << 20;

/// A disk that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved {
    /// The node as it was named.
    pub device: PathBuf,
    /// Its sysfs name.
    pub name: String,
    /// Its serial, which the user gave.
    pub serial: String,
    /// Bytes.
    pub size: u64,
    /// Logical sector size, bytes.
    pub sector_size: u32,
    number: (u32, u32),
    sequence: Option<String>,
    /// What the gate could not see on this machine, one line each.
    unseen: Vec<String>,
}

impl Approved {
    /// What the gate could not see on this machine, one line each.
    #[must_use]
    pub fn unseen(&self) -> &[String] {
        &self.unseen
    }
}

/// Whether to look at the content: after our own first write, what is there is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    MustBeBlank,
    IsOurs,
}

/// The gate, with the folders whose disks are never given away.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    host: Host,
    protected: Vec<PathBuf>,
    /// The disk is one of several.
    of_several: bool,
}

/// Examines a device for destruction, changing nothing. See [`Gate::examine`].
pub fn examine(device: &Path, serial: Option<&str>) -> std::result::Result<Approved, Vec<Refusal>> {
    Gate::default().examine(device, serial)
}

impl Gate {
    /// A gate that also protects the disk of `folder` (where the run's record is).
    #[must_use]
    pub fn protecting(mut self, folder: &Path) -> Gate {
        self.protected.push(folder.into());
        self
    }

    /// A gate for one disk of several, which together have to have [`LEAST_BYTES`].
    #[must_use]
    pub fn of_several(mut self) -> Gate {
        self.of_several = true;
        self
    }

    /// Examines a device for destruction, changing nothing. `serial` is what the user gave.
    pub fn examine(
        &self,
        device: &Path,
        serial: Option<&str>,
    ) -> std::result::Result<Approved, Vec<Refusal>> {
        self.look(device, serial, Content::MustBeBlank, true)
            .map_err(|reasons| refusals(device, reasons))
    }

    /// The same for a disk that carries this run's own filesystem: its content is not looked at.
    pub(crate) fn examine_own(
        &self,
        device: &Path,
        serial: Option<&str>,
    ) -> std::result::Result<Approved, Vec<Refusal>> {
        self.look(device, serial, Content::IsOurs, true)
            .map_err(|reasons| refusals(device, reasons))
    }

    /// Examines an approved disk again and returns it open exclusively, for the first write.
    /// While the file is open the disk cannot be mounted. `own_content`: this run has formatted it before.
    pub fn reopen(&self, approved: &Approved, own_content: bool) -> Result<File> {
        let refuse = |reasons| Error::Refused(refusals(&approved.device, reasons));
        if in_use(&approved.device) {
            return Err(refuse(vec![Reason::InUse]));
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags((OFlags::EXCL | OFlags::NONBLOCK).bits() as i32)
            .open(&approved.device)
            .map_err(|error| match Errno::from_io_error(&error) {
                Some(Errno::BUSY) => refuse(vec![Reason::InUse]),
                _ => Error::io(&approved.device, "cannot open it for writing", error),
            })?;
        let content = if own_content {
            Content::IsOurs
        } else {
            Content::MustBeBlank
        };
        let now = self
            .look(&approved.device, Some(&approved.serial), content, false)
            .map_err(refuse)?;
        let same_node = file
            .metadata()
            .is_ok_and(|meta| (major(meta.rdev()), minor(meta.rdev())) == approved.number);
        let what = if !same_node || now.number != approved.number {
            "its device number"
        } else if now.sequence != approved.sequence {
            "another disk has its place"
        } else if now.size != approved.size {
            "its size"
        } else {
            return Ok(file);
        };
        Err(refuse(vec![Reason::Changed { what: what.into() }]))
    }

    /// Whether the node still leads to the approved disk, by device number and `diskseq`: the cheap
    /// look for the steps that cannot be done while the disk is held open exclusively.
    pub fn still_the_same(&self, approved: &Approved) -> Result<()> {
        let refuse = |reason| Err(Error::Refused(refusals(&approved.device, vec![reason])));
        let sequence = self
            .host
            .text(format!("sys/block/{}/diskseq", approved.name));
        let what = match self.identify(&approved.device) {
            Err(reason) => return refuse(reason),
            Ok((_, number)) if number != approved.number => "its device number",
            Ok(_) if sequence != approved.sequence => "another disk has its place",
            Ok(_) => return Ok(()),
        };
        refuse(Reason::Changed { what: what.into() })
    }

    fn look(
        &self,
        device: &Path,
        serial: Option<&str>,
        content: Content,
        exclusive: bool,
    ) -> std::result::Result<Approved, Vec<Reason>> {
        let (name, number) = self.identify(device).map_err(|reason| vec![reason])?;
        let mut reasons = usage::reasons(&self.host, &name, &self.protected);
        reasons.extend(open_files::reasons(
            &self.host,
            &name,
            match content {
                Content::MustBeBlank => Openers::All,
                Content::IsOurs => Openers::Writers,
            },
        ));
        if exclusive && in_use(device) {
            reasons.push(Reason::InUse);
        }
        let file = open_for_reading(device).map_err(|reason| {
            reasons.push(reason);
            std::mem::take(&mut reasons)
        })?;
        let size = block::size(&file).unwrap_or(0);
        let least = if self.of_several {
            LEAST_MEMBER
        } else {
            LEAST_BYTES
        };
        reasons.extend(physical(&file, size, least));
        let found = serial::of(&self.host, &name);
        if content == Content::MustBeBlank {
            reasons.extend(on_disk(&file, size, found.as_deref()));
        }
        reasons.extend(named(serial, found.as_deref()));
        match found {
            Some(serial) if reasons.is_empty() => Ok(Approved {
                device: device.into(),
                sequence: self.host.text(format!("sys/block/{name}/diskseq")),
                name,
                serial,
                size,
                sector_size: block::sector_size(&file).unwrap_or(512),
                number,
                unseen: open_files::unseen(&self.host).into_iter().collect(),
            }),
            _ => Err(reasons),
        }
    }

    /// Name and number of the whole disk that a node belongs to.
    fn identify(&self, device: &Path) -> std::result::Result<(String, (u32, u32)), Reason> {
        let meta = fs::metadata(device).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Reason::Missing,
            _ => Reason::Unreadable {
                why: error.to_string(),
            },
        })?;
        if !meta.file_type().is_block_device() {
            return Err(Reason::NotABlockDevice {
                what: what_it_is(&meta).into(),
            });
        }
        let number = (major(meta.rdev()), minor(meta.rdev()));
        let name = self
            .host
            .name_of(number.0, number.1)
            .ok_or(Reason::NoSuchDisk)?;
        if self.host.is_partition(&name) {
            return Err(Reason::Partition {
                disk: self.host.disk_of(&name),
            });
        }
        Ok((name, number))
    }
}

/// Where a device is mounted, in any namespace, in words.
pub(crate) fn mounts_of(host: &Host, name: &str) -> Vec<String> {
    usage::mounts(host, &[name.to_string()])
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn refusals(device: &Path, reasons: Vec<Reason>) -> Vec<Refusal> {
    reasons
        .into_iter()
        .map(|reason| Refusal {
            device: device.into(),
            reason,
        })
        .collect()
}

fn what_it_is(meta: &fs::Metadata) -> &'static str {
    let kind = meta.file_type();
    if kind.is_dir() {
        "a folder"
    } else if kind.is_file() {
        "a file"
    } else if kind.is_char_device() {
        "a character device"
    } else if kind.is_fifo() {
        "a pipe"
    } else {
        "a socket"
    }
}

/// Asked a few times: a child that was just forked keeps its parent's descriptors until it executes, so a claim
/// may outlive its owner by a moment.
fn in_use(device: &Path) -> bool {
    (0..10).all(|attempt| {
        if attempt > 0 {
            thread::sleep(Duration::from_millis(20));
        }
        is_claimed(device)
    })
}

/// `O_EXCL` without `O_CREAT` on a block device asks for the claim that mounts, volume managers and
/// mkfs programs take (open(2)).
pub(crate) fn is_claimed(device: &Path) -> bool {
    let flags = (OFlags::EXCL | OFlags::NONBLOCK).bits() as i32;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(device);
    opened.is_err_and(|error| Errno::from_io_error(&error) == Some(Errno::BUSY))
}

fn open_for_reading(device: &Path) -> std::result::Result<File, Reason> {
    let unreadable = |error: std::io::Error| Reason::Unreadable {
        why: error.to_string(),
    };
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(device)
        .map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NOMEDIUM) => Reason::Empty,
            _ => unreadable(error),
        })?;
    // What is on the medium counts, not what an earlier look left in the page cache.
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    Ok(file)
}

fn physical(file: &File, size: u64, least: u64) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if block::read_only(file).unwrap_or(false) {
        reasons.push(Reason::ReadOnly);
    }
    if size == 0 {
        reasons.push(Reason::Empty);
    } else if size < least {
        reasons.push(Reason::TooSmall { bytes: size, least });
    }
    reasons
}

/// What is on the disk; a disk that cannot be read is not blank.
fn on_disk(file: &File, size: u64, serial: Option<&str>) -> Vec<Reason> {
    found_on(file, size, serial).unwrap_or_else(|error| {
        vec![Reason::Unreadable {
            why: error.to_string(),
        }]
    })
}

/// Partition table and signatures; where there are none, other data.
fn found_on(file: &File, size: u64, serial: Option<&str>) -> io::Result<Vec<Reason>> {
    let mut reasons = Vec::new();
    let disk = OfDisk { file, size };
    if let Some(table) = signature::partition_table(&disk)? {
        reasons.push(Reason::PartitionTable {
            kind: table.kind.name(),
            partitions: table.partitions.len(),
        });
    }
    let mut kinds = Vec::new();
    for found in signature::all(&disk)? {
        // A ZFS label has a ring of a hundred: one line for each kind is enough.
        if !kinds.contains(&found.kind) {
            kinds.push(found.kind);
            reasons.push(Reason::Signature {
                kind: found.kind,
                offset: found.offset,
                detail: swap::describe_found(&disk, &found),
            });
        }
    }
    if reasons.is_empty() && size > 0 {
        reasons.extend(content::reason(file, size, serial)?);
    }
    Ok(reasons)
}

/// Every signature on a device of `size` bytes.
///
/// # Errors
/// It cannot be read.
pub fn probe_signatures(file: &File, size: u64) -> io::Result<Vec<Signature>> {
    signature::all(&OfDisk { file, size })
}

/// A device whose size was asked of the kernel.
struct OfDisk<'a> {
    file: &'a File,
    size: u64,
}

impl ReadAt for OfDisk<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

fn named(given: Option<&str>, found: Option<&str>) -> Option<Reason> {
    match (given, found) {
        (_, None) => Some(Reason::NoSerial),
        (None, Some(serial)) => Some(Reason::SerialNotGiven {
            serial: serial.into(),
        }),
        (Some(given), Some(serial)) if given != serial => Some(Reason::SerialMismatch {
            given: given.into(),
            serial: serial.into(),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
