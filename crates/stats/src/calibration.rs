//! Critical values that were simulated, looked up by sample size.

/// The value for `n` in a table in ascending order of n: linear in between, the nearest row
/// outside.
pub(crate) fn look_up(table: &[(usize, f64)], n: usize) -> f64 {
    let above = table.partition_point(|(size, _)| *size < n);
    let Some(&(high, at_high)) = table.get(above) else {
        return table.last().map_or(f64::NAN, |row| row.1);
    };
    if high == n || above == 0 {
        return at_high;
    }
    let (low, at_low) = table[above - 1];
    at_low + (at_high - at_low) * (n - low) as f64 / (high - low) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_rows_and_outside() {
        let table = [(5, 10.0), (6, 8.0), (10, 4.0)];
        for (n, value) in [
            (2, 10.0),
            (5, 10.0),
            (6, 8.0),
            (7, 7.0),
            (10, 4.0),
            (99, 4.0),
        ] {
            assert_eq!(look_up(&table, n), value, "n {n}");
        }
    }
}
