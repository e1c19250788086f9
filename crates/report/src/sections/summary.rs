//! The first screen: the answer in sentences, then all effects as one matrix.

use std::collections::BTreeSet;

use explain::effects::{Effect, Effects};
use explain::level_name;
use study::wording::{Sense, words_of_metric};

use crate::Report;
use crate::compare::is_taken_by_correction;
use crate::doc::{Block, Cell, Column, Item, Row, Section, Sheet, Tone};
use crate::estimate::Estimates;
use crate::model::{Mark, clock_meaning};
use crate::numbers::{brief_range, brief_ratio};
use crate::options::{Format, Part};
use crate::summary::{Shapes, Statement, Summary, ToSyncfs, call_figure, gain};

/// Pairs that are listed as equal, and as undecided.
const PAIRS: usize = 5;
/// Doubts, and ratios that came out otherwise than published.
const DOUBTS: usize = 8;

/// Latencies that the first screen has room for, with the largest differences.
const LATENCIES: usize = 5;

/// Heads the laws of 2011, one line each.
pub(crate) const LAWS: &str = "The laws of 2011 on these numbers:";

/// Heads how long the checks would take on other devices, one line for each device.
pub(crate) const MODELLED: &str =
    "Modelled, not measured: how long the checks would take on other devices (5-95 %):";

/// Begins the sentence on how much of the differences is left when the data is on the device.
pub(crate) const WITH_SYNC: &str = "With the final sync inside the clock";

/// The answer.
pub(super) fn section(report: &Report<'_>, summary: &Summary) -> Section<'static> {
    let mut section = Section::new("summary", "Summary");
    let blocks = &mut section.blocks;
    if !summary.question.is_empty() {
        blocks.push(Block::Para(format!("Question: {}", summary.question)));
    }
    blocks.extend(differences(report, summary));
    blocks.extend(latency(summary));
    blocks.extend(list(LAWS, summary.laws.clone(), PAIRS));
    let modelled = report.estimates.as_ref();
    let modelled = modelled.map_or_else(Vec::new, Estimates::brief);
    blocks.extend(list(MODELLED, modelled, PAIRS));
    blocks.extend(list("Laws and limits:", summary.findings.clone(), PAIRS));
    blocks.extend(equal(report, summary));
    blocks.extend(undecided(summary));
    let not_compared = summary.not_compared.iter();
    let not_compared = not_compared.map(|n| format!("{}: {}", n.factor, n.why));
    blocks.extend(list("Not compared:", not_compared.collect(), PAIRS));
    blocks.extend(doubts(summary));
    blocks.extend(summary.published.as_ref().map(published));
    section
}

/// A lead with its items, and how many more there are; nothing without any.
fn list(lead: &str, texts: Vec<String>, most: usize) -> Vec<Block<'static>> {
    if texts.is_empty() {
        return Vec::new();
    }
    let more = texts.len().saturating_sub(most);
    let mut items: Vec<Item> = texts.into_iter().take(most).map(Item::from).collect();
    if more > 0 {
        items.push(Item::from(format!("and {more} more")));
    }
    vec![Block::Heading(lead.to_owned()), Block::List(items)]
}

fn differences(report: &Report<'_>, summary: &Summary) -> Vec<Block<'static>> {
    if summary.effects.is_empty() {
        return Vec::new();
    }
    let (n, m) = (summary.established, summary.effects.len());
    if n == 0 {
        return vec![Block::Para(format!(
            "No difference is established: none of {m} comparisons is clear of the band of {:.0} %.",
            report.run.plan.band * 100.0
        ))];
    }
    let clock = summary.clock.map_or(String::new(), |clock| {
        format!("; clock {}: {}", clock.mark(), clock_meaning(clock))
    });
    let heading = format!(
        "{} ({n} of {m} comparisons; ratios with {:.0} % intervals{clock}):",
        if n == 1 {
            "Established difference"
        } else {
            "Established differences, the largest first"
        },
        report.options.level * 100.0
    );
    let items = summary.differences.iter().enumerate();
    let items = items.map(|(at, statement)| {
        // A cause that an item above has is not repeated.
        let above = &summary.differences[..at];
        let cause = statement.cause.iter();
        let cause = cause.filter(|cause| !above.iter().any(|s| s.cause.as_ref() == Some(cause)));
        Item {
            text: format!("{}.{}", statement.text, marks(statement)),
            children: cause.map(|c| Item::from(format!("cause: {c}"))).collect(),
            ..Item::default()
        }
    });
    let mut items: Vec<Item> = items.collect();
    let more = n - summary.differences.len();
    if more > 0 {
        let text = format!("and {more} more, in the matrix below");
        items.push(Item::from(text));
    }
    items.extend(summary.to_syncfs.as_ref().map(to_syncfs));
    items.extend(
        summary
            .interactions
            .iter()
            .map(|text| Item::from(format!("{text}."))),
    );
    vec![Block::Heading(heading), Block::List(items)]
}

/// Latencies that differ; where none does, how many were compared.
fn latency(summary: &Summary) -> Vec<Block<'static>> {
    let (n, m) = (summary.latency_established, summary.latencies.len());
    if m == 0 {
        return Vec::new();
    }
    if n == 0 {
        return vec![Block::Para(format!(
            "Latency: no difference is established in {}.",
            words::plural(m as u64, "comparison")
        ))];
    }
    let heading = format!(
        "Latency, the largest difference first ({n} of {} established):",
        words::plural(m as u64, "comparison")
    );
    let items = summary.latency.iter();
    let items = items.map(|s| Item::from(format!("{}.{}", s.text, marks(s))));
    let mut items: Vec<Item> = items.collect();
    let more = n - summary.latency.len();
    if more > 0 {
        items.push(Item::from(format!("and {more} more, in the matrix below")));
    }
    vec![Block::Heading(heading), Block::List(items)]
}

/// Whether the differences of phases that write hold to the end of syncfs.
fn to_syncfs(found: &ToSyncfs) -> Item {
    let n = found.hold + found.lost + found.reversed.len();
    let what = match (n, found.hold, found.lost) {
        (1, 1, _) => "the one difference in a phase that writes remains established".to_owned(),
        (1, _, 1) => "the one difference in a phase that writes is not established".to_owned(),
        (_, hold, _) => {
            format!("{hold} of {n} differences in phases that write remain established")
        }
    };
    let mut text = format!("{WITH_SYNC}, (c), {what}");
    if found.lost > 0 && n > 1 {
        let are = if found.lost == 1 { "is" } else { "are" };
        text.push_str(&format!("; {} {are} not established", found.lost));
    }
    if !found.reversed.is_empty() {
        let shown: Vec<&str> = found.reversed.iter().take(3).map(String::as_str).collect();
        let are = if found.reversed.len() == 1 {
            "is"
        } else {
            "are"
        };
        text.push_str(&format!(
            "; {} {are} reversed, whose (a) is: {}",
            found.reversed.len(),
            shown.join("; ")
        ));
    }
    Item::from(format!("{text}."))
}

/// ` [! evidence does not hold]`, for a sentence that rests on numbers in doubt.
fn marks(statement: &Statement) -> String {
    let marks: Vec<String> = statement
        .marks
        .iter()
        .map(|mark| format!("{} {}", mark.sign(), mark.meaning()))
        .collect();
    if marks.is_empty() {
        String::new()
    } else {
        format!(" [{}]", marks.join("; "))
    }
}

fn equal(report: &Report<'_>, summary: &Summary) -> Vec<Block<'static>> {
    let largest = summary.equal.iter().map(|s| s.p_adjusted).reduce(f64::max);
    let Some(p) = largest else {
        return Vec::new();
    };
    let lead = format!(
        "Equal within {:.0} % ({} of {}; two one-sided tests, p at most {}):",
        report.run.plan.band * 100.0,
        summary.equal.len(),
        summary.effects.len(),
        if p < 0.001 {
            "0.001".to_owned()
        } else {
            format!("{p:.3}")
        }
    );
    let texts = summary.equal.iter().map(|s| s.text.clone());
    list(&lead, texts.collect(), PAIRS)
}

fn undecided(summary: &Summary) -> Vec<Block<'static>> {
    let open = &summary.undecided;
    if open.is_empty() {
        return Vec::new();
    }
    let counts: Vec<usize> = open.iter().filter_map(|s| s.blocks).collect();
    let mut lead = format!("Not decided ({} of {}", open.len(), summary.effects.len());
    // In rising order: half of them would be decided by as many blocks as the middle one needs.
    if let Some(half) = counts.get(open.len().div_ceil(2) - 1) {
        lead.push_str(&format!(
            "; {} would decide half of them, power 80 %",
            words::plural(*half as u64, "block")
        ));
    }
    lead.push_str("):");
    let texts = open.iter().map(|s| match s.blocks {
        Some(blocks) => {
            let blocks = words::plural(blocks as u64, "block");
            format!("{}; {blocks} would decide", s.text)
        }
        None => format!(
            "{}; at the edge of the band, more blocks will not decide",
            s.text
        ),
    });
    list(&lead, texts.collect(), PAIRS)
}

fn doubts(summary: &Summary) -> Vec<Block<'static>> {
    if summary.doubts.is_empty() {
        let text = "In doubt: nothing; every trial finished and all evidence holds.";
        return vec![Block::Para(text.to_owned())];
    }
    list("In doubt:", summary.doubts.clone(), DOUBTS)
}

fn published(shapes: &Shapes) -> Block<'static> {
    let mut text = format!(
        "Published shapes: {} of {} ratios of {} were found again",
        shapes.again, shapes.ratios, shapes.document
    );
    if shapes.undecided > 0 {
        text.push_str(&format!(", {} are not decided here", shapes.undecided));
    }
    match shapes.otherwise.len() {
        0 => {}
        n => {
            let shown: Vec<&str> = shapes
                .otherwise
                .iter()
                .take(3)
                .map(String::as_str)
                .collect();
            text.push_str(&format!(", {n} came out otherwise: {}", shown.join("; ")));
            if n > shown.len() {
                text.push_str("; and others");
            }
        }
    }
    Block::Para(format!("{text}."))
}

/// All effects: figures as rows, the levels of a factor as columns, one sheet a factor; then those on latencies.
pub(super) fn matrix(report: &Report<'_>, summary: &Summary) -> Option<Section<'static>> {
    if summary.effects.is_empty() && summary.latencies.is_empty() {
        return None;
    }
    let mut section = Section::new("ratios", "Ratios");
    section.blocks.push(Block::Para(legend(report, summary)));
    let effects: Vec<&Effect> = summary.effects.iter().collect();
    section.blocks.extend(sheets(report, "", &effects));
    let (latencies, more) = latencies(report, summary);
    let of_latency = sheets(report, "latency: ", &latencies);
    section.blocks.extend(of_latency);
    if more > 0 {
        let rows = words::plural(more as u64, "row");
        let text = format!("{rows} of latency more: --only summary, or --full.");
        section.blocks.push(Block::Para(text));
    }
    Some(section)
}

/// The latencies to print, and how many rows of them are left out: the first screen has those that differ most.
fn latencies<'a>(report: &Report<'_>, summary: &'a Summary) -> (Vec<&'a Effect>, usize) {
    let all: Vec<&Effect> = summary.latencies.iter().collect();
    let row = |effect: &Effect| {
        let Effect {
            workload,
            phase,
            factor,
            at,
            ..
        } = effect;
        (workload.clone(), phase.clone(), factor.clone(), at.clone())
    };
    let rows: BTreeSet<_> = all.iter().map(|effect| row(effect)).collect();
    // A page has room for all of them.
    let short = report.options.part == Part::First && report.options.format != Format::Html;
    if !short || rows.len() <= LATENCIES {
        return (all, 0);
    }
    let mut largest: Vec<&Effect> = { all.iter().copied() }
        .filter(|effect| Effects::is_established(effect))
        .collect();
    let size = |effect: &Effect| gain(effect).0.ln().abs();
    largest.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let mut chosen = BTreeSet::new();
    for effect in largest {
        if chosen.len() < LATENCIES {
            chosen.insert(row(effect));
        }
    }
    let shown = all
        .into_iter()
        .filter(|effect| chosen.contains(&row(effect)));
    (shown.collect(), rows.len() - chosen.len())
}

/// One sheet for each factor; `of` begins the heads of their labels.
fn sheets(report: &Report<'_>, of: &str, effects: &[&Effect]) -> Vec<Block<'static>> {
    let mut factors: Vec<&str> = Vec::new();
    for effect in effects {
        if !factors.contains(&effect.factor.as_str()) {
            factors.push(&effect.factor);
        }
    }
    let sheets = factors.into_iter().map(|factor| {
        let of_factor = effects.iter().filter(|e| e.factor == factor);
        let effects: Vec<&Effect> = of_factor.copied().collect();
        Block::Table(sheet(report, of, factor, &effects))
    });
    sheets.collect()
}

fn legend(report: &Report<'_>, summary: &Summary) -> String {
    let percent = report.run.plan.band * 100.0;
    let mut text = format!(
        "How many times as fast each level is as the first of its factor, over the levels of the other factors: \
         + and - faster and slower by more than {percent:.0} %, = equal within {percent:.0} %, ~ not decided"
    );
    let all = || summary.effects.iter().chain(&summary.latencies);
    if all().any(is_taken) {
        text.push_str(", ~c not decided once corrected for the number of comparisons");
    }
    let is_part = |e: &Effect| {
        let sense = words_of_metric(&e.metric).sense;
        matches!(sense, Sense::Duration | Sense::Amount)
    };
    if all().any(is_part) {
        text.push_str(
            "; where a quantity or a latency is in parentheses, how many times as much or as long",
        );
    }
    let fails = |e: &Effect| marks_of(report, e).contains(&Mark::Fails);
    if all().any(fails) {
        text.push_str(&format!(
            ", {} {}",
            Mark::Fails.sign(),
            Mark::Fails.meaning()
        ));
    }
    text + "."
}

/// Evidence that does not hold in the cells of an effect.
fn marks_of(report: &Report<'_>, effect: &Effect) -> BTreeSet<Mark> {
    let marks = effect.cells.iter().flatten().flat_map(|cell| {
        let phase = Some(effect.phase.as_str());
        report.validity.marks(*cell, phase, &effect.metric)
    });
    marks.filter(|mark| *mark == Mark::Fails).collect()
}

fn is_taken(effect: &Effect) -> bool {
    is_taken_by_correction(&effect.comparison)
}

fn sheet(report: &Report<'_>, of: &str, factor: &str, effects: &[&Effect]) -> Sheet {
    let base = effects.first().map_or("", |e| e.base.as_str());
    let mut levels: Vec<&str> = Vec::new();
    let mut rows: Vec<(String, Vec<&Effect>)> = Vec::new();
    for effect in effects {
        if !levels.contains(&effect.other.as_str()) {
            levels.push(&effect.other);
        }
        let label = label(effect, effects);
        match rows.iter_mut().find(|(known, _)| *known == label) {
            Some((_, row)) => row.push(effect),
            None => rows.push((label, vec![effect])),
        }
    }
    let columns = levels
        .iter()
        .map(|level| Column::figures(level_name(level)));
    let rows = rows.iter().map(|(label, row)| {
        let cells = levels.iter().map(|level| {
            let effect = row.iter().find(|e| e.other == *level);
            effect.map_or_else(|| Cell::from(""), |e| cell(report, e))
        });
        Row::new(std::iter::once(Cell::from(label.as_str())).chain(cells))
    });
    let about = format!("Ratios by {factor}");
    let head = format!("{of}{factor}, to {}", level_name(base));
    Sheet::new(about, head, columns).rows(rows).class("heat")
}

/// `initl_writers, threads=8`; with workload and clock where they distinguish rows.
fn label(effect: &Effect, effects: &[&Effect]) -> String {
    let mut text = effect.label.clone();
    let alike = |e: &&&Effect| e.label == effect.label && e.workload != effect.workload;
    if effects.iter().any(|e| alike(&e)) {
        text = format!("{} {text}", effect.workload);
    }
    let clocks = effects.iter().any(|e| e.clock != effect.clock);
    if clocks && !text.ends_with(effect.clock.mark()) {
        text.push_str(&format!(" {}", effect.clock.mark()));
    }
    for (factor, level) in &effect.at {
        text.push_str(&format!(", {factor}={}", level_name(level)));
    }
    let words = words_of_metric(&effect.metric);
    if matches!(words.sense, Sense::Duration | Sense::Amount) {
        let noun = call_figure(&effect.metric).unwrap_or(words.noun);
        text.push_str(&format!(" ({noun})"));
    }
    text
}

fn cell(report: &Report<'_>, effect: &Effect) -> Cell {
    let (ratio, (low, high)) = gain(effect);
    let words = words_of_metric(&effect.metric);
    // Of an amount or a time of a part, more is not better.
    let faster = match words.sense {
        Sense::Rate | Sense::Time => ratio > 1.0,
        _ => ratio < 1.0,
    };
    let (sign, tone) = match (Effects::is_established(effect), Effects::is_equal(effect)) {
        (true, _) if faster => ("+", Tone::Better),
        (true, _) => ("-", Tone::Worse),
        (_, true) => ("=", Tone::Neutral),
        _ if is_taken(effect) => ("~c", Tone::Neutral),
        _ => ("~", Tone::Neutral),
    };
    let marks: String = marks_of(report, effect).iter().map(|m| m.sign()).collect();
    let interval = brief_range(low, high, brief_ratio);
    Cell {
        heat: Effects::is_established(effect).then(|| ratio.ln().abs()),
        ..Cell::from(format!("{} {sign}", brief_ratio(ratio)))
    }
    .signs(marks)
    .tone(tone)
    .hover(format!("{interval}; p {:.4}", effect.comparison.adjusted_p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_final_sync_leaves_is_counted_in_words() {
        let of = |hold, lost, reversed: &[&str]| {
            let reversed = reversed.iter().map(|text| (*text).to_owned()).collect();
            let found = ToSyncfs {
                hold,
                lost,
                reversed,
            };
            to_syncfs(&found).text.replace(WITH_SYNC, "")
        };
        let alone = ", (c), the one difference in a phase that writes";
        assert_eq!(of(1, 0, &[]), format!("{alone} remains established."));
        assert_eq!(of(0, 1, &[]), format!("{alone} is not established."));
        let several = "differences in phases that write remain established";
        assert_eq!(
            of(11, 1, &[]),
            format!(", (c), 11 of 12 {several}; 1 is not established.")
        );
        assert_eq!(
            of(0, 2, &["xfs against ext4"]),
            format!(
                ", (c), 0 of 3 {several}; 2 are not established; 1 is reversed, whose (a) is: xfs against ext4."
            )
        );
    }
}
