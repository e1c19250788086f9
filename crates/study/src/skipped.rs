//! Cells that a study skips by itself: by its rules (`exclude`), and because they would repeat another cell.
//!
//! A plan prints how many are skipped, and why. Only those that would have run otherwise are counted: a user who selects
//! `--filter workload=write` does not need the mount options that are excluded for reads. So the cells are
//! kept here until the filters are known.

use crate::filter::Filters;
use crate::model::Cell;
use crate::placed::Placed;

/// Cells that were skipped for the same reason.
#[derive(Clone, Debug)]
pub(crate) struct Skipped {
    cells: Vec<Cell>,
    /// What follows "2 cells are": `excluded (filesystem=xfs): why`.
    words: String,
}

impl Skipped {
    /// Takes the cells out that are not to be kept, and renumbers the others. None when all were kept.
    pub(crate) fn take(
        cells: &mut Vec<Placed>,
        keep: impl Fn(&Placed) -> bool,
        words: impl Into<String>,
    ) -> Option<Skipped> {
        let taken: Vec<Cell> = cells
            .extract_if(.., |placed| !keep(placed))
            .map(|placed| placed.cell)
            .collect();
        for (id, placed) in (0..).zip(cells.iter_mut()) {
            placed.cell.id = id;
        }
        (!taken.is_empty()).then(|| Skipped {
            cells: taken,
            words: words.into(),
        })
    }

    /// `2 cells are excluded (filesystem=xfs)`: those of them that pass the filters; none when none does.
    pub(crate) fn note(&self, filters: &Filters<'_>) -> Option<String> {
        let passing = self.cells.iter().filter(|cell| filters.pass(cell)).count();
        match passing {
            0 => None,
            1 => Some(format!("1 cell is {}", self.words)),
            n => Some(format!("{n} cells are {}", self.words)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Study};

    /// The notes of the allocation study under these filters, or why there is no plan.
    fn notes(filters: &[&str]) -> String {
        let study = Study::load("allocation").unwrap();
        let overrides = Overrides {
            filter: filters.iter().map(|&text| text.to_owned()).collect(),
            ..Overrides::default()
        };
        let text = match crate::plan(&study, &overrides) {
            Ok(plan) => plan.notes.join("\n"),
            Err(error) => error.to_string(),
        };
        format!("filters {filters:?}:\n{text}\n")
    }

    #[test]
    fn notes_are_of_cells_that_would_have_run() {
        let all = [
            notes(&[]),
            notes(&["filesystem=xfs"]),
            notes(&["filesystem=xfs,ext4", "trace=true"]),
            notes(&["mount=default", "trace=false"]),
            notes(&["filesystem=ext3", "mount=nobarrier"]),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }
}
