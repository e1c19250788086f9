//! Processor time and memory of this process.
#![allow(unsafe_code)] // getrusage(2) is not wrapped by rustix.

use std::time::Duration;

/// A reading of getrusage(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Processor time in user space.
    pub(crate) user: Duration,
    /// Processor time in the kernel.
    pub(crate) system: Duration,
    /// Peak memory so far, bytes.
    pub(crate) peak_memory: u64,
}

impl Usage {
    /// The current values, all threads.
    pub(crate) fn now() -> Usage {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to a writable rusage, of which getrusage writes no more; all-zero is a
        // valid one, so it is initialised even if the call failed.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
            usage.assume_init()
        };
        Usage {
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
            peak_memory: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        }
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_and_memory() {
        let before = Usage::now();
        let mut sum = 0_u64;
        while Usage::now().user < before.user + Duration::from_millis(5) {
            sum = (0..100_000).fold(sum, |sum, i| sum.wrapping_mul(31).wrapping_add(i));
        }
        assert!(std::hint::black_box(sum) != 1 && Usage::now().peak_memory > 100_000);
    }
}
