//! Which differences to explain.

use study::Clock;

/// What to explain.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Factors to compare along; empty: those of the study's tables and grids.
    pub factors: Vec<String>,
    /// Level that the others are compared with; none: each factor's first.
    pub base: Option<String>,
    /// `(factor, level)` pairs that cells must have; several of one factor are alternatives.
    pub filter: Vec<(String, String)>,
    /// Only this phase.
    pub phase: Option<String>,
    /// This metric instead of the tables' and the headlines.
    pub metric: Option<String>,
    /// Only this clock.
    pub clock: Option<Clock>,
    /// Confidence level of the intervals.
    pub level: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            factors: Vec::new(),
            base: None,
            filter: Vec::new(),
            phase: None,
            metric: None,
            clock: None,
            level: 0.95,
        }
    }
}
