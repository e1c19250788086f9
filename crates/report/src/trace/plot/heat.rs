//! How long bios took from issue to completion, over time: a map, because means and even quantiles
//! hide that a device has two speeds.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use blktrace::Analysis;

use super::{BOTTOM, Drawing, HEIGHT, Plot, TOP};

/// The most columns.
const COLUMNS: usize = 128;

/// Steps of colour.
const SHADES: usize = 6;

/// Classes for each doubling, as [`blktrace::analysis::HeatCell`] has them.
const PER_DOUBLING: f64 = 2.0;

/// The class of a latency: 0 below a microsecond, then two for each doubling.
fn class(from: f64) -> usize {
    if from < 1e-6 {
        return 0;
    }
    (1.0 + PER_DOUBLING * (from * 1e6).log2()).round() as usize
}

/// Where a class begins, seconds.
fn begin(class: usize) -> f64 {
    1e-6 * 2_f64.powf((class as f64 - 1.0) / PER_DOUBLING)
}

/// A latency on the axis: the powers of ten.
fn label(power: i32) -> &'static str {
    [
        "1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s",
    ]
    .get((power + 6) as usize)
    .copied()
    .unwrap_or("")
}

pub(super) fn heat(analysis: &Analysis) -> Option<Plot> {
    let timeline = &analysis.timeline;
    let together = timeline.bins.len().div_ceil(COLUMNS).max(1);
    let mut cells: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for cell in &timeline.heat {
        let place = (cell.bin as usize / together, class(cell.from));
        *cells.entry(place).or_insert(0) += cell.count;
    }
    let most = cells.values().copied().max()?;
    let low = cells.keys().map(|(_, class)| *class).min()?;
    let high = cells.keys().map(|(_, class)| *class).max()? + 1;
    // Some air where all took about the same time.
    let (low, high) = (low.saturating_sub(1), high.max(low + 6));
    let (bottom, top) = (HEIGHT - BOTTOM, TOP);
    let y = |class: f64| bottom + (class - low as f64) / (high - low) as f64 * (top - bottom);
    let spoken = "Latency from issue to completion over time, as a heat map";
    let mut drawing = Drawing::new(analysis.begin, analysis.seconds, spoken);
    let width = timeline.width * together as f64;
    let mut shades: [String; SHADES] = Default::default();
    for (&(column, class), &count) in &cells {
        let (x, end) = (
            drawing.time.at(column as f64 * width),
            drawing.time.at((column + 1) as f64 * width),
        );
        let (y0, y1) = (y(class as f64), y((class + 1) as f64));
        let share = ((1 + count) as f64).ln() / ((1 + most) as f64).ln();
        let shade = ((share * SHADES as f64).ceil() as usize).clamp(1, SHADES) - 1;
        let _ = write!(
            shades[shade],
            "M{x:.1} {y0:.1}V{y1:.1}H{:.1}V{y0:.1}z",
            end.max(x + 0.4)
        );
    }
    for (shade, data) in shades.iter().enumerate() {
        drawing.path(&format!("heat h{shade}"), "", data);
    }
    for power in -6..=2 {
        let at = 1.0 + PER_DOUBLING * (10_f64.powi(power) * 1e6).log2();
        if (low as f64..=high as f64).contains(&at) {
            drawing.level(y(at), label(power));
        }
    }
    Some(Plot {
        title: "Latency from issue to completion (D2C)".into(),
        unit: "logarithmic",
        svg: drawing.finish(),
        note: format!(
            "The stronger the colour, the more bios, on a logarithmic scale; the strongest is {most} in {:.0} ms \
             within a factor of 1.4, from {:.0} us up.",
            width * 1e3,
            begin(most_at(&cells, most)) * 1e6
        ),
    })
}

/// The class that holds the most.
fn most_at(cells: &BTreeMap<(usize, usize), u64>, most: u64) -> usize {
    let found = cells.iter().find(|(_, count)| **count == most);
    found.map_or(1, |((_, class), _)| *class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_found_again_by_its_begin() {
        assert_eq!(class(0.0), 0);
        for number in 1..48 {
            assert_eq!(class(begin(number)), number);
        }
    }
}
