//! Plain text within the 78 columns that survive a mail client's quoting.

/// Columns of every printed line.
pub(crate) const WIDTH: usize = 78;

/// Writes `text` after `lead`, wrapped at [`WIDTH`]; further lines are indented by `indent`. A word
/// longer than a line is split, so that no line is ever too long.
pub(crate) fn wrap(out: &mut String, lead: &str, text: &str, indent: usize) {
    let mut line = lead.to_owned();
    let mut length = line.chars().count();
    let mut fresh = true;
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        if !fresh && length + 1 + word.len() > WIDTH {
            finish(out, &mut line);
            line.push_str(&" ".repeat(indent));
            length = indent;
            fresh = true;
        }
        if !fresh {
            line.push(' ');
            length += 1;
        }
        while length + word.len() > WIDTH {
            let rest = word.split_off((WIDTH - length).min(word.len()));
            line.extend(word);
            finish(out, &mut line);
            line.push_str(&" ".repeat(indent));
            length = indent;
            word = rest;
        }
        length += word.len();
        line.extend(word);
        fresh = false;
    }
    finish(out, &mut line);
}

/// Adds a line without blanks at its end.
pub(crate) fn finish(out: &mut String, line: &mut String) {
    out.push_str(line.trim_end());
    out.push('\n');
    line.clear();
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

    proptest::proptest! {
        #[test]
        fn wrapping_keeps_every_word_and_the_width(text in "[a-z é]{0,300}", indent in 0_usize..20) {
            let mut out = String::new();
            wrap(&mut out, "lead: ", &text, indent);
            for line in out.lines() {
                proptest::prop_assert!(line.chars().count() <= WIDTH);
            }
            let squeezed = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            proptest::prop_assert_eq!(squeezed(&out), format!("lead:{}", squeezed(&text)));
        }
    }
}
