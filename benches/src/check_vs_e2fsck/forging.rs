//! Forging a filesystem, and fs_mark on a fresh one.

use std::path::Path;

use crate::image::Image;
use crate::pairs::median;
use crate::run::output;
use crate::table::{Row, Table};
use crate::watched;
use anyhow::{Context, Result, ensure};

use crate::check_vs_e2fsck::Bench;
use crate::check_vs_e2fsck::sizes::Sized;

/// Files of a directory, as in Mushran's filesystem of 2012.
const PER_DIRECTORY: u64 = 3000;
/// mke2fs makes an inode for every 16 KiB; directories come on top of the files.
const BYTES_OF_A_FILE: u64 = 17_500;
/// The least image that mke2fs gives the usual layout.
const LEAST: u64 = 2 << 30;

impl Bench {
    /// Forges a filesystem; gives the seconds it took.
    pub(crate) fn forge(&self, image: &Path, files: u64) -> Result<f64> {
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

    /// Files a second of both, for each size that was forged.
    pub(crate) fn against_fs_mark(&self, sizes: &[Sized]) -> Result<Table> {
        let theirs = self.fs_mark()?;
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
        Ok(table)
    }

    /// Its files a second.
    fn fs_mark(&self) -> Result<f64> {
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
            let message = output(
                "fs_mark",
                &[
                    "-k", "-d", &path, "-n", &files, "-s", "4096", "-D", "20", "-N", "3000", "-S",
                    "0", "-L", "1", "-l", &log,
                ],
            )?;
            let last = message.lines().last().unwrap_or_default();
            let rate = last
                .split_whitespace()
                .nth(3)
                .and_then(|word| word.parse::<f64>().ok());
            rates.push(rate.with_context(|| format!("fs_mark printed {last:?}"))?);
        }
        Ok(median(&rates))
    }
}
