//! Where requests lay over time: sequential streams are slopes, seeks are what lies beside them.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use blktrace::analysis::{Direction, Kind, Point};

use super::axis::{Linear, Upright};
use super::{BOTTOM, DEVICES, Drawing, HEIGHT, Plot, TOP};
use crate::trace::Subject;

/// Colours by what a request carried; data by direction.
const CLASSES: [(&str, &str); 5] = [
    ("mark c0", "read"),
    ("mark c1", "write"),
    ("mark c2", "metadata"),
    ("mark c3", "journal"),
    ("mark c4", "discard"),
];

fn class(point: &Point) -> usize {
    match (point.kind, point.direction) {
        (Kind::Metadata, _) => 2,
        (Kind::Journal, _) => 3,
        (Kind::Data, Direction::Read) => 0,
        (Kind::Data, Direction::Write) => 1,
        (Kind::Data, Direction::Discard) => 4,
    }
}

/// The sector after the last; a damaged record can have any.
fn end(point: &Point) -> u64 {
    point.sector.saturating_add(u64::from(point.sectors))
}

/// A plot for each device, those with the most requests.
pub(super) fn scatters(subject: &Subject<'_>) -> Vec<Plot> {
    let mut devices: BTreeMap<u32, Vec<&Point>> = BTreeMap::new();
    for point in &subject.analysis.scatter.points {
        let asked = subject.devices;
        if asked.is_empty() || asked.contains(&point.device) {
            devices.entry(point.device).or_default().push(point);
        }
    }
    let mut devices: Vec<_> = devices.into_iter().collect();
    devices.sort_by_key(|(_, points)| std::cmp::Reverse(points.len()));
    devices.truncate(DEVICES);
    devices
        .iter()
        .map(|(device, points)| scatter(subject, *device, points))
        .collect()
}

/// The unit of addresses: GiB where a device is larger than some of them.
fn unit(range: f64) -> (&'static str, f64) {
    let sectors = [("GiB", 2_097_152.0), ("MiB", 2048.0)];
    let found = sectors.into_iter().find(|(_, size)| range >= 4.0 * size);
    found.unwrap_or(("KiB", 2.0))
}

fn scatter(subject: &Subject<'_>, device: u32, points: &[&Point]) -> Plot {
    let analysis = subject.analysis;
    let ends = points.iter().map(|p| (p.sector, end(p)));
    let low = ends.clone().map(|(from, _)| from).min().unwrap_or(0);
    let high = ends.map(|(_, to)| to).max().unwrap_or(1);
    let (unit, size) = unit((high - low) as f64);
    let axis = Linear::new(low as f64 / size, high as f64 / size, HEIGHT - BOTTOM, TOP);
    let axis = Upright::Linear(axis);
    let name = subject.name(device);
    let spoken = format!(
        "Block addresses of {} requests of {name} over time",
        points.len()
    );
    let mut drawing = Drawing::new(analysis.begin, analysis.seconds, &spoken);
    drawing.levels(&axis);
    for (number, (style, label)) in CLASSES.into_iter().enumerate() {
        let mut seen = HashSet::new();
        let mut data = String::new();
        for point in points.iter().filter(|point| class(point) == number) {
            let x = drawing.time.at(point.seconds);
            let begin = axis.at(point.sector as f64 / size);
            let top = axis.at(end(point) as f64 / size);
            // Points that fall upon each other are drawn once.
            let place = ((x * 4.0) as i32, (begin * 4.0) as i32, (top * 4.0) as i32);
            if seen.insert(place) {
                let _ = write!(data, "M{x:.1} {begin:.1}v{:.1}", (top - begin).min(0.0));
            }
        }
        drawing.path(style, label, &data);
    }
    let every = analysis.scatter.every;
    Plot {
        title: format!("Block address over time, {name}"),
        unit,
        svg: drawing.finish(),
        note: match every {
            0 | 1 => "Every request as it was issued.".into(),
            n => format!("One of {n} requests, as issued."),
        },
    }
}
