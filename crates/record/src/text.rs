//! Plain text within the 78 columns that survive a mail client's quoting.

/// Columns of every printed line.
pub(crate) const WIDTH: usize = 78;

/// Bytes of one text that a log may put on a terminal. A longer one is cut, with its length.
const LONGEST: usize = 8192;

/// Writes `text` after `lead`, wrapped at [`WIDTH`]; further lines are indented by `indent`. It comes
/// from a log, so it is made safe for a terminal and cut at [`LONGEST`].
pub(crate) fn wrap(out: &mut String, lead: &str, text: &str, indent: usize) {
    out.push_str(&words::wrap(
        lead,
        indent,
        &words::cut(text, LONGEST),
        WIDTH,
    ));
}

/// Pads or leaves: `text` in a column of `width`, never cut.
pub(crate) fn left(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

/// A time as people of any zone read it: UTC to the second.
pub(crate) fn utc(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_and_its_length_is_shown() {
        let mut out = String::new();
        wrap(&mut out, "trial 1: ", &"x".repeat(4 << 20), 2);
        assert!(out.len() < 2 * LONGEST, "{}", out.len());
        assert!(out.ends_with("(4,194,304 bytes)\n"), "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
