//! Phases and metrics in words: what a sentence of a report says of them.
//!
//! The words are beside the lists of names ([`crate::names`]), so that a new phase or metric comes with its
//! own, and a report needs none of its own for a phase.

use crate::names::CALLS;

/// How a phase is spoken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseWords {
    /// Name of the phase.
    pub phase: &'static str,
    /// What a filesystem does in it, after a subject in the singular: `creates files`.
    pub verb: &'static str,
    /// The metric that says how fast it was.
    pub metric: &'static str,
}

/// What a ratio of two values of a metric means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// Work per time: 2 is twice as fast.
    Rate,
    /// Time of the whole phase: 2 is half as fast.
    Time,
    /// Time of a part or of a kind: 2 is twice as long.
    Duration,
    /// A quantity: 2 is twice as much.
    Amount,
}

/// How a metric is spoken of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricWords {
    /// What a larger value means.
    pub sense: Sense,
    /// What is measured, without an article: `bytes written to the device`.
    pub noun: String,
}

const fn phase(phase: &'static str, verb: &'static str, metric: &'static str) -> PhaseWords {
    PhaseWords {
        phase,
        verb,
        metric,
    }
}

/// The phases of workloads and checks; passes of a scan or a check follow [`words_of`].
pub const PHASE_WORDS: &[PhaseWords] = &[
    phase("initial_write", "writes new files", "throughput"),
    phase("rewrite", "rewrites files", "throughput"),
    phase("read", "reads sequentially", "throughput"),
    phase("reread", "reads sequentially again", "throughput"),
    phase("random_read", "reads at random", "throughput"),
    phase("random_write", "writes at random", "throughput"),
    phase("initial_create", "creates the first trees", "throughput"),
    phase("create", "creates trees", "throughput"),
    phase("patch", "patches trees", "throughput"),
    phase("compile", "writes object files", "throughput"),
    phase("clean", "removes object files", "throughput"),
    phase("read_tree", "reads trees", "throughput"),
    phase("read_compiled_tree", "reads compiled trees", "throughput"),
    phase("delete_tree", "deletes trees", "seconds"),
    phase("delete_compiled_tree", "deletes compiled trees", "seconds"),
    phase("stat_tree", "stats trees", "seconds"),
    phase("stat_compiled_tree", "stats compiled trees", "seconds"),
    phase("write", "writes sequentially", "throughput"),
    phase("fill", "creates files", "files"),
    phase("forge", "takes forged files", "files"),
    phase("age_fill", "fills up", "files"),
    phase("age_remove", "removes directories", "seconds"),
    phase("age_add", "adds files", "files"),
    phase("mix", "reads and writes", "throughput"),
    phase("tree_creation", "creates the tree", "files"),
    phase("directory_creation", "creates directories", "files"),
    phase("directory_stat", "stats directories", "files"),
    phase(
        "directory_removal",
        "removes directories one by one",
        "files",
    ),
    phase("file_creation", "creates small files", "files"),
    phase("file_stat", "stats files", "files"),
    phase("file_read", "reads small files", "files"),
    phase("file_removal", "removes files", "files"),
    phase("tree_removal", "removes the tree", "files"),
    phase("scan", "is scanned", "seconds"),
    phase("check", "is checked", "seconds"),
];

/// What a filesystem does in a phase, and the metric of its speed; none for a phase that is not known.
pub fn words_of(phase: &str) -> Option<(String, &'static str)> {
    if let Some(words) = PHASE_WORDS.iter().find(|words| words.phase == phase) {
        return Some((words.verb.to_owned(), words.metric));
    }
    let (whole, pass) = phase.split_once("_pass_")?;
    let words = PHASE_WORDS.iter().find(|words| words.phase == whole)?;
    let pass = match pass {
        "after" => " after the passes".to_owned(),
        pass => format!(" in pass {pass}"),
    };
    Some((format!("{}{pass}", words.verb), words.metric))
}

/// A phase in which something is done to a filesystem, as the subject of a sentence: `the check`, `pass 1 of the
/// check`; none for one in which the filesystem itself does something.
pub fn procedure_of(phase: &str) -> Option<String> {
    let (whole, pass) = match phase.split_once("_pass_") {
        Some((whole, pass)) => (whole, Some(pass)),
        None => (phase, None),
    };
    if !["check", "scan"].contains(&whole) {
        return None;
    }
    Some(match pass {
        None => format!("the {whole}"),
        Some("after") => format!("the {whole} after its passes"),
        Some(pass) => format!("pass {pass} of the {whole}"),
    })
}

/// Metrics other than rates, and what they measure.
const METRIC_WORDS: &[(&str, Sense, &str)] = &[
    ("seconds", Sense::Time, "time"),
    ("mean_seconds", Sense::Time, "mean time"),
    ("median_seconds", Sense::Time, "median time"),
    ("reported_seconds", Sense::Time, "time by its own account"),
    ("throughput", Sense::Rate, "throughput"),
    ("files", Sense::Rate, "files per second"),
    ("children", Sense::Rate, "throughput"),
    ("parent", Sense::Rate, "throughput as the parent sees it"),
    ("min", Sense::Rate, "throughput of the slowest thread"),
    ("max", Sense::Rate, "throughput of the fastest thread"),
    ("avg", Sense::Rate, "throughput of a thread"),
    ("mean_mib_per_s", Sense::Rate, "mean throughput"),
    ("median_mib_per_s", Sense::Rate, "median throughput"),
    ("total_over_total", Sense::Rate, "total throughput"),
    (
        "total_over_elapsed",
        Sense::Rate,
        "files per second of the whole phase",
    ),
    ("rate_with_cache", Sense::Rate, "throughput with the cache"),
    (
        "rate_without_user",
        Sense::Rate,
        "throughput without CPU time",
    ),
    ("read_rate", Sense::Rate, "bytes read per second"),
    ("write_rate", Sense::Rate, "bytes written per second"),
    ("iops", Sense::Rate, "requests per second"),
    ("read_iops", Sense::Rate, "reads per second"),
    ("write_iops", Sense::Rate, "writes per second"),
    ("cpu_per_request", Sense::Duration, "CPU time of a request"),
    (
        "best_mean_latency",
        Sense::Duration,
        "smallest mean time of a transfer",
    ),
    (
        "throughput_first_done",
        Sense::Rate,
        "throughput until the first rank was done",
    ),
    (
        "throughput_last_done",
        Sense::Rate,
        "throughput until the last rank was done",
    ),
    (
        "files_sum",
        Sense::Rate,
        "files per second over the longest time of a rank",
    ),
    ("fastest", Sense::Rate, "throughput of the fastest rank"),
    ("slowest", Sense::Rate, "throughput of the slowest rank"),
    (
        "fastest_node",
        Sense::Rate,
        "throughput of the fastest node",
    ),
    (
        "slowest_node",
        Sense::Rate,
        "throughput of the slowest node",
    ),
    ("first_done", Sense::Duration, "time of the first rank"),
    ("last_done", Sense::Duration, "time of the last rank"),
    (
        "start_spread",
        Sense::Duration,
        "time between the first start of a rank and the last",
    ),
    ("barrier_seconds", Sense::Duration, "time of a barrier"),
    (
        "tail",
        Sense::Amount,
        "share of the time that ranks waited for the last",
    ),
    ("min_xfer", Sense::Amount, "bytes of the slowest thread"),
    ("user_seconds", Sense::Duration, "user CPU time"),
    ("mean_user_seconds", Sense::Duration, "mean user CPU time"),
    (
        "reported_user_seconds",
        Sense::Duration,
        "user CPU time by its own account",
    ),
    ("system_seconds", Sense::Duration, "system CPU time"),
    (
        "mean_system_seconds",
        Sense::Duration,
        "mean system CPU time",
    ),
    (
        "reported_system_seconds",
        Sense::Duration,
        "system CPU time by its own account",
    ),
    ("app_overhead", Sense::Duration, "time outside of calls"),
    ("peak_rss", Sense::Amount, "memory at the peak"),
    ("device_read", Sense::Amount, "bytes read from the device"),
    (
        "device_written",
        Sense::Amount,
        "bytes written to the device",
    ),
    ("read_requests", Sense::Amount, "reads"),
    ("write_requests", Sense::Amount, "writes"),
    ("disk_bytes", Sense::Amount, "bytes read from the device"),
    ("request_mean", Sense::Amount, "bytes of a request"),
    ("count", Sense::Amount, "files"),
];

/// Ends of the names of the latencies of calls.
const QUANTILES: [(&str, &str); 7] = [
    ("min", "shortest time"),
    ("avg", "mean time"),
    ("p50", "median time"),
    ("p90", "90th percentile of the time"),
    ("p99", "99th percentile of the time"),
    ("p999", "99.9th percentile of the time"),
    ("max", "longest time"),
];

/// How a metric is spoken of. Names of calls (`fsync_p99`), of layouts and of traces speak for themselves.
pub fn words_of_metric(metric: &str) -> MetricWords {
    let known = METRIC_WORDS.iter().find(|(name, ..)| *name == metric);
    if let Some((_, sense, noun)) = known {
        return MetricWords {
            sense: *sense,
            noun: (*noun).to_owned(),
        };
    }
    let of_call = metric.split_once('_').and_then(|(call, rest)| {
        let (_, noun) = QUANTILES.iter().find(|(name, _)| *name == rest)?;
        let article = if call.starts_with(['o', 'u']) {
            "an"
        } else {
            "a"
        };
        CALLS
            .contains(&call)
            .then(|| format!("{noun} of {article} {call} call"))
    });
    match of_call {
        Some(noun) => MetricWords {
            sense: Sense::Duration,
            noun,
        },
        None => MetricWords {
            sense: sense_of_unit(metric),
            noun: metric.replace('_', " "),
        },
    }
}

/// What a metric without words of its own means, by its unit.
fn sense_of_unit(metric: &str) -> Sense {
    match crate::metrics::of_name(metric).map(|metric| metric.unit) {
        Some("s") => Sense::Duration,
        Some("bytes_per_s" | "mib_per_s" | "files_per_s" | "ops_per_s") => Sense::Rate,
        _ => Sense::Amount,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Better;
    use crate::names::{METRICS, PHASES};

    #[test]
    fn every_phase_has_words_and_a_metric_that_exists() {
        for phase in PHASES {
            let (verb, metric) = words_of(phase).unwrap_or_else(|| panic!("{phase}"));
            assert!(verb.split(' ').next().unwrap().ends_with('s'), "{verb}");
            assert!(METRICS.contains(&metric), "{phase}: {metric}");
        }
        assert_eq!(words_of("check_pass_1").unwrap().0, "is checked in pass 1");
        assert_eq!(words_of("sleep"), None);
        assert_eq!(procedure_of("scan_pass_0b").unwrap(), "pass 0b of the scan");
        assert_eq!(procedure_of("read_tree"), None);
        // What is done to a filesystem, and nothing else, has a verb in the passive.
        for words in PHASE_WORDS {
            let passive = words.verb.starts_with("is ");
            assert_eq!(procedure_of(words.phase).is_some(), passive, "{words:?}");
        }
        for words in PHASE_WORDS {
            assert!(PHASES.contains(&words.phase), "{}", words.phase);
        }
    }

    #[test]
    fn every_metric_has_words() {
        for (metric, ..) in METRIC_WORDS {
            assert!(METRICS.contains(metric), "{metric}");
        }
        for metric in METRICS {
            let words = words_of_metric(metric);
            assert!(!words.noun.contains('_'), "{metric}: {}", words.noun);
            // A metric that ends in seconds is a time, and one per second is a rate.
            let timed = metric.ends_with("seconds");
            let time = matches!(words.sense, Sense::Time | Sense::Duration);
            assert!(!timed || time, "{metric}: {words:?}");
            let better = crate::metrics::of_name(metric).unwrap().better;
            let right = match words.sense {
                Sense::Rate => better == Better::Higher,
                Sense::Time | Sense::Duration => better == Better::Lower,
                Sense::Amount => true,
            };
            assert!(right, "{metric}: {words:?} and {better:?} is better");
        }
        assert_eq!(
            words_of_metric("fsync_p99").noun,
            "99th percentile of the time of a fsync call"
        );
        assert_eq!(
            words_of_metric("open_p999").noun,
            "99.9th percentile of the time of an open call"
        );
    }
}
