//! Headings above headings: a level that several columns share is printed once, above the first of them.

use super::cap;

/// The lines above the columns' own headings, the outermost first; none where no column has any.
///
/// `columns` has the headings above each column with the column's width, the gap after it included.
pub(super) fn lines(columns: &[(&[String], usize)]) -> Vec<String> {
    let depth = columns.iter().map(|(above, _)| above.len()).max();
    let line = |level: usize| {
        let mut line = String::new();
        let mut at = 0;
        while let Some((above, _)) = columns.get(at) {
            // A level is shared only below the same outer levels.
            let alike = |(other, _): &&(&[String], usize)| {
                above.len() > level && other.get(..=level) == above.get(..=level)
            };
            let n = columns[at..].iter().take_while(alike).count().max(1);
            let width: usize = columns[at..at + n].iter().map(|(_, width)| width).sum();
            let text = above.get(level).map_or("", String::as_str);
            let text = cap(text, width.saturating_sub(1).max(1));
            line.push_str(&format!("{text:width$}"));
            at += n;
        }
        line
    };
    (0..depth.unwrap_or(0)).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_printed_once_above_its_columns() {
        let paths = [["ext4", "1"], ["ext4", "8"], ["xfs", "1"], ["xfs", "1"]];
        let paths = paths.map(|path| path.map(str::to_owned).to_vec());
        let columns: Vec<(&[String], usize)> =
            paths.iter().map(|path| (path.as_slice(), 5)).collect();
        assert_eq!(
            lines(&columns),
            ["ext4      xfs       ", "1    8    1         "]
        );
        assert_eq!(lines(&[(&[], 5)]), Vec::<String>::new());
    }
}
