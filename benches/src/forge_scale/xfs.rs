//! XFS: against fs_mark, and found clean by `xfs_repair -n`.

use anyhow::{Context, Result, ensure};

use super::{Arguments, Bench, Forged};
use crate::run::output;
use crate::table::{Printer, Row, Table};

/// Empty files that fs_mark makes: it writes no data, as forging leaves holes.
const MADE: u64 = 100_000;
/// How many times as fast forging is to be.
const TIMES: f64 = 50.0;

impl Bench<'_> {
    pub(super) fn xfs(
        &self,
        all: &[Forged],
        arguments: &Arguments,
        mut printer: Printer,
    ) -> Result<bool> {
        let theirs = self.fs_mark()?;
        printer.show(&against_fs_mark(all, theirs));
        if let Some(last) = all.last().filter(|_| !arguments.forge_only) {
            let took = self.timed("xfs_repair", &["-n", "-f", &self.image])?;
            let mut table = Table::new(
                "xfs_repair finds it clean, from a cold cache",
                &["files", "seconds", "peak MiB"],
            );
            let cells = [
                format!("{:.0}", last.files),
                format!("{:.1}", took.seconds),
                format!("{:.0}", took.peak),
            ];
            table
                .rows
                .push(Row::new("xfs_repair -n", cells, "exit 0", took.code == 0));
            printer.show(&table);
        }
        Ok(printer.all_met())
    }

    /// Files a second of fs_mark on the XFS that holds the image.
    fn fs_mark(&self) -> Result<f64> {
        let base = self.sparse.path().join("fs_mark");
        std::fs::create_dir(&base)?;
        let log = tempfile::NamedTempFile::new()?;
        let made = MADE.to_string();
        let (base_text, log_text) = (base.display().to_string(), log.path().display().to_string());
        let words = [
            "-d", &base_text, "-n", &made, "-s", "0", "-D", "35", "-N", "3000", "-S", "0", "-L",
            "1", "-l", &log_text,
        ];
        let message = output("fs_mark", &words)?;
        std::fs::remove_dir_all(&base)?;
        let last = message.lines().last().unwrap_or_default();
        let word = last.split_whitespace().nth(3);
        let rate = word.and_then(|word| word.parse::<f64>().ok());
        let rate = rate.with_context(|| format!("fs_mark printed {last:?}"))?;
        ensure!(rate > 0.0, "fs_mark printed {last:?}");
        Ok(rate)
    }
}

fn against_fs_mark(all: &[Forged], theirs: f64) -> Table {
    let mut table = Table::new(
        "Files a second, beside fs_mark's of empty files",
        &["forged", "fs_mark", "times"],
    );
    for forged in all {
        let ours = forged.files / forged.seconds;
        let cells = [
            format!("{ours:.0}"),
            format!("{theirs:.0}"),
            format!("{:.1}", ours / theirs),
        ];
        let name = format!("{:.0} files", forged.files);
        table
            .rows
            .push(Row::new(name, cells, ">= 50x", ours >= TIMES * theirs));
    }
    table
}
