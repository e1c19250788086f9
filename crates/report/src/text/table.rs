//! The side-by-side table of the 2009 thread.
//!
//! Filesystems are column groups, rows are metrics, each place is `value unit (stddev)`; the value
//! is `%5.1f`, the stddev `%.1f` padded to the widest of its column. Two differences: a number in
//! doubt carries its worst mark right after the parenthesis, in the gap between the groups; and a
//! row with values below 1, which the original never had, gets the decimals that show them.
//! More groups than fit the width are printed as stacked panels with the row labels repeated.
//!
//! The published numbers are printed in the same layout right below. They carry no marks, so where
//! it saves a panel they are one space apart and without colons.

use super::nested;
use crate::model::{Figure, Mark, Row, Table};
use crate::published::Document;
use crate::sentences::{decimals, decimals_of};

/// Between the label and the first group, and between groups.
const GAP: usize = 2;
/// `%5.1f`: what a value of the original takes at least.
const VALUE: usize = 5;
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
    /// Headings above the name, the outermost first.
    above: Vec<String>,
    value: usize,
    unit: usize,
    stddev: usize,
    places: Vec<Place>,
}

impl Group {
    fn of(name: &str, narrowest: usize, places: Vec<Place>) -> Group {
        let widest = |part: fn(&Place) -> &str| {
            places
                .iter()
                .map(|p| part(p).chars().count())
                .max()
                .unwrap_or(0)
        };
        Group {
            name: name.to_owned(),
            above: Vec::new(),
            value: widest(|p| &p.value).max(narrowest),
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

/// Title, subtitle and the table, its panels within `width`.
pub(super) fn print(table: &Table, width: usize) -> String {
    let mut out = super::wrap("", 0, &table.title, width);
    if !table.subtitle.is_empty() {
        out.push_str(&super::wrap("", 0, &table.subtitle, width));
    }
    out.push('\n');
    out.push_str(&sheet(table, true, width).print(width, "\n"));
    out
}

/// The panels alone, one right below the other and without their second heading: for the tables
/// that repeat the main ones with another clock.
pub(super) fn body(table: &Table, width: usize) -> String {
    sheet(table, false, width).print(width, "")
}

fn sheet(table: &Table, headings: bool, width: usize) -> Sheet {
    let groups: Vec<Group> = table
        .columns
        .iter()
        .enumerate()
        .map(|(c, column)| {
            let places = table
                .rows
                .iter()
                .map(|row| place(row, &row.figures[c], decimals(row)));
            let (above, name) = column.headings();
            let name = super::cap(name, width / 2 - 1);
            Group {
                above: above.to_vec(),
                ..Group::of(&name, VALUE, places.collect())
            }
        })
        .collect();
    let label = |row: &Row| format!("{}:", super::cap(&row.label, width / 2 - GAP - 1));
    let labels = table.rows.iter().map(label);
    Sheet {
        labels: labels.collect(),
        groups,
        gap: GAP,
        headings,
    }
}

/// The published numbers of the table's places in the table's layout.
pub(super) fn published(document: &Document, table: &Table, width: usize) -> String {
    let rows: Vec<&Row> = table
        .rows
        .iter()
        .filter(|row| row.figures.iter().any(|f| f.published.is_some()))
        .collect();
    let groups = |narrowest| {
        let with = |c: &usize| rows.iter().any(|row| row.figures[*c].published.is_some());
        let columns = (0..table.columns.len()).filter(with);
        columns
            .map(|c| {
                let places = rows.iter().map(|row| published_place(row, &row.figures[c]));
                let name = super::cap(&table.columns[c].name, width / 2 - 1);
                Group::of(&name, narrowest, places.collect())
            })
            .collect()
    };
    let sheet = |colon: &str, gap, narrowest| Sheet {
        labels: rows
            .iter()
            .map(|r| super::cap(&r.label, width / 2 - GAP - 1) + colon)
            .collect(),
        groups: groups(narrowest),
        gap,
        headings: true,
    };
    let (wide, tight) = (sheet(":", GAP, VALUE), sheet("", 1, 1));
    let sheet = if tight.panels(width).len() < wide.panels(width).len() {
        tight
    } else {
        wide
    };
    let runs = runs(table).map_or(String::new(), |n| format!(", mean of {n} runs"));
    let title = format!("{}{runs}, other hardware", document.short());
    super::wrap("", 0, &title, width) + &sheet.print(width, "\n")
}

fn published_place(row: &Row, figure: &Figure) -> Place {
    let values = row.figures.iter().filter_map(|f| Some(f.published?.value));
    let decimals = decimals_of(values);
    let written = |value: f64| format!("{value:.decimals$}");
    Place {
        value: figure
            .published
            .map_or_else(|| "-".to_owned(), |p| written(p.value)),
        unit: figure
            .published
            .map_or_else(String::new, |_| row.unit.clone()),
        stddev: figure
            .published
            .and_then(|p| p.stddev)
            .map_or_else(String::new, written),
        mark: None,
    }
}

/// The runs of the published numbers, when all are of the same number.
fn runs(table: &Table) -> Option<u32> {
    let mut runs = table.figures().filter_map(|f| f.published?.n);
    let first = runs.next()?;
    runs.all(|other| other == first).then_some(first)
}

/// Labels and groups, ready to print.
struct Sheet {
    labels: Vec<String>,
    groups: Vec<Group>,
    gap: usize,
    /// Whether `Type Mean Stddev` is printed above the numbers.
    headings: bool,
}

impl Sheet {
    /// Width of the labels with the gap after them.
    fn label(&self) -> usize {
        let widest = self.labels.iter().map(|label| label.chars().count()).max();
        widest.unwrap_or(0).max("Type".len()) + self.gap
    }

    fn print(&self, width: usize, between: &str) -> String {
        let panels = self.panels(width).into_iter();
        let panels: Vec<String> = panels.map(|panel| self.print_panel(panel)).collect();
        panels.join(between)
    }

    /// Splits the groups so that each panel fits; a group that is too wide is alone.
    fn panels(&self, width: usize) -> Vec<&[Group]> {
        let groups = &self.groups;
        // Room for the mark of a last place, where there may be one.
        let marks = groups
            .iter()
            .flat_map(|g| &g.places)
            .any(|p| p.mark.is_some());
        let room = usize::from(marks);
        let mut panels = Vec::new();
        let mut begin = 0;
        while begin < groups.len() {
            let mut end = begin + 1;
            let mut used = self.label().saturating_add(groups[begin].width() + room);
            while end < groups.len() && used + self.gap + groups[end].width() <= width {
                used += self.gap + groups[end].width();
                end += 1;
            }
            panels.push(&groups[begin..end]);
            begin = end;
        }
        panels
    }

    fn print_panel(&self, groups: &[Group]) -> String {
        let label = self.label();
        let mut lines = vec![" ".repeat(label), format!("{:label$}", "Type")];
        lines.extend(self.labels.iter().map(|text| format!("{text:label$}")));
        for group in groups {
            // The mark of a place is in the gap after it.
            let width = group.width() + self.gap;
            lines[0].push_str(&format!("{:width$}", group.name));
            lines[1].push_str(&format!("{:width$}", group.heading()));
            for row in 0..self.labels.len() {
                lines[row + 2].push_str(&format!("{:width$}", group.place(row)));
            }
        }
        if !self.headings {
            lines.remove(1);
        }
        let shared: Vec<(&[String], usize)> = groups
            .iter()
            .map(|group| (group.above.as_slice(), group.width() + self.gap))
            .collect();
        let above = nested::lines(&shared).into_iter();
        let above = above.map(|line| " ".repeat(label) + &line);
        let lines: Vec<String> = above.chain(lines).collect();
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n") + "\n"
    }
}
