//! What a comparison comes to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::interval::Interval;

/// The verdict on `other` against `base`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better by more than the practical band.
    Better,
    /// Worse by more than the practical band.
    Worse,
    /// The ratio is known to lie within the practical band.
    Same,
    /// The runs do not decide; a table prints `~`.
    Unclear,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Unclear => "~",
        })
    }
}

/// The verdict from the ratio's interval and whether its adjusted p is small enough.
///
/// A difference needs both: the interval clear of the band, so that it matters, and the p corrected
/// for the family, so that it is not the luckiest of thirty. "Same" is a claim of its own and not
/// the lack of a difference: the whole interval must lie in the band, as in tests of equivalence
/// (Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987), 657-680; his interval has the
/// level 1 - 2 alpha, so this one is on the careful side).
pub(crate) fn judge(
    interval: &Interval,
    band: f64,
    significant: bool,
    higher_is_better: bool,
) -> Verdict {
    let (floor, ceiling) = (1.0 - band, 1.0 + band);
    if floor <= interval.low && interval.high <= ceiling {
        return Verdict::Same;
    }
    let better = |is: bool| if is { Verdict::Better } else { Verdict::Worse };
    if significant && interval.low > ceiling {
        better(higher_is_better)
    } else if significant && interval.high < floor {
        better(!higher_is_better)
    } else {
        Verdict::Unclear
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case() {
        let of = |low, high, significant, up| {
            judge(&Interval::nominal(low, high, 0.95), 0.02, significant, up)
        };
        assert_eq!(of(1.03, 1.2, true, true), Verdict::Better);
        assert_eq!(of(1.03, 1.2, true, false), Verdict::Worse);
        assert_eq!(of(0.8, 0.97, true, true), Verdict::Worse);
        assert_eq!(of(0.8, 0.97, true, false), Verdict::Better);
        assert_eq!(of(1.03, 1.2, false, true), Verdict::Unclear);
        assert_eq!(of(1.01, 1.2, true, true), Verdict::Unclear);
        assert_eq!(of(0.9, 1.1, false, true), Verdict::Unclear);
        assert_eq!(of(0.99, 1.01, false, true), Verdict::Same);
        assert_eq!(of(1.001, 1.01, true, true), Verdict::Same);
    }

    #[test]
    fn prints_as_a_table_needs_it() {
        assert_eq!(Verdict::Unclear.to_string(), "~");
        assert_eq!(
            serde_json::to_string(&Verdict::Better).unwrap(),
            "\"better\""
        );
    }
}
