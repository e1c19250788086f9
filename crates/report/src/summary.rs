//! The answer of a run in sentences: what differs, what is equal, what is not decided, what is in doubt.
//!
//! A reader wants the answer before the tables. It is made of the statistics alone: the effect of
//! each factor ([`explain::effects()`]), a test of equality where no difference was found, the
//! number of blocks that would decide what is open, the marks of the evidence, and the published ratios. No
//! sentence says more than its numbers, and each names metric, direction and levels.

mod sentence;

use std::cmp::Ordering;
use std::collections::BTreeSet;

use explain::Direction;
use explain::effects::{Effect, Effects, Interaction, NotCompared};
use record::Status;
use serde::Serialize;
use study::Clock;
use study::wording::{Sense, words_of_metric};

use crate::fill::Sources;
use crate::growth::Growth;
use crate::layout::varying;
use crate::model::{Difference, Mark, Table};
use crate::options::Options;
use crate::pressure::{Answer, Memory};
use crate::run_wide::shape;
use crate::sentences::trials_of;
use crate::why::{Why, capital, confidence};

use sentence::Speed;
pub(crate) use sentence::{call_figure, gain};

/// Differences that are spelled out.
const LISTED: usize = 8;
/// Differences of latencies that are.
const LATENCIES: usize = 2;

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

/// Whether the shapes of the study that is repeated were found again.
#[derive(Clone, Debug, Serialize)]
pub struct Shapes {
    /// The document, shortly.
    pub document: String,
    /// Ratios that were published and measured.
    pub ratios: usize,
    /// Of these in the same direction, or within the band in both.
    pub again: usize,
    /// Not decided here.
    pub undecided: usize,
    /// Those in another direction, with both ratios.
    pub otherwise: Vec<String>,
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

/// The answer.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The study's question.
    pub question: String,
    /// What all its speeds are measured with; none where clocks differ.
    pub clock: Option<Clock>,
    /// Differences that count, the largest first: one for each figure and factor.
    pub differences: Vec<Statement>,
    /// How many differences count in all.
    pub established: usize,
    /// Latencies that differ, the largest difference first: one for each phase and factor.
    pub latency: Vec<Statement>,
    /// How many differences of latencies count in all.
    pub latency_established: usize,
    /// Whether they hold with the final sync inside the clock.
    pub to_syncfs: Option<ToSyncfs>,
    /// Factors whose effect depends on another.
    pub interactions: Vec<String>,
    /// What is equal within the band.
    pub equal: Vec<Statement>,
    /// What is not decided.
    pub undecided: Vec<Statement>,
    /// Laws of growth, and where memory was what made a phase slow.
    pub findings: Vec<String>,
    /// What speaks against the numbers.
    pub doubts: Vec<String>,
    /// Whether what was published was found again.
    pub published: Option<Shapes>,
    /// Factors that are compared nowhere.
    pub not_compared: Vec<NotCompared>,
    /// Comparisons that had too few blocks.
    pub too_few: usize,
    /// Every effect, with its statistics.
    pub effects: Vec<Effect>,
    /// Every effect on the latency of a phase's main calls.
    pub latencies: Vec<Effect>,
}

/// What a summary is made of, beside the samples.
pub(crate) struct Parts<'a> {
    pub tables: &'a [Table],
    pub growths: &'a [Growth],
    pub memory: Option<&'a Memory>,
    pub why: Option<&'a Why>,
}

/// The summary of a run.
pub(crate) fn of(sources: &Sources<'_>, options: &Options, parts: &Parts<'_>) -> Summary {
    let run = sources.run;
    let asked = explain::Options {
        base: options.base.clone(),
        filter: options.filter.clone(),
        level: options.level,
        ..explain::Options::default()
    };
    let Effects {
        effects,
        latencies,
        interactions,
        not_compared,
        too_few,
    } = explain::effects(run, &asked);
    let all = Statements {
        sources,
        why: parts.why,
        several: several_workloads(&effects),
    };
    let (differences, established) = all.differences(&effects, LISTED, sentence::difference);
    let (latency, latency_established) = all.differences(&latencies, LATENCIES, sentence::latency);
    let at_syncfs = explain::Options {
        clock: Some(Clock::Syncfs),
        ..asked
    };
    let to_syncfs = || all.to_syncfs(&effects, &explain::effects(run, &at_syncfs).effects);
    let is_original = effects.iter().any(|e| e.clock == Clock::Original);
    let to_syncfs = is_original.then(to_syncfs).flatten();
    let mut clocks: BTreeSet<Clock> = effects.iter().map(|e| e.clock).collect();
    let clock = clocks.pop_first().filter(|_| clocks.is_empty());
    let laws = parts.growths.iter().flat_map(law);
    let memory = parts.memory.iter().flat_map(|m| &m.answers);
    let memory = memory.filter(|answer| answer.word.starts_with("Yes"));
    Summary {
        question: run.plan.question.clone(),
        clock,
        differences,
        established,
        latency,
        latency_established,
        to_syncfs,
        interactions: depends(&interactions),
        equal: all.equal(&effects),
        undecided: all.undecided(&effects),
        findings: laws.chain(memory.map(of_memory)).collect(),
        doubts: doubts(sources),
        published: shapes(sources, parts.tables),
        not_compared,
        too_few,
        effects,
        latencies,
    }
}

/// Whether a phase was run by more than one workload, so that its name alone does not say which.
fn several_workloads(effects: &[Effect]) -> bool {
    effects.iter().any(|e| {
        effects
            .iter()
            .any(|other| other.phase == e.phase && other.workload != e.workload)
    })
}

/// The first sentence of each law: the law with its intervals.
fn law(growth: &Growth) -> Vec<String> {
    let curves = growth.curves.iter();
    curves
        .filter_map(|curve| {
            let first = crate::growth::sentences(growth, curve).into_iter().next()?;
            Some(format!("{}, {}: {first}", growth.title, curve.name()))
        })
        .collect()
}

/// `Was it memory? ext4: No: ...`.
fn of_memory(answer: &Answer) -> String {
    format!(
        "was it memory? {}: {}",
        answer.filesystem,
        answer.sentence()
    )
}

/// Statements about effects.
struct Statements<'a, 'r> {
    sources: &'a Sources<'r>,
    why: Option<&'a Why>,
    several: bool,
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
    fn differences(
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
    fn to_syncfs(&self, effects: &[Effect], at_syncfs: &[Effect]) -> Option<ToSyncfs> {
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
    fn equal(&self, effects: &[Effect]) -> Vec<Statement> {
        let equal = effects.iter().filter(|e| Effects::is_equal(e));
        equal
            .map(|e| Statement {
                p_adjusted: e.p_equal.unwrap_or(0.0),
                ..self.state(e, sentence::pair(e, self.several))
            })
            .collect()
    }

    /// What is neither different nor equal, what the fewest blocks would decide first.
    fn undecided(&self, effects: &[Effect]) -> Vec<Statement> {
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

/// Whether a figure is the time of a part or a quantity, and not how fast its phase was.
fn is_part(effect: &Effect) -> bool {
    let sense = words_of_metric(&effect.metric).sense;
    matches!(sense, Sense::Duration | Sense::Amount)
}

/// What the p of one more difference must come to in the factor's family: Benjamini and Hochberg's bound of the next
/// rank.
fn threshold(effects: &[Effect], factor: &str, alpha: f64) -> f64 {
    let family = effects.iter().filter(|e| e.factor == factor);
    let found = family.clone().filter(|e| Effects::is_established(e));
    alpha * (found.count() + 1) as f64 / family.count().max(1) as f64
}

/// A sentence for each factor that depends on another, of its strongest interaction.
fn depends(interactions: &[Interaction]) -> Vec<String> {
    let mut strongest: Vec<&Interaction> = Vec::new();
    for one in interactions {
        let size = |i: &Interaction| i.ratio.ln().abs();
        let pair = |i: &Interaction| {
            let mut factors = [i.factor.clone(), i.on.clone()];
            factors.sort();
            factors
        };
        match strongest.iter_mut().find(|known| pair(known) == pair(one)) {
            Some(known) if size(one) > size(known) => *known = one,
            Some(_) => {}
            None => strongest.push(one),
        }
    }
    strongest.into_iter().map(sentence::interaction).collect()
}

/// One kind of doubt: where it is.
#[derive(Default)]
struct Kind<'a> {
    what: String,
    /// The reason of the first such trial; empty where the kind says it.
    why: &'a str,
    phases: Vec<&'a str>,
    trials: BTreeSet<u32>,
    cells: BTreeSet<u32>,
}

impl Kind<'_> {
    /// `! cold_cache does not hold in read: 3 trials of filesystem=ext4`, `x failed: 1 trial: no space left`.
    fn sentence(&self, sources: &Sources<'_>) -> String {
        let phases = match self.phases.len() {
            0 => String::new(),
            _ => format!(" in {}", self.phases.join(", ")),
        };
        let of = common_levels(sources, &self.cells);
        let why = match self.why {
            "" => String::new(),
            why => format!(": {why}"),
        };
        format!(
            "{}{phases}: {}{of}{why}",
            self.what,
            trials_of(self.trials.len())
        )
    }
}

/// What speaks against the numbers, worst first.
fn doubts(sources: &Sources<'_>) -> Vec<String> {
    let run = sources.run;
    let mut all: Vec<String> = Vec::new();
    let finished = |t: &&record::TrialRecord| matches!(t.status, Status::Finished);
    let done = run.trials.iter().filter(finished).count();
    let replaced = |t: &&record::TrialRecord| matches!(t.status, Status::Replaced { .. });
    let n = run.trials.len() - run.trials.iter().filter(replaced).count();
    if done < n {
        all.push(format!("{done} of {n} planned trials finished"));
    }
    if run.plan.blocks < 5 {
        let blocks = words::plural(u64::from(run.plan.blocks), "block");
        all.push(format!("{blocks}: fewer than 5, so intervals are wide"));
    }
    all.extend(repeats(run));
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    let groups = sources.validity.groups();
    let each = groups
        .iter()
        .flat_map(|g| g.doubts.iter().map(move |d| (g, *d)));
    for (group, doubt) in each {
        let sign = group.mark.sign();
        let (what, why) = match group.mark {
            Mark::Fails => (format!("{sign} {} does not hold", group.name), ""),
            Mark::Busy | Mark::Warning => (format!("{sign} {}", group.text()), ""),
            // A reason that differs in its numbers alone is one.
            Mark::Missing => (format!("{sign} {}", group.name), doubt.detail.as_str()),
            Mark::Unchecked => continue,
        };
        let known = |kind: &Kind<'_>| kind.what == what && shape(kind.why) == shape(why);
        let at = kinds.iter().position(known).unwrap_or_else(|| {
            kinds.push(Kind {
                what,
                why,
                ..Kind::default()
            });
            kinds.len() - 1
        });
        let phase = group
            .phase
            .filter(|phase| !kinds[at].phases.contains(phase));
        kinds[at].phases.extend(phase);
        kinds[at].trials.insert(doubt.trial);
        kinds[at].cells.insert(doubt.cell);
    }
    all.extend(kinds.iter().map(|kind| kind.sentence(sources)));
    all
}

/// Which trials were repeated, and which of them count.
fn repeats(run: &record::Run) -> Vec<String> {
    const LISTED: usize = 3;
    let notes = run.repeat_notes();
    let mut lines: Vec<String> = notes.iter().take(LISTED).cloned().collect();
    if notes.len() > LISTED {
        let more = notes.len() - LISTED;
        lines.push(format!("{more} more repeats: `fslab show` lists them all"));
    }
    lines
}

/// ` of filesystem=btrfs`: the levels that these cells share and others do not have.
fn common_levels(sources: &Sources<'_>, cells: &BTreeSet<u32>) -> String {
    let plan = &sources.run.plan;
    let all: Vec<&study::Cell> = plan.cells.iter().collect();
    let mine: Vec<&study::Cell> = plan
        .cells
        .iter()
        .filter(|c| cells.contains(&c.id))
        .collect();
    let shared = varying(plan, &all).into_iter().filter_map(|factor| {
        let level = mine.first()?.levels.get(&factor)?;
        let same = mine.iter().all(|c| c.levels.get(&factor) == Some(level));
        (same && factor != "workload").then(|| format!("{factor}={level}"))
    });
    let shared: Vec<String> = shared.collect();
    if shared.is_empty() {
        String::new()
    } else {
        format!(" of {}", shared.join(" "))
    }
}

/// Whether the published ratios were found again, by their direction.
fn shapes(sources: &Sources<'_>, tables: &[Table]) -> Option<Shapes> {
    let band = sources.run.plan.band;
    let mut found = Shapes {
        document: sources.published?.document.short(),
        ratios: 0,
        again: 0,
        undecided: 0,
        otherwise: Vec::new(),
    };
    for table in tables {
        for row in &table.rows {
            for (column, figure) in table.columns.iter().zip(&row.figures) {
                let theirs = figure.published.and_then(|p| p.ratio);
                let (Some(theirs), Some(ours)) = (theirs, &figure.versus) else {
                    continue;
                };
                found.ratios += 1;
                let direction = |ratio: f64| match ratio {
                    r if r > 1.0 + band => 1,
                    r if r < 1.0 - band => -1,
                    _ => 0,
                };
                let established = match ours.difference {
                    Difference::Unclear => None,
                    Difference::Same => Some(0),
                    _ => Some(direction(ours.ratio)),
                };
                match established {
                    None => found.undecided += 1,
                    Some(way) if way == direction(theirs) => found.again += 1,
                    Some(_) => found.otherwise.push(format!(
                        "{} {} against {} ({}): theirs {}, ours {}",
                        row.label,
                        column.name,
                        table.base_name(),
                        table.title,
                        crate::numbers::brief_ratio(theirs),
                        crate::numbers::brief_ratio(ours.ratio)
                    )),
                }
            }
        }
    }
    (found.ratios > 0).then_some(found)
}
