//! Foreign values in messages of one line.

use std::borrow::Cow;

use crate::escape::printable;
use crate::number::plural;

/// Bytes of a foreign value that a message shows.
const SHOWN: usize = 200;

/// A foreign value for a message of one line: [`printable`], and cut after 200 bytes with its
/// length: `aaaa... (100,000 bytes)`.
pub fn shortened(text: &str) -> Cow<'_, str> {
    shortened_to(text, SHOWN)
}

/// At most `limit` bytes of a text, with its length when it was cut: `aaaa... (100,000 bytes)`. Nothing is
/// escaped.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let length = plural(text.len() as u64, "byte");
    Cow::Owned(format!("{}... ({length})", head(text, limit)))
}

/// [`shortened`] after at most `limit` bytes of the text.
pub fn shortened_to(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return printable(text);
    }
    Cow::Owned(printable(&cut(text, limit)).into_owned())
}

/// [`shortened`] in double quotes; quotes and backslashes in it are escaped:
/// `"x"`, `"aaaa..." (100,000 bytes)`.
pub fn quoted(text: &str) -> String {
    let shown = head(text, SHOWN);
    let mut out = String::with_capacity(shown.len() + 2);
    out.push('"');
    out.push_str(&printable(
        &shown.replace('\\', "\\\\").replace('"', "\\\""),
    ));
    if shown.len() == text.len() {
        out.push('"');
    } else {
        out.push_str("...\" (");
        out.push_str(&plural(text.len() as u64, "byte"));
        out.push(')');
    }
    out
}

/// At most `limit` bytes of the text, whole characters.
fn head(text: &str, limit: usize) -> &str {
    let limit = limit.min(text.len());
    let end = (0..=limit).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_values_are_shown_whole() {
        assert_eq!(shortened("ext4"), "ext4");
        assert_eq!(shortened("a\x1b[2J"), "a\\u{1b}[2J");
        assert_eq!(quoted("a \"b\" \\ \n"), r#""a \"b\" \\ \n""#);
        assert_eq!(quoted(&"x".repeat(SHOWN)).len(), SHOWN + 2);
    }

    #[test]
    fn long_values_are_cut_and_their_length_is_shown() {
        let long = "x".repeat(100_000);
        assert_eq!(
            shortened(&long),
            format!("{}... (100,000 bytes)", "x".repeat(200))
        );
        assert_eq!(
            quoted(&long),
            format!("\"{}...\" (100,000 bytes)", "x".repeat(200))
        );
        // Never within a character.
        assert_eq!(shortened_to("ééé", 3), "é... (6 bytes)");
    }

    proptest! {
        #[test]
        fn values_stay_on_one_short_line(text in "(?s).{0,200}", times in 1_usize..40) {
            let text = text.repeat(times);
            for shown in [shortened(&text).into_owned(), quoted(&text)] {
                prop_assert!(!shown.chars().any(char::is_control));
                // An escape takes up to ten bytes for one.
                prop_assert!(shown.len() <= 10 * SHOWN + 40, "{}", shown.len());
            }
        }
    }
}
