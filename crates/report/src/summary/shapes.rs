//! Whether the shapes that were published were found again.

use serde::Serialize;

use crate::fill::Sources;
use crate::model::{Difference, Table};

/// Whether the shapes of the study that is repeated were found again.
#[derive(Clone, Debug, Serialize)]
pub struct Shapes {
    /// The document, shortly.
    pub document: String,
    /// Ratios that were published and measured.
    pub ratios: usize,
    /// Of these in the same direction, or within the band in both.
    pub again: usize,
    /// Not decided here.
    pub undecided: usize,
    /// Those in another direction, with both ratios.
    pub otherwise: Vec<String>,
}

/// Whether the published ratios were found again, by their direction.
pub(super) fn shapes(sources: &Sources<'_>, tables: &[Table]) -> Option<Shapes> {
    let band = sources.run.plan.band;
    let mut found = Shapes {
        document: sources.published?.document.short(),
        ratios: 0,
        again: 0,
        undecided: 0,
        otherwise: Vec::new(),
    };
    for table in tables {
        for row in &table.rows {
            for (column, figure) in table.columns.iter().zip(&row.figures) {
                let theirs = figure.published.and_then(|p| p.ratio);
                let (Some(theirs), Some(ours)) = (theirs, &figure.versus) else {
                    continue;
                };
                found.ratios += 1;
                let direction = |ratio: f64| match ratio {
                    r if r > 1.0 + band => 1,
                    r if r < 1.0 - band => -1,
                    _ => 0,
                };
                let established = match ours.difference {
                    Difference::Unclear => None,
                    Difference::Same => Some(0),
                    _ => Some(direction(ours.ratio)),
                };
                match established {
                    None => found.undecided += 1,
                    Some(way) if way == direction(theirs) => found.again += 1,
                    Some(_) => found.otherwise.push(format!(
                        "{} {} against {} ({}): theirs {}, ours {}",
                        row.label,
                        column.name,
                        table.base_name(),
                        table.title,
                        crate::numbers::brief_ratio(theirs),
                        crate::numbers::brief_ratio(ours.ratio)
                    )),
                }
            }
        }
    }
    (found.ratios > 0).then_some(found)
}
