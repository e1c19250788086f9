//! The table of cells, and their names in the list of trials.

use std::fmt::Write as _;

use super::{MOST_CELLS, WIDTH, cut, cut_to, more};
use crate::model::{Cell, Plan};

/// The narrowest that a column becomes, and the space between two.
const LEAST: usize = 12;
const GAP: usize = 2;

/// The table of cells, a column for each factor.
pub(super) fn cells(out: &mut String, plan: &Plan) {
    let _ = writeln!(out, "\nCells ({})", plan.cells.len());
    let mut names: Vec<&str> = plan.factors.iter().map(|(name, _)| name.as_str()).collect();
    // A factor of one level distinguishes no cells, and is printed above: it is dropped where room is short.
    if (names.len() + 1) * (LEAST + GAP) > WIDTH {
        names.retain(|name| {
            let mut levels = plan.cells.iter().map(|cell| cell.levels.get(*name));
            let first = levels.next();
            levels.any(|level| Some(level) != first)
        });
    }
    let mut rows = vec![
        std::iter::once("cell")
            .chain(names.iter().copied())
            .map(str::to_owned)
            .collect::<Vec<String>>(),
    ];
    for cell in plan.cells.iter().take(MOST_CELLS) {
        let level = |name: &&str| {
            cell.levels
                .get(*name)
                .map_or("-", String::as_str)
                .to_owned()
        };
        let number = (cell.id + 1).to_string();
        rows.push(
            std::iter::once(number)
                .chain(names.iter().map(level))
                .collect(),
        );
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..=names.len()).map(width).collect();
    narrow(&mut widths);
    for row in &rows {
        let mut line = String::from(" ");
        for (index, (text, width)) in row.iter().zip(&widths).enumerate() {
            let text = cut_to(text, *width);
            let _ = match index {
                0 => write!(line, " {text:>width$}"),
                _ => write!(line, "  {text:<width$}"),
            };
        }
        out.push_str(&cut(line.trim_end()));
        out.push('\n');
    }
    more(out, plan.cells.len(), MOST_CELLS);
}

/// Takes from the widest columns until a row fits, so that a long level of mount options does not
/// push the other factors out.
fn narrow(widths: &mut [usize]) {
    while widths.iter().map(|width| width + GAP).sum::<usize>() > WIDTH {
        match widths.iter_mut().max() {
            Some(widest) if *widest > LEAST => *widest -= 1,
            _ => return,
        }
    }
}

/// The names of all cells: `FACTOR=LEVEL ...` where they fit into a line of trials, else the levels
/// alone, in the order of the table of cells.
pub(super) fn labels(plan: &Plan, room: usize) -> Vec<String> {
    let whole: Vec<String> = plan.cells.iter().map(Cell::label).collect();
    if whole.iter().all(|label| label.chars().count() <= room) {
        return whole;
    }
    let levels = |cell: &Cell| {
        let factors = plan.factors.iter();
        let levels = factors.filter_map(|(name, _)| cell.levels.get(name));
        levels.cloned().collect::<Vec<_>>().join(" ")
    };
    plan.cells.iter().map(levels).collect()
}
