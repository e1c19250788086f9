//! What a phase used besides time, so that every timed phase has GNU time's two lines.
//!
//! The workload knows its own CPU time by thread. Faults, blocks and context switches are counted by
//! the kernel for the whole process only, so they are read before and after the phase, outside every
//! clock, and the difference is reported as the process's: the sampler's few switches are in it.
//! Children that were waited for in that time are counted, since `fill` and `age` may fork.
#![allow(unsafe_code, reason = "getrusage(2) is not wrapped by rustix")]

use record::Usage;
use workload::PhaseReport;

/// A reading of getrusage(2): this process and the children it has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    inputs: u64,
    outputs: u64,
    major_faults: u64,
    minor_faults: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    max_rss: u64,
}

impl Reading {
    /// Now.
    pub(crate) fn now() -> Reading {
        let (own, children) = (read(libc::RUSAGE_SELF), read(libc::RUSAGE_CHILDREN));
        let sum = |of: fn(&libc::rusage) -> libc::c_long| (of(&own) + of(&children)).max(0) as u64;
        Reading {
            inputs: sum(|usage| usage.ru_inblock),
            outputs: sum(|usage| usage.ru_oublock),
            major_faults: sum(|usage| usage.ru_majflt),
            minor_faults: sum(|usage| usage.ru_minflt),
            voluntary_switches: sum(|usage| usage.ru_nvcsw),
            involuntary_switches: sum(|usage| usage.ru_nivcsw),
            max_rss: own.ru_maxrss.max(0) as u64,
        }
    }

    /// What `phase` used since this reading. `elapsed` is its wall time from begin to end, in
    /// which its CPU time was spent.
    pub(crate) fn until_now(self, phase: &PhaseReport, elapsed: f64) -> Usage {
        let now = Reading::now();
        Usage {
            of: "fslab".into(),
            elapsed,
            user: phase.user_seconds,
            system: phase.system_seconds,
            max_rss: now.max_rss,
            inputs: now.inputs.saturating_sub(self.inputs),
            outputs: now.outputs.saturating_sub(self.outputs),
            major_faults: now.major_faults.saturating_sub(self.major_faults),
            minor_faults: now.minor_faults.saturating_sub(self.minor_faults),
            voluntary_switches: now
                .voluntary_switches
                .saturating_sub(self.voluntary_switches),
            involuntary_switches: now
                .involuntary_switches
                .saturating_sub(self.involuntary_switches),
        }
    }
}

fn read(who: libc::c_int) -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a writable rusage and getrusage writes no more than that. All-zero
    // is a valid rusage, so it is initialised even if the call failed (it cannot: both `who` are
    // valid).
    unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_pages_are_faults_of_the_phase() {
        // Above 32 MiB the allocator maps new pages in any case, and does not give out what another test has touched.
        const BYTES: usize = 40 << 20;
        let before = Reading::now();
        let touched = std::hint::black_box(vec![1_u8; BYTES]);
        let phase = PhaseReport {
            user_seconds: 0.25,
            system_seconds: 0.5,
            ..PhaseReport::default()
        };
        let usage = before.until_now(&phase, 2.0);
        assert!(usage.minor_faults >= 4, "{usage:?}");
        assert!(usage.max_rss >= BYTES as u64 >> 10, "KiB, these among them");
        assert_eq!((usage.user, usage.system, usage.elapsed), (0.25, 0.5, 2.0));
        assert_eq!(touched.len(), BYTES);
    }
}
