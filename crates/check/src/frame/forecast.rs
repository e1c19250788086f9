//! How long a check will take and how much memory it needs, before it begins.
//!
//! A forecast is made of what the descriptors announce and of a sample of the device that takes a few seconds. It is an
//! interval: the sample shows how the device reads in a few places now, and the machine may be less busy later.

mod measure;

use std::fmt::Write as _;

use serde::Serialize;

use super::report::lines::{bytes, grouped};
pub(crate) use measure::{LONG, Load, OneByOne, Seen, Tally, cpu_share, measured, random};

/// A value that is not known exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    /// As little as this.
    pub low: f64,
    /// The most likely value.
    pub likely: f64,
    /// As much as this.
    pub high: f64,
}

impl Interval {
    /// Whether a value is in it.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// What one program is expected to need.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Needs {
    /// The program.
    pub program: &'static str,
    /// Wall time from cold caches, seconds.
    pub seconds: Interval,
    /// Peak memory, bytes.
    pub memory: Interval,
}

/// What the sample measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// Bytes read in all.
    pub bytes: u64,
    /// Time it took, seconds.
    pub seconds: f64,
    /// Groups whose inode tables were read.
    pub groups: u64,
    /// Bytes per second with several large requests in flight: the slowest, the median and the fastest part.
    pub parallel_rate: Interval,
    /// Bytes per second with one request of 128 KiB in flight.
    pub serial_rate: f64,
    /// Seconds of one random read of one block.
    pub random_read: f64,
    /// CPU time that a busy thread gets of its wall time, at most 1.
    pub cpu_share: f64,
    /// Share of the sampled bytes that are holes of an image.
    pub holes: f64,
}

/// A forecast, and what it was made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// Name of the source.
    pub name: String,
    /// Inodes in use, as the descriptors count them.
    pub inodes: u64,
    /// Directories, likewise.
    pub directories: u64,
    /// Groups of the filesystem.
    pub groups: u64,
    /// Groups whose inode tables were never written.
    pub unwritten_groups: u64,
    /// Bytes of the parts of inode tables that will be read; of XFS with what is read between inode chunks.
    pub table_bytes: u64,
    /// Bytes of directories, by the mean size of those in the sample; of XFS with blocks of attributes and of targets of links, and
    /// with what is read between them.
    pub directory_bytes: u64,
    /// Bytes of bitmaps, or of the btrees that a format has instead, that will be read.
    pub bitmap_bytes: u64,
    /// Whether the format has btrees instead of bitmaps.
    #[serde(skip)]
    pub maps_are_trees: bool,
    /// What was measured.
    pub sample: Sample,
    /// This checker, then the filesystem's own.
    pub programs: Vec<Needs>,
}

/// The forecast for people.
pub fn text(forecast: &Forecast) -> String {
    let sample = &forecast.sample;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {} inodes in use, {} directories; {} of {} groups never written",
        super::report::lines::printable(&forecast.name),
        grouped(forecast.inodes),
        grouped(forecast.directories),
        grouped(forecast.unwritten_groups),
        grouped(forecast.groups)
    );
    let maps = if forecast.maps_are_trees {
        "btrees"
    } else {
        "bitmaps"
    };
    let _ = writeln!(
        out,
        "  to read: {} of inode tables, {} of directories, {} of {maps}",
        bytes(forecast.table_bytes),
        bytes(forecast.directory_bytes),
        bytes(forecast.bitmap_bytes)
    );
    // A filesystem of a few blocks has nothing to read one by one.
    let rates = [
        (sample.parallel_rate.likely, "in parallel"),
        (sample.serial_rate, "one by one"),
    ];
    let rates = rates
        .iter()
        .filter(|(rate, _)| *rate >= 1.0)
        .map(|(rate, how)| format!("{}/s {how}", bytes(*rate as u64)));
    let random = (sample.random_read > 0.0)
        .then(|| format!("{:.2} ms for a random block", sample.random_read * 1e3));
    let measured: Vec<String> = rates.chain(random).collect();
    let measured = match measured.as_slice() {
        [] => "too little to measure a rate".into(),
        some => some.join(", "),
    };
    let _ = writeln!(
        out,
        "  sample: {} in {:.1} s: {measured}",
        bytes(sample.bytes),
        sample.seconds,
    );
    if sample.cpu_share < 0.8 {
        let _ = writeln!(
            out,
            "  the machine is busy: a thread gets {:.0} % of a CPU; the upper ends include that",
            sample.cpu_share * 100.0
        );
    }
    let _ = writeln!(out, "\n{:<14}{:>34}   memory", "", "time from cold caches");
    for needs in &forecast.programs {
        let (time, memory) = (&needs.seconds, &needs.memory);
        let time = format!(
            "about {} ({} to {})",
            duration(time.likely),
            duration(time.low),
            duration(time.high)
        );
        let _ = writeln!(
            out,
            "{:<14}{time:>34}   {} to {}",
            needs.program,
            bytes(memory.low as u64),
            bytes(memory.high as u64)
        );
    }
    out.push_str("\nDamage makes both slower: these are times of a sound filesystem.\n");
    words::printable_lines(&out).into_owned()
}

/// The forecast as CSV: a row for each program and quantity.
pub fn csv(forecast: &Forecast) -> String {
    let mut out = String::from("program,quantity,unit,low,likely,high\n");
    for needs in &forecast.programs {
        for (quantity, unit, of) in [
            ("time", "s", needs.seconds),
            ("memory", "bytes", needs.memory),
        ] {
            let (low, likely, high) = (of.low, of.likely, of.high);
            let _ = writeln!(
                out,
                "{},{quantity},{unit},{low},{likely},{high}",
                needs.program
            );
        }
    }
    out
}

/// Two significant digits of seconds below a minute; else as a clock.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.0995 => format!("{s:.2} s"),
        s if s < 9.95 => format!("{s:.1} s"),
        s => words::clock_time(s),
    }
}
