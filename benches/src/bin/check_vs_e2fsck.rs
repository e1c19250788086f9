//! `fslab check` against `e2fsck -fn` on the same forged filesystem, interleaved, and `fslab forge` against fs_mark.
//!
//! Programs are compared with programs: both sides are started, read, judge and end, and both must find the
//! filesystem clean. A pair is one run of each, and who goes first changes from pair to pair.
//!
//! - *hot*: everything both read lies in the page cache, read there once before the first pair and by every run again.
//! - *cold*: caches are dropped before each run, and no page of the image may be left, or the bench ends.
//! - *limited*: the image is attached as a loop device that is held to a number of bytes and of requests a second, cold.
//!
//! Beside the cold runs stands the best that a plain reader does: one thread, O_DIRECT, requests of 4 MiB, over the
//! image's data and none of its holes. What that takes for as many bytes as `check` reads is the bound that no
//! checker on this disk can go below. Beside the limited runs stands what the limits allow: all bytes at the one rate, or
//! all requests at the other, whichever takes longer. It bounds e2fsck as well, so no factor between the two can be larger
//! than that of e2fsck to the bound (docs/decisions/0011-limited-devices.md).
//!
//! Time for an inode must not grow with the filesystem: its largest value over all sizes is held against its smallest.
//!
//! Large images take minutes to read on a slow device. `--images` keeps them, so that each part can be run by itself on the same
//! ones: `--images /tmp/images --files 10000000 --parts hot`, then `--parts cold`.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use benches::arguments::{Place, Times};
use benches::image::Image;
use benches::limited::Limited;
use benches::needs;
use benches::pairs::{Pairs, in_turn, median};
use benches::run::{Stop, drop_caches, output, verdict};
use benches::table::{Printer, Row, Table};
use benches::watched::{self, Took};
use clap::{Parser, ValueEnum};
use rustix::fs::{OFlags, SeekFrom, seek};

const MIB: f64 = (1 << 20) as f64;

/// Measures the checker against e2fsck and the forge against fs_mark.
#[derive(Parser, Debug)]
struct Arguments {
    #[command(flatten)]
    times: Times<7>,
    /// Files of each filesystem, one block each: 1000000,10000000,50000000.
    #[arg(long, value_delimiter = ',', default_value = "1000000")]
    files: Vec<u64>,
    /// What to measure.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "forge,hot,cold,limited"
    )]
    parts: Vec<Part>,
    /// Folder where images stay and are found again; without it they are made anew and removed.
    #[arg(long)]
    images: Option<PathBuf>,
    /// Pairs of runs on the limited device, where one takes minutes.
    #[arg(long, default_value_t = 3)]
    limited_pairs: u32,
    /// Bytes a second of the limited device.
    #[arg(long, default_value_t = 100_000_000)]
    bytes: u64,
    /// Requests a second of the limited device.
    #[arg(long, default_value_t = 200)]
    requests: u64,
    /// The program to measure [default: fslab beside this one].
    #[arg(long)]
    fslab: Option<PathBuf>,
    /// Files that fs_mark writes.
    #[arg(long, default_value_t = 60_000)]
    fs_mark_files: u64,
    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Forge,
    Hot,
    Cold,
    Limited,
}

/// A directory holds so many, as in Mushran's filesystem of 2012.
const PER_DIRECTORY: u64 = 3000;
/// mke2fs makes an inode for every 16 KiB; directories come on top of the files.
const BYTES_OF_A_FILE: u64 = 17_500;
/// The least image that mke2fs gives the usual layout.
const LEAST: u64 = 2 << 30;

struct Bench {
    arguments: Arguments,
    fslab: String,
    stop: Stop,
    printer: Printer,
}

/// What one size gave, for what is compared over sizes.
struct Sized {
    files: u64,
    /// Seconds of our median run, by part.
    seconds: Vec<(Part, f64)>,
    /// Seconds that forging took, where the image was not there yet.
    forge: Option<f64>,
}

impl Sized {
    /// Seconds of our median run.
    fn seconds(&self, part: Part) -> Option<f64> {
        let found = self.seconds.iter().find(|(which, _)| *which == part);
        found.map(|(_, seconds)| *seconds)
    }
}

/// What the checker asks for, by its own word.
#[derive(Clone, Copy, Debug)]
struct Asked {
    bytes: f64,
    requests: f64,
}

fn main() -> ExitCode {
    verdict("check_vs_e2fsck", bench())
}

/// Whether all targets were met.
fn bench() -> Result<bool> {
    let mut arguments = Arguments::parse();
    if arguments.times.quick {
        arguments.files = arguments
            .files
            .iter()
            .map(|files| *files.min(&200_000))
            .collect();
        arguments.files.dedup();
    }
    needs::root("caches, loop devices and limits")?;
    needs::peers(&[("e2fsck", "e2fsprogs"), ("fs_mark", "fs_mark")])?;
    let own = std::env::current_exe()?;
    let fslab = arguments
        .fslab
        .clone()
        .unwrap_or_else(|| own.with_file_name("fslab"));
    if !fslab.is_file() {
        let how = "build it with `cargo build --release -p fslab`";
        return Err(needs::Missing(format!("{} is not there; {how}", fslab.display())).into());
    }
    let mut bench = Bench {
        fslab: fslab.display().to_string(),
        arguments,
        stop: Stop::on_signals()?,
        printer: Printer::default(),
    };
    let mut sizes = Vec::new();
    for files in bench.arguments.files.clone() {
        sizes.push(bench.size(files)?);
    }
    bench.over_sizes(&sizes);
    if bench.arguments.parts.contains(&Part::Forge) {
        bench.forge_against_fs_mark(&sizes)?;
    }
    Ok(bench.printer.all_met())
}

impl Bench {
    fn wants(&self, part: Part) -> bool {
        self.arguments.parts.contains(&part)
    }

    /// Everything about one size, on one image.
    fn size(&mut self, files: u64) -> Result<Sized> {
        let folder = tempfile::Builder::new()
            .prefix("fslab-check-")
            .tempdir_in(&self.arguments.place.dir)?;
        let kept = self.arguments.images.as_deref();
        let image = kept
            .unwrap_or(folder.path())
            .join(format!("{files}-files.img"));
        let forge = if image.exists() && !self.wants(Part::Forge) {
            None
        } else {
            Some(self.forge(&image, files)?)
        };
        let mut sized = Sized {
            files,
            seconds: Vec::new(),
            forge,
        };
        let path = image.display().to_string();
        let asked = self.asked(&path)?;
        let mut table = Table::new(
            format!(
                "{files} files of one block; check reads {:.1} MiB; seconds",
                asked.bytes / MIB
            ),
            &["check", "e2fsck", "faster", "pairs", "ns/inode"],
        );
        let mut peaks = [0.0_f64; 2];
        let mut beside = None;
        for (part, name, target) in [
            (Part::Hot, "in the page cache", 8.0),
            (Part::Cold, "cold", 5.0),
            (Part::Limited, "limited device", 3.0),
        ] {
            if !self.wants(part) {
                continue;
            }
            let pairs = self.part(part, &image, &mut peaks)?;
            if part == Part::Limited {
                beside = Some(self.beside_the_limits(asked, &pairs));
            }
            // Theirs over ours: how many times faster.
            let faster = Pairs {
                ours: pairs.theirs.clone(),
                theirs: pairs.ours.clone(),
            };
            let (low, high) = faster.extremes();
            let ours = median(&pairs.ours);
            let cells = [
                format!("{ours:.3}"),
                format!("{:.3}", median(&pairs.theirs)),
                format!("{:.1}", faster.ratio()),
                format!("{low:.1}..{high:.1}"),
                format!("{:.0}", ours * 1e9 / files as f64),
            ];
            table.rows.push(Row::new(
                name,
                cells,
                format!(">= {target:.0}"),
                faster.ratio() >= target,
            ));
            sized.seconds.push((part, ours));
        }
        if !table.rows.is_empty() {
            self.printer.show(&table);
            self.printer.show(&memory(files, peaks, statistics(&path)?));
        }
        if let Some(seconds) = sized.seconds(Part::Cold) {
            let table = self.against_a_plain_reader(&image, asked.bytes, seconds)?;
            self.printer.show(&table);
        }
        if let Some(table) = beside {
            self.printer.show(&table);
        }
        Ok(sized)
    }

    /// What the limits allow, and what both sides make of it.
    fn beside_the_limits(&self, asked: Asked, pairs: &Pairs) -> Table {
        let by_bytes = asked.bytes / self.arguments.bytes as f64;
        let by_requests = asked.requests / self.arguments.requests as f64;
        let bound = by_bytes.max(by_requests);
        let (ours, theirs) = (median(&pairs.ours), median(&pairs.theirs));
        let mut table = Table::new(
            format!(
                "Limited device: {:.0} requests of {:.0} KiB in the mean",
                asked.requests,
                asked.bytes / asked.requests / 1024.0
            ),
            &["check", "e2fsck", "limits", "ratio", "e2fsck's"],
        );
        let cells = [
            format!("{ours:.2}"),
            format!("{theirs:.2}"),
            format!("{bound:.2}"),
            format!("{:.2}", ours / bound),
            format!("{:.2}", theirs / bound),
        ];
        let met = ours <= 1.3 * bound;
        table.rows.push(Row::new("seconds", cells, "<= 1.30", met));
        table
    }

    /// Forges a filesystem; gives the seconds it took.
    fn forge(&self, image: &Path, files: u64) -> Result<f64> {
        let size = (files * BYTES_OF_A_FILE).max(LEAST).to_string();
        let (files, per) = (files.to_string(), PER_DIRECTORY.to_string());
        // What was killed half way is not found as an image.
        let unfinished = image.with_extension("part");
        let path = unfinished.display().to_string();
        let words = [
            "forge",
            "ext4",
            &path,
            "--size",
            &size,
            "--files",
            &files,
            "--per-directory",
            &per,
            "--file-size",
            "4096",
        ];
        let took = watched::run(&self.fslab, &words, &self.stop)?;
        ensure!(
            took.code == 0,
            "fslab {}: exit code {}",
            words.join(" "),
            took.code
        );
        eprintln!(
            "forged {files} files in {:.2} s, peak {:.0} MiB",
            took.seconds, took.peak
        );
        std::fs::rename(&unfinished, image)?;
        Ok(took.seconds)
    }

    /// What the checker reads past the page cache, by its own word.
    fn asked(&self, image: &str) -> Result<Asked> {
        let report: serde_json::Value = serde_json::from_str(&output(
            &self.fslab,
            &["check", "--io", "direct", "--format", "json", image],
        )?)?;
        let total = &report["total"];
        let field = |name: &str| {
            let value = total[name].as_f64();
            value.with_context(|| format!("the report says nothing about {name}: {total}"))
        };
        Ok(Asked {
            bytes: field("bytes")?,
            requests: field("requests")?,
        })
    }

    fn part(&self, part: Part, image: &Path, peaks: &mut [f64; 2]) -> Result<Pairs> {
        let mut pairs = Pairs::default();
        let limited = if part == Part::Limited {
            Some(Limited::attach(
                image,
                self.arguments.bytes,
                self.arguments.requests,
            )?)
        } else {
            None
        };
        let path = image.display().to_string();
        let target = limited
            .as_ref()
            .map_or(path.as_str(), Limited::device)
            .to_owned();
        if part == Part::Hot {
            self.side(true, &target)?;
            self.side(false, &target)?;
        }
        let most = match part {
            Part::Limited => self.arguments.limited_pairs,
            _ => u32::MAX,
        };
        for pair in 0..self.arguments.times.pairs().min(most) {
            self.stop.check()?;
            let run = |ours: bool| -> Result<Took> {
                if part != Part::Hot {
                    cold(
                        image,
                        limited.as_ref().map(|limited| Path::new(limited.device())),
                    )?;
                }
                self.side(ours, &target)
            };
            let (ours, theirs) = in_turn(pair % 2 == 0, || run(true), || run(false))?;
            *peaks = [peaks[0].max(ours.peak), peaks[1].max(theirs.peak)];
            pairs.push(ours.seconds, theirs.seconds);
        }
        Ok(pairs)
    }

    /// One run of a side, which must find the filesystem clean.
    fn side(&self, ours: bool, target: &str) -> Result<Took> {
        let (program, words) = if ours {
            (self.fslab.as_str(), ["check", target])
        } else {
            ("e2fsck", ["-fn", target])
        };
        let took = watched::run(program, &words, &self.stop)?;
        ensure!(
            took.code == 0,
            "{program} {}: exit code {}",
            words.join(" "),
            took.code
        );
        Ok(took)
    }

    fn against_a_plain_reader(&self, image: &Path, read: f64, ours: f64) -> Result<Table> {
        let mut seconds = Vec::new();
        let mut bytes = 0.0;
        for _ in 0..self.arguments.times.pairs() {
            self.stop.check()?;
            cold(image, None)?;
            let begin = Instant::now();
            bytes = plain_reader(image)?;
            seconds.push(begin.elapsed().as_secs_f64());
        }
        let bound = median(&seconds) * read / bytes;
        let ratio = ours / bound;
        let mut table = Table::new(
            format!(
                "Cold, beside a plain O_DIRECT reader of {:.1} MiB in {:.3} s",
                bytes / MIB,
                median(&seconds)
            ),
            &["check", "as many bytes", "ratio"],
        );
        let cells = [
            format!("{ours:.3}"),
            format!("{bound:.3}"),
            format!("{ratio:.2}"),
        ];
        table
            .rows
            .push(Row::new("seconds", cells, "<= 1.30", ratio <= 1.3));
        Ok(table)
    }

    /// What must not grow with the filesystem.
    fn over_sizes(&mut self, sizes: &[Sized]) {
        if sizes.len() < 2 {
            return;
        }
        let mut table = Table::new(
            "Nanoseconds for a file, over all sizes",
            &["least", "most", "ratio"],
        );
        let mut row = |name: &str, values: Vec<f64>, target: f64| {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(0.0, f64::max);
            let cells = [
                format!("{least:.0}"),
                format!("{most:.0}"),
                format!("{:.2}", most / least),
            ];
            table.rows.push(Row::new(
                name,
                cells,
                format!("<= {target:.2}"),
                most / least <= target,
            ));
        };
        let of_part = |part: Part| -> Vec<f64> {
            let each = |sized: &Sized| Some(sized.seconds(part)? * 1e9 / sized.files as f64);
            sizes.iter().filter_map(each).collect()
        };
        for (part, name) in [
            (Part::Hot, "check, hot"),
            (Part::Cold, "check, cold"),
            (Part::Limited, "check, limited"),
        ] {
            if self.arguments.parts.contains(&part) {
                row(name, of_part(part), 1.2);
            }
        }
        let each = |sized: &Sized| Some(sized.forge? * 1e9 / sized.files as f64);
        let forged: Vec<f64> = sizes.iter().filter_map(each).collect();
        if forged.len() > 1 {
            row("forge", forged, 1.2);
        }
        self.printer.show(&table);
    }

    fn forge_against_fs_mark(&mut self, sizes: &[Sized]) -> Result<()> {
        let image = Image::new(&self.arguments.place.dir, 4 << 30)?;
        let mut rates = Vec::new();
        for _ in 0..self.arguments.times.pairs().min(3) {
            self.stop.check()?;
            let mounted = image.fresh("ext4")?;
            let log = tempfile::NamedTempFile::new()?;
            let (path, log) = (
                mounted.path().display().to_string(),
                log.path().display().to_string(),
            );
            let files = self.arguments.fs_mark_files.to_string();
            let said = output(
                "fs_mark",
                &[
                    "-k", "-d", &path, "-n", &files, "-s", "4096", "-D", "20", "-N", "3000", "-S",
                    "0", "-L", "1", "-l", &log,
                ],
            )?;
            let last = said.lines().last().unwrap_or_default();
            let rate = last
                .split_whitespace()
                .nth(3)
                .and_then(|word| word.parse::<f64>().ok());
            rates.push(rate.with_context(|| format!("fs_mark said {last:?}"))?);
        }
        let theirs = median(&rates);
        let mut table = Table::new(
            "Files a second: forge, and fs_mark on a fresh loop ext4",
            &["forge", "fs_mark", "ratio"],
        );
        for sized in sizes {
            let Some(seconds) = sized.forge else { continue };
            let ours = sized.files as f64 / seconds;
            let cells = [
                format!("{ours:.0}"),
                format!("{theirs:.0}"),
                format!("{:.0}", ours / theirs),
            ];
            table.rows.push(Row::new(
                format!("{} files", sized.files),
                cells,
                ">= 50",
                ours / theirs >= 50.0,
            ));
        }
        self.printer.show(&table);
        Ok(())
    }
}

/// Inodes in use and blocks of a filesystem.
fn statistics(image: &str) -> Result<(f64, f64)> {
    let said = output("dumpe2fs", &["-h", image])?;
    let field = |name: &str| -> Result<f64> {
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|rest| rest.trim().parse().ok());
        value.with_context(|| format!("dumpe2fs says nothing of {name}"))
    };
    Ok((
        field("Inode count:")? - field("Free inodes:")?,
        field("Block count:")?,
    ))
}

/// At most twice e2fsck's, or 8 bytes for each inode in use and a bit for each block, whichever is more.
fn memory(files: u64, peaks: [f64; 2], (inodes, blocks): (f64, f64)) -> Table {
    let [ours, theirs] = peaks;
    let by_size = (inodes * 8.0 + blocks / 8.0) / MIB;
    let bound = (2.0 * theirs).max(by_size);
    let mut table = Table::new("Peak memory, MiB", &["check", "e2fsck", "by size"]);
    let cells = [
        format!("{ours:.0}"),
        format!("{theirs:.0}"),
        format!("{by_size:.0}"),
    ];
    table.rows.push(Row::new(
        format!("{files} files"),
        cells,
        format!("<= {bound:.0}"),
        ours <= bound,
    ));
    table
}

/// Drops caches, and ends the bench where something stays.
fn cold(image: &Path, device: Option<&Path>) -> Result<()> {
    let proof = if let Some(node) = device {
        rig::cache::drop_device(node, &[image])?
    } else {
        drop_caches()?;
        let folder = image.parent().context("the image lies in no folder")?;
        rig::cache::drop_and_prove(folder, &[image], &[])?
    };
    if proof.holds == Some(false) {
        bail!("not cold: {}", proof.detail());
    }
    Ok(())
}

/// Reads the data of an image, none of its holes, past the page cache; gives the bytes.
fn plain_reader(image: &Path) -> Result<f64> {
    const STEP: usize = 4 << 20;
    const ALIGN: usize = 4096;
    let plain = File::open(image)?;
    let direct = File::options()
        .read(true)
        .custom_flags(OFlags::DIRECT.bits() as i32)
        .open(image)?;
    let end = plain.metadata()?.len();
    let mut room = vec![0_u8; STEP + ALIGN];
    let skip = room.as_ptr().align_offset(ALIGN);
    let buffer = &mut room[skip..skip + STEP];
    let (mut at, mut read) = (0, 0_u64);
    // Behind the last data there is no more: ENXIO.
    while let Ok(start) = seek(&plain, SeekFrom::Data(at)) {
        let stop = seek(&plain, SeekFrom::Hole(start))?;
        at = start;
        while at < stop {
            let len = ((stop - at) as usize).min(STEP);
            let done = direct.read_at(&mut buffer[..len.next_multiple_of(ALIGN).min(STEP)], at)?;
            ensure!(done > 0, "{} ends at {at}", image.display());
            at += done as u64;
            read += done as u64;
        }
        if at >= end {
            break;
        }
    }
    Ok(read as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_reader_leaves_out_holes() {
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        file.as_file().set_len(64 << 20).unwrap();
        file.as_file()
            .write_all_at(&vec![1; 1 << 20], 8 << 20)
            .unwrap();
        file.as_file().sync_all().unwrap();
        let read = plain_reader(file.path()).unwrap();
        assert!((MIB..2.0 * MIB).contains(&read), "{read}");
    }

    #[test]
    fn memory_is_bounded_by_theirs_or_by_size() {
        assert!(memory(1, [19.0, 10.0], (0.0, 0.0)).all_met());
        assert!(!memory(1, [21.0, 10.0], (0.0, 0.0)).all_met());
        // Ten million inodes and a thousand million blocks: 76 and 119 MiB.
        assert!(memory(1, [190.0, 10.0], (1e7, 1e9)).all_met());
    }
}
