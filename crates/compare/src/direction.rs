//! What a phase does to the disk, and which of its metrics are times by the wall.

/// What a phase does to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It reads data or metadata.
    Read,
    /// It writes data or changes metadata.
    Write,
}

impl Direction {
    /// The direction of a phase, by its name (docs/metrics.md lists them).
    pub fn of(phase: &str) -> Direction {
        let reads = phase.contains("read") || phase.starts_with("stat") || reads_metadata(phase);
        if reads {
            Direction::Read
        } else {
            Direction::Write
        }
    }
}

/// Whether a phase reads metadata as its strategy or format requires: the number of bytes is then a
/// result, not an amount of work that could be set equal.
pub fn reads_metadata(phase: &str) -> bool {
    phase.starts_with("check") || phase.starts_with("scan")
}

/// Whether a metric says how long something took by the wall, which is what the rules explain. CPU time, a
/// program's own account and the times of single requests are what they explain it with.
pub fn is_wall_time(metric: &str) -> bool {
    const OTHERS: [&str; 4] = [
        "user_seconds",
        "system_seconds",
        "reported_seconds",
        "app_overhead",
    ];
    !metric.starts_with("trace_") && !OTHERS.iter().any(|other| metric.ends_with(other))
}
