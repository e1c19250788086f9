//! Tables in a mail: wrapped heads, places of several lines, and no line wider than the report.
//!
//! Heads are long (`XFS - xfs_repair time (Seconds)`) and numbers short, so heads are wrapped as little
//! as makes the table fit. If that is not enough, columns that can be spared are left out. Row labels
//! that are as long as a line (mount options) become numbers with a list above the table. What still
//! does not fit follows in a second block with the labels repeated.

use super::{cap, wrap};
use crate::doc::{self, Sheet};

/// Widths at which heads are wrapped, tried in this order.
const HEADS: [usize; 4] = [usize::MAX, 20, 14, 10];
/// Between columns.
const GAP: usize = 2;
/// The longest row label that never becomes a number.
const SHORT: usize = 26;

/// Row labels of a section that became numbers: what follows them uses the numbers, too.
#[derive(Default)]
pub(super) struct Names {
    known: Vec<(String, String)>,
}

impl Names {
    /// The number of a label; the label itself where it has none.
    pub(super) fn short<'n>(&'n self, label: &'n str) -> &'n str {
        let known = self.known.iter().find(|(known, _)| known == label);
        known.map_or(label, |(_, number)| number)
    }

    /// A table in blocks of at most `width` characters. The list of its labels is above it where they
    /// became numbers and it was not printed before.
    pub(super) fn print(&mut self, sheet: &Sheet, width: usize) -> String {
        let mut labels = labels(sheet);
        let long = labels.iter().any(|label| length(label) > SHORT);
        let whole = Layout::new(sheet, &labels, u8::MAX, HEADS[0]);
        let mut list = String::new();
        if long && sheet.labels == 1 && !sheet.ruled && !whole.fits(width) {
            for label in &labels {
                if self.short(label) == label {
                    let number = format!("[{}]", self.known.len() + 1);
                    list.push_str(&wrap(&format!("  {number} "), 6, label, width));
                    self.known.push((label.clone(), number));
                }
            }
            if !list.is_empty() {
                list.push('\n');
            }
            labels = labels.iter().map(|l| self.short(l).to_owned()).collect();
        }
        list + &Layout::fitting(sheet, &labels, width).print(sheet, width)
    }
}

/// The first label of each row; that of a group only where the group begins.
fn labels(sheet: &Sheet) -> Vec<String> {
    let mut group = None;
    let first = |row: &doc::Row| row.cells.first().map(|cell| cell.lines.join(" "));
    let labels = sheet.rows.iter().map(|row| {
        let again = row.group.is_some() && row.group == group && sheet.labels > 1;
        group.clone_from(&row.group);
        let label = first(row).filter(|_| !again);
        label.unwrap_or_default()
    });
    labels.collect()
}

/// A column as lines: its head's, and those of every row.
struct Column {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    width: usize,
    words: bool,
}

/// A table with some of its columns, and its heads wrapped in one way.
struct Layout {
    columns: Vec<Column>,
    labels: usize,
}

impl Layout {
    /// The table as it fits best: with heads as wide and as few columns left out as can be.
    fn fitting(sheet: &Sheet, labels: &[String], width: usize) -> Layout {
        let mut ranks: Vec<u8> = sheet.columns.iter().map(|column| column.rank).collect();
        ranks.push(0);
        ranks.sort_unstable();
        ranks.dedup();
        for rank in ranks.iter().rev() {
            for head in HEADS {
                let layout = Layout::new(sheet, labels, *rank, head);
                if layout.fits(width) {
                    return layout;
                }
            }
        }
        // The widest heads that cut no column off and need no more blocks than the narrowest.
        let layouts = HEADS.map(|head| Layout::new(sheet, labels, 0, head));
        let cost = |layout: &Layout| (layout.cut(width), layout.blocks(width).len());
        let least = layouts.iter().map(cost).min();
        let mut layouts = layouts.into_iter();
        let best = layouts.find(|layout| Some(cost(layout)) == least);
        best.unwrap_or_else(|| Layout::new(sheet, labels, 0, HEADS[0]))
    }

    /// The table with the columns of at most this rank and heads of at most this width.
    fn new(sheet: &Sheet, labels: &[String], rank: u8, head: usize) -> Layout {
        let columns = sheet.columns.iter().enumerate();
        let columns = columns.filter(|(_, column)| column.rank <= rank);
        let columns = columns.map(|(at, column)| {
            // Sheets with heads above heads are set by hand in a mail; others keep all words.
            let whole = [column.above.as_slice(), std::slice::from_ref(&column.head)].concat();
            let mut lines = wrapped(&whole.join(" "), head);
            if !column.unit.is_empty() {
                lines.push(column.unit.clone());
            }
            let rows = sheet.rows.iter().zip(labels).map(|(row, label)| match at {
                0 => vec![format!(
                    "{label}{}",
                    row.cells.first().map_or("", |cell| cell.signs.as_str())
                )],
                at => row.cells.get(at).map(lines_of).unwrap_or_default(),
            });
            Column::new(lines, rows.collect(), column.words || sheet.ruled)
        });
        Layout {
            columns: columns.collect(),
            labels: sheet.labels,
        }
    }

    /// Whether all of it fits into one block.
    fn fits(&self, width: usize) -> bool {
        self.blocks(width).len() <= 1 && self.cut(width) == 0
    }

    /// Characters of the label columns, with the gaps after them.
    fn label(&self) -> usize {
        let labels = self.columns.iter().take(self.labels);
        labels.map(|c| c.width + GAP).sum()
    }

    /// Columns that no block has room for.
    fn cut(&self, width: usize) -> usize {
        let label = self.label();
        let figures = self.columns.iter().skip(self.labels);
        let too_wide = |column: &&Column| label.saturating_add(column.width) > width;
        figures.filter(too_wide).count()
    }

    /// Splits the figure columns; one that is too wide is alone.
    fn blocks(&self, width: usize) -> Vec<&[Column]> {
        let (_, figures) = self.columns.split_at(self.labels.min(self.columns.len()));
        let label = self.label();
        let mut blocks = Vec::new();
        let mut begin = 0;
        while begin < figures.len() {
            let mut end = begin + 1;
            let mut used = label.saturating_add(figures[begin].width);
            while end < figures.len() && used.saturating_add(GAP + figures[end].width) <= width {
                used += GAP + figures[end].width;
                end += 1;
            }
            blocks.push(&figures[begin..end]);
            begin = end;
        }
        blocks
    }

    fn print(&self, sheet: &Sheet, width: usize) -> String {
        let labels = &self.columns[..self.labels.min(self.columns.len())];
        let mut below = true;
        let blocks = self.blocks(width).into_iter().map(|block| {
            let columns: Vec<&Column> = labels.iter().chain(block).collect();
            // A sentence below a row is printed with its first block.
            block_of(sheet, &columns, std::mem::take(&mut below), width)
        });
        blocks.collect::<Vec<_>>().join("\n")
    }
}

fn block_of(sheet: &Sheet, columns: &[&Column], below: bool, width: usize) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(&cap(text.trim_end(), width));
        out.push('\n');
    };
    let tallest = columns.iter().map(|c| c.head.len()).max().unwrap_or(0);
    for at in 0..tallest {
        line(&joined(columns, |c| c.head.get(at)));
    }
    if sheet.ruled {
        let rules: Vec<String> = columns.iter().map(|c| c.rule()).collect();
        let mut rules = rules.iter();
        line(&joined(columns, |_| rules.next()));
    }
    for (at, row) in sheet.rows.iter().enumerate() {
        let tallest = columns.iter().map(|c| c.rows[at].len()).max().unwrap_or(1);
        for part in 0..tallest {
            line(&joined(columns, |c| c.rows[at].get(part)));
        }
        if below && !row.below.is_empty() {
            for text in wrap("      ", 8, &row.below, width).lines() {
                line(text);
            }
        }
    }
    out
}

/// A cell in a mail: its first line with its marks, then the others.
fn lines_of(cell: &doc::Cell) -> Vec<String> {
    if let Some(brief) = &cell.brief {
        return brief.clone();
    }
    let mut lines = cell.lines.clone();
    if let Some(first) = lines.first_mut() {
        first.push_str(&cell.signs);
        if let Some((number, _)) = &cell.note {
            first.push_str(&format!(" [{number}]"));
        }
    }
    if !cell.small.is_empty() {
        lines.push(cell.small.clone());
    }
    lines
}

impl Column {
    fn new(head: Vec<String>, rows: Vec<Vec<String>>, words: bool) -> Column {
        let lines = head.iter().chain(rows.iter().flatten());
        Column {
            width: lines.map(|text| length(text)).max().unwrap_or(0),
            head,
            rows,
            words,
        }
    }

    /// As wide as the head, as in 2008.
    fn rule(&self) -> String {
        let widest = self.head.iter().map(|line| length(line)).max();
        "-".repeat(widest.unwrap_or(0).max(4).min(self.width.max(1)))
    }
}

fn joined<'a, 'b>(
    columns: &[&'a Column],
    mut text: impl FnMut(&'a Column) -> Option<&'b String>,
) -> String {
    let mut line = String::new();
    for column in columns {
        let text = text(column).map_or("", String::as_str);
        let width = column.width;
        line.push_str(&if column.words {
            format!("{text:width$}")
        } else {
            format!("{text:>width$}")
        });
        line.push_str(&" ".repeat(GAP));
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
    use crate::doc::{Cell, Column, Row};

    fn place(lines: &[&str]) -> Cell {
        Cell {
            lines: lines.iter().map(|l| (*l).to_owned()).collect(),
            ..Cell::default()
        }
    }

    fn sheet() -> Sheet {
        let heads = [
            "Read",
            "Read (RA=4K)",
            "Read (RA=64K)",
            "Write",
            "Write(+mntopts)",
        ];
        let rows: [(&str, [&[&str]; 5]); 2] = [
            ("2.6.26-rc3", [&["122"], &[], &[], &["144"], &[]]),
            (
                "2.6.26-rc5",
                [&["117"], &["509 [1]"], &["570"], &[], &["295 [2]", "281"]],
            ),
        ];
        let rows = rows.map(|(label, places)| {
            Row::new(std::iter::once(label.into()).chain(places.map(place)))
        });
        Sheet {
            ruled: true,
            ..Sheet::new("", "Ext4", heads.map(Column::figures)).rows(rows)
        }
    }

    fn print(sheet: &Sheet, width: usize) -> String {
        Names::default().print(sheet, width)
    }

    #[test]
    fn the_table_of_2008_token_for_token() {
        let out = print(&sheet(), 78);
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
        let column = Column::figures("ext4 - fsck time (Seconds)").unit("secs (a)");
        let mut sheet = Sheet::new("", "File System Size (in MiB)", [column]);
        let label = Column::words("Number of Files (in Thousands)");
        sheet.columns.insert(1, label);
        sheet.labels = 2;
        sheet.ruled = true;
        let out = print(
            &sheet.rows([Row::new(["1080", "20.4", "0.0729"].map(Cell::from))]),
            78,
        );
        assert!(!out.contains(".."), "{out}");
        assert!(out.contains("(Seconds)"), "{out}");
    }

    #[test]
    fn words_left_numbers_right() {
        let rows = [["a", "5", "0.12"], ["bcdefg", "12", "3"]];
        let rows = rows.map(|row| Row::new(row.map(Cell::from)));
        let sheet = Sheet::new("", "size", ["n", "y"].map(Column::figures)).rows(rows);
        assert_eq!(
            print(&sheet, 78),
            "size     n     y\na        5  0.12\nbcdefg  12     3\n"
        );
    }

    #[test]
    fn long_labels_become_numbers_and_spared_columns_go_first() {
        let long = "ext4 -o data=writeback,nobarrier,nodelalloc";
        let columns = [
            Column::figures("n").rank(1),
            Column::figures("median"),
            Column::figures("interval"),
        ];
        let row = |name: &str| Row::new([name, "5", "388.2", "370-402"].map(Cell::from));
        let sheet = Sheet::new("", "cell", columns).rows([row("ext4"), row(long)]);
        let mut names = Names::default();
        let out = names.print(&sheet, 40);
        assert_eq!(
            out,
            "  [1] ext4\n  [2] ext4 -o\n      data=writeback,nobarrier,\n      nodelalloc\n\n\
             cell  n  median  interval\n[1]   5   388.2   370-402\n[2]   5   388.2   370-402\n"
        );
        assert_eq!(names.short(long), "[2]");
        assert!(!names.print(&sheet, 40).contains(long));
        assert!(!names.print(&sheet, 23).contains(" n "));
        assert!(print(&sheet, 78).contains(long), "there is room for it");
    }

    proptest::proptest! {
        #[test]
        fn no_line_is_too_wide_and_no_place_is_lost(width in 30usize..100) {
            let out = print(&sheet(), width);
            proptest::prop_assert!(out.lines().all(|l| length(l) <= width), "{}", out);
            for text in ["122", "144", "117", "509", "570", "295", "281"] {
                let found = out.split_whitespace().filter(|w| *w == text).count();
                proptest::prop_assert_eq!(found, 1, "{} in {}", text, out);
            }
        }
    }
}
