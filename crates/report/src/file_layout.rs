//! Where the files are that the phases left: what `filefrag` was run for in 2010.
//!
//! The thread of that year wanted one number, how many extents a file has, and one cause: whether the
//! allocator, or the filesystem's own metadata, broke it up. Both are here for each cell and phase:
//! the numbers of all files together as medians over the trials, and of the largest file of the middle
//! trial filefrag's own last line with the causes of its gaps. A gap that metadata explains could not
//! have been avoided by any allocator, so gaps and avoidable gaps are beside each other.
//!
//! Nothing is pooled over cells: a traced cell has its own row beside its untraced twin.

use std::collections::BTreeMap;

use record::{FileLayout, Layout, Status};
use study::{Cell, Slot};

use crate::fill::Sources;
use crate::labels::Labels;

/// What is known of the places of files.
#[derive(Debug, Default)]
pub struct FileLayouts<'a> {
    /// By cell, then by phase in running order.
    pub rows: Vec<Row<'a>>,
    /// What could not be looked at, each text once.
    pub notes: Vec<String>,
}

/// One phase of one cell.
#[derive(Debug)]
pub struct Row<'a> {
    /// The cell.
    pub cell: u32,
    /// Levels that distinguish it from the others.
    pub label: String,
    /// The phase that left the files so.
    pub phase: &'a str,
    /// The figures of each trial that was looked at, in block order.
    pub trials: Vec<&'a Layout>,
    /// The trial in the middle: by the number of its gaps, then of its extents, the lower of two.
    pub middle: (Slot, &'a Layout),
}

impl Row<'_> {
    /// One figure of each trial that has it.
    pub fn values(&self, name: &str) -> Vec<f64> {
        let figures = self.trials.iter();
        figures
            .filter_map(|layout| layout.figures.get(name).copied())
            .collect()
    }

    /// Files in all, of each trial.
    pub fn files(&self) -> Vec<f64> {
        let trials = self.trials.iter();
        trials.map(|layout| layout.files_total as f64).collect()
    }

    /// Size of the largest file, of each trial that has one.
    pub fn largest(&self) -> Vec<f64> {
        let trials = self.trials.iter();
        trials
            .filter_map(|layout| Some(layout.files.first()?.size as f64))
            .collect()
    }

    /// Whether the trials differ in the figures printed of the middle one.
    pub fn differs(&self) -> bool {
        let differ = |name: &str| {
            let values = self.values(name);
            values
                .windows(2)
                .any(|pair| (pair[0] - pair[1]).abs() > 0.0)
        };
        differ("layout_discontiguities") || differ("layout_extents")
    }

    /// The largest file of the middle trial.
    pub fn file(&self) -> Option<&FileLayout> {
        self.middle.1.files.first()
    }

    /// `12 gaps: 6 backup superblock, 5 flex_bg metadata, 1 free space`, of the files that were
    /// described one by one; nothing without gaps.
    pub fn gaps(&self) -> Option<String> {
        let files = &self.middle.1.files;
        let all: u64 = files.iter().map(|file| file.discontiguities).sum();
        let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
        for (cause, times) in files.iter().flat_map(|file| &file.causes) {
            *causes.entry(cause).or_default() += times;
        }
        let mut causes: Vec<(&str, u64)> = causes.into_iter().collect();
        // Stable: causes of equal number stay in the order of the alphabet.
        causes.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        let causes = causes
            .iter()
            .map(|(cause, times)| format!("{times} {cause}"));
        let causes: Vec<String> = causes.collect();
        if all == 0 {
            return None;
        }
        let of = match (files.len(), self.middle.1.files_total) {
            (1, _) => String::new(),
            (n, total) if n as u64 == total => format!(" in {n} files"),
            (n, total) => format!(" in the {n} largest of {total} files"),
        };
        let gaps = if all == 1 { "gap" } else { "gaps" };
        let causes = match causes.as_slice() {
            [] => "causes not recorded".to_owned(),
            causes => causes.join(", "),
        };
        Some(format!("{all} {gaps}{of}: {causes}"))
    }
}

/// filefrag's last line: `bigfile: 13 extents found`.
pub fn extents_found(file: &FileLayout) -> String {
    let s = if file.extents == 1 { "" } else { "s" };
    format!("{}: {} extent{s} found", file.path, file.extents)
}

/// Layouts of the report's finished trials; none when none was recorded.
pub(crate) fn of<'a>(sources: &Sources<'a>) -> Option<FileLayouts<'a>> {
    let mut found = FileLayouts::default();
    let trials: Vec<_> = sources
        .slots()
        .filter(|(_, trial)| trial.status == Status::Finished && !trial.layouts.is_empty())
        .collect();
    let has_any = |cell: &&Cell| trials.iter().any(|(slot, _)| slot.cell == cell.id);
    let cells: Vec<&Cell> = sources.run.plan.cells.iter().filter(has_any).collect();
    let labels = Labels::of(&sources.run.plan, &cells);
    for cell in &cells {
        let mut here: Vec<_> = trials.iter().filter(|(s, _)| s.cell == cell.id).collect();
        here.sort_by_key(|(slot, _)| slot.block);
        let mut phases: Vec<&str> = Vec::new();
        for layout in here.iter().flat_map(|(_, trial)| &trial.layouts) {
            if !phases.contains(&layout.phase.as_str()) {
                phases.push(&layout.phase);
            }
            for note in &layout.notes {
                if !found.notes.contains(note) {
                    found.notes.push(note.clone());
                }
            }
        }
        for phase in phases {
            let of_phase = here.iter().filter_map(|(slot, trial)| {
                let layout = trial.layouts.iter().find(|l| l.phase == phase)?;
                Some((**slot, layout))
            });
            let of_phase: Vec<(Slot, &Layout)> = of_phase.collect();
            let Some(middle) = middle(&of_phase) else {
                continue;
            };
            found.rows.push(Row {
                cell: cell.id,
                label: labels.of_cell(cell),
                phase,
                trials: of_phase.iter().map(|(_, layout)| *layout).collect(),
                middle,
            });
        }
    }
    (!found.rows.is_empty()).then_some(found)
}

fn middle<'a>(trials: &[(Slot, &'a Layout)]) -> Option<(Slot, &'a Layout)> {
    let figure = |layout: &Layout, name: &str| layout.figures.get(name).copied().unwrap_or(0.0);
    let mut sorted: Vec<&(Slot, &Layout)> = trials.iter().collect();
    sorted.sort_by(|(_, a), (_, b)| {
        let by = |name| figure(a, name).total_cmp(&figure(b, name));
        by("layout_discontiguities").then_with(|| by("layout_extents"))
    });
    let at = sorted.len().checked_sub(1)? / 2;
    Some(*sorted[at])
}
