//! The values as the laws see them: logarithms about the centre, grouped by size.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{LEAST_SIZES, Point};
use crate::error::{Error, check_positive};

/// Sizes this near to each other (as a ratio) are one.
const ONE_SIZE: f64 = 1.05;

/// The values measured at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Geometric mean of their x.
    pub x: f64,
    /// Their y, as given.
    pub values: Vec<f64>,
}

/// ln x and ln y, ascending by x.
#[derive(Debug, Clone)]
pub(super) struct Data {
    /// ln x less `centre`.
    pub(super) u: Vec<f64>,
    /// ln y.
    pub(super) z: Vec<f64>,
    /// Mean of ln x.
    pub(super) centre: f64,
    /// Places of each size in `u` and `z`.
    pub(super) groups: Vec<Range<usize>>,
    pub(super) sizes: Vec<Size>,
}

impl Data {
    pub(super) fn new(points: &[Point]) -> Result<Data, Error> {
        let coordinate = |of: fn(&Point) -> f64| points.iter().map(of).collect::<Vec<f64>>();
        check_positive(&coordinate(|p| p.x))?;
        check_positive(&coordinate(|p| p.y))?;
        let mut points = points.to_vec();
        // Stable: the values of one size keep the order of the runs.
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let groups = groups(&points);
        if groups.len() < LEAST_SIZES {
            return Err(Error::FewSizes {
                need: LEAST_SIZES,
                have: groups.len(),
            });
        }
        let logs: Vec<f64> = points.iter().map(|p| p.x.ln()).collect();
        let centre = logs.iter().sum::<f64>() / logs.len() as f64;
        let sizes = groups.iter().map(|group| {
            let mean = logs[group.clone()].iter().sum::<f64>() / group.len() as f64;
            Size {
                x: mean.exp(),
                values: points[group.clone()].iter().map(|p| p.y).collect(),
            }
        });
        Ok(Data {
            sizes: sizes.collect(),
            u: logs.iter().map(|u| u - centre).collect(),
            z: points.iter().map(|p| p.y.ln()).collect(),
            centre,
            groups,
        })
    }
}

/// Runs of neighbours that are one size.
fn groups(sorted: &[Point]) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut from = 0;
    for at in 1..=sorted.len() {
        if at == sorted.len() || sorted[at].x > sorted[at - 1].x * ONE_SIZE {
            groups.push(from..at);
            from = at;
        }
    }
    groups
}
