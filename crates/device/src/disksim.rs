//! Drives whose parameters and response times were published with DiskSim, as devices and records.
//!
//! DiskSim 4.0 has, for some SCSI drives, extracted parameters (`NAME.diskspecs`, `NAME.model`,
//! `NAME.seek`) and a trace with the response time that the drive had for each request (`NAME.trace`). This module
//! reduces the parameters to a device file: what a data sheet prints, and the command time. So the model
//! can be compared with real drives. The data are not part of this project.

use std::fmt::Write;

use crate::catalogue::Catalogue;
use crate::file::Variation;
use crate::model::{Nanoseconds, Op};
use crate::replay::{Finished, Mode, Options, Recorded, Sender, linked, replay_linked};

const SECTOR: u64 = 512;

/// The parameter files of a drive.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// `NAME.diskspecs`: buffers and overheads.
    pub specs: &'a str,
    /// `NAME.model`: geometry.
    pub model: &'a str,
    /// `NAME.seek`: measured seek times.
    pub seek: &'a str,
}

/// The value of `key = value,`, where the key first occurs.
fn value<'a>(text: &'a str, key: &'a str) -> Option<&'a str> {
    values(text, key).next()
}

fn values<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then(|| value.trim().trim_end_matches(',').trim())
    })
}

fn number(text: &str, key: &str) -> Result<f64, String> {
    let found = value(text, key).and_then(|value| value.parse::<f64>().ok());
    let finite = found.filter(|value| value.is_finite() && *value >= 0.0);
    finite.ok_or_else(|| format!("no number for {key:?}"))
}

/// A device file with one disk, from extracted parameters.
///
/// # Errors
/// A parameter is missing, in words.
pub fn device_file(name: &str, files: Files<'_>) -> Result<String, String> {
    let rpm = number(files.model, "Rotation speed (in rpms)")?;
    let surfaces = number(files.model, "Number of data surfaces")?.max(1.0);
    let capacity = number(files.model, "Block count")? * SECTOR as f64;
    let seeks = seek_times(files.seek)?;
    let (track, full) = (seeks[0].1, seeks[seeks.len() - 1].1);
    let average = mean_seek(&seeks);
    let settle = number(files.model, "Add. write settling delay")?;
    let (outer, inner) = sustained(files.model, rpm, surfaces)?;
    let segment = number(files.specs, "Segment size (in blks)")?;
    let segments = number(files.specs, "Maximum number of write segments")?;
    let ahead = number(files.specs, "Maximum read-ahead (blks)")? * SECTOR as f64;
    let buffer = segment * segments.max(1.0) * SECTOR as f64;
    let interface = SECTOR as f64 * 1e3 / number(files.specs, "Bulk sector transfer time")?;
    let write_back = number(files.specs, "Fast write level")? > 0.0;
    let waits = number(files.specs, "Immediate buffer read")? == 0.0;
    let command = overhead(files.specs)?;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "[device.\"{name}\"]\nkind = \"disk\"\ncapacity = {capacity:.0}\nrpm = {rpm}\n\
         seek_ms = {{ track = {track}, average = {average:.4}, full = {full}, write = {settle} }}\n\
         rate = {{ outer = \"{:.4} MB/s\", inner = \"{:.4} MB/s\" }}\nsurfaces = {surfaces}\n\
         cache = {{ look_ahead = {ahead:.0}, size = {buffer:.0}, write_back = {write_back}, \
         store_and_forward = {waits} }}\n\
         command_ms = {command:.4}\ninterface = \"{:.4} MB/s\"\nqueue = 1\n",
        outer / 1e6,
        inner / 1e6,
        interface / 1e6,
    );
    Ok(out)
}

/// The mean of the overheads of reads and writes that miss the buffer, ms.
fn overhead(specs: &str) -> Result<f64, String> {
    let keys = [
        "Read miss over. after read",
        "Read miss over. after write",
        "Write miss over. after read",
        "Write miss over. after write",
    ];
    let mut sum = 0.0;
    for key in keys {
        sum += number(specs, key)?;
    }
    Ok(sum / keys.len() as f64)
}

/// Rows of `distance, ms`.
fn seek_times(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let row = |line: &str| {
        let (distance, time) = line.split_once(',')?;
        Some((distance.trim().parse().ok()?, time.trim().parse().ok()?))
    };
    let rows: Vec<(f64, f64)> = text.lines().filter_map(row).collect();
    if rows.len() < 2 {
        return Err("no table of seek times".to_owned());
    }
    Ok(rows)
}

/// The mean over random pairs of cylinders, by the table.
fn mean_seek(seeks: &[(f64, f64)]) -> f64 {
    let cylinders = seeks.last().map_or(1.0, |last| last.0);
    let steps = 10_000;
    let at = |distance: f64| {
        let after = seeks
            .partition_point(|seek| seek.0 < distance)
            .clamp(1, seeks.len() - 1);
        let (a, b) = (seeks[after - 1], seeks[after]);
        a.1 + (distance - a.0).max(0.0) * (b.1 - a.1) / (b.0 - a.0)
    };
    let share = |i: i32| (f64::from(i) + 0.5) / f64::from(steps);
    let sum: f64 = (0..steps)
        .map(|i| 2.0 * (1.0 - share(i)) * at(share(i) * cylinders))
        .sum();
    sum / f64::from(steps)
}

/// Sustained rates of the first and the last zone, bytes a second: a cylinder with all its skews.
fn sustained(model: &str, rpm: f64, surfaces: f64) -> Result<(f64, f64), String> {
    let all = |key: &str| {
        values(model, key)
            .filter_map(|v| v.parse::<f64>().ok())
            .collect()
    };
    let sectors: Vec<f64> = all("Blocks per track");
    let tracks: Vec<f64> = all("Skew for track switch");
    let cylinders: Vec<f64> = all("Skew for cylinder switch");
    let zones = sectors.iter().zip(&tracks).zip(&cylinders);
    let rate = |((sectors, track), cylinder): ((&f64, &f64), &f64)| {
        let turns = surfaces + ((surfaces - 1.0) * track + cylinder) / sectors;
        surfaces * sectors * SECTOR as f64 / (turns * 60.0 / rpm)
    };
    let mut rates = zones.map(rate);
    let outer = rates.next().ok_or("no zones")?;
    Ok((outer, rates.next_back().unwrap_or(outer).min(outer)))
}

/// A trace: what was asked, when, and the response times that the drive had.
///
/// # Errors
/// A line is not `R|W Hit block sectors response_us gap_us`.
pub fn trace(text: &str) -> Result<Vec<Recorded>, String> {
    let mut now: Nanoseconds = 0;
    let mut record = Vec::new();
    for (index, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let (request, gap) = request(line, now)
            .ok_or_else(|| format!("line {}: not a line of a validation trace", index + 1))?;
        record.push(request);
        now = now.saturating_add(gap);
    }
    Ok(record)
}

/// A request and the time to the next one.
fn request(line: &str, now: Nanoseconds) -> Option<(Recorded, Nanoseconds)> {
    let mut words = line.split_whitespace();
    let op = match words.next()? {
        "R" => Op::Read,
        "W" => Op::Write,
        _ => return None,
    };
    let _hit = words.next()?;
    let block: u32 = words.next()?.parse().ok()?;
    let sectors: u32 = words.next()?.parse().ok()?;
    let mut time = || {
        let us: f64 = words.next()?.parse().ok()?;
        (0.0..1e9)
            .contains(&us)
            .then_some((us * 1e3) as Nanoseconds)
    };
    let (response, gap) = (time()?, time()?);
    let recorded = Recorded {
        process: 0,
        submitted: now,
        completed: Some(now + response),
        op,
        offset: u64::from(block) * SECTOR,
        len: u64::from(sectors) * SECTOR,
        fua: false,
        sender: Sender::Process,
    };
    Some((recorded, gap))
}

/// The demerit of a modelled distribution: the root of the mean squared distance between the sorted response times
/// (Ruemmler and Wilkes, 1994). Both have the same number.
pub fn demerit(modelled: &mut [Nanoseconds], real: &mut [Nanoseconds]) -> f64 {
    modelled.sort_unstable();
    real.sort_unstable();
    let squares = modelled
        .iter()
        .zip(&*real)
        .map(|(m, r)| m.abs_diff(*r) as f64);
    let sum: f64 = squares.map(|distance| distance * distance).sum();
    (sum / real.len().max(1) as f64).sqrt()
}

/// Modelled response times of a trace beside those of the drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Mean of reads, modelled, ms.
    pub modelled_reads: f64,
    /// Mean of reads of the drive, ms.
    pub real_reads: f64,
    /// Mean of all requests, modelled, ms.
    pub modelled: f64,
    /// Mean of all requests of the drive, ms.
    pub real: f64,
    /// Distance of the distributions, ms.
    pub demerit: f64,
}

impl Comparison {
    /// Modelled over real mean, less 1.
    pub fn error(&self) -> f64 {
        self.modelled / self.real - 1.0
    }

    /// Whether the mean is within 10 % of the drive's.
    pub fn mean_is_met(&self) -> bool {
        self.error().abs() <= 0.10
    }

    /// Whether the demerit is within 15 % of the drive's mean.
    pub fn demerit_is_met(&self) -> bool {
        self.demerit <= 0.15 * self.real
    }
}

/// Runs a drive's trace on its model.
///
/// # Errors
/// A file is not DiskSim's, or a request is beyond the drive; in words.
pub fn compare(name: &str, files: Files<'_>, trace_text: &str) -> Result<Comparison, String> {
    let mut catalogue = Catalogue::default();
    catalogue
        .add(name, &device_file(name, files)?)
        .map_err(|e| e.to_string())?;
    let mut disk = catalogue
        .model(name, Variation::Nominal)
        .map_err(|e| e.to_string())?;
    let record = trace(trace_text)?;
    let (mut modelled, mut modelled_reads) = (Vec::with_capacity(record.len()), Vec::new());
    let note = &mut |request: Finished, submitted: Nanoseconds, done: Nanoseconds| {
        modelled.push(done - submitted);
        if request.op == Op::Read {
            modelled_reads.push(done - submitted);
        }
    };
    let (kept, outline) = linked(&record).map_err(|e| e.to_string())?;
    let (requests, options) = (&mut kept.as_slice(), Options::new(Mode::Open));
    replay_linked(&mut *disk, requests, &outline, options, note).map_err(|e| e.to_string())?;
    let took = |r: &Recorded| r.completed.map_or(0, |completed| completed - r.submitted);
    let mut real: Vec<Nanoseconds> = record.iter().map(took).collect();
    let real_reads = record.iter().filter(|r| r.op == Op::Read).map(took);
    let real_reads: Vec<Nanoseconds> = real_reads.collect();
    Ok(Comparison {
        modelled_reads: mean(&modelled_reads),
        real_reads: mean(&real_reads),
        modelled: mean(&modelled),
        real: mean(&real),
        demerit: demerit(&mut modelled, &mut real) / 1e6,
    })
}

/// Mean in ms.
fn mean(times: &[Nanoseconds]) -> f64 {
    times.iter().map(|time| *time as f64).sum::<f64>() / times.len().max(1) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_line_is_a_request_with_the_time_that_it_took() {
        let record = trace("R Hit 1000 4 15000.0 50000.0\nW Hit 8 16 2000.0 1.0\n").unwrap();
        assert_eq!((record[0].offset, record[0].len), (512_000, 2048));
        assert_eq!(record[0].completed, Some(15_000_000));
        assert_eq!((record[1].op, record[1].submitted), (Op::Write, 50_000_000));
        for wrong in [
            "X Hit 1 1 1 1",
            "R Hit -1 1 1 1",
            "R Hit 1 1 nan 1",
            "R Hit 1 1 1",
        ] {
            assert!(trace(wrong).unwrap_err().starts_with("line 1"), "{wrong}");
        }
    }

    #[test]
    fn the_demerit_is_the_distance_of_the_distributions_not_of_requests() {
        assert_eq!(demerit(&mut [3, 1, 2], &mut [1, 2, 3]), 0.0);
        assert_eq!(demerit(&mut [4, 8], &mut [1, 4]), (12.5_f64).sqrt());
    }

    #[test]
    fn a_linear_seek_curve_has_its_mean_at_a_third() {
        let mean = mean_seek(&[(1.0, 1.0), (3001.0, 4.0)]);
        assert!((mean - 2.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn missing_parameters_are_named() {
        let files = Files {
            specs: "",
            model: "Rotation speed (in rpms) = 7200,",
            seek: "",
        };
        assert!(
            device_file("x", files)
                .unwrap_err()
                .contains("Number of data surfaces")
        );
    }
}
