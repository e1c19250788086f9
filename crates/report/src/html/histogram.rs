//! Histograms of latencies as static SVG: the time axis logarithmic, one line for each cell.
//!
//! The names of the cells are below the axis, each in a line of its own after a sample of its colour: names are long,
//! and over the lines they could not be read. A line goes through the share of operations in each range of a quarter of a power of two. Shares
//! and not counts, because cells may have different numbers of operations.

use std::fmt::Write as _;

use words::{escape_xml as escape, short_time};

use super::names;
use crate::latency::{Bucket, Row};

/// Units of the drawing; the page scales it to its card.
const WIDTH: f64 = 380.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 10.0;
/// Where the time axis is.
const BOTTOM: f64 = 148.0;
/// Room for its ticks.
const TICK_ROOM: f64 = 22.0;
/// Height of a name below the ticks.
const NAME: f64 = 15.0;
/// Where a name begins, after its line.
const NAME_LEFT: f64 = LEFT + 24.0;
/// Mean width of a letter of a name, and of a tick, with room for wide ones.
const LETTER: f64 = 6.1;
const TICK_LETTER: f64 = 6.6;

/// The largest number of labels on the time axis.
const TICKS: f64 = 6.0;

struct Axes {
    low: f64,
    high: f64,
    /// Largest share.
    most: f64,
}

impl Axes {
    fn of(rows: &[&Row]) -> Option<Axes> {
        let buckets = || rows.iter().flat_map(|row| &row.histogram);
        let (low, high) = (
            buckets().map(|b| time(b.from)).reduce(f64::min)?,
            buckets().map(|b| time(b.to)).reduce(f64::max)?,
        );
        let shares = rows.iter().flat_map(|row| {
            let all = total(row);
            row.histogram.iter().map(move |b| b.count as f64 / all)
        });
        Some(Axes {
            low: low.log10(),
            high: high.log10().max(low.log10() + 0.1),
            most: shares.fold(0.0, f64::max),
        })
    }

    fn x(&self, seconds: f64) -> f64 {
        let share = (time(seconds).log10() - self.low) / (self.high - self.low);
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, share: f64) -> f64 {
        BOTTOM - share / self.most.max(f64::MIN_POSITIVE) * (BOTTOM - TOP)
    }
}

/// A logarithm needs a time above 0: the resolution of the clock.
fn time(seconds: f64) -> f64 {
    seconds.max(1e-9)
}

fn total(row: &Row) -> f64 {
    let all: u64 = row.histogram.iter().map(|b| b.count).sum();
    all.max(1) as f64
}

/// The plot of some cells, with the axes of all of them; nothing where nothing was counted.
pub(super) fn plot(rows: &[&Row], all: &[&Row]) -> String {
    let Some(axes) = Axes::of(all) else {
        return String::new();
    };
    let spoken = rows.iter().map(|row| {
        format!(
            "{}: p50 {}, p99 {}",
            row.label,
            short_time(row.p50),
            short_time(row.p99)
        )
    });
    let spoken: Vec<String> = spoken.collect();
    // One cell is named by the caption.
    let named = if rows.len() > 1 { rows.len() } else { 0 };
    let height = BOTTOM + TICK_ROOM + NAME * named as f64;
    let mut svg = format!(
        "<svg class=\"plot histogram\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
        escape(&format!("Latency. {}", spoken.join("; ")))
    );
    grid(&mut svg, &axes);
    for (at, row) in rows.iter().enumerate() {
        line(&mut svg, &axes, row, at);
    }
    legend(&mut svg, &rows[..named]);
    svg.push_str("</svg>");
    svg
}

/// A name for each line, whole where it fits, else with the whole name as a tooltip.
fn legend(svg: &mut String, rows: &[&Row]) {
    let whole: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
    let letters = ((WIDTH - RIGHT - NAME_LEFT) / LETTER) as usize;
    let fitted = names::fitted(&whole, letters);
    for (at, (whole, name)) in whole.iter().zip(&fitted).enumerate() {
        let middle = BOTTOM + TICK_ROOM + NAME * (at as f64 + 0.5);
        let title = if name == whole {
            String::new()
        } else {
            format!("<title>{}</title>", escape(whole))
        };
        let _ = write!(
            svg,
            "<path class=\"key line{at}\" d=\"M{LEFT} {middle:.1}h18\"/>\
             <text class=\"name\" x=\"{NAME_LEFT}\" y=\"{:.1}\">{}{title}</text>",
            middle + 4.0,
            escape(name)
        );
    }
}

fn grid(svg: &mut String, axes: &Axes) {
    let step = ((axes.high - axes.low) / TICKS).ceil().max(1.0) as i32;
    let powers = (axes.low.floor() as i32..=axes.high.ceil() as i32)
        .filter(|power| power.rem_euclid(step) == 0);
    let narrow = axes.high - axes.low < 2.0;
    let factors: &[f64] = if narrow { &[1.0, 2.0, 5.0] } else { &[1.0] };
    for power in powers {
        for factor in factors {
            let value = factor * 10_f64.powi(power);
            if !(axes.low..=axes.high).contains(&value.log10()) {
                continue;
            }
            let (at, label) = (axes.x(value), short_time(value));
            // A label at an end of the axis is moved into the drawing.
            let half = TICK_LETTER * label.chars().count() as f64 / 2.0;
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{BOTTOM}\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                at.min(WIDTH - half - 1.0),
                BOTTOM + 14.0
            );
        }
    }
    let _ = write!(
        svg,
        "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{BOTTOM}\" x2=\"{}\" y2=\"{BOTTOM}\"/>\
         <text class=\"tick left\" x=\"{:.1}\" y=\"{:.1}\">{:.0} %</text>\
         <text class=\"tick left\" x=\"{:.1}\" y=\"{:.1}\">0</text>",
        WIDTH - RIGHT,
        LEFT - 4.0,
        TOP + 8.0,
        axes.most * 100.0,
        LEFT - 4.0,
        BOTTOM
    );
}

/// Steps; a range without a count is on the axis.
fn line(svg: &mut String, axes: &Axes, row: &Row, at: usize) {
    let all = total(row);
    let mut path = String::new();
    let mut end: Option<f64> = None;
    for Bucket { from, to, count } in row.histogram.iter().copied() {
        let (left, right) = (axes.x(from), axes.x(to));
        match end {
            Some(end) if (end - left).abs() < 0.05 => {}
            Some(_) => {
                let _ = write!(path, "V{:.1}H{left:.1}", axes.y(0.0));
            }
            None => {
                let _ = write!(path, "M{left:.1} {:.1}", axes.y(0.0));
            }
        }
        let _ = write!(path, "V{:.1}H{right:.1}", axes.y(count as f64 / all));
        end = Some(right);
    }
    let _ = write!(
        svg,
        "<path class=\"steps line{at}\" d=\"{path}V{:.1}\"><title>{}: p50 {}, p99 {}, max {}</title></path>",
        axes.y(0.0),
        escape(&row.label),
        short_time(row.p50),
        short_time(row.p99),
        short_time(row.max)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(label: &str, buckets: &[(f64, u64)]) -> Row {
        Row {
            label: label.into(),
            p50: 2e-4,
            p99: 3e-3,
            max: 4e-3,
            histogram: buckets
                .iter()
                .map(|(from, count)| Bucket {
                    from: *from,
                    to: from * 1.25,
                    count: *count,
                })
                .collect(),
            ..Row::default()
        }
    }

    /// A plot that shares its axes with none.
    fn alone(rows: &[&Row]) -> String {
        plot(rows, rows)
    }

    #[test]
    fn plots_of_one_operation_share_their_axes() {
        let (short, long) = (
            row("ext4", &[(1e-4, 5)]),
            row("xfs", &[(1e-1, 5), (2e-1, 5)]),
        );
        let ticks = |svg: &str| svg.matches("class=\"tick\"").count();
        let all = [&short, &long];
        let (one, other) = (plot(&[&short], &all), plot(&[&long], &all));
        assert_eq!(ticks(&one), ticks(&other));
        assert!(one.contains("100 ms") && other.contains("100 us"), "{one}");
        assert!(
            other.contains("100 %"),
            "the largest share of both: {other}"
        );
    }

    #[test]
    fn each_cell_has_a_line_and_a_name_and_all_is_inside() {
        let rows = [
            row("ext4", &[(1e-4, 5), (1.25e-4, 20), (1e-2, 1)]),
            row("a <b>", &[(1e-4, 1)]),
        ];
        let svg = alone(&rows.iter().collect::<Vec<_>>());
        assert_eq!(svg.matches("<path class=\"steps").count(), 2);
        assert_eq!(svg.matches("<path class=\"key").count(), 2);
        assert!(
            svg.contains("a &lt;b&gt;</text>") && !svg.contains("NaN"),
            "{svg}"
        );
        assert!(
            svg.contains("1 ms</text>") && svg.contains("100 %"),
            "{svg}"
        );
        let one = alone(&[&rows[0]]);
        assert!(!one.contains("class=\"name"), "{one}");
    }

    /// The numbers of an attribute, as `x="12.5"`.
    fn attribute(element: &str, name: &str) -> f64 {
        let value = element.split(&format!(" {name}=\"")).nth(1).unwrap();
        value.split('"').next().unwrap().parse().unwrap()
    }

    #[test]
    fn long_names_are_below_the_axis_in_lines_of_their_own() {
        let long =
            |n: u32| format!("ext4 -o data=writeback,nobarrier,nodelalloc cache={n} prefill=true");
        let rows: Vec<Row> = (0..6)
            .map(|n| row(&long(n), &[(1e-4, 5), (1e-2, 1)]))
            .collect();
        let svg = alone(&rows.iter().collect::<Vec<_>>());
        let names: Vec<&str> = svg.split("<text class=\"name\"").skip(1).collect();
        assert_eq!(names.len(), 6);
        let height: f64 = svg.split("viewBox=\"0 0 380 ").nth(1).unwrap()[..3]
            .parse()
            .unwrap();
        let mut above = BOTTOM + 14.0;
        for (n, name) in names.iter().enumerate() {
            let y = attribute(name, "y");
            assert!(y >= above + 12.0 && y < height, "{y} {above} {height}");
            above = y;
            let shown = name.split(['>', '<']).nth(1).unwrap();
            assert!(NAME_LEFT + LETTER * shown.chars().count() as f64 <= WIDTH);
            let title = format!("<title>{}</title>", long(n as u32));
            assert!(name.contains(&title), "the whole name is a tooltip: {name}");
        }
    }

    #[test]
    fn a_tick_at_the_end_of_the_axis_is_whole() {
        // The axis ends at 10 ms.
        let svg = alone(&[&row("ext4", &[(1e-4, 5), (8e-3, 1)])]);
        let tick = svg
            .split("<text class=\"tick\"")
            .find(|t| t.contains("10 ms"));
        let middle = attribute(tick.unwrap(), "x");
        assert!(middle + TICK_LETTER * 2.5 <= WIDTH, "{middle}");
    }

    #[test]
    fn nothing_counted_draws_nothing_and_a_time_of_0_is_drawn() {
        assert_eq!(alone(&[&row("ext4", &[])]), "");
        assert!(!alone(&[&row("ext4", &[(0.0, 3)])]).contains("inf"));
    }
}
