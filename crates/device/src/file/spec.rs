//! A device as a file describes it, checked.

use super::source::{Figure, Origin};
use crate::array::{Level, Strategy};

/// Parts of figures that may have a source of their own.
pub(crate) const PARTS: [&str; 3] = ["seek_ms.track", "seek_ms.full", "rate.inner"];

/// A device of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// What it stands for, for people; may be empty.
    pub stands_for: String,
    /// The studies whose published results were measured on it.
    pub studies: Vec<String>,
    /// What it is.
    pub kind: Kind,
    /// A controller before it.
    pub controller: Option<Controller>,
    /// A link before that.
    pub link: Option<Link>,
    /// Sources of its figures.
    pub figures: Vec<Figure>,
    pub(crate) file: String,
    pub(crate) line: usize,
}

impl Device {
    /// Where a figure comes from; assumed unless the file says otherwise.
    pub fn origin(&self, key: &str) -> Origin {
        self.own_origin(key).unwrap_or(Origin::Assumed)
    }

    /// The same of a figure or a part of one (`seek_ms.full`), if the file says it.
    pub(crate) fn own_origin(&self, key: &str) -> Option<Origin> {
        self.source(key).map(|figure| figure.origin)
    }

    /// What the file says of where a figure or a part of one comes from.
    pub(crate) fn source(&self, key: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.key == key)
    }

    /// A number of devices striped in chunks of 64 KiB.
    pub(crate) fn striped(name: &str, member: &Device, count: usize) -> Device {
        Device {
            name: name.to_owned(),
            stands_for: format!("{count} x {}, striped at 64 KiB", member.name),
            studies: Vec::new(),
            kind: Kind::Array(Array {
                level: Level::Raid0,
                chunk: 64 << 10,
                members: vec![Members {
                    count,
                    name: member.name.clone(),
                }],
                failed: Vec::new(),
                rebuild: None,
                strategy: Strategy::LeastReads,
            }),
            controller: None,
            link: None,
            figures: Vec::new(),
            file: member.file.clone(),
            line: member.line,
        }
    }

    /// Bytes of a row of its members; 0 where they have no rows.
    pub(crate) fn row(&self) -> u64 {
        let Kind::Array(array) = &self.kind else {
            return 0;
        };
        let members = array.members.iter().map(|of| of.count).sum::<usize>();
        let data = match array.level {
            Level::Raid1 | Level::Linear => 0,
            Level::Raid10 => members / 2,
            level => members - level.parities(),
        };
        array.chunk * data as u64
    }

    /// `disk`, `ssd` or `array`.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Disk(_) => "disk",
            Kind::Ssd(_) => "ssd",
            Kind::Array(_) => "array",
        }
    }

    /// The keys of its figures that have no published, extracted or fitted source.
    pub fn assumed(&self) -> impl Iterator<Item = &'static str> {
        let keys: &[&'static str] = match self.kind {
            Kind::Disk(_) => &[
                "seek_ms",
                "rate",
                "surfaces",
                "cache",
                "command_ms",
                "interface",
            ],
            Kind::Ssd(_) => &["flash", "link", "firmware_us", "buffer"],
            Kind::Array(ref array) if array.level == Level::Linear => &["members"],
            Kind::Array(_) => &["chunk", "members"],
        };
        let more = [
            (
                "flush_us",
                matches!(&self.kind, Kind::Ssd(ssd) if ssd.flush.is_some()),
            ),
            ("controller", self.controller.is_some()),
            (
                "link",
                self.link.is_some() && !matches!(self.kind, Kind::Ssd(_)),
            ),
        ];
        let more = more.into_iter().filter(|(_, has)| *has).map(|(key, _)| key);
        let keys = keys.iter().copied().chain(more);
        let of_part = |key: &&str| self.own_origin(key) == Some(Origin::Assumed);
        let parts = PARTS.into_iter().filter(of_part);
        keys.filter(|key| self.origin(key) == Origin::Assumed)
            .chain(parts)
    }
}

/// What a device is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A disk.
    Disk(Disk),
    /// An SSD.
    Ssd(Ssd),
    /// Members.
    Array(Array),
}

/// A disk's figures. Rates are in bytes a second, times in ms.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// Bytes.
    pub capacity: u64,
    /// Turns a minute.
    pub rpm: f64,
    /// Seeks.
    pub seek: Seek,
    /// Added to seeks of writes.
    pub write_settle: f64,
    /// Sustained rate of the outermost tracks.
    pub outer: f64,
    /// Sustained rate of the innermost tracks; without meaning where zones are given.
    pub inner: f64,
    /// (first cylinder, sectors a track).
    pub zones: Vec<(u64, u64)>,
    /// Cylinders, where given.
    pub cylinders: Option<u64>,
    /// Surfaces.
    pub surfaces: u32,
    /// Processing a command.
    pub command: f64,
    /// Rate of the interface.
    pub interface: f64,
    /// Look-ahead in bytes.
    pub look_ahead: u64,
    /// Write cache in bytes, 0 for write-through.
    pub write_cache: u64,
    /// Cached writes that compete to be destaged.
    pub destage_window: usize,
    /// Requests that compete.
    pub queue: usize,
    /// Whether a read goes to the host only when all of it is in the buffer.
    pub store_and_forward: bool,
    /// Whether nothing passes a flush.
    pub flush_is_barrier: bool,
}

/// Seek times in ms.
#[derive(Clone, Debug, PartialEq)]
pub enum Seek {
    /// Track to track, average, full stroke.
    Points {
        /// To the next track.
        track: f64,
        /// Mean over random pairs.
        average: f64,
        /// From edge to edge.
        full: f64,
    },
    /// (distance in cylinders, ms).
    Table(Vec<(f64, f64)>),
}

impl Seek {
    /// With other times at its ends, and the same average. A table keeps its own.
    pub(crate) fn with_ends(&self, track_factor: f64, full_factor: f64) -> Seek {
        match *self {
            Seek::Points {
                track,
                average,
                full,
            } => Seek::Points {
                track: track * track_factor,
                average,
                full: full * full_factor,
            },
            Seek::Table(_) => self.clone(),
        }
    }
}

/// An SSD's figures. Rates are in bytes a second, times in us.
#[derive(Clone, Debug, PartialEq)]
pub struct Ssd {
    /// Bytes.
    pub capacity: u64,
    /// Channels.
    pub channels: u32,
    /// Dies on a channel.
    pub dies: u32,
    /// Planes on a die.
    pub planes: u32,
    /// Page in bytes.
    pub page: u64,
    /// Sensing the fastest pages.
    pub read: f64,
    /// Added to that once for a third of the pages and three times for another third.
    pub read_step: f64,
    /// Programming a page.
    pub program: f64,
    /// Pages programmed for each page written at random.
    pub amplification: f64,
    /// Whether a read interrupts a program.
    pub suspend: bool,
    /// Rate of a channel.
    pub channel: f64,
    /// Rate of the host link.
    pub link: f64,
    /// Firmware of a read.
    pub read_firmware: f64,
    /// Firmware of a write.
    pub write_firmware: f64,
    /// Write buffer in bytes.
    pub buffer: u64,
    /// Time of a flush with power-loss protection.
    pub flush: Option<f64>,
}

/// An array's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// RAID level.
    pub level: Level,
    /// Chunk in bytes; without meaning for level 1 and one after the other.
    pub chunk: u64,
    /// Its members in order.
    pub members: Vec<Members>,
    /// Failed members, by number from 0.
    pub failed: Vec<usize>,
    /// Rate at which these are rebuilt, bytes of each a second; `None`: they are not replaced.
    pub rebuild: Option<f64>,
    /// How parity is brought up to date.
    pub strategy: Strategy,
}

/// Members of an array that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Members {
    /// How many.
    pub count: usize,
    /// The device that each is.
    pub name: String,
}

/// A controller's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// Processing a request, ms.
    pub request: f64,
    /// Rate to the host, bytes a second; infinite where none is given.
    pub rate: f64,
    /// The time of a request and that of its bytes pass side by side.
    pub side_by_side: bool,
    /// Unit of the read cache, bytes; 0 for none.
    pub unit: u64,
    /// Read cache in bytes.
    pub cache: u64,
    /// Units read ahead.
    pub read_ahead: u64,
    /// Write cache in bytes.
    pub write_cache: u64,
    /// Writes wait beyond this share of it.
    pub high_water: f64,
}

/// A link's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Added to each request, ms.
    pub latency: f64,
    /// Bytes a second; infinite where none is given.
    pub rate: f64,
}
