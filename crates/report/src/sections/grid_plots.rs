//! Bar plots of a grid: what can be compared by eye, drawn like a table's rows.
//!
//! Columns of one unit and clock are bars beside each other, one plot for each row of the grid:
//! a read at three readaheads, the checks of two filesystems. A rate or a time that is alone with its
//! unit gets a plot over the rows instead. Counts and sizes stay numbers. There is no base, so no bar
//! has the colour of a verdict.

use crate::doc::{Drawing, Plot};
use crate::grid::{Head, Line, Panel, Place};
use crate::model::{Column, Figure, Row, Table};

/// The plots of a panel.
pub(super) fn plots(panel: &Panel) -> Vec<Plot<'static>> {
    let mut done: Vec<(&str, study::Clock)> = Vec::new();
    let mut plots = Vec::new();
    for head in panel.columns.iter().filter(|head| head.is_timed()) {
        let key = (head.unit.as_str(), head.clock);
        if done.contains(&key) {
            continue;
        }
        done.push(key);
        let same = |at: &usize| {
            let other = &panel.columns[*at];
            (other.unit.as_str(), other.clock) == key
        };
        let columns: Vec<usize> = (0..panel.columns.len()).filter(same).collect();
        match columns.as_slice() {
            [only] => plots.extend(over_lines(panel, *only, head)),
            columns => plots.extend(
                panel
                    .lines
                    .iter()
                    .filter_map(|l| over_columns(panel, l, columns)),
            ),
        }
    }
    plots
}

/// Bars are columns; the row names the plot.
fn over_columns(panel: &Panel, line: &Line, columns: &[usize]) -> Option<Plot<'static>> {
    let bars = columns
        .iter()
        .map(|at| (panel.columns[*at].label.clone(), &line.places[*at]));
    draw(&line.name, &panel.columns[columns[0]], bars.collect())
}

/// Bars are rows; the column names the plot.
fn over_lines(panel: &Panel, at: usize, head: &Head) -> Option<Plot<'static>> {
    let bars = panel
        .lines
        .iter()
        .map(|line| (line.name.clone(), &line.places[at]));
    draw(&head.label, head, bars.collect())
}

/// None without two places to compare, or without a number.
fn draw(label: &str, head: &Head, bars: Vec<(String, &Place)>) -> Option<Plot<'static>> {
    let bars: Vec<_> = bars
        .into_iter()
        .filter(|(_, p)| p.figure.cell.is_some())
        .collect();
    if bars.len() < 2 || bars.iter().all(|(_, p)| p.figure.summary.is_none()) {
        return None;
    }
    let column = |name: &String| Column {
        name: name.clone(),
        path: Vec::new(),
        fixed: crate::layout::Levels::new(),
        published: None,
    };
    let figures: Vec<Figure> = bars.iter().map(|(_, place)| place.figure.clone()).collect();
    let table = Table {
        title: String::new(),
        subtitle: String::new(),
        columns: bars.iter().map(|(name, _)| column(name)).collect(),
        rows: Vec::new(),
        // No column is the base.
        base: bars.len(),
        family: 0,
    };
    let row = Row {
        label: label.to_owned(),
        phase: Some(head.phase.clone()),
        metric: Some(head.metric.clone()),
        clock: Some(head.clock),
        unit: head.unit.clone(),
        fixed: crate::layout::Levels::new(),
        figures,
    };
    Some(Plot {
        label: label.to_owned(),
        unit: head.unit.clone(),
        clock: head.clock.mark(),
        few: String::new(),
        reach: 0.0,
        drawing: Drawing::Places(Box::new((table, row))),
    })
}
