//! Text in lines of a bounded width.

use crate::escape::printable;

/// Room a line is granted when the indent leaves less: something must fit.
const LEAST: usize = 8;

/// Wraps `text` to `width` columns, with `lead` before the first line and `indent` spaces before the
/// others. Every line ends with a newline and without trailing blanks.
///
/// Lines break at white space. A word that is longer than a line breaks after its last comma that
/// fits (mount options have no spaces), else where the line is full. The words of `text` may be
/// foreign: what would steer a terminal is escaped, see [`printable`]. The time is linear in the
/// length of the text.
///
/// ```
/// assert_eq!(words::wrap("note: ", 6, "mounted with rw,relatime", 20), "note: mounted with\n      rw,relatime\n");
/// ```
pub fn wrap(lead: &str, indent: usize, text: &str, width: usize) -> String {
    let mut lines = Lines {
        out: String::with_capacity(lead.len() + text.len()),
        used: 0,
        indent,
        width,
    };
    lines.push(lead);
    let mut fresh = true;
    for word in text.split_whitespace() {
        let word = printable(word);
        let mut word = &*word;
        let mut length = word.chars().count();
        if !fresh {
            if lines.used + 1 + length <= width {
                lines.push(" ");
            } else {
                lines.end();
            }
        }
        while length > lines.room() {
            let cut = cut(word, lines.room());
            lines.push(&word[..cut]);
            length -= word[..cut].chars().count();
            word = &word[cut..];
            lines.end();
        }
        lines.push(word);
        fresh = false;
    }
    lines.finish()
}

/// The text so far, and how much of its last line is used.
struct Lines {
    out: String,
    /// Columns used in the last line.
    used: usize,
    /// Spaces before every line but the first.
    indent: usize,
    /// Columns of a line.
    width: usize,
}

impl Lines {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.used += text.chars().count();
    }

    /// Columns left in the last line.
    fn room(&self) -> usize {
        self.width.saturating_sub(self.used).max(LEAST)
    }

    fn trim(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
    }

    fn end(&mut self) {
        self.trim();
        self.out.extend(std::iter::repeat_n(' ', self.indent));
        self.used = self.indent;
    }

    fn finish(mut self) -> String {
        self.trim();
        self.out
    }
}

/// Byte offset at which a word that is too long is cut for `room` columns.
fn cut(word: &str, room: usize) -> usize {
    let full = word
        .char_indices()
        .nth(room)
        .map_or(word.len(), |(at, _)| at);
    match word[..full].rfind(',') {
        Some(comma) => comma + 1,
        None => full,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_option_lists_break_after_commas_then_anywhere() {
        assert_eq!(
            wrap("a ", 2, "rw,relatime,errors=remount-ro", 16),
            "a rw,relatime,\n  errors=remount\n  -ro\n"
        );
        assert_eq!(wrap("a ", 2, "one two", 0x7fff), "a one two\n");
        assert_eq!(wrap("empty: ", 2, " \n ", 40), "empty:\n");
    }

    #[test]
    fn a_word_after_a_lead_that_fills_its_line_goes_to_the_next() {
        assert_eq!(
            wrap("a lead of twenty-two: ", 2, "short words", 20),
            "a lead of twenty-two: short\n  words\n"
        );
        assert_eq!(wrap("", 4, "ab cd", 3), "ab\n    cd\n");
    }

    #[test]
    fn what_steers_a_terminal_is_escaped_and_counted() {
        assert_eq!(wrap("", 2, "a \u{1b}[2J b", 12), "a \\u{1b}[2J\n  b\n");
    }

    #[test]
    fn a_word_of_four_megabytes_takes_linear_time() {
        let lines = |length: usize| wrap("", 2, &"x".repeat(length), 78).len();
        // Each line but the first is 76 letters, its indent and a newline. Quadratic time would
        // not end within a test run.
        let length = 4 << 20;
        assert_eq!(lines(length), length + 3 * (length - 78).div_ceil(76) + 1);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_and_no_letter_is_lost(
            text in "[a-zé, =]{0,300}",
            indent in 0_usize..20,
            width in 28_usize..90,
        ) {
            let out = wrap("lead: ", indent, &text, width);
            for line in out.lines() {
                prop_assert!(line.chars().count() <= width, "{line:?}");
                prop_assert_eq!(line.trim_end(), line);
            }
            let letters = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&out), format!("lead:{}", letters(&text)));
        }
    }
}
