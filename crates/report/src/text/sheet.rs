//! A table with label columns, wrapped heads and places of several lines.
//!
//! Heads are long (`XFS - xfs_repair time (Seconds)`) and numbers short, so heads are wrapped as little
//! as makes the table fit; what then still does not fit follows in a second block, the labels
//! repeated. No line is wider than the report.

use super::cap;

/// Widths at which heads are wrapped, tried in this order.
const HEADS: [usize; 4] = [usize::MAX, 20, 14, 10];
/// Between columns.
const GAP: usize = 2;

/// Head of a figure column.
pub(super) struct Title {
    /// Wrapped where needed.
    pub label: String,
    /// Its last line: unit and clock.
    pub below: String,
}

/// A table, ready to print.
pub(super) struct Sheet {
    /// Heads of the label columns.
    pub labels: Vec<String>,
    /// Heads of the figure columns.
    pub columns: Vec<Title>,
    /// Labels of each row, and the lines of each of its places.
    pub rows: Vec<(Vec<String>, Vec<Vec<String>>)>,
}

/// A column as lines: its head's, a rule, and those of every row.
struct Column {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    width: usize,
}

impl Sheet {
    /// The table in blocks of at most `width` characters.
    pub(super) fn print(&self, width: usize) -> String {
        let layouts = HEADS.map(|head| self.layout(head));
        let blocks = |at: usize| self.blocks(&layouts[at], width).len();
        // The widest heads that cut no column off and need no more blocks than the narrowest.
        let cost = |at: usize| (self.cut(&layouts[at], width), blocks(at));
        let least = (0..layouts.len()).map(cost).min();
        let best = (0..layouts.len()).find(|at| Some(cost(*at)) == least);
        let columns = &layouts[best.unwrap_or(0)];
        let labels = &columns[..self.labels.len()];
        let printed: Vec<String> = self
            .blocks(columns, width)
            .into_iter()
            .map(|block| self.block(labels.iter().chain(block), width))
            .collect();
        printed.join("\n")
    }

    fn layout(&self, head: usize) -> Vec<Column> {
        let labels = self.labels.iter().enumerate().map(|(at, label)| {
            let rows = self.rows.iter().map(|(labels, _)| {
                let label = labels.get(at).cloned().unwrap_or_default();
                vec![label]
            });
            column(wrapped(label, head), rows.collect())
        });
        let columns = self.columns.iter().enumerate().map(|(at, title)| {
            let mut lines = wrapped(&title.label, head);
            if !title.below.is_empty() {
                lines.push(title.below.clone());
            }
            let rows = self.rows.iter().map(|(_, places)| {
                let place = places.get(at).map_or(&[][..], Vec::as_slice);
                place.to_vec()
            });
            column(lines, rows.collect())
        });
        labels.chain(columns).collect()
    }

    /// Columns that no block has room for.
    fn cut(&self, columns: &[Column], width: usize) -> usize {
        let (labels, figures) = columns.split_at(self.labels.len());
        let label: usize = labels.iter().map(|c| c.width + GAP).sum();
        let too_wide = |column: &&Column| label.saturating_add(column.width) > width;
        figures.iter().filter(too_wide).count()
    }

    /// Splits the figure columns; one that is too wide stands alone.
    fn blocks<'a>(&self, columns: &'a [Column], width: usize) -> Vec<&'a [Column]> {
        let (labels, figures) = columns.split_at(self.labels.len());
        let label: usize = labels.iter().map(|c| c.width + GAP).sum();
        let mut blocks = Vec::new();
        let mut begin = 0;
        while begin < figures.len() {
            let mut end = begin + 1;
            let mut used = label.saturating_add(figures[begin].width);
            while end < figures.len() && used + GAP + figures[end].width <= width {
                used += GAP + figures[end].width;
                end += 1;
            }
            blocks.push(&figures[begin..end]);
            begin = end;
        }
        blocks
    }

    fn block<'a>(&self, columns: impl Iterator<Item = &'a Column>, width: usize) -> String {
        let columns: Vec<&Column> = columns.collect();
        let mut lines: Vec<String> = Vec::new();
        let tallest = columns.iter().map(|c| c.head.len()).max().unwrap_or(0);
        for at in 0..tallest {
            lines.push(joined(&columns, |c| c.head.get(at)));
        }
        let rules: Vec<String> = columns.iter().map(|c| rule(c)).collect();
        let mut rules = rules.iter();
        lines.push(joined(&columns, |_| rules.next()));
        for row in 0..self.rows.len() {
            let tallest = columns.iter().map(|c| c.rows[row].len()).max().unwrap_or(1);
            for at in 0..tallest {
                lines.push(joined(&columns, |c| c.rows[row].get(at)));
            }
        }
        lines
            .iter()
            .map(|line| cap(line.trim_end(), width) + "\n")
            .collect()
    }
}

fn column(head: Vec<String>, rows: Vec<Vec<String>>) -> Column {
    let widest = head
        .iter()
        .chain(rows.iter().flatten())
        .map(|t| length(t))
        .max();
    Column {
        width: widest.unwrap_or(0),
        head,
        rows,
    }
}

/// As wide as the head, as in 2008.
fn rule(column: &Column) -> String {
    let widest = column.head.iter().map(|line| length(line)).max();
    "-".repeat(widest.unwrap_or(0).max(4).min(column.width.max(1)))
}

fn joined<'a, 'b>(
    columns: &[&'a Column],
    mut text: impl FnMut(&'a Column) -> Option<&'b String>,
) -> String {
    let mut line = String::new();
    for column in columns {
        let text = text(column).map_or("", String::as_str);
        let width = column.width + GAP;
        line.push_str(&format!("{text:width$}"));
    }
    line
}

/// A head as lines of at most `width` characters, broken at spaces; a longer word stays whole.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if length(line).saturating_add(1 + length(word)) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let title = |label: &str| Title {
            label: label.to_owned(),
            below: String::new(),
        };
        let place = |lines: &[&str]| lines.iter().map(|l| (*l).to_owned()).collect();
        Sheet {
            labels: vec!["Ext4".to_owned()],
            columns: [
                "Read",
                "Read (RA=4K)",
                "Read (RA=64K)",
                "Write",
                "Write(+mntopts)",
            ]
            .map(title)
            .into(),
            rows: vec![
                (
                    vec!["2.6.26-rc3".to_owned()],
                    vec![
                        place(&["122"]),
                        place(&[]),
                        place(&[]),
                        place(&["144"]),
                        place(&[]),
                    ],
                ),
                (
                    vec!["2.6.26-rc5".to_owned()],
                    vec![
                        place(&["117"]),
                        place(&["509 [1]"]),
                        place(&["570"]),
                        place(&[]),
                        place(&["295 [2]", "281"]),
                    ],
                ),
            ],
        }
    }

    #[test]
    fn the_table_of_2008_token_for_token() {
        let out = sheet().print(78);
        let original = "Ext4 Read Read (RA=4K) Read (RA=64K) Write Write(+mntopts)\n\
            ---- ---- ------------ ------------- ----- ---------------\n\
            2.6.26-rc3 122 144\n\
            2.6.26-rc5 117 509 [1] 570 295 [2]\n\
            281\n";
        let collapsed: String = out
            .lines()
            .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
            .collect();
        assert_eq!(collapsed, original, "{out}");
        // Empty places keep their columns.
        let lines: Vec<&str> = out.lines().collect();
        let column = |line: &str, text: &str| line.find(text);
        assert_eq!(column(lines[0], "Write "), column(lines[2], "144"));
        assert_eq!(column(lines[0], "Write("), column(lines[4], "281"));
    }

    /// Two long label heads and one long head: nothing is to be split, and the head was cut off.
    #[test]
    fn heads_are_wrapped_before_they_are_cut() {
        let out = Sheet {
            labels: vec![
                "File System Size (in MiB)".to_owned(),
                "Number of Files (in Thousands)".to_owned(),
            ],
            columns: vec![Title {
                label: "ext4 - fsck time (Seconds)".to_owned(),
                below: "secs (a)".to_owned(),
            }],
            rows: vec![(
                vec!["1080".to_owned(), "20.4".to_owned()],
                vec![vec!["0.0729".to_owned()]],
            )],
        }
        .print(78);
        assert!(!out.contains(".."), "{out}");
        assert!(out.contains("(Seconds)"), "{out}");
    }

    proptest::proptest! {
        #[test]
        fn no_line_is_too_wide_and_no_place_is_lost(width in 30usize..100) {
            let out = sheet().print(width);
            proptest::prop_assert!(out.lines().all(|l| length(l) <= width), "{}", out);
            for text in ["122", "144", "117", "509", "570", "295", "281"] {
                let found = out.split_whitespace().filter(|w| *w == text).count();
                proptest::prop_assert_eq!(found, 1, "{} in {}", text, out);
            }
        }
    }
}
