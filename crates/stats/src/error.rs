//! Why a statistic was refused.

/// A sample or a setting from which the asked statistic cannot be computed.
///
/// Refused, never repaired: a NaN that is dropped in silence is a measurement that was lost.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// No value at all.
    #[error("the sample is empty: nothing was measured; look for failed trials in the event log")]
    Empty,
    /// A value is NaN or infinite; `index` counts from 0.
    #[error(
        "value {index} of the sample is {value}: only finite numbers can be summarised; look at the trial it came from"
    )]
    NotFinite {
        /// Position in the sample as given.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A ratio or a logarithm was asked of zero or of a negative value.
    #[error(
        "value {index} of the sample is {value}: a ratio needs positive values; compare this metric by its values"
    )]
    NotPositive {
        /// Position in the sample as given.
        index: usize,
        /// The value.
        value: f64,
    },
    /// Fewer values than the method needs.
    #[error(
        "{have} value(s) where {method} needs {need}: spread cannot be seen; run more blocks (--blocks)"
    )]
    TooFew {
        /// The method that was asked for.
        method: &'static str,
        /// The least it needs.
        need: usize,
        /// What there is.
        have: usize,
    },
    /// A law of growth was asked of too few different sizes.
    #[error(
        "{have} size(s) where a law of growth needs {need} different ones (5 % apart or more): add levels to the factor that sets the size"
    )]
    FewSizes {
        /// The least that a law needs.
        need: usize,
        /// Different sizes there are.
        have: usize,
    },
    /// Paired samples must hold one value for each block on both sides.
    #[error(
        "{base} values against {other} in a paired comparison: keep the blocks that both sides finished"
    )]
    UnequalLengths {
        /// Values of the base.
        base: usize,
        /// Values of the other side.
        other: usize,
    },
    /// A confidence level outside (0, 1).
    #[error("{0} is not a confidence level: give a share between 0 and 1, such as 0.95")]
    Level(f64),
    /// A practical band outside [0, 1).
    #[error("{0} is not a practical band: give a share from 0 to below 1, such as 0.02 for 2 %")]
    Band(f64),
    /// A margin outside (0, 1).
    #[error("{0} is not a margin: give a share between 0 and 1, such as 0.05 for 5 %")]
    Margin(f64),
    /// Too few bootstrap resamples to read the tails from.
    #[error("{0} resamples cannot show the tails of a distribution: ask for 100 or more")]
    Resamples(usize),
    /// A p-value that is NaN or outside [0, 1].
    #[error(
        "p-value {index} is {value}, outside 0..=1: leave out comparisons that gave no p-value"
    )]
    PValue {
        /// Position in the list as given.
        index: usize,
        /// The value.
        value: f64,
    },
    /// The statistic (of the sample, of a resample or of a jackknife sample) is NaN or infinite.
    #[error(
        "the statistic is not finite on this sample or a resample of it: give values in a smaller unit, or a statistic defined on every resample"
    )]
    StatisticNotFinite,
}

/// Refuses an empty sample and any value that is not finite.
pub(crate) fn check_finite(values: &[f64]) -> Result<(), Error> {
    if values.is_empty() {
        return Err(Error::Empty);
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(Error::NotFinite {
            index,
            value: values[index],
        }),
        None => Ok(()),
    }
}

/// As [`check_finite`], and refuses zero and negative values too.
pub(crate) fn check_positive(values: &[f64]) -> Result<(), Error> {
    check_finite(values)?;
    match values.iter().position(|v| *v <= 0.0) {
        Some(index) => Err(Error::NotPositive {
            index,
            value: values[index],
        }),
        None => Ok(()),
    }
}

/// Refuses a confidence level outside (0, 1).
pub(crate) fn check_level(level: f64) -> Result<(), Error> {
    if level > 0.0 && level < 1.0 {
        Ok(())
    } else {
        Err(Error::Level(level))
    }
}

/// Refuses fewer than `need` values.
pub(crate) fn check_count(method: &'static str, need: usize, have: usize) -> Result<(), Error> {
    if have < need {
        Err(Error::TooFew { method, need, have })
    } else {
        Ok(())
    }
}

/// Refuses two samples that cannot be paired block by block.
pub(crate) fn check_paired(base: &[f64], other: &[f64]) -> Result<(), Error> {
    if base.len() == other.len() {
        Ok(())
    } else {
        Err(Error::UnequalLengths {
            base: base.len(),
            other: other.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_value_is_named_by_its_position() {
        assert_eq!(check_finite(&[]), Err(Error::Empty));
        assert_eq!(
            check_finite(&[1.0, f64::INFINITY]),
            Err(Error::NotFinite {
                index: 1,
                value: f64::INFINITY
            })
        );
        assert_eq!(
            check_positive(&[1.0, 2.0, 0.0]),
            Err(Error::NotPositive {
                index: 2,
                value: 0.0
            })
        );
        assert!(check_positive(&[1.0]).is_ok());
    }

    #[test]
    fn levels_are_open_at_both_ends() {
        for bad in [0.0, 1.0, -0.1, 95.0, f64::NAN] {
            assert!(check_level(bad).is_err(), "{bad}");
        }
        assert!(check_level(0.95).is_ok());
    }

    #[test]
    fn every_message_is_one_line() {
        let all = [
            Error::Empty,
            Error::NotFinite {
                index: 3,
                value: f64::NAN,
            },
            Error::NotPositive {
                index: 0,
                value: -1.0,
            },
            Error::TooFew {
                method: "Welch's test",
                need: 2,
                have: 1,
            },
            Error::FewSizes { need: 4, have: 3 },
            Error::UnequalLengths { base: 5, other: 4 },
            Error::Level(2.0),
            Error::Band(-1.0),
            Error::Resamples(3),
            Error::PValue {
                index: 1,
                value: 2.0,
            },
            Error::StatisticNotFinite,
        ];
        for error in all {
            let text = error.to_string();
            assert!(!text.contains('\n') && text.len() > 40, "{text}");
        }
    }
}
