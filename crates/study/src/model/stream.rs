//! Parameters of aiod and dd.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::workload::EngineName;
use crate::units::Bytes;

/// What the written blocks hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Zero bytes, as `/dev/zero` gives dd.
    #[default]
    Zero,
    /// One repeated pattern.
    Pattern,
    /// Bytes that neither compress nor repeat.
    Random,
}

/// Which phases `stream` runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamTest {
    /// Write, make cold, read (aiod -W, remount, aiod -R).
    #[default]
    WriteRead,
    /// Write alone (aiod -W, dd of=).
    Write,
    /// Read a file that is there (aiod -R, dd if=).
    Read,
}

/// What a writer flushes inside its clock, before it closes (dd's conv=).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// Nothing.
    #[default]
    None,
    /// fsync (conv=fsync).
    Fsync,
    /// fdatasync (conv=fdatasync).
    Fdatasync,
}

/// Whether each write waits for the device (dd's oflag=).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteThrough {
    /// No.
    #[default]
    None,
    /// O_DSYNC (oflag=dsync): the data.
    Dsync,
    /// O_SYNC (oflag=sync): data and metadata.
    Sync,
}

/// How the cache is emptied between write and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// A real unmount and mount; in a directory, where that cannot be done, `drop`, and it is said.
    #[default]
    Remount,
    /// sync, drop the caches, prove it.
    Drop,
    /// Nothing: the read finds what the write left.
    Warm,
}

/// Parameters of `stream` (aiod and dd). Letters in brackets are aiod's, words dd's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamSpec {
    /// Bytes of a request (-b, bs=).
    #[schemars(title = "request size", extend("minimum" = 512, "maximum" = 1 << 30))]
    pub block: Bytes,
    /// Requests (-w, count=).
    #[schemars(title = "number of requests", range(min = 1))]
    pub count: u64,
    /// O_DIRECT (aiod's default; off is -B).
    pub direct: bool,
    /// The I/O engine (`sync` is -S).
    #[schemars(title = "I/O engine")]
    pub engine: EngineName,
    /// Requests in flight, 1..=4096; more than 1 needs `aio` or `io_uring`.
    #[schemars(title = "queue depth", range(min = 1, max = 4096))]
    pub queue_depth: u32,
    /// What is written.
    #[schemars(title = "content")]
    pub content: Content,
    /// Write a block number and a checksum into each block and check them when reading.
    pub verify: bool,
    /// Which phases run.
    #[schemars(title = "test")]
    pub test: StreamTest,
    /// What is flushed inside the writer's clock (conv=).
    #[schemars(title = "flush")]
    pub flush: Flush,
    /// Whether each write waits for the device (oflag=).
    #[schemars(title = "write-through")]
    pub write_through: WriteThrough,
    /// Write into the file as it is, without truncating it (conv=notrunc).
    pub reuse: bool,
    /// How the cache is emptied between write and read.
    #[schemars(title = "way to a cold cache")]
    pub between: Between,
}

impl Default for StreamSpec {
    fn default() -> Self {
        StreamSpec {
            block: Bytes(4 * Bytes::MIB),
            count: 256,
            direct: false,
            engine: EngineName::Sync,
            queue_depth: 1,
            content: Content::Zero,
            verify: false,
            test: StreamTest::WriteRead,
            flush: Flush::None,
            write_through: WriteThrough::None,
            reuse: false,
            between: Between::Remount,
        }
    }
}
