//! The kernel's clocks in nanoseconds: clock_gettime(2), and the CPU that a thread is on.
//!
//! All crates read the time here, so that times of telemetry, phases and traces are of one clock. The reading goes
//! through libc: it finds the vDSO's clock where the kernel has one and makes a system call where there is none.
//! rustix's own way (its `linux_raw` backend) panics on a kernel whose vDSO has no `getcpu`, as that of User-mode
//! Linux; clippy.toml refuses its clocks for that reason. All other system calls are rustix's
//! (docs/decisions/0016-system-calls-inline.md).
#![allow(unsafe_code)] // clock_gettime(2) and sched_getcpu(3) of libc.

/// CLOCK_MONOTONIC, nanoseconds since an arbitrary point: the clock of telemetry and of all phases.
#[inline]
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME, nanoseconds since 1970-01-01 00:00 UTC.
pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// CLOCK_BOOTTIME, nanoseconds since the kernel started, suspended time included.
pub fn boottime_ns() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// CPU time of the calling thread, user and system, nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all threads of this process, ended ones included, nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of this frame, and clock_gettime writes no more than that. The clocks
    // named above exist on every kernel since 2.6.39, so that the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The number of the CPU that the calling thread is on; it may have moved when this returns. `None` where the
/// kernel has no getcpu(2).
pub fn current_cpu() -> Option<usize> {
    // SAFETY: sched_getcpu takes no argument and touches no memory of ours.
    let cpu = unsafe { libc::sched_getcpu() };
    usize::try_from(cpu).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward_and_cpu_time_grows_with_work() {
        let (mono, boot, thread) = (monotonic_ns(), boottime_ns(), thread_cpu_ns());
        let mut x = 1_u64;
        while thread_cpu_ns() < thread + 2_000_000 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(monotonic_ns() >= mono + 2_000_000);
        assert!(boottime_ns() >= boot + 2_000_000);
        assert!(process_cpu_ns() >= thread_cpu_ns());
    }

    #[test]
    fn wall_clock_is_the_systems() {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        let apart = u128::from(realtime_ns()).abs_diff(since.as_nanos());
        assert!(apart < 60_000_000_000, "{apart} ns apart");
    }

    #[test]
    fn the_cpu_is_one_of_the_systems() {
        let online = std::fs::read_to_string("/proc/stat").unwrap();
        let cpu = current_cpu().unwrap();
        assert!(
            online
                .lines()
                .any(|line| line.starts_with(&format!("cpu{cpu} ")))
        );
    }
}
