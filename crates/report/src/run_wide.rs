//! What is true of a whole kind of trials alike, and so marks no single number.
//!
//! A mark distinguishes a number from its neighbours. A warning that every trial of a workload carries, or
//! evidence that a filesystem cannot have, would put the same mark on every number and so mean
//! nothing: it is printed once, as a note. Evidence that does not hold is never general.
//!
//! Whether something is general is decided over the whole run, not of the cells a report was narrowed
//! to: a filter must not turn the mark of one filesystem into a note.

use std::collections::{BTreeMap, BTreeSet};

use record::{Evidence, Run, Status, TrialRecord};
use study::{Cell, Slot};

use crate::model::Mark;

/// A warning or an unchecked evidence of all trials of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWide {
    /// [`Mark::Warning`] or [`Mark::Unchecked`]: the mark it does not put on numbers.
    pub mark: Mark,
    /// The kind of trials: a workload or a filesystem.
    pub of: String,
    /// `warning`, or the name of the evidence.
    pub name: String,
    /// Phase of the evidence; none: the whole trial.
    pub phase: Option<String>,
    /// The text; numbers that differ from trial to trial as `low..high`.
    pub text: String,
    /// Trials with it.
    pub trials: usize,
}

impl RunWide {
    /// One line: `all 30 trials of workload iozone: ...`.
    pub fn sentence(&self) -> String {
        let phase = self
            .phase
            .as_ref()
            .map_or(String::new(), |p| format!(" in {p}"));
        let says = match self.mark {
            Mark::Warning => String::new(),
            _ => format!("{}{phase} could not be checked: ", self.name),
        };
        let who = match self.trials {
            1 => "the only trial".to_owned(),
            n => format!("all {n} trials"),
        };
        format!("{who} of {}: {says}{}", self.of, self.text)
    }
}

/// What distinguishes one general statement from another: its kind of trials, name, phase and, for
/// warnings, the text without its numbers.
type Key = (String, String, Option<String>, String);

/// The texts of one key.
#[derive(Default)]
struct Texts<'a> {
    trials: BTreeSet<u32>,
    texts: Vec<&'a str>,
}

/// The general statements of a run.
#[derive(Default)]
pub(crate) struct RunWideIssues {
    warnings: BTreeSet<Key>,
    evidence: BTreeSet<Key>,
    statements: Vec<(Key, RunWide)>,
}

impl RunWideIssues {
    /// Looks at every finished trial.
    pub(crate) fn of(run: &Run) -> RunWideIssues {
        let mut found = RunWideIssues::default();
        let finished: Vec<(&Slot, &Cell, &TrialRecord)> = run
            .plan
            .slots
            .iter()
            .filter_map(|slot| {
                let cell = run.plan.cells.get(slot.cell as usize)?;
                Some((slot, cell, run.trials.get(slot.trial as usize)?))
            })
            .filter(|(_, _, trial)| trial.status == Status::Finished)
            .collect();
        let mut totals: BTreeMap<String, usize> = BTreeMap::new();
        let mut warnings: BTreeMap<Key, Texts<'_>> = BTreeMap::new();
        let mut unchecked: BTreeMap<Key, Texts<'_>> = BTreeMap::new();
        let mut checked: BTreeSet<Key> = BTreeSet::new();
        for (slot, cell, trial) in finished {
            *totals.entry(workload(cell)).or_default() += 1;
            *totals.entry(filesystem(cell)).or_default() += 1;
            for text in &trial.warnings {
                say(&mut warnings, warning_key(cell, text), slot, text);
            }
            for item in &trial.evidence {
                for key in evidence_keys(cell, item) {
                    if item.holds.is_some() {
                        checked.insert(key);
                    } else {
                        say(&mut unchecked, key, slot, &item.detail);
                    }
                }
            }
        }
        unchecked.retain(|key, _| !checked.contains(key));
        found.warnings = found.keep(Mark::Warning, &totals, warnings);
        found.evidence = found.keep(Mark::Unchecked, &totals, unchecked);
        found
    }

    /// Keeps what every trial of its kind has; returns the keys of that.
    fn keep(
        &mut self,
        mark: Mark,
        totals: &BTreeMap<String, usize>,
        texts: BTreeMap<Key, Texts<'_>>,
    ) -> BTreeSet<Key> {
        let mut keys = BTreeSet::new();
        for (key, texts) in texts {
            if totals.get(&key.0) != Some(&texts.trials.len()) {
                continue;
            }
            let general = RunWide {
                mark,
                of: key.0.clone(),
                name: key.1.clone(),
                phase: key.2.clone(),
                text: merged(&texts.texts),
                trials: texts.trials.len(),
            };
            self.statements.push((key.clone(), general));
            keys.insert(key);
        }
        keys
    }

    /// Whether this warning is one of all trials of its workload.
    pub(crate) fn has_warning(&self, cell: &Cell, text: &str) -> bool {
        self.warnings.contains(&warning_key(cell, text))
    }

    /// Whether this evidence could not be checked in any trial of its kind.
    pub(crate) fn has_evidence(&self, cell: &Cell, item: &Evidence) -> bool {
        item.holds.is_none()
            && evidence_keys(cell, item)
                .iter()
                .any(|key| self.evidence.contains(key))
    }

    /// What is general about the kinds of trials that these cells belong to, each once.
    pub(crate) fn about(self, cells: &[&Cell]) -> Vec<RunWide> {
        let kinds: BTreeSet<String> = cells
            .iter()
            .flat_map(|cell| [workload(cell), filesystem(cell)])
            .collect();
        self.statements
            .into_iter()
            .filter(|((of, ..), _)| kinds.contains(of))
            .map(|(_, general)| general)
            .collect()
    }
}

fn say<'a>(texts: &mut BTreeMap<Key, Texts<'a>>, key: Key, slot: &Slot, text: &'a str) {
    let entry = texts.entry(key).or_default();
    entry.trials.insert(slot.trial);
    entry.texts.push(text);
}

fn workload(cell: &Cell) -> String {
    format!("workload {}", cell.workload_name)
}

/// The variant by its level, so that two variants of one type stay apart.
fn filesystem(cell: &Cell) -> String {
    let level = cell.levels.get("filesystem");
    format!(
        "filesystem {}",
        level.map_or_else(|| format!("{:?}", cell.filesystem.kind), Clone::clone)
    )
}

fn warning_key(cell: &Cell, text: &str) -> Key {
    (workload(cell), "warning".to_owned(), None, shape(text))
}

/// A text without its numbers: what texts have in common that differ in them alone.
pub(crate) fn shape(text: &str) -> String {
    let pieces = pieces(text).into_iter();
    pieces
        .map(|(number, piece)| if number { "#" } else { piece })
        .collect()
}

/// Evidence of a whole trial may be beyond a filesystem (XFS initialises nothing lazily) or a
/// workload; evidence of a phase only beyond a workload: what one filesystem alone cannot show about
/// a phase distinguishes its numbers from the others' and keeps its mark.
fn evidence_keys(cell: &Cell, item: &Evidence) -> Vec<Key> {
    let of_filesystem = item.phase.is_none().then(|| filesystem(cell));
    [Some(workload(cell)), of_filesystem]
        .into_iter()
        .flatten()
        .map(|of| (of, item.name.clone(), item.phase.clone(), String::new()))
        .collect()
}

/// A text cut into its numbers and what is between them.
fn pieces(text: &str) -> Vec<(bool, &str)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let number = first.is_ascii_digit();
        let mut end = rest
            .find(|c: char| c.is_ascii_digit() != number && !(number && c == '.'))
            .unwrap_or(rest.len());
        if number {
            // A full stop at the end of a number is not part of it.
            end = rest[..end].trim_end_matches('.').len();
        }
        pieces.push((number, &rest[..end]));
        rest = &rest[end..];
    }
    pieces
}

/// One text for several that may differ in their numbers: those become `low..high`. Texts of
/// other shapes (evidence says what it likes) are represented by the first.
pub(crate) fn merged(texts: &[&str]) -> String {
    let all: Vec<Vec<(bool, &str)>> = texts.iter().map(|text| pieces(text)).collect();
    let Some((first, rest)) = all.split_first() else {
        return String::new();
    };
    let alike = |other: &Vec<(bool, &str)>| {
        other.len() == first.len()
            && other
                .iter()
                .zip(first)
                .all(|(a, b)| a.0 == b.0 && (a.0 || a.1 == b.1))
    };
    if !rest.iter().all(alike) {
        return texts[0].to_owned();
    }
    (0..first.len())
        .map(|at| {
            let words: Vec<&str> = all.iter().map(|pieces| pieces[at].1).collect();
            let value = |word: &&str| word.parse::<f64>().unwrap_or(f64::NAN);
            let low = words.iter().min_by(|a, b| value(a).total_cmp(&value(b)));
            let high = words.iter().max_by(|a, b| value(a).total_cmp(&value(b)));
            match (low, high) {
                (Some(low), Some(high)) if low != high => format!("{low}..{high}"),
                _ => first[at].1.to_owned(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_differ_become_a_range() {
        let texts = ["44 MiB are 0.00 of memory.", "9 MiB are 0.01 of memory."];
        assert_eq!(merged(&texts), "9..44 MiB are 0.00..0.01 of memory.");
        assert_eq!(merged(&["a 1.", "a 1."]), "a 1.");
        assert_eq!(merged(&["a 1", "b 1"]), "a 1");
    }

    proptest::proptest! {
        #[test]
        fn pieces_lose_nothing(text in "[a-z0-9. é]{0,60}") {
            let joined: String = pieces(&text).iter().map(|(_, piece)| *piece).collect();
            proptest::prop_assert_eq!(joined, text);
        }
    }

    #[test]
    fn a_warning_of_all_trials_is_general_and_of_one_is_not() {
        let mut run = fixtures::example::run();
        let cells: Vec<&Cell> = run.plan.cells.iter().collect();
        let all = RunWideIssues::of(&run).about(&cells);
        assert!(
            all.iter().any(|g| g.text.starts_with("scale 0.1")),
            "{all:?}"
        );
        // XFS has no lazy initialisation to wait for: no trial of it could show that it ended.
        let lazy = all
            .iter()
            .find(|g| g.mark == Mark::Unchecked)
            .map(|g| g.of.as_str());
        assert_eq!(lazy, Some("filesystem xfs"));
        let carrier = run.trials.iter_mut().find(|t| !t.warnings.is_empty());
        carrier.expect("some trial warns").warnings.clear();
        let cells: Vec<&Cell> = run.plan.cells.iter().collect();
        let left = RunWideIssues::of(&run).about(&cells);
        assert!(!left.iter().any(|g| g.mark == Mark::Warning), "{left:?}");
    }
}
