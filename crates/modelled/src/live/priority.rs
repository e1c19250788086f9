//! What lets answers leave when they are due, on a machine that has other work.
//!
//! A thread that sleeps until a time wakes up late for two reasons: the kernel joins timers that are near each other (50 us, see
//! prctl(2), `PR_SET_TIMERSLACK`), and another thread has the processor, for some milliseconds where both are of one class. And a
//! server of a block device must not wait for memory that the kernel can only free by writing to that device.
#![allow(unsafe_code)] // sched_setscheduler(2) has no safe wrapper here; its argument is a plain struct.

use std::num::NonZeroU64;

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, configure_io_flusher_behavior, getrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_current_timer_slack};

use super::slots::{LARGEST, ROOM};

/// Bytes up to which the C library serves from its heap, and which it keeps when they are free.
#[cfg(target_env = "gnu")]
const MOST_OF_HEAP: i32 = 32 << 20;

/// Bytes of that heap which are there from the start: fronts, disks and flash allocate nothing while they serve, but rows of arrays with
/// parity and extents of a write cache come and go.
#[cfg(target_env = "gnu")]
const HEAP: usize = 16 << 20;

/// What a thread of a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It takes requests and moves their bytes: a megabyte may take longer than an answer may wait.
    Requests,
    /// It gives answers.
    Answers,
}

impl Does {
    /// The lowest priorities of the real-time class: before every ordinary thread, after all others of that class.
    fn priority(self) -> i32 {
        match self {
            Does::Requests => 1,
            Does::Answers => 2,
        }
    }
}

/// Wakes the calling thread up in time: no timer slack, and the real-time class. Without the privilege it is left as it is: how
/// late answers leave is counted in any case.
pub fn in_time(does: Does) {
    let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
    let parameters = libc::sched_param {
        sched_priority: does.priority(),
    };
    // SAFETY: 0 is the calling thread, and the struct outlives the call.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters);
    }
}

/// Bytes that a server may come to use: its room for requests, its heap, the program.
const MOST: u64 = (ROOM * LARGEST + (64 << 20)) as u64;

/// Keeps the process in memory, and has the kernel not write to devices when it needs memory for it. Memory that is given back stays
/// with the process, and some is there from the start.
///
/// To be called when a device has its room for requests: what is kept is for what comes after that.
///
/// # Errors
/// Why the memory is not locked; the rest is done. It is not tried where it could not be kept up: with a limit, a lock of what is
/// mapped later makes the process fail later.
pub fn keep_in_memory() -> Result<(), String> {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets parameters of the allocator. The process has no other threads that are in it for long, and it locks itself.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MOST_OF_HEAP);
        libc::mallopt(libc::M_TRIM_THRESHOLD, MOST_OF_HEAP);
        // One heap for all threads.
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    #[cfg(target_env = "gnu")]
    drop(std::hint::black_box(vec![1_u8; HEAP]));
    let _ = configure_io_flusher_behavior(true);
    let is_privileged =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    let limit = getrlimit(Resource::Memlock)
        .current
        .filter(|_| !is_privileged);
    let available = available_memory();
    may_lock(limit, available)?;
    // What is mapped later is locked once it is touched, so that thread stacks are not filled.
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    mlockall(flags).map_err(|error| error.to_string())
}

/// Whether [`MOST`] bytes may be locked under this limit (RLIMIT_MEMLOCK), and leave as much of what is available; else why not.
fn may_lock(limit: Option<u64>, available: Option<u64>) -> Result<(), String> {
    let most = words::bytes(MOST);
    if let Some(limit) = limit.filter(|limit| *limit < MOST) {
        let limit = words::bytes(limit);
        return Err(format!(
            "up to {most} may be needed, and the limit is {limit} (ulimit -l)"
        ));
    }
    if let Some(available) = available.filter(|available| *available / 2 < MOST) {
        let available = words::bytes(available);
        return Err(format!(
            "up to {most} may be needed, and {available} are available"
        ));
    }
    Ok(())
}

/// Bytes of memory that programs can have without swapping (`MemAvailable`); none where the kernel does not say.
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: u64 = line?.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_locked_where_limit_and_memory_have_room() {
        assert_eq!(may_lock(None, None), Ok(()));
        assert_eq!(may_lock(Some(MOST), Some(2 * MOST)), Ok(()));
        let limited = may_lock(Some(8 << 20), None).unwrap_err();
        assert!(limited.contains("the limit is 8 MiB"), "{limited}");
        let short = may_lock(None, Some(256 << 20)).unwrap_err();
        assert!(short.contains("256 MiB are available"), "{short}");
        assert!(available_memory().is_some_and(|bytes| bytes > 1 << 20));
    }
}
