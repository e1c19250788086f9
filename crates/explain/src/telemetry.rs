//! Telemetry within a phase: differences of counters, largest values of gauges.
//!
//! Rows come every 100 ms and a phase begins between two of them. The rows just outside the phase
//! are taken, so that no part of it is missed; rates are over the time between those rows. The error is at most two intervals, so phases shorter than [`SHORTEST`] get no
//! figures at all rather than their neighbours'.

use std::collections::BTreeMap;

use fskind::Kind;
use record::telemetry::Table;

/// Shortest phase that has figures, seconds: two intervals of 100 ms are then 40 % of it at most.
pub(crate) const SHORTEST: f64 = 0.5;

/// A column in memory.
struct Series {
    times: Vec<u64>,
    values: Vec<i64>,
}

impl Series {
    fn of(table: &Table, name: &str) -> Option<Series> {
        let (times, values) = table.series(table.column(name)?);
        (!times.is_empty()).then_some(Series { times, values })
    }

    /// The last value at or before a time; none before the first.
    fn at(&self, time: u64) -> Option<i64> {
        let after = self.times.partition_point(|at| *at <= time);
        Some(self.values[after.checked_sub(1)?])
    }

    /// What a counter grew by between two times; from 0 where it began later.
    fn delta(&self, from: u64, to: u64) -> f64 {
        let begin = self.at(from).unwrap_or(0);
        self.at(to)
            .map_or(0.0, |end| end.saturating_sub(begin).max(0) as f64)
    }

    fn largest(&self, from: u64, to: u64) -> Option<f64> {
        let rows = self.times.iter().zip(&self.values);
        rows.filter(|(at, _)| (from..=to).contains(*at))
            .map(|(_, value)| *value as f64)
            .reduce(f64::max)
    }
}

/// The figures of one phase in the telemetry of one trial.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Window {
    /// Figures by the names of [`crate::evidence::CATALOGUE`].
    pub figures: BTreeMap<&'static str, f64>,
    /// Name of the busiest task of the workload.
    pub busiest: Option<String>,
    /// Name of the busiest task that is not part of it.
    pub foreign: Option<String>,
}

/// The figures of a phase between two CLOCK_MONOTONIC times, of the device `device`.
///
/// # Errors
/// Why there are none, in words.
pub(crate) fn of(
    table: &Table,
    device: Option<&str>,
    begin_ns: u64,
    end_ns: u64,
) -> Result<Window, String> {
    let seconds = end_ns.saturating_sub(begin_ns) as f64 / 1e9;
    if seconds < SHORTEST {
        return Err(format!(
            "the phase of {} was shorter than {SHORTEST} s, too short for samples every 100 ms",
            crate::value::print(seconds, crate::Unit::Seconds)
        ));
    }
    let before = table.times.partition_point(|at| *at <= begin_ns);
    let after = table.times.partition_point(|at| *at < end_ns);
    let rows = before
        .checked_sub(1)
        .and_then(|row| Some((*table.times.get(row)?, *table.times.get(after)?)));
    let Some((from, to)) = rows.filter(|(from, to)| to > from) else {
        return Err("the telemetry does not cover the phase".to_owned());
    };
    let mut window = Window::default();
    let reader = Reader {
        table,
        from,
        to,
        seconds: (to - from) as f64 / 1e9,
    };
    reader.device(device, &mut window);
    reader.machine(&mut window);
    reader.tasks(&mut window);
    Ok(window)
}

/// Whether a task is the load itself, its checker, or a thread that the kernel does its I/O with. A
/// machine on which something else runs is no cause of a filesystem's.
fn of_the_load(name: &str) -> bool {
    const THREADS: [&str; 13] = [
        "fslab",
        "jbd2/",
        "kworker",
        "loop",
        "kswapd",
        "iou-",
        "md",
        "dm-",
        "kcompactd",
        "ksoftirqd",
        "e2fsck",
        "fsck",
        "kjournald",
    ];
    let of_a_filesystem = |kind: &Kind| {
        let known = kind.properties();
        name.starts_with(known.driver.module) || name.starts_with(known.checker.program)
    };
    THREADS.iter().any(|thread| name.starts_with(thread)) || Kind::ALL.iter().any(of_a_filesystem)
}

struct Reader<'a> {
    table: &'a Table,
    from: u64,
    to: u64,
    seconds: f64,
}

impl Reader<'_> {
    fn delta(&self, name: &str) -> Option<f64> {
        Series::of(self.table, name).map(|series| series.delta(self.from, self.to))
    }

    fn device(&self, device: Option<&str>, window: &mut Window) {
        let Some(device) = device else {
            return;
        };
        let of = |field: &str| self.delta(&format!("disk.{device}.{field}"));
        let mut put = |name, value: Option<f64>| {
            if let Some(value) = value {
                window.figures.insert(name, value);
            }
        };
        put("device_read", of("sectors_read").map(|n| n * 512.0));
        put("device_written", of("sectors_written").map(|n| n * 512.0));
        put("read_requests", of("reads"));
        put("write_requests", of("writes"));
        let share = |merged: Option<f64>, done: Option<f64>| {
            let (merged, done) = (merged?, done?);
            (merged + done > 0.0).then(|| merged / (merged + done))
        };
        put("read_merge_share", share(of("reads_merged"), of("reads")));
        put(
            "write_merge_share",
            share(of("writes_merged"), of("writes")),
        );
        put("flushes", of("flushes"));
        put("flush_seconds", of("flush_ms").map(|ms| ms / 1e3));
        let of_time = |ms: Option<f64>| ms.map(|ms| ms / 1e3 / self.seconds);
        put("device_queue", of_time(of("queue_ms")));
        put("device_busy", of_time(of("io_ticks_ms")));
    }

    fn machine(&self, window: &mut Window) {
        let pressures = [
            ("psi_io_some", "psi.io.some"),
            ("psi_io_full", "psi.io.full"),
            ("psi_memory_some", "psi.memory.some"),
        ];
        for (name, column) in pressures {
            if let Some(microseconds) = self.delta(column) {
                let share = microseconds / 1e6 / self.seconds;
                window.figures.insert(name, share.min(1.0));
            }
        }
        let largest = |column: &str| Series::of(self.table, column)?.largest(self.from, self.to);
        if let Some(kib) = largest("mem.dirty") {
            let writeback = largest("mem.writeback").unwrap_or(0.0);
            window
                .figures
                .insert("dirty_max", (kib + writeback) * 1024.0);
        }
    }

    /// The busiest task, and the thread that fills inode tables.
    fn tasks(&self, window: &mut Window) {
        let mut followed = false;
        for column in &self.table.columns {
            let Some(name) = column
                .name
                .strip_prefix("task.")
                .and_then(|rest| rest.strip_suffix(".cpu_ms"))
            else {
                continue;
            };
            followed = true;
            let seconds = self.delta(&column.name).unwrap_or(0.0) / 1e3;
            if name == "ext4lazyinit" {
                window.figures.insert("lazyinit_seconds", seconds);
            }
            let share = seconds / self.seconds;
            let (figure, who) = if of_the_load(name) {
                ("busiest_task", &mut window.busiest)
            } else {
                ("foreign_task", &mut window.foreign)
            };
            let most = window.figures.entry(figure).or_insert(0.0);
            if share > *most {
                *most = share;
                *who = Some(name.to_owned());
            }
        }
        if followed {
            window.figures.entry("lazyinit_seconds").or_insert(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use record::telemetry::{Reader as File, Writer};

    use super::*;

    /// 30 rows, 100 ms apart from 1 s on: counters that grow by a step a row, one gauge.
    fn table(columns: &[(&str, i64)]) -> Table {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tele");
        let mut writer = Writer::create(&path).unwrap();
        let ids: Vec<u32> = columns
            .iter()
            .map(|(name, _)| writer.column(name, "count"))
            .collect();
        for row in 0..30_i64 {
            let values: Vec<(u32, i64)> = ids
                .iter()
                .zip(columns)
                .map(|(id, (name, step))| {
                    let gauge = name.starts_with("mem.");
                    (*id, if gauge { *step } else { step * row })
                })
                .collect();
            let at = 1_000_000_000 + row as u64 * 100_000_000;
            writer.row(at, &values).unwrap();
        }
        writer.finish().unwrap();
        File::read(&path).unwrap()
    }

    #[test]
    fn counters_become_shares_of_the_time_between_rows() {
        let table = table(&[
            ("disk.loop0.sectors_written", 2048),
            ("disk.loop0.writes", 4),
            ("disk.loop0.writes_merged", 12),
            ("disk.loop0.queue_ms", 300),
            ("disk.loop0.io_ticks_ms", 90),
            ("psi.io.some", 50_000),
            ("mem.dirty", 1000),
            ("mem.writeback", 24),
            ("task.fslab.cpu_ms", 97),
            ("task.cc1.cpu_ms", 99),
            ("task.jbd2/loop0-8.cpu_ms", 10),
        ]);
        // Rows 4 to 15 enclose it: 1.4 to 2.5 s.
        let window = of(&table, Some("loop0"), 1_450_000_000, 2_450_000_000).unwrap();
        let figure = |name: &str| window.figures[name];
        assert_eq!(figure("device_written"), 11.0 * 1_048_576.0);
        assert_eq!(figure("write_requests"), 44.0);
        assert_eq!(figure("write_merge_share"), 0.75);
        assert!((figure("device_queue") - 3.0).abs() < 1e-9);
        assert!((figure("device_busy") - 0.9).abs() < 1e-9);
        assert!((figure("psi_io_some") - 0.5).abs() < 1e-9);
        assert_eq!(figure("dirty_max"), 1024.0 * 1024.0);
        assert!((figure("busiest_task") - 0.97).abs() < 1e-9);
        assert_eq!(window.busiest.as_deref(), Some("fslab"));
        assert_eq!(window.foreign.as_deref(), Some("cc1"));
        assert!((figure("foreign_task") - 0.99).abs() < 1e-9);
        assert_eq!(figure("lazyinit_seconds"), 0.0, "it was looked for");
        assert!(!window.figures.contains_key("device_read"), "no column");
    }

    #[test]
    fn short_phases_and_phases_outside_have_none() {
        let table = table(&[("disk.loop0.writes", 4)]);
        let short = of(&table, Some("loop0"), 1_450_000_000, 1_550_000_000);
        assert!(short.unwrap_err().contains("shorter than 0.5 s"));
        for (begin, end) in [(500_000_000, 2_000_000_000), (3_000_000_000, 5_000_000_000)] {
            let outside = of(&table, Some("loop0"), begin, end);
            assert!(outside.unwrap_err().contains("does not cover"));
        }
    }
}
