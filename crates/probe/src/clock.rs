//! The clock of telemetry.

/// CLOCK_MONOTONIC, nanoseconds.
pub fn monotonic_ns() -> u64 {
    nanoseconds(rustix::time::clock_gettime(
        rustix::time::ClockId::Monotonic,
    ))
}

/// A time of clock_gettime(2) in nanoseconds.
pub(crate) fn nanoseconds(time: rustix::time::Timespec) -> u64 {
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}
