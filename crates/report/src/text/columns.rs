//! A plain table: words to the left, numbers to the right.

/// Between columns.
const GAP: usize = 2;

/// Rows of equally many cells, the first of them the head. The first `left` columns are words; the
/// last cell of a row may be missing. No line is wider than `width`, as long as the cells are not.
pub(super) fn columns(rows: &[Vec<String>], left: usize, indent: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let length = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..count)
        .map(|c| {
            rows.iter()
                .filter_map(|r| r.get(c))
                .map(length)
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (c, (text, width)) in row.iter().zip(&widths).enumerate() {
            if c > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            line.push_str(&if c < left {
                format!("{text:width$}")
            } else {
                format!("{text:>width$}")
            });
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_left_numbers_right() {
        let rows = [
            ["size", "n", "y"],
            ["a", "5", "0.12"],
            ["bcdefg", "12", "3"],
        ];
        let rows: Vec<Vec<String>> = rows.map(|r| r.map(str::to_owned).into()).into();
        assert_eq!(
            super::columns(&rows, 1, 1),
            " size     n     y\n a        5  0.12\n bcdefg  12     3\n"
        );
    }
}
