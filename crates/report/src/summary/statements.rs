//! Comparisons in words: which of them differ, are equal, or are not decided.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use explain::Direction;
use explain::effects::{Effect, Effects};
use serde::Serialize;
use study::Clock;
use study::wording::{Sense, words_of_metric};

use super::sentence::{self, Speed};
use crate::fill::Sources;
use crate::model::Mark;
use crate::why::{Why, capital, confidence};

/// A comparison in words.
#[derive(Clone, Debug, Serialize)]
pub struct Statement {
    /// The sentence, with its interval.
    pub text: String,
    /// The factor that differs.
    pub factor: String,
    /// How many times as fast the faster side is, or how many times as much the larger has.
    pub times: f64,
    /// Interval of `times`.
    pub interval: (f64, f64),
    /// p after correction for the factor's comparisons; of what is equal, p of the two one-sided tests.
    pub p_adjusted: f64,
    /// Marks of evidence that does not hold in the cells it rests on.
    pub marks: BTreeSet<Mark>,
    /// The surest cause that the rules of `explain` find; none without one.
    pub cause: Option<String>,
    /// Blocks with which it would be decided; none for what is decided, and where no number of blocks would.
    pub blocks: Option<usize>,
}

/// What becomes of the differences of phases that write when the clock ends with syncfs, (c), and not where the
/// original tool stops it, (a).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToSyncfs {
    /// Differences that are established under both.
    pub hold: usize,
    /// Those that (c) does not establish.
    pub lost: usize,
    /// Those that (c) reverses.
    pub reversed: Vec<String>,
}

/// Whether a phase was run by more than one workload, so that its name alone does not say which.
pub(super) fn several_workloads(effects: &[Effect]) -> bool {
    effects.iter().any(|e| {
        effects
            .iter()
            .any(|other| other.phase == e.phase && other.workload != e.workload)
    })
}

/// Statements about effects.
pub(super) struct Statements<'a, 'r> {
    pub(super) sources: &'a Sources<'r>,
    pub(super) why: Option<&'a Why>,
    pub(super) several: bool,
}

impl Statements<'_, '_> {
    fn state(&self, effect: &Effect, text: String) -> Statement {
        let speed = Speed::of(effect);
        Statement {
            text,
            factor: effect.factor.clone(),
            times: speed.times,
            interval: speed.interval,
            p_adjusted: effect.comparison.adjusted_p,
            marks: self.marks(effect),
            cause: self.cause(effect),
            blocks: None,
        }
    }

    /// Evidence that does not hold in the cells of both sides.
    fn marks(&self, effect: &Effect) -> BTreeSet<Mark> {
        let validity = &self.sources.validity;
        let cells = effect.cells.iter().flatten();
        cells
            .flat_map(|cell| validity.marks(*cell, Some(&effect.phase), &effect.metric))
            .filter(|mark| *mark == Mark::Fails)
            .collect()
    }

    /// The surest cause of the difference, of the first two cells that show it; none of low confidence.
    fn cause(&self, effect: &Effect) -> Option<String> {
        let explained = &self.why?.explained.explanations;
        let mine = explained.iter().find(|e| {
            let d = &e.difference;
            let cells = [d.base.cell, d.other.cell];
            let turned = [d.other.cell, d.base.cell];
            (&d.phase, &d.metric) == (&effect.phase, &effect.metric)
                && effect
                    .cells
                    .iter()
                    .any(|pair| *pair == cells || *pair == turned)
                && e.explained
        })?;
        let holds = mine.holds().next()?;
        let confident = holds.judgement.confidence()?;
        (confident != explain::Confidence::Low).then_some(())?;
        Some(format!(
            "{}, {}. {}.",
            holds.title,
            confidence(holds),
            capital(&holds.judgement.because)
        ))
    }

    /// Of each figure and factor the largest difference that counts; the largest of these first, but each factor
    /// among them.
    pub(super) fn differences(
        &self,
        effects: &[Effect],
        listed: usize,
        words: fn(&Effect, bool) -> String,
    ) -> (Vec<Statement>, usize) {
        let counts: Vec<&Effect> = effects
            .iter()
            .filter(|e| Effects::is_established(e))
            .collect();
        let mut largest: Vec<&Effect> = Vec::new();
        for effect in &counts {
            let same = |known: &Effect| {
                (&known.workload, &known.phase, &known.metric, &known.factor)
                    == (
                        &effect.workload,
                        &effect.phase,
                        &effect.metric,
                        &effect.factor,
                    )
            };
            match largest.iter_mut().find(|known| same(known)) {
                Some(known) if Speed::of(effect).times > Speed::of(known).times => *known = effect,
                Some(_) => {}
                None => largest.push(effect),
            }
        }
        // How fast a phase was comes before the times of its parts.
        let rank = |e: &&Effect| (is_part(e), -Speed::of(e).times);
        largest.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(Ordering::Equal));
        let mut factors: BTreeSet<&str> = BTreeSet::new();
        let (mut first, mut later): (Vec<&Effect>, Vec<&Effect>) = largest
            .into_iter()
            .partition(|effect| factors.insert(&effect.factor));
        first.truncate(listed);
        later.truncate(listed - first.len());
        first.extend(later);
        first.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(Ordering::Equal));
        let statements = first.iter();
        let statements = statements.map(|e| self.state(e, words(e, self.several)));
        (statements.collect(), counts.len())
    }

    /// What becomes of the differences under clock (c); none where no phase that writes has one.
    pub(super) fn to_syncfs(&self, effects: &[Effect], at_syncfs: &[Effect]) -> Option<ToSyncfs> {
        let mut found = ToSyncfs::default();
        let writes =
            |e: &&Effect| e.clock == Clock::Original && Direction::of(&e.phase) == Direction::Write;
        let established = effects.iter().filter(|e| Effects::is_established(e));
        for effect in established.filter(writes) {
            let same = |e: &&Effect| {
                (&e.workload, &e.phase, &e.factor, &e.base, &e.other)
                    == (
                        &effect.workload,
                        &effect.phase,
                        &effect.factor,
                        &effect.base,
                        &effect.other,
                    )
                    && e.at
                        .iter()
                        .all(|(f, l)| effect.at.get(f).is_none_or(|own| own == l))
            };
            let there: Vec<&Effect> = at_syncfs.iter().filter(same).collect();
            let first = Speed::of(effect).other_first;
            let reversed =
                |e: &&Effect| Effects::is_established(e) && Speed::of(e).other_first != first;
            if there.is_empty() {
                continue;
            }
            if there.iter().any(reversed) {
                found.reversed.push(sentence::pair(effect, self.several));
            } else if there.iter().all(|e| Effects::is_established(e)) {
                found.hold += 1;
            } else {
                found.lost += 1;
            }
        }
        (found != ToSyncfs::default()).then_some(found)
    }

    /// What a test of equivalence shows to be equal.
    pub(super) fn equal(&self, effects: &[Effect]) -> Vec<Statement> {
        let equal = effects.iter().filter(|e| Effects::is_equal(e));
        equal
            .map(|e| Statement {
                p_adjusted: e.p_equal.unwrap_or(0.0),
                ..self.state(e, sentence::pair(e, self.several))
            })
            .collect()
    }

    /// What is neither different nor equal, what the fewest blocks would decide first.
    pub(super) fn undecided(&self, effects: &[Effect]) -> Vec<Statement> {
        let alpha = 1.0 - self.sources.level;
        let band = self.sources.run.plan.band;
        let open = effects
            .iter()
            .filter(|e| !Effects::is_established(e) && !Effects::is_equal(e));
        let mut open: Vec<Statement> = open
            .map(|e| Statement {
                blocks: stats::precision::blocks_needed(
                    &e.comparison,
                    band,
                    threshold(effects, &e.factor, alpha),
                ),
                ..self.state(e, sentence::pair(e, self.several))
            })
            .collect();
        open.sort_by_key(|statement| statement.blocks.unwrap_or(usize::MAX));
        open
    }
}

/// Whether a figure is the time of a part or a quantity, and not how fast its phase was. A pass is a part of its scan.
fn is_part(effect: &Effect) -> bool {
    let sense = words_of_metric(&effect.metric).sense;
    matches!(sense, Sense::Duration | Sense::Amount) || effect.phase.contains("_pass_")
}

/// What the p of one more difference must come to in the factor's family: Benjamini and Hochberg's bound of the next
/// rank.
fn threshold(effects: &[Effect], factor: &str, alpha: f64) -> f64 {
    let family = effects.iter().filter(|e| e.factor == factor);
    let found = family.clone().filter(|e| Effects::is_established(e));
    alpha * (found.count() + 1) as f64 / family.count().max(1) as f64
}
