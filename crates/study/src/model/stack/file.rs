//! What a study writes of a stack: a kind and its keys, flat, as `[stack.NAME]`.
//!
//! A key that the kind does not take, a number that makes no device, a size that does not divide: all of that is
//! reported here, with the key's name, so that a [`Stack`] is always one that can be made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Delay, Flakey};
use super::{Failing, Layers, Level, LogWrites, Md, Metadata, NullBlk, Stack, Striped};
use crate::units::Bytes;

/// Most members: as many disks as a virtual machine has slots for.
const MOST_MEMBERS: u32 = 24;

/// What a stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StackKind {
    /// md: stripes without redundancy.
    Raid0,
    /// md: copies.
    Raid1,
    /// md: stripes with one parity.
    Raid5,
    /// md: stripes with two.
    Raid6,
    /// md: stripes of copies (two, near).
    Raid10,
    /// device-mapper's striped target.
    Stripe,
    /// A striped logical volume.
    Lvm,
    /// `dm-delay`: requests wait.
    Delay,
    /// `dm-flakey`: works for some seconds, fails for some.
    Flakey,
    /// `dm-log-writes`: every write is also written to a log, in order.
    LogWrites,
    /// `null_blk`: a device of the kernel's memory, as fast or slow as asked.
    NullBlk,
}

/// A stack as a study writes it. Which keys a kind takes: docs/studies.md.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StackFile {
    /// The kind of device.
    #[schemars(title = "device kind")]
    pub kind: StackKind,
    /// Disks that it is made of.
    #[schemars(title = "number of members", range(min = 1, max = 24))]
    pub members: Option<u32>,
    /// Bytes on one member before the next has its turn; a power of two.
    #[schemars(title = "chunk", extend("minimum" = 4 << 10, "maximum" = 16 << 20))]
    pub chunk: Option<Bytes>,
    /// Version of md's superblock; default 1.2.
    #[schemars(title = "metadata version")]
    pub metadata: Option<Metadata>,
    /// Assume that copies and parity are in sync (default true). Otherwise the first resync
    /// is waited for, outside of every clock.
    pub assume_clean: Option<bool>,
    /// Milliseconds that each read waits.
    #[schemars(title = "number of milliseconds", range(min = 0, max = 60_000))]
    pub read_ms: Option<u32>,
    /// Milliseconds that each write waits.
    #[schemars(title = "number of milliseconds", range(min = 0, max = 60_000))]
    pub write_ms: Option<u32>,
    /// Seconds that it works.
    #[schemars(title = "number of seconds", range(min = 0, max = 86_400))]
    pub up_seconds: Option<u32>,
    /// Seconds that it then does not.
    #[schemars(title = "number of seconds", range(min = 0, max = 86_400))]
    pub down_seconds: Option<u32>,
    /// How it fails while it is down.
    #[schemars(title = "way to fail")]
    pub failure: Option<Failing>,
    /// Size of the log; default twice the device.
    #[schemars(title = "log size", extend("minimum" = 16 << 20, "maximum" = 1_u64 << 50))]
    pub log_size: Option<Bytes>,
    /// Microseconds that each request takes.
    #[schemars(title = "number of microseconds", range(min = 0, max = 10_000_000))]
    pub latency_us: Option<u32>,
    /// MiB a second at most; 0: as fast as memory.
    #[schemars(title = "rate in MiB a second", range(min = 0, max = 1_000_000))]
    pub mbps: Option<u32>,
    /// Keep what is written (default true): without it every read gives zeros, and no filesystem
    /// can be mounted.
    pub memory_backed: Option<bool>,
    /// Zones that are written in sequence, as of SMR disks and ZNS.
    pub zoned: Option<bool>,
    /// Bytes of a zone; a power of two.
    #[schemars(title = "zone size", extend("minimum" = 1 << 20, "maximum" = 2_u64 << 30))]
    pub zone_size: Option<Bytes>,
    /// One line for reports.
    #[schemars(title = "line")]
    pub about: Option<String>,
}

impl StackFile {
    /// Its keys that some kinds take and others do not, where they are given.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            ("members", self.members.is_some()),
            ("chunk", self.chunk.is_some()),
            ("metadata", self.metadata.is_some()),
            ("assume_clean", self.assume_clean.is_some()),
            ("read_ms", self.read_ms.is_some()),
            ("write_ms", self.write_ms.is_some()),
            ("up_seconds", self.up_seconds.is_some()),
            ("down_seconds", self.down_seconds.is_some()),
            ("failure", self.failure.is_some()),
            ("log_size", self.log_size.is_some()),
            ("latency_us", self.latency_us.is_some()),
            ("mbps", self.mbps.is_some()),
            ("memory_backed", self.memory_backed.is_some()),
            ("zoned", self.zoned.is_some()),
            ("zone_size", self.zone_size.is_some()),
        ]
        .into_iter()
        .filter_map(|(key, given)| given.then_some(key))
    }

    /// The stack of this name.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub fn settle(&self, name: &str) -> Result<Stack, (&'static str, String)> {
        let takes = keys(self.kind);
        if let Some(key) = self.given().find(|key| !takes.contains(key)) {
            let message = format!(
                "a {} has no such key (it takes {})",
                word(self.kind),
                takes.join(", ")
            );
            return Err((key, message));
        }
        let layers = match self.kind {
            StackKind::Raid0 => Layers::Md(self.md(Level::Raid0)?),
            StackKind::Raid1 => Layers::Md(self.md(Level::Raid1)?),
            StackKind::Raid5 => Layers::Md(self.md(Level::Raid5)?),
            StackKind::Raid6 => Layers::Md(self.md(Level::Raid6)?),
            StackKind::Raid10 => Layers::Md(self.md(Level::Raid10)?),
            StackKind::Stripe => Layers::Stripe(self.striped()?),
            StackKind::Lvm => Layers::Lvm(self.striped()?),
            StackKind::Delay => Layers::Delay(Delay {
                read_ms: self.read_ms.unwrap_or(0),
                write_ms: self.write_ms.unwrap_or(0),
            }),
            StackKind::Flakey => Layers::Flakey(self.flakey()?),
            StackKind::LogWrites => Layers::LogWrites(LogWrites {
                log_size: self.log_size,
            }),
            StackKind::NullBlk => Layers::NullBlk(self.null_blk()?),
        };
        Ok(Stack {
            name: name.to_owned(),
            about: self.about.clone().unwrap_or_default(),
            layers,
        })
    }

    fn members(&self, least: u32) -> Result<u32, (&'static str, String)> {
        let kind = word(self.kind);
        match self.members {
            Some(n) if n >= least && n <= MOST_MEMBERS => Ok(n),
            Some(n) => Err((
                "members",
                format!("{n} disks do not make a {kind} ({least}..={MOST_MEMBERS})"),
            )),
            None => Err((
                "members",
                format!("members is missing: a {kind} has {least} or more disks"),
            )),
        }
    }

    fn chunk(&self) -> Result<Bytes, (&'static str, String)> {
        let chunk = self.chunk.unwrap_or(Bytes(64 * Bytes::KIB));
        if chunk.get().is_power_of_two() {
            return Ok(chunk);
        }
        let message = format!("{chunk} is not a chunk (a power of two, as in 64k)");
        Err(("chunk", message))
    }

    fn md(&self, level: Level) -> Result<Md, (&'static str, String)> {
        let members = self.members(level.least_members())?;
        if level == Level::Raid10 && !members.is_multiple_of(2) {
            let message = format!("{members} disks leave one without its copy (an even number)");
            return Err(("members", message));
        }
        if level == Level::Raid0 && self.metadata == Some(Metadata::V0_90) {
            let message = "mdadm makes no raid0 with it since 4.2 (\"1.0\" is at the end, too)";
            return Err(("metadata", message.into()));
        }
        let chunk = match level {
            Level::Raid1 => None,
            _ => Some(self.chunk()?),
        };
        Ok(Md {
            level,
            members,
            chunk,
            metadata: self.metadata.unwrap_or_default(),
            assume_clean: self.assume_clean.unwrap_or(true),
        })
    }

    fn striped(&self) -> Result<Striped, (&'static str, String)> {
        Ok(Striped {
            members: self.members(2)?,
            chunk: self.chunk()?,
        })
    }

    fn flakey(&self) -> Result<Flakey, (&'static str, String)> {
        let up_seconds = self.up_seconds.unwrap_or(60);
        let down_seconds = self.down_seconds.unwrap_or(0);
        if up_seconds == 0 && down_seconds == 0 {
            let message = "it is neither up nor down (up_seconds or down_seconds above 0)";
            return Err(("up_seconds", message.into()));
        }
        Ok(Flakey {
            up_seconds,
            down_seconds,
            failure: self.failure.unwrap_or_default(),
        })
    }

    fn null_blk(&self) -> Result<NullBlk, (&'static str, String)> {
        let zoned = self.zoned.unwrap_or(false);
        let zone = self.zone_size.unwrap_or(Bytes(16 * Bytes::MIB));
        if !zone.get().is_power_of_two() {
            let message = format!("{zone} is not a zone (a power of two, as in 16m)");
            return Err(("zone_size", message));
        }
        if self.zone_size.is_some() && !zoned {
            return Err(("zone_size", "zones need zoned = true".into()));
        }
        if self.memory_backed == Some(false) {
            let message = "what is written to it is lost, so no filesystem can be mounted (leave \
                           memory_backed away)";
            return Err(("memory_backed", message.into()));
        }
        Ok(NullBlk {
            latency_us: self.latency_us.unwrap_or(0),
            mbps: self.mbps.unwrap_or(0),
            memory_backed: true,
            zone_size: zoned.then_some(zone),
        })
    }
}

/// The keys that a kind takes, besides `kind` and `about`.
fn keys(kind: StackKind) -> &'static [&'static str] {
    match kind {
        StackKind::Raid0 => &["members", "chunk", "metadata"],
        StackKind::Raid1 => &["members", "metadata", "assume_clean"],
        StackKind::Raid5 | StackKind::Raid6 | StackKind::Raid10 => {
            &["members", "chunk", "metadata", "assume_clean"]
        }
        StackKind::Stripe | StackKind::Lvm => &["members", "chunk"],
        StackKind::Delay => &["read_ms", "write_ms"],
        StackKind::Flakey => &["up_seconds", "down_seconds", "failure"],
        StackKind::LogWrites => &["log_size"],
        StackKind::NullBlk => &["latency_us", "mbps", "memory_backed", "zoned", "zone_size"],
    }
}

/// The kind as it is written.
fn word(kind: StackKind) -> &'static str {
    match kind {
        StackKind::Raid0 => "raid0",
        StackKind::Raid1 => "raid1",
        StackKind::Raid5 => "raid5",
        StackKind::Raid6 => "raid6",
        StackKind::Raid10 => "raid10",
        StackKind::Stripe => "stripe",
        StackKind::Lvm => "lvm",
        StackKind::Delay => "delay",
        StackKind::Flakey => "flakey",
        StackKind::LogWrites => "log_writes",
        StackKind::NullBlk => "null_blk",
    }
}
