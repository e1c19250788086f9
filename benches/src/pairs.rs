//! Interleaved pairs: ours, theirs, theirs, ours, ours, theirs ...

use anyhow::Result;

use crate::run::Stop;

/// Results of both sides, pair by pair.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Ours, in the order of the pairs.
    pub ours: Vec<f64>,
    /// Theirs.
    pub theirs: Vec<f64>,
}

impl Pairs {
    /// One more pair.
    pub fn push(&mut self, ours: f64, theirs: f64) {
        self.ours.push(ours);
        self.theirs.push(theirs);
    }

    /// The same, of both at once: ours, theirs.
    pub fn push_both(&mut self, (ours, theirs): (f64, f64)) {
        self.push(ours, theirs);
    }

    /// Ratio of the medians.
    pub fn ratio(&self) -> f64 {
        median(&self.ours) / median(&self.theirs)
    }

    /// Both medians, their ratio, and the least and largest ratio within a pair.
    pub fn cells(&self, unit: f64, digits: usize, of_ratio: usize) -> [String; 4] {
        let (low, high) = self.extremes();
        [
            format!("{:.digits$}", median(&self.ours) / unit),
            format!("{:.digits$}", median(&self.theirs) / unit),
            format!("{:.of_ratio$}", self.ratio()),
            format!("{low:.of_ratio$}..{high:.of_ratio$}"),
        ]
    }

    /// Interval of the median ratio of all such pairs, with 95 % confidence, by order statistics: no
    /// distribution is assumed. `None` for fewer than six pairs.
    pub fn interval(&self) -> Option<stats::Interval> {
        stats::order::median_interval(&self.ratios(), 0.95)
            .ok()
            .flatten()
            .filter(|interval| !interval.falls_short())
    }

    /// Median of the pairs' ratios, for which [`Pairs::interval`] is the interval.
    pub fn median_ratio(&self) -> f64 {
        median(&self.ratios())
    }

    /// Least and largest ratio within a pair.
    pub fn extremes(&self) -> (f64, f64) {
        let ratios = self.ratios();
        ratios.iter().fold((f64::INFINITY, 0.0), |(low, high), r| {
            (r.min(low), r.max(high))
        })
    }

    fn ratios(&self) -> Vec<f64> {
        let pairs = self.ours.iter().zip(&self.theirs);
        pairs.map(|(ours, theirs)| ours / theirs).collect()
    }
}

/// Runs both sides, ours first or second. The caller alternates, so that a drift of the
/// machine affects both alike.
pub fn in_turn<A, B>(
    ours_first: bool,
    ours: impl FnOnce() -> Result<A>,
    theirs: impl FnOnce() -> Result<B>,
) -> Result<(A, B)> {
    if ours_first {
        let a = ours()?;
        Ok((a, theirs()?))
    } else {
        let b = theirs()?;
        Ok((ours()?, b))
    }
}

/// This many pairs; the sides alternate in going first.
pub fn alternating(
    pairs: u32,
    stop: &Stop,
    mut ours: impl FnMut() -> Result<f64>,
    mut theirs: impl FnMut() -> Result<f64>,
) -> Result<Pairs> {
    let mut results = Pairs::default();
    for pair in 0..pairs {
        stop.check()?;
        results.push_both(in_turn(pair % 2 == 0, &mut ours, &mut theirs)?);
    }
    Ok(results)
}

/// Ours (`true`), theirs, theirs, ours, or the reverse: a drift of the machine affects both
/// alike. The rates are (ours, theirs), each of two runs.
pub fn two_and_two(
    ours_first: bool,
    mut side: impl FnMut(bool) -> Result<f64>,
) -> Result<(f64, f64)> {
    let outer = side(ours_first)?;
    let inner = [side(!ours_first)?, side(!ours_first)?];
    let first = together(outer, side(ours_first)?);
    let second = together(inner[0], inner[1]);
    Ok(if ours_first {
        (first, second)
    } else {
        (second, first)
    })
}

/// The rate of two runs over the same amount.
pub fn together(one: f64, other: f64) -> f64 {
    2.0 / (1.0 / one + 1.0 / other)
}

/// The middle value, or the mean of the two middle ones; NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn medians_ratios_and_extremes() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        let mut pairs = Pairs::default();
        for (a, b) in [(2.0, 1.0), (3.0, 2.0), (10.0, 10.0)] {
            pairs.push(a, b);
        }
        assert_eq!(pairs.ratio(), 1.5);
        assert_eq!(pairs.extremes(), (1.0, 2.0));
    }

    #[test]
    fn an_interval_takes_six_pairs_and_holds_the_median() {
        let mut pairs = Pairs::default();
        for ratio in 1..=21 {
            // Five pairs reach 93.75 %.
            assert_eq!(pairs.interval().is_some(), ratio > 6, "{ratio}");
            pairs.push(f64::from(ratio), 1.0);
        }
        let interval = pairs.interval().unwrap();
        assert_eq!((interval.low, interval.high), (6.0, 16.0));
        assert_eq!(pairs.median_ratio(), 11.0);
    }

    #[test]
    fn two_runs_of_a_side_count_as_one_over_both_amounts() {
        // A mile at 30 and a mile at 60 is two miles at 40.
        assert!((together(30.0, 60.0) - 40.0).abs() < 1e-9);
        for ours_first in [true, false] {
            let mut order = String::new();
            let side = |ours| {
                order.push(if ours { 'o' } else { 't' });
                Ok(if ours { 3.0 } else { 5.0 })
            };
            assert_eq!(two_and_two(ours_first, side).unwrap(), (3.0, 5.0));
            assert_eq!(order, if ours_first { "otto" } else { "toot" });
        }
    }

    #[test]
    fn sides_alternate_and_cells_have_their_digits() {
        let order = RefCell::new(String::new());
        let say = |c, value| {
            order.borrow_mut().push(c);
            Ok(value)
        };
        let pairs = alternating(3, &Stop::default(), || say('o', 30.0), || say('t', 20.0)).unwrap();
        assert_eq!(order.borrow().as_str(), "ottoot");
        assert_eq!(
            pairs.cells(10.0, 1, 2),
            ["3.0", "2.0", "1.50", "1.50..1.50"]
        );
    }

    #[test]
    fn the_order_is_as_asked_and_an_error_ends_it() {
        let order = RefCell::new(String::new());
        let say = |c| {
            order.borrow_mut().push(c);
            Ok(c)
        };
        assert_eq!(in_turn(true, || say('o'), || say('t')).unwrap(), ('o', 't'));
        assert_eq!(
            in_turn(false, || say('o'), || say('t')).unwrap(),
            ('o', 't')
        );
        assert_eq!(order.borrow().as_str(), "otto");
        let failing = in_turn(false, || say('o'), || -> Result<()> { anyhow::bail!("no") });
        assert_eq!(failing.unwrap_err().to_string(), "no");
        assert_eq!(order.borrow().as_str(), "otto");
    }
}
