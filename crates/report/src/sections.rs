//! The sections of a report, in the order in which a reader asks: what was measured, what differs and
//! why, then what shows that the numbers are valid.

mod block_io;
pub(crate) mod crash;
mod estimate;
mod evidence;
mod file_layout;
mod grid;
mod grid_plots;
mod growth;
mod latency;
mod members;
mod memory;
mod modelled;
mod original;
mod reference;
mod run;
mod scan;
mod summary;
mod tables;
mod transcript;
mod why;

pub(crate) use grid::published_notes;
pub(crate) use summary::{LAWS, MODELLED, WITH_SYNC};

use crate::Report;
use crate::doc::Section;

/// The answer: sentences, then all effects as one matrix.
pub(crate) fn answer<'a>(report: &'a Report<'_>) -> Vec<Section<'a>> {
    let Some(found) = &report.summary else {
        return Vec::new();
    };
    let mut sections = vec![summary::section(report, found)];
    sections.extend(summary::matrix(report, found));
    tagged(report, sections)
}

/// What was measured, but for the study's tables.
pub(crate) fn measured<'a>(report: &'a Report<'_>) -> Vec<Section<'a>> {
    let mut sections = Vec::new();
    sections.extend(reference::section(report));
    sections.extend(report.scan.iter().flat_map(scan::sections));
    let grids = report.grids.iter().enumerate();
    sections.extend(grids.flat_map(|(at, grid)| grid::sections(at + 1, grid)));
    let growths = report.growths.iter().enumerate();
    sections.extend(growths.map(|(at, growth)| growth::section(at + 1, growth)));
    sections.extend(report.memory.as_ref().map(memory::section));
    sections.extend(crash::section(report));
    sections.extend(report.transcript.as_ref().map(transcript::section));
    sections.extend(report.original.as_ref().map(original::section));
    tagged(report, sections)
}

/// The study's tables, and those by the factors that they do not compare.
pub(crate) fn tables<'a>(report: &'a Report<'_>) -> Vec<Section<'a>> {
    let own = report.tables.iter().enumerate();
    let own = own.map(|(at, table)| tables::section(report, at + 1, table));
    let crossed = report.crossed.iter().enumerate();
    let crossed = crossed.map(|(at, table)| tables::crossed(report, at + 1, table));
    tagged(report, own.chain(crossed).collect())
}

/// Beyond the numbers: what checks would take elsewhere; why the numbers are as they are: causes, disks, files, requests.
pub(crate) fn causes<'a>(report: &'a Report<'_>) -> Vec<Section<'a>> {
    let mut sections = Vec::new();
    let estimates = report.estimates.as_ref();
    sections.extend(estimates.map(|found| estimate::section(report, found)));
    sections.extend(report.why.as_ref().map(why::section));
    sections.extend(report.latency.as_ref().map(latency::section));
    sections.extend(report.members.as_ref().map(members::section));
    sections.extend(report.file_layout.as_ref().map(file_layout::section));
    if let Some(found) = &report.block_io {
        let cost = report.cost.as_ref();
        sections.push(block_io::section(found));
        sections.push(block_io::cost_section(cost, report.options.level));
    }
    sections.extend(tables::published(report));
    let found = report.modelled.as_ref();
    sections.extend(found.map(|found| modelled::section(report, found)));
    tagged(report, sections)
}

/// What shows that the numbers are valid.
pub(crate) fn basis<'a>(report: &'a Report<'_>) -> Vec<Section<'a>> {
    tagged(report, vec![evidence::section(report)])
}

/// Filesystems, trials and context as recorded: as long as the run, so only the page has them.
pub(crate) fn records<'a>(report: &'a Report<'_>) -> Vec<Section<'a>> {
    let sections = vec![
        run::filesystems(report),
        run::order(report),
        run::context(report),
    ];
    tagged(report, sections)
}

/// Every section carries what must be known of its times: it is quoted alone.
fn tagged<'a>(report: &Report<'_>, mut sections: Vec<Section<'a>>) -> Vec<Section<'a>> {
    for section in &mut sections {
        section.timing.clone_from(&report.timing);
    }
    sections
}
