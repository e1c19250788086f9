//! What is asked of a comparison.

use study::Clock;

/// What fails a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailOn {
    /// A figure that is worse.
    Worse,
    /// A figure that is not shown to be not worse by more than the margin.
    NotShown,
}

/// What is asked of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// This metric instead of those that the study prints.
    pub metric: Option<String>,
    /// This clock instead of the one that the study prints.
    pub clock: Option<Clock>,
    /// Only this phase.
    pub phase: Option<String>,
    /// Levels to keep, by factor; several of one factor are alternatives.
    pub filter: Vec<(String, String)>,
    /// Parameters that may differ between compared cells, as dotted names: `device.limit`.
    pub across: Vec<String>,
    /// Confidence level of intervals.
    pub level: f64,
    /// What fails the gate; none: there is no gate.
    pub fail_on: Option<FailOn>,
    /// The margin as a share. With [`FailOn::Worse`] it takes the place of the practical band; with [`FailOn::NotShown`] the
    /// default is [`MARGIN`].
    pub margin: Option<f64>,
    /// Let a gate judge sides of one run.
    pub one_run: bool,
}

impl Options {
    /// Whether a cell passes the filter; several levels of one factor are alternatives.
    pub(crate) fn passes(&self, cell: &study::Cell) -> bool {
        self.filter.iter().all(|(factor, _)| {
            let mut levels = self.filter.iter().filter(|(f, _)| f == factor);
            levels.any(|(_, level)| cell.levels.get(factor) == Some(level))
        })
    }
}

/// The margin of `not-shown` where none is given.
pub const MARGIN: f64 = 0.05;

impl Default for Options {
    fn default() -> Self {
        Options {
            metric: None,
            clock: None,
            phase: None,
            filter: Vec::new(),
            across: Vec::new(),
            level: 0.95,
            fail_on: None,
            margin: None,
            one_run: false,
        }
    }
}

/// Reads a margin: `5%`, `5 %` or `0.05`.
///
/// # Errors
/// What is wrong, in one line.
pub fn parse_margin(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    let share = number.parse::<f64>().map(|number| number / unit);
    match share {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("a margin is more than 0 and less than 100 %, as in 5% or 0.05".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_percent_or_shares() {
        assert_eq!(parse_margin("5%"), Ok(0.05));
        assert_eq!(parse_margin(" 2.5 % "), Ok(0.025));
        assert_eq!(parse_margin("0.1"), Ok(0.1));
        for wrong in ["5", "0", "-1%", "100%", "x", "", "NaN", "inf%"] {
            assert!(parse_margin(wrong).is_err(), "{wrong}");
        }
    }
}
