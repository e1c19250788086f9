//! Parameters of iozone's throughput mode.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::workload::EngineName;
use crate::units::Bytes;

/// Parameters of `throughput` (iozone -t). Letters in brackets are iozone's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools, reason = "iozone's switches, one each")]
pub struct ThroughputSpec {
    /// Children (-t), 1..=1024.
    #[schemars(title = "thread count", range(min = 1, max = 1024))]
    pub threads: u32,
    /// Bytes of each child's file (-s).
    #[schemars(title = "file size", extend("minimum" = 1024, "maximum" = 1_u64 << 50))]
    pub size: Bytes,
    /// Bytes of a record (-r), 1 KiB..=16 MiB.
    #[schemars(title = "record size", extend("minimum" = 1024, "maximum" = 16 << 20))]
    pub record: Bytes,
    /// O_DIRECT on every open (-I).
    pub direct: bool,
    /// fsync inside the clock of (a) (-e).
    pub include_fsync: bool,
    /// close inside the clock of (a) (-c).
    pub include_close: bool,
    /// Stop counting when the first child finishes (off is -x).
    pub stonewall: bool,
    /// The I/O engine.
    #[schemars(title = "I/O engine")]
    pub engine: EngineName,
    /// Requests in flight for each child, 1..=4096; more than 1 needs `io_uring`.
    #[schemars(title = "queue depth", range(min = 1, max = 4096))]
    pub queue_depth: u32,
    /// Seconds of rest after the sync that follows every test (iozone: 2).
    #[schemars(title = "number of seconds", range(min = 0.0, max = 3600.0))]
    pub settle_seconds: f64,
    /// Drop and prove cold before each read test (iozone: no).
    pub cold_reads: bool,
}

impl Default for ThroughputSpec {
    fn default() -> Self {
        ThroughputSpec {
            threads: 1,
            size: Bytes(2 * Bytes::GIB),
            record: Bytes(256 * Bytes::KIB),
            direct: false,
            include_fsync: false,
            include_close: false,
            stonewall: true,
            engine: EngineName::Sync,
            queue_depth: 1,
            settle_seconds: 2.0,
            cold_reads: false,
        }
    }
}
