//! The result: each difference with the answer of every rule.

use std::path::Path;

use compare::context::Times;
use record::Run;
use serde::Serialize;

use crate::comparison::CellComparison;
use crate::differences::{self, Difference, Slower};
use crate::error::Error;
use crate::gather::Gatherer;
use crate::options::Options;
use crate::rule::{Confidence, Judgement, Verdict};
use crate::rules;

/// One rule's answer about one difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleAnswer {
    /// The rule's id.
    pub rule: &'static str,
    /// The cause in words.
    pub title: &'static str,
    /// Its judgement.
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// A difference and the answers of the rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The difference.
    pub difference: Difference,
    /// Whether any rule holds.
    pub explained: bool,
    /// The answers of the rules that apply to this kind of phase: those that hold, the surest first, then
    /// those that are denied, then those that could not be judged.
    pub findings: Vec<RuleAnswer>,
}

impl Explanation {
    /// The rules that hold, the surest first.
    pub fn holds(&self) -> impl Iterator<Item = &RuleAnswer> {
        self.findings
            .iter()
            .filter(|f| f.judgement.confidence().is_some())
    }

    /// The rules that are denied.
    pub fn denied(&self) -> impl Iterator<Item = &RuleAnswer> {
        self.findings
            .iter()
            .filter(|f| f.judgement.verdict == Verdict::Denied)
    }

    /// The rules that could not be judged, with what they need.
    pub fn open(&self) -> impl Iterator<Item = (&RuleAnswer, &str)> {
        self.findings
            .iter()
            .filter_map(|finding| match &finding.judgement.verdict {
                Verdict::NotJudged { needs } => Some((finding, needs.as_str())),
                _ => None,
            })
    }
}

/// The explanations of a run's differences.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The run's name.
    pub run: String,
    /// Its study.
    pub study: String,
    /// What its times are of, where that is not hardware: `times of modelled disks (7k500)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_of: Option<String>,
    /// Comparisons that were made.
    pub compared: usize,
    /// Comparisons that had too few values to be made.
    pub too_few: usize,
    /// One for each difference that counts, in the order of the study's tables.
    pub explanations: Vec<Explanation>,
    /// Warnings.
    pub notes: Vec<String>,
}

impl Explained {
    /// Differences for which a rule holds.
    pub fn explained(&self) -> usize {
        self.explanations.iter().filter(|e| e.explained).count()
    }
}

/// Explains the differences of a run that count.
///
/// `dir` is the run's folder, from which telemetry is read; without it rules that need telemetry cannot
/// judge. Of an unfinished run the finished trials are explained.
///
/// # Errors
/// Names in the options that the run does not have; a run with nothing to compare.
pub fn explain(run: &Run, dir: Option<&Path>, options: &Options) -> Result<Explained, Error> {
    let found = differences::find(run, options)?;
    let mut gatherer = Gatherer::new(run, dir);
    let explanations = found
        .differences
        .into_iter()
        .map(|difference| of(run, &mut gatherer, difference))
        .collect();
    Ok(Explained {
        run: run.name.clone(),
        study: run.plan.study.clone(),
        times_of: match Times::of(run) {
            Times::Real => None,
            times => Some(times.to_string()),
        },
        compared: found.compared,
        too_few: found.too_few,
        explanations,
        notes: found.notes,
    })
}

fn of(run: &Run, gatherer: &mut Gatherer<'_>, difference: Difference) -> Explanation {
    let (slower, faster) = match difference.slower {
        Slower::Base => (difference.base.cell, difference.other.cell),
        Slower::Other => (difference.other.cell, difference.base.cell),
    };
    let cell = |id: u32| run.plan.cells.iter().find(|cell| cell.id == id);
    let mut findings = Vec::new();
    if let (Some(slower), Some(faster)) = (cell(slower), cell(faster)) {
        gatherer.gather(slower, &difference.phase);
        gatherer.gather(faster, &difference.phase);
        let sides = gatherer
            .side(slower, &difference.phase)
            .zip(gatherer.side(faster, &difference.phase));
        if let Some(sides) = sides {
            let pair = CellComparison {
                slower: sides.0,
                faster: sides.1,
                slower_cell: slower,
                faster_cell: faster,
                times: difference.times,
                factor: &difference.factor,
                phase: &difference.phase,
                metric: &difference.metric,
                clock: difference.clock,
            };
            findings = ask(&pair);
        }
    }
    Explanation {
        explained: findings.iter().any(|f| f.judgement.confidence().is_some()),
        difference,
        findings,
    }
}

/// The answers of all rules, the surest first.
pub(crate) fn ask(pair: &CellComparison<'_>) -> Vec<RuleAnswer> {
    let mut findings: Vec<RuleAnswer> = rules::ALL
        .iter()
        .filter_map(|rule| {
            Some(RuleAnswer {
                rule: rule.id(),
                title: rule.title(),
                judgement: rule.judge(pair)?,
            })
        })
        .collect();
    let rank = |finding: &RuleAnswer| match finding.judgement.verdict {
        Verdict::Holds { confidence, .. } => match confidence {
            Confidence::High => 0,
            Confidence::Medium => 1,
            Confidence::Low => 2,
        },
        Verdict::Denied => 3,
        Verdict::NotJudged { .. } => 4,
    };
    // Stable: the rules keep their order within a rank.
    findings.sort_by_key(rank);
    findings
}
