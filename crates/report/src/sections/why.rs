//! Why, as a section: each difference with the rules that hold. A mail has the causes with the
//! differences that they explain, then the differences without a cause.

use std::collections::BTreeSet;

use explain::{Explanation, RuleAnswer, Slower, level_name};

use crate::doc::{Block, Column, Details, Item, Row, Section, Sheet};
use crate::why::{Group, Why, capital, confidence, pair};

/// Differences that are unfolded on the page.
const OPEN: usize = 12;
/// Causes in a mail.
const CAUSES: usize = 16;
/// Differences of one cause in a mail.
const LISTED: usize = 4;
/// Pairs without a cause in a mail.
const PAIRS: usize = 12;

/// The section.
pub(crate) fn section(why: &Why) -> Section<'static> {
    let mut section = Section::new("why", "Why");
    let any = !why.explained.explanations.is_empty();
    let mut summary = format!("{}.", capital(&why.summary()));
    if any {
        summary.push_str(&format!(" {}", explain::LEGEND));
    }
    let explanations = why.explained.explanations.iter().enumerate();
    let details = explanations.map(|(at, e)| Block::Details(details(e, at < OPEN)));
    section.blocks.push(Block::Either {
        full: std::iter::once(Block::Para(summary))
            .chain(details)
            .collect(),
        mail: mail(why),
    });
    let notes = why.notes();
    section.blocks.extend(Block::notes(&notes));
    if any {
        let text = "Every rule with its evidence, and what was denied: fslab explain.";
        section.blocks.push(Block::Either {
            full: Vec::new(),
            mail: vec![Block::Para(text.to_owned())],
        });
    }
    section
}

/// A difference with everything that the rules found.
fn details(explanation: &Explanation, open: bool) -> Details<'static> {
    let difference = &explanation.difference;
    let holds: Vec<&RuleAnswer> = explanation.holds().collect();
    let titles: Vec<&str> = holds.iter().map(|finding| finding.title).collect();
    let mut blocks = vec![Block::Para(explain::sentence(difference))];
    let (slower, faster) = match difference.slower {
        Slower::Base => (&difference.base, &difference.other),
        Slower::Other => (&difference.other, &difference.base),
    };
    for finding in holds {
        blocks.extend(rule(
            finding,
            level_name(&slower.level),
            level_name(&faster.level),
        ));
    }
    let denied = explanation.denied();
    let denied = denied.map(|f| (format!("denied, {}", f.title), f.judgement.because.clone()));
    let open_rules = explanation.open();
    let not_judged =
        open_rules.map(|(f, needs)| (format!("not judged, {}", f.title), needs.to_owned()));
    let rest: Vec<(String, String)> = denied.chain(not_judged).collect();
    if !rest.is_empty() {
        let items = rest.iter().map(|(lead, text)| Item::about(lead, text));
        blocks.push(Block::Details(Details {
            summary: format!(
                "{} rules denied, {} not judged",
                explanation.denied().count(),
                explanation.open().count()
            ),
            blocks: vec![Block::List(items.collect())],
            ..Details::default()
        }));
    }
    Details {
        summary: format!("{}:", explain::title(difference)),
        rest: if titles.is_empty() {
            "not explained".to_owned()
        } else {
            titles.join("; ")
        },
        open,
        blocks,
        ..Details::default()
    }
}

/// A rule that holds, with its evidence.
fn rule(finding: &RuleAnswer, slower: &str, faster: &str) -> Vec<Block<'static>> {
    let judgement = &finding.judgement;
    let title = format!(
        "{} [{}] {}",
        finding.title,
        finding.rule,
        confidence(finding)
    );
    let mut blocks = vec![
        Block::Minor(title),
        Block::Para(format!("{}.", capital(&judgement.because))),
    ];
    let row = |against: &str, row: &explain::Row| {
        let [slow, fast] = row.printed();
        let label = format!("{against}{}", row.label);
        Row::texts([label, slow, fast, row.source.clone()])
    };
    let evidence = judgement.evidence.iter().map(|r| row("", r));
    let against = judgement.against.iter().map(|r| row("against it: ", r));
    let rows: Vec<Row> = evidence.chain(against).collect();
    if !rows.is_empty() {
        let columns = [
            Column::figures(slower),
            Column::figures(faster),
            Column::words("read from"),
        ];
        let about = format!("Evidence of {}", finding.title);
        blocks.push(Block::Table(
            Sheet::new(about, "evidence", columns).rows(rows),
        ));
    }
    let experiment = judgement.experiment.as_ref();
    blocks.extend(experiment.map(|text| Block::Para(format!("To test it: {text}"))));
    blocks
}

fn mail(why: &Why) -> Vec<Block<'static>> {
    let mut blocks = vec![Block::Para(format!("{}.", capital(&why.summary())))];
    let groups = why.groups();
    if !groups.is_empty() {
        let mut items: Vec<Item> = groups
            .iter()
            .take(CAUSES)
            .enumerate()
            .map(of_group)
            .collect();
        if groups.len() > CAUSES {
            let more = groups[CAUSES..].iter().map(|group| group.differences.len());
            let text = format!("and {} explained differences more", more.sum::<usize>());
            items.push(Item::from(text));
        }
        blocks.push(Block::Heading("Explained:".to_owned()));
        blocks.push(Block::List(items));
    }
    let pairs = why.unexplained();
    if !pairs.is_empty() {
        blocks.push(Block::Heading(format!(
            "Not explained: {}, as no rule holds; how many times as long the slower takes, by phase \
             and clock:",
            why.unexplained_count()
        )));
        let items = pairs.iter().take(PAIRS);
        let items = items.map(|(pair, differences)| Item::about(pair, differences.join(", ")));
        let mut items: Vec<Item> = items.collect();
        if pairs.len() > PAIRS {
            let text = format!("and {} pairs more", pairs.len() - PAIRS);
            items.push(Item::from(text));
        }
        blocks.push(Block::List(items));
    }
    let needs = why.needs();
    if !needs.is_empty() {
        let needs = needs.iter().map(|(need, n)| match n {
            1 => format!("a rule {need}"),
            n => format!("{n} rules {}", need.replacen("needs ", "need ", 1)),
        });
        let needs: Vec<String> = needs.collect();
        blocks.push(Block::Para(format!(
            "To explain more: {}.",
            needs.join("; ")
        )));
    }
    blocks
}

/// Differences, with what explains all of them below the last.
fn of_group((number, group): (usize, &Group<'_>)) -> Item {
    let listed = group.differences.iter().take(LISTED).map(|difference| {
        let (title, sentence) = (explain::title(difference), explain::sentence(difference));
        format!("{title}: {sentence}")
    });
    let mut texts: Vec<String> = listed.collect();
    let rest = group.differences.get(LISTED..).unwrap_or_default();
    if !rest.is_empty() {
        let pairs: BTreeSet<String> = rest.iter().map(|difference| pair(difference)).collect();
        let pairs: Vec<String> = pairs.into_iter().collect();
        texts.push(format!("and {} more: {}", rest.len(), pairs.join("; ")));
    }
    let mut texts = texts.into_iter();
    let causes = group.causes.iter().map(|cause| format!("cause: {cause}"));
    Item {
        sign: format!("{}.", number + 1),
        text: texts.next().unwrap_or_default(),
        children: texts.by_ref().chain(causes).map(Item::from).collect(),
        ..Item::default()
    }
}
