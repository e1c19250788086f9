//! The answer of a run in sentences: what differs, what is equal, what is not decided, what is in doubt.
//!
//! A reader wants the answer before the tables. It is made of the statistics alone: the effect of
//! each factor ([`explain::effects()`]), a test of equality where no difference was found, the
//! number of blocks that would decide what is open, the marks of the evidence, and the published ratios. No
//! sentence says more than its numbers, and each names metric, direction and levels.

mod doubts;
mod sentence;
mod shapes;
mod statements;

use std::collections::BTreeSet;

use explain::effects::{Effect, Effects, Interaction, NotCompared};
use serde::Serialize;
use study::Clock;

use crate::fill::Sources;
use crate::growth::Growth;
use crate::model::Table;
use crate::options::Options;
use crate::pressure::{Answer, Memory};
use crate::scan::Scan;
use crate::why::Why;

use doubts::doubts;
pub(crate) use sentence::{call_figure, gain};
pub use shapes::Shapes;
use shapes::shapes;
pub use statements::{Statement, ToSyncfs};
use statements::{Statements, several_workloads};

/// Differences that are spelled out.
const LISTED: usize = 8;
/// Differences of latencies that are.
const LATENCIES: usize = 2;

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
    /// The laws of 2011 on how a checker reads, and whether each holds.
    pub laws: Vec<String>,
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
    pub scan: Option<&'a Scan>,
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
        laws: parts.scan.map_or_else(Vec::new, Scan::brief_laws),
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
