//! What the page shows before anything is scrolled: the largest differences in sentences, and all ratios as a table.
//!
//! The summary of a large study is longer than a screen, and a table is the quicker answer. So the page begins with the
//! first sentences alone; the first table follows, and the whole summary comes after it. No word is lost by it.

use crate::doc::{Block, Section};
use crate::sections::{LAWS, MODELLED, WITH_SYNC};

/// Sentences above the first table: with more of them the table would begin below the first screen of a telephone.
const SENTENCES: usize = 3;

/// The sections that answer the question, in the order of the page.
pub(super) struct FirstScreen<'a> {
    /// Above the sections' outline on a narrow screen: sentences, then the table.
    pub first: Vec<Section<'a>>,
    /// The whole summary, unless the first sentences are all of it.
    pub rest: Vec<Section<'a>>,
}

/// Splits the summary, the first of the sections, unless it is the only one.
pub(super) fn split(mut answer: Vec<Section<'_>>) -> FirstScreen<'_> {
    for section in &mut answer {
        // The head of the page has the question.
        section
            .blocks
            .retain(|block| !matches!(block, Block::Para(text) if text.starts_with("Question: ")));
        table_first(section);
    }
    if answer.len() < 2 {
        return FirstScreen {
            first: answer,
            rest: Vec::new(),
        };
    }
    let mut whole = answer.remove(0);
    let lead = Section {
        blocks: lead(&whole.blocks),
        title: whole.title.clone(),
        nav: whole.nav.clone(),
        id: whole.id.clone(),
        timing: whole.timing.clone(),
        ..Section::default()
    };
    for block in &mut whole.blocks {
        if let Block::List(items) = block {
            // On the page the matrix is above the whole summary.
            for item in items {
                item.text = item
                    .text
                    .replace("in the matrix below", "in the table above");
            }
        }
    }
    "summary-whole".clone_into(&mut whole.id);
    "Summary, whole".clone_into(&mut whole.title);
    answer.insert(0, lead);
    FirstScreen {
        first: answer,
        rest: vec![whole],
    }
}

/// The first list with what is above it: its first items and what limits them, without their causes. Laws that the study is about follow,
/// and what was estimated.
fn lead<'a>(blocks: &[Block<'a>]) -> Vec<Block<'a>> {
    let mut lead = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let Block::List(items) = block else {
            lead.push(block.clone());
            continue;
        };
        // What the differences do not show belongs to them.
        let (first, rest) = items.split_at(items.len().min(SENTENCES));
        let caveat = rest.iter().filter(|item| item.text.starts_with(WITH_SYNC));
        let mut items: Vec<_> = first.iter().chain(caveat).cloned().collect();
        for item in &mut items {
            item.children.clear();
            item.text = item
                .text
                .replace("in the matrix below", "in the table below");
        }
        lead.push(Block::List(items));
        for heading in [LAWS, MODELLED] {
            let is_it =
                |block: &&Block<'_>| matches!(block, Block::Heading(text) if text == heading);
            let found = blocks[at..].iter().skip_while(|block| !is_it(block));
            lead.extend(found.take(2).cloned());
        }
        return lead;
    }
    // No list: a sentence that nothing differs.
    lead.truncate(1);
    lead
}

/// Moves the first table above the words that explain it.
fn table_first(section: &mut Section<'_>) {
    let at = section
        .blocks
        .iter()
        .position(|block| matches!(block, Block::Table(_)));
    if let Some(at) = at {
        section.blocks[..=at].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::{Item, Sheet};

    #[test]
    fn the_table_comes_after_three_sentences_and_nothing_is_lost() {
        let mut summary = Section::new("summary", "Summary");
        let items = (0..5).map(|n| Item {
            children: vec![Item::from("cause".to_owned())],
            ..Item::from(format!("sentence {n}"))
        });
        let items = items.chain([Item::from(format!("{WITH_SYNC}, none holds."))]);
        summary.blocks = vec![
            Block::Para("Question: what?".into()),
            Block::Heading("Differences:".into()),
            Block::List(items.collect()),
            Block::Para("In doubt: nothing.".into()),
        ];
        let mut ratios = Section::new("ratios", "Ratios");
        ratios.blocks = vec![
            Block::Para("How to read it.".into()),
            Block::Table(Sheet::default()),
        ];
        let FirstScreen { first, rest } = split(vec![summary, ratios]);
        let Block::List(items) = &first[0].blocks[1] else {
            panic!("{:?}", first[0]);
        };
        assert_eq!(items.len(), SENTENCES + 1);
        assert!(items[SENTENCES].text.starts_with(WITH_SYNC));
        assert!(items.iter().all(|item| item.children.is_empty()));
        assert!(matches!(first[1].blocks[0], Block::Table(_)));
        assert!(matches!(first[1].blocks[1], Block::Para(_)));
        let Block::List(items) = &rest[0].blocks[1] else {
            panic!("{:?}", rest[0]);
        };
        assert_eq!((items.len(), items[0].children.len()), (6, 1));
        assert_eq!(rest[0].blocks.len(), 3, "all but the question");
        let ids: Vec<&str> = first.iter().chain(&rest).map(|s| s.id.as_str()).collect();
        assert_eq!(ids, ["summary", "ratios", "summary-whole"]);
    }
}
