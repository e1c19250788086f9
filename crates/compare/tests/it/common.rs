//! Sides of simulated runs.

use compare::{Side, SideRun};
use fixtures::simulated::{Normal, Simulated};

/// A side of runs.
pub(crate) fn side(name: &str, runs: &[Simulated]) -> Side {
    Side {
        name: name.to_owned(),
        runs: runs
            .iter()
            .map(|run| SideRun {
                from: format!("fslab-runs/{}", run.name),
                run: run.run(),
            })
            .collect(),
    }
}

/// Runs of one cell whose runs vary by 1 % and trials by 2 %, at a level.
pub(crate) fn runs(first: u32, count: u32, level: f64, seed: u64) -> Vec<Simulated> {
    let mut draws = Normal::new(seed);
    (first..first + count)
        .map(|number| Simulated::new(number, vec![draws.rates(level, 3, 0.01, 0.02)]))
        .collect()
}

/// Runs of several cells, each at its level.
pub(crate) fn of_cells(first: u32, count: u32, levels: &[f64], seed: u64) -> Vec<Simulated> {
    let mut draws = Normal::new(seed);
    (first..first + count)
        .map(|number| {
            let rates = levels
                .iter()
                .map(|level| draws.rates(*level, 3, 0.004, 0.004));
            Simulated::new(number, rates.collect())
        })
        .collect()
}
