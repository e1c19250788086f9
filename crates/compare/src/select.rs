//! Which cells and factors of a plan are compared.

use std::collections::{BTreeMap, BTreeSet};

use study::{Cell, Plan};

/// Whether a cell has all of these levels.
pub fn has(cell: &Cell, levels: &BTreeMap<String, String>) -> bool {
    levels
        .iter()
        .all(|(factor, level)| cell.levels.get(factor) == Some(level))
}

/// The factors in which cells differ and which it makes sense to compare along.
pub fn varying(plan: &Plan, cells: &[&Cell]) -> Vec<String> {
    // What grows is counted in files where x is no factor.
    const SIZES: [&str; 4] = ["files", "total_files", "rounds", "count"];
    let grows = |factor: &str| {
        let x = |law: &study::GrowthSpec| {
            law.x == factor || (law.x == "count" && SIZES.contains(&factor))
        };
        plan.growth.iter().any(x)
    };
    let names = plan.factors.iter().map(|(name, _)| name);
    let more = cells.iter().flat_map(|cell| cell.levels.keys());
    let mut all: Vec<String> = Vec::new();
    for name in names.chain(more) {
        let levels: BTreeSet<&String> = cells.iter().filter_map(|c| c.levels.get(name)).collect();
        if levels.len() > 1 && name != "workload" && !grows(name) && !all.contains(name) {
            all.push(name.clone());
        }
    }
    all
}
