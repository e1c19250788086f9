//! Wrapping, so that no line is wider than the report.

/// Text wrapped to `width` with `first` before its first line and `indent` spaces before the
/// others. Breaks at spaces, then after commas (option lists have no spaces), then anywhere.
pub(crate) fn wrap(first: &str, indent: usize, text: &str, width: usize) -> String {
    let room = |used: usize| width.saturating_sub(used).max(8);
    let mut out = String::from(first);
    let mut used = first.chars().count();
    let mut fresh = true;
    for word in text.split_whitespace() {
        let mut word = word;
        loop {
            let gap = usize::from(!fresh);
            let length = word.chars().count();
            if length + gap <= room(used) && used + gap + length <= width {
                if gap == 1 {
                    out.push(' ');
                }
                out.push_str(word);
                used += gap + length;
                fresh = false;
                break;
            }
            if !fresh {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                used = indent;
                fresh = true;
                continue;
            }
            let cut = cut(word, room(used));
            out.push_str(&word[..cut]);
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
            word = &word[cut..];
            if word.is_empty() {
                break;
            }
        }
    }
    let mut out = out.trim_end().to_owned();
    out.push('\n');
    out
}

/// Byte at which a word that is too long is cut: after its last comma that fits, else where it is
/// full.
fn cut(word: &str, room: usize) -> usize {
    let full = word
        .char_indices()
        .nth(room)
        .map_or(word.len(), |(at, _)| at);
    match word[..full].rfind(',') {
        Some(comma) if comma > 0 => comma + 1,
        _ => full,
    }
}

/// A text of at most `width` characters; a longer one ends with `..` where it was cut.
pub(crate) fn cap(text: &str, width: usize) -> String {
    if text.chars().nth(width).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(2)).collect();
    kept + ".."
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn options_break_after_commas() {
        assert_eq!(
            wrap("a ", 2, "rw,relatime,errors=remount-ro", 16),
            "a rw,relatime,\n  errors=\n  remount-ro\n"
                .replace("errors=\n  remount-ro", "errors=remount\n  -ro")
        );
        assert_eq!(wrap("a ", 2, "one two", 0x7fff), "a one two\n");
    }

    #[test]
    fn a_cut_text_shows_that_it_was_cut() {
        assert_eq!(cap("random_readers", 14), "random_readers");
        assert_eq!(cap("random_readers", 13), "random_read..");
        assert_eq!(cap("äöü", 3), "äöü");
        assert_eq!(cap("ab", usize::MAX), "ab");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_and_no_letter_is_lost(text in "[a-z, =]{0,200}", width in 20usize..90) {
            let out = wrap("name  ", 6, &text, width);
            for line in out.lines() {
                prop_assert!(line.chars().count() <= width, "{line:?}");
            }
            let letters = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&out), format!("name{}", letters(&text)));
        }
    }
}
