//! Device files: devices in TOML, each figure with its source.
//!
//! ```toml
//! [device."cheetah-15k.5"]
//! kind = "disk"
//! stands_for = "Seagate Cheetah 15K.5, 300 GB"
//! capacity = "300 GB"
//! rpm = 15000
//! seek_ms = { track = 0.2, average = 3.5, full = 7.4, write = 0.5 }
//! rate = { outer = "125 MB/s", inner = "73 MB/s" }
//! surfaces = 8
//! source = { seek_ms = "assumed", rate = "published: product manual" }
//! ```
//!
//! A figure without a source is assumed.

mod amount;
mod build;
mod describe;
mod error;
mod parse;
mod source;
mod spec;

pub use describe::{Described, decimal_size};
pub use error::Error;
pub use source::{Figure, Origin, Variation};
pub use spec::{Device, Kind};

pub(crate) use build::{geometry, model, seek};
pub(crate) use parse::devices;
pub(crate) use spec::{Disk, Ssd};
