//! The report as GitHub Markdown.

use super::Subject;
use super::view::{head, sections};
use crate::md::section;

/// The report as Markdown.
pub fn md(subject: &Subject<'_>) -> String {
    let mut text = section(&head(subject));
    text.extend(sections(subject).iter().map(section));
    text
}

#[cfg(test)]
mod tests {
    use fixtures::block_trace::Forge;

    use super::super::tests::{analysis, names, subject};
    use super::*;

    #[test]
    fn a_hostile_trace_of_a_stack() {
        let (analysis, names) = (analysis(&Forge::hostile(3, 4000)), names());
        insta::assert_snapshot!(md(&subject(&analysis, &names)));
    }
}
