//! A compact matrix: one short cell for each row and column, in as many columns as fit the width.
//!
//! The parts of the cells of a column are aligned (`0.51 0.44-0.60 -`), so that a column is read from top
//! to bottom as well as a row from left to right. Columns that do not fit follow in a second panel
//! with the labels repeated, as the mail tables do it.

use super::{cap, nested};

/// Rows of cells, each cut into its aligned parts.
pub(super) struct Matrix {
    /// What the cells are: printed above the labels.
    pub corner: String,
    /// Headings of the columns of figures.
    pub columns: Vec<String>,
    /// Headings above each of these, the outermost first; empty where there are none.
    pub above: Vec<Vec<String>>,
    /// Label and one cell for each column.
    pub rows: Vec<(String, Vec<Cell>)>,
}

/// The parts of a cell: the first is set to the right, the others to the left.
pub(super) type Cell = Vec<String>;

/// A column, ready to print.
struct Column {
    name: String,
    above: Vec<String>,
    cells: Vec<String>,
    width: usize,
}

impl Matrix {
    /// The matrix in panels of at most `width` columns of characters.
    pub(super) fn print(&self, width: usize) -> String {
        let columns = 0..self.columns.len();
        let mut columns: Vec<Column> = columns.map(|c| self.column(c)).collect();
        // Names give way, numbers do not.
        let widest = columns.iter().map(|c| c.width).max().unwrap_or(0);
        let names = self.rows.iter().map(|(label, _)| length(label));
        let longest = names.chain([length(&self.corner)]).max().unwrap_or(0);
        let label = longest.min(width.saturating_sub(widest + 2).max(8));
        for column in &mut columns {
            column.name = cap(&column.name, width.saturating_sub(label + 2));
            column.width = column.width.max(length(&column.name));
        }
        // One space between columns only where it saves a panel.
        let (wide, tight) = (
            panels(&columns, label, 2, width),
            panels(&columns, label, 1, width),
        );
        let (gap, panels) = if tight.len() < wide.len() {
            (1, tight)
        } else {
            (2, wide)
        };
        panels
            .into_iter()
            .map(|panel| self.print_panel(panel, label, gap))
            .collect()
    }

    /// A column as wide as its cells.
    fn column(&self, at: usize) -> Column {
        let cells: Vec<&[String]> = self
            .rows
            .iter()
            .map(|(_, cells)| cells.get(at).map_or(&[][..], Vec::as_slice))
            .collect();
        let parts = cells.iter().map(|parts| parts.len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..parts)
            .map(|p| {
                let of_part = cells.iter().filter_map(|parts| parts.get(p));
                of_part.map(|part| length(part)).max().unwrap_or(0)
            })
            .collect();
        let cells: Vec<String> = cells
            .iter()
            .map(|parts| {
                let set: Vec<String> = parts
                    .iter()
                    .zip(&widths)
                    .enumerate()
                    .map(|(p, (part, &w))| match p {
                        0 => format!("{part:>w$}"),
                        _ => format!("{part:w$}"),
                    })
                    .collect();
                set.join(" ").trim_end().to_owned()
            })
            .collect();
        Column {
            width: cells.iter().map(|cell| length(cell)).max().unwrap_or(0),
            name: self.columns[at].clone(),
            above: self.above.get(at).cloned().unwrap_or_default(),
            cells,
        }
    }

    fn print_panel(&self, columns: &[Column], label: usize, gap: usize) -> String {
        let first = |text: &str| format!("{:label$}", cap(text, label));
        let mut lines = vec![first(&self.corner)];
        lines.extend(self.rows.iter().map(|(name, _)| first(name)));
        let between = " ".repeat(gap);
        for column in columns {
            let width = column.width;
            let texts = std::iter::once(&column.name).chain(&column.cells);
            for (line, text) in lines.iter_mut().zip(texts) {
                line.push_str(&between);
                line.push_str(&format!("{text:width$}"));
            }
        }
        let shared: Vec<(&[String], usize)> = columns
            .iter()
            .map(|column| (column.above.as_slice(), column.width + gap))
            .collect();
        let above = nested::lines(&shared).into_iter();
        let above = above.map(|line| " ".repeat(label + gap) + &line);
        let lines: Vec<String> = above.chain(lines).collect();
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n") + "\n"
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Splits the columns so that each panel fits; a column that is too wide is alone.
fn panels(columns: &[Column], label: usize, gap: usize, width: usize) -> Vec<&[Column]> {
    let mut panels = Vec::new();
    let mut begin = 0;
    while begin < columns.len() {
        let mut end = begin + 1;
        let mut used = label + gap + columns[begin].width;
        while end < columns.len() && used + gap + columns[end].width <= width {
            used += gap + columns[end].width;
            end += 1;
        }
        panels.push(&columns[begin..end]);
        begin = end;
    }
    panels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(columns: usize) -> Matrix {
        Matrix {
            corner: "ratio".to_owned(),
            columns: (0..columns).map(|c| format!("fs{c}")).collect(),
            above: Vec::new(),
            rows: vec![
                (
                    "write".to_owned(),
                    vec![vec!["0.5".into(), "0.44-0.6".into()]; columns],
                ),
                ("read".to_owned(), vec![vec!["-".into()]; columns]),
            ],
        }
    }

    #[test]
    fn parts_stand_below_each_other() {
        assert_eq!(
            matrix(2).print(78),
            "ratio  fs0           fs1\nwrite  0.5 0.44-0.6  0.5 0.44-0.6\nread     -             -\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn panels_fit_and_keep_every_column(columns in 1usize..12, width in 19usize..90) {
            let out = matrix(columns).print(width);
            proptest::prop_assert!(out.lines().all(|l| length(l) <= width), "{}", out);
            for c in 0..columns {
                let name = format!("fs{c}");
                proptest::prop_assert_eq!(out.split_whitespace().filter(|w| *w == name).count(), 1);
            }
        }
    }
}
