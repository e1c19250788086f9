//! Devices of several layers: arrays, stripes, and devices that delay, drop, log or invent; modelled disks.
//!
//! A study declares one as `[stack.NAME]`, as it declares filesystem variants, and names it by
//! `device` (a factor, or `--set device=NAME`). What is written is flat, [`StackFile`]: a kind and
//! with its keys. What a plan holds is [`Stack`], one shape for each kind with nothing
//! left open, so that no code below has to ask which key belongs to which kind.
//!
//! The size of a device is its usable size, whatever is below: the levels
//! of one study then have filesystems of one size, and a RAID-5 of four takes a third more room than
//! one disk does. Rejected: the size of a member, by which levels would differ in two things at once.

mod file;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filesystem::FilesystemKind;
use crate::units::Bytes;

pub use file::{StackFile, StackKind};

/// Name of the device that is no stack: the target itself.
pub const PLAIN: &str = "plain";
/// What precedes the name of a modelled disk: `model:7k500`.
pub const MODEL: &str = "model:";
/// What a member holds besides data: md's superblock and its alignment.
const MEMBER_EXTRA: u64 = Bytes::MIB;
/// Members are whole MiB, so that slices of one disk are aligned.
const MEMBER_UNIT: u64 = Bytes::MIB;
/// A log takes each write whole, and a sector for each: twice the device, and this.
const LOG_EXTRA: u64 = 64 * Bytes::MIB;

/// Version of md's superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Metadata {
    /// At the end; the format of 2010's kernels.
    #[serde(rename = "0.90")]
    V0_90,
    /// At the end.
    #[serde(rename = "1.0")]
    V1_0,
    /// At the start.
    #[serde(rename = "1.1")]
    V1_1,
    /// 4 KiB from the start.
    #[default]
    #[serde(rename = "1.2")]
    V1_2,
}

impl Metadata {
    /// As mdadm takes it.
    pub const fn word(self) -> &'static str {
        match self {
            Metadata::V0_90 => "0.90",
            Metadata::V1_0 => "1.0",
            Metadata::V1_1 => "1.1",
            Metadata::V1_2 => "1.2",
        }
    }
}

/// What `dm-flakey` does while it is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Failing {
    /// Every request fails.
    #[default]
    Error,
    /// Writes are dropped but reported as done: a power cut that is not noticed yet.
    DropWrites,
    /// Writes fail.
    ErrorWrites,
}

/// Level of an md array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Stripes.
    Raid0,
    /// Copies.
    Raid1,
    /// One parity.
    Raid5,
    /// Two.
    Raid6,
    /// Stripes of two copies.
    Raid10,
}

impl Level {
    /// `raid0` .. `raid10`: as mdadm, the kernel's module and studies call it.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Raid0 => "raid0",
            Level::Raid1 => "raid1",
            Level::Raid5 => "raid5",
            Level::Raid6 => "raid6",
            Level::Raid10 => "raid10",
        }
    }

    const fn least_members(self) -> u32 {
        match self {
            Level::Raid0 | Level::Raid1 | Level::Raid10 => 2,
            Level::Raid5 => 3,
            Level::Raid6 => 4,
        }
    }

    /// Whether there is something to be in sync with.
    pub const fn redundant(self) -> bool {
        !matches!(self, Level::Raid0)
    }
}

/// An md array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Md {
    /// RAID level.
    pub level: Level,
    /// Number of member disks.
    pub members: u32,
    /// Bytes on one member before the next; none for copies.
    pub chunk: Option<Bytes>,
    /// Version of its superblock.
    pub metadata: Metadata,
    /// Whether the first resync is left out.
    pub assume_clean: bool,
}

/// Stripes of device-mapper or LVM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Striped {
    /// Number of member disks.
    pub members: u32,
    /// Bytes on one member before the next.
    pub chunk: Bytes,
}

/// `dm-delay`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// Milliseconds that each read waits. The kernel counts them in ticks of its clock.
    pub read_ms: u32,
    /// Milliseconds that each write and each flush waits.
    pub write_ms: u32,
}

/// `dm-flakey`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flakey {
    /// Seconds that it works.
    pub up_seconds: u32,
    /// Seconds that it then does not.
    pub down_seconds: u32,
    /// How it fails while it is down.
    pub failure: Failing,
}

/// `dm-log-writes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogWrites {
    /// Size of the log; none: twice the device.
    pub log_size: Option<Bytes>,
}

/// `null_blk`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NullBlk {
    /// Microseconds that each request takes; 0: none.
    pub latency_us: u32,
    /// MiB a second at most; 0: not held.
    pub mbps: u32,
    /// Whether what is written is kept.
    pub memory_backed: bool,
    /// Bytes of a zone; none: not zoned.
    pub zone_size: Option<Bytes>,
}

/// A modelled disk, served in real time, or in a guest's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// A device of `fslab device list`.
    pub device: String,
    /// Its size.
    pub capacity: Bytes,
    /// Studies whose published numbers were measured on what it stands for.
    #[serde(default)]
    pub studies: Vec<String>,
    /// Its figures, where they are of the user's file of devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<String>,
}

/// The parts of a stack, by its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Layers {
    /// An md array.
    Md(Md),
    /// device-mapper's striped target.
    Stripe(Striped),
    /// A striped logical volume.
    Lvm(Striped),
    /// Requests wait.
    Delay(Delay),
    /// Works and fails by turns.
    Flakey(Flakey),
    /// Writes are logged.
    LogWrites(LogWrites),
    /// Memory.
    NullBlk(NullBlk),
    /// A modelled disk.
    Model(Model),
}

/// A declared device of several layers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// What the study calls it: `raid0x11`.
    pub name: String,
    /// One line for reports.
    #[serde(default)]
    pub about: String,
    /// Its layers.
    pub layers: Layers,
}

/// The geometry of a stripe over its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Bytes on one member before the next has its turn: ext4's stride, XFS's su.
    pub chunk: Bytes,
    /// Members that hold data of a stripe: ext4's stripe width over its stride, XFS's sw.
    pub width: u32,
}

impl Stack {
    /// The modelled disk of a device that has this name, `capacity` bytes and these figures.
    pub(crate) fn modelled(name: &str, capacity: Bytes, figures: device::Device) -> Stack {
        Stack {
            name: format!("{MODEL}{name}"),
            about: figures.stands_for,
            layers: Layers::Model(Model {
                device: name.to_owned(),
                capacity,
                studies: figures.studies,
                figures: None,
            }),
        }
    }

    /// What a kernel must have for it, by the names of `fslab kernel list`.
    pub fn needs(&self) -> Vec<&'static str> {
        match &self.layers {
            Layers::Md(md) => vec!["md", md.level.name()],
            Layers::Stripe(_) => vec!["dm-stripe"],
            Layers::Lvm(_) => vec!["dm-linear", "dm-stripe"],
            Layers::Delay(_) => vec!["dm-delay"],
            Layers::Flakey(_) => vec!["dm-flakey"],
            Layers::LogWrites(_) => vec!["dm-log-writes"],
            Layers::NullBlk(_) => vec!["null_blk", "configfs"],
            Layers::Model(_) => vec!["fuse", "loop"],
        }
    }

    /// Its stripe unit and stripe width; none without stripes.
    pub fn geometry(&self) -> Option<Geometry> {
        let (chunk, width) = match &self.layers {
            Layers::Md(md) => (md.chunk?, data_members(md)),
            Layers::Stripe(striped) | Layers::Lvm(striped) => (striped.chunk, striped.members),
            _ => return None,
        };
        Some(Geometry { chunk, width })
    }

    /// Sizes of the disks that it is made of, so that a filesystem has `usable` bytes.
    pub fn disks(&self, usable: Bytes) -> Vec<Bytes> {
        let share = |members: u32, data: u32, chunk: u64| {
            let each = usable.get().div_ceil(u64::from(data.max(1)));
            let each = each.next_multiple_of(chunk.max(1)) + MEMBER_EXTRA;
            vec![Bytes(each.next_multiple_of(MEMBER_UNIT)); members as usize]
        };
        match &self.layers {
            Layers::Md(md) => {
                let chunk = md.chunk.map_or(1, Bytes::get);
                share(md.members, data_members(md), chunk)
            }
            Layers::Stripe(striped) => share(striped.members, striped.members, striped.chunk.get()),
            // Whole extents of 1 MiB, or of a chunk where that is larger; the first MiB is LVM's own.
            Layers::Lvm(striped) => {
                let extent = striped.chunk.get().max(Bytes::MIB);
                share(striped.members, striped.members, extent)
            }
            Layers::Delay(_) | Layers::Flakey(_) => vec![usable],
            Layers::LogWrites(log) => {
                let twice = usable.get().saturating_mul(2).saturating_add(LOG_EXTRA);
                vec![usable, log.log_size.unwrap_or(Bytes(twice))]
            }
            Layers::NullBlk(_) | Layers::Model(_) => Vec::new(),
        }
    }

    /// Bytes of the kernel's memory that it fills when a filesystem of `usable` bytes is full.
    pub fn memory(&self, usable: Bytes) -> Bytes {
        match &self.layers {
            Layers::NullBlk(null) if null.memory_backed => usable,
            // On a host that has not as much, its bytes are in a file.
            Layers::Model(_) => usable,
            _ => Bytes(0),
        }
    }

    /// Bytes that the members take for each that is written, redundancy included.
    pub fn amplification(&self) -> f64 {
        match &self.layers {
            Layers::Md(md) => f64::from(md.members) / f64::from(data_members(md)),
            Layers::LogWrites(_) => 2.0,
            Layers::NullBlk(_) => 0.0,
            _ => 1.0,
        }
    }

    /// Why a filesystem of `usable` bytes does not fit on it.
    pub fn is_too_small(&self, usable: Bytes) -> Option<String> {
        let Layers::Model(model) = &self.layers else {
            return None;
        };
        (usable.get() > model.capacity.get()).then(|| {
            let (usable, capacity) = (usable.get(), model.capacity.get());
            format!(
                "{} has {}, and the filesystem would have {} (device.size)",
                self.name,
                words::bytes(capacity),
                words::bytes(usable)
            )
        })
    }

    /// Why no filesystem of this family can be made on it.
    pub fn refuses(&self, kind: FilesystemKind) -> Option<String> {
        let zoned = matches!(&self.layers, Layers::NullBlk(null) if null.zone_size.is_some());
        (zoned && !kind.properties().zoned).then(|| {
            format!(
                "{} has zones that are written in sequence, which this filesystem cannot (btrfs)",
                self.name
            )
        })
    }
}

/// Members that hold data of one stripe.
fn data_members(md: &Md) -> u32 {
    match md.level {
        Level::Raid0 => md.members,
        Level::Raid1 => 1,
        Level::Raid5 => md.members.saturating_sub(1),
        Level::Raid6 => md.members.saturating_sub(2),
        Level::Raid10 => md.members / 2,
    }
    .max(1)
}

impl std::fmt::Display for Stack {
    /// `md raid0 of 11 disks, chunk 64k`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.layers {
            Layers::Md(md) => {
                write!(f, "md {} of {} disks", md.level.name(), md.members)?;
                if let Some(chunk) = md.chunk {
                    write!(f, ", chunk {chunk}")?;
                }
                if md.level.redundant() && !md.assume_clean {
                    f.write_str(", in sync")?;
                }
                match md.metadata {
                    Metadata::V1_2 => Ok(()),
                    other => write!(f, ", metadata {}", other.word()),
                }
            }
            Layers::Stripe(s) => write!(f, "dm stripe of {} disks, chunk {}", s.members, s.chunk),
            Layers::Lvm(s) => write!(f, "LVM stripe of {} disks, chunk {}", s.members, s.chunk),
            Layers::Delay(d) => write!(
                f,
                "dm-delay, reads {} ms, writes {} ms",
                d.read_ms, d.write_ms
            ),
            Layers::Flakey(flakey) => write!(
                f,
                "dm-flakey, up {} s, down {} s ({})",
                flakey.up_seconds,
                flakey.down_seconds,
                match flakey.failure {
                    Failing::Error => "errors",
                    Failing::DropWrites => "writes dropped",
                    Failing::ErrorWrites => "writes fail",
                }
            ),
            Layers::LogWrites(_) => f.write_str("dm-log-writes"),
            Layers::Model(model) => write!(f, "modelled disk {}", model.device),
            Layers::NullBlk(null) => {
                f.write_str("null_blk in memory")?;
                if null.latency_us > 0 {
                    write!(f, ", {} us a request", null.latency_us)?;
                }
                if null.mbps > 0 {
                    write!(f, ", {} MiB/s", null.mbps)?;
                }
                if let Some(zone) = null.zone_size {
                    write!(f, ", zones of {zone}")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(toml: &str) -> Result<Stack, (&'static str, String)> {
        toml::from_str::<StackFile>(toml).unwrap().settle("it")
    }

    #[test]
    fn an_array_of_eleven_disks_has_stripes_of_704_kib() {
        let stack = read("kind = 'raid0'\nmembers = 11\nchunk = '64k'").unwrap();
        let geometry = stack.geometry().unwrap();
        assert_eq!(
            (geometry.chunk, geometry.width),
            (Bytes(64 * Bytes::KIB), 11)
        );
        assert_eq!(stack.to_string(), "md raid0 of 11 disks, chunk 64k");
        assert_eq!(stack.needs(), ["md", "raid0"]);
        let usable = 3 * Bytes::GIB;
        let disks = stack.disks(Bytes(usable));
        assert_eq!(disks.len(), 11);
        let data: u64 = disks.iter().map(|disk| disk.get() - MEMBER_EXTRA).sum();
        assert!(
            data >= usable && data < usable + 11 * Bytes::MIB,
            "{disks:?}"
        );
    }

    #[test]
    fn parity_and_copies_take_their_own_room() {
        let disks = |toml: &str| {
            let stack = read(toml).unwrap();
            let disks = stack.disks(Bytes(120 * Bytes::MIB));
            (disks.len(), disks[0].get() >> 20)
        };
        assert_eq!(disks("kind = 'raid5'\nmembers = 5"), (5, 31));
        assert_eq!(disks("kind = 'raid6'\nmembers = 5"), (5, 41));
        assert_eq!(disks("kind = 'raid1'\nmembers = 2"), (2, 121));
        assert_eq!(disks("kind = 'raid10'\nmembers = 4"), (4, 61));
        assert_eq!(disks("kind = 'log_writes'").0, 2);
        let width = |toml: &str| read(toml).unwrap().geometry().map(|g| g.width);
        assert_eq!(width("kind = 'raid5'\nmembers = 5"), Some(4));
        assert_eq!(width("kind = 'raid1'\nmembers = 2"), None);
    }

    #[test]
    fn a_key_of_another_kind_is_refused_with_those_it_takes() {
        for (toml, key, message) in [
            (
                "kind = 'raid1'\nmembers = 2\nchunk = '64k'",
                "chunk",
                "a raid1 has no such key (it takes members, metadata, assume_clean)",
            ),
            (
                "kind = 'raid0'",
                "members",
                "members is missing: a raid0 has 2 or more disks",
            ),
            (
                "kind = 'raid5'\nmembers = 2",
                "members",
                "2 disks do not make a raid5 (3..=24)",
            ),
            (
                "kind = 'raid10'\nmembers = 3",
                "members",
                "3 disks leave one without its copy (an even number)",
            ),
            (
                "kind = 'raid0'\nmembers = 4\nmetadata = '0.90'",
                "metadata",
                "mdadm makes no raid0 with it since 4.2 (\"1.0\" is at the end, too)",
            ),
            (
                "kind = 'stripe'\nmembers = 4\nchunk = '96k'",
                "chunk",
                "96k is not a chunk (a power of two, as in 64k)",
            ),
            (
                "kind = 'flakey'\nup_seconds = 0",
                "up_seconds",
                "it is neither up nor down (up_seconds or down_seconds above 0)",
            ),
            (
                "kind = 'null_blk'\nzone_size = '16m'",
                "zone_size",
                "zones need zoned = true",
            ),
        ] {
            assert_eq!(read(toml), Err((key, message.to_owned())), "{toml}");
        }
        let lost = read("kind = 'null_blk'\nmemory_backed = false").unwrap_err();
        assert_eq!(lost.0, "memory_backed");
    }

    #[test]
    fn zones_are_for_btrfs_alone() {
        let stack = read("kind = 'null_blk'\nzoned = true").unwrap();
        assert_eq!(stack.refuses(FilesystemKind::Btrfs), None);
        assert!(stack.refuses(FilesystemKind::Ext4).is_some());
        assert_eq!(stack.to_string(), "null_blk in memory, zones of 16m");
    }

    #[test]
    fn a_stack_survives_the_log_of_a_run() {
        for toml in [
            "kind = 'raid6'\nmembers = 8\nmetadata = '0.90'\nassume_clean = false",
            "kind = 'lvm'\nmembers = 8\nchunk = '128k'",
            "kind = 'null_blk'\nlatency_us = 1000\nmbps = 20",
            "kind = 'flakey'\ndown_seconds = 5\nfailure = 'drop_writes'",
        ] {
            let stack = read(toml).unwrap();
            let json = serde_json::to_string(&stack).unwrap();
            assert_eq!(serde_json::from_str::<Stack>(&json).unwrap(), stack);
        }
    }
}
