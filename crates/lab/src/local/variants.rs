//! Every variant of a plan once before the first trial: made, mounted, measured for a moment, unmounted.
//!
//! What cannot be made or mounted is refused here, before any trial has cost time. What it took says how
//! long the plan will take.

use std::time::{Duration, Instant};

use progress::Step;
use rig::{Class, Timings};
use study::{Bytes, Cell, DeviceSpec, FilesystemVariant, Measured, Plan, VariantCosts};

use super::LocalExecutor;
use crate::error::Error;
use crate::rates;
use crate::target::Target;

/// How long rates are measured in all; later variants take those of one that is like them.
const BUDGET: Duration = Duration::from_secs(6);

/// Factors that make a variant, in the order in which a message names them.
const FACTORS: [&str; 9] = [
    "filesystem",
    "mkfs",
    "mount",
    "device",
    "hints",
    "device_size",
    "readahead",
    "limit",
    "memory",
];

/// Cells that are prepared alike.
struct Variant<'p> {
    like: &'p Cell,
    cells: Vec<u32>,
}

/// What distinguishes one preparation from another.
fn key(cell: &Cell) -> (&FilesystemVariant, &DeviceSpec, Option<Bytes>) {
    (&cell.filesystem, &cell.device, cell.memory)
}

/// The distinct preparations of a plan; a directory has one.
fn variants<'p>(plan: &'p Plan, target: &Target) -> Vec<Variant<'p>> {
    let mut all: Vec<Variant<'p>> = Vec::new();
    // A forged volume takes what its files take, and no kernel is asked.
    for cell in plan.cells.iter().filter(|cell| cell.volume.is_filled()) {
        let alike = |variant: &&mut Variant<'p>| {
            target.directory().is_some() || key(variant.like) == key(cell)
        };
        match all.iter_mut().find(alike) {
            Some(known) => known.cells.push(cell.id),
            None => all.push(Variant {
                like: cell,
                cells: vec![cell.id],
            }),
        }
    }
    all
}

/// A variant as the study names it: `filesystem=ext4 mount=noatime`.
fn label(cell: &Cell) -> String {
    let named = FACTORS.iter().filter_map(|factor| {
        let level = cell.levels.get(*factor)?;
        Some(format!("{factor}={level}"))
    });
    let words: Vec<String> = named.collect();
    if words.is_empty() {
        return cell.filesystem.kind.name().to_owned();
    }
    words.join(" ")
}

impl LocalExecutor<'_> {
    /// Tries every variant.
    ///
    /// # Errors
    /// The first one that cannot be made or mounted, with what the program or the kernel reported.
    pub(super) fn tried(&mut self, plan: &Plan) -> Result<Measured, Error> {
        let begun = Instant::now();
        let mut measured = Measured::default();
        let mut spent = Duration::ZERO;
        for variant in variants(plan, &self.target) {
            let label = label(variant.like);
            self.watcher.begin(Step::new(format!("trying {label}")));
            let file = plan.devices_file.as_deref();
            let mut costs = self.try_one(&variant, file, &label, &mut spent)?;
            if costs.rates.is_none() {
                costs.rates = like(plan, &measured, variant.like);
            }
            measured.variants.push(costs);
        }
        self.watcher.end();
        measured.seconds = begun.elapsed().as_secs_f64();
        Ok(measured)
    }

    fn try_one(
        &mut self,
        variant: &Variant<'_>,
        devices_file: Option<&str>,
        label: &str,
        spent: &mut Duration,
    ) -> Result<VariantCosts, Error> {
        let refused = |error: rig::Error, stopped: bool| match error.class() {
            _ if stopped => Error::Interrupted(format!("trying {label}")),
            Class::Cell => Error::Preflight(format!("{label}: {error}")),
            _ => Error::Rig(error),
        };
        let prepared = self.prepare(variant.like, devices_file);
        let prepared = prepared.map_err(|error| refused(error, self.interrupt.is_raised()))?;
        let begun = Instant::now();
        let rates = (*spent < BUDGET)
            .then(|| rates::measure(&prepared, self.interrupt))
            .flatten();
        *spent += begun.elapsed();
        let timings = prepared.finish();
        let timings = timings.map_err(|error| refused(error, self.interrupt.is_raised()))?;
        if self.interrupt.is_raised() {
            return Err(Error::Interrupted(format!("trying {label}")));
        }
        let Timings {
            device,
            mkfs,
            mount,
            wait,
            umount,
        } = timings;
        Ok(VariantCosts {
            cells: variant.cells.clone(),
            device,
            mkfs,
            mount,
            wait,
            umount,
            rates,
        })
    }
}

/// Rates of a variant that is like this cell: of its kind and limit, else of its limit.
fn like(plan: &Plan, measured: &Measured, cell: &Cell) -> Option<study::MeasuredRates> {
    let of = |same_kind: bool| {
        measured.variants.iter().find_map(|costs| {
            let other = plan.cells.get(*costs.cells.first()? as usize)?;
            let same = other.device.limit == cell.device.limit
                && (!same_kind || other.filesystem.kind == cell.filesystem.kind);
            costs.rates.filter(|_| same)
        })
    };
    of(true).or_else(|| of(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_are_prepared_alike_are_one_variant() {
        let study = study::Study::load("journal").unwrap();
        let plan = study::plan(&study, &study::Overrides::default()).unwrap();
        let all = variants(&plan, &Target::LoopImages);
        assert!(all.len() < plan.cells.len(), "workloads share a filesystem");
        let cells: usize = all.iter().map(|variant| variant.cells.len()).sum();
        assert_eq!(cells, plan.cells.len());
        for (at, variant) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert_ne!(key(variant.like), key(other.like));
            }
            assert!(label(variant.like).starts_with("filesystem="));
            assert!(!label(variant.like).contains("workload"));
        }
        assert_eq!(variants(&plan, &Target::Directory("/x".into())).len(), 1);
    }
}
