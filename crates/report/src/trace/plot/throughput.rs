//! Bytes completed over time.

use blktrace::Analysis;

use super::{Drawing, Plot, largest, steps, upright};

/// Lines of a direction.
const LINES: [(&str, &str); 3] = [
    ("line c0", "read"),
    ("line c1", "written"),
    ("line c4", "discarded"),
];

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
    let axis = upright(most);
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
    Some(Plot {
        title: "Throughput".into(),
        unit: "MiB/s",
        svg: drawing.finish(),
        note: format!("Bytes completed in each {:.0} ms.", timeline.width * 1e3),
    })
}
