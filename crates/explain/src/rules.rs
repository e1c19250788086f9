//! The rules, one file each. docs/explain.md lists what each needs and what denies it.

mod allocator_fragmentation;
mod cache_served;
mod cpu_bound_writer;
mod cpu_time;
mod delayed_allocation;
mod device_limited;
mod flushes_barriers;
mod journal_share;
mod lazy_init_running;
mod lost_merges;
mod memory_reclaim;
mod metadata_seeks;
mod more_bytes;
mod readahead_too_small;
mod small_requests;
mod tracing_cost;
mod unfair_comparison;
mod writeback_throttled;

use crate::rule::Rule;

/// Every rule, in the order in which they are printed at the same confidence: the
/// causes nearest to a setting that a reader can change come first.
pub const ALL: &[&dyn Rule] = &[
    &unfair_comparison::UnfairComparison,
    &device_limited::DeviceLimited,
    &readahead_too_small::ReadaheadTooSmall,
    &cache_served::CacheServed,
    &writeback_throttled::WritebackThrottled,
    &memory_reclaim::MemoryReclaim,
    &cpu_bound_writer::CpuBoundWriter,
    &cpu_time::CpuTime,
    &more_bytes::MoreBytes,
    &small_requests::SmallRequests,
    &lost_merges::LostMerges,
    &journal_share::JournalShare,
    &flushes_barriers::FlushesBarriers,
    &metadata_seeks::MetadataSeeks,
    &allocator_fragmentation::AllocatorFragmentation,
    &delayed_allocation::DelayedAllocation,
    &lazy_init_running::LazyInitRunning,
    &tracing_cost::TracingCost,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Verdict;
    use crate::testing::ComparisonBuilder;

    #[test]
    fn ids_are_once_and_are_names() {
        let mut ids: Vec<&str> = ALL.iter().map(|rule| rule.id()).collect();
        ids.sort_unstable();
        let all = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), all);
        let plain = |id: &str| id.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(ids.iter().all(|id| plain(id)), "{ids:?}");
    }

    #[test]
    fn every_rule_is_documented() {
        let guide = include_str!("../../../docs/explain.md");
        for rule in ALL {
            let head = format!("## {}", rule.id());
            assert!(guide.contains(&head), "{head} is not in docs/explain.md");
            assert!(guide.contains(rule.title()), "{}", rule.title());
        }
    }

    #[test]
    fn without_evidence_no_rule_holds() {
        for phase in ["write", "read", "random_read", "fill", "check", "stat_tree"] {
            let sides = ComparisonBuilder::new(phase);
            for rule in ALL {
                let Some(answer) = rule.judge(&sides.pair(2.0)) else {
                    continue;
                };
                assert!(
                    !matches!(answer.verdict, Verdict::Holds { .. }),
                    "{} holds on nothing in {phase}: {answer:?}",
                    rule.id()
                );
            }
        }
    }

    /// No rule holds on two cells with equal figures.
    #[test]
    fn without_a_difference_no_rule_holds() {
        for phase in ["write", "read", "fill", "check"] {
            let mut sides = ComparisonBuilder::new(phase)
                .facts("journal.mode", "ordered", "ordered")
                .facts("delalloc", "on", "on")
                .facts("driver", "ext4", "ext4")
                .facts("evidence.lazy_init_finished", "yes", "yes")
                .facts("barriers", "on", "on");
            for (name, ..) in crate::evidence::CATALOGUE {
                sides = sides.both(name, 0.99, 0.99);
            }
            for clock in ["original", "fsync", "syncfs"] {
                sides = sides.both(&format!("seconds.{clock}"), 2.0, 1.0).both(
                    &format!("throughput.{clock}"),
                    1.0,
                    2.0,
                );
            }
            for rule in ALL {
                let Some(answer) = rule.judge(&sides.pair(2.0)) else {
                    continue;
                };
                assert!(
                    !matches!(answer.verdict, Verdict::Holds { .. }),
                    "{} holds on two equals in {phase}: {answer:?}",
                    rule.id()
                );
            }
        }
    }

    proptest::proptest! {
        /// Zeros, trifles and giants, some of them missing: no rule panics or prints what is no number.
        #[test]
        fn whatever_was_recorded_is_judged_in_numbers(
            values in proptest::collection::vec((0_usize..100, 0_usize..7, 0_usize..7), 0..60),
            phase in 0_usize..4,
            times in 1.0001..1e6_f64,
        ) {
            const VALUES: [f64; 7] = [0.0, 1e-9, 0.5, 1.0, 1e3, 1e12, f64::NAN];
            const CLOCKED: [&str; 4] =
                ["seconds.original", "seconds.syncfs", "throughput.original", "throughput.syncfs"];
            let mut sides = ComparisonBuilder::new(["write", "read", "fill", "check"][phase])
                .facts("journal.mode", "journal", "ordered")
                .facts("delalloc", "off", "on")
                .facts("driver", "ext4", "ext4")
                .facts("evidence.lazy_init_finished", "no", "yes");
            let names: Vec<&str> = crate::evidence::CATALOGUE
                .iter()
                .map(|(name, ..)| *name)
                .chain(CLOCKED)
                .collect();
            for (name, slower, faster) in values {
                sides = sides.both(names[name % names.len()], VALUES[slower], VALUES[faster]);
            }
            for rule in ALL {
                let Some(answer) = rule.judge(&sides.pair(times)) else {
                    continue;
                };
                let printed = format!("{} {:?}", answer.because, answer.evidence);
                for wrong in ["NaN", "inf "] {
                    proptest::prop_assert!(!printed.contains(wrong), "{}: {printed}", rule.id());
                }
            }
        }
    }
}
