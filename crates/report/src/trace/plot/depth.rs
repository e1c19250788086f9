//! Requests at the drivers over time.

use blktrace::Analysis;

use super::{Drawing, Plot, largest, steps, upright};

pub(super) fn depth(analysis: &Analysis) -> Option<Plot> {
    let timeline = &analysis.timeline;
    let bins = &timeline.bins;
    let most = largest(bins.iter().map(|bin| f64::from(bin.deepest)));
    if most == 0.0 {
        return None;
    }
    let axis = upright(most);
    let spoken = format!(
        "Requests in flight over time: {:.1} on average, {most:.0} at most",
        analysis.depth.mean
    );
    let mut drawing = Drawing::new(analysis.begin, analysis.seconds, &spoken);
    drawing.levels(&axis);
    let edges: Vec<f64> = (0..=bins.len())
        .map(|bin| drawing.time.at(bin as f64 * timeline.width))
        .collect();
    let deepest: Vec<f64> = bins
        .iter()
        .map(|bin| axis.at(f64::from(bin.deepest)))
        .collect();
    drawing.path("line faint", "most", &steps(&edges, &deepest));
    let mean: Vec<f64> = bins.iter().map(|bin| axis.at(bin.depth)).collect();
    drawing.path("line c0", "mean", &steps(&edges, &mean));
    Some(Plot {
        title: "Queue depth".into(),
        unit: "requests",
        svg: drawing.finish(),
        note: format!(
            "Issued and not completed, in each {:.0} ms.",
            timeline.width * 1e3
        ),
    })
}
