//! Histograms of latencies in a mail: a line of characters for each cell, over a logarithmic axis of time.
//!
//! A character is the share of operations in its range of time: `.` is more than none, `@` the largest share of all
//! lines. The few slow operations, of which a quantile is made, are seen as well as the many fast ones.

use words::short_time;

use super::cap;
use crate::latency::Row;

/// From the least share to the largest.
const SHADES: [char; 9] = ['.', ':', '-', '=', '+', '*', '#', '%', '@'];
/// Ranges of a power of two, as recorded.
const PER_DOUBLING: f64 = 4.0;
/// The most characters of an axis: more are not read as one shape.
const WIDEST: usize = 56;
/// Before the labels, and between them and the axis.
const INDENT: usize = 2;

/// The axis: where a time is.
struct Axis {
    /// The shortest time, s.
    low: f64,
    /// Recorded ranges in one character.
    ranges: f64,
    /// Characters.
    columns: usize,
}

impl Axis {
    /// Of all rows, in at most this many characters; none where nothing was counted.
    fn of(rows: &[&Row], most: usize) -> Option<Axis> {
        let buckets = || rows.iter().flat_map(|row| &row.histogram);
        let low = buckets().map(|b| time(b.from)).reduce(f64::min)?;
        let high = buckets().map(|b| time(b.to)).reduce(f64::max)?;
        let all = ((high / low).log2() * PER_DOUBLING).ceil().max(1.0);
        let ranges = (all / most.max(1) as f64).ceil();
        Some(Axis {
            low,
            ranges,
            columns: (all / ranges).ceil() as usize,
        })
    }

    fn column(&self, seconds: f64) -> usize {
        // A range begins where the one before ends, but for rounding.
        let at = ((time(seconds) / self.low).log2() * PER_DOUBLING / self.ranges + 1e-6).floor();
        (at.max(0.0) as usize).min(self.columns - 1)
    }

    /// Share of the operations in each column.
    fn shares(&self, row: &Row) -> Vec<f64> {
        let all: u64 = row.histogram.iter().map(|b| b.count).sum();
        let mut shares = vec![0.0; self.columns];
        for bucket in &row.histogram {
            shares[self.column(bucket.from)] += bucket.count as f64 / all.max(1) as f64;
        }
        shares
    }

    /// Powers of ten below the axis, as far as their labels have room.
    fn ticks(&self) -> String {
        let end = self.low * (self.columns as f64 * self.ranges / PER_DOUBLING).exp2();
        let mut line = String::new();
        for power in self.low.log10().ceil() as i32..=end.log10().floor() as i32 {
            let value = 10_f64.powi(power);
            let at = self.column(value);
            let used = line.chars().count();
            if value < end && (used == 0 || at > used) {
                line.push_str(&" ".repeat(at.saturating_sub(used)));
                line.push_str(&format!("|{}", short_time(value)));
            }
        }
        line
    }
}

/// A logarithm needs a time above 0: the resolution of the clock.
fn time(seconds: f64) -> f64 {
    seconds.max(1e-9)
}

/// The lines of a plot, each of at most `width` characters, and the largest share; nothing where nothing was counted.
pub(super) fn lines(rows: &[&Row], width: usize) -> Option<(Vec<String>, f64)> {
    let longest = rows.iter().map(|row| row.label.chars().count()).max()?;
    let label = longest.min(width / 3);
    // A bar at each end, and a label of the axis may begin at the last column.
    let taken = INDENT + label + 4;
    let axis = Axis::of(rows, width.saturating_sub(taken).clamp(8, WIDEST))?;
    let shares: Vec<Vec<f64>> = rows.iter().map(|row| axis.shares(row)).collect();
    let most = shares.iter().flatten().copied().fold(0.0, f64::max);
    let mut lines: Vec<String> = rows
        .iter()
        .zip(&shares)
        .map(|(row, shares)| {
            let drawn: String = shares.iter().map(|share| shade(*share, most)).collect();
            let name = cap(&row.label, label);
            format!("{:INDENT$}{name:label$}  |{drawn}|", "")
        })
        .collect();
    let below = format!("{:1$}{2}", "", taken - 1, axis.ticks());
    lines.push(below.chars().take(width).collect::<String>());
    Some((lines, most))
}

fn shade(share: f64, most: f64) -> char {
    if share <= 0.0 {
        return ' ';
    }
    let step = (share / most * SHADES.len() as f64).ceil() as usize;
    SHADES[step.clamp(1, SHADES.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Bucket;

    fn row(label: &str, buckets: &[(f64, u64)]) -> Row {
        let bucket = |(from, count): &(f64, u64)| Bucket {
            from: *from,
            to: from * 2_f64.powf(0.25),
            count: *count,
        };
        Row {
            label: label.to_owned(),
            histogram: buckets.iter().map(bucket).collect(),
            ..Row::default()
        }
    }

    #[test]
    fn the_largest_share_is_the_darkest_and_a_single_slow_call_is_seen() {
        let rows = [
            row("ext4", &[(1e-4, 700), (2e-4, 299), (6.4e-3, 1)]),
            row("xfs", &[(1e-4, 10)]),
        ];
        let (lines, most) = lines(&rows.iter().collect::<Vec<_>>(), 78).unwrap();
        assert!((most - 1.0).abs() < 1e-9);
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("  ext4  |#   -"), "{lines:#?}");
        assert!(lines[0].ends_with(".|"), "{lines:#?}");
        assert!(lines[1].starts_with("  xfs   |@ "), "{lines:#?}");
        // The axis begins at 100 us, and 1 ms is at its place.
        assert!(lines[2].starts_with("         |100 us"), "{lines:#?}");
        let tick = lines[2].find("|1 ms").unwrap();
        assert_eq!(tick, 9 + 13, "{lines:#?}");
    }

    #[test]
    fn nothing_counted_draws_nothing() {
        assert!(lines(&[&row("ext4", &[])], 78).is_none());
    }

    proptest::proptest! {
        #[test]
        fn no_line_is_wider_than_the_report(
            width in 40usize..120,
            name in "[a-z]{1,60}",
            low in -9.0f64..0.0,
            span in 0.1f64..9.0,
        ) {
            let rows = [row(&name, &[(10_f64.powf(low), 5), (10_f64.powf(low + span), 1)])];
            let (lines, _) = lines(&rows.iter().collect::<Vec<_>>(), width).unwrap();
            for line in lines {
                proptest::prop_assert!(line.chars().count() <= width, "{}", line);
            }
        }
    }
}
