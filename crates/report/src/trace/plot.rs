//! Four plots of a trace as static SVG.
//!
//! Each is as wide as a telephone and is drawn once; the page scales it. Thousands of marks are one
//! path for each colour, not an element each, which keeps a page below a megabyte.

mod axis;
mod depth;
mod heat;
mod scatter;
mod throughput;

use std::fmt::Write as _;

use words::escape_xml as escape;

use super::Subject;
use axis::{Linear, Upright};

/// Units of the drawing.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 34.0;

/// Devices whose requests are drawn, each in a plot of its own: those with the most.
const DEVICES: usize = 4;

/// A plot and what it is called.
pub(super) struct Plot {
    pub(super) title: String,
    pub(super) unit: &'static str,
    pub(super) svg: String,
    pub(super) note: String,
}

/// All plots of a trace; those without anything to draw are left out.
pub(super) fn plots(subject: &Subject<'_>) -> Vec<Plot> {
    let mut plots = scatter::scatters(subject);
    plots.extend(throughput::throughput(subject.analysis));
    plots.extend(heat::heat(subject.analysis));
    plots.extend(depth::depth(subject.analysis));
    plots
}

/// A drawing that is begun: its frame, the axis of time below, and what it is for who hears it.
struct Drawing {
    svg: String,
    time: Linear,
    /// Where the next entry of the legend stands.
    legend: f64,
}

impl Drawing {
    /// `begin` and `seconds` of the trace.
    fn new(begin: f64, seconds: f64, spoken: &str) -> Drawing {
        let time = Linear::new(begin, begin + seconds.max(1e-6), LEFT, WIDTH - RIGHT);
        let mut svg = format!(
            "<svg class=\"plot trace\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escape(spoken)
        );
        let bottom = HEIGHT - BOTTOM;
        for tick in time.ticks(5) {
            let x = time.at(tick.value);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>\
                 <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 13.0,
                tick.label
            );
        }
        let _ = write!(
            svg,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">seconds</text>",
            f64::midpoint(LEFT, WIDTH - RIGHT),
            bottom + 27.0
        );
        Drawing {
            svg,
            time,
            legend: LEFT,
        }
    }

    /// A line across with its value at the left.
    fn level(&mut self, y: f64, label: &str) {
        let _ = write!(
            self.svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"level\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
            WIDTH - RIGHT,
            LEFT - 5.0,
            y + 3.5
        );
    }

    /// The levels of an axis from the bottom to the top.
    fn levels(&mut self, axis: &Upright) {
        for tick in axis.ticks() {
            self.level(axis.at(tick.value), &tick.label);
        }
    }

    /// A path of a class, and its entry in the legend.
    fn path(&mut self, class: &str, name: &str, data: &str) {
        if data.is_empty() {
            return;
        }
        let _ = write!(self.svg, "<path class=\"{class}\" d=\"{data}\"/>");
        if !name.is_empty() {
            self.entry(class, name);
        }
    }

    fn entry(&mut self, class: &str, name: &str) {
        let x = self.legend;
        let _ = write!(
            self.svg,
            "<path class=\"{class} key\" d=\"M{x:.1} 10h8\"/><text class=\"entry\" x=\"{:.1}\" \
             y=\"13.5\">{}</text>",
            x + 12.0,
            escape(name)
        );
        self.legend += 24.0 + 5.8 * name.chars().count() as f64;
    }

    fn finish(mut self) -> String {
        self.svg.push_str("</svg>");
        self.svg
    }
}

/// The upright axis, 0 at the bottom.
fn upright(largest: f64) -> Upright {
    Upright::Linear(Linear::round(0.0, largest, HEIGHT - BOTTOM, TOP))
}

/// A line that keeps its height over each bin: `x` of the bins' edges, one more than heights.
fn steps(edges: &[f64], heights: &[f64]) -> String {
    let mut data = String::new();
    let mut last = f64::NAN;
    for (edge, height) in edges.iter().zip(heights) {
        if data.is_empty() {
            let _ = write!(data, "M{edge:.1} {height:.1}");
        } else if (height - last).abs() >= 0.05 {
            let _ = write!(data, "H{edge:.1}V{height:.1}");
        }
        last = *height;
    }
    if let (Some(end), false) = (edges.get(heights.len()), data.is_empty()) {
        let _ = write!(data, "H{end:.1}");
    }
    data
}

/// The largest that are shown in the title's sentence for who hears the plot.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.filter(|value| value.is_finite()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{analysis, names, subject};
    use super::*;
    use fixtures::block_trace::Forge;

    /// Every number of a path that follows one of these letters.
    fn numbers(svg: &str) -> impl Iterator<Item = f64> {
        let paths = svg.split(" d=\"").skip(1);
        let data: Vec<&str> = paths.map(|rest| rest.split('"').next().unwrap()).collect();
        let words: Vec<f64> = data
            .iter()
            .flat_map(|data| data.split(|c: char| c.is_ascii_alphabetic() || c == ' '))
            .filter(|word| !word.is_empty())
            .map(|word| word.parse().unwrap_or_else(|_| panic!("{word}")))
            .collect();
        words.into_iter()
    }

    #[test]
    fn every_mark_lies_on_the_drawing() {
        let names = names();
        for seed in 0..8 {
            let forge = Forge {
                pause: 1 << (seed * 4),
                ..Forge::hostile(seed, 3000)
            };
            let analysis = analysis(&forge);
            let plots = plots(&subject(&analysis, &names));
            assert!(plots.len() >= 4, "{}", plots.len());
            for plot in &plots {
                assert!(plot.svg.ends_with("</svg>") && !plot.svg.contains("NaN"));
                for number in numbers(&plot.svg) {
                    assert!(
                        (-HEIGHT..=WIDTH + 1.0).contains(&number),
                        "{}: {number}",
                        plot.title
                    );
                }
            }
        }
    }

    #[test]
    fn a_damaged_record_spoils_no_drawing() {
        let names = names();
        let whole = analysis(&Forge::plain(2, 300));
        for alone in [false, true] {
            let mut analysis = whole.clone();
            let mut point = analysis.scatter.points[0];
            (point.sector, point.sectors) = (u64::MAX - 3, u32::MAX);
            if alone {
                analysis.scatter.points.clear();
            }
            analysis.scatter.points.push(point);
            for plot in plots(&subject(&analysis, &names)) {
                assert!(!plot.svg.contains("NaN") && !plot.svg.contains("inf"));
            }
        }
    }

    #[test]
    fn a_trace_without_requests_has_no_plots() {
        let names = names();
        let analysis = analysis(&Forge {
            requests: 0,
            ..Forge::plain(1, 0)
        });
        assert!(plots(&subject(&analysis, &names)).is_empty());
    }

    #[test]
    fn a_step_line_keeps_its_height_over_a_bin() {
        assert_eq!(
            steps(&[0.0, 1.0, 2.0, 3.0], &[5.0, 5.0, 7.0]),
            "M0.0 5.0H2.0V7.0H3.0"
        );
        assert_eq!(steps(&[0.0], &[]), "");
    }
}
