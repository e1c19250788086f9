//! What is read at each boundary: the clock, the CPU time and memory of the checker, the counters
//! of its device.
//!
//! The kernel gives a process's CPU time exactly only as a sum, by its CPU clock; user and system
//! time in /proc/PID/stat come in ticks of 10 ms. Both are kept, and a pass's exact sum is divided
//! in the ratio of its ticks. Reading takes 0.05 ms at the median (3 ms at the 99th
//! percentile with every CPU taken) while the checker runs on, so that much of a pass's I/O and CPU
//! time may be counted to the one before.
#![allow(
    unsafe_code,
    reason = "clock_getcpuclockid(3) is not wrapped by rustix"
)]

use std::fs;

use probe::diskstats::{self, Counters, Identity};
use rustix::process::Pid;

/// All counters at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// CLOCK_MONOTONIC, nanoseconds.
    pub(super) at_ns: u64,
    /// CPU time so far.
    pub(super) cpu: Cpu,
    /// Largest resident memory so far, bytes; 0 while unknown.
    pub(super) peak_rss: u64,
    /// How long the checker's first thread and the reading one were ready to run and had no CPU so
    /// far, nanoseconds; none where the kernel does not count it.
    pub(super) waited_ns: Option<u64>,
    /// The device's counters.
    pub(super) disk: Option<(Identity, Counters)>,
}

/// CPU seconds of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cpu {
    /// All, to the nanosecond.
    pub(super) total: f64,
    /// In user mode, to the tick.
    pub(super) user: f64,
    /// In the kernel, to the tick.
    pub(super) system: f64,
}

/// Reads the counters of one process and one device.
#[derive(Debug)]
pub(super) struct Meter {
    block_name: Option<String>,
    pid: Option<Pid>,
    ticks_per_second: f64,
    last: Cpu,
    /// The checker's part of the waiting; it is gone when the process is.
    waited_ns: u64,
    peak_rss: u64,
    /// When VmHWM was last read.
    looked_ns: u64,
}

impl Meter {
    /// For a device; the process is not there yet.
    pub(super) fn new(block_name: Option<String>) -> Meter {
        Meter {
            block_name,
            pid: None,
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1) as f64,
            last: Cpu::default(),
            waited_ns: 0,
            peak_rss: 0,
            looked_ns: 0,
        }
    }

    /// From now on for this process.
    pub(super) fn follow(&mut self, pid: Pid) {
        self.pid = Some(pid);
    }

    /// All counters, at a moment that was just read from the clock.
    pub(super) fn read(&mut self, at_ns: u64) -> Reading {
        let disk = self.disk();
        self.look_at_memory(at_ns);
        if let Some(pid) = self.pid {
            self.last = self.cpu(pid).unwrap_or(self.last);
        }
        Reading {
            at_ns,
            cpu: self.last,
            peak_rss: self.peak_rss,
            waited_ns: self.waited(),
            disk,
        }
    }

    /// The device's counters now.
    pub(super) fn disk(&self) -> Option<(Identity, Counters)> {
        let name = self.block_name.as_deref()?;
        diskstats::find(&fs::read_to_string("/proc/diskstats").ok()?, name)
    }

    /// How long we and the checker have waited for a CPU so far. A zombie's part can still be read.
    pub(super) fn waited(&mut self) -> Option<u64> {
        let own = waited("/proc/thread-self/schedstat")?;
        let of_checker = self
            .pid
            .and_then(|pid| waited(&format!("/proc/{pid}/schedstat")));
        self.waited_ns = of_checker.unwrap_or(self.waited_ns);
        Some(own.saturating_add(self.waited_ns))
    }

    /// Remembers VmHWM, which is gone when the process is.
    pub(super) fn look_at_memory(&mut self, at_ns: u64) {
        let status = self
            .pid
            .and_then(|pid| fs::read_to_string(format!("/proc/{pid}/status")).ok());
        if let Some(kib) = status.and_then(|text| status_kib(&text, "VmHWM:")) {
            self.peak_rss = self.peak_rss.max(kib.saturating_mul(1024));
            self.looked_ns = at_ns;
        }
    }

    /// The largest VmHWM so far, bytes, with the moment of the last look; 0 when it was never read.
    pub(super) fn peak_rss(&self) -> (u64, u64) {
        (self.looked_ns, self.peak_rss)
    }

    fn cpu(&self, pid: Pid) -> Option<Cpu> {
        let total = cpu_clock(pid)?;
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (user, system) = stat_ticks(&text)?;
        Some(Cpu {
            total,
            user: user as f64 / self.ticks_per_second,
            system: system as f64 / self.ticks_per_second,
        })
    }
}

/// A line of /proc/PID/status that is in KiB.
pub(super) fn status_kib(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Fields 14 and 15 of /proc/PID/stat: user and system ticks of all threads.
fn stat_ticks(text: &str) -> Option<(u64, u64)> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Field 2 of a `schedstat`: nanoseconds on a run queue without running, of one thread
/// (Documentation/scheduler/sched-stats.rst). A kernel that does not count has none, or only zeros.
fn waited(path: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let (ran, waited): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    (ran > 0 || waited > 0).then_some(waited)
}

/// CPU seconds of all threads of a process, by its CPU clock.
fn cpu_clock(pid: Pid) -> Option<f64> {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: both pointers are to initialised locals of the types that the calls write.
    let done = unsafe {
        libc::clock_getcpuclockid(pid.as_raw_nonzero().get(), &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    done.then_some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_found_after_any_name() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194304 7 8 9 10 1110 1611 13 14 20 0 1 0 99 1";
        assert_eq!(stat_ticks(stat), Some((1110, 1611)));
        let status = "Name:\tx\nVmHWM:\t    5120 kB\nVmRSS:\t 100 kB\n";
        assert_eq!(status_kib(status, "VmHWM:"), Some(5120));
        assert_eq!(status_kib(status, "VmSwap:"), None);
    }

    #[test]
    fn the_own_process_is_read_alike_by_both_clocks() {
        let mut meter = Meter::new(None);
        assert_eq!(meter.read(7).cpu, Cpu::default());
        assert_eq!(meter.peak_rss(), (0, 0));
        meter.follow(rustix::process::getpid());
        // Until it has used that much, however busy the machine is.
        let mut x = 1_u64;
        while workload::clock::Cpu::process().total() < 0.1 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        let reading = meter.read(8);
        let cpu = reading.cpu;
        assert!(cpu.total > 0.09, "{cpu:?}");
        // Other tests run in this process between the two reads.
        assert!((cpu.total - cpu.user - cpu.system).abs() < 0.2, "{cpu:?}");
        assert!(reading.peak_rss > 1 << 20, "{reading:?}");
        assert_eq!((reading.at_ns, reading.disk), (8, None));
        assert_eq!(meter.peak_rss(), (8, reading.peak_rss));
        let later = meter.waited();
        assert!(
            later >= reading.waited_ns,
            "{later:?} {:?}",
            reading.waited_ns
        );
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in ".{0,200}") {
            let _ = stat_ticks(&text);
            let _ = status_kib(&text, "VmHWM:");
        }
    }
}
