//! When a line of progress is printed where stderr is not a terminal.

use std::time::Duration;

/// Between two looks at the line.
pub(super) const INTERVAL: Duration = Duration::from_secs(5);
/// After this many silent intervals a line is printed although it has not changed.
const AGAIN: u32 = 12;

/// The line that was printed last.
#[derive(Debug, Default)]
pub(super) struct Lines {
    printed: String,
    /// Intervals since then.
    silent: u32,
}

impl Lines {
    /// Whether to print the line now. Called once in every [`INTERVAL`].
    pub(super) fn is_due(&mut self, line: &str) -> bool {
        self.silent += 1;
        let due = !line.is_empty() && (line != self.printed || self.silent >= AGAIN);
        if due {
            line.clone_into(&mut self.printed);
            self.silent = 0;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_printed_when_it_changes_and_once_a_minute() {
        let mut lines = Lines::default();
        assert!(!lines.is_due(""));
        assert!(lines.is_due("mkfs.ext4"));
        let silent: Vec<bool> = (0..24).map(|_| lines.is_due("mkfs.ext4")).collect();
        let printed = silent.iter().enumerate().filter(|(_, due)| **due);
        let printed: Vec<usize> = printed.map(|(at, _)| at).collect();
        assert_eq!(printed, [11, 23]);
        assert!(lines.is_due("fill: 3 %"));
        assert!(!lines.is_due(""));
    }
}
