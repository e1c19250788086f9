//! `fslab check --estimate --files N --device NAME`: the check of a filesystem that does not exist yet.
//!
//! Two filesystems of fewer such files are forged in the folder for temporary files and checked, and the reads of each are replayed on the
//! modelled device. What a check does grows with the number of files, so the answer is on the line through both.

use std::fmt::Write as _;
use std::path::Path;

use ::blockio::Mode;
use ::check::forecast::{Interval, duration};
use ::forge::population::Profile;
use ::forge::{Image as _, ext4, ocfs2, xfs};
use serde::Serialize;

use super::modelled::Wanted;
use super::{operational, options, recorded};
use crate::cli::check::{CheckArgs, CheckFormat, TypeArg};
use crate::terminal::Terminal;
use crate::{exit, out};

/// Files of the two filesystems; with fewer files the one that was asked for is made.
const SAMPLES: [u64; 2] = [200_000, 600_000];
/// Bytes of the filesystem for a file. mke2fs makes an inode for each 16 KiB.
const BYTES: u64 = 32 << 10;
/// Bytes of the smallest.
const LEAST: u64 = 1 << 30;

/// What the check of a number of files takes.
#[derive(Clone, Copy, Debug, Serialize)]
struct Point {
    files: u64,
    /// Modelled seconds.
    seconds: Interval,
    /// Bytes of memory that the check states.
    memory: u64,
    /// Of these, buffers and blocks that are kept, which are those of the filesystem that was asked for.
    #[serde(skip)]
    buffers: u64,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Planned<'a> {
    /// No number of it is measured.
    timing: &'static str,
    format: &'static str,
    device: &'a str,
    #[serde(flatten)]
    answer: Point,
    /// What was forged and checked.
    samples: Vec<Point>,
}

/// Prints the estimate.
pub(super) fn run(args: &CheckArgs, files: u64) -> anyhow::Result<u8> {
    let Some(device) = &args.device else {
        out::say(
            "fslab: --files is for a filesystem that does not exist yet: name the device that it will be on, of `fslab device list`, with --device",
        );
        return Ok(exit::FSCK_USAGE);
    };
    let kind = args.kind.unwrap_or(TypeArg::Ext4);
    let wanted = match Wanted::planned(args, files.saturating_mul(BYTES)) {
        Ok(wanted) => wanted,
        Err(refusal) => {
            out::say(&format!("fslab: {}", out::error_line(&refusal.why)));
            return Ok(refusal.code);
        }
    };
    let sizes: Vec<u64> = match files {
        few if few <= SAMPLES[1] => vec![few],
        _ => SAMPLES.to_vec(),
    };
    let terminal = Terminal::stopped_by_signals();
    let mut samples = Vec::new();
    for files in sizes {
        match sample(args, &wanted, kind, files, &terminal) {
            Ok(point) => samples.push(point),
            Err(why) => return Ok(operational(&format!("no estimate: {why:#}"))),
        }
    }
    drop(terminal);
    let answer = match samples[..] {
        [few, more] => Point::on_line(few, more, files),
        _ => samples[0],
    };
    let planned = Planned {
        timing: "modelled",
        format: name(kind),
        device,
        answer,
        samples,
    };
    match args.format {
        CheckFormat::Json => out::print(&serde_json::to_string_pretty(&planned)?)?,
        CheckFormat::Csv => out::print(&planned.csv())?,
        CheckFormat::Text | CheckFormat::E2fsck | CheckFormat::Ocfs2 | CheckFormat::XfsRepair => {
            out::print(&planned.text())?;
        }
    }
    Ok(exit::OK)
}

/// Forges a filesystem of `files` files and checks it.
fn sample(
    args: &CheckArgs,
    wanted: &Wanted<'_>,
    kind: TypeArg,
    files: u64,
    terminal: &Terminal,
) -> anyhow::Result<Point> {
    let folder = tempfile::tempdir()?;
    let image = folder.path().join(format!("{files}-files"));
    forge(kind, files, &image, terminal)?;
    let source = ::blockio::open(&image, Mode::Buffered)?.source;
    let checker = ::check::for_source(&*source);
    let checker = checker.ok_or_else(|| anyhow::anyhow!("what was forged is not recognised"))?;
    let mut options = options(args, false);
    // A check of few files makes its requests shorter than one of more.
    options.times_as_large = args.files.unwrap_or(files) as f64 / files.max(1) as f64;
    let (checked, reads) = recorded(wanted, source, &*checker, &options, terminal)?;
    let report = checked?;
    let estimate = reads.map(|reads| reads.estimate).transpose()?.flatten();
    let seconds = estimate.and_then(|estimate| {
        let row = &estimate.devices.first()?.rows.first()?.modelled;
        Some(Interval {
            low: row.low_s?,
            likely: row.seconds?,
            high: row.high_s?,
        })
    });
    let parts = report.memory.stated.as_ref();
    let parts = parts.map_or(&[][..], |stated| &stated.parts);
    let bytes = |of: &dyn Fn(&str) -> bool| -> u64 {
        let parts = parts.iter().filter(|(part, _)| of(part));
        parts.map(|(_, bytes)| bytes).sum()
    };
    Ok(Point {
        files,
        seconds: seconds.ok_or_else(|| anyhow::anyhow!("the model gives no time"))?,
        memory: bytes(&|_| true),
        buffers: bytes(&|part| part == "buffers"),
    })
}

fn forge(kind: TypeArg, files: u64, image: &Path, terminal: &Terminal) -> Result<(), forge::Error> {
    let profile = Profile {
        files,
        ..Profile::default()
    };
    let size = files.saturating_mul(BYTES).max(LEAST);
    match kind {
        TypeArg::Ext4 => {
            let options = ext4::Options::new(size, ext4::FsType::Ext4);
            ext4::Ext4::new(options, profile)?.write(image, terminal)?
        }
        TypeArg::Xfs => xfs::Xfs::new(xfs::Options::new(size), profile)?.write(image, terminal)?,
        TypeArg::Ocfs2 => {
            ocfs2::Ocfs2::new(ocfs2::Options::new(size), profile)?.write(image, terminal)?
        }
    };
    Ok(())
}

fn name(kind: TypeArg) -> &'static str {
    match kind {
        TypeArg::Ext4 => "ext4",
        TypeArg::Ocfs2 => "ocfs2",
        TypeArg::Xfs => "xfs",
    }
}

impl Point {
    /// The point for `files` on the line through two others.
    fn on_line(few: Point, more: Point, files: u64) -> Point {
        let share = (files - few.files) as f64 / (more.files - few.files) as f64;
        let line = |one: f64, other: f64| other.max(one + (other - one) * share);
        let (one, other) = (few.seconds, more.seconds);
        let lists = |point: Point| (point.memory - point.buffers) as f64;
        let buffers = few.buffers.max(more.buffers);
        Point {
            files,
            seconds: Interval {
                low: line(one.low, other.low),
                likely: line(one.likely, other.likely),
                high: line(one.high, other.high),
            },
            memory: line(lists(few), lists(more)) as u64 + buffers,
            buffers,
        }
    }
}

impl Planned<'_> {
    fn text(&self) -> String {
        let Point {
            files,
            seconds,
            memory,
            ..
        } = self.answer;
        let mut text = format!(
            "{} files on {}, checked on {} (modelled): {} ({} to {}), {} of memory\n",
            words::grouped(files),
            self.format,
            words::printable(self.device),
            duration(seconds.likely),
            duration(seconds.low),
            duration(seconds.high),
            words::bytes(memory)
        );
        for point in &self.samples {
            let _ = writeln!(
                text,
                "  forged and checked here: {} files, modelled {}, {}",
                words::grouped(point.files),
                duration(point.seconds.likely),
                words::bytes(point.memory)
            );
        }
        if self.samples.len() > 1 {
            text.push_str("  the answer is on the line through both\n");
        }
        text.push_str("Damage makes it slower: this is the time of a sound filesystem.\n");
        text
    }

    fn csv(&self) -> String {
        let Interval { low, likely, high } = self.answer.seconds;
        let memory = self.answer.memory;
        format!(
            "program,quantity,unit,low,likely,high\n\
             fslab check,time,s,{low},{likely},{high}\n\
             fslab check,memory,bytes,{memory},{memory},{memory}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_on_the_line() {
        let point = |files, seconds: f64, memory| Point {
            files,
            seconds: Interval {
                low: seconds / 2.0,
                likely: seconds,
                high: seconds * 2.0,
            },
            memory,
            buffers: 0,
        };
        let (few, more) = (point(50, 1.5, 20), point(150, 3.5, 30));
        let far = Point::on_line(few, more, 1050);
        assert_eq!(
            (far.files, far.seconds.likely, far.memory),
            (1050, 21.5, 120)
        );
        assert_eq!((far.seconds.low, far.seconds.high), (10.75, 43.0));
        // More files take no less.
        assert_eq!(
            Point::on_line(more, Point { files: 200, ..few }, 1000)
                .seconds
                .likely,
            1.5
        );
    }
}
