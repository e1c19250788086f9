//! The evidence and what speaks against the numbers, as a section. A mail says the same in fewer words.

use crate::Report;
use crate::doc::{Block, Cell, Column, Item, Row, Scope, Section, Sheet, Tone};
use crate::model::Mark;
use crate::run_wide::RunWide;
use crate::sentences::{meaning, time_lines, trials_of};
use crate::validity::Group;

/// Lists of at most this many doubts are unfolded at first.
const OPEN: usize = 6;

/// The section.
pub(super) fn section(report: &Report<'_>) -> Section<'static> {
    let mut section = Section::new("evidence", "Evidence").scope(Scope::HandSetInMail);
    let validity = &report.validity;
    section.blocks.push(if validity.tally.is_empty() {
        let text = "None was recorded: nothing shows that these numbers are valid.";
        Block::Para(text.to_owned())
    } else {
        Block::Table(tally(report))
    });
    let groups = validity.groups();
    if groups.is_empty() {
        let text = "No failed trial, no warning, no evidence that does not hold.";
        section.blocks.push(Block::Para(text.to_owned()));
    } else {
        let items = groups.iter().map(|group| doubt(report, group));
        section.blocks.push(Block::Heading("Doubts".to_owned()));
        section.blocks.push(Block::List(items.collect()));
    }
    let run_wide = validity.run_wide.iter().map(RunWide::sentence);
    let run = report.run;
    let notes = run.plan.notes.iter().chain(&run.notes);
    let notes = notes.chain(&report.notes).cloned();
    let notes = run_wide.chain(notes).chain(time_lines(report));
    let notes: Vec<Item> = notes.map(Item::from).collect();
    if !notes.is_empty() {
        section.blocks.push(Block::Heading("Notes".to_owned()));
        section.blocks.push(Block::List(notes));
    }
    section
}

fn tally(report: &Report<'_>) -> Sheet {
    let rows = report.validity.tally.iter().map(|(name, tally)| {
        let mut fails = Cell::from(tally.fails.to_string());
        if tally.fails > 0 {
            fails.tone = Tone::Bad;
        }
        let count = |n: usize| Cell::from(n.to_string());
        let label = Cell::from(name.as_str());
        Row::new([label, count(tally.holds), fails, count(tally.unchecked)])
    });
    let columns = ["holds", "does not hold", "not checked"].map(Column::figures);
    Sheet::new("Evidence, counted", "evidence", columns).rows(rows)
}

fn doubt(report: &Report<'_>, group: &Group<'_>) -> Item {
    let trials = group.doubts.iter().map(|doubt| {
        let place = format!(
            "trial {}, block {}, {}",
            doubt.trial + 1,
            doubt.block + 1,
            report.cell_label(doubt.cell)
        );
        // A warning's text is above the list.
        Item::from(match doubt.mark {
            Mark::Warning => place,
            _ => format!("{place}: {}", doubt.detail),
        })
    });
    let phase = group.phase.filter(|_| group.mark != Mark::Warning);
    let phase = phase.map_or(String::new(), |phase| format!(" in {phase}"));
    let grave = matches!(group.mark, Mark::Fails | Mark::Missing);
    let why = meaning(group.name).filter(|_| matches!(group.mark, Mark::Fails | Mark::Busy));
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    let count = trials_of(group.doubts.len());
    Item {
        sign: group.mark.sign().to_string(),
        lead: vec![format!("{}{phase}", group.name)],
        text: format!("{} ({count}){why}", group.text()),
        children: trials.collect(),
        fold: Some(grave && group.doubts.len() <= OPEN),
    }
}
