//! Time series for the page: from a trial's raw counters to a few charts with few points.
//!
//! Counters become rates over each bucket of time (the exact average, not every tenth sample), so
//! that a page with ninety trials stays small and no burst is lost from the sums. The formulas are
//! those of iostat, top and PSI's document; a counter that runs backwards gives a gap, not a number.

use std::path::Path;

use record::telemetry::{Reader, Table};
use record::{Phase, TrialRecord};
use serde_json::{Value, json};

/// Points of a series at most.
pub(super) const POINTS: usize = 140;
/// Points of a series at least, where there are as many rows: with fewer a phase has no shape.
const FEWEST_POINTS: usize = 12;
/// Devices shown, the busiest first.
const DEVICES: usize = 2;
/// Tasks shown, the busiest first.
const TASKS: usize = 5;

/// A line of a chart.
struct Line {
    label: String,
    data: Vec<Option<f64>>,
}

/// Lines of one unit.
struct Chart {
    title: String,
    unit: &'static str,
    lines: Vec<Line>,
}

/// A trial's rows cut into buckets.
struct Buckets<'a> {
    table: &'a Table,
    /// Row at each edge; one more than there are buckets.
    edges: Vec<usize>,
}

impl<'a> Buckets<'a> {
    fn of(table: &'a Table, points: usize) -> Option<Buckets<'a>> {
        let last = table.rows().checked_sub(1).filter(|last| *last > 0)?;
        let count = last.min(points);
        let edges = (0..=count).map(|i| i * last / count).collect();
        Some(Buckets { table, edges })
    }

    /// Seconds of bucket `i`.
    fn seconds(&self, i: usize) -> f64 {
        let (from, to) = (self.edges[i], self.edges[i + 1]);
        self.table.times[to].saturating_sub(self.table.times[from]) as f64 / 1e9
    }

    fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// A column with a value for every row, `None` before its first.
    fn rows(&self, name: &str) -> Option<Vec<Option<i64>>> {
        let (times, values) = self.table.series(self.table.column(name)?);
        let before = self.table.rows().checked_sub(times.len())?;
        Some(
            std::iter::repeat_n(None, before)
                .chain(values.into_iter().map(Some))
                .collect(),
        )
    }

    /// Growth of a counter in each bucket; before a task's column began it was 0.
    fn growth(&self, name: &str) -> Option<Vec<Option<f64>>> {
        let rows = self.rows(name)?;
        let first = rows.iter().flatten().next().copied();
        let growth = (0..self.count())
            .map(|i| {
                let from = rows[self.edges[i]].or(first)?;
                let to = rows[self.edges[i + 1]].or(first)?;
                let grown = to.checked_sub(from)?;
                (grown >= 0).then_some(grown as f64)
            })
            .collect();
        Some(growth)
    }

    /// Growth per second, times `scale`.
    fn rate(&self, name: &str, scale: f64) -> Option<Vec<Option<f64>>> {
        let growth = self.growth(name)?;
        Some(
            growth
                .into_iter()
                .enumerate()
                .map(|(i, grown)| {
                    let seconds = self.seconds(i);
                    (seconds > 0.0).then_some(grown? * scale / seconds)
                })
                .collect(),
        )
    }

    /// Mean of a gauge in each bucket, times `scale`.
    fn gauge(&self, name: &str, scale: f64) -> Option<Vec<Option<f64>>> {
        let rows = self.rows(name)?;
        Some(
            (0..self.count())
                .map(|i| {
                    let known: Vec<f64> = rows[self.edges[i] + 1..=self.edges[i + 1]]
                        .iter()
                        .flatten()
                        .map(|v| *v as f64)
                        .collect();
                    let n = known.len();
                    (n > 0).then(|| known.iter().sum::<f64>() * scale / n as f64)
                })
                .collect(),
        )
    }

    fn total(&self, name: &str) -> f64 {
        self.growth(name)
            .map_or(0.0, |g| g.into_iter().flatten().sum())
    }
}

/// Names between a prefix and a suffix (`disk.` and `.sectors_read`), the largest total first.
fn between<'a>(table: &'a Table, prefix: &str, suffix: &str) -> Vec<&'a str> {
    table
        .columns
        .iter()
        .filter_map(|c| c.name.strip_prefix(prefix)?.strip_suffix(suffix))
        .collect()
}

fn line(label: &str, data: Option<Vec<Option<f64>>>) -> Option<Line> {
    Some(Line {
        label: label.to_owned(),
        data: data?,
    })
}

fn charts(buckets: &Buckets<'_>) -> Vec<Chart> {
    let mut charts = Vec::new();
    let mut devices: Vec<(f64, &str)> = between(buckets.table, "disk.", ".sectors_read")
        .into_iter()
        .map(|d| {
            let moved = buckets.total(&format!("disk.{d}.sectors_read"))
                + buckets.total(&format!("disk.{d}.sectors_written"));
            (moved, d)
        })
        .collect();
    devices.sort_by(|a, b| b.0.total_cmp(&a.0));
    devices.truncate(DEVICES);
    for (_, device) in &devices {
        // A sector is 512 bytes in these files, whatever the device's own.
        let mib = 512.0 / 1_048_576.0;
        let of = |field: &str| buckets.rate(&format!("disk.{device}.{field}"), mib);
        charts.push(Chart {
            title: format!("Device {device}: transfer"),
            unit: "MiB/s",
            lines: [
                line("read", of("sectors_read")),
                line("written", of("sectors_written")),
            ]
            .into_iter()
            .flatten()
            .collect(),
        });
    }
    charts.push(queue(buckets, &devices));
    charts.push(shares(buckets, &devices));
    charts.push(cpu(buckets));
    charts.push(tasks(buckets));
    charts.push(memory(buckets));
    charts.retain(|chart| !chart.lines.is_empty());
    charts
}

/// Requests in flight on average: iostat's aqu-sz.
fn queue(buckets: &Buckets<'_>, devices: &[(f64, &str)]) -> Chart {
    Chart {
        title: "Requests in flight, mean".to_owned(),
        unit: "requests",
        lines: devices
            .iter()
            .filter_map(|(_, d)| line(d, buckets.rate(&format!("disk.{d}.queue_ms"), 1e-3)))
            .collect(),
    }
}

/// Shares of time: a device busy, and tasks stalled (PSI).
fn shares(buckets: &Buckets<'_>, devices: &[(f64, &str)]) -> Chart {
    let mut lines: Vec<Line> = devices
        .iter()
        .take(1)
        .filter_map(|(_, d)| {
            let busy = buckets.rate(&format!("disk.{d}.io_ticks_ms"), 0.1);
            line(&format!("{d} busy"), busy)
        })
        .collect();
    for (column, label) in [
        ("psi.io.some", "I/O some"),
        ("psi.io.full", "I/O full"),
        ("psi.cpu.some", "CPU some"),
        ("psi.memory.some", "memory some"),
    ] {
        lines.extend(line(label, buckets.rate(column, 1e-4)));
    }
    Chart {
        title: "Busy device and stalled tasks (PSI)".to_owned(),
        unit: "% of the time",
        lines,
    }
}

/// Shares of all CPUs' time, as iostat's avg-cpu: system is sys + irq + softirq.
fn cpu(buckets: &Buckets<'_>) -> Chart {
    let growth: Vec<(&str, Vec<Option<f64>>)> = [
        "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal",
    ]
    .into_iter()
    .filter_map(|f| Some((f, buckets.growth(&format!("cpu.{f}"))?)))
    .collect();
    let share = |fields: &[&str]| -> Option<Vec<Option<f64>>> {
        growth.iter().find(|(f, _)| fields.contains(f))?;
        Some(
            (0..buckets.count())
                .map(|i| {
                    let sum = |of: &dyn Fn(&str) -> bool| -> f64 {
                        growth
                            .iter()
                            .filter(|(f, _)| of(f))
                            .filter_map(|(_, g)| g[i])
                            .sum()
                    };
                    let all = sum(&|_| true);
                    (all > 0.0).then(|| 100.0 * sum(&|f| fields.contains(&f)) / all)
                })
                .collect(),
        )
    };
    Chart {
        title: "CPU".to_owned(),
        unit: "% of all CPUs",
        lines: [
            line("user", share(&["user", "nice"])),
            line("system", share(&["system", "irq", "softirq"])),
            line("iowait", share(&["iowait"])),
            line("steal", share(&["steal"])),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}

fn tasks(buckets: &Buckets<'_>) -> Chart {
    let mut busiest: Vec<(f64, &str)> = between(buckets.table, "task.", ".cpu_ms")
        .into_iter()
        .map(|name| (buckets.total(&format!("task.{name}.cpu_ms")), name))
        .filter(|(total, _)| *total > 0.0)
        .collect();
    busiest.sort_by(|a, b| b.0.total_cmp(&a.0));
    busiest.truncate(TASKS);
    Chart {
        title: "Busiest tasks".to_owned(),
        unit: "% of one CPU",
        lines: busiest
            .iter()
            .filter_map(|(_, name)| line(name, buckets.rate(&format!("task.{name}.cpu_ms"), 0.1)))
            .collect(),
    }
}

fn memory(buckets: &Buckets<'_>) -> Chart {
    let mib = 1.0 / 1024.0;
    Chart {
        title: "Pages not yet on the device".to_owned(),
        unit: "MiB",
        lines: [
            line("dirty", buckets.gauge("mem.dirty", mib)),
            line("writeback", buckets.gauge("mem.writeback", mib)),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}

/// Three significant digits: more cannot be seen, and every digit is stored ninety times over.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(2 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// Rounds a value that JSON should print short (no `0.30000000000000004`).
fn number(value: Option<f64>) -> Value {
    match value {
        None => Value::Null,
        Some(value) => {
            let rounded = rounded(value);
            if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
                json!(rounded as i64)
            } else {
                json!(rounded)
            }
        }
    }
}

/// Bytes of a point of all series of a trial: some thirty, each with some six bytes.
const POINT_BYTES: usize = 180;

/// How many of some trials can be drawn in about this many bytes, and with how many points each.
pub(super) fn within(bytes: usize, trials: usize) -> (usize, usize) {
    let shown = trials.min(bytes / (FEWEST_POINTS * POINT_BYTES)).max(1);
    let points = bytes / (POINT_BYTES * shown);
    (shown, points.clamp(FEWEST_POINTS, POINTS))
}

/// The charts of a trial as the page's script takes them, or why there are none.
pub(super) fn trial(
    dir: &Path,
    record: &TrialRecord,
    label: &str,
    points: usize,
) -> Result<Value, String> {
    let file = record
        .telemetry
        .as_ref()
        .ok_or_else(|| "no telemetry file was written".to_owned())?;
    let table = Reader::read_in(dir, file).map_err(|e| e.to_string())?;
    view(&table, &record.phases, label, points)
}

fn view(table: &Table, phases: &[Phase], label: &str, points: usize) -> Result<Value, String> {
    let buckets = Buckets::of(table, points).ok_or("its telemetry has fewer than two rows")?;
    let begin = table.times[0];
    let since = |at: u64| (at as f64 - begin as f64) / 1e9;
    let round = |seconds: f64| (seconds * 1000.0).round() / 1000.0;
    let times: Vec<f64> = (0..buckets.count())
        .map(|i| {
            let (from, to) = (buckets.edges[i], buckets.edges[i + 1]);
            round(f64::midpoint(
                since(table.times[from]),
                since(table.times[to]),
            ))
        })
        .collect();
    let rows_end = table.times.last().map_or(0.0, |at| since(*at));
    let end = phases
        .iter()
        .map(|p| since(p.end_ns))
        .fold(rows_end, f64::max);
    let begin_at = phases.iter().map(|p| since(p.begin_ns)).fold(0.0, f64::min);
    let range = json!([round(begin_at), round(end)]);
    let phases: Vec<Value> = phases
        .iter()
        .map(|p| json!([p.name, round(since(p.begin_ns)), round(since(p.end_ns))]))
        .collect();
    let charts: Vec<Value> = charts(&buckets)
        .into_iter()
        .map(|chart| {
            let series: Vec<Value> = chart
                .lines
                .into_iter()
                .map(|l| {
                    let data: Vec<Value> = l.data.into_iter().map(number).collect();
                    json!({"label": l.label, "data": data})
                })
                .collect();
            json!({"title": chart.title, "unit": chart.unit, "series": series})
        })
        .collect();
    if charts.is_empty() {
        return Err("its telemetry has no column that this page draws".to_owned());
    }
    Ok(json!({"label": label, "phases": phases, "range": range, "t": times, "charts": charts}))
}

#[cfg(test)]
mod tests {
    use record::telemetry::Writer;

    use super::*;

    fn table(rows: usize) -> Table {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.tele");
        let mut writer = Writer::create(&path).unwrap();
        let read = writer.column("disk.loop0.sectors_read", "sectors");
        let written = writer.column("disk.loop0.sectors_written", "sectors");
        let user = writer.column("cpu.user", "jiffies");
        let idle = writer.column("cpu.idle", "jiffies");
        let dirty = writer.column("mem.dirty", "KiB");
        for i in 0..rows as i64 {
            let at = 1_000_000_000_000 + i as u64 * 100_000_000;
            let row = [
                (read, i * 2048),
                (written, 0),
                (user, i),
                (idle, i * 3),
                (dirty, 2048),
            ];
            writer.row(at, &row).unwrap();
        }
        writer.finish().unwrap();
        Reader::read(&path).unwrap()
    }

    #[test]
    fn a_site_draws_fewer_points_and_then_fewer_trials() {
        assert_eq!(within(usize::MAX, 90), (90, POINTS));
        let (shown, points) = within(32 << 10, 6);
        assert_eq!(shown, 6);
        assert!((FEWEST_POINTS..POINTS).contains(&points), "{points}");
        let (shown, points) = within(32 << 10, 1000);
        assert!((5..30).contains(&shown), "{shown}");
        assert_eq!(points, FEWEST_POINTS);
        assert_eq!(within(0, 0), (1, FEWEST_POINTS));
    }

    #[test]
    fn rates_are_those_of_iostat() {
        let table = table(31);
        let buckets = Buckets::of(&table, POINTS).unwrap();
        // 2048 sectors of 512 bytes are 1 MiB; ten rows a second.
        let mib = buckets
            .rate("disk.loop0.sectors_read", 512.0 / 1_048_576.0)
            .unwrap();
        assert_eq!(mib.len(), 30);
        assert!(mib.iter().flatten().all(|v| (v - 10.0).abs() < 1e-9));
        let cpu = cpu(&buckets);
        assert!(
            cpu.lines[0]
                .data
                .iter()
                .flatten()
                .all(|v| (v - 25.0).abs() < 1e-9)
        );
        let memory = memory(&buckets);
        assert!(memory.lines[0].data.iter().flatten().all(|v| *v == 2.0));
    }

    #[test]
    fn long_trials_are_thinned_without_losing_sums() {
        let table = table(5001);
        let buckets = Buckets::of(&table, POINTS).unwrap();
        assert_eq!(buckets.count(), POINTS);
        assert_eq!(buckets.total("disk.loop0.sectors_read"), 5000.0 * 2048.0);
    }

    #[test]
    fn short_or_empty_telemetry_says_why() {
        assert!(view(&table(1), &[], "x", POINTS).is_err());
        assert!(view(&Table::default(), &[], "x", POINTS).is_err());
        let phases = [Phase {
            name: "read".into(),
            begin_ns: 1_000_500_000_000,
            end_ns: 1_001_000_000_000,
            detail: Value::Null,
            usage: None,
            memory: None,
            middle: None,
        }];
        let value = view(&table(21), &phases, "x", POINTS).unwrap();
        assert_eq!(value["phases"][0], json!(["read", 0.5, 1.0]));
        assert_eq!(value["t"].as_array().unwrap().len(), 20);
    }

    #[test]
    fn digits_are_few() {
        assert_eq!(number(Some(123.456)), json!(123));
        assert_eq!(number(Some(0.012_345)), json!(0.0123));
        assert_eq!(number(None), Value::Null);
        assert_eq!(number(Some(f64::NAN)), json!(0));
    }
}
