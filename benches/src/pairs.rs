//! Interleaved pairs: ours, theirs, theirs, ours, ours, theirs ...

use anyhow::Result;

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

    /// Least and largest ratio within a pair.
    pub fn extremes(&self) -> (f64, f64) {
        let ratios = self.ours.iter().zip(&self.theirs).map(|(a, b)| a / b);
        ratios.fold((f64::INFINITY, 0.0), |(low, high), r| {
            (low.min(r), high.max(r))
        })
    }
}

/// Runs both sides, ours first or second. Whoever calls this alternates, so that a drift of the
/// machine meets both alike.
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
