//! How large, how long, how many: a number, or ranges with weights.
//!
//! In a profile a distribution is `400000`, `"4k"`, or a list such as `[["0", 5], ["1-4k", 60], ["4k-1M", 35]]`: a range by its
//! weight, each value of a range as likely as another. Published histograms come in this form, and a fitted curve can be
//! given in as many steps as are wanted; that is why there are no families of curves here.

use serde::de::{self, Deserialize, Deserializer};

use super::random::below;
use crate::amount;
use words::AmountError;

/// A distribution of whole numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    steps: Vec<Step>,
    /// The sum of all weights.
    total: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    low: u64,
    high: u64,
    /// This step's weight and all before it, as a share of 2^32.
    until: u64,
}

impl Distribution {
    /// Always the same value.
    pub fn fixed(value: u64) -> Self {
        Self {
            steps: vec![Step {
                low: value,
                high: value,
                until: 1 << 32,
            }],
            total: 1.0,
        }
    }

    /// Ranges, both ends included, with weights.
    ///
    /// # Errors
    ///
    /// The reason, without the key.
    pub fn steps(ranges: &[(u64, u64, f64)]) -> Result<Self, String> {
        let total: f64 = ranges.iter().map(|(.., weight)| weight).sum();
        if ranges.is_empty() || !total.is_finite() || total <= 0.0 {
            return Err("the weights of a distribution must add up to more than 0".to_owned());
        }
        let mut sum = 0.0;
        let mut steps = Vec::with_capacity(ranges.len());
        for (low, high, weight) in ranges {
            if low > high {
                return Err(format!(
                    "the range {low}-{high} goes down; give the smaller number first"
                ));
            }
            if *weight < 0.0 {
                return Err(format!("the weight {weight} of {low}-{high} is below 0"));
            }
            sum += weight;
            steps.push(Step {
                low: *low,
                high: *high,
                until: (sum / total * 4_294_967_296.0) as u64,
            });
        }
        if let Some(last) = steps.last_mut() {
            last.until = 1 << 32;
        }
        Ok(Self { steps, total })
    }

    /// The value of a random number.
    pub fn draw(&self, random: u64) -> u64 {
        let (step, rest) = (random >> 32, random << 32);
        let nth = match self.steps.as_slice() {
            [_] => 0,
            steps => steps.partition_point(|one| one.until <= step),
        };
        let Some(one) = self.steps.get(nth).or(self.steps.last()) else {
            return 0;
        };
        if one.low == one.high {
            return one.low;
        }
        // The low half alone would make ranges beyond 2^32 coarse.
        let spread = rest | super::random::scramble(random) >> 32;
        match (one.high - one.low).checked_add(1) {
            Some(n) => one.low + below(spread, n),
            None => spread,
        }
    }

    /// The only value, if there is one.
    pub fn only(&self) -> Option<u64> {
        let first = self.steps.first()?.low;
        let one = |step: &Step| step.low == first && step.high == first;
        self.steps.iter().all(one).then_some(first)
    }

    /// The least value.
    pub fn least(&self) -> u64 {
        self.steps.iter().map(|step| step.low).min().unwrap_or(0)
    }

    /// The greatest value.
    pub fn greatest(&self) -> u64 {
        self.steps.iter().map(|step| step.high).max().unwrap_or(0)
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        let mut before = 0;
        let mut mean = 0.0;
        for step in &self.steps {
            let share = (step.until - before) as f64 / 4_294_967_296.0;
            mean += share * (step.low as f64 / 2.0 + step.high as f64 / 2.0);
            before = step.until;
        }
        mean
    }
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Raw {
    Number(u64),
    Text(String),
    List(Vec<(Range, f64)>),
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Range {
    Number(u64),
    Text(String),
}

/// How an amount is read: [`amount::bytes`] or [`amount::count`].
type Amount = fn(&str) -> Result<u64, AmountError>;

fn range(text: &str, amount: Amount) -> Result<(u64, u64), AmountError> {
    match text.split_once('-') {
        Some((low, high)) => Ok((amount(low)?, amount(high)?)),
        None => amount(text).map(|value| (value, value)),
    }
}

fn read<'de, D: Deserializer<'de>>(from: D, amount: Amount) -> Result<Distribution, D::Error> {
    const FORM: &str = "give a number, a text as \"4k\", or a list of ranges with weights as [[\"1-4k\", 60], [\"4k-1M\", 40]]";
    let raw = Raw::deserialize(from).map_err(|_| de::Error::custom(FORM))?;
    let list = match raw {
        Raw::Number(value) => return Ok(Distribution::fixed(value)),
        Raw::Text(text) => vec![(Range::Text(text), 1.0)],
        Raw::List(list) => list,
    };
    let ranges: Result<Vec<_>, String> = list
        .into_iter()
        .map(|(one, weight)| {
            let (low, high) = match one {
                Range::Number(value) => (value, value),
                Range::Text(text) => range(&text, amount).map_err(|e| e.to_string())?,
            };
            Ok((low, high, weight))
        })
        .collect();
    ranges
        .and_then(|ranges| Distribution::steps(&ranges))
        .map_err(de::Error::custom)
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        read(from, amount::bytes)
    }
}

/// For numbers of files, whose `k` and `M` are powers of 1000.
pub(super) fn counted<'de, D: Deserializer<'de>>(from: D) -> Result<Distribution, D::Error> {
    read(from, amount::count)
}

#[cfg(test)]
mod tests {
    use super::super::random::{Key, Purpose};
    use super::*;

    #[derive(serde::Deserialize)]
    struct Holder {
        d: Distribution,
    }

    fn parse(text: &str) -> Result<Distribution, String> {
        toml::from_str::<Holder>(&format!("d = {text}"))
            .map(|holder| holder.d)
            .map_err(|error| error.message().to_owned())
    }

    #[test]
    fn the_forms_of_a_profile() {
        assert_eq!(parse("400000").unwrap().only(), Some(400_000));
        assert_eq!(parse("\"4k\"").unwrap().only(), Some(4096));
        let steps = parse("[[\"0\", 1], [\"1-4k\", 2], [8, 1]]").unwrap();
        assert_eq!(
            (steps.least(), steps.greatest(), steps.only()),
            (0, 4096, None)
        );
        assert!((steps.mean() - (0.5 * 2048.5 + 2.0)).abs() < 0.001);
        for (bad, says) in [
            ("[]", "add up"),
            ("[[\"9-3\", 1]]", "goes down"),
            ("[[1, -1], [2, 3]]", "below 0"),
            ("true", "give a number"),
            ("-4", "give a number"),
            ("\"x\"", "x"),
            ("[[1, nan]]", "add up"),
        ] {
            let error = parse(bad).unwrap_err();
            assert!(error.contains(says), "{bad}: {error}");
        }
    }

    #[test]
    fn draws_follow_the_weights() {
        let steps = parse("[[0, 1], [\"10-19\", 3], [\"5g\", 6]]").unwrap();
        let key = Key::new(1, Purpose::Size);
        let mut seen = [0_u32; 3];
        let mut tens = [0_u32; 10];
        for n in 0..100_000 {
            match steps.draw(key.of(n, 0)) {
                0 => seen[0] += 1,
                value @ 10..=19 => {
                    seen[1] += 1;
                    tens[value as usize - 10] += 1;
                }
                5_368_709_120 => seen[2] += 1,
                other => panic!("{other}"),
            }
        }
        for (found, expected) in seen.iter().zip([10_000, 30_000, 60_000]) {
            assert!(found.abs_diff(expected) < 1000, "{seen:?}");
        }
        assert!(tens.iter().all(|n| n.abs_diff(3000) < 300), "{tens:?}");
    }

    #[test]
    fn the_widest_range() {
        let all = Distribution::steps(&[(0, u64::MAX, 1.0)]).unwrap();
        let key = Key::new(1, Purpose::Size);
        let high = (0..1000)
            .filter(|n| all.draw(key.of(*n, 0)) > u64::MAX / 2)
            .count();
        assert!((400..600).contains(&high));
    }
}
