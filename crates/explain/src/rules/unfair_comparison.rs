//! Unfair comparison: the cells differ in more than the factor says.
//!
//! A comparison begins with the difference of contexts. The mounted facts of both cells (the device and
//! how it is attached, its scheduler and cache, the host's filesystem, barriers, the mkfs program of one
//! kind) and the contexts of their trials are compared, except for what the factor itself sets. Evidence
//! that fails on one side only (a cache that was not cold, direct I/O not honoured) counts, too, and so
//! does another program that used a fifth of a CPU more during the slower side's phases. Values that
//! vary a little with each boot of a guest are equal within the bounds of [`crate::tolerance`]. The rule
//! holds when anything differs. It cannot know the cost, so its confidence is always low; read the other
//! rules that hold with it in mind. With facts of both sides and no difference it is denied.

use crate::comparison::CellComparison;
use crate::rule::{Grounds, Judgement, Rule};
use crate::tolerance::alike;
use crate::value::{Row, Unit, print};

/// Device facts that should be the same, and the factors that may change them.
const DEVICE: [(&str, &[&str]); 12] = [
    ("direct_io", &[]),
    ("write_cache", &[]),
    ("fua", &[]),
    ("scheduler", &[]),
    ("nr_requests", &[]),
    ("max_sectors_kb", &[]),
    ("rotational", &[]),
    ("host_filesystem", &[]),
    ("logical_block_size", &[]),
    ("physical_block_size", &[]),
    ("size", &["size"]),
    ("read_ahead_kb", &["readahead"]),
];

/// Factors that say what the filesystem is and how it is mounted.
const OF_FILESYSTEM: [&str; 3] = ["filesystem", "mkfs", "mount"];

/// Items of the context that a factor sets.
const SETS: [(&str, &str); 3] = [
    ("kernel", "context.system.kernel."),
    ("memory", "context.cgroup.limits.memory"),
    ("limit", "context.cgroup.limits.io"),
];

/// Share of a CPU by which another program may use more on one side.
const FOREIGN: f64 = 0.2;

/// See the module.
pub(crate) struct UnfairComparison;

impl Rule for UnfairComparison {
    fn id(&self) -> &'static str {
        "unfair_comparison"
    }

    fn title(&self) -> &'static str {
        "unfair comparison"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        let (compared, differing) = differences(pair);
        if compared == 0 {
            return Judgement::not_judged("needs what was mounted: no trial of a cell recorded it");
        }
        let grounds = Grounds::of(pair, &[]);
        if differing.is_empty() {
            return grounds.denied(format!(
                "none of {compared} facts differs except {}",
                pair.factor
            ));
        }
        let names: Vec<&str> = differing.iter().map(|row| row.label.as_str()).collect();
        let because = format!(
            "apart from {} they differ in {}",
            pair.factor,
            names.join(", ")
        );
        differing
            .into_iter()
            .fold(grounds, Grounds::row)
            .inferred(true)
            .carries(1.0)
            .holds(
                because,
                "make these equal and run again; fslab context prints those of this machine",
            )
    }
}

/// How many facts were compared, and those that differ.
fn differences(pair: &CellComparison<'_>) -> (usize, Vec<Row>) {
    let mut rows = Vec::new();
    let mut compared = 0;
    let mut compare = |name: &str, label: &str, source: &str| {
        let Some(same) = alike(name, pair.slower, pair.faster) else {
            return;
        };
        compared += 1;
        if !same {
            let [slower, faster] = [pair.slower, pair.faster].map(|side| {
                side.facts
                    .get(name)
                    .map_or_else(String::new, |v| v.join(" or "))
            });
            rows.push(Row::words(name, label, &slower, &faster, source));
        }
    };
    for (fact, factors) in DEVICE {
        if !factors.contains(&pair.factor) {
            compare(&format!("device.{fact}"), &fact.replace('_', " "), "sysfs");
        }
    }
    if !OF_FILESYSTEM.contains(&pair.factor) {
        compare("driver", "driver", "kernel");
        compare("barriers", "barriers", "mount options");
        compare("mkfs.version", "mkfs", "mkfs -V");
    }
    let contexts: Vec<&String> = pair
        .slower
        .facts
        .keys()
        .filter(|name| name.starts_with("context."))
        .filter(|name| {
            let set =
                |(factor, item): &(&str, &str)| pair.factor == *factor && name.starts_with(item);
            !SETS.iter().any(set)
        })
        .collect();
    for name in contexts {
        compare(name, name.trim_start_matches("context."), "context");
    }
    compared += doubts(pair, &mut rows);
    if let Some([slower, faster]) = pair.both("foreign_task") {
        compared += 1;
        if slower > faster + FOREIGN {
            let who = |side: &crate::evidence::CellEvidence, share| {
                let names = side.facts.get("foreign_task").map(|names| names.join(", "));
                let share = print(share, Unit::Share);
                names.map_or(share.clone(), |names| format!("{share} ({names})"))
            };
            rows.push(Row::words(
                "foreign_task",
                "CPU share of another program",
                &who(pair.slower, slower),
                &who(pair.faster, faster),
                "telemetry",
            ));
        }
    }
    (compared, rows)
}

/// Evidence that holds on one side only.
fn doubts(pair: &CellComparison<'_>, rows: &mut Vec<Row>) -> usize {
    let mut compared = 0;
    for (name, slower) in &pair.slower.facts {
        let Some(label) = name.strip_prefix("evidence.") else {
            continue;
        };
        let Some(faster) = pair.faster.facts.get(name) else {
            continue;
        };
        compared += 1;
        let fails = |values: &[String]| values.iter().any(|holds| holds == "no");
        if fails(slower) != fails(faster) {
            let [slower, faster] = [slower, faster].map(|values| values.join(" or "));
            rows.push(Row::words(
                name,
                &label.replace('_', " "),
                &slower,
                &faster,
                "evidence",
            ));
        }
    }
    compared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn judge(sides: &ComparisonBuilder) -> Judgement {
        UnfairComparison.judge(&sides.pair(2.0)).unwrap()
    }

    #[test]
    fn another_scheduler_or_a_warm_cache_holds() {
        let scheduler =
            ComparisonBuilder::new("read").facts("device.scheduler", "[none]", "[bfq] none");
        let answer = judge(&scheduler);
        assert_eq!(answer.confidence(), Some(Confidence::Low), "{answer:?}");
        assert!(answer.because.contains("scheduler"), "{}", answer.because);
        let warm = ComparisonBuilder::new("read").facts("evidence.cold_cache", "yes", "no");
        assert!(judge(&warm).because.contains("cold cache"));
        let kernel =
            ComparisonBuilder::new("read").facts("context.system.kernel.release", "6.18", "6.17");
        assert!(judge(&kernel).because.contains("kernel.release"));
    }

    #[test]
    fn boots_that_differ_a_little_are_fair_and_twice_the_memory_is_not() {
        let limits = |n: u32| format!(r#"{{"hard":"{n}","soft":"{n}"}}"#);
        let boots = |memory: [&str; 2], processes: [u32; 2]| {
            let [slow, fast] = processes.map(limits);
            ComparisonBuilder::new("read")
                .facts("context.memory.total_kib", memory[0], memory[1])
                .facts("context.process.limits.processes", &slow, &fast)
                .facts("context.process.limits.pending_signals", &slow, &fast)
        };
        let answer = judge(&boots(["2021440", "2021308"], [7717, 7716]));
        assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        let answer = judge(&boots(["2021440", "4118592"], [7717, 15904]));
        let named = "memory.total_kib, process.limits.pending_signals, process.limits.processes";
        assert!(answer.because.ends_with(named), "{}", answer.because);
    }

    #[test]
    fn what_the_factor_sets_is_fair() {
        let sides = ComparisonBuilder::new("read")
            .factor("readahead")
            .facts("device.read_ahead_kb", "128", "2048")
            .facts("device.scheduler", "[none]", "[none]");
        assert_eq!(judge(&sides).verdict, Verdict::Denied);
        let answer = judge(&sides.factor("filesystem"));
        assert!(
            answer.because.contains("read ahead kb"),
            "{}",
            answer.because
        );
        let filesystem = ComparisonBuilder::new("read")
            .facts("driver", "ext4", "xfs")
            .facts("device.fua", "0", "0");
        assert_eq!(judge(&filesystem).verdict, Verdict::Denied);
        assert!(judge(&filesystem.factor("memory")).confidence().is_some());
        let kernel = |factor| {
            ComparisonBuilder::new("read")
                .factor(factor)
                .facts("context.system.kernel.release", "6.1", "6.12")
                .facts("device.fua", "0", "0")
        };
        assert_eq!(judge(&kernel("kernel")).verdict, Verdict::Denied);
        assert!(judge(&kernel("mount")).confidence().is_some());
    }

    #[test]
    fn another_program_on_one_side_is_unfair() {
        let busy = ComparisonBuilder::new("read").both("foreign_task", 0.9, 0.1);
        assert!(
            judge(&busy).because.contains("another program"),
            "{}",
            judge(&busy).because
        );
        let quiet = ComparisonBuilder::new("read").both("foreign_task", 0.9, 0.85);
        assert_eq!(judge(&quiet).verdict, Verdict::Denied);
    }

    #[test]
    fn evidence_that_could_not_be_checked_is_no_difference() {
        let sides =
            ComparisonBuilder::new("read").facts("evidence.bytes_on_device", "yes", "not known");
        assert_eq!(judge(&sides).verdict, Verdict::Denied);
        let answer = judge(&ComparisonBuilder::new("read"));
        assert!(
            matches!(answer.verdict, Verdict::NotJudged { .. }),
            "{answer:?}"
        );
    }
}
