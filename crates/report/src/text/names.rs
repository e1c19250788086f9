//! Names of rows: as they are while they are short, else numbers with a list above the table.
//!
//! Mount options are as long as a line. A table whose first column they fill has room for two numbers,
//! and one that cuts them shows the same row five times.

use super::wrap;

/// The longest name that a table has room for.
const SHORT: usize = 26;

/// How the rows of a table are called.
pub(super) struct Names {
    /// What is printed above the tables; empty for short names.
    pub list: String,
    /// One for each row.
    pub names: Vec<String>,
}

impl Names {
    /// Names for these rows.
    pub(super) fn of(rows: &[String], width: usize) -> Names {
        if rows.iter().all(|row| row.chars().count() <= SHORT) {
            return Names {
                list: String::new(),
                names: rows.to_vec(),
            };
        }
        let numbered = |at: usize| format!("[{}]", at + 1);
        let list = rows.iter().enumerate();
        let list = list.map(|(at, row)| wrap(&format!("  {} ", numbered(at)), 6, row, width));
        Names {
            list: list.collect(),
            names: (0..rows.len()).map(numbered).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_become_numbers() {
        let short = Names::of(&["ext4".to_owned(), "xfs".to_owned()], 78);
        assert_eq!((short.list.as_str(), short.names[1].as_str()), ("", "xfs"));
        let long = "ext4 -o data=writeback,nobarrier,nodelalloc".to_owned();
        let names = Names::of(&["ext4".to_owned(), long], 40);
        assert_eq!(names.names, ["[1]", "[2]"]);
        assert_eq!(
            names.list,
            "  [1] ext4\n  [2] ext4 -o\n      data=writeback,nobarrier,\n      nodelalloc\n"
        );
    }
}
