//! What lets answers leave when they are due, on a machine that has other work.
//!
//! A thread that sleeps until a time wakes up late for two reasons: the kernel joins timers that are near each other (50 us, see
//! prctl(2), `PR_SET_TIMERSLACK`), and another thread has the processor, for some milliseconds where both are of one class. And a
//! server of a block device must not wait for memory that the kernel can only free by writing to that device.
#![allow(unsafe_code)] // sched_setscheduler(2) has no safe wrapper here; its argument is a plain struct.

use std::num::NonZeroU64;

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::configure_io_flusher_behavior;
use rustix::thread::set_current_timer_slack;

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

/// Keeps the process in memory, and has the kernel not write to devices when it needs memory for it. Without the privilege
/// nothing changes. Memory that is given back stays with the process, and some is there from the start.
///
/// To be called when a device has its room for requests: what is kept is for what comes after that.
pub fn keep_in_memory() {
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
    // What is mapped later is locked once it is touched, so that thread stacks are not filled.
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    let _ = mlockall(flags);
    let _ = configure_io_flusher_behavior(true);
}
