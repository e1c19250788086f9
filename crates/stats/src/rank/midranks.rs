//! Ranks with ties shared, doubled so that they stay whole numbers.

/// The ranks of a sample and the sizes of its groups of equal values.
pub(crate) struct Midranks {
    /// Twice the midrank of each value, in the order given: 2, 4, 6 ... where nothing is tied.
    pub(crate) doubled: Vec<usize>,
    /// Sizes of the groups of equal values, in ascending order of value; all 1 without ties.
    pub(crate) groups: Vec<usize>,
}

/// Ranks `values`; equal values share the mean of the ranks they span (Kruskal and Wallis 1952).
/// Twice that mean is the group's first rank plus its last, a whole number.
pub(crate) fn midranks(values: &[f64]) -> Midranks {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut doubled = vec![0; values.len()];
    let mut groups = Vec::new();
    let mut start = 0;
    // `==` and not total_cmp: -0.0 and 0.0 are one measured value.
    for group in order.chunk_by(|&i, &j| values[i] == values[j]) {
        for &i in group {
            doubled[i] = 2 * start + group.len() + 1;
        }
        groups.push(group.len());
        start += group.len();
    }
    Midranks { doubled, groups }
}

impl Midranks {
    /// Sum of `t^3 - t` over the groups of ties: what ties take from a rank statistic's variance.
    pub(crate) fn tie_sum(&self) -> f64 {
        self.groups
            .iter()
            .map(|&t| (t as f64).powi(3) - t as f64)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `2 * scipy.stats.rankdata([3, 1, 3, 2, 3, 1])`.
    #[test]
    fn ranks_as_in_scipy() {
        let r = midranks(&[3.0, 1.0, 3.0, 2.0, 3.0, 1.0]);
        assert_eq!(r.doubled, [10, 3, 10, 6, 10, 3]);
        assert_eq!(r.groups, [2, 1, 3]);
        assert_eq!(r.tie_sum(), 30.0);
        assert_eq!(midranks(&[0.0, -0.0]).groups, [2]);
    }
}
