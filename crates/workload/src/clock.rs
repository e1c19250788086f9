//! Time: CLOCK_MONOTONIC in nanoseconds, and the CPU time of threads.
//!
//! The originals used `gettimeofday` (iozone) and `times` with its 10 ms ticks (compilebench); a
//! monotonic nanosecond clock has no steps and needs no resolution correction.
#![allow(unsafe_code)] // getrusage(2) is not wrapped by rustix.

use std::ops::{Add, AddAssign, Sub};

use rustix::time::{ClockId, clock_gettime};

/// Now on CLOCK_MONOTONIC, nanoseconds: the clock of telemetry and of all phases.
pub fn now_ns() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

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

fn read(who: libc::c_int) -> Cpu {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a writable rusage; getrusage writes no more than that. All-zero
    // is a valid rusage, so reading it is defined even if the call failed (it cannot: both `who`
    // values are valid).
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    Cpu {
        user: seconds(usage.ru_utime),
        system: seconds(usage.ru_stime),
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
