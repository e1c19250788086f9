//! What a recording is asked for, and what it counts.

use std::path::PathBuf;

use super::summary::Cpu;
use super::{Device, Mask};

/// A request that was checked.
#[derive(Debug)]
pub(super) struct Request {
    /// Devices, each with its own queue.
    pub(super) devices: Vec<Device>,
    /// Folder of the trace.
    pub(super) out: PathBuf,
    /// Categories of events.
    pub(super) mask: Mask,
    /// Bytes of the buffer of each CPU.
    pub(super) buffer: u64,
}

/// The counts of one device.
pub(super) struct Counted {
    /// Events of each CPU.
    pub(super) cpus: Vec<Cpu>,
    /// Lost events.
    pub(super) lost: u64,
    /// The lost events may be of other devices of the recording.
    pub(super) lost_is_shared: bool,
    /// Damaged pages.
    pub(super) broken: u64,
}
