//! Texts cut to a width.

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
    use super::cap;

    #[test]
    fn a_cut_text_shows_that_it_was_cut() {
        assert_eq!(cap("random_readers", 14), "random_readers");
        assert_eq!(cap("random_readers", 13), "random_read..");
        assert_eq!(cap("äöü", 3), "äöü");
        assert_eq!(cap("ab", usize::MAX), "ab");
    }
}
