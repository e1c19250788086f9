//! What happened between two readings.

use probe::diskstats::Counters;

use super::sampler::{Cpu, Reading};

/// Time, CPU and device traffic of a stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    /// Wall seconds.
    pub(super) seconds: f64,
    /// CPU seconds.
    pub(super) cpu: Cpu,
    /// Largest resident memory up to its end, bytes.
    pub(super) peak_rss: u64,
    /// Seconds that the checker and its reader waited for a CPU; none where that is not counted.
    pub(super) waited: Option<f64>,
    /// The device's part; none when its counters are unknown.
    pub(super) device: Option<Traffic>,
}

/// What a device did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Traffic {
    /// Bytes read.
    pub(super) read: u64,
    /// Bytes written.
    pub(super) written: u64,
    /// Read requests completed.
    pub(super) reads: u64,
    /// Write requests completed.
    pub(super) writes: u64,
}

impl Spent {
    /// From `begin` to `end`.
    pub(super) fn between(begin: &Reading, end: &Reading) -> Spent {
        let less = |a: f64, b: f64| (a - b).max(0.0);
        Spent {
            seconds: workload::clock::seconds(begin.at_ns, end.at_ns),
            cpu: Cpu {
                total: less(end.cpu.total, begin.cpu.total),
                user: less(end.cpu.user, begin.cpu.user),
                system: less(end.cpu.system, begin.cpu.system),
            },
            peak_rss: end.peak_rss,
            waited: begin
                .waited_ns
                .zip(end.waited_ns)
                .map(|(before, after)| workload::clock::seconds(before, after)),
            device: traffic(begin, end),
        }
    }

    /// This and a later stretch. `first`: this is nothing yet.
    pub(super) fn plus(&self, later: &Spent, first: bool) -> Spent {
        if first {
            return *later;
        }
        Spent {
            seconds: self.seconds + later.seconds,
            cpu: Cpu {
                total: self.cpu.total + later.cpu.total,
                user: self.cpu.user + later.cpu.user,
                system: self.cpu.system + later.cpu.system,
            },
            peak_rss: self.peak_rss.max(later.peak_rss),
            waited: self.waited.zip(later.waited).map(|(a, b)| a + b),
            device: self.device.zip(later.device).map(|(a, b)| Traffic {
                read: a.read.saturating_add(b.read),
                written: a.written.saturating_add(b.written),
                reads: a.reads.saturating_add(b.reads),
                writes: a.writes.saturating_add(b.writes),
            }),
        }
    }

    /// User and system seconds: the exact sum in the ratio of the ticks, or, where no tick fell
    /// into the stretch, in the ratio of the whole.
    pub(super) fn divided(&self, whole: &Cpu) -> (f64, f64) {
        let share = share(&self.cpu).or_else(|| share(whole)).unwrap_or(0.0);
        (self.cpu.total * (1.0 - share), self.cpu.total * share)
    }
}

/// The kernel's part of the ticks.
fn share(cpu: &Cpu) -> Option<f64> {
    let ticks = cpu.user + cpu.system;
    (ticks > 0.0).then(|| cpu.system / ticks)
}

fn traffic(begin: &Reading, end: &Reading) -> Option<Traffic> {
    let ((was, before), (is, after)) = (begin.disk.as_ref()?, end.disk.as_ref()?);
    let delta: Counters = before.delta(was, after, is).ok()?;
    Some(Traffic {
        read: delta.sectors_read().saturating_mul(512),
        written: delta.sectors_written().saturating_mul(512),
        reads: delta.reads(),
        writes: delta.writes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_sum_is_divided_by_ticks_or_else_like_the_whole() {
        let cpu = |total, user, system| Cpu {
            total,
            user,
            system,
        };
        let spent = |cpu| Spent {
            cpu,
            ..Spent::default()
        };
        let whole = cpu(4.0, 3.0, 1.0);
        let (user, system) = spent(cpu(0.105, 0.06, 0.04)).divided(&whole);
        assert!((user - 0.063).abs() < 1e-9 && (system - 0.042).abs() < 1e-9);
        assert_eq!(spent(cpu(0.004, 0.0, 0.0)).divided(&whole), (0.003, 0.001));
        assert_eq!(
            spent(cpu(0.004, 0.0, 0.0)).divided(&cpu(0.0, 0.0, 0.0)),
            (0.004, 0.0)
        );
    }

    #[test]
    fn without_counters_on_both_sides_there_is_no_traffic() {
        let identity = |name: &str| probe::diskstats::Identity {
            major: 7,
            minor: 0,
            name: name.into(),
            diskseq: None,
        };
        let reading = |name: &str, fields: &str| Reading {
            disk: Counters::parse(fields).map(|c| (identity(name), c)),
            ..Reading::default()
        };
        let begin = reading("loop0", "1 0 8 0 2 0 16 0 0 0 0");
        let end = reading("loop0", "4 0 40 0 3 0 24 0 0 0 0");
        let expected = Traffic {
            read: 32 * 512,
            written: 8 * 512,
            reads: 3,
            writes: 1,
        };
        assert_eq!(Spent::between(&begin, &end).device, Some(expected));
        let twice = Spent::between(&begin, &end).plus(&Spent::between(&begin, &end), false);
        assert_eq!(twice.device.map(|d| d.read), Some(64 * 512));
        let other = reading("loop1", "4 0 40 0 3 0 24 0 0 0 0");
        assert_eq!(Spent::between(&begin, &other).device, None);
        assert_eq!(Spent::between(&Reading::default(), &end).device, None);
    }
}
