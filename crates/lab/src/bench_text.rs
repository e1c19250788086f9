//! What `fslab bench` prints for people: one table, every rate with its clock.

use std::fmt::Write as _;

use record::Usage;
use report::tool_output::{Era, aiod_line, dd_lines, ior, mdtest};
use study::{MetadataSpec, SharedSpec};
use workload::{Clocks, Outcome, PhaseReport};

use crate::bench::Measured;

const MIB: f64 = (1_u64 << 20) as f64;

/// GNU time's two lines.
pub fn time(usage: &Usage) -> String {
    report::usage::gnu_time(usage).join("\n")
}

/// aiod's line for each phase, of clock (a).
pub fn aiod(outcome: &Outcome) -> String {
    let lines = outcome
        .phases
        .iter()
        .map(|phase| aiod_line(&phase.name, phase.bytes, phase.seconds));
    lines.collect()
}

/// dd's three lines for each phase, of clock (a).
pub fn dd(outcome: &Outcome, era: Era) -> String {
    let lines = outcome
        .phases
        .iter()
        .map(|phase| dd_lines(phase.operations, phase.bytes, phase.seconds, era));
    lines.collect()
}

/// IOR's tables, of one repetition.
pub fn ior(spec: &SharedSpec, outcome: &Outcome) -> String {
    let accesses = outcome.phases.iter().map(|phase| ior::Access {
        name: phase.name.clone(),
        bytes: phase.bytes,
        seconds: phase.seconds,
        rate: phase.bytes_per_s.original.unwrap_or_default(),
        figures: phase.figures.clone(),
    });
    ior::text(&[ior::Test {
        spec: spec.clone(),
        nodes: nodes(outcome),
        repetitions: vec![accesses.collect()],
    }])
}

/// mdtest's table, of one iteration.
pub fn mdtest(spec: &MetadataSpec, outcome: &Outcome) -> String {
    let rates = outcome.phases.iter().filter_map(|phase| {
        let rate = phase.figures.get("files_sum").copied()?;
        Some((phase.name.clone(), rate))
    });
    mdtest::text(&mdtest::Test {
        spec: spec.clone(),
        nodes: nodes(outcome),
        iterations: vec![rates.collect()],
    })
}

/// Nodes that the ranks were on.
fn nodes(outcome: &Outcome) -> u64 {
    outcome.parameters["nodes"].as_u64().unwrap_or(1)
}

/// What was measured as tables within 78 columns, with GNU time's two lines for each phase.
pub fn render(measured: &Measured) -> String {
    let outcome = &measured.outcome;
    let mut text = format!("{}\n{}\n\n", outcome.workload, parameters(outcome));
    let _ = writeln!(
        text,
        "{:<22} {:>5} {:>9} {:>9} {:>9} {:>9} {:>8}",
        "Phase", "ops", "seconds", "(a) MB/s", "(b) MB/s", "(c) MB/s", "files/s"
    );
    for phase in &outcome.phases {
        text.push_str(&row(phase));
    }
    text.push_str(
        "\n(a) as the original computes it; (b) to the end of an fsync of every file;\n\
         (c) to the end of syncfs. MB = 2^20 bytes. Seconds are those of (a).\n",
    );
    for phase in &outcome.phases {
        text.push_str(&counts(phase));
        text.push_str(&requests(phase));
    }
    text.push_str(&latencies(outcome));
    if !measured.usages.is_empty() {
        text.push_str(
            "\nGNU time of each phase; elapsed goes on to the end of syncfs: clock (c)\n",
        );
    }
    for (phase, usage) in &measured.usages {
        let _ = write!(text, "\n{phase}:\n{}\n", time(usage));
    }
    if outcome
        .warnings
        .iter()
        .chain(doubts_of(outcome).iter())
        .next()
        .is_some()
    {
        text.push('\n');
    }
    let warnings = outcome
        .warnings
        .iter()
        .map(|warning| format!("warning: {warning}"));
    for line in warnings.chain(doubts_of(outcome)) {
        let _ = writeln!(text, "{}", words::wrap("", 0, &line, 78).trim_end());
    }
    text
}

/// Evidence that does not hold.
fn doubts_of(outcome: &Outcome) -> Vec<String> {
    let of_phase = |phase: &PhaseReport| {
        let name = phase.name.clone();
        let doubtful = phase.evidence.iter().filter(|e| e.holds == Some(false));
        doubtful
            .map(|e| format!("does not hold: {name}: {}: {}", e.name, e.detail))
            .collect::<Vec<_>>()
    };
    outcome.phases.iter().flat_map(of_phase).collect()
}

/// What a phase of many files has beside its rates: counts, and the time outside its calls.
fn counts(phase: &PhaseReport) -> String {
    let figure = |name: &str| phase.figures.get(name).copied();
    let Some(rate) = figure("total_over_elapsed") else {
        return String::new();
    };
    let count = |name: &str| figure(name).map_or_else(|| "-".into(), |n| format!("{n:.0}"));
    let overhead = figure("app_overhead").unwrap_or_default();
    format!(
        "\n{}: {} files; {} files and {} directories are there, FSUse {} %;\n\
         {rate:.1} files/s elapsed; {overhead:.3} s outside its calls (app overhead)\n",
        phase.name,
        phase.operations,
        count("count"),
        count("directories"),
        count("fs_use"),
    )
}

/// Reads and writes of a mixture, each with its own rate; nothing for another phase.
fn requests(phase: &PhaseReport) -> String {
    let figure = |name: &str| phase.figures.get(name).copied();
    let Some(all) = figure("iops") else {
        return String::new();
    };
    let way = |word: &str, iops: &str, rate: &str| {
        let (iops, rate) = figure(iops).zip(figure(rate))?;
        Some(format!(", {word} {iops:.0} ({:.1} MB/s)", rate / MIB))
    };
    let reads = way("reads", "read_iops", "read_rate").unwrap_or_default();
    let writes = way("writes", "write_iops", "write_rate").unwrap_or_default();
    let cpu = figure("cpu_per_request")
        .map(|cpu| format!(";\n{} of CPU a request", words::short_time(cpu)));
    format!(
        "\n{}: IOPS {all:.0}{reads}{writes}{}\n",
        phase.name,
        cpu.unwrap_or_default()
    )
}

/// How long the operations of all phases took; nothing where that was not recorded.
fn latencies(outcome: &Outcome) -> String {
    let phases: Vec<&PhaseReport> = (outcome.phases.iter())
        .filter(|phase| !phase.latency.is_empty())
        .collect();
    if phases.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n{:<12} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
        "Latency", "calls", "mean", "p50", "p90", "p99", "p99.9", "max"
    );
    for phase in phases {
        let _ = writeln!(text, "{}", phase.name);
        for of in &phase.latency {
            let _ = write!(text, "  {:<10} {:>9}", of.operation, short_count(of.count));
            for seconds in [of.mean, of.p50, of.p90, of.p99, of.p999, of.max] {
                let _ = write!(text, " {:>8}", words::short_time(seconds));
            }
            text.push('\n');
        }
    }
    text
}

fn row(phase: &PhaseReport) -> String {
    if phase.operations == 0 {
        return format!("{:<22} {:>5}\n", phase.name, "-");
    }
    let Clocks {
        original,
        fsync,
        syncfs,
    } = phase.bytes_per_s;
    let rate = |value: Option<f64>| match value.filter(|v| *v > 0.0) {
        Some(value) => format!("{:.1}", value / MIB),
        None => "-".into(),
    };
    let files = match phase.files_per_s.and_then(|clocks| clocks.original) {
        Some(value) => format!("{value:.0}"),
        None => "-".into(),
    };
    format!(
        "{:<22} {:>5} {:>9.3} {:>9} {:>9} {:>9} {:>8}\n",
        phase.name,
        short_count(phase.operations),
        phase.seconds,
        rate(original),
        rate(fsync),
        rate(syncfs),
        files
    )
}

/// `99999`, then `100k`, `12M`: five columns.
fn short_count(count: u64) -> String {
    match count {
        0..=99_999 => count.to_string(),
        100_000..=9_999_999 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}

fn parameters(outcome: &Outcome) -> String {
    let Some(map) = outcome.parameters.as_object() else {
        return String::new();
    };
    // Nested tables (the data sets' sizes) are for --format json.
    let pairs = map
        .iter()
        .filter(|(_, value)| !value.is_null() && !value.is_object());
    let pairs = pairs.map(|(key, value)| {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        format!("{key}={value}")
    });
    let pairs: Vec<String> = pairs.collect();
    words::wrap("", 0, &pairs.join(" "), 78)
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{Evidence, LatencyReport};

    fn latency(operation: &str, count: u64, p50: f64) -> LatencyReport {
        LatencyReport {
            operation: operation.into(),
            count,
            min: p50 / 2.0,
            mean: p50 * 1.1,
            p50,
            p90: p50 * 2.0,
            p99: p50 * 10.0,
            p999: p50 * 100.0,
            max: p50 * 1000.0,
            ..LatencyReport::default()
        }
    }

    fn outcome() -> Outcome {
        let phase = |name: &str, operations| PhaseReport {
            name: name.into(),
            operations,
            seconds: 1.25,
            bytes_per_s: Clocks {
                original: Some(512.0 * MIB),
                fsync: Some(100.0 * MIB),
                syncfs: None,
            },
            files_per_s: (name == "create").then(|| Clocks {
                original: Some(4321.0),
                ..Clocks::default()
            }),
            ..PhaseReport::default()
        };
        let mut doubtful = phase("rewrite", 1_234_567);
        doubtful.latency = vec![
            latency("write", 1_234_567, 41.25e-6),
            latency("fsync", 1, 0.0123),
        ];
        doubtful.evidence.push(Evidence {
            name: "direct_io_honoured".into(),
            holds: Some(false),
            detail: "64 pages of the first file were seen in the page cache during the phase"
                .into(),
        });
        Outcome {
            workload: "throughput".into(),
            parameters: serde_json::json!({ "threads": 2, "record": 262_144, "sources": null }),
            phases: vec![phase("create", 7), doubtful, phase("delete_compiled_tree", 0)],
            warnings: vec!["a working set of 2 MiB is 0.0001 of memory, so that buffered reads come from the page cache".into()],
        }
    }

    #[test]
    fn a_mixture_has_a_line_of_its_own() {
        let mut phase = PhaseReport {
            name: "mix".into(),
            ..PhaseReport::default()
        };
        assert_eq!(requests(&phase), "");
        for (name, value) in [
            ("iops", 1000.0),
            ("read_iops", 700.0),
            ("read_rate", 2.0 * MIB),
            ("cpu_per_request", 7.25e-6),
        ] {
            phase.figures.insert(name.into(), value);
        }
        let text = requests(&phase);
        assert_eq!(
            text,
            "\nmix: IOPS 1000, reads 700 (2.0 MB/s);\n7.25 us of CPU a request\n"
        );
        // IOR's rate has no share of the processor.
        phase.figures.remove("cpu_per_request");
        assert_eq!(requests(&phase), "\nmix: IOPS 1000, reads 700 (2.0 MB/s)\n");
        phase.figures.insert("write_iops".into(), 999_999.0);
        phase.figures.insert("write_rate".into(), 9999.9 * MIB);
        let both = requests(&phase);
        assert!(both.contains(", writes 999999 (9999.9 MB/s)"), "{both}");
        assert!(both.lines().all(|line| line.len() <= 78), "{both}");
    }

    #[test]
    fn every_phase_has_its_originals_lines() {
        assert_eq!(aiod(&outcome()).lines().count(), 3);
        let dd = dd(&outcome(), Era::Of2010);
        assert!(dd.starts_with("7+0 records in\n7+0 records out\n"), "{dd}");
        assert_eq!(dd.lines().count(), 9);
    }

    #[test]
    fn a_table_for_people() {
        let text = render(&Measured {
            outcome: outcome(),
            usages: vec![(
                "create".into(),
                Usage {
                    of: "fslab".into(),
                    elapsed: 2.5,
                    user: 0.05,
                    system: 1.25,
                    max_rss: 7312,
                    minor_faults: 495,
                    ..Usage::default()
                },
            )],
            error: None,
        });
        assert!(text.lines().all(|line| line.chars().count() <= 78));
        insta::assert_snapshot!(text);
    }
}
