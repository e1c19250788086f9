//! What memory management did during a phase: the answer to "was it memory?".
//!
//! `/proc/vmstat` counts for the whole machine, which is what matters when the machine has nothing
//! else to do; reclaim inside a limited group is not in those counters, so the group's own figures
//! (its peak, and how often it met its limit) are reported with them.

use std::collections::BTreeMap;
use std::fs;

use record::{MemoryPressure, Sample};
use rig::{GroupReading, Prepared};
use study::Clock;

/// A reading of the counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    vm: BTreeMap<String, u64>,
    group: Option<GroupReading>,
}

impl Reading {
    /// Now, with the group that `prepared` put this process in.
    pub(crate) fn now(prepared: &Prepared) -> Reading {
        let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
        Reading {
            vm: relevant(&text),
            group: prepared.memory_group(),
        }
    }

    /// What happened since `self`.
    pub(crate) fn until(&self, now: &Reading) -> MemoryPressure {
        let sum = |keys: &[&str]| -> u64 {
            let of = |reading: &Reading, key: &str| reading.vm.get(key).copied().unwrap_or(0);
            keys.iter()
                .map(|key| of(now, key).saturating_sub(of(self, key)))
                .sum()
        };
        let stalls: Vec<&str> = now
            .vm
            .keys()
            .map(String::as_str)
            .filter(|key| key.starts_with("allocstall"))
            .collect();
        MemoryPressure {
            swapped_in: sum(&["pswpin"]),
            swapped_out: sum(&["pswpout"]),
            scanned_kswapd: sum(&["pgscan_kswapd"]),
            scanned_direct: sum(&["pgscan_direct"]),
            reclaimed: sum(&["pgsteal_kswapd", "pgsteal_direct"]),
            allocation_stalls: sum(&stalls),
            memory_total: memory_total(),
            limit: now.group.as_ref().map(|group| group.limit),
            peak: now.group.as_ref().map(|group| group.peak),
            limit_met: now.group.as_ref().map(|group| {
                let before = self.group.as_ref().map_or(0, |group| group.limit_met);
                group.limit_met.saturating_sub(before)
            }),
        }
    }
}

fn relevant(vmstat: &str) -> BTreeMap<String, u64> {
    const KEYS: [&str; 6] = [
        "pswpin",
        "pswpout",
        "pgscan_kswapd",
        "pgscan_direct",
        "pgsteal_kswapd",
        "pgsteal_direct",
    ];
    probe::vmstat::parse(vmstat)
        .into_iter()
        .filter(|(key, _)| KEYS.contains(key) || key.starts_with("allocstall"))
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// MemTotal in bytes.
fn memory_total() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = probe::meminfo::parse(&text).get("MemTotal").copied();
    kib.unwrap_or(0) << 10
}

/// The samples of a phase with the same figures, for reports and growth laws. How often a group met
/// its limit is one only where there is a group.
pub(crate) fn samples(phase: &str, pressure: &MemoryPressure) -> Vec<Sample> {
    let counts = [
        ("swap_ins", Some(pressure.swapped_in)),
        ("swap_outs", Some(pressure.swapped_out)),
        (
            "pages_scanned",
            Some(pressure.scanned_kswapd + pressure.scanned_direct),
        ),
        ("pages_reclaimed", Some(pressure.reclaimed)),
        ("allocation_stalls", Some(pressure.allocation_stalls)),
        ("limit_met", pressure.limit_met),
    ];
    let sample = |(metric, value): (&str, Option<u64>)| {
        Some(Sample {
            phase: phase.to_owned(),
            metric: metric.into(),
            clock: Clock::Original,
            value: value? as f64,
            unit: "count".into(),
        })
    };
    counts.into_iter().filter_map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_differences_and_zones_one_sum() {
        let before = Reading {
            vm: relevant(
                "pswpin 5\npgscan_kswapd 10\nallocstall_normal 1\nallocstall_movable 2\nnr_dirty 9\n",
            ),
            group: None,
        };
        assert!(!before.vm.contains_key("nr_dirty"), "a gauge is no counter");
        let after = Reading {
            vm: relevant(
                "pswpin 8\npgscan_kswapd 15\npgscan_direct 7\nallocstall_normal 4\nallocstall_movable 4\n",
            ),
            group: None,
        };
        let pressure = before.until(&after);
        assert_eq!(pressure.swapped_in, 3);
        assert_eq!((pressure.scanned_kswapd, pressure.scanned_direct), (5, 7));
        assert_eq!(pressure.allocation_stalls, 5);
        assert_eq!((pressure.limit, pressure.limit_met), (None, None));
        assert!(pressure.memory_total > 0);
        let reported = |pressure: &MemoryPressure, metric: &str| {
            let mut all = samples("fill", pressure).into_iter();
            all.find(|sample| sample.metric == metric)
                .map(|sample| sample.value)
        };
        assert_eq!(reported(&pressure, "pages_scanned"), Some(12.0));
        assert_eq!(reported(&pressure, "allocation_stalls"), Some(5.0));
        assert_eq!(reported(&pressure, "limit_met"), None, "there was no group");
        let limited = MemoryPressure {
            limit_met: Some(7),
            ..pressure
        };
        assert_eq!(reported(&limited, "limit_met"), Some(7.0));
    }
}
