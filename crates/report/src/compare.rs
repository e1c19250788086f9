//! Ratios to the base column, and which of them count.
//!
//! How two figures are compared is in [`::compare::pair`]. One table is one family: its
//! p-values are corrected together.

use stats::{Comparison, Verdict};
use study::Plan;

use crate::model::{Difference, Figure, Table, Versus};
use crate::options::Options;
use crate::units;

/// Compares every column of every table with the table's base.
pub(crate) fn tables(
    plan: &Plan,
    options: &Options,
    tables: &mut [Table],
    notes: &mut Vec<String>,
) {
    for table in tables {
        let mut places = Vec::new();
        let mut comparisons = Vec::new();
        for (r, row) in table.rows.iter().enumerate() {
            let Some(base) = row.figures.get(table.base) else {
                continue;
            };
            for (c, figure) in row
                .figures
                .iter()
                .enumerate()
                .filter(|(c, _)| *c != table.base)
            {
                match one(plan, options, &row.unit, base, figure) {
                    Ok(comparison) => {
                        places.push((r, c));
                        comparisons.push(comparison);
                    }
                    // No values, or too few for more than a bare ratio, which follows below.
                    Err(stats::Error::Empty | stats::Error::TooFew { .. }) => {}
                    Err(error) => notes.push(format!(
                        "{}, {}, {}: not compared: {error}",
                        table.title, row.label, table.columns[c].name
                    )),
                }
            }
        }
        if let Err(error) = stats::family(&mut comparisons, plan.band) {
            notes.push(format!("{}: not corrected: {error}", table.title));
        }
        table.family = comparisons.len();
        for ((r, c), comparison) in places.into_iter().zip(&comparisons) {
            let row = &mut table.rows[r];
            let directed = units::higher_is_better(&row.unit).is_some();
            row.figures[c].versus = Some(versus(comparison, directed));
        }
        bare_ratios(table);
    }
}

/// Ratios of medians without interval or verdict, where there are too few values for a test.
fn bare_ratios(table: &mut Table) {
    let base_at = table.base;
    for row in &mut table.rows {
        let median = |f: &Figure| f.summary.as_ref().map(|s| s.median).filter(|m| *m > 0.0);
        let Some(base) = row.figures.get(base_at).and_then(median) else {
            continue;
        };
        for (c, figure) in row.figures.iter_mut().enumerate() {
            if c == base_at || figure.versus.is_some() {
                continue;
            }
            figure.versus = median(figure).map(|other| Versus {
                ratio: other / base,
                interval: None,
                p: None,
                p_adjusted: None,
                difference: Difference::Unclear,
                by_correction: false,
                method: "ratio of medians".to_owned(),
                warnings: Vec::new(),
            });
        }
    }
}

/// Compares two figures as [`::compare::pair`] does, so that what a table marks as different is what
/// gets explained.
pub(crate) fn one(
    plan: &Plan,
    options: &Options,
    unit: &str,
    base: &Figure,
    other: &Figure,
) -> Result<Comparison, stats::Error> {
    let by_block = |figure: &Figure| -> Vec<(u32, f64)> {
        figure.points.iter().map(|p| (p.block, p.value)).collect()
    };
    ::compare::pair::cells(plan, options.level, unit, &by_block(base), &by_block(other))
}

/// Whether the interval is clear of 1 and the comparison's p is not small enough for its family.
pub(crate) fn is_taken_by_correction(comparison: &Comparison) -> bool {
    let alpha = 1.0 - comparison.interval.level;
    let decided = matches!(comparison.verdict, Verdict::Better | Verdict::Worse);
    !decided && comparison.p <= alpha && comparison.adjusted_p > alpha
}

pub(crate) fn versus(comparison: &Comparison, directed: bool) -> Versus {
    let difference = match (comparison.verdict, directed) {
        (Verdict::Better, true) => Difference::Better,
        (Verdict::Worse, true) => Difference::Worse,
        (Verdict::Better, false) => Difference::Higher,
        (Verdict::Worse, false) => Difference::Lower,
        (Verdict::Same, _) => Difference::Same,
        (Verdict::Unclear, _) => Difference::Unclear,
    };
    Versus {
        ratio: comparison.ratio,
        interval: Some((comparison.interval.low, comparison.interval.high)),
        p: Some(comparison.p),
        p_adjusted: Some(comparison.adjusted_p),
        difference,
        by_correction: is_taken_by_correction(comparison),
        method: comparison.method.to_string(),
        warnings: comparison
            .warnings
            .iter()
            // Printed beside the number.
            .filter(|w| !matches!(w, stats::Warning::FewValues { .. }))
            .map(ToString::to_string)
            .collect(),
    }
}
