//! Change points of a series: where its level steps, and how likely a still series shows as much.
//!
//! The divisive energy distance of Matteson and James, J. American Statistical Association 109 (2014), 334-345: of all ways to
//! cut a segment of the series out, the one is taken whose two parts differ most in distribution,
//! `Q = m n / (m + n) (2 mean |x - y| - mean |x - x'| - mean |y - y'|)` for parts of m and n values. Whether that is more than
//! chance is asked of permutations of the segment; where it is, both parts are searched in turn.
//!
//! Runs that follow one another are alike: a filesystem ages, a machine is rebooted. So blocks of neighbouring values are
//! permuted and not single ones, which keeps the likeness of neighbours in each permutation. A part has at
//! least three values, since two spikes are no level.
//!
//! Rejected: a t test on both sides of each point (a segment of one value has no spread, and a spike passes), and a
//! threshold on the step alone (it trips at noise).

use crate::error::{Error, check_finite};
use crate::order::median_mut;
use crate::resample::Resampler;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Least values of a part.
    pub least: usize,
    /// Permutations; p is at least one over one more.
    pub permutations: usize,
    /// Values of a block that is permuted whole.
    pub block: usize,
    /// Seed of the permutations.
    pub seed: u64,
}

impl Default for Settings {
    /// Three values, 999 permutations, blocks of three.
    fn default() -> Self {
        Self {
            least: 3,
            permutations: 999,
            block: 3,
            seed: 0,
        }
    }
}

/// A step between two neighbouring values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first value after it.
    pub at: usize,
    /// p of "the segment has no step".
    pub p: f64,
}

/// p from which on a segment is not searched further.
const ALPHA: f64 = 0.05;

/// p from which on the remaining permutations are not drawn (Besag and Clifford, Biometrika 78 (1991), 301-304): twice
/// [`ALPHA`], so that the p that is reported is an estimate of some accuracy.
const STOP: f64 = 2.0 * ALPHA;

/// Fewest values in which a step can be found: fewer blocks have too few orders for a small p.
pub const FEWEST: usize = 12;

/// What a series shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    /// The steps, in the order of the series.
    pub steps: Vec<Change>,
    /// p of the whole series where it has no step: what a correction over several series needs. None for a series too short
    /// to have one.
    pub still: Option<f64>,
}

/// The steps of a series. A still series has none in 95 of 100 cases; several series take a correction of
/// their p-values.
///
/// # Errors
/// A value that is not finite.
pub fn changes(values: &[f64], settings: Settings) -> Result<Changes, Error> {
    if values.is_empty() {
        return Ok(Changes::default());
    }
    check_finite(values)?;
    let mut found = Changes::default();
    let mut draws = Resampler::new(settings.seed);
    let mut open = vec![(0, values.len())];
    while let Some((begin, end)) = open.pop() {
        let Some(best) = best_step(&values[begin..end], settings, &mut draws) else {
            continue;
        };
        if best.p > ALPHA {
            found.still = (end - begin == values.len())
                .then_some(best.p)
                .or(found.still);
            continue;
        }
        let at = begin + best.at;
        found.steps.push(Change { at, p: best.p });
        open.push((begin, at));
        open.push((at, end));
    }
    found.steps.sort_by_key(|change| change.at);
    Ok(found)
}

fn best_step(segment: &[f64], settings: Settings, draws: &mut Resampler) -> Option<Change> {
    if segment.len() < FEWEST.max(2 * settings.least) {
        return None;
    }
    let mut search = Search::new(segment, settings.least);
    let (at, observed) = search.best(&(0..segment.len()).collect::<Vec<_>>())?;
    if observed <= 0.0 {
        // Constant: any order shows as much.
        return Some(Change { at, p: 1.0 });
    }
    // A hair of room: the same parts in another order sum up to the same but for rounding.
    let enough = observed * (1.0 - 1e-9);
    let all = settings.permutations + 1;
    let mut above = 0;
    for drawn in 1..all {
        let order = draws.permuted_blocks(segment.len(), settings.block);
        let reached = search.best(&order).is_some_and(|(_, q)| q >= enough);
        above += usize::from(reached);
        if (above + 1) as f64 > STOP * all as f64 {
            // However the others fall, p is above ALPHA, and so is any correction of it.
            let p = (above + 1) as f64 / (drawn + 1) as f64;
            return Some(Change { at, p });
        }
    }
    let p = (above + 1) as f64 / all as f64;
    Some(Change { at, p })
}

/// Sums of distances of one segment.
struct Search {
    n: usize,
    least: usize,
    /// Distances in the series' own order.
    distances: Vec<f64>,
    /// Sums of distances over the rectangle from the origin, for the order in hand; (n + 1) squared.
    sums: Vec<f64>,
}

impl Search {
    fn new(segment: &[f64], least: usize) -> Self {
        let n = segment.len();
        let mut distances = Vec::with_capacity(n * n);
        for x in segment {
            distances.extend(segment.iter().map(|y| (x - y).abs()));
        }
        Search {
            n,
            least,
            distances,
            sums: vec![0.0; (n + 1) * (n + 1)],
        }
    }

    /// The best cut of the values in an order: first value after it, and Q. The second part may end before the segment does, so
    /// that a level which returns later hides nothing.
    fn best(&mut self, order: &[usize]) -> Option<(usize, f64)> {
        self.sum_up(order);
        let mut best: Option<(usize, f64)> = None;
        for end in 2 * self.least..=self.n {
            for at in self.least..=end - self.least {
                let q = self.q(at, end);
                if best.is_none_or(|(_, known)| q > known) {
                    best = Some((at, q));
                }
            }
        }
        best
    }

    fn sum_up(&mut self, order: &[usize]) {
        let wide = self.n + 1;
        for (row, &x) in order.iter().enumerate() {
            let mut of_row = 0.0;
            for (column, &y) in order.iter().enumerate() {
                of_row += self.distances[x * self.n + y];
                self.sums[(row + 1) * wide + column + 1] =
                    self.sums[row * wide + column + 1] + of_row;
            }
        }
    }

    /// Sum of the distances between values `rows` and values `columns`.
    fn between(&self, rows: (usize, usize), columns: (usize, usize)) -> f64 {
        let at = |row: usize, column: usize| self.sums[row * (self.n + 1) + column];
        at(rows.1, columns.1) - at(rows.0, columns.1) - at(rows.1, columns.0)
            + at(rows.0, columns.0)
    }

    fn q(&self, at: usize, end: usize) -> f64 {
        let (before, after) = ((0, at), (at, end));
        let (m, n) = (at as f64, (end - at) as f64);
        let across = 2.0 * self.between(before, after) / (m * n);
        // Each pair is in the rectangle twice.
        let within_before = self.between(before, before) / (m * (m - 1.0));
        let within_after = self.between(after, after) / (n * (n - 1.0));
        m * n / (m + n) * (across - within_before - within_after)
    }
}

/// A level between two changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Index of its first value.
    pub begin: usize,
    /// Index after its last value.
    pub end: usize,
    /// Median of its values.
    pub median: f64,
}

/// The levels between steps, in order: one more than steps.
pub fn levels(values: &[f64], steps: &[usize]) -> Vec<Level> {
    let ends = steps.iter().copied().chain([values.len()]);
    let mut begin = 0;
    let mut all = Vec::new();
    for end in ends {
        let median = median_mut(&mut values[begin..end].to_vec());
        all.push(Level { begin, end, median });
        begin = end;
    }
    all
}

/// How much values vary about their levels: 1.4826 times the median of the absolute deviations, with the lost degrees of freedom
/// of the levels given back.
pub fn spread_about(values: &[f64], levels: &[Level]) -> f64 {
    let mut deviations: Vec<f64> = levels
        .iter()
        .flat_map(|level| {
            let of = &values[level.begin..level.end];
            of.iter().map(|value| (value - level.median).abs())
        })
        .collect();
    let (n, free) = (
        values.len() as f64,
        values.len().saturating_sub(levels.len()),
    );
    if free == 0 {
        return 0.0;
    }
    1.4826 * median_mut(&mut deviations) * (n / free as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dist::normal_quantile;

    /// Normal noise of a standard deviation, fixed.
    fn noise(n: usize, sd: f64, seed: u64) -> Vec<f64> {
        let mut draws = Resampler::new(seed);
        (0..n)
            .map(|_| sd * normal_quantile(draws.uniform()))
            .collect()
    }

    fn stepped(n: usize, steps: &[(usize, f64)], sd: f64, seed: u64) -> Vec<f64> {
        let mut values = noise(n, sd, seed);
        for &(at, by) in steps {
            for value in &mut values[at..] {
                *value += by;
            }
        }
        values
    }

    fn at(values: &[f64]) -> Vec<usize> {
        let found = changes(values, Settings::default()).unwrap();
        found.steps.iter().map(|change| change.at).collect()
    }

    #[test]
    fn known_steps_are_found_where_they_are() {
        for seed in 1..=10 {
            let down = [(20, (0.9_f64).ln())];
            assert_eq!(at(&stepped(40, &down, 0.01, seed)), [20], "seed {seed}");
            let both = [(15, 0.12), (35, -0.2)];
            assert_eq!(at(&stepped(60, &both, 0.01, seed)), [15, 35], "seed {seed}");
        }
    }

    #[test]
    fn a_level_that_returns_has_two_steps() {
        let there_and_back = [(20, 0.1), (32, -0.1)];
        assert_eq!(at(&stepped(60, &there_and_back, 0.01, 3)), [20, 32]);
    }

    #[test]
    fn spikes_are_no_level() {
        let mut values = noise(40, 0.01, 5);
        values[12] += 0.5;
        values[30] += 0.5;
        assert!(at(&values).is_empty());
    }

    /// The same p by all permutations.
    fn whole_p(values: &[f64], settings: Settings) -> f64 {
        let mut search = Search::new(values, settings.least);
        let (_, observed) = search.best(&(0..values.len()).collect::<Vec<_>>()).unwrap();
        let mut draws = Resampler::new(settings.seed);
        let reached = (0..settings.permutations).filter(|_| {
            let order = draws.permuted_blocks(values.len(), settings.block);
            search.best(&order).unwrap().1 >= observed * (1.0 - 1e-9)
        });
        (reached.count() + 1) as f64 / (settings.permutations + 1) as f64
    }

    #[test]
    fn a_search_that_stops_early_decides_as_all_permutations_do() {
        let settings = Settings::default();
        for seed in 1..=40 {
            let values = stepped(20, &[(10, 0.015)], 0.01, seed);
            let whole = whole_p(&values, settings);
            let found = best_step(&values, settings, &mut Resampler::new(settings.seed)).unwrap();
            assert_eq!(
                found.p <= ALPHA,
                whole <= ALPHA,
                "seed {seed}: {} {whole}",
                found.p
            );
            if whole <= ALPHA {
                assert_eq!(found.p, whole);
            } else {
                assert!(
                    (found.p - whole).abs() < 0.15,
                    "seed {seed}: {} {whole}",
                    found.p
                );
            }
        }
    }

    #[test]
    fn few_and_constant_values_have_no_step() {
        assert!(at(&[]).is_empty());
        assert!(at(&[1.0; 50]).is_empty());
        assert!(at(&stepped(FEWEST - 1, &[(5, 1.0)], 0.001, 1)).is_empty());
        assert!(changes(&[f64::NAN], Settings::default()).is_err());
    }

    /// Q of two parts by the formula, value by value.
    #[test]
    fn q_is_the_formula() {
        let values = noise(14, 1.0, 9);
        let mut search = Search::new(&values, 3);
        search.best(&(0..14).collect::<Vec<_>>());
        let mean = |pairs: Vec<f64>| pairs.iter().sum::<f64>() / pairs.len() as f64;
        let (x, y) = (&values[..5], &values[5..12]);
        let across = x
            .iter()
            .flat_map(|a| y.iter().map(move |b| (a - b).abs()))
            .collect();
        let within = |part: &[f64]| {
            let pairs = (0..part.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
            mean(pairs.map(|(i, j)| (part[i] - part[j]).abs()).collect())
        };
        let by_hand = 35.0 / 12.0 * (2.0 * mean(across) - within(x) - within(y));
        assert!((search.q(5, 12) - by_hand).abs() < 1e-9);
    }

    #[test]
    fn levels_and_their_spread() {
        let values = stepped(40, &[(20, 0.1)], 0.02, 7);
        let levels = levels(&values, &[20]);
        assert_eq!((levels[0].begin, levels[0].end, levels[1].end), (0, 20, 40));
        assert!((levels[1].median - levels[0].median - 0.1).abs() < 0.02);
        let spread = spread_about(&values, &levels);
        assert!((0.012..0.03).contains(&spread), "{spread}");
        assert_eq!(spread_about(&[1.0], &super::levels(&[1.0], &[])), 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn any_series_has_parts_of_three(values in prop::collection::vec(-1.0..1.0_f64, 0..40)) {
            let quick = Settings { permutations: 39, ..Settings::default() };
            let found = changes(&values, quick).unwrap();
            let mut cuts = vec![0];
            cuts.extend(found.steps.iter().map(|change| change.at));
            cuts.push(values.len());
            if !found.steps.is_empty() {
                prop_assert!(cuts.windows(2).all(|pair| pair[1] - pair[0] >= 3), "{:?}", cuts);
            }
            prop_assert_eq!(changes(&values, quick).unwrap(), found);
        }
    }
}
