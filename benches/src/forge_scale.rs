//! The 72 TB filesystem of 105 million files of the 2012 study, forged, and checked by e2fsck and by fslab.
//!
//! The study (Layton, Linux Magazine 2012) filled it by fs_mark for days, 3,000 files of 400,000
//! bytes in each directory, and ran `e2fsck -pfFt` once. Here it is forged, with contents as holes,
//! on an XFS on a loop device, since the host's ext4 cannot hold a file of that size. `--scale`
//! makes size and number of files smaller by the same factor; bytes per inode stay those of the
//! full size, so that groups look alike.
//!
//! Each size from a hundredth to the whole is forged, so that the cost of a file can be compared.
//! Its time ends when the image is on stable storage: dirty pages are not written yet, and with
//! more bytes than memory the last part of the work would not be counted. The largest is then
//! checked, each program from a cold cache.
//!
//! With `--filesystem xfs` it is the study's other half: version 4 with `inode32`, checked by `xfs_repair -n`, and its files a second are
//! compared with those of fs_mark.

mod xfs;

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use crate::arguments::Place;
use crate::needs;
use crate::run::{Stop, drop_caches, verdict};
use crate::sparse::Sparse;
use crate::table::{Printer, Row, Table};
use crate::watched::{self, Took};
use anyhow::{Context, Result, ensure};
use clap::Parser;

const MIB: f64 = (1 << 20) as f64;

/// Forges the filesystem of the 2012 study at its size, and has it checked.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// Factor of size and number of files: 0.01 is 720 GB and 1.05 million files.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The filesystem.
    #[arg(long, value_enum, default_value = "ext4")]
    filesystem: Kind,
    /// Skip the checks.
    #[arg(long)]
    forge_only: bool,
    /// Sizes to forge, as shares of the scaled size.
    #[arg(long, value_delimiter = ',', default_value = "0.01,0.1,1")]
    parts: Vec<f64>,
    /// The program to measure [default: fslab beside this one].
    #[arg(long)]
    fslab: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

/// What is forged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Ext4,
    /// As in 2012: version 4, inodes of 256 bytes, inode32.
    Xfs,
    /// As mkfs.xfs makes it today.
    #[value(name = "xfs-v5")]
    XfsV5,
}

impl Kind {
    /// Bytes that a file costs on disk.
    fn bytes_of_a_file(self) -> f64 {
        match self {
            Kind::Ext4 => BYTES_OF_A_FILE,
            Kind::Xfs => 330.0,
            Kind::XfsV5 => 590.0,
        }
    }
}

/// Bytes of the whole filesystem.
const SIZE: f64 = 72.0 * (1_u64 << 40) as f64;
/// Its files.
const FILES: f64 = 105e6;
const PER_DIRECTORY: u64 = 3000;
const FILE_SIZE: u64 = 400_000;
/// What mke2fs takes for a filesystem of 72 TB.
const INODE_RATIO: u64 = 65536;
/// Bytes that a file costs on disk: its inode, and its name in a leaf that is 69 % full.
const BYTES_OF_A_FILE: f64 = 300.0;
/// Most memory that forging may take, MiB.
const MEMORY: f64 = 256.0;

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    verdict("forge_scale", run(arguments))
}

struct Bench<'a> {
    fslab: String,
    stop: Stop,
    image: String,
    sparse: &'a Sparse,
}

/// A size that was forged.
struct Forged {
    size: f64,
    files: f64,
    made: Took,
    /// Including writeback.
    seconds: f64,
    bytes: f64,
}

fn run(arguments: &Arguments) -> Result<bool> {
    ensure!(
        arguments.scale > 0.0 && arguments.scale <= 1.0,
        "--scale {}: not within 0 and 1",
        arguments.scale
    );
    ensure!(
        arguments
            .parts
            .iter()
            .all(|part| *part > 0.0 && *part <= 1.0),
        "--parts: not within 0 and 1"
    );
    needs::root("loop devices and mounts")?;
    needs::peers(&[("e2fsck", "e2fsprogs"), ("mkfs.xfs", "xfsprogs")])?;
    if arguments.filesystem != Kind::Ext4 {
        needs::peers(&[("xfs_repair", "xfsprogs"), ("fs_mark", "fsmark")])?;
    }
    let fslab = match &arguments.fslab {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("fslab"),
    };
    let need = bytes_needed(arguments.scale, arguments.filesystem);
    eprintln!(
        "needs {:.1} GiB in {}, gives them back at the end",
        need as f64 / MIB / 1024.0,
        arguments.place.dir.display()
    );
    let sparse = Sparse::new(&arguments.place.dir, need)?;
    let bench = Bench {
        fslab: fslab.display().to_string(),
        stop: Stop::on_signals()?,
        image: sparse.path().join("image").display().to_string(),
        sparse: &sparse,
    };
    bench.run(arguments)
}

/// Inodes and names, both bitmaps of every group, the journal, and the XFS's own.
fn bytes_needed(scale: f64, kind: Kind) -> u64 {
    let groups = SIZE * scale / (128.0 * MIB);
    (FILES * scale * kind.bytes_of_a_file() * 1.05 + groups * 8192.0) as u64 + (3 << 30)
}

impl Bench<'_> {
    fn run(&self, arguments: &Arguments) -> Result<bool> {
        let mut printer = Printer::default();
        let mut all = Vec::new();
        let mut parts = arguments.parts.clone();
        parts.sort_by(f64::total_cmp);
        for part in parts {
            if !all.is_empty() {
                std::fs::remove_file(&self.image)?;
            }
            all.push(self.forge(arguments.scale * part, arguments.filesystem)?);
        }
        printer.show(&costs(&all));
        if arguments.filesystem != Kind::Ext4 {
            return self.xfs(&all, arguments, printer);
        }
        if let Some(last) = all.last().filter(|_| !arguments.forge_only) {
            self.check(last, &mut printer)?;
        }
        Ok(printer.all_met())
    }

    fn forge(&self, scale: f64, kind: Kind) -> Result<Forged> {
        let (size, files) = (SIZE * scale, FILES * scale);
        let (size_text, files_text) = (format!("{size:.0}"), format!("{files:.0}"));
        let (per_directory, file_size) = (PER_DIRECTORY.to_string(), FILE_SIZE.to_string());
        let ratio = INODE_RATIO.to_string();
        let mut words = vec!["forge", if kind == Kind::Ext4 { "ext4" } else { "xfs" }];
        words.extend([&self.image, "--size", &size_text, "--files", &files_text]);
        words.extend(["--per-directory", &per_directory, "--file-size", &file_size]);
        match kind {
            Kind::Ext4 => words.extend(["--inode-ratio", &ratio]),
            Kind::Xfs => words.extend(["--preset", "paper-2012"]),
            Kind::XfsV5 => {}
        }
        drop_caches()?;
        let begin = std::time::Instant::now();
        let made = watched::run(&self.fslab, &words, &self.stop)?;
        ensure!(
            made.code == 0,
            "fslab {}: exit code {}",
            words.join(" "),
            made.code
        );
        self.sparse.sync()?;
        let seconds = begin.elapsed().as_secs_f64();
        let about = std::fs::metadata(&self.image)?;
        let forged = Forged {
            size,
            files,
            made,
            seconds,
            bytes: std::os::unix::fs::MetadataExt::blocks(&about) as f64 * 512.0,
        };
        eprintln!(
            "forged {files:.0} files in {:.1} s, on the disk in {seconds:.1} s",
            made.seconds
        );
        Ok(forged)
    }

    fn check(&self, forged: &Forged, printer: &mut Printer) -> Result<()> {
        let theirs = self.timed("e2fsck", &["-fn", "-tt", &self.image])?;
        let ours = self.timed(&self.fslab, &["check", &self.image])?;
        print!("{}", as_in_2012(forged, theirs.seconds, ours.seconds));
        let mut table = Table::new(
            "Both find it clean, from a cold cache",
            &["seconds", "peak MiB", "times e2fsck"],
        );
        for (name, took) in [("e2fsck -fn", theirs), ("fslab check", ours)] {
            let cells = [
                format!("{:.1}", took.seconds),
                format!("{:.0}", took.peak),
                format!("{:.1}", theirs.seconds / took.seconds),
            ];
            table
                .rows
                .push(Row::new(name, cells, "exit 0", took.code == 0));
        }
        printer.show(&table);
        Ok(())
    }

    /// A checker from a cold cache; its own report is shown.
    fn timed(&self, program: &str, words: &[&str]) -> Result<Took> {
        drop_caches()?;
        let report = tempfile::NamedTempFile::new()?;
        let out = Stdio::from(report.reopen()?);
        let took = watched::run_to(program, words, out, &self.stop)?;
        let message = std::fs::read_to_string(report.path())
            .with_context(|| format!("the output of {program}"))?;
        let name = Path::new(program).file_name().unwrap_or_default();
        println!("{} {}", name.display(), words.join(" "));
        println!("{message}");
        Ok(took)
    }
}

/// Cost per file at each size, and its parts.
fn costs(all: &[Forged]) -> Table {
    let mut table = Table::new(
        "Forging, all on the disk",
        &[
            "files", "seconds", "files/s", "us/file", "MiB/s", "peak MiB",
        ],
    );
    let cost = |forged: &Forged| forged.seconds * 1e6 / forged.files;
    // The minimum of the smaller sizes: fixed costs dominate only the smallest.
    let mut least = f64::INFINITY;
    for forged in all {
        least = least.min(cost(forged));
        let cells = [
            format!("{:.0}", forged.files),
            format!("{:.1}", forged.seconds),
            format!("{:.0}", forged.files / forged.seconds),
            format!("{:.3}", cost(forged)),
            format!("{:.0}", forged.bytes / MIB / forged.seconds),
            format!("{:.0}", forged.made.peak),
        ];
        let met = cost(forged) <= 1.2 * least && forged.made.peak < MEMORY;
        let name = format!("{:.2} TB", forged.size / (1_u64 << 40) as f64);
        table
            .rows
            .push(Row::new(name, cells, "<= 1.2x, < 256 MiB", met));
    }
    table
}

/// The table of the study, with our column.
fn as_in_2012(forged: &Forged, theirs: f64, ours: f64) -> String {
    let rows = [
        [
            "File System Size",
            "Number of Files",
            "ext4 - fsck time",
            "fslab check time",
        ]
        .map(str::to_owned),
        ["(in TB)", "(in Millions)", "(Seconds)", "(Seconds)"].map(str::to_owned),
        [
            format!("{:.2}", forged.size / (1_u64 << 40) as f64),
            format!("{:.2}", forged.files / 1e6),
            format!("{theirs:.0}"),
            format!("{ours:.0}"),
        ],
    ];
    let lines = rows.map(|cells| cells.map(|cell| format!("{cell:>16}")).join(" | "));
    lines.join("\n") + "\n\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forged(files: f64, seconds: f64, peak: f64) -> Forged {
        Forged {
            size: SIZE * files / FILES,
            files,
            made: Took {
                seconds: seconds * 0.5,
                peak,
                fetched: 0,
                code: 0,
            },
            seconds,
            bytes: files * 300.0,
        }
    }

    #[test]
    fn a_cost_that_grows_or_much_memory_is_a_miss() {
        let met = |all: &[Forged]| {
            costs(all)
                .rows
                .iter()
                .map(|row| row.met)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            met(&[forged(1e6, 2.0, 60.0), forged(1e7, 23.9, 90.0)]),
            [true, true]
        );
        assert_eq!(
            met(&[forged(1e6, 2.0, 300.0), forged(1e7, 24.1, 90.0)]),
            [false, false]
        );
    }

    #[test]
    fn the_table_is_that_of_the_study() {
        assert_eq!(
            as_in_2012(&forged(105e6, 300.0, 90.0), 1629.4, 200.0),
            "File System Size |  Number of Files | ext4 - fsck time | fslab check time\n\
             \x20        (in TB) |    (in Millions) |        (Seconds) |        (Seconds)\n\
             \x20          72.00 |           105.00 |             1629 |              200\n\n"
        );
    }

    #[test]
    fn the_whole_needs_less_than_forty_gibibytes() {
        assert!((30 << 30..45 << 30).contains(&bytes_needed(1.0, Kind::Ext4)));
        assert!(bytes_needed(0.01, Kind::Ext4) < 4 << 30);
    }
}
