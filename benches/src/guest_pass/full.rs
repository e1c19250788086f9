//! The full pass: every row in every kernel, each its own run that is kept.
//!
//! Under emulation it takes an hour, so results are kept: a row that succeeded in the kept folder is read
//! and not run again; one that failed or was interrupted is. After a fix the same command runs the rest.
//! A row that fails is listed with its reason, and the pass continues.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::run::Stop;
use crate::table::{Row as Line, Table};
use anyhow::{Context, Result};
use record::Run;

use crate::guest_pass::kernels::{Kernel, heads};
use crate::guest_pass::outcome::Outcome;
use crate::guest_pass::rows::Row;
use crate::guest_pass::running::{self, Errand, Ran};

/// Result of a row in a kernel.
pub(crate) enum Cell {
    /// It ran.
    Ran(Outcome),
    /// The kernel lacks something: fslab's message.
    Lacks(String),
    /// No run was recorded: the reason.
    Broken(String),
}

/// A full pass.
pub(crate) struct Full {
    kernels: Vec<Kernel>,
    rows: Vec<Row>,
    keep: PathBuf,
    /// By row and kernel.
    cells: BTreeMap<(usize, usize), Cell>,
    /// Release and machine of each kernel, as reported by its guests.
    releases: Vec<Option<String>>,
    /// Rows that an earlier pass had run.
    old: usize,
}

impl Full {
    /// Runs the rows that `keep` does not have yet, and prints each result on stderr.
    ///
    /// # Errors
    /// A folder that cannot be written, or a signal; what was run is kept.
    pub(crate) fn run(
        kernels: Vec<Kernel>,
        rows: Vec<Row>,
        keep: &Path,
        fslab: &Path,
        stop: &Stop,
    ) -> Result<Full> {
        let mut full = Full {
            releases: vec![None; kernels.len()],
            kernels,
            rows,
            keep: keep.to_owned(),
            cells: BTreeMap::new(),
            old: 0,
        };
        let heads = heads(&full.kernels);
        let all = full.rows.len();
        for at in 0..all {
            for (column, head) in heads.iter().enumerate() {
                stop.check()?;
                let cell = full.cell(at, column, fslab, stop)?;
                let number = at + 1;
                let name = full.rows[at].name();
                eprintln!("[{number}/{all}] {head}, {name}: {}", message(&cell));
                full.cells.insert((at, column), cell);
            }
        }
        Ok(full)
    }

    fn cell(&mut self, at: usize, column: usize, fslab: &Path, stop: &Stop) -> Result<Cell> {
        let (row, kernel) = (self.rows[at], &self.kernels[column]);
        let folder = self.keep.join(kernel.folder());
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let out = folder.join(row.name().replace(' ', "-"));
        if let Some(run) = whole(&out) {
            self.old += 1;
            self.releases[column] = Some(called(&run));
            return Ok(Cell::Ran(outcome(&run)));
        }
        if out.exists() {
            fs::remove_dir_all(&out).with_context(|| format!("cannot remove {}", out.display()))?;
        }
        let study = running::beside(&out, "toml");
        fs::write(&study, row.study())
            .with_context(|| format!("cannot write {}", study.display()))?;
        let errand = Errand {
            fslab,
            study: &study,
            kernel,
            more: &[],
            out: &out,
        };
        match running::run(&errand, stop) {
            Ok(Ran::Recorded(run)) => {
                self.releases[column] = Some(called(&run));
                Ok(Cell::Ran(outcome(&run)))
            }
            Ok(Ran::Lacks(message)) => Ok(Cell::Lacks(message)),
            Err(error) if stop.is_set() => Err(error),
            Err(error) => Ok(Cell::Broken(format!("{error:#}"))),
        }
    }

    /// A line for each row, a column for each kernel.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new(
            "each device and filesystem in a guest: made, mounted, loaded, checked; seconds",
            &["stripe"],
        );
        table.heads.extend(heads(&self.kernels));
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by_key(|at| self.rows[*at].place());
        for at in order {
            let cells: Vec<&Cell> = (0..self.kernels.len())
                .filter_map(|column| self.cells.get(&(at, column)))
                .collect();
            table.rows.push(line(self.rows[at], &cells));
        }
        table
    }

    /// The notes below the table: the kernels, what they lack, why rows failed.
    pub(crate) fn notes(&self) -> Vec<String> {
        let heads = heads(&self.kernels);
        let mut notes = Vec::new();
        for (head, release) in heads.iter().zip(&self.releases) {
            let release = release.as_deref().unwrap_or("nothing was run in it");
            notes.push(format!("{head}: {release}"));
        }
        notes.push("stripe: chunk and stripe in the superblock, in blocks".to_owned());
        let mut lacking: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ((at, column), cell) in &self.cells {
            let name = self.rows[*at].name();
            match cell {
                Cell::Lacks(message) => lacking.entry(message).or_default().push(name),
                Cell::Broken(why) | Cell::Ran(Outcome { why: Some(why), .. }) => {
                    notes.push(format!("MISS {name}, {}: {why}", heads[*column]));
                }
                Cell::Ran(_) => {}
            }
        }
        for (message, names) in lacking {
            notes.push(format!("-: {} ({message})", names.join(", ")));
        }
        let ran = self.cells.len();
        notes.push(format!(
            "{ran} rows, {} of them run by an earlier pass; their runs are in {}",
            self.old,
            self.keep.display()
        ));
        notes
    }
}

/// A row's line. It passes if no kernel failed and at least one ran it.
fn line(row: Row, cells: &[&Cell]) -> Line {
    let mut stripes: Vec<&str> = Vec::new();
    let mut met = false;
    let mut missed = false;
    let mut words = Vec::new();
    for cell in cells {
        words.push(match cell {
            Cell::Ran(outcome) if outcome.met() => {
                met = true;
                if !stripes.contains(&outcome.geometry.as_str()) {
                    stripes.push(&outcome.geometry);
                }
                seconds(outcome.seconds)
            }
            Cell::Ran(_) | Cell::Broken(_) => {
                missed = true;
                "MISS".to_owned()
            }
            Cell::Lacks(_) => "-".to_owned(),
        });
    }
    words.insert(0, stripes.join(" "));
    Line::new(row.name(), words, "all", met && !missed)
}

fn seconds(value: f64) -> String {
    if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

fn message(cell: &Cell) -> String {
    match cell {
        Cell::Ran(outcome) => match &outcome.why {
            None => format!("all, {} s", seconds(outcome.seconds)),
            Some(why) => format!("MISS: {why}"),
        },
        Cell::Broken(why) => format!("MISS: {why}"),
        Cell::Lacks(why) => why.clone(),
    }
}

/// A finished run whose row succeeded.
fn whole(out: &Path) -> Option<Run> {
    let run = Run::load(out).ok()?;
    (run.closing.is_some() && outcome(&run).met()).then_some(run)
}

/// Outcome of the only trial of a row.
fn outcome(run: &Run) -> Outcome {
    let none = record::TrialRecord::default();
    Outcome::of(run.trials.first().unwrap_or(&none))
}

/// `6.1.0-56-amd64 under qemu (tcg)`, as the guest's own context has it.
fn called(run: &Run) -> String {
    let start = run.contexts.get("start");
    let word = |item: &str| {
        let value = start.and_then(|context| context["items"][item]["value"].as_str());
        value.unwrap_or("?").to_owned()
    };
    let release = word("system.kernel.release");
    match word("run.executor").as_str() {
        "uml" => format!("User-mode Linux {release}"),
        executor => format!("{release} under {executor} ({})", word("run.accelerator")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(why: Option<&str>, geometry: &str) -> Cell {
        Cell::Ran(Outcome {
            steps: vec!["made"],
            why: why.map(str::to_owned),
            geometry: geometry.to_owned(),
            seconds: 12.34,
        })
    }

    fn pass(cells: Vec<Cell>) -> Full {
        let kernels = ["uml", "6.1", "6.12"].map(Kernel::named).to_vec();
        let rows: Vec<Row> = Row::all().into_iter().take(cells.len() / 3).collect();
        let places = (0..rows.len()).flat_map(|row| (0..3).map(move |column| (row, column)));
        Full {
            releases: vec![None, Some("6.1.0-56-amd64 under qemu (tcg)".into()), None],
            kernels,
            rows,
            keep: "/keep".into(),
            cells: places.zip(cells).collect(),
            old: 2,
        }
    }

    #[test]
    fn what_a_kernel_lacks_is_no_miss_and_a_failure_is_named() {
        let lacks = || Cell::Lacks("User-mode Linux lacks null_blk".into());
        let full = pass(vec![
            ran(None, "-"),
            ran(None, "-"),
            ran(None, "-"),
            lacks(),
            ran(None, "16/176"),
            ran(None, "16/176"),
            ran(None, "-"),
            ran(Some("the guest panicked"), "-"),
            Cell::Broken("fslab gave no run".into()),
            lacks(),
            lacks(),
            lacks(),
        ]);
        let table = full.table();
        assert!(!table.all_met());
        let lines: Vec<String> = table.text().lines().map(str::to_owned).collect();
        assert!(
            lines[2].ends_with("12.3  12.3  12.3     all  pass"),
            "{}",
            lines[2]
        );
        assert!(
            lines[3].contains("16/176     -  12.3  12.3"),
            "{}",
            lines[3]
        );
        assert!(lines[3].ends_with("pass"), "{}", lines[3]);
        assert!(
            lines[4].ends_with("12.3  MISS  MISS     all  MISS"),
            "{}",
            lines[4]
        );
        // A row that no kernel supports is not shown.
        assert!(lines[5].ends_with("MISS"), "{}", lines[5]);
        let notes = full.notes().join("\n");
        for says in [
            "uml: nothing was run in it",
            "MISS raid1 ext4, 6.1: the guest panicked",
            "MISS raid1 ext4, 6.12: fslab gave no run",
            "-: raid0x11 ext4, raid5 ext4, raid5 ext4, raid5 ext4 (User-mode Linux lacks null_blk)",
            "12 rows, 2 of them run by an earlier pass",
        ] {
            assert!(notes.contains(says), "{notes}");
        }
    }

    #[test]
    fn the_widest_line_fits_a_mail() {
        let cells = (0..61 * 3).map(|_| ran(None, "32/256")).collect();
        let text = pass(cells).table().text();
        assert!(
            text.lines().all(|line| line.chars().count() <= 78),
            "{text}"
        );
        assert_eq!(text.lines().count(), 63);
    }

    #[test]
    fn a_row_that_was_broken_off_is_not_whole() {
        let dir = tempfile::tempdir().unwrap();
        assert!(whole(dir.path()).is_none());
        assert!(whole(&dir.path().join("none")).is_none());
    }
}
