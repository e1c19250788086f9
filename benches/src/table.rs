//! Tables within 78 columns whose last column says whether the target was met.

use std::fmt::Write;

use crate::pairs::Pairs;

/// One line of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// Its cells.
    pub cells: Vec<String>,
    /// The target as text (`>= 1.00`).
    pub target: String,
    /// Whether it was met.
    pub met: bool,
}

impl Row {
    /// A line.
    pub fn new(
        name: impl Into<String>,
        cells: impl Into<Vec<String>>,
        target: impl Into<String>,
        met: bool,
    ) -> Row {
        Row {
            name: name.into(),
            cells: cells.into(),
            target: target.into(),
            met,
        }
    }

    /// A line of four cells (both medians, ratio, ratios of pairs) whose ratio is to be at least
    /// `target`.
    pub fn at_least(name: &str, pairs: &Pairs, cells: [String; 4], target: f64) -> Row {
        let met = pairs.ratio() >= target;
        Row::new(name, cells, format!(">= {target:.2}"), met)
    }
}

/// A table: title, column heads between the name and the target, and rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// First line.
    pub title: String,
    /// Heads of the cells.
    pub heads: Vec<String>,
    /// Lines.
    pub rows: Vec<Row>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>, heads: &[&str]) -> Table {
        Table {
            title: title.into(),
            heads: heads.iter().map(|&h| h.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Whether every row met its target.
    pub fn all_met(&self) -> bool {
        self.rows.iter().all(|row| row.met)
    }

    /// As text: names left, numbers right.
    pub fn text(&self) -> String {
        let name_width = self.rows.iter().map(|r| r.name.len()).max().unwrap_or(0);
        let width = |i: usize| {
            let cells = self.rows.iter().filter_map(|r| r.cells.get(i));
            cells
                .map(String::len)
                .chain([self.heads[i].len()])
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heads.len()).map(width).collect();
        let target_width = self
            .rows
            .iter()
            .map(|r| r.target.len())
            .max()
            .unwrap_or(0)
            .max(6);
        let line = |name: &str, cells: &[String], target: &str, verdict: &str| {
            let mut line = format!("{name:name_width$}");
            for (cell, width) in cells.iter().zip(&widths) {
                let _ = write!(line, "  {cell:>width$}");
            }
            let _ = write!(line, "  {target:>target_width$}  {verdict}");
            line.trim_end().to_owned() + "\n"
        };
        let mut text = format!("{}\n", self.title);
        text.push_str(&line("", &self.heads, "target", ""));
        for row in &self.rows {
            let verdict = if row.met { "pass" } else { "MISS" };
            text.push_str(&line(&row.name, &row.cells, &row.target, verdict));
        }
        text
    }
}

/// Prints tables as they are ready.
#[derive(Debug)]
pub struct Printer {
    met: bool,
}

impl Default for Printer {
    fn default() -> Printer {
        Printer { met: true }
    }
}

impl Printer {
    /// Prints one.
    pub fn show(&mut self, table: &Table) {
        println!("{}", table.text());
        self.met &= table.all_met();
    }

    /// Whether every row of every table met its target.
    pub fn all_met(&self) -> bool {
        self.met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_misses_stand_out() {
        let mut table = Table::new("Speed", &["ours", "ratio"]);
        for (name, ours, met) in [("read", "9.0", true), ("random write", "1234.5", false)] {
            let cells = [ours.to_owned(), "1.00".to_owned()];
            table.rows.push(Row::new(name, cells, ">= 0.95", met));
        }
        assert!(!table.all_met());
        assert_eq!(
            table.text(),
            "Speed\n\
             \x20               ours  ratio   target\n\
             read             9.0   1.00  >= 0.95  pass\n\
             random write  1234.5   1.00  >= 0.95  MISS\n"
        );
    }
}
