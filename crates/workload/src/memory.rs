//! How much memory the machine has: what a working set and a buffer are held against.

/// Bytes of memory of this machine, as sysinfo(2) says (`totalram`: `MemTotal` of /proc/meminfo).
pub(crate) fn total_ram() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram as u64 * u64::from(info.mem_unit)
}
