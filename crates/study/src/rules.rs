//! Rules between parameters, which a schema cannot state.

use crate::model::{EngineName, ThroughputSpec, WorkloadSpec};

/// The parameter that breaks a rule, and how.
pub(crate) fn broken(workload: &WorkloadSpec) -> Option<(&'static str, String)> {
    match workload {
        WorkloadSpec::Throughput(spec) => throughput(spec),
        WorkloadSpec::Tree(_) => None,
    }
}

fn throughput(spec: &ThroughputSpec) -> Option<(&'static str, String)> {
    const SECTOR: u64 = 512;
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
    if spec.queue_depth > 1 && spec.engine != EngineName::IoUring {
        let message = format!(
            "{} needs engine = \"io_uring\" (the other engines have one request in flight)",
            spec.queue_depth
        );
        return Some(("queue_depth", message));
    }
    None
}
