//! Drawings as SVG: a series of runs with its steps, and the interval of a change. Colours and strokes are classes of the style
//! sheet, because the site's policy allows no style in a page.

use words::escape_xml as escape;

/// Most marks that are drawn one by one, each a link to its run; more are drawn as buckets with smallest value, median and largest.
pub(crate) const MOST_MARKS: usize = 300;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 30.0;
/// Labels below the axis.
const LABELS: usize = 8;

/// A run of a series.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// Below the axis.
    pub label: String,
    /// What a pointer on it shows.
    pub title: String,
    /// Its page.
    pub to: Option<String>,
    /// Lower end of its interval.
    pub low: f64,
    /// Its value.
    pub value: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// A series of runs.
#[derive(Debug)]
pub(crate) struct Chart<'a> {
    /// What it shows, for readers who do not see it.
    pub about: String,
    /// The runs.
    pub marks: &'a [Mark],
    /// Index of the first run after a step, and whether it is for the worse.
    pub steps: &'a [(usize, bool)],
}

impl Chart<'_> {
    /// The drawing.
    pub(crate) fn svg(&self) -> String {
        if self.marks.is_empty() {
            return String::new();
        }
        let scale = Scale::of(self.marks);
        let mut out = format!(
            "<svg class=\"plot run-series\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escape(&self.about)
        );
        self.axes(&scale, &mut out);
        self.levels(&scale, &mut out);
        if self.marks.len() <= MOST_MARKS {
            for (at, mark) in self.marks.iter().enumerate() {
                draw(&scale, at, mark, &mut out);
            }
        } else {
            self.buckets(&scale, &mut out);
        }
        out.push_str("</svg>");
        out
    }

    fn axes(&self, scale: &Scale, out: &mut String) {
        for tick in scale.ticks() {
            let y = scale.y(tick);
            out.push_str(&format!(
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{:.1}\"/><text class=\"value\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                escape(&words::significant(tick))
            ));
        }
        let every = self.marks.len().div_ceil(LABELS).max(1);
        let mut before = "";
        for (at, mark) in self.marks.iter().enumerate().step_by(every) {
            if mark.label == before {
                continue;
            }
            before = &mark.label;
            out.push_str(&format!(
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                scale.x(at).clamp(LEFT + 20.0, WIDTH - RIGHT - 34.0),
                HEIGHT - 8.0,
                escape(&head(&mark.label, 14))
            ));
        }
    }

    /// The median between two steps as a line, and the steps.
    fn levels(&self, scale: &Scale, out: &mut String) {
        let ends = self.steps.iter().map(|(at, _)| *at);
        let ends: Vec<usize> = std::iter::once(0)
            .chain(ends)
            .chain([self.marks.len()])
            .collect();
        for pair in ends.windows(2) {
            let Some(part) = self
                .marks
                .get(pair[0]..pair[1])
                .filter(|part| !part.is_empty())
            else {
                continue;
            };
            let mut values: Vec<f64> = part.iter().map(|mark| mark.value).collect();
            let y = scale.y(stats::order::median_mut(&mut values));
            out.push_str(&format!(
                "<path class=\"level\" d=\"M{:.1} {y:.1}H{:.1}\"/>",
                scale.x(pair[0]) - scale.half(),
                scale.x(pair[1] - 1) + scale.half()
            ));
        }
        for (at, worse) in self.steps {
            let x = scale.x(*at) - scale.half();
            let class = if *worse { "worse" } else { "better" };
            out.push_str(&format!(
                "<path class=\"step {class}\" d=\"M{x:.1} {TOP}V{:.1}\"/>",
                HEIGHT - BOTTOM
            ));
        }
    }

    fn buckets(&self, scale: &Scale, out: &mut String) {
        let count = self.marks.len();
        let (mut ranges, mut medians) = (String::new(), String::new());
        for bucket in 0..MOST_MARKS {
            let (from, to) = (
                bucket * count / MOST_MARKS,
                (bucket + 1) * count / MOST_MARKS,
            );
            let part = &self.marks[from..to];
            let mut values: Vec<f64> = part.iter().map(|mark| mark.value).collect();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let median = stats::order::median_mut(&mut values);
            let x = f64::midpoint(scale.x(from), scale.x(to - 1));
            ranges.push_str(&format!("M{x:.1} {:.1}V{:.1}", scale.y(low), scale.y(high)));
            medians.push_str(&format!("M{:.1} {:.1}h2", x - 1.0, scale.y(median)));
        }
        out.push_str(&format!(
            "<path class=\"whisker\" d=\"{ranges}\"/><path class=\"medians\" d=\"{medians}\"/>"
        ));
    }
}

fn draw(scale: &Scale, at: usize, mark: &Mark, out: &mut String) {
    let (x, y) = (scale.x(at), scale.y(mark.value));
    if mark.low < mark.high {
        out.push_str(&format!(
            "<path class=\"whisker\" d=\"M{x:.1} {:.1}V{:.1}\"/>",
            scale.y(mark.low),
            scale.y(mark.high)
        ));
    }
    let title = format!("{}: {}", mark.title, words::significant(mark.value));
    let dot = format!(
        "<circle class=\"sample\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"><title>{}</title></circle>",
        escape(&title)
    );
    match &mark.to {
        Some(to) => out.push_str(&format!(
            "<a href=\"{}\" aria-label=\"{}\">{dot}</a>",
            escape(to),
            escape(&title)
        )),
        None => out.push_str(&dot),
    }
}

/// From values to places.
struct Scale {
    count: usize,
    low: f64,
    high: f64,
}

impl Scale {
    /// The axis need not begin at zero: what is looked for are steps of a few percent.
    fn of(marks: &[Mark]) -> Scale {
        let finite = |value: &f64| value.is_finite();
        let ends = || {
            marks
                .iter()
                .flat_map(|mark| [mark.low, mark.high])
                .filter(finite)
        };
        let low = ends().fold(f64::INFINITY, f64::min);
        let high = ends().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = match high - low {
            0.0 => (0.05 * high.abs()).max(f64::MIN_POSITIVE),
            range => 0.06 * range,
        };
        Scale {
            count: marks.len(),
            low: low - room,
            high: high + room,
        }
    }

    /// Half of the distance between two runs.
    fn half(&self) -> f64 {
        (WIDTH - LEFT - RIGHT) / self.count.max(1) as f64 / 2.0
    }

    fn x(&self, at: usize) -> f64 {
        LEFT + (2 * at + 1) as f64 * self.half()
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        let share = if share.is_nan() {
            0.0
        } else {
            share.clamp(0.0, 1.0)
        };
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    /// Round values within the scale, at most seven.
    fn ticks(&self) -> Vec<f64> {
        let range = self.high - self.low;
        if !(range.is_finite() && range > 0.0) {
            return Vec::new();
        }
        let power = 10f64.powf((range / 5.0).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
        let step = steps.into_iter().find(|step| range / step <= 6.0);
        let step = step.unwrap_or(range);
        let first = (self.low / step).ceil();
        let ticks = (0..8).map(|n| (first + f64::from(n)) * step);
        ticks.take_while(|tick| *tick <= self.high).collect()
    }
}

fn head(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text.to_owned(),
    }
}

/// The logarithm of a ratio that a scale of intervals must reach on both sides: at least 5 %, at most a factor of two; what is
/// beyond is drawn to the edge.
pub(crate) fn reach(ratios: impl Iterator<Item = f64>) -> f64 {
    let logs = ratios
        .filter(|ratio| *ratio > 0.0)
        .map(|ratio| ratio.ln().abs());
    let largest = logs.filter(|log| log.is_finite()).fold(0.0, f64::max);
    largest.clamp(0.05, std::f64::consts::LN_2)
}

/// The interval of a ratio on a scale of logarithms, with the practical band.
pub(crate) fn interval(ratio: f64, ends: [f64; 2], band: f64, reach: f64, verdict: &str) -> String {
    const WIDE: f64 = 180.0;
    const HIGH: f64 = 18.0;
    let x = |ratio: f64| {
        let log = if ratio > 0.0 { ratio.ln() } else { -reach };
        WIDE / 2.0 * (1.0 + (log / reach).clamp(-1.0, 1.0) * 0.97)
    };
    let (low, high) = (x(1.0 / (1.0 + band)), x(1.0 + band));
    let middle = HIGH / 2.0;
    format!(
        "<svg class=\"interval\" viewBox=\"0 0 {WIDE} {HIGH}\" width=\"{WIDE}\" height=\"{HIGH}\" aria-hidden=\"true\">\
         <rect class=\"band\" x=\"{low:.1}\" y=\"0\" width=\"{:.1}\" height=\"{HIGH}\"/>\
         <path class=\"grid\" d=\"M{:.1} 0V{HIGH}\"/>\
         <path class=\"whisker {}\" d=\"M{:.1} {middle}H{:.1}\"/>\
         <circle class=\"sample {}\" cx=\"{:.1}\" cy=\"{middle}\" r=\"3\"/></svg>",
        high - low,
        x(1.0),
        escape(verdict),
        x(ends[0]),
        x(ends[1]),
        escape(verdict),
        x(ratio)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(values: &[f64]) -> Vec<Mark> {
        let mark = |value: &f64| Mark {
            label: "2026-01-01".into(),
            title: "</title><script>".into(),
            to: Some("../run/x.html".into()),
            low: value * 0.99,
            value: *value,
            high: value * 1.01,
        };
        values.iter().map(mark).collect()
    }

    fn svg(values: &[f64], steps: &[(usize, bool)]) -> String {
        Chart {
            about: "x < y".into(),
            marks: &marks(values),
            steps,
        }
        .svg()
    }

    #[test]
    fn every_run_is_a_link_and_every_step_a_line() {
        let drawn = svg(&[100.0, 101.0, 99.0, 80.0, 81.0, 79.0], &[(3, true)]);
        assert_eq!(drawn.matches("<a href=").count(), 6);
        assert_eq!(drawn.matches("class=\"whisker\"").count(), 6);
        assert_eq!(drawn.matches("class=\"level\"").count(), 2);
        assert_eq!(drawn.matches("class=\"step worse\"").count(), 1);
        assert!(
            !drawn.contains("<script>") && !drawn.contains("x < y"),
            "{drawn}"
        );
        assert!(!drawn.contains("style="), "the policy allows no style");
    }

    #[test]
    fn many_runs_are_drawn_as_buckets_and_no_extreme_is_lost() {
        let mut values = vec![100.0; 5000];
        values[2500] = 1.0;
        let drawn = svg(&values, &[]);
        assert_eq!(drawn.matches("<circle").count(), 0);
        assert!(drawn.len() < 40_000, "{} bytes", drawn.len());
        let scale = Scale::of(&marks(&values));
        assert!(drawn.contains(&format!("{:.1}V{:.1}", scale.y(1.0), scale.y(100.0))));
    }

    #[test]
    fn odd_values_are_drawn_within_the_frame() {
        for values in [
            &[0.0][..],
            &[5.0, 5.0],
            &[f64::NAN, 1.0],
            &[-1.0, 1e300],
            &[1e-300],
        ] {
            let drawn = svg(values, &[(1, false), (9, true)]);
            assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>"));
            assert!(!drawn.contains("inf"), "{drawn}");
        }
        assert_eq!(svg(&[], &[]), "");
    }

    #[test]
    fn ticks_are_round_and_few() {
        let scale = Scale {
            count: 1,
            low: 97.3,
            high: 104.9,
        };
        assert_eq!(scale.ticks(), [98.0, 100.0, 102.0, 104.0]);
        let scale = Scale {
            count: 1,
            low: 0.0,
            high: 1e12,
        };
        assert!((3..=7).contains(&scale.ticks().len()));
    }

    #[test]
    fn an_interval_beyond_the_scale_ends_at_its_edge() {
        assert!((reach([0.9, 1.0].into_iter()) - 0.105_36).abs() < 1e-4);
        assert!((reach([0.0, 50.0, f64::INFINITY].into_iter()) - 2f64.ln()).abs() < 1e-12);
        let drawn = interval(0.01, [0.0, 100.0], 0.02, 0.5, "worse");
        assert!(drawn.contains("M2.7 9H177.3"), "{drawn}");
    }
}
