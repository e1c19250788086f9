//! Synthetic pairs for the rules' tests: five trials a side, half a percent apart.

use study::{Cell, Clock};

use crate::comparison::CellComparison;
use crate::evidence::CellEvidence;

/// Two sides in the making.
pub(crate) struct ComparisonBuilder {
    phase: String,
    metric: String,
    clock: Clock,
    factor: String,
    pub(crate) slower: CellEvidence,
    pub(crate) faster: CellEvidence,
    pub(crate) cells: [Cell; 2],
}

impl ComparisonBuilder {
    /// Of the phase `phase`, in two cells of a throughput workload with buffered I/O.
    pub(crate) fn new(phase: &str) -> ComparisonBuilder {
        let mut cell = fixtures::example::plan().cells[0].clone();
        if let study::WorkloadSpec::Throughput(spec) = &mut cell.workload {
            spec.direct = false;
        }
        let side = |cell| CellEvidence {
            cell,
            trials: 5,
            ..CellEvidence::default()
        };
        ComparisonBuilder {
            phase: phase.to_owned(),
            metric: "throughput".to_owned(),
            clock: Clock::Original,
            factor: "filesystem".to_owned(),
            slower: side(0),
            faster: side(1),
            cells: [cell.clone(), cell],
        }
    }

    pub(crate) fn clock(mut self, clock: Clock) -> ComparisonBuilder {
        self.clock = clock;
        self
    }

    pub(crate) fn factor(mut self, factor: &str) -> ComparisonBuilder {
        self.factor = factor.to_owned();
        self
    }

    pub(crate) fn slow(mut self, name: &str, value: f64) -> ComparisonBuilder {
        fill(&mut self.slower, name, value);
        self
    }

    pub(crate) fn fast(mut self, name: &str, value: f64) -> ComparisonBuilder {
        fill(&mut self.faster, name, value);
        self
    }

    pub(crate) fn both(self, name: &str, slow: f64, fast: f64) -> ComparisonBuilder {
        self.slow(name, slow).fast(name, fast)
    }

    pub(crate) fn facts(mut self, name: &str, slow: &str, fast: &str) -> ComparisonBuilder {
        for (side, value) in [(&mut self.slower, slow), (&mut self.faster, fast)] {
            if !value.is_empty() {
                side.add_fact(name, value);
            }
        }
        self
    }

    pub(crate) fn pair(&self, times: f64) -> CellComparison<'_> {
        CellComparison {
            slower: &self.slower,
            faster: &self.faster,
            slower_cell: &self.cells[0],
            faster_cell: &self.cells[1],
            times,
            factor: &self.factor,
            phase: &self.phase,
            metric: &self.metric,
            clock: self.clock,
        }
    }
}

fn fill(side: &mut CellEvidence, name: &str, value: f64) {
    for step in [-2.0, -1.0, 0.0, 1.0, 2.0] {
        side.add(name, value * (1.0 + 0.0025 * step));
    }
}
