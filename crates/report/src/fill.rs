//! From a layout to a table with numbers: samples, summaries, published neighbours, doubts.

use std::collections::BTreeSet;

use record::{Run, TrialRecord};
use study::{Cell, Slot};

use crate::layout::{Layout, Levels, Series, Span, has};
use crate::model::{Column, Figure, Point, PublishedFigure, Row, Table, clock_name};
use crate::published::Published;
use crate::timing_tag;
use crate::units;
use crate::validity::Validity;

/// What filling needs beside the layout.
pub(crate) struct Sources<'a> {
    /// The run.
    pub run: &'a Run,
    /// What speaks against its numbers.
    pub validity: Validity,
    /// Ids of the cells that the report is about.
    pub cells: BTreeSet<u32>,
    /// Confidence level of the intervals.
    pub level: f64,
    /// The document it repeats.
    pub published: Option<&'static Published>,
}

/// The trials of these cells, in running order.
pub(crate) fn slots<'a>(
    run: &'a Run,
    cells: &BTreeSet<u32>,
) -> impl Iterator<Item = (&'a Slot, &'a TrialRecord)> + use<'a> {
    let cells = cells.clone();
    let slots = run.plan.slots.iter();
    let slots = slots.filter(move |slot| cells.contains(&slot.cell));
    slots.filter_map(|slot| Some((slot, run.trials.get(slot.trial as usize)?)))
}

impl<'a> Sources<'a> {
    /// The trials of the report's cells, in running order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (&'a Slot, &'a TrialRecord)> {
        slots(self.run, &self.cells)
    }

    /// Fills one table; problems that a reader must know are added to `notes`.
    pub(crate) fn table(&self, layout: &Layout, base: usize, notes: &mut Vec<String>) -> Table {
        let columns: Vec<Column> = layout
            .columns
            .iter()
            .map(|span| Column {
                name: span.name.clone(),
                path: span.path.clone(),
                fixed: fixed(span),
                published: span.published.as_ref().map(|(column, _)| column.clone()),
            })
            .collect();
        let mut rows = Vec::new();
        for span in &layout.rows {
            let row = self.row(layout, span, notes);
            rows.push(row);
        }
        let mut table = Table {
            title: layout.title.clone(),
            subtitle: self.subtitle(layout),
            columns,
            rows,
            base,
            family: 0,
        };
        published_ratios(&mut table);
        table
    }

    /// Emulated times are marked on every table.
    fn subtitle(&self, layout: &Layout) -> String {
        let marked = timing_tag::of(self.run);
        [Some(layout.subtitle.clone()), marked]
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }

    fn row(&self, layout: &Layout, span: &Span, notes: &mut Vec<String>) -> Row {
        let common = span.series.as_ref().or(layout.series.as_ref());
        let unit = self.unit(layout, span, common, notes);
        let figures = layout
            .columns
            .iter()
            .map(|column| {
                let series = common.or(column.series.as_ref());
                self.figure(layout, span, column, series, &unit, notes)
            })
            .collect();
        Row {
            label: span.name.clone(),
            phase: common.map(|s| s.phase.clone()),
            metric: common.map(|s| s.metric.clone()),
            clock: clock(layout, common),
            unit,
            fixed: fixed(span),
            figures,
        }
    }

    /// The unit a row prints: the study's when the samples can be shown in it.
    fn unit(
        &self,
        layout: &Layout,
        row: &Span,
        series: Option<&Series>,
        notes: &mut Vec<String>,
    ) -> String {
        let series = series.or_else(|| layout.columns.iter().find_map(|c| c.series.as_ref()));
        let Some(series) = series else {
            return String::new();
        };
        self.shown_unit(series, &format!("{}, {}", layout.title, row.name), notes)
    }

    /// The unit that a series' samples can be shown in: its own, else the usual one for the stored.
    pub(crate) fn shown_unit(
        &self,
        series: &Series,
        place: &str,
        notes: &mut Vec<String>,
    ) -> String {
        let stored = self
            .run
            .trials
            .iter()
            .flat_map(|t| &t.samples)
            .find(|s| {
                s.phase == series.phase && s.metric == series.metric && s.clock == series.clock
            })
            .map(|s| s.unit.as_str());
        match (&series.unit, stored) {
            (Some(unit), Some(stored)) if units::factor(stored, unit).is_none() => {
                notes.push(format!(
                    "{place}: samples are in {stored}, which is not printed as {unit}; shown as {}",
                    units::usual(stored)
                ));
                units::usual(stored).to_owned()
            }
            (Some(unit), _) => unit.clone(),
            (None, Some(stored)) => units::usual(stored).to_owned(),
            (None, None) => String::new(),
        }
    }

    fn figure(
        &self,
        layout: &Layout,
        row: &Span,
        column: &Span,
        series: Option<&Series>,
        unit: &str,
        notes: &mut Vec<String>,
    ) -> Figure {
        let mut levels = layout.common.clone();
        levels.extend(row.levels.clone());
        levels.extend(column.levels.clone());
        let mut cells = self.run.plan.cells.iter().filter(|c| has(c, &levels));
        let (Some(cell), Some(series)) = (cells.next(), series) else {
            return Figure::default();
        };
        if cells.next().is_some() {
            // Values of different cells are never pooled, and none may answer for another.
            let place = [&layout.title, &row.name, &column.name].map(String::as_str);
            notes.push(format!(
                "{}: more than one cell; narrow it with --filter",
                place.join(", ")
            ));
            return Figure::default();
        }
        let points = self.points(cell, series, unit);
        let summary = self.summary(&points).unwrap_or_else(|error| {
            let place = [&layout.title, &row.name, &column.name].map(String::as_str);
            notes.push(format!("{}: {error}", place.join(", ")));
            None
        });
        let published =
            self.published
                .zip(column.published.as_ref())
                .and_then(|(document, (name, table))| {
                    let record = document.find(table, series.published.as_deref()?, name)?;
                    Some(PublishedFigure {
                        value: record.value?,
                        stddev: record.stddev,
                        n: record.n_runs,
                        ratio: None,
                        ratio_of_ratios: None,
                    })
                });
        Figure {
            cell: Some(cell.id),
            marks: self
                .validity
                .marks(cell.id, Some(&series.phase), &series.metric),
            points,
            summary,
            versus: None,
            published,
        }
    }

    /// None without samples; an error for samples that cannot be summarised.
    pub(crate) fn summary(&self, points: &[Point]) -> Result<Option<stats::Summary>, stats::Error> {
        if points.is_empty() {
            return Ok(None);
        }
        let values: Vec<f64> = points.iter().map(|p| p.value).collect();
        stats::summary::summarize_at(&values, self.level).map(Some)
    }

    /// The samples of one cell and series from finished trials, in block order.
    pub(crate) fn points(&self, cell: &Cell, series: &Series, unit: &str) -> Vec<Point> {
        self.run
            .finished(cell.id)
            .into_iter()
            .flat_map(|(slot, trial)| {
                trial
                    .samples
                    .iter()
                    .filter(|s| {
                        s.phase == series.phase
                            && s.metric == series.metric
                            && s.clock == series.clock
                    })
                    .filter_map(move |s| {
                        Some(Point {
                            trial: slot.trial,
                            block: slot.block,
                            value: s.value * units::factor(&s.unit, unit)?,
                        })
                    })
            })
            .collect()
    }
}

/// The clock of a row: its own, or the one that all columns share.
fn clock(layout: &Layout, common: Option<&Series>) -> Option<study::Clock> {
    if let Some(series) = common {
        return Some(series.clock);
    }
    let mut clocks = layout
        .columns
        .iter()
        .filter_map(|c| c.series.as_ref())
        .map(|s| s.clock);
    let first = clocks.next()?;
    clocks.all(|c| c == first).then_some(first)
}

/// What a span fixes, its phase, metric and clock included.
fn fixed(span: &Span) -> Levels {
    let mut levels = span.levels.clone();
    if let Some(series) = &span.series {
        levels.insert("phase".to_owned(), series.phase.clone());
        levels.insert("metric".to_owned(), series.metric.clone());
        levels.insert("clock".to_owned(), clock_name(series.clock).to_owned());
    }
    levels
}

/// Ratios to the base column, theirs and theirs against ours: hardware differs, shapes compare.
fn published_ratios(table: &mut Table) {
    let base = table.base;
    for row in &mut table.rows {
        let Some(anchor) = row.figures.get(base).cloned() else {
            continue;
        };
        let theirs_base = anchor.published.map(|p| p.value);
        let ours_base = anchor.mean();
        for (index, figure) in row.figures.iter_mut().enumerate() {
            let ours = figure.mean();
            let Some(published) = figure.published.as_mut().filter(|_| index != base) else {
                continue;
            };
            published.ratio = theirs_base
                .filter(|b| *b != 0.0)
                .map(|b| published.value / b);
            let our_ratio = ours
                .zip(ours_base.filter(|b| *b != 0.0))
                .map(|(ours, base)| ours / base);
            published.ratio_of_ratios = our_ratio
                .zip(published.ratio.filter(|r| *r != 0.0))
                .map(|(ours, theirs)| ours / theirs);
        }
    }
}
