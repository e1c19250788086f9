//! A rule and its possible answers.

use serde::Serialize;

use crate::comparison::CellComparison;
use crate::value::Row;

/// One possible cause. Each has a file in `rules/`, with its thresholds, the reasons for them, and the
/// evidence that denies it.
pub trait Rule: Sync {
    /// Name in JSON and on the command line (`readahead_too_small`).
    fn id(&self) -> &'static str;

    /// The cause in words (`readahead too small`).
    fn title(&self) -> &'static str;

    /// Judges two cells that differ. `None`: the rule does not apply to this kind of phase.
    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement>;
}

/// How sure a rule is that its cause explains the difference. A cause that holds is tested for four
/// things:
///
/// 1. its quantity was measured in this phase, in both cells, and not inferred from a setting;
/// 2. it is large enough to carry at least half of the difference (of its logarithm);
/// 3. three or more trials of each cell do not overlap in it;
/// 4. there is no evidence against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Two or more of the four are lacking.
    Low,
    /// One is lacking.
    Medium,
    /// None is lacking.
    High,
}

impl Confidence {
    /// In one word.
    pub const fn word(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// Whether a cause explains a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Yes.
    Holds {
        /// How sure.
        confidence: Confidence,
        /// Which of the four are lacking, in words.
        lacks: Vec<&'static str>,
    },
    /// No.
    Denied,
    /// The evidence is missing.
    NotJudged {
        /// Which evidence is missing, and how to record it.
        needs: String,
    },
}

/// A rule's answer about two cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// Whether the cause explains the difference.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// One sentence with the figures that decided; empty where nothing could be judged.
    pub because: String,
    /// The figures and facts that the rule looked at.
    pub evidence: Vec<Row>,
    /// Evidence against it, whether it decided or not.
    pub against: Vec<Row>,
    /// The counter-experiment: a setting that removes the cause.
    pub experiment: Option<String>,
}

impl Judgement {
    /// The evidence is missing.
    #[allow(clippy::unnecessary_wraps, reason = "what Rule::judge returns")]
    pub(crate) fn not_judged(needs: impl Into<String>) -> Option<Judgement> {
        Some(Judgement {
            verdict: Verdict::NotJudged {
                needs: needs.into(),
            },
            because: String::new(),
            evidence: Vec::new(),
            against: Vec::new(),
            experiment: None,
        })
    }

    /// How sure, when it holds.
    pub fn confidence(&self) -> Option<Confidence> {
        match self.verdict {
            Verdict::Holds { confidence, .. } => Some(confidence),
            _ => None,
        }
    }
}

/// The evidence that a rule collects before it judges.
pub(crate) struct Grounds<'p> {
    pair: &'p CellComparison<'p>,
    evidence: Vec<Row>,
    against: Vec<Row>,
    inferred: bool,
    small: bool,
    overlap: bool,
}

impl<'p> Grounds<'p> {
    /// Rows of these names, where they were recorded.
    pub(crate) fn of(pair: &'p CellComparison<'p>, names: &[&str]) -> Grounds<'p> {
        Grounds {
            pair,
            evidence: names.iter().filter_map(|name| pair.row(name)).collect(),
            against: Vec::new(),
            inferred: false,
            small: false,
            overlap: false,
        }
    }

    /// Adds a row.
    pub(crate) fn row(mut self, row: Row) -> Self {
        self.evidence.push(row);
        self
    }

    /// The cause was inferred, not measured, when `yes`.
    pub(crate) fn inferred(mut self, yes: bool) -> Self {
        self.inferred = yes;
        self
    }

    /// The cause makes the slower cell `cause` times slower by itself.
    pub(crate) fn carries(mut self, cause: f64) -> Self {
        self.small = !carries(cause, self.pair.times);
        self
    }

    /// The cause takes the slower cell `seconds` longer by itself.
    pub(crate) fn takes(mut self, seconds: Option<f64>) -> Self {
        self.small = !self
            .pair
            .extra_seconds()
            .zip(seconds)
            .is_some_and(|(extra, seconds)| seconds >= 0.5 * extra);
        self
    }

    /// A cause that slows the device cannot carry more than the device was slowed, in bytes per second.
    pub(crate) fn bounded(mut self) -> Self {
        let slowed = self.pair.device_slowed();
        self.small |= slowed.is_some_and(|slowed| !carries(slowed, self.pair.times));
        self.unless_cpu()
    }

    /// A cause at the device cannot carry what the CPU carries: where at least half of the extra time is
    /// extra CPU time, that is evidence against it.
    pub(crate) fn unless_cpu(mut self) -> Self {
        if self.pair.more_cpu().is_some_and(|(_, share)| share >= 0.5) {
            self.small = true;
            let rows = ["user_seconds", "system_seconds"].map(|name| self.pair.row(name));
            self.against.extend(rows.into_iter().flatten());
        }
        self
    }

    /// Tests whether the trials of both cells do not overlap in this figure.
    pub(crate) fn apart(mut self, name: &str) -> Self {
        self.overlap = !self.pair.apart(name);
        self
    }

    /// Adds evidence against it.
    pub(crate) fn against(mut self, row: Option<Row>) -> Self {
        self.against.extend(row);
        self
    }

    /// The cause explains the difference.
    #[allow(clippy::unnecessary_wraps, reason = "what Rule::judge returns")]
    pub(crate) fn holds(
        self,
        because: impl Into<String>,
        experiment: impl Into<String>,
    ) -> Option<Judgement> {
        let asked = [
            (self.inferred, "inferred, not measured"),
            (self.small, "not shown to carry half of it"),
            (self.overlap, "its trials overlap or are fewer than 3"),
            (!self.against.is_empty(), "something speaks against it"),
        ];
        let lacks: Vec<&str> = asked
            .into_iter()
            .filter_map(|(lacks, what)| lacks.then_some(what))
            .collect();
        let confidence = match lacks.len() {
            0 => Confidence::High,
            1 => Confidence::Medium,
            _ => Confidence::Low,
        };
        Some(Judgement {
            verdict: Verdict::Holds { confidence, lacks },
            because: because.into(),
            evidence: self.evidence,
            against: self.against,
            experiment: Some(experiment.into()),
        })
    }

    /// The cause does not explain the difference: the rows deny it.
    #[allow(clippy::unnecessary_wraps, reason = "what Rule::judge returns")]
    pub(crate) fn denied(self, because: impl Into<String>) -> Option<Judgement> {
        Some(Judgement {
            verdict: Verdict::Denied,
            because: because.into(),
            evidence: Vec::new(),
            against: [self.evidence, self.against].concat(),
            experiment: None,
        })
    }
}

/// Whether a cause that makes something `cause` times slower carries at least half of a difference of
/// `times`, on the logarithmic scale on which factors add up.
pub(crate) fn carries(cause: f64, times: f64) -> bool {
    cause > 0.0 && cause.ln() >= 0.5 * times.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ComparisonBuilder;

    #[test]
    fn half_of_a_difference_is_half_of_its_logarithm() {
        assert!(carries(2.0, 4.0) && carries(3.0, 4.0));
        assert!(!carries(1.9, 4.0) && !carries(0.5, 4.0) && !carries(0.0, 4.0));
    }

    #[test]
    fn confidence_counts_what_is_lacking() {
        let sides = ComparisonBuilder::new("write")
            .slow("flushes", 9.0)
            .fast("flushes", 3.0);
        let pair = sides.pair(2.0);
        let grounds = || {
            Grounds::of(&pair, &["flushes"])
                .apart("flushes")
                .carries(3.0)
        };
        let answer = |grounds: Grounds<'_>| grounds.holds("x", "y").unwrap().confidence().unwrap();
        assert_eq!(answer(grounds()), Confidence::High);
        assert_eq!(answer(grounds().inferred(true)), Confidence::Medium);
        assert_eq!(answer(grounds().carries(1.1)), Confidence::Medium);
        assert_eq!(
            answer(grounds().inferred(true).carries(1.1)),
            Confidence::Low
        );
        let slowed = |rate| {
            let sides = ComparisonBuilder::new("write")
                .both("flushes", 9.0, 3.0)
                .both("write_rate", rate, 40e6);
            let pair = sides.pair(2.0);
            let grounds = Grounds::of(&pair, &["flushes"])
                .apart("flushes")
                .carries(3.0);
            grounds
                .bounded()
                .holds("x", "y")
                .unwrap()
                .confidence()
                .unwrap()
        };
        assert_eq!(
            slowed(20e6),
            Confidence::High,
            "half as many bytes a second"
        );
        assert_eq!(
            slowed(35e6),
            Confidence::Medium,
            "7/8 cannot carry half of 2"
        );
        let row = Row::words("a", "a", "b", "c", "d");
        assert_eq!(answer(grounds().against(Some(row))), Confidence::Medium);
        assert_eq!(answer(grounds().apart("nothing")), Confidence::Medium);
    }
}
