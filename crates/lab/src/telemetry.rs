//! Between the sampler and the telemetry file of a trial.
//!
//! A file that cannot be written costs the trial its telemetry, not its numbers: the evidence records
//! so, and the event log is what decides whether a run can go on.

use std::io;

use probe::sampler::{self, Sampler, Sink};
use record::Evidence;
use record::telemetry::Writer;
use rundir::RunDir;

use crate::noise::RunQueue;

/// The writer, until the last row is in; and the run queue, which a judgement of noise needs at once.
struct FileSink {
    writer: Option<Writer>,
    queue: Option<RunQueue>,
    /// The column of the run queue.
    column: Option<u32>,
}

impl Sink for FileSink {
    fn column(&mut self, name: &str, unit: &str) -> u32 {
        let writer = self.writer.as_mut();
        let number = writer.map_or(0, |writer| writer.column(name, unit));
        if name == "cpu.running" {
            self.column = Some(number);
        }
        number
    }

    fn row(&mut self, at_ns: u64, values: &[(u32, i64)]) -> io::Result<()> {
        if let (Some(queue), Some(column)) = (&self.queue, self.column)
            && let Some((_, length)) = values.iter().find(|(at, _)| *at == column)
            && let Ok(mut queue) = queue.lock()
        {
            queue.push((at_ns, *length));
        }
        self.writer.as_mut().map_or(Ok(()), |writer| {
            writer.row(at_ns, values).map_err(io::Error::other)
        })
    }

    fn finish(&mut self) -> io::Result<()> {
        self.writer
            .take()
            .map_or(Ok(()), |writer| writer.finish().map_err(io::Error::other))
    }
}

/// Starts sampling into the file `name` of the run's folder, every 100 ms; the length of the run queue also into `queue`.
pub(crate) fn start(
    folder: &RunDir,
    name: &str,
    devices: Vec<String>,
    queue: Option<RunQueue>,
) -> Result<Sampler, String> {
    let sink = folder.create(name).map_err(|error| error.to_string())?;
    let writer = Writer::of(sink, &folder.path().join(name)).map_err(|error| error.to_string())?;
    let options = sampler::Options {
        devices,
        ..sampler::Options::default()
    };
    let sink = FileSink {
        writer: Some(writer),
        queue,
        column: None,
    };
    Sampler::start(&options, Box::new(sink)).map_err(|error| error.to_string())
}

/// Stops it and reports how it went.
pub(crate) fn stop(sampler: Result<Sampler, String>) -> Evidence {
    let name = "telemetry_whole".to_owned();
    match sampler.and_then(|sampler| sampler.stop().map_err(|error| error.to_string())) {
        Ok((stats, _)) => Evidence {
            phase: None,
            name,
            // Telemetry explains; it does not carry the numbers. What it lacks makes it unknown.
            holds: (stats.missed == 0 && stats.gone.is_empty()).then_some(true),
            detail: format!(
                "{} rows, {} missed, {} counters gone, at most {:.1} ms late, {:.1} ms of CPU",
                stats.rows,
                stats.missed,
                stats.gone.len(),
                stats.max_late_ns as f64 / 1e6,
                stats.own_cpu_ns as f64 / 1e6
            ),
        },
        Err(reason) => Evidence {
            phase: None,
            name,
            holds: None,
            detail: format!("no telemetry: {reason}"),
        },
    }
}
