//! A report: everything that a format may print, computed once.

use std::collections::BTreeSet;
use std::path::Path;

use record::{Run, TrialRecord};
use study::{Cell, Slot};

use crate::block_io::{self, BlockIo, Cost};
use crate::error::{Error, Result};
use crate::estimate::{self, Estimates};
use crate::facts::{self, Fact};
use crate::file_layout::{self, FileLayouts};
use crate::fill::{self, Sources};
use crate::grid::{self, Grid};
use crate::growth::{self, Growth};
use crate::latency::{self, Latencies};
use crate::layout::Layout;
use crate::members::{self, Shares};
use crate::model::{Figure, Table};
use crate::modelled::{self, Modelled};
use crate::options::Options;
use crate::original::{self, Original};
use crate::pivot::Layouts;
use crate::pressure::{self, Memory};
use crate::published::Published;
use crate::scan::{self, Scan};
use crate::summary::{self, Summary};
use crate::transcript::{self, Transcript};
use crate::validity::Validity;
use crate::variants::{self, Variant};
use crate::why::{self, Why};
use crate::{compare, pivot, select, timing_tag};

/// Everything that a format may print.
#[derive(Debug)]
pub struct Report<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its folder, from which telemetry is read.
    pub dir: Option<&'a Path>,
    /// The options it was made with.
    pub options: &'a Options,
    /// Facts about the machine.
    pub machine: Vec<Fact>,
    /// The filesystems as they were made and mounted.
    pub variants: Vec<Variant>,
    /// The tables.
    pub tables: Vec<Table>,
    /// The same figures with the factors that no table compares as columns.
    pub crossed: Vec<Table>,
    /// The grids.
    pub grids: Vec<Grid>,
    /// How figures grow with the number of files.
    pub growths: Vec<Growth>,
    /// Whether memory was short.
    pub memory: Option<Memory>,
    /// How a checker read.
    pub scan: Option<Scan>,
    /// Extents and gaps of the files that the phases left.
    pub file_layout: Option<FileLayouts<'a>>,
    /// Figures of the block traces.
    pub block_io: Option<BlockIo<'a>>,
    /// What tracing cost.
    pub cost: Option<Cost>,
    /// How long the operations of each phase took.
    pub(crate) latency: Option<Latencies>,
    /// How phases were shared among the members of a device.
    pub(crate) members: Option<Shares>,
    /// The runs as the message of 2010 lists them.
    pub transcript: Option<Transcript<'a>>,
    /// The runs of ranks as IOR and mdtest print them.
    pub(crate) original: Option<Original>,
    /// Causes of the differences that count.
    pub why: Option<Why>,
    /// The answer in sentences; none for a pivot and for one table.
    pub summary: Option<Summary>,
    /// What speaks against the numbers.
    pub validity: Validity,
    /// Problems met while the report was made.
    pub notes: Vec<String>,
    /// The document that the study repeats.
    pub published: Option<&'static Published>,
    /// How long its checks would take on modelled devices.
    pub(crate) estimates: Option<Estimates>,
    /// What models of its hardware give for its numbers.
    pub(crate) modelled: Option<Modelled>,
    /// `times emulated (User-mode Linux)`; none where times are of hardware.
    pub(crate) timing: Option<String>,
    /// Ids of the cells that the report is about.
    cells: BTreeSet<u32>,
}

impl<'a> Report<'a> {
    /// Computes the report.
    ///
    /// # Errors
    /// A name in the options that the run does not have, or options that leave nothing.
    pub fn new(run: &'a Run, dir: Option<&'a Path>, options: &'a Options) -> Result<Report<'a>> {
        let layouts = pivot::layouts(run, options)?;
        let cells = select::cells(run, options, &layouts.tables)?;
        let sources = Sources {
            run,
            validity: Validity::of(run, &cells),
            cells,
            level: options.level,
            published: facts::repeated(run),
        };
        let mut notes = Vec::new();
        let (tables, crossed) = tables(&sources, options, &layouts, &mut notes)?;
        let grids = grid::grids(&sources, options, &mut notes)?;
        let growths = growth::growths(&sources, options, &mut notes)?;
        let shown: Vec<&Cell> = run
            .plan
            .cells
            .iter()
            .filter(|c| sources.cells.contains(&c.id))
            .collect();
        let memory = pressure::of(&sources, options, &shown, &mut notes);
        let scan = scan::of(&sources, options, &shown, &mut notes);
        // A pivot, or one table, is another question; CSV has numbers only, and telemetry takes time.
        let whole = !options.is_pivot() && options.table.is_none();
        let causes = whole && !options.format.is_csv();
        let cost = whole.then(|| block_io::cost_of(&sources, options, &shown, &mut notes));
        notes.extend(run.repeat_notes());
        notes.dedup();
        let why = causes
            .then(|| why::of(run, dir, options, &mut notes))
            .flatten();
        let parts = summary::Parts {
            tables: &tables,
            growths: &growths,
            memory: memory.as_ref(),
            scan: scan.as_ref(),
            why: why.as_ref(),
        };
        let summary = causes.then(|| summary::of(&sources, options, &parts));
        let estimates = whole.then(|| estimate::of(&sources, &grids)).flatten();
        Ok(Report {
            machine: facts::machine(run),
            variants: variants::of(run),
            tables,
            crossed,
            grids,
            growths,
            memory,
            scan,
            file_layout: whole.then(|| file_layout::of(&sources)).flatten(),
            block_io: whole.then(|| block_io::of(&sources)).flatten(),
            cost: cost.flatten(),
            latency: whole.then(|| latency::of(&sources)).flatten(),
            members: members::of(&sources),
            transcript: whole.then(|| transcript::of(&sources)).flatten(),
            original: whole.then(|| original::of(&sources)).flatten(),
            estimates,
            why,
            summary,
            notes,
            modelled: whole
                .then(|| modelled::of(run, sources.published))
                .flatten(),
            published: sources.published,
            timing: timing_tag::of(run),
            validity: sources.validity,
            cells: sources.cells,
            run,
            dir,
            options,
        })
    }

    /// The trials of the report's cells, in running order.
    pub fn slots(&self) -> impl Iterator<Item = (&'a Slot, &'a TrialRecord)> {
        fill::slots(self.run, &self.cells)
    }

    /// Every figure of its tables, grids and laws.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let of_grids = self.grids.iter().flat_map(Grid::figures);
        let of_growths = self.growths.iter().flat_map(Growth::figures);
        let of_tables = self.tables.iter().flat_map(Table::figures);
        of_tables.chain(of_grids).chain(of_growths)
    }

    /// Whether the report is about this cell.
    pub(crate) fn has_cell(&self, id: u32) -> bool {
        self.cells.contains(&id)
    }

    /// Names of all factors, in the study's order.
    pub fn factors(&self) -> Vec<String> {
        select::factors(&self.run.plan)
    }

    /// The study's title; with what must be known of the times, where they are not of hardware.
    pub(crate) fn title(&self) -> String {
        let title = &self.run.plan.title;
        match &self.timing {
            Some(timing) => format!("{title} [{timing}]"),
            None => title.clone(),
        }
    }

    /// A cell with all its levels.
    pub(crate) fn cell_label(&self, id: u32) -> String {
        let cell = self.run.plan.cells.get(id as usize);
        cell.map_or_else(|| format!("cell {id}"), Cell::label)
    }
}

/// The tables, their columns compared with the base, and those by the factors that no table compares.
fn tables(
    sources: &Sources<'_>,
    options: &Options,
    layouts: &Layouts,
    notes: &mut Vec<String>,
) -> Result<(Vec<Table>, Vec<Table>)> {
    let mut filled = |layouts: &[Layout]| -> Vec<Table> {
        let tables = layouts.iter().map(|layout| {
            let base = layout
                .columns
                .iter()
                .position(|c| Some(&c.name) == options.base.as_ref());
            sources.table(layout, base.unwrap_or(0), notes)
        });
        tables.collect()
    };
    let (mut tables, mut crossed) = (filled(&layouts.tables), filled(&layouts.crossed));
    check_base(options, tables.iter().chain(&crossed))?;
    compare::tables(&sources.run.plan, options, &mut tables, notes);
    compare::tables(&sources.run.plan, options, &mut crossed, notes);
    Ok((tables, crossed))
}

/// A base that no table has is a mistake; one that some lack is not.
fn check_base<'t>(options: &Options, tables: impl Iterator<Item = &'t Table>) -> Result<()> {
    let columns = tables.flat_map(|t| &t.columns);
    let names: BTreeSet<&str> = columns.map(|c| c.name.as_str()).collect();
    match &options.base {
        Some(base) if !names.contains(base.as_str()) => {
            Err(Error::Unknown(explain::Error::Unknown {
                option: "--base",
                name: base.clone(),
                what: "column",
                allowed: names.into_iter().map(String::from).collect(),
            }))
        }
        _ => Ok(()),
    }
}
