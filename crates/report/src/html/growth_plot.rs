//! A law of growth as static SVG: both axes logarithmic, so that a power law is a straight line and
//! a constant bends it at its lower end.
//!
//! What was measured is drawn solid, what is projected dashed, with a line between them and both
//! words on it: so that the one is not taken for the other. The band is the law's interval.

use std::fmt::Write as _;

use stats::growth::Fit;
use words::escape_xml as escape;

use crate::growth::{Curve, Growth, amount, brief, engineering, interval};
use crate::numbers::short;

/// Units of the drawing; the page scales it to its card.
const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 290.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 36.0;
/// Places at which a law is drawn.
const STEPS: u32 = 40;
/// Share of the axis left free at either end.
const FREE: f64 = 0.05;
/// Letters of a label, in units of the drawing.
const LETTER: f64 = 5.6;

/// A logarithmic axis from `low` to `high` over `from` to `to` of the drawing.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let logs = values.filter(|v| *v > 0.0 && v.is_finite()).map(f64::log10);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for log in logs {
            (low, high) = (low.min(log), high.max(log));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // One size, or one value, has room about it.
        let free = (FREE * (high - low)).max(0.08);
        Axis {
            low: low - free,
            high: high + free,
            from,
            to,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE).log10() - self.low) / (self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Powers of ten; with their doubles and fives where there are few.
    fn ticks(&self) -> Vec<f64> {
        let decades = self.high - self.low;
        let factors: &[f64] = if decades < 2.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let step = (decades / 7.0).ceil().max(1.0) as i32;
        let mut ticks = Vec::new();
        for power in self.low.floor() as i32..=self.high.ceil() as i32 {
            for factor in factors {
                let tick = factor * 10f64.powi(power);
                let log = tick.log10();
                if power.rem_euclid(step) == 0 && log >= self.low && log <= self.high {
                    ticks.push(tick);
                }
            }
        }
        ticks
    }
}

/// A value on the y axis.
fn tick(value: f64) -> String {
    if !(1e-3..1e6).contains(&value) {
        return format!("{value:.0e}");
    }
    let text = engineering(value);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The plot of one curve.
pub(super) fn curve(growth: &Growth, curve: &Curve) -> String {
    let (x, y) = axes(curve);
    let mut svg = format!(
        "<svg class=\"plot growth\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(&spoken(growth, curve))
    );
    grid(&mut svg, growth, &x, &y);
    let reported = curve.reported();
    if let Some((_, largest)) = measured(curve).filter(|_| !curve.projections.is_empty()) {
        border(&mut svg, &x, largest);
    }
    // The chosen law on top.
    for (at, fit) in reported.iter().enumerate().rev() {
        law(&mut svg, curve, fit, at, &x, &y);
    }
    for size in &curve.sizes {
        for (files, point) in size.counted.iter().zip(&size.figure.points) {
            let _ = write!(
                svg,
                "<circle class=\"sample\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\"><title>measured: {} {}, {} {}, block {}</title></circle>",
                x.at(*files),
                y.at(point.value),
                amount(*files),
                escape(&growth.x_unit),
                short(point.value),
                escape(&growth.unit),
                point.block + 1
            );
        }
    }
    projections(&mut svg, growth, curve, &x, &y);
    names(&mut svg, curve);
    svg.push_str("</svg>");
    svg
}

/// Smallest and largest measured x.
fn measured(curve: &Curve) -> Option<(f64, f64)> {
    let counted = || curve.sizes.iter().flat_map(|s| s.counted.iter().copied());
    Some((counted().reduce(f64::min)?, counted().reduce(f64::max)?))
}

fn axes(curve: &Curve) -> (Axis, Axis) {
    let published = || {
        let beside = curve.projections.iter().flat_map(|p| &p.published);
        beside.chain(&curve.published)
    };
    let counted = curve.sizes.iter().flat_map(|s| s.counted.iter().copied());
    let far = curve.projections.iter().map(|p| p.x);
    let theirs = published().filter_map(|p| p.x);
    let xs: Vec<f64> = counted.chain(far).chain(theirs).collect();
    let values = curve
        .sizes
        .iter()
        .flat_map(|s| &s.figure.points)
        .map(|p| p.value);
    let laws = curve.reported().iter().flat_map(|fit| {
        let ends = xs.iter().flat_map(|x| {
            let interval = fit.at(*x).interval;
            [interval.low, interval.high]
        });
        ends.collect::<Vec<f64>>()
    });
    let theirs = published().filter(|p| p.x.is_some()).map(|p| p.y);
    let ys: Vec<f64> = values.chain(laws).chain(theirs).collect();
    (
        Axis::over(xs.into_iter(), LEFT, WIDTH - RIGHT),
        Axis::over(ys.into_iter(), HEIGHT - BOTTOM, TOP),
    )
}

fn grid(svg: &mut String, growth: &Growth, x: &Axis, y: &Axis) {
    let bottom = HEIGHT - BOTTOM;
    for value in x.ticks() {
        let at = x.at(value);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\"/>\
             <text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
            bottom + 13.0,
            amount(value)
        );
    }
    for value in y.ticks() {
        let at = y.at(value);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\"/>\
             <text class=\"tick left\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 5.0,
            at + 3.5,
            tick(value)
        );
    }
    let _ = write!(
        svg,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
         <text class=\"tick first\" x=\"2\" y=\"10\">{}</text>",
        f64::midpoint(LEFT, WIDTH - RIGHT),
        HEIGHT - 6.0,
        escape(&growth.x_unit),
        escape(&growth.unit)
    );
}

/// Where measuring ends.
fn border(svg: &mut String, x: &Axis, largest: f64) {
    let at = x.at(largest) + 4.0;
    let _ = write!(
        svg,
        "<line class=\"edge\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{}\"/>\
         <text class=\"side end\" x=\"{:.1}\" y=\"{}\">measured</text>\
         <text class=\"side\" x=\"{:.1}\" y=\"{}\">projection</text>",
        HEIGHT - BOTTOM,
        at - 4.0,
        TOP - 6.0,
        at + 4.0,
        TOP - 6.0
    );
}

/// Line and band of one law, solid to the largest measured x and dashed beyond.
fn law(svg: &mut String, curve: &Curve, fit: &Fit, at: usize, x: &Axis, y: &Axis) {
    let Some((smallest, largest)) = measured(curve) else {
        return;
    };
    let far = curve
        .projections
        .iter()
        .map(|p| p.x)
        .fold(largest, f64::max);
    for (class, from, to) in [("solid", smallest, largest), ("projected", largest, far)] {
        if to <= from {
            continue;
        }
        let place = |i: u32| from * (to / from).powf(f64::from(i) / f64::from(STEPS));
        let places: Vec<(f64, stats::growth::Estimate)> =
            (0..=STEPS).map(|i| (place(i), fit.at(place(i)))).collect();
        let path = |points: &mut dyn Iterator<Item = (f64, f64)>| {
            let points =
                points.map(|(files, value)| format!("{:.1} {:.1}", x.at(files), y.at(value)));
            points.collect::<Vec<_>>().join("L")
        };
        let highs = path(&mut places.iter().map(|(files, e)| (*files, e.interval.high)));
        let lows = path(
            &mut places
                .iter()
                .rev()
                .map(|(files, e)| (*files, e.interval.low)),
        );
        let line = path(&mut places.iter().map(|(files, e)| (*files, e.value)));
        let _ = write!(
            svg,
            "<path class=\"band law{at} {class}\" d=\"M{highs}L{lows}Z\"/>\
             <path class=\"line law{at} {class}\" d=\"M{line}\"/>"
        );
    }
}

fn projections(svg: &mut String, growth: &Growth, curve: &Curve, x: &Axis, y: &Axis) {
    // A label that would overlap the one before is left to the title and the table.
    let mut free = LEFT;
    for projection in &curve.projections {
        let at = x.at(projection.x);
        for (law, (kind, estimate)) in projection.laws.iter().enumerate() {
            let range = estimate.interval;
            let middle = y.at(estimate.value);
            let _ = write!(
                svg,
                "<g class=\"far law{law}\"><path d=\"M{at:.1} {:.1}V{:.1}\"/><circle cx=\"{at:.1}\" cy=\"{middle:.1}\" r=\"3\"/>\
                 <title>projection to {} {}, {}: {} {}</title></g>",
                y.at(range.low),
                y.at(range.high),
                amount(projection.x),
                escape(&growth.x_unit),
                kind.name(),
                interval(estimate, engineering),
                escape(&growth.unit)
            );
        }
        if let Some((_, estimate)) = projection.laws.first() {
            let text = engineering(estimate.value);
            let left = at - 6.0 - LETTER * text.len() as f64;
            if left > free {
                let _ = write!(
                    svg,
                    "<text class=\"side end\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
                    at - 6.0,
                    y.at(estimate.value) - 4.0
                );
                free = at - 6.0;
            }
        }
    }
    let beside = curve.projections.iter().flat_map(|p| &p.published);
    for point in beside.chain(&curve.published) {
        let Some(files) = point.x else { continue };
        let _ = write!(
            svg,
            "<path class=\"published\" d=\"M{:.1} {:.1}l4.5 4.5l-4.5 4.5l-4.5 -4.5z\"><title>{}</title></path>",
            x.at(files),
            y.at(point.y) - 4.5,
            escape(&point.sentence())
        );
    }
}

/// What the colours are, in the corner that a growing law leaves free.
fn names(svg: &mut String, curve: &Curve) {
    let mut names: Vec<(String, &str)> = curve
        .reported()
        .iter()
        .enumerate()
        .map(|(at, fit)| (format!("name law{at}"), brief(fit.law)))
        .collect();
    let beside = curve.projections.iter().flat_map(|p| &p.published);
    if beside.chain(&curve.published).any(|p| p.x.is_some()) {
        names.push(("name theirs".to_owned(), "◇ published"));
    }
    let lowest = HEIGHT - BOTTOM - 8.0;
    for (up, (class, text)) in names.iter().rev().enumerate() {
        let _ = write!(
            svg,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
            WIDTH - RIGHT - 6.0,
            lowest - 14.0 * up as f64
        );
    }
}

/// The plot in words.
fn spoken(growth: &Growth, curve: &Curve) -> String {
    let sizes: Vec<String> = curve
        .sizes
        .iter()
        .filter_map(|size| {
            let median = size.figure.summary.as_ref()?.median;
            Some(format!("{} {}", amount(size.x), short(median)))
        })
        .collect();
    let mut text = format!(
        "{}, {} by {}, both axes logarithmic. Measured medians: {}",
        curve.name(),
        growth.y(),
        growth.x_unit,
        sizes.join("; ")
    );
    for projection in &curve.projections {
        for (law, estimate) in &projection.laws {
            text.push_str(&format!(
                ". Projection to {} by the {}: {}",
                amount(projection.x),
                brief(*law),
                interval(estimate, engineering)
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_what_they_must_and_have_ticks() {
        for values in [vec![3e3, 4.15e8], vec![0.17, 1.7], vec![5.0], vec![]] {
            let axis = Axis::over(values.iter().copied(), 0.0, 100.0);
            for value in &values {
                assert!((1.0..=99.0).contains(&axis.at(*value)), "{value}");
            }
            let ticks = axis.ticks();
            assert!(
                (1..=9).contains(&ticks.len()) || values.len() < 2,
                "{ticks:?}"
            );
        }
        assert_eq!(tick(0.1), "0.1");
        assert_eq!(tick(1000.0), "1000");
        assert_eq!([tick(1e-6), tick(5e8)], ["1e-6", "5e8"]);
    }
}
