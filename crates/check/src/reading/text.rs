//! A reading in fsck.ocfs2's layout.

use std::fmt::Write as _;

use super::Reading;
use crate::report::{io_and_times, mebibytes};

/// Each step as `fsck.ocfs2 -tt` prints it, and the whole. The rate is that of 2011: (disk + cache) by real time.
pub fn text(reading: &Reading) -> String {
    let mut out = String::new();
    let (mut disk, mut cache, mut times) = (0, 0, [0.0; 3]);
    for step in &reading.steps {
        let _ = writeln!(out, "{}", step.step.title());
        let of = [step.real_s, step.user_s, step.system_s];
        io_and_times(&mut out, step.disk_bytes, step.cache_bytes, of);
        let _ = writeln!(
            out,
            "  Requests: {}, seeks: {}, objects: {}, damaged: {}",
            step.requests, step.seeks, step.objects, step.faults
        );
        disk += step.disk_bytes;
        cache += step.cache_bytes;
        for (sum, time) in times.iter_mut().zip(of) {
            *sum += time;
        }
    }
    let _ = writeln!(
        out,
        "  Cache size: {}MB, metadata: {}MB",
        mebibytes(reading.strategy.cache),
        mebibytes(reading.metadata_bytes)
    );
    io_and_times(&mut out, disk, cache, times);
    out
}
