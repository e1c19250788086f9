//! Pairs of a checker and its reference program, for the benches that run both on a forged image.
//!
//! Whole processes are compared, from start to exit, and both must find nothing. A pair is one run of each, and the order alternates.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::check_vs_e2fsck::{Peaks, cold};
use crate::needs;
use crate::pairs::{Pairs, in_turn};
use crate::run::{Stop, output};
use crate::watched::{self, Took};

const MIB: f64 = (1 << 20) as f64;
/// Of a hot image at most one byte in this many comes from its disk.
const COLD_SHARE: u64 = 50;

/// Reports a pair as it ends. One that does not count was not hot.
pub(crate) fn report(part: &str, ours: Took, theirs: Took, counts: bool) {
    eprintln!(
        "{part}: {:.3} and {:.3} s, {:.1} and {:.1} MiB from devices{}",
        ours.seconds,
        theirs.seconds,
        ours.fetched as f64 / MIB,
        theirs.fetched as f64 / MIB,
        if counts { "" } else { ": not hot, once more" }
    );
}

/// Where what is read comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// The page cache, as far as a program uses it: the image is read beforehand, and a pair in which `check` read more than a fiftieth of
    /// it from a device is repeated.
    Cache,
    /// A tmpfs.
    Memory,
    /// The disk: caches are dropped before each run, and the bench fails if a page of the image stays cached.
    Disk,
}

/// The programs, and how often they run.
pub(crate) struct Checkers {
    /// The program to measure.
    pub(crate) fslab: String,
    /// Pairs of a part.
    pub(crate) pairs: u32,
    /// Set when the bench is interrupted.
    pub(crate) stop: Stop,
}

impl Checkers {
    /// The `fslab` that was named, else the one beside this program, and the pairs of a part.
    ///
    /// # Errors
    /// There is no such program, or it is a debug build.
    pub(crate) fn of(fslab: Option<&Path>, pairs: u32) -> Result<Checkers> {
        let beside = std::env::current_exe()?.with_file_name("fslab");
        let fslab = fslab.unwrap_or(&beside);
        needs::measured(fslab)?;
        Ok(Checkers {
            fslab: fslab.display().to_string(),
            pairs,
            stop: Stop::on_signals()?,
        })
    }

    /// Forges an image unless it is there: `words` are the arguments of `fslab forge`, `format` first; the path comes second.
    ///
    /// # Errors
    /// The forge fails.
    pub(crate) fn forge(&self, image: &Path, format: &str, words: &[&str]) -> Result<()> {
        if image.exists() {
            return Ok(());
        }
        // What was killed half way is not found as an image.
        let unfinished = image.with_extension("part");
        let path = unfinished.display().to_string();
        let words = [&["forge", format, &path, "--sync"], words].concat();
        let took = self.run(&self.fslab, &words)?;
        eprintln!("forged {path} in {:.2} s", took.seconds);
        Ok(std::fs::rename(&unfinished, image)?)
    }

    /// A copy of an image in a new folder, where holes stay holes.
    ///
    /// # Errors
    /// There is no room.
    pub(crate) fn copy(&self, image: &Path, folder: &Path) -> Result<(tempfile::TempDir, PathBuf)> {
        self.stop.check()?;
        let folder = tempfile::Builder::new()
            .prefix("fslab-check-")
            .tempdir_in(folder)?;
        let copy = folder.path().join("image");
        let (from, to) = (image.display().to_string(), copy.display().to_string());
        output("cp", &["--sparse=always", &from, &to])?;
        Ok((folder, copy))
    }

    /// Bytes and requests of `fslab check`, by its own report.
    ///
    /// # Errors
    /// It cannot be run, or its report has no totals.
    pub(crate) fn reads(&self, image: &Path) -> Result<(f64, f64)> {
        let image = image.display().to_string();
        let words = ["check", "--io", "direct", "--format", "json", &image];
        let report: serde_json::Value = serde_json::from_str(&output(&self.fslab, &words)?)?;
        let total = &report["total"];
        let field = |name: &str| {
            let value = total[name].as_f64();
            value.with_context(|| format!("the report has no {name}: {total}"))
        };
        Ok((field("bytes")?, field("requests")?))
    }

    /// All pairs of a part, and the most memory of each side. `part` is its name, `theirs` the reference program and its arguments.
    ///
    /// # Errors
    /// A program fails or finds something, or the bench is interrupted.
    pub(crate) fn measure(
        &self,
        part: &str,
        image: &Path,
        from: From,
        theirs: (&str, &[&str]),
    ) -> Result<(Pairs, Peaks)> {
        let path = image.display().to_string();
        let allowed = image.metadata()?.blocks() * 512 / COLD_SHARE;
        if from == From::Cache {
            for _ in 0..2 {
                self.run(&self.fslab, &["check", "--io", "buffered", &path])?;
            }
        }
        let wanted = self.pairs as usize;
        let (mut pairs, mut peaks, mut tried) = (Pairs::default(), Peaks::default(), 0_usize);
        while pairs.ours.len() < wanted && tried < 2 * wanted {
            let (ours, theirs) = in_turn(
                tried.is_multiple_of(2),
                || self.once(image, from, &self.fslab, &["check"]),
                || self.once(image, from, theirs.0, theirs.1),
            )?;
            tried += 1;
            let counts = from != From::Cache || ours.fetched <= allowed;
            report(part, ours, theirs, counts);
            if counts {
                peaks.take(Peaks {
                    ours: ours.peak,
                    theirs: theirs.peak,
                });
                pairs.push(ours.seconds, theirs.seconds);
            }
        }
        ensure!(
            !pairs.ours.is_empty(),
            "the page cache never held the image"
        );
        Ok((pairs, peaks))
    }

    /// One run of a program on an image, whose path follows these arguments.
    ///
    /// # Errors
    /// It fails or finds something, or a page of the image stays cached.
    pub(crate) fn once(
        &self,
        image: &Path,
        from: From,
        program: &str,
        words: &[&str],
    ) -> Result<Took> {
        if from == From::Disk {
            cold(image, None)?;
        }
        let path = image.display().to_string();
        self.run(program, &[words, &[&path]].concat())
    }

    /// A run that must succeed and find nothing.
    fn run(&self, program: &str, words: &[&str]) -> Result<Took> {
        self.stop.check()?;
        let took = watched::run(program, words, &self.stop)?;
        ensure!(
            took.code == 0,
            "{program} {}: exit code {}",
            words.join(" "),
            took.code
        );
        Ok(took)
    }
}
