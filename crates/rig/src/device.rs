//! What a filesystem is made on: a loop image, a real disk, or nothing but a directory.

pub mod block;
pub mod directory;
pub(crate) mod free_loop;
pub mod image_place;
pub mod loop_image;
pub(crate) mod readahead;
pub mod stack;

use std::path::{Path, PathBuf};

use probe::superblock::Fields;

use crate::Result;
use crate::host::Host;

/// A log of writes that is whole, and what the writes went to: the nodes of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedLog {
    /// Where the log is.
    pub log: PathBuf,
    /// What was written.
    pub data: PathBuf,
}

/// The power of a device, which can be cut once: from then on nothing that is written to it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerSwitch {
    name: String,
    table: String,
    /// What the device does without power: `drop_writes`, `error_writes`, `error`.
    pub failure: &'static str,
}

impl PowerSwitch {
    /// Cuts it.
    ///
    /// # Errors
    /// What dmsetup says.
    pub fn cut(&self) -> Result<()> {
        stack::dm::swap(&self.name, &self.table)
    }
}

/// A place for one trial. Whatever it made on the host is undone by [`Device::release`], and by
/// `Drop` on every other way out.
pub trait Device: Send + Sync {
    /// `loop image`, `block device`, `stacked device` or `directory`.
    fn kind(&self) -> &'static str;

    /// The node to make a filesystem on; none for a directory.
    fn node(&self) -> Option<&Path> {
        None
    }

    /// sysfs name of the block device whose counters count this trial's bytes.
    fn block_name(&self) -> Option<&str> {
        None
    }

    /// Bytes of the device; none for a directory.
    fn size(&self) -> Option<u64> {
        None
    }

    /// The image file below, whose pages may be cached as well.
    fn backing_file(&self) -> Option<&Path> {
        None
    }

    /// All such files, where there are several members.
    fn backing_files(&self) -> Vec<&Path> {
        self.backing_file().into_iter().collect()
    }

    /// sysfs names of the devices directly below a stacked one; none for any other.
    fn members(&self) -> &[String] {
        &[]
    }

    /// device-mapper's name of a device whose every write is logged; it takes marks.
    fn logs_as(&self) -> Option<&str> {
        None
    }

    /// Takes the layer that logs away, which makes its log whole. What is left can be read by the nodes that this
    /// gives, released and abandoned, and nothing else.
    ///
    /// # Errors
    /// It will not go.
    fn close_log(&mut self) -> Result<Option<ClosedLog>> {
        Ok(None)
    }

    /// What the server of a modelled disk has done so far; none for any other device.
    fn served(&self) -> Option<Result<stack::Served>> {
        None
    }

    /// The switch of a device whose power can be cut (`dm-flakey`).
    fn power_switch(&self) -> Option<PowerSwitch> {
        None
    }

    /// Takes the layer that fails away, so that what reached the disk below can be read: its node. None where there
    /// is no such layer.
    ///
    /// # Errors
    /// It will not go.
    fn uncover(&mut self) -> Result<Option<PathBuf>> {
        Ok(None)
    }

    /// The folder to work in when no filesystem is made.
    fn work_folder(&self) -> Option<&Path> {
        None
    }

    /// Names and values in words: backing file, direct I/O, write cache, scheduler.
    fn facts(&self) -> Fields;

    /// What a reader must know: no direct I/O, no discard.
    fn warnings(&self) -> &[String];

    /// Whether the node still leads to the device that was taken, asked around mkfs and mount.
    fn still_the_same(&self) -> Result<()> {
        Ok(())
    }

    /// Undoes everything that was made, once.
    fn release(&mut self) -> Result<()>;

    /// Gives up undoing: something above is still mounted, and `clean` will undo both in order.
    fn abandon(&mut self);

    /// The same of a device that is in use by what could not be undone; it goes by itself where the kernel can do that.
    fn abandon_in_use(&mut self) {
        self.abandon();
    }
}

/// Facts of a block device's request queue (sysfs-block(5)).
pub(crate) fn queue_facts(host: &Host, name: &str) -> Fields {
    let mut facts = Fields::new();
    let disk = host.disk_of(name);
    for item in [
        "write_cache",
        "fua",
        "scheduler",
        "rotational",
        "logical_block_size",
        "physical_block_size",
        "read_ahead_kb",
        "discard_max_bytes",
        "nr_requests",
        "max_sectors_kb",
    ] {
        if let Some(value) = host.text(format!("sys/block/{disk}/queue/{item}")) {
            facts.insert(item.into(), value);
        }
    }
    facts.insert("block_device".into(), name.into());
    facts
}
