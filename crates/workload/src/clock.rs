//! Time: CLOCK_MONOTONIC in nanoseconds, and the CPU time of threads.
//!
//! The originals used `gettimeofday` (iozone) and `times` with its 10 ms ticks (compilebench); a
//! monotonic nanosecond clock has no steps and needs no resolution correction.
#![allow(unsafe_code)] // getrusage(2) is not wrapped by rustix.

use std::ops::{Add, AddAssign, Sub};

pub use ::clock::monotonic_ns as now_ns;

/// Seconds between two readings of [`now_ns`]; 0 when they are out of order.
pub fn seconds(begin_ns: u64, end_ns: u64) -> f64 {
    end_ns.saturating_sub(begin_ns) as f64 / 1e9
}

/// CPU time used, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// In user mode.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}

impl Cpu {
    /// Of the calling thread since it began (`getrusage(RUSAGE_THREAD)`).
    pub fn thread() -> Cpu {
        read(libc::RUSAGE_THREAD)
    }

    /// Of all threads of this process, ended ones included (`getrusage(RUSAGE_SELF)`).
    pub fn process() -> Cpu {
        read(libc::RUSAGE_SELF)
    }

    /// User and kernel together.
    pub fn total(self) -> f64 {
        self.user + self.system
    }
}

impl Sub for Cpu {
    type Output = Cpu;
    fn sub(self, earlier: Cpu) -> Cpu {
        Cpu {
            user: (self.user - earlier.user).max(0.0),
            system: (self.system - earlier.system).max(0.0),
        }
    }
}

impl Add for Cpu {
    type Output = Cpu;
    fn add(self, other: Cpu) -> Cpu {
        Cpu {
            user: self.user + other.user,
            system: self.system + other.system,
        }
    }
}

impl AddAssign for Cpu {
    fn add_assign(&mut self, other: Cpu) {
        *self = *self + other;
    }
}

/// Page faults and context switches of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// With I/O.
    pub(crate) major: u64,
    /// Without.
    pub(crate) minor: u64,
    /// Context switches, voluntary or not.
    pub(crate) switches: u64,
}

impl Faults {
    /// Of the calling thread since it began.
    pub(crate) fn thread() -> Faults {
        let usage = usage(libc::RUSAGE_THREAD);
        let count = |n: libc::c_long| u64::try_from(n).unwrap_or_default();
        Faults {
            major: count(usage.ru_majflt),
            minor: count(usage.ru_minflt),
            switches: count(usage.ru_nvcsw) + count(usage.ru_nivcsw),
        }
    }
}

impl Sub for Faults {
    type Output = Faults;
    fn sub(self, earlier: Faults) -> Faults {
        Faults {
            major: self.major.saturating_sub(earlier.major),
            minor: self.minor.saturating_sub(earlier.minor),
            switches: self.switches.saturating_sub(earlier.switches),
        }
    }
}

fn read(who: libc::c_int) -> Cpu {
    let usage = usage(who);
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    Cpu {
        user: seconds(usage.ru_utime),
        system: seconds(usage.ru_stime),
    }
}

fn usage(who: libc::c_int) -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a writable rusage; getrusage writes no more than that. All-zero
    // is a valid rusage, so reading it is defined even if the call failed (it cannot: both `who`
    // values are valid).
    unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_goes_forward_and_cpu_time_grows_with_work() {
        let (begin, cpu) = (now_ns(), Cpu::thread());
        let mut x = 1_u64;
        // Work until the processor time has grown: on a busy machine that takes longer.
        let used = loop {
            for _ in 0..100_000 {
                x = std::hint::black_box(x.wrapping_mul(3));
            }
            let used = Cpu::thread() - cpu;
            if used.total() > 0.005 || seconds(begin, now_ns()) > 60.0 {
                break used;
            }
        };
        assert!(used.total() > 0.005, "{used:?}");
        assert!(seconds(begin, now_ns()) > 0.0);
        assert!(Cpu::process().total() >= used.total());
        assert_eq!(seconds(5, 3), 0.0);
    }
}
