//! One axis for plots that are compared by eye.
//!
//! A study with a factor that its tables leave open has one table for each of its levels, under one title. Bars of
//! the same row must then have the same length for the same value. The rows of a grid are sizes or kernels of one
//! measurement, so its plots share an axis too, unless the smallest would be too short to be read.

use std::collections::BTreeMap;

use study::Clock;

use super::plot;
use crate::doc::{Block, Drawing, Plot, Section};

/// What plots of one axis have in common: title, row, unit and clock.
type Key = (String, String, String, Option<Clock>);

/// Largest ratio between the axes of a grid's plots that are made one: bars of a twentieth can still be compared.
const SPREAD: f64 = 20.0;

/// Gives plots that are compared the same end of their axes.
pub(super) fn share(sections: &mut [Section<'_>]) {
    rows(sections);
    sections.iter_mut().for_each(grid);
}

/// Plots of a grid's rows, by unit and clock.
fn grid(section: &mut Section<'_>) {
    let key = |plot: &Plot<'_>| (plot.unit.clone(), plot.clock);
    let mut ends: BTreeMap<(String, &str), (f64, f64)> = BTreeMap::new();
    each(&section.blocks, &mut |plot| {
        if matches!(plot.drawing, Drawing::Places(_)) {
            let (least, most) = ends.entry(key(plot)).or_insert((f64::MAX, 0.0));
            *least = least.min(plot.reach);
            *most = most.max(plot.reach);
        }
    });
    each_mut(&mut section.blocks, &mut |plot| {
        let shared = ends.get(&key(plot));
        let shared = shared.filter(|(least, most)| *most <= SPREAD * least);
        if let (Some((_, most)), Drawing::Places(_)) = (shared, &plot.drawing) {
            plot.reach = *most;
        }
    });
}

/// Plots of the same row under one title.
fn rows(sections: &mut [Section<'_>]) {
    let mut ends: BTreeMap<Key, f64> = BTreeMap::new();
    for section in sections.iter() {
        let title = section.title.clone();
        each(&section.blocks, &mut |plot| {
            if let Some((key, largest)) = of(&title, plot) {
                let end = ends.entry(key).or_insert(0.0);
                *end = end.max(largest);
            }
        });
    }
    for section in sections {
        let title = section.title.clone();
        each_mut(&mut section.blocks, &mut |plot| {
            let found = of(&title, plot).and_then(|(key, _)| ends.get(&key));
            plot.reach = found.copied().unwrap_or(0.0);
        });
    }
}

fn of(title: &str, plot: &Plot<'_>) -> Option<(Key, f64)> {
    let (table, row) = match &plot.drawing {
        Drawing::Row(table, row) => (*table, *row),
        Drawing::Places(places) => (&places.0, &places.1),
        Drawing::Law(..) | Drawing::Histogram { .. } => return None,
    };
    let key = (
        title.to_owned(),
        plot.label.clone(),
        plot.unit.clone(),
        row.clock,
    );
    Some((key, plot::largest(table, row)))
}

fn each(blocks: &[Block<'_>], act: &mut dyn FnMut(&Plot<'_>)) {
    for block in blocks {
        match block {
            Block::Plots(plots) => plots.iter().for_each(&mut *act),
            Block::Beside(plot, blocks) => {
                act(plot);
                each(blocks, act);
            }
            Block::Details(details) => each(&details.blocks, act),
            Block::Either { full, .. } => each(full, act),
            _ => {}
        }
    }
}

fn each_mut(blocks: &mut [Block<'_>], act: &mut dyn FnMut(&mut Plot<'_>)) {
    for block in blocks {
        match block {
            Block::Plots(plots) => plots.iter_mut().for_each(&mut *act),
            Block::Beside(plot, blocks) => {
                act(plot);
                each_mut(blocks, act);
            }
            Block::Details(details) => each_mut(&mut details.blocks, act),
            Block::Either { full, .. } => each_mut(full, act),
            _ => {}
        }
    }
}
