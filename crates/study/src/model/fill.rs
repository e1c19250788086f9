//! Parameters of fs_mark.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Parameters of `fill` (fs_mark). Letters in brackets are fs_mark's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FillSpec {
    /// Files of each process and iteration (-n).
    #[schemars(title = "number of files", range(min = 1))]
    pub files: u64,
    /// Instead of `files`: the files of all processes and iterations together; `files` is then
    /// settled as this divided by both, which must come out even.
    #[schemars(title = "number of files", range(min = 1))]
    pub total_files: Option<u64>,
    /// Processes (-t), 1..=1024.
    #[schemars(title = "process count", range(min = 1, max = 1024))]
    pub processes: u32,
    /// Bytes of a file (-s).
    #[schemars(title = "file size", extend("minimum" = 0, "maximum" = 1_u64 << 50))]
    pub size: Bytes,
    /// Instead of `size`: the share of the device that all files' bytes fill together, so that
    /// files times size stays constant on a device of one size, 0 < share < 1; `size` is then
    /// settled from the device.
    #[schemars(title = "share", extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub fill_share: Option<f64>,
    /// Bytes of one write (-w).
    #[schemars(title = "write size", extend("minimum" = 1, "maximum" = 64 << 20))]
    pub write_size: Bytes,
    /// Base directories (-d, repeated), 1..=64; process j uses j modulo this.
    #[schemars(title = "number of base directories", range(min = 1, max = 64))]
    pub bases: u32,
    /// Subdirectories of each base (-D): 0 for none, else at least 2. 0 with `per_directory` is
    /// settled as many as hold a process's files (`files` / `per_directory`, at least 2).
    #[schemars(title = "number of subdirectories")]
    pub directories: u32,
    /// Files of a process in a subdirectory before it moves on (-N); 0: 180 s in each.
    #[schemars(title = "files per subdirectory")]
    pub per_directory: u64,
    /// Sync method (-S), 0..=6.
    #[schemars(title = "sync method", range(min = 0, max = 6))]
    pub sync_method: u8,
    /// Iterations (-L).
    #[schemars(title = "number of iterations", range(min = 1))]
    pub iterations: u32,
    /// Go on until the filesystem is full, which then is the end and no error (-F).
    pub until_full: bool,
    /// Keep the files (-k); else each iteration unlinks its own, outside the rate.
    pub keep: bool,
    /// Characters of a file's name (-p), 1..=128.
    #[schemars(title = "name length", range(min = 1, max = 128))]
    pub name_length: u32,
    /// Random characters at the end of a name (-r), at most `name_length`.
    #[schemars(title = "random characters", range(min = 1, max = 128))]
    pub random_length: u32,
}

impl Default for FillSpec {
    fn default() -> Self {
        FillSpec {
            files: 1000,
            total_files: None,
            processes: 1,
            size: Bytes(51_200),
            fill_share: None,
            write_size: Bytes(16 * Bytes::KIB),
            bases: 1,
            directories: 0,
            per_directory: 0,
            sync_method: 1,
            iterations: 1,
            until_full: false,
            keep: false,
            name_length: 40,
            random_length: 24,
        }
    }
}
