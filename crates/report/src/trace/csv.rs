//! The figures of a trace as CSV, one row each, unrounded: for a spreadsheet or a script.
//!
//! Every row has the same columns, so that one filter selects a table: `table` (traffic, step, bio_size, request_size,
//! seek, device, process, kind, depth, time, loss), `name` (device, process, step, kind, size class in bytes, or the start
//! of a bin in seconds), `direction` (read, write, discard; empty for all), `metric`, `value`, `unit`.

use blktrace::Analysis;
use blktrace::analysis::{Direction, Kind};
use blktrace::btt::SeekSummary;
use words::{csv_record, printable};

use super::Subject;
use super::view::{devices, shown_processes, word};

/// Nanoseconds of a second.
const NS: f64 = 1e9;

/// The figures of a trace as CSV.
pub fn csv(subject: &Subject<'_>) -> String {
    let head = ["table", "name", "direction", "metric", "value", "unit"];
    let mut rows = Rows(csv_record(head));
    let analysis = subject.analysis;
    traffic(&mut rows, analysis);
    steps(&mut rows, analysis);
    for (table, counts) in [
        ("bio_size", &analysis.bio_sizes),
        ("request_size", &analysis.request_sizes),
    ] {
        for size in counts {
            let of = (table, size.up_to.to_string(), Some(size.direction));
            rows.add(&of, "count", size.count as f64, "count");
            rows.add(&of, "bytes", size.bytes as f64, "bytes");
        }
    }
    seeks(&mut rows, subject);
    processes(&mut rows, subject);
    kinds(&mut rows, analysis);
    time(&mut rows, analysis);
    losses(&mut rows, analysis);
    rows.0
}

struct Rows(String);

impl Rows {
    fn add(
        &mut self,
        (table, name, direction): &(&str, String, Option<Direction>),
        metric: &str,
        value: f64,
        unit: &str,
    ) {
        self.0.push_str(&csv_record([
            *table,
            // A process' name comes from the trace.
            &printable(name),
            direction.map_or("", word),
            metric,
            &value.to_string(),
            unit,
        ]));
    }
}

fn traffic(rows: &mut Rows, analysis: &Analysis) {
    for d in &analysis.directions {
        let of = ("traffic", String::new(), Some(d.direction));
        for (metric, value, unit) in [
            ("bios", d.bios, "count"),
            ("bio_bytes", d.bio_bytes, "bytes"),
            ("merges", d.merges, "count"),
            ("requests", d.requests, "count"),
            ("request_bytes", d.request_bytes, "bytes"),
            ("completed_bytes", d.completed_bytes, "bytes"),
            ("requeues", d.requeues, "count"),
            ("errors", d.errors, "count"),
            ("barriers", d.barriers, "count"),
        ] {
            rows.add(&of, metric, value as f64, unit);
        }
    }
}

fn steps(rows: &mut Rows, analysis: &Analysis) {
    for step in &analysis.intervals {
        let of = ("step", step.interval.name().to_owned(), step.direction);
        let average = &step.average;
        rows.add(&of, "n", average.n as f64, "count");
        let mean = average.mean_seconds().unwrap_or(0.0);
        for (metric, value) in [
            ("min", average.min as f64 / NS),
            ("mean", mean),
            ("p50", step.p50),
            ("p90", step.p90),
            ("p99", step.p99),
            ("p999", step.p999),
            ("max", average.max as f64 / NS),
        ] {
            rows.add(&of, metric, value, "s");
        }
    }
}

fn seeks(rows: &mut Rows, subject: &Subject<'_>) {
    for device in devices(subject) {
        let name = subject.name(device.major << 20 | device.minor);
        let of = ("device", name.clone(), None);
        rows.add(&of, "bios", device.bios as f64, "count");
        rows.add(&of, "requests", device.requests as f64, "count");
        rows.add(&of, "plugged", device.plugged_seconds, "s");
        for (prefix, seeks) in [
            ("queue", &device.queue_seeks),
            ("issue", &device.issue_seeks),
        ] {
            seek(rows, &name, prefix, seeks);
        }
    }
}

/// Distances in sectors of 512 bytes.
fn seek(rows: &mut Rows, name: &str, prefix: &str, seeks: &SeekSummary) {
    let of = ("seek", name.to_owned(), None);
    for (metric, value, unit) in [
        ("count", seeks.count as f64, "count"),
        ("sequential", seeks.sequential as f64, "count"),
        ("mean", seeks.mean, "sectors"),
        ("median", seeks.median as f64, "sectors"),
        ("p90", seeks.p90 as f64, "sectors"),
        ("p99", seeks.p99 as f64, "sectors"),
        ("max", seeks.max as f64, "sectors"),
    ] {
        rows.add(&of, &format!("{prefix}_{metric}"), value, unit);
    }
}

fn processes(rows: &mut Rows, subject: &Subject<'_>) {
    for process in shown_processes(subject) {
        let of = ("process", process.name.clone(), None);
        rows.add(&of, "threads", process.threads as f64, "count");
        rows.add(&of, "sequential", process.sequential as f64, "count");
        for (direction, traffic) in Direction::ALL.into_iter().zip(process.directions) {
            let of = ("process", process.name.clone(), Some(direction));
            rows.add(&of, "bios", traffic.bios as f64, "count");
            rows.add(&of, "bytes", traffic.bytes as f64, "bytes");
        }
    }
}

fn kinds(rows: &mut Rows, analysis: &Analysis) {
    for kind in &analysis.kinds {
        let name = match kind.kind {
            Kind::Data => "data",
            Kind::Metadata => "metadata",
            Kind::Journal => "journal",
        };
        for (direction, traffic) in Direction::ALL.into_iter().zip(kind.directions) {
            let of = ("kind", name.to_owned(), Some(direction));
            rows.add(&of, "bios", traffic.bios as f64, "count");
            rows.add(&of, "bytes", traffic.bytes as f64, "bytes");
        }
    }
}

fn time(rows: &mut Rows, analysis: &Analysis) {
    let depth = &analysis.depth;
    let of = ("depth", String::new(), None);
    rows.add(&of, "mean", depth.mean, "requests");
    rows.add(&of, "mean_busy", depth.mean_busy, "requests");
    rows.add(&of, "max", f64::from(depth.max), "requests");
    let width = analysis.timeline.width;
    for (at, bin) in analysis.timeline.bins.iter().enumerate() {
        let begin = (analysis.begin + at as f64 * width).to_string();
        for (direction, bytes) in Direction::ALL.into_iter().zip(bin.bytes) {
            let of = ("time", begin.clone(), Some(direction));
            rows.add(&of, "completed_bytes", bytes as f64, "bytes");
        }
        let of = ("time", begin, None);
        rows.add(&of, "completions", bin.completions as f64, "count");
        rows.add(&of, "depth_mean", bin.depth, "requests");
        rows.add(&of, "depth_max", f64::from(bin.deepest), "requests");
    }
}

fn losses(rows: &mut Rows, analysis: &Analysis) {
    let losses = &analysis.losses;
    let of = ("loss", String::new(), None);
    for (metric, count) in [
        ("missing", losses.missing),
        ("gaps", losses.gaps),
        ("strays", losses.strays),
        ("forgotten", losses.forgotten),
        ("outstanding", losses.outstanding),
        ("passthrough", losses.passthrough),
        ("backwards", losses.backwards),
        ("absent", losses.absent),
        ("legs", losses.legs),
    ] {
        rows.add(&of, metric, count as f64, "count");
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{analysis, names, subject};
    use super::*;
    use fixtures::block_trace::Forge;

    #[test]
    fn figures_are_those_of_the_analysis() {
        let (analysis, names) = (analysis(&Forge::plain(3, 4000)), names());
        let text = csv(&subject(&analysis, &names));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "table,name,direction,metric,value,unit");
        assert!(lines.iter().all(|line| line.split(',').count() == 6));
        let of = |prefix: &str| -> f64 {
            let line = lines.iter().find(|line| line.starts_with(prefix));
            let line = line.unwrap_or_else(|| panic!("{prefix}"));
            line.split(',').nth(4).unwrap().parse().unwrap()
        };
        let read = &analysis.directions[0];
        assert_eq!(of("traffic,,read,bios,"), read.bios as f64);
        let bytes: u64 = analysis.timeline.bins.iter().map(|bin| bin.bytes[0]).sum();
        let rows = lines
            .iter()
            .filter(|l| l.starts_with("time,") && l.contains(",read,completed_bytes,"));
        let sum: f64 = rows
            .map(|l| l.split(',').nth(4).unwrap().parse::<f64>().unwrap())
            .sum();
        assert_eq!(sum, bytes as f64);
        assert_eq!(of("depth,,,max,"), f64::from(analysis.depth.max));
    }

    #[test]
    fn names_from_the_trace_steer_no_terminal() {
        let mut analysis = analysis(&Forge::plain(1, 200));
        analysis.processes[0].name = "a,\"b\u{1b}[2J".into();
        let text = csv(&subject(&analysis, &names()));
        assert!(!text.contains('\u{1b}'));
        assert!(
            text.contains("process,\"a,\"\"b\\u{1b}[2J\",,threads,"),
            "{text}"
        );
    }
}
