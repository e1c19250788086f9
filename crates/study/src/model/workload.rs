//! A workload of any kind, and what the kinds share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::age::AgeSpec;
use super::fill::FillSpec;
use super::scan::ScanSpec;
use super::stream::StreamSpec;
use super::throughput::ThroughputSpec;
use super::tree::TreeSpec;

/// Which system calls carry the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineName {
    /// `read`/`write`, `pread`/`pwrite`.
    #[default]
    Sync,
    /// Linux AIO (`io_submit`) at a queue depth.
    Aio,
    /// `io_uring` at a queue depth.
    IoUring,
    /// Nothing is transferred: the cost of the generator itself.
    Null,
}

/// A workload with all its parameters settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadSpec {
    /// iozone's throughput mode.
    Throughput(ThroughputSpec),
    /// compilebench.
    Tree(TreeSpec),
    /// aiod and dd: one file, streamed.
    Stream(StreamSpec),
    /// fs_mark: many files.
    Fill(FillSpec),
    /// Files added and removed in rounds until the filesystem is aged.
    Age(AgeSpec),
    /// How a checker reads: the experiments of 2011.
    Scan(ScanSpec),
}

impl WorkloadSpec {
    /// The workload's name in files and on the command line.
    pub const fn kind(&self) -> &'static str {
        match self {
            WorkloadSpec::Throughput(_) => "throughput",
            WorkloadSpec::Tree(_) => "tree",
            WorkloadSpec::Stream(_) => "stream",
            WorkloadSpec::Fill(_) => "fill",
            WorkloadSpec::Age(_) => "age",
            WorkloadSpec::Scan(_) => "scan",
        }
    }
}
