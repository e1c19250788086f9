//! The report as text of 78 columns, for a mail.

use super::Subject;
use super::view::{head, sections};
use crate::text::section;

/// Columns of a line.
const WIDTH: usize = 78;

/// The report as text.
pub fn text(subject: &Subject<'_>) -> String {
    let mut text = section(&head(subject), WIDTH);
    for part in sections(subject) {
        text.push('\n');
        text.push_str(&section(&part, WIDTH));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{analysis, names, subject};
    use super::*;
    use fixtures::block_trace::Forge;

    #[test]
    fn a_plain_trace() {
        let (analysis, names) = (analysis(&Forge::plain(3, 4000)), names());
        insta::assert_snapshot!(text(&subject(&analysis, &names)));
    }

    #[test]
    fn a_hostile_trace_of_a_stack() {
        let (analysis, names) = (analysis(&Forge::hostile(3, 4000)), names());
        insta::assert_snapshot!(text(&subject(&analysis, &names)));
    }

    #[test]
    fn no_line_is_longer_than_a_mails() {
        let names = names();
        for seed in 0..6 {
            for requests in [0, 1, 30, 3000] {
                let forge = Forge {
                    pause: 1 << (seed * 6),
                    ..Forge::hostile(seed, requests)
                };
                let analysis = analysis(&forge);
                let text = text(&subject(&analysis, &names));
                for line in text.lines() {
                    assert!(line.chars().count() <= WIDTH, "{line}");
                }
            }
        }
    }

    #[test]
    fn a_name_can_neither_break_a_line_nor_push_the_figures_off_it() {
        let mut analysis = analysis(&Forge::plain(1, 200));
        analysis.processes[0].name = "x\n\u{1b}[31m".to_owned() + &"long ".repeat(30);
        let names = names();
        let text = text(&subject(&analysis, &names));
        assert!(!text.contains('\u{1b}'));
        assert!(text.contains("x\\n\\u{1b}[31m"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
