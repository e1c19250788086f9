//! Why: the causes that the rules of `explain` find for the differences that count.
//!
//! The report says which differences there are, its readers ask why. Here each difference has the rules
//! that hold, with the sentence of figures that decided, or "not explained". Every rule's evidence, and
//! those that were denied, are what `fslab explain` prints and the page unfolds.

use std::collections::BTreeSet;
use std::path::Path;

use record::Run;

use explain::{Difference, Explained, RuleAnswer, Verdict, explain};

use crate::layout::describe;
use crate::numbers::three;
use crate::options::Options;
use crate::run_wide::{merged, shape};

/// What is known.
#[derive(Debug)]
pub struct Why {
    /// All differences, in the order of the study's tables.
    pub explained: Explained,
}

/// Differences that have the same causes.
#[derive(Debug)]
pub struct Group<'a> {
    /// What each rule that holds says, the surest first.
    pub causes: Vec<String>,
    /// The differences, in the order of the study's tables.
    pub differences: Vec<&'a Difference>,
}

/// What the rules say; none for a run in which nothing can be compared.
pub(crate) fn of(
    run: &Run,
    dir: Option<&Path>,
    options: &Options,
    notes: &mut Vec<String>,
) -> Option<Why> {
    let asked = explain::Options {
        base: options.base.clone(),
        filter: options.filter.clone(),
        level: options.level,
        ..explain::Options::default()
    };
    match explain(run, dir, &asked) {
        Ok(explained) => Some(Why { explained }),
        // One cell, or cells that no figure has in common: there is no difference to explain.
        Err(explain::Error::OneCell { .. } | explain::Error::NothingToCompare { .. }) => None,
        Err(error) => {
            notes.push(format!("why: {error}"));
            None
        }
    }
}

impl Why {
    /// `12 of 30 comparisons differ, 9 of these are explained`, and how many could not be made.
    pub fn summary(&self) -> String {
        let Explained {
            explanations,
            compared,
            too_few,
            ..
        } = &self.explained;
        let mut text = match explanations.len() {
            0 => format!("none of {compared} comparisons differs by more than the band"),
            n => format!(
                "{n} of {compared} comparisons differ, {} of these are explained",
                self.explained.explained()
            ),
        };
        if *too_few > 0 {
            text.push_str(&format!("; {too_few} more have too few blocks to compare"));
        }
        text
    }

    /// The explained differences; those with exactly the same causes are in one group.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for explanation in self.explained.explanations.iter().filter(|e| e.explained) {
            let causes: Vec<String> = explanation.holds().map(cause).collect();
            match groups.iter_mut().find(|group| group.causes == causes) {
                Some(group) => group.differences.push(&explanation.difference),
                None => groups.push(Group {
                    causes,
                    differences: vec![&explanation.difference],
                }),
            }
        }
        groups
    }

    /// What went wrong meanwhile; comparisons that the same kept from being made are counted.
    pub fn notes(&self) -> Vec<String> {
        const MARK: &str = ": not compared: ";
        let mut kinds: Vec<(&str, Vec<&String>)> = Vec::new();
        for note in &self.explained.notes {
            let kind = note.split_once(MARK).map_or(note.as_str(), |(_, why)| why);
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, notes)) => notes.push(note),
                None => kinds.push((kind, vec![note])),
            }
        }
        let notes = kinds
            .into_iter()
            .map(|(kind, notes)| match notes.as_slice() {
                [one] => (*one).clone(),
                notes => format!("{} comparisons were not made: {kind}", notes.len()),
            });
        notes.collect()
    }

    /// How many have no cause.
    pub fn unexplained_count(&self) -> usize {
        self.explained.explanations.len() - self.explained.explained()
    }

    /// Those, by the two that were compared (`ext4 against xfs`), each with how many times as
    /// long the slower takes in which phase and clock: `initial_write (a) 1.24 (c) 1.25`.
    pub fn unexplained(&self) -> Vec<(String, Vec<String>)> {
        let mut pairs: Vec<(String, Vec<(&str, String)>)> = Vec::new();
        for explanation in self.explained.explanations.iter().filter(|e| !e.explained) {
            let difference = &explanation.difference;
            let times = format!(" {} {}", difference.clock.mark(), three(difference.times));
            let (of, phase) = (pair(difference), difference.phase.as_str());
            let at = pairs.iter().position(|(known, _)| *known == of);
            let at = at.unwrap_or_else(|| {
                pairs.push((of, Vec::new()));
                pairs.len() - 1
            });
            match pairs[at].1.iter_mut().find(|(known, _)| *known == phase) {
                Some((_, text)) => text.push_str(&times),
                None => pairs[at].1.push((phase, times)),
            }
        }
        let written = pairs.into_iter().map(|(of, phases)| {
            let phases = phases
                .iter()
                .map(|(phase, times)| format!("{phase}{times}"));
            (of, phases.collect())
        });
        written.collect()
    }

    /// What would let more rules judge, each need once, with the number of rules that have it somewhere.
    /// Needs that differ in their numbers alone (how short a phase was) are one, with `low..high`.
    pub fn needs(&self) -> Vec<(String, usize)> {
        let mut needs: Vec<(String, Vec<&str>, BTreeSet<&str>)> = Vec::new();
        for explanation in self.explained.explanations.iter().filter(|e| !e.explained) {
            for (finding, need) in explanation.open() {
                let shape = shape(need);
                let at = needs.iter().position(|(known, ..)| *known == shape);
                let at = at.unwrap_or_else(|| {
                    needs.push((shape, Vec::new(), BTreeSet::new()));
                    needs.len() - 1
                });
                needs[at].1.push(need);
                needs[at].2.insert(finding.rule);
            }
        }
        let counted = needs.into_iter();
        counted
            .map(|(_, texts, rules)| (merged(&texts), rules.len()))
            .collect()
    }
}

/// `small requests [small_requests], confidence high. Writes of 128 KiB instead of 512 KiB ...`.
fn cause(finding: &RuleAnswer) -> String {
    format!(
        "{} [{}], {}. {}.",
        finding.title,
        finding.rule,
        confidence(finding),
        capital(&finding.judgement.because)
    )
}

/// The text with a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect());
    first.map_or_else(String::new, |first: String| first + letters.as_str())
}

/// `ext4 against xfs (workload=dd)`: the other against what it was compared with.
pub(crate) fn pair(difference: &Difference) -> String {
    let common = describe(&difference.common);
    let common = if common.is_empty() {
        common
    } else {
        format!(" ({common})")
    };
    let name = |level: &str| explain::subject(&difference.factor, level);
    let (other, base) = (&difference.other.level, &difference.base.level);
    format!("{} against {}{common}", name(other), name(base))
}

/// `confidence medium: large enough for half of it is lacking`.
pub(crate) fn confidence(finding: &RuleAnswer) -> String {
    let Verdict::Holds { confidence, lacks } = &finding.judgement.verdict else {
        return String::new();
    };
    match lacks.as_slice() {
        [] => format!("confidence {}", confidence.word()),
        lacks => format!("confidence {}: {}", confidence.word(), lacks.join("; ")),
    }
}
