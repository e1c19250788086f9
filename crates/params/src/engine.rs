//! I/O engines: which system calls carry the data, and what each can do.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Invalid;

/// Which system calls carry the data.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "EngineName")]
pub enum Kind {
    /// `read` and `write`, or `pread` and `pwrite` in random order.
    #[default]
    Sync,
    /// Linux AIO (`io_submit`) at a queue depth.
    Aio,
    /// `io_uring` at a queue depth.
    IoUring,
    /// Nothing is transferred: the cost of the generator itself.
    Null,
}

impl Kind {
    /// What this engine can do, known before one is made.
    pub const fn capabilities(self) -> Capabilities {
        match self {
            Kind::Sync => Capabilities {
                transfers: true,
                direct: true,
                max_queue_depth: 1,
                vectored: false,
            },
            Kind::Aio | Kind::IoUring => Capabilities {
                transfers: true,
                direct: true,
                max_queue_depth: 4096,
                vectored: false,
            },
            Kind::Null => Capabilities {
                transfers: false,
                direct: false,
                max_queue_depth: 4096,
                vectored: false,
            },
        }
    }

    /// Its name in study files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Sync => "sync",
            Kind::Aio => "aio",
            Kind::IoUring => "io_uring",
            Kind::Null => "null",
        }
    }

    /// The next step when the kernel refuses to make one.
    pub const fn when_refused(self) -> &'static str {
        match self {
            Kind::Aio => "see fs.aio-nr and fs.aio-max-nr, or use engine sync",
            Kind::IoUring => {
                "see kernel.io_uring_disabled and the limit of locked memory (ulimit -l), \
                 or use engine sync"
            }
            Kind::Sync | Kind::Null => "this is a defect of fslab, please report it",
        }
    }

    /// Refuses a queue depth that this engine does not have.
    pub(crate) fn validate_queue_depth(self, queue_depth: u32) -> Result<(), Invalid> {
        let most = self.capabilities().max_queue_depth;
        if queue_depth > 1 && most == 1 {
            let reason = format!(
                "engine {} has one request in flight; use 1, or engine aio or io_uring",
                self.name()
            );
            return Err(Invalid::new("queue_depth", queue_depth, reason));
        }
        Invalid::unless_within("queue_depth", queue_depth, 1, most)
    }
}

/// What an engine can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Data are transferred.
    pub transfers: bool,
    /// It works on files opened with O_DIRECT.
    pub direct: bool,
    /// Most requests in flight.
    pub max_queue_depth: u32,
    /// One request may have several buffers.
    pub vectored: bool,
}

/// The smallest logical sector in bytes: no device takes direct I/O of less.
const SECTOR: u64 = 512;

/// Refuses a request size that O_DIRECT cannot have on any device.
pub(crate) fn validate_direct(
    option: &'static str,
    size: crate::Bytes,
    direct: bool,
    engine: Kind,
) -> Result<(), Invalid> {
    if !direct || !engine.capabilities().direct || size.get().is_multiple_of(SECTOR) {
        return Ok(());
    }
    let reason = format!("O_DIRECT needs a multiple of {SECTOR} bytes at least (as in 4k)");
    Err(Invalid::new(option, size, reason))
}

/// Which way the data move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file.
    Read,
    /// To the file.
    Write,
}
