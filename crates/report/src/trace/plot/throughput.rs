//! Bytes completed over time.
//!
//! One burst that the cache of a device takes can be ten times the rate of all that follows, and would press it to
//! the bottom of the plot. So the axis ends where nearly all bins do, and a triangle marks each that is above it.
//! A burst that lasts is no exception that could be cut off: then the axis is logarithmic.

use std::fmt::Write as _;

use blktrace::Analysis;

use super::axis::{Logarithmic, Upright};
use super::{BOTTOM, Drawing, HEIGHT, Plot, TOP, largest, steps, upright};

/// Lines of a direction.
const LINES: [(&str, &str); 3] = [
    ("line c0", "read"),
    ("line c1", "written"),
    ("line c4", "discarded"),
];

/// Share of the bins that are on the axis in any case.
const SHARE: f64 = 0.98;
/// The axis is cut only where the highest bin is at least this many times the end of that share.
const BURST: f64 = 3.0;

/// The axis is logarithmic where half the bins of a direction are below this share of its end.
const PRESSED: f64 = 0.05;
/// A direction with less than this share of all bytes is nearly idle: its line may be along the bottom.
const IDLE: f64 = 0.01;

/// The rates above 0, ascending.
fn positive<'a>(rates: impl IntoIterator<Item = &'a f64>) -> Vec<f64> {
    let mut all: Vec<f64> = rates
        .into_iter()
        .copied()
        .filter(|rate| *rate > 0.0)
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

/// From 0, unless a direction that moves more than a trifle would then be a line along the bottom.
fn axis(rates: &[Vec<f64>], end: f64) -> Upright {
    let sum = |way: &Vec<f64>| way.iter().sum::<f64>();
    let all: f64 = rates.iter().map(sum).sum();
    let busy = rates.iter().filter(|way| sum(way) >= IDLE * all);
    let ways = busy.map(positive).filter(|way| !way.is_empty());
    let medians = ways.map(|way| way[way.len() / 2]);
    match medians.reduce(f64::min) {
        Some(median) if median < PRESSED * end => {
            let all = positive(rates.iter().flatten());
            // A few bins with a rest of a request do not stretch the axis.
            let least = all[all.len() / 20];
            Upright::Logarithmic(Logarithmic::new(least, end, HEIGHT - BOTTOM, TOP))
        }
        _ => upright(end),
    }
}

/// Where the axis ends; the largest rate unless few bins are far above all others.
fn end(rates: &[Vec<f64>], most: f64) -> f64 {
    let all = positive(rates.iter().flatten());
    let at = ((all.len() as f64 * SHARE).ceil() as usize).saturating_sub(1);
    match all.get(at) {
        // Room above the share: a rate that is a little higher is not a burst.
        Some(share) if most > BURST * share => share * 1.25,
        _ => most,
    }
}

/// A triangle at the upper edge for each bin above the axis.
fn bursts(drawing: &mut Drawing, rates: &[Vec<f64>], end: f64, edges: &[f64]) -> usize {
    let mut marks = String::new();
    let mut count = 0;
    for at in 0..edges.len().saturating_sub(1) {
        if rates.iter().any(|rates| rates[at] > end) {
            let x = f64::midpoint(edges[at], edges[at + 1]);
            let _ = write!(marks, "M{x:.1} {:.1}l4 6h-8z", TOP - 7.0);
            count += 1;
        }
    }
    drawing.path("burst", "above the axis", &marks);
    count
}

pub(super) fn throughput(analysis: &Analysis) -> Option<Plot> {
    let timeline = &analysis.timeline;
    let bins = &timeline.bins;
    let rate = |way: usize| {
        let mib = bins
            .iter()
            .map(move |bin| bin.bytes[way] as f64 / 1_048_576.0);
        mib.map(|mib| mib / timeline.width).collect::<Vec<f64>>()
    };
    let rates = [rate(0), rate(1), rate(2)];
    let most = largest(rates.iter().flatten().copied());
    if most == 0.0 {
        return None;
    }
    let axis = axis(&rates, end(&rates, most));
    let end = axis.high();
    let logarithmic = matches!(axis, Upright::Logarithmic(_));
    let spoken = format!("Throughput over time, at most {most:.1} MiB/s");
    let mut drawing = Drawing::new(analysis.begin, analysis.seconds, &spoken);
    drawing.levels(&axis);
    let edges: Vec<f64> = (0..=bins.len())
        .map(|bin| drawing.time.at(bin as f64 * timeline.width))
        .collect();
    for ((class, name), rates) in LINES.into_iter().zip(&rates) {
        if rates.iter().any(|rate| *rate > 0.0) {
            let heights: Vec<f64> = rates.iter().map(|rate| axis.at(*rate)).collect();
            drawing.path(class, name, &steps(&edges, &heights));
        }
    }
    let above = bursts(&mut drawing, &rates, end, &edges);
    let mut note = format!("Bytes completed in each {:.0} ms.", timeline.width * 1e3);
    if logarithmic {
        note.push_str(" At the lower edge: little or nothing.");
    }
    if above > 0 {
        note.push_str(&format!(
            " The axis ends at {end:.0} MiB/s; {} of {} bins are above it, the highest has {most:.0} MiB/s.",
            above,
            bins.len()
        ));
    }
    Some(Plot {
        title: "Throughput".into(),
        unit: if logarithmic {
            "MiB/s, logarithmic"
        } else {
            "MiB/s"
        },
        svg: drawing.finish(),
        note,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::analysis;
    use super::*;
    use fixtures::block_trace::Forge;

    #[test]
    fn one_burst_does_not_flatten_the_rest() {
        let steady: Vec<f64> = (0..200).map(|i| 10.0 + f64::from(i % 7)).collect();
        let mut burst = steady.clone();
        burst[3] = 900.0;
        assert_eq!(end(&[steady], 16.0), 16.0);
        assert_eq!(end(&[burst], 900.0), 20.0);
        assert_eq!(end(&[vec![5.0]], 5.0), 5.0);
    }

    #[test]
    fn a_long_burst_makes_the_axis_logarithmic() {
        let small = |i: u32| 4.0 + f64::from(i % 5);
        let reads: Vec<f64> = (0..200).map(small).collect();
        let writes = |rate: f64| -> Vec<f64> {
            let in_burst = |i| (80..100).contains(&i);
            (0..200)
                .map(|i| if in_burst(i) { rate } else { 0.0 })
                .collect()
        };
        let rates = [reads.clone(), writes(600.0)];
        let far = axis(&rates, end(&rates, 600.0));
        assert!(matches!(far, Upright::Logarithmic(_)));
        assert!(far.high() >= 600.0, "no bin is cut off");
        // The reads are not pressed to the bottom.
        let height = far.at(0.0) - far.at(5.0);
        assert!(height > 0.1 * (HEIGHT - BOTTOM - TOP), "{height}");
        let near = axis(&[reads, writes(60.0)], 60.0);
        assert!(matches!(near, Upright::Linear(_)));
    }

    #[test]
    fn a_nearly_idle_direction_leaves_the_axis_linear() {
        let writes: Vec<f64> = (0..200).map(|i| 100.0 + f64::from(i % 7)).collect();
        let reads = |rate: f64| vec![rate; 200];
        let all = [reads(0.5), writes.clone()];
        assert!(matches!(axis(&all, 106.0), Upright::Linear(_)));
        let all = [reads(2.0), writes];
        assert!(matches!(axis(&all, 106.0), Upright::Logarithmic(_)));
    }

    #[test]
    fn a_burst_is_marked_and_its_height_is_in_the_note() {
        let mut analysis = analysis(&Forge::plain(3, 4000));
        let plain = throughput(&analysis).unwrap();
        assert!(!plain.svg.contains("burst"), "{}", plain.note);
        let bins = &mut analysis.timeline.bins;
        let most = bins.iter().map(|bin| bin.bytes[0]).max().unwrap();
        bins[1].bytes[0] = most * 50;
        let marked = throughput(&analysis).unwrap();
        assert_eq!(marked.svg.matches("class=\"burst\"").count(), 1);
        assert!(marked.note.contains("bins are above it"), "{}", marked.note);
    }
}
