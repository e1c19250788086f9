//! How much memory the machine has: the limit for working sets and buffers.

/// Bytes of memory of this machine, as sysinfo(2) reports (`totalram`: `MemTotal` of /proc/meminfo).
pub(crate) fn total_ram() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram as u64 * u64::from(info.mem_unit)
}
