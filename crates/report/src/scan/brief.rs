//! The laws of 2011 in a line each: whether each holds, in which range its figures are, and what was printed then.
//!
//! Only what he measured has a line: three conclusions. The pairs, and the law of the large cache, which he did not try, have a section.

use std::collections::BTreeSet;

use super::{Law, Scan};
use crate::numbers::{brief_ratio, range, ratio};

impl Scan {
    /// A line for each law that he measured.
    pub(crate) fn brief_laws(&self) -> Vec<String> {
        self.laws.iter().filter_map(Law::line).collect()
    }
}

impl Law {
    /// `prefill keeps the bytes of 0a and shortens its seeks: holds in 4 of 4 pairs; 1.000 times the bytes, 0.004 times the seek distance
    /// (2011: 66 and 66 MB)`.
    fn line(&self) -> Option<String> {
        let mut text = format!("{}: {}", self.brief?, self.verdict());
        let ranges = self.ranges();
        if !ranges.is_empty() {
            text.push_str(&format!("; {}", ranges.join(", ")));
        }
        if let Some(was) = &self.was {
            text.push_str(&format!(" (2011: {was})"));
        }
        let marks: BTreeSet<_> = self.cases.iter().flat_map(|case| &case.marks).collect();
        for mark in marks {
            text.push_str(&format!(" [{} {}]", mark.sign(), mark.meaning()));
        }
        Some(text)
    }

    /// What the switch multiplies, over all pairs: `1.986..1.987 times the bytes`.
    fn ranges(&self) -> Vec<String> {
        let mut found: Vec<(&str, f64, f64)> = Vec::new();
        for &(what, times) in self.cases.iter().flat_map(|case| &case.times) {
            match found.iter_mut().find(|known| known.0 == what) {
                Some((_, low, high)) => (*low, *high) = (low.min(times), high.max(times)),
                None => found.push((what, times, times)),
            }
        }
        let write = |(what, low, high): (&str, f64, f64)| {
            let of = if number(low) == number(high) {
                number(low)
            } else {
                range(low, high, number)
            };
            format!("{of} times {what}")
        };
        found.into_iter().map(write).collect()
    }
}

/// Three decimals, as the published ratio has; what is less than one of them says so.
fn number(value: f64) -> String {
    if value.abs() < 0.001 {
        brief_ratio(value)
    } else {
        ratio(value)
    }
}
