//! Which cells, tables, grids and questions of growth the options choose.

use std::collections::BTreeSet;

use record::Run;
use study::{Cell, GridSpec, GrowthSpec, Plan};

use crate::error::{Error, Result};
use crate::layout::{self, Layout};
use crate::options::Options;

/// Whether `--table` names this title.
fn has_part(title: &str, part: &str) -> bool {
    title.to_lowercase().contains(&part.to_lowercase())
}

/// Whether `--table` asks for this grid.
pub(crate) fn is_grid(spec: &GridSpec, part: &str) -> bool {
    has_part(&spec.title, part)
}

/// Whether `--table` asks for this question of growth.
pub(crate) fn is_growth(spec: &GrowthSpec, part: &str) -> bool {
    has_part(&spec.title, part)
}

/// The cells that the tables are about; all that pass the filter when no table was chosen.
pub(crate) fn cells(run: &Run, options: &Options, layouts: &[Layout]) -> Result<BTreeSet<u32>> {
    let filtered = filtered(&run.plan, &options.filter)?;
    let in_tables = |cell: &&&Cell| {
        let in_table = layouts.iter().any(|l| layout::has(cell, &l.common));
        let in_grid = |name: &String| {
            let mut named = run.plan.grids.iter().filter(|g| is_grid(g, name));
            named.any(|g| layout::has(cell, &g.filter))
        };
        let table = options.table.as_ref();
        table.is_none_or(|name| in_table || in_grid(name))
    };
    Ok(filtered.iter().filter(in_tables).map(|c| c.id).collect())
}

/// The cells that pass every `--filter`; several levels of one factor are alternatives.
pub(crate) fn filtered<'a>(plan: &'a Plan, filter: &[(String, String)]) -> Result<Vec<&'a Cell>> {
    for (factor, level) in filter {
        let levels: BTreeSet<&String> = plan
            .cells
            .iter()
            .filter_map(|c| c.levels.get(factor))
            .collect();
        if levels.is_empty() {
            return Err(Error::Unknown(explain::Error::Unknown {
                option: "--filter",
                name: factor.clone(),
                what: "factor",
                allowed: factors(plan),
            }));
        }
        if !levels.contains(level) {
            return Err(Error::Unknown(explain::Error::Unknown {
                option: "--filter",
                name: format!("{factor}={level}"),
                what: "level",
                allowed: levels.into_iter().cloned().collect(),
            }));
        }
    }
    let passes = |cell: &&Cell| {
        filter.iter().all(|(factor, _)| {
            filter
                .iter()
                .any(|(f, level)| f == factor && cell.levels.get(f) == Some(level))
        })
    };
    Ok(plan.cells.iter().filter(passes).collect())
}

/// Names of all factors, in the study's order.
pub(crate) fn factors(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = plan.factors.iter().map(|(name, _)| name.clone()).collect();
    for name in plan.cells.iter().flat_map(|c| c.levels.keys()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
