//! Foreign text made safe for a terminal, a page or a drawing.

use std::borrow::Cow;

/// `text` on one line, with everything that could steer a terminal shown escaped: control characters
/// (`ESC` as `\u{1b}`, a newline as `\n`), line separators, and marks that reverse the direction of
/// text. All else is as it was.
///
/// ```
/// assert_eq!(words::printable("a\x1b[2Jb"), "a\\u{1b}[2Jb");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, steers)
}

/// [`printable`] for text of many lines: newlines and tabs stay.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| steers(c) && c != '\n' && c != '\t')
}

/// Whether a terminal obeys the character instead of showing it.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, wrong: impl Fn(char) -> bool) -> Cow<'_, str> {
    let Some(first) = text.find(&wrong) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        if wrong(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Text as content or attribute value of XML or HTML. Control characters, which XML forbids, become
/// spaces.
pub fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(printable("ext4, ä, \"x\" \\"), Cow::Borrowed(_)));
        assert!(matches!(printable_lines("a\tb\nc"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_steers_a_terminal_is_escaped() {
        // CSI in both spellings, OSC with BEL, carriage return, delete, right-to-left override.
        let foreign = "\x1b[31m \u{9b}2J \x1b]0;title\x07 \r \x7f \u{202e}";
        assert_eq!(
            printable(foreign),
            "\\u{1b}[31m \\u{9b}2J \\u{1b}]0;title\\u{7} \\r \\u{7f} \\u{202e}"
        );
        assert_eq!(printable("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(printable_lines("a\n\x1bb\tc\r"), "a\n\\u{1b}b\tc\\r");
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(
            escape_xml("<a href=\"x\">&'\x1b</a>"),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#39; &lt;/a&gt;"
        );
    }

    proptest! {
        #[test]
        fn nothing_printable_steers(text in "(?s).{0,200}") {
            prop_assert!(!printable(&text).chars().any(steers));
            let lines = printable_lines(&text);
            prop_assert!(!lines.chars().any(|c| steers(c) && c != '\n' && c != '\t'));
            prop_assert_eq!(lines.lines().count(), text.lines().count());
        }
    }
}
