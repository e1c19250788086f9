//! One tick after the other: reads all sources into a row and keeps the time.

use std::io;
use std::time::Duration;

use super::source::{self, Source};
use super::{Options, SamplerError, Sink, Stats, monotonic_ns};
use crate::tasks::scan::Tracker;

pub(super) struct Engine {
    sink: Box<dyn Sink>,
    sources: Vec<Source>,
    tracker: Option<Tracker>,
    /// Column of each of the tracker's totals; `None` until the task was among the busiest.
    task_columns: Vec<Option<u32>>,
    scan_every: u32,
    ticks: u32,
    interval_ns: u64,
    begin_ns: u64,
    next_ns: u64,
    last_ns: u64,
    row: Vec<(u32, i64)>,
    buffer: Vec<u8>,
    stats: Stats,
}

impl Engine {
    pub(super) fn open(options: &Options, mut sink: Box<dyn Sink>) -> Result<Engine, SamplerError> {
        let (sources, absent) = source::open_all(options, &mut *sink)?;
        let now = monotonic_ns();
        Ok(Engine {
            sink,
            sources,
            tracker: (options.tasks > 0)
                .then(|| Tracker::new(options.roots.proc.clone(), options.tasks)),
            task_columns: Vec::new(),
            scan_every: options.scan_every.max(1),
            ticks: 0,
            interval_ns: options.interval.as_nanos() as u64,
            begin_ns: now,
            next_ns: now,
            last_ns: now,
            row: Vec::with_capacity(256),
            buffer: vec![0; 16 << 10],
            stats: Stats {
                absent,
                ..Stats::default()
            },
        })
    }

    /// How long until the next tick's time.
    pub(super) fn until_next(&self) -> Duration {
        Duration::from_nanos(self.next_ns.saturating_sub(monotonic_ns()))
    }

    /// A row at its time; advances to the next time that has not passed.
    pub(super) fn tick(&mut self) -> io::Result<()> {
        let now = monotonic_ns();
        let late = now.saturating_sub(self.next_ns);
        self.stats.max_late_ns = self.stats.max_late_ns.max(late);
        let steps = late / self.interval_ns + 1;
        self.stats.missed += steps - 1;
        self.next_ns += steps * self.interval_ns;
        let scan = self.ticks.is_multiple_of(self.scan_every);
        self.ticks = self.ticks.wrapping_add(1);
        self.sample(now, scan)
    }

    /// The last row, with a full scan, whenever the stop came.
    pub(super) fn last(&mut self) -> io::Result<()> {
        self.sample(monotonic_ns(), true)?;
        self.sink.finish()
    }

    fn sample(&mut self, now: u64, scan: bool) -> io::Result<()> {
        self.row.clear();
        for source in &mut self.sources {
            let lost = source.read(&mut self.buffer, &mut self.row);
            self.stats.gone.extend(lost);
        }
        self.sample_tasks(scan);
        self.sink.row(now, &self.row)?;
        self.stats.rows += 1;
        self.last_ns = now;
        Ok(())
    }

    fn sample_tasks(&mut self, scan: bool) {
        let Some(tracker) = &mut self.tracker else {
            return;
        };
        if scan {
            if let Err(e) = tracker.scan() {
                self.stats.gone.push(format!("task: {e}"));
                self.tracker = None;
                return;
            }
        } else {
            tracker.tick();
        }
        self.task_columns.resize(tracker.totals().len(), None);
        for (total, column) in tracker.totals().iter().zip(&mut self.task_columns) {
            if !total.busiest {
                continue;
            }
            let id = *column.get_or_insert_with(|| {
                self.sink
                    .column(&format!("task.{}.cpu_ms", total.name), "ms")
            });
            self.row.push((id, (total.cpu_ns / 1_000_000) as i64));
        }
    }

    /// To be called by the sampling thread: takes its CPU time.
    pub(super) fn stats(&self) -> Stats {
        Stats {
            own_cpu_ns: clock::thread_cpu_ns(),
            elapsed_ns: self.last_ns.saturating_sub(self.begin_ns),
            ..self.stats.clone()
        }
    }

    pub(super) fn into_sink(self) -> Box<dyn Sink> {
        self.sink
    }
}
