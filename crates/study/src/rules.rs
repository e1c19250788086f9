//! Rules between parameters, which a schema cannot state.

use crate::model::{EngineName, FillSpec, StreamSpec, ThroughputSpec, WorkloadSpec};

/// The parameter that breaks a rule, and how.
pub(crate) fn broken(workload: &WorkloadSpec) -> Option<(&'static str, String)> {
    match workload {
        WorkloadSpec::Throughput(spec) => throughput(spec),
        WorkloadSpec::Tree(_) | WorkloadSpec::Age(_) => None,
        WorkloadSpec::Stream(spec) => stream(spec),
        WorkloadSpec::Fill(spec) => fill(spec),
    }
}

/// Bytes of a sector: what O_DIRECT needs at least.
const SECTOR: u64 = 512;

fn stream(spec: &StreamSpec) -> Option<(&'static str, String)> {
    let block = spec.block;
    if spec.direct && !block.get().is_multiple_of(SECTOR) {
        let message =
            format!("{block} is not a multiple of {SECTOR}, which direct = true needs (as in 4k)");
        return Some(("block", message));
    }
    depth(spec.queue_depth, spec.engine)
}

fn fill(spec: &FillSpec) -> Option<(&'static str, String)> {
    if spec.directories == 1 {
        let message = "one subdirectory is none to walk (0 for none, or at least 2)";
        return Some(("directories", message.into()));
    }
    if spec.per_directory > 0 && spec.directories == 0 {
        let message = "files per subdirectory need subdirectories (set directories, as in 100)";
        return Some(("per_directory", message.into()));
    }
    if spec.random_length > spec.name_length {
        let message = format!(
            "{} random characters do not fit into a name of {}",
            spec.random_length, spec.name_length
        );
        return Some(("random_length", message));
    }
    None
}

fn depth(queue_depth: u32, engine: EngineName) -> Option<(&'static str, String)> {
    if queue_depth > 1 && !matches!(engine, EngineName::IoUring | EngineName::Aio) {
        let message = format!(
            "{queue_depth} needs engine = \"io_uring\" or \"aio\" (the other engines have one \
             request in flight)"
        );
        return Some(("queue_depth", message));
    }
    None
}

fn throughput(spec: &ThroughputSpec) -> Option<(&'static str, String)> {
    let ThroughputSpec { size, record, .. } = spec;
    if size < record {
        let message = format!("{size} is smaller than one record of {record} (at least {record})");
        return Some(("size", message));
    }
    if spec.direct && record.get() % SECTOR != 0 {
        let message =
            format!("{record} is not a multiple of {SECTOR}, which direct = true needs (as in 4k)");
        return Some(("record", message));
    }
    depth(spec.queue_depth, spec.engine)
}
