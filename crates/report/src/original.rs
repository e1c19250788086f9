//! The runs of ranks as IOR and mdtest print them: a block is a repetition, and a cell a test.
//!
//! A site that has years of IOR's and mdtest's texts reads such lines at once. Both programs end with a table over their repetitions; a run has
//! repetitions too, its blocks, so it has the same tables. The answer of a run is elsewhere: these are means and deviations, and of
//! blocks that were interleaved, where the programs repeat a test in a row.

use std::collections::BTreeMap;

use record::{Phase, Status};
use serde_json::Value;
use study::{Cell, Slot, WorkloadSpec};

use crate::fill::Sources;
use crate::labels::Labels;
use crate::tool_output::{ior, mdtest};

/// How `ranks` of MPI begin what a run says of its target.
const RANKS: &str = "ranks ";

/// Tests with their names, in the plan's order.
#[derive(Debug, Default)]
pub(crate) struct Original {
    /// Cells of `shared`.
    pub(crate) ior: Vec<(String, ior::Test)>,
    /// Cells of `metadata`.
    pub(crate) mdtest: Vec<(String, mdtest::Test)>,
}

impl Original {
    /// IOR's summary of all its tests.
    pub(crate) fn ior_summary(&self) -> Vec<String> {
        let tests: Vec<ior::Test> = self.ior.iter().map(|(_, test)| test.clone()).collect();
        ior::summary(&tests)
    }
}

/// The tests of a run that finished at least once; none where no cell is one.
pub(crate) fn of(sources: &Sources<'_>) -> Option<Original> {
    let plan = &sources.run.plan;
    let is_of_ranks = |cell: &&Cell| {
        let spec = &cell.workload;
        matches!(spec, WorkloadSpec::Shared(_) | WorkloadSpec::Metadata(_))
    };
    let cells = plan.cells.iter();
    let cells = cells.filter(|cell| sources.cells.contains(&cell.id));
    let cells: Vec<&Cell> = cells.filter(is_of_ranks).collect();
    let labels = Labels::of(plan, &cells);
    let mut found = Original::default();
    for cell in cells {
        let trials = phases(sources, cell);
        if trials.is_empty() {
            continue;
        }
        let name = labels.of_cell(cell);
        let nodes = nodes(sources, cell);
        match &cell.workload {
            WorkloadSpec::Shared(spec) => {
                let mut spec = spec.clone();
                // Each block has a seed of its own; the first stands for them.
                spec.seed = trials[0].0.seed;
                let repetitions = trials.iter().map(|(_, phases)| accesses(phases)).collect();
                let test = ior::Test {
                    spec,
                    nodes,
                    repetitions,
                };
                found.ior.push((name, test));
            }
            WorkloadSpec::Metadata(spec) => {
                let iterations = trials.iter().map(|(_, phases)| rates(phases)).collect();
                let test = mdtest::Test {
                    spec: spec.clone(),
                    nodes,
                    iterations,
                };
                found.mdtest.push((name, test));
            }
            _ => {}
        }
    }
    (!found.ior.is_empty() || !found.mdtest.is_empty()).then_some(found)
}

/// The phases of the finished trials of a cell, by block.
fn phases<'a>(sources: &Sources<'a>, cell: &Cell) -> Vec<(Slot, &'a [Phase])> {
    let mut found: Vec<(Slot, &[Phase])> = sources
        .slots()
        .filter(|(slot, trial)| slot.cell == cell.id && trial.status == Status::Finished)
        .map(|(slot, trial)| (*slot, trial.phases.as_slice()))
        .collect();
    found.sort_by_key(|(slot, _)| slot.block);
    found
}

/// Nodes that the ranks of a cell were asked to be on; one where they were threads.
fn nodes(sources: &Sources<'_>, cell: &Cell) -> u64 {
    let ranks = cell.workload.ranks().unwrap_or(1);
    if sources.run.target.starts_with(RANKS) {
        sources.run.plan.fleet.nodes.clamp(1, ranks.max(1)).into()
    } else {
        1
    }
}

fn accesses(phases: &[Phase]) -> Vec<ior::Access> {
    phases.iter().filter_map(access).collect()
}

/// A phase of `shared`, from what the workload reported of it.
fn access(phase: &Phase) -> Option<ior::Access> {
    let detail = &phase.detail;
    Some(ior::Access {
        name: phase.name.clone(),
        bytes: detail.get("bytes")?.as_u64()?,
        seconds: detail.get("seconds")?.as_f64()?,
        rate: detail.get("bytes_per_s")?.get("original")?.as_f64()?,
        figures: figures(detail),
    })
}

fn rates(phases: &[Phase]) -> BTreeMap<String, f64> {
    let rate = |phase: &Phase| {
        let rate = figures(&phase.detail).remove("files_sum")?;
        Some((phase.name.clone(), rate))
    };
    phases.iter().filter_map(rate).collect()
}

fn figures(detail: &Value) -> BTreeMap<String, f64> {
    let figures = detail.get("figures").and_then(Value::as_object);
    let figures = figures.into_iter().flatten();
    figures
        .filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)))
        .collect()
}
