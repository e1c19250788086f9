//! Cells by the levels that distinguish them: `ext4 -o nobarrier, traced`.
//!
//! [`study::Cell::label`] names every factor, which no table has room for. Here only the factors count
//! in which the cells of one table differ, and a level that is clear by itself is printed without its
//! factor's name.

use study::{Cell, Plan};

use crate::layout::varying;

/// How the cells of one table are called.
#[derive(Debug)]
pub(crate) struct Labels {
    differ: Vec<String>,
}

impl Labels {
    /// Names that distinguish these cells.
    pub(crate) fn of(plan: &Plan, cells: &[&Cell]) -> Labels {
        Labels {
            differ: varying(plan, cells),
        }
    }

    /// The same without some factors: what a cell and its twin have in common.
    pub(crate) fn without(mut self, factors: &[&str]) -> Labels {
        self.differ.retain(|name| !factors.contains(&name.as_str()));
        self
    }

    /// The name of a cell.
    pub(crate) fn of_cell(&self, cell: &Cell) -> String {
        let words = self.differ.iter().filter_map(|factor| {
            let level = cell.levels.get(factor)?;
            word(factor, level)
        });
        let words: Vec<String> = words.collect();
        if words.is_empty() {
            return filesystem(cell);
        }
        words.join(" ")
    }
}

/// The filesystem as the study names it.
pub(crate) fn filesystem(cell: &Cell) -> String {
    let named = cell.levels.get("filesystem").cloned();
    named.unwrap_or_else(|| format!("{:?}", cell.filesystem.kind).to_lowercase())
}

/// A level in a name; none for one that is the absence of something.
fn word(factor: &str, level: &str) -> Option<String> {
    match (factor, level) {
        ("trace", "true") => Some("traced".to_owned()),
        ("trace", "false") | ("mount" | "mkfs", "default") | (_, "" | "none") => None,
        ("mount", options) => Some(format!("-o {options}")),
        ("filesystem" | "workload", level) => Some(level.to_owned()),
        (_, level) if level.starts_with('-') => Some(level.to_owned()),
        (factor, level) => Some(format!("{factor}={level}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_not_said() {
        let words = [
            ("mount", "default"),
            ("memory", "none"),
            ("limit", ""),
            ("memory", "96m"),
        ];
        let words: Vec<String> = words.iter().filter_map(|(f, l)| word(f, l)).collect();
        assert_eq!(words, ["memory=96m"]);
    }

    #[test]
    fn only_what_differs_is_said() {
        let plan = fixtures::example::plan();
        let mut cells: Vec<Cell> = plan.cells[..2].to_vec();
        for (cell, mount) in cells.iter_mut().zip(["", "nobarrier"]) {
            cell.levels.insert("mount".into(), mount.into());
            cell.levels.insert("trace".into(), "true".into());
            cell.levels.insert("workload".into(), "dd".into());
        }
        let both: Vec<&Cell> = cells.iter().collect();
        let labels = Labels::of(&plan, &both);
        // The first has no level to say: its filesystem represents it.
        assert_eq!(labels.of_cell(both[0]), "ext4");
        assert_eq!(labels.of_cell(both[1]), "-o nobarrier");
        cells[1].levels.insert("filesystem".into(), "xfs".into());
        cells[1].levels.insert("trace".into(), "false".into());
        cells[1].levels.insert("readahead".into(), "256".into());
        let both: Vec<&Cell> = cells.iter().collect();
        let labels = Labels::of(&plan, &both);
        assert_eq!(labels.of_cell(both[0]), "ext4 traced");
        assert_eq!(labels.of_cell(both[1]), "xfs -o nobarrier readahead=256");
        let labels = labels.without(&["trace"]);
        assert_eq!(labels.of_cell(both[0]), "ext4");
    }
}
