//! Parameters of the ageing of Layton and Newman.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Parameters of `age`: the five-round procedure of Layton and Newman (2012). In round k of
/// `rounds`: add `files` files by each process; remove `step` x k directories chosen at random,
/// with their files; add as many directories of `per_directory` files, each inside a directory
/// chosen at random. Paper: 5 rounds, 3 x 7,000,000 files, 7,000 directories, step 700.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgeSpec {
    /// Rounds, 1..=100.
    #[schemars(title = "number of rounds", range(min = 1, max = 100))]
    pub rounds: u32,
    /// Files that each process adds in a round.
    #[schemars(title = "number of files", range(min = 1))]
    pub files: u64,
    /// Processes, 1..=1024.
    #[schemars(title = "process count", range(min = 1, max = 1024))]
    pub processes: u32,
    /// Directories that the files of a round are dealt to (of each process, or shared).
    #[schemars(title = "number of directories", range(min = 2))]
    pub directories: u32,
    /// Files of a process in a directory.
    #[schemars(title = "files per directory", range(min = 1))]
    pub per_directory: u64,
    /// Directories removed, and added again inside others, in round k: `step` x k.
    #[schemars(title = "number of directories")]
    pub step: u32,
    /// Processes share the directories (one -d); else each has its own base (one -d each).
    pub shared: bool,
    /// Bytes of a file.
    #[schemars(title = "file size", extend("minimum" = 0, "maximum" = 1_u64 << 50))]
    pub size: Bytes,
    /// Bytes of one write.
    #[schemars(title = "write size", extend("minimum" = 1, "maximum" = 64 << 20))]
    pub write_size: Bytes,
}

impl Default for AgeSpec {
    fn default() -> Self {
        AgeSpec {
            rounds: 5,
            files: 7_000_000,
            processes: 3,
            directories: 7000,
            per_directory: 1000,
            step: 700,
            shared: true,
            size: Bytes(400_000),
            write_size: Bytes(16 * Bytes::KIB),
        }
    }
}
