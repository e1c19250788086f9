//! Sentences about a law, the same in all formats.

use stats::growth::{DISTINGUISHABLE, Estimate, Fit, Law};
use stats::{Interval, Warning};

use super::{Curve, Growth, Projection};
use crate::numbers::short;
pub(crate) use ::words::millions as amount;

/// How the laws are found: printed once below them.
pub(crate) const LAWS: &str = "laws: y = a x^b and y = c + d x (c, d >= 0), both fitted to ln y by \
     maximum likelihood, chosen by AICc (Burnham and Anderson 2002); intervals by profile likelihood. \
     A projection is of the law, on this machine and with this memory: it holds as long as the law \
     does, and nothing was measured there.";

/// Four digits; with an exponent where there would be none before the sixth decimal.
pub(crate) fn engineering(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        short(value)
    } else {
        format!("{value:.3e}")
    }
}

/// `1.23 (1.20..1.26)`.
pub(crate) fn interval(estimate: &Estimate, write: fn(f64) -> String) -> String {
    let Interval { low, high, .. } = estimate.interval;
    format!(
        "{} ({}..{})",
        write(estimate.value),
        write(low),
        write(high)
    )
}

/// `a 2.4e-5 (...), b 1.145 (...)`.
fn parameters(fit: &Fit) -> String {
    let names = fit.law.parameters();
    let both = names.iter().zip(&fit.parameters);
    let written: Vec<String> = both
        .map(|(name, value)| format!("{name} {}", interval(value, engineering)))
        .collect();
    written.join(", ")
}

/// `y = a x^b`.
fn formula(law: Law) -> &'static str {
    match law {
        Law::Power => "y = a x^b",
        Law::Linear => "y = c + d x",
    }
}

/// What is known of a curve's law, a sentence each: the law with its intervals, what it means, how
/// far the other is, and what speaks against it.
pub(crate) fn sentences(growth: &Growth, curve: &Curve) -> Vec<String> {
    let laws = match &curve.laws {
        Ok(laws) => laws,
        Err(error) => return vec![format!("no law: {error}")],
    };
    let mut lines = Vec::new();
    for fit in laws.reported() {
        lines.push(format!(
            "{}, {}: {}; {}",
            fit.law.name(),
            formula(fit.law),
            parameters(fit),
            meaning(growth, curve, fit)
        ));
    }
    let other = laws.other();
    lines.push(if laws.distinguishable() {
        format!(
            "{} is less likely: its AICc is {:.1} above",
            other.law.name(),
            other.delta
        )
    } else {
        format!(
            "the two laws are not distinguishable here: AICc differs by {:.1}, below \
             {DISTINGUISHABLE:.0}, so both are shown",
            other.delta
        )
    });
    if laws.by_sizes {
        let p = laws.best().lack_of_fit.map_or(f64::NAN, |lack| lack.p);
        lines.push(format!(
            "the sizes deviate from the {} by more than runs of one size vary (p {p:.3}): so each size \
             counts as one value, which widens every interval",
            brief(laws.best().law)
        ));
    }
    for warning in &laws.best().warnings {
        // Printed above, with its consequence.
        if !matches!(warning, Warning::LackOfFit { .. }) {
            lines.push(warning.to_string());
        }
    }
    lines
}

/// The meaning of the parameters in plain words.
fn meaning(growth: &Growth, curve: &Curve, fit: &Fit) -> String {
    let [first, second] = &fit.parameters;
    match fit.law {
        Law::Power if second.interval.low > 1.0 => {
            format!("y grows faster than the {}", growth.x_unit)
        }
        Law::Power if second.interval.high < 1.0 && second.interval.low > 0.0 => {
            format!("y grows slower than the {}", growth.x_unit)
        }
        Law::Power if second.interval.low <= 0.0 => {
            format!(
                "that y grows with the {} at all is not shown",
                growth.x_unit
            )
        }
        Law::Power => format!(
            "y grows as the {} do, within the interval of b",
            growth.x_unit
        ),
        Law::Linear => {
            let largest = curve.laws.as_ref().map_or(f64::NAN, |laws| laws.range.1);
            let share = 100.0 * first.value / fit.at(largest).value;
            format!("c is {share:.1} % of y at the largest size")
        }
    }
}

/// How many times the largest measured size.
pub(crate) fn reach(projection: &Projection) -> String {
    match projection.reach {
        reach if reach >= 10.0 => format!("{reach:.0}"),
        reach if reach >= 1.0 => format!("{reach:.1}"),
        reach => format!("{reach:.2}"),
    }
}

/// A law in a sentence or above a column.
pub(crate) fn brief(law: Law) -> &'static str {
    match law {
        Law::Power => "power law",
        Law::Linear => "line",
    }
}

/// How far the runs vary about the law, and what that rests on.
pub(crate) fn tested(curve: &Curve) -> Option<String> {
    let laws = curve.laws.as_ref().ok()?;
    let fit = laws.best();
    let factor = fit.spread.exp();
    let spread = if factor < 2.0 {
        format!("{:.1} %", 100.0 * (factor - 1.0))
    } else {
        format!("a factor of {factor:.1}")
    };
    Some(format!(
        "{} values at {} sizes vary by {spread} about the {} ({:.0} degrees of freedom)",
        laws.n,
        laws.sizes.len(),
        brief(fit.law),
        fit.degrees
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_files_are_short() {
        let written: Vec<String> = [48_000.0, 999_999.0, 10.2e6, 51e6, 420_035_002.0]
            .map(amount)
            .into();
        assert_eq!(written, ["48000", "999999", "10.2 M", "51 M", "420.035 M"]);
        assert_eq!(engineering(2.443e-5), "2.443e-5");
        assert_eq!(engineering(1.2345), "1.234");
        assert_eq!(engineering(0.0), "0");
    }
}
