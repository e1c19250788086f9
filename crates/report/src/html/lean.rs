//! What a page of a site leaves out to be small.
//!
//! A report alone may have megabytes: the running order of hundreds of trials, a bar for every figure. A site has a thousand
//! reports. So a page that is one of many leaves out, step by step, what is largest for what it says and is elsewhere: first
//! records and histograms, then drawings of figures that are in the tables, then causes. Tables, the answer and the evidence
//! always stay, and each section names what it lacks.

use crate::doc::{Block, Section};

/// How much is left out: all that the steps before it leave out, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lean {
    /// Nothing.
    Whole,
    /// The running order, the context, which has a page of its own, and histograms of latencies.
    Records,
    /// Drawings.
    Drawings,
    /// Causes.
    Causes,
}

/// From whole to least.
pub(super) const STEPS: [Lean; 4] = [Lean::Whole, Lean::Records, Lean::Drawings, Lean::Causes];

/// The section without what the step leaves out.
pub(super) fn lean(step: Lean, mut section: Section<'_>) -> Section<'_> {
    let goes = match section.id.as_str() {
        "order" | "context" | "latency" => step >= Lean::Records,
        "why" => step >= Lean::Causes,
        _ => false,
    };
    if goes {
        section.blocks = vec![note("This section is")];
    } else if step >= Lean::Drawings && drop_drawings(&mut section.blocks) {
        section
            .blocks
            .push(note("The drawings of this section are"));
    }
    section
}

fn note<'a>(what: &str) -> Block<'a> {
    Block::Para(format!(
        "{what} left out to keep the site small; `fslab report RUN --format html` prints a page with everything."
    ))
}

/// Whether there were any.
fn drop_drawings(blocks: &mut Vec<Block<'_>>) -> bool {
    let mut dropped = false;
    for block in std::mem::take(blocks) {
        match block {
            Block::Plots(_) => dropped = true,
            Block::Beside(_, mut beside) => {
                drop_drawings(&mut beside);
                blocks.append(&mut beside);
                dropped = true;
            }
            Block::Details(mut details) => {
                dropped |= drop_drawings(&mut details.blocks);
                blocks.push(Block::Details(details));
            }
            Block::Either { mut full, mail } => {
                dropped |= drop_drawings(&mut full);
                blocks.push(Block::Either { full, mail });
            }
            other => blocks.push(other),
        }
    }
    dropped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::Details;

    fn section(id: &str) -> Section<'static> {
        let details = Details {
            blocks: vec![Block::Plots(Vec::new()), Block::Para("kept".into())],
            ..Details::default()
        };
        Section {
            blocks: vec![
                Block::Para("first".into()),
                Block::Plots(Vec::new()),
                Block::Details(details),
            ],
            ..Section::new(id, id)
        }
    }

    fn text(step: Lean, id: &str) -> String {
        format!("{:?}", lean(step, section(id)).blocks)
    }

    #[test]
    fn each_step_leaves_out_more_and_says_so() {
        assert_eq!(text(Lean::Whole, "order"), text(Lean::Whole, "table-1"));
        assert!(text(Lean::Whole, "order").contains("Plots"));
        let order = text(Lean::Records, "order");
        assert!(
            !order.contains("first") && order.contains("left out"),
            "{order}"
        );
        assert!(text(Lean::Records, "table-1").contains("Plots"));
        let table = text(Lean::Drawings, "table-1");
        assert!(!table.contains("Plots"), "{table}");
        for word in ["first", "kept", "left out"] {
            assert!(table.contains(word), "{word}: {table}");
        }
        assert!(text(Lean::Drawings, "why").contains("kept"));
        assert!(!text(Lean::Causes, "why").contains("kept"));
    }

    #[test]
    fn a_section_without_drawings_lacks_nothing() {
        let mut plain = Section::new("evidence", "Evidence");
        plain.blocks = vec![Block::Para("first".into())];
        assert_eq!(lean(Lean::Causes, plain).blocks.len(), 1);
    }
}
