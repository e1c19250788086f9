//! The side-by-side table of the 2009 thread.
//!
//! Filesystems are column groups, rows are metrics, each place is `value unit (stddev)`; the value
//! is `%5.1f`, the stddev `%.1f` padded to the widest of its column. Two differences: a number in
//! doubt carries its worst mark right behind the parenthesis, in the gap between the groups; and a
//! row with values below 1, which the original never had, gets the decimals that show them.
//! More groups than fit the width are printed as stacked panels with the row labels repeated.

use crate::model::{Figure, Mark, Row, Table};

/// Between the label and the first group, and between groups.
const GAP: usize = 2;
/// ` Mean Stddev`: what a group needs for its heading.
const HEADING: usize = 12;

/// A place, cut into its parts.
struct Place {
    value: String,
    unit: String,
    stddev: String,
    mark: Option<char>,
}

/// One column group with the widths of its parts.
struct Group {
    name: String,
    value: usize,
    unit: usize,
    stddev: usize,
    places: Vec<Place>,
}

impl Group {
    fn of(table: &Table, column: usize) -> Group {
        let places: Vec<Place> = table
            .rows
            .iter()
            .map(|row| place(row, &row.figures[column], decimals(row)))
            .collect();
        let widest = |part: fn(&Place) -> &str| {
            places
                .iter()
                .map(|p| part(p).chars().count())
                .max()
                .unwrap_or(0)
        };
        Group {
            name: table.columns[column].name.clone(),
            value: widest(|p| &p.value).max(5),
            unit: widest(|p| &p.unit),
            stddev: widest(|p| &p.stddev),
            places,
        }
    }

    /// Width without the gap.
    fn width(&self) -> usize {
        (self.value + 1 + self.unit + 1 + self.stddev + 2)
            .max(HEADING)
            .max(self.name.chars().count())
    }

    fn place(&self, row: usize) -> String {
        let Place {
            value,
            unit,
            stddev,
            mark,
        } = &self.places[row];
        let (v, u, s) = (self.value, self.unit, self.stddev);
        let text = if stddev.is_empty() {
            format!("{value:>v$} {unit:u$}")
        } else {
            format!("{value:>v$} {unit:u$} ({stddev:>s$})")
        };
        match mark {
            Some(mark) => format!("{text}{mark}"),
            None => text,
        }
    }

    fn heading(&self) -> String {
        let inner = self.value + 1 + self.unit + 1 + self.stddev + 2;
        let rest = inner.max(HEADING) - 5;
        format!(" Mean{:>rest$}", "Stddev")
    }
}

/// One decimal, as the original; more where it would print two different values as 0.0.
pub(crate) fn decimals(row: &Row) -> usize {
    let least = row
        .figures
        .iter()
        .filter_map(Figure::mean)
        .map(f64::abs)
        .filter(|mean| *mean > 0.0)
        .fold(f64::INFINITY, f64::min);
    match least {
        v if v >= 1.0 => 1,
        v if v >= 0.1 => 2,
        _ => 3,
    }
}

fn place(row: &Row, figure: &Figure, decimals: usize) -> Place {
    let mark = figure.worst().map(Mark::sign);
    match &figure.summary {
        Some(summary) => Place {
            value: format!("{:.decimals$}", summary.mean),
            unit: row.unit.clone(),
            stddev: summary
                .stddev
                .map_or_else(|| "-".to_owned(), |s| format!("{s:.decimals$}")),
            mark,
        },
        None => Place {
            value: "-".to_owned(),
            unit: String::new(),
            stddev: String::new(),
            mark,
        },
    }
}

/// The table, its panels within `width`.
pub(super) fn print(table: &Table, width: usize) -> String {
    let groups: Vec<Group> = (0..table.columns.len())
        .map(|c| Group::of(table, c))
        .collect();
    let label = table
        .rows
        .iter()
        .map(|r| r.label.chars().count() + 1)
        .max()
        .unwrap_or(0)
        .max("Type".len())
        + GAP;
    let mut out = super::wrap("", 0, &table.title, width);
    out.push_str(&super::wrap("", 0, &table.subtitle, width));
    for panel in panels(&groups, label, width) {
        out.push('\n');
        out.push_str(&print_panel(table, panel, label));
    }
    out
}

/// Splits the groups so that each panel fits; a group that is too wide stands alone.
fn panels(groups: &[Group], label: usize, width: usize) -> Vec<&[Group]> {
    let mut panels = Vec::new();
    let mut begin = 0;
    while begin < groups.len() {
        let mut end = begin + 1;
        // One more than the group for the mark of its last place.
        let mut used = label.saturating_add(groups[begin].width() + 1);
        while end < groups.len() && used + GAP + groups[end].width() <= width {
            used += GAP + groups[end].width();
            end += 1;
        }
        panels.push(&groups[begin..end]);
        begin = end;
    }
    panels
}

fn print_panel(table: &Table, groups: &[Group], label: usize) -> String {
    let mut lines = vec![" ".repeat(label), format!("{:label$}", "Type")];
    for row in &table.rows {
        lines.push(format!("{:label$}", format!("{}:", row.label)));
    }
    for group in groups {
        // The mark of a place stands in the gap behind it.
        let width = group.width() + GAP;
        lines[0].push_str(&format!("{:width$}", group.name));
        lines[1].push_str(&format!("{:width$}", group.heading()));
        for row in 0..table.rows.len() {
            lines[row + 2].push_str(&format!("{:width$}", group.place(row)));
        }
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    lines.join("\n") + "\n"
}
