//! Bar plots with interval whiskers, as static SVG.
//!
//! One small plot for each row of a table, because rows differ in unit and size. A bar is the
//! median, the whisker its interval, a dot each sample: the bar hides nothing. The bar's
//! colour is the verdict against the base. A diamond marks the published value, scaled so that the
//! published base is at our base: the hardware differs, only the shape compares.

use std::fmt::Write as _;

use words::escape_xml as escape;

use super::names;
use crate::model::{Difference, Figure, Mark, Row, Table};
use crate::numbers::{ratio, short};

/// Units of the drawing; the page scales it to its card.
const WIDTH: f64 = 360.0;
/// Widths of the names: as much as they need, within these.
const NAMES: [f64; 2] = [104.0, 168.0];
/// Mean width of a letter, with room for wide ones.
const LETTER: f64 = 6.3;
const VALUES: f64 = 62.0;
const LINE: f64 = 24.0;
const BAR: f64 = 13.0;
const TOP: f64 = 6.0;
const AXIS: f64 = 20.0;

/// The horizontal scale: 0 at the names' right edge.
struct Scale {
    /// Where the names end and the bars begin.
    left: f64,
    step: f64,
    top: f64,
}

impl Scale {
    /// Round ticks, about four, up to `largest`.
    fn to(largest: f64, left: f64) -> Scale {
        let largest = if largest > 0.0 && largest.is_finite() {
            largest
        } else {
            1.0
        };
        let rough = largest / 4.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .iter()
            .map(|m| m * power)
            .find(|s| *s >= rough)
            .unwrap_or(power * 10.0);
        Scale {
            left,
            step,
            top: (largest / step).ceil() * step,
        }
    }

    fn x(&self, value: f64) -> f64 {
        self.left + (value.max(0.0) / self.top).min(1.0) * (WIDTH - self.left - VALUES)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (step, count) = (self.step, (self.top / self.step).round() as u32);
        (0..=count).map(move |i| f64::from(i) * step)
    }
}

/// The published value on our scale: theirs times our base over their base.
fn scaled(table: &Table, row: &Row, figure: &Figure) -> Option<f64> {
    let anchor = row.figures.get(table.base)?;
    let theirs = anchor.published?.value;
    let ours = anchor.summary.as_ref()?.median;
    (theirs > 0.0).then_some(figure.published?.value * ours / theirs)
}

/// Every value that must be on the scale.
pub(super) fn largest(table: &Table, row: &Row) -> f64 {
    row.figures
        .iter()
        .flat_map(|figure| {
            let samples = figure.points.iter().map(|p| p.value);
            let summary = figure.summary.iter().flat_map(|s| {
                [Some(s.median), s.median_interval.as_ref().map(|i| i.high)]
                    .into_iter()
                    .flatten()
            });
            samples
                .chain(summary)
                .chain(scaled(table, row, figure))
                .collect::<Vec<f64>>()
        })
        .fold(0.0, f64::max)
}

/// The plot of one row; its axis ends at `reach` or later.
pub(super) fn row(table: &Table, row: &Row, reach: f64) -> String {
    if row.figures.iter().all(|f| f.summary.is_none()) {
        return "<p class=\"few\">No finished trial measured it.</p>".to_owned();
    }
    let columns: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
    let longest = columns.iter().map(|name| name.chars().count()).max();
    let left = (longest.unwrap_or(0) as f64 * LETTER + 9.0).clamp(NAMES[0], NAMES[1]);
    let letters = ((left - 9.0) / LETTER) as usize;
    let names = names::fitted(&columns, letters);
    let scale = Scale::to(largest(table, row).max(reach), left);
    let bottom = TOP + LINE * row.figures.len() as f64;
    let mut svg = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
        bottom + AXIS,
        escape(&spoken(table, row))
    );
    axis(&mut svg, &scale, bottom);
    for (index, (column, figure)) in table.columns.iter().zip(&row.figures).enumerate() {
        let middle = TOP + LINE * (index as f64 + 0.5);
        svg.push_str(&name(
            &column.name,
            &names[index],
            letters,
            left - 6.0,
            middle,
        ));
        bar(&mut svg, &scale, middle, figure, index == table.base);
        if let Some(value) = scaled(table, row, figure) {
            diamond(&mut svg, &scale, middle, value, figure);
        }
        let shown = figure
            .summary
            .as_ref()
            .map_or_else(|| "–".to_owned(), |s| short(s.median));
        let _ = write!(
            svg,
            "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{shown}<tspan class=\"doubt\" dx=\"2\">{}</tspan></text>",
            WIDTH - VALUES + 6.0,
            middle + 4.0,
            figure.signs()
        );
    }
    svg.push_str("</svg>");
    svg
}

/// A name beside its bar, ending at `x`: whole in one or two lines where it fits, else `short` with the whole as a tooltip.
fn name(whole: &str, short: &str, letters: usize, x: f64, middle: f64) -> String {
    if whole == short {
        let y = middle + 4.0;
        let text = escape(whole);
        return format!("<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    }
    match names::halves(whole, letters) {
        Some((first, second)) => format!(
            "<text class=\"name small\" x=\"{x:.1}\" y=\"{:.1}\">{}<tspan x=\"{x:.1}\" dy=\"10.5\">{}</tspan></text>",
            middle - 1.5,
            escape(first),
            escape(second)
        ),
        None => format!(
            "<text class=\"name\" x=\"{x:.1}\" y=\"{:.1}\">{}<title>{}</title></text>",
            middle + 4.0,
            escape(short),
            escape(whole)
        ),
    }
}

fn axis(svg: &mut String, scale: &Scale, bottom: f64) {
    for tick in scale.ticks() {
        let x = scale.x(tick);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            bottom + 13.0,
            tick_label(tick, scale.step)
        );
    }
}

/// A tick with the decimals that its step needs.
fn tick_label(tick: f64, step: f64) -> String {
    let decimals = (2.0 - step.log10()).floor().clamp(0.0, 6.0) as usize;
    let text = format!("{tick:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn bar(svg: &mut String, scale: &Scale, middle: f64, figure: &Figure, is_base: bool) {
    let Some(summary) = &figure.summary else {
        return;
    };
    let (left, right) = (scale.x(0.0), scale.x(summary.median));
    let class = match (&figure.versus, is_base) {
        (_, true) => "base",
        (None, _) => "none",
        (Some(versus), _) => match versus.difference {
            Difference::Unclear | Difference::Same => "none",
            Difference::Better | Difference::Higher => "better",
            Difference::Worse | Difference::Lower => "worse",
        },
    };
    // Warnings and unchecked evidence keep their sign beside the value; a dashed bar is for worse.
    let doubtful = if figure.worst().is_none_or(|mark| mark > Mark::Missing) {
        ""
    } else {
        " doubtful"
    };
    let _ = write!(
        svg,
        "<rect class=\"bar {class}{doubtful}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\"><title>median {}, n={}</title></rect>",
        middle - BAR / 2.0,
        (right - left).max(0.5),
        short(summary.median),
        summary.n
    );
    if let Some(interval) = &summary.median_interval {
        let (low, high) = (scale.x(interval.low), scale.x(interval.high));
        let _ = write!(
            svg,
            "<path class=\"whisker\" d=\"M{low:.1} {middle:.1}H{high:.1}M{low:.1} {:.1}v8M{high:.1} {:.1}v8\"/>",
            middle - 4.0,
            middle - 4.0
        );
    }
    for point in &figure.points {
        let _ = write!(
            svg,
            "<circle class=\"sample\" cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"1.9\"><title>block {}, trial {}: {}</title></circle>",
            scale.x(point.value),
            point.block + 1,
            point.trial + 1,
            short(point.value)
        );
    }
}

fn diamond(svg: &mut String, scale: &Scale, middle: f64, value: f64, figure: &Figure) {
    let x = scale.x(value);
    let published = figure.published.map_or(0.0, |p| p.value);
    let _ = write!(
        svg,
        "<path class=\"published\" d=\"M{x:.1} {:.1}l4.5 4.5l-4.5 4.5l-4.5 -4.5z\"><title>published {published:.1}, scaled to our base: {}</title></path>",
        middle - 4.5,
        short(value)
    );
}

/// The plot in words, for readers who hear it.
fn spoken(table: &Table, row: &Row) -> String {
    let parts: Vec<String> = table
        .columns
        .iter()
        .zip(&row.figures)
        .map(|(column, figure)| match &figure.summary {
            None => format!("{} no value", column.name),
            Some(s) => {
                let interval = s.median_interval.as_ref().map_or(String::new(), |i| {
                    format!(" ({} to {})", short(i.low), short(i.high))
                });
                let versus = figure.versus.as_ref().map_or(String::new(), |v| {
                    format!(", ratio {} ({})", ratio(v.ratio), v.difference.name())
                });
                format!("{} {}{interval}{versus}", column.name, short(s.median))
            }
        })
        .collect();
    format!(
        "{} in {}, medians with intervals: {}",
        row.label,
        row.unit,
        parts.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_data() {
        for largest in [0.0, 0.0031, 0.7, 3.0, 66.5, 592.4, 12_345.0] {
            let scale = Scale::to(largest, NAMES[0]);
            assert!(scale.top >= largest, "{largest}");
            let ticks: Vec<f64> = scale.ticks().collect();
            assert!((2..=6).contains(&ticks.len()), "{largest}: {ticks:?}");
            assert!(scale.x(scale.top) <= WIDTH - VALUES + 1e-9);
        }
        assert_eq!(tick_label(0.25, 0.25), "0.25");
        assert_eq!(tick_label(200.0, 100.0), "200");
        assert_eq!(tick_label(0.0, 0.5), "0");
    }

    #[test]
    fn markup_in_names_is_inert() {
        assert_eq!(escape("<b a='\"&\u{1}>"), "&lt;b a=&#39;&quot;&amp; &gt;");
    }
}
