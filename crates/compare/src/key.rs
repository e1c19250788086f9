//! Which cells of different runs are the same: those with the same settled parameters.
//!
//! Names do not decide. A study may rename a factor, add one or take one away, and its cells are still made, mounted and
//! loaded as before; and two studies may call different things `ext4`. So a cell is known by how its filesystem is made
//! and mounted, its device, its workload with every parameter, its limits and its check.
//!
//! The kernel is not a parameter but a part of the context, so that runs of two kernels can be compared. Where one run has
//! several kernels, it tells its cells apart, and then the level of the factor counts. Cells of one run that would still be the same
//! are distinguished by their levels.

use std::collections::{BTreeMap, BTreeSet};

use record::Run;
use serde_json::{Map, Value};
use study::Cell;

/// The settled parameters of a cell as a JSON document; `across` are dotted names left out of it (`device.limit`).
pub fn parameters(cell: &Cell, across: &[String]) -> Value {
    let mut document = serde_json::to_value(cell).unwrap_or_default();
    if let Some(map) = document.as_object_mut() {
        for name in ["id", "levels", "layout", "kernel"] {
            map.remove(name);
        }
        if let Some(variant) = map.get_mut("filesystem").and_then(Value::as_object_mut) {
            variant.remove("about");
        }
        for name in across {
            remove(map, name);
        }
    }
    document
}

fn remove(map: &mut Map<String, Value>, name: &str) {
    match name.split_once('.') {
        None => {
            map.remove(name);
        }
        Some((first, rest)) => {
            if let Some(inner) = map.get_mut(first).and_then(Value::as_object_mut) {
                remove(inner, rest);
            }
        }
    }
}

/// SHA-256 of a document, 12 hexadecimal digits: a short name for pages and fingerprints.
pub fn short_id(document: &str) -> String {
    record::id_of_line(document.as_bytes())[..12].to_owned()
}

/// How strictly cells with the same parameters are distinguished.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Apart {
    #[default]
    Parameters,
    Kernel,
    Levels,
}

/// The keys of all cells of some runs: equal keys are the same cell.
pub struct Keys {
    across: Vec<String>,
    /// Parameters whose cells need more than them.
    apart: BTreeMap<String, Apart>,
}

impl Keys {
    /// Looks at all runs that will be compared.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Run>, across: &[String]) -> Keys {
        let mut keys = Keys {
            across: across.to_vec(),
            apart: BTreeMap::new(),
        };
        for run in runs {
            let mut same: BTreeMap<String, Vec<&Cell>> = BTreeMap::new();
            for cell in &run.plan.cells {
                let parameters = parameters(cell, across).to_string();
                same.entry(parameters).or_default().push(cell);
            }
            for (parameters, cells) in same.into_iter().filter(|(_, cells)| cells.len() > 1) {
                let kernels: BTreeSet<_> = cells.iter().map(|cell| &cell.kernel).collect();
                let needed = if kernels.len() == cells.len() {
                    Apart::Kernel
                } else {
                    Apart::Levels
                };
                let known = keys.apart.entry(parameters).or_default();
                *known = needed.max(*known);
            }
        }
        keys
    }

    /// The key of a cell.
    pub fn key(&self, cell: &Cell) -> String {
        let parameters = parameters(cell, &self.across).to_string();
        match self.apart.get(&parameters) {
            None | Some(Apart::Parameters) => parameters,
            Some(Apart::Kernel) => {
                format!(
                    "{parameters} {}",
                    cell.kernel.as_deref().unwrap_or_default()
                )
            }
            Some(Apart::Levels) => format!("{parameters} {}", cell.label()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn six_cells() -> Run {
        fixtures::simulated::Simulated::new(1, vec![vec![1000.0; 2]; 6]).run()
    }

    #[test]
    fn names_do_not_count_and_parameters_do() {
        let run = six_cells();
        let keys = Keys::of([&run], &[]);
        let cell = run.plan.cells[1].clone();
        let mut renamed = cell.clone();
        renamed.id = 99;
        renamed.levels.insert("more".into(), "x".into());
        renamed.filesystem.about = "other words".into();
        renamed.kernel = Some("6.1".into());
        assert_eq!(keys.key(&cell), keys.key(&renamed));
        let mut other = cell.clone();
        other.filesystem.mount.push("noatime".into());
        assert_ne!(keys.key(&cell), keys.key(&other));
        let mut limited = cell.clone();
        limited.device.size = study::Bytes(1 << 30);
        assert_ne!(keys.key(&cell), keys.key(&limited));
        let across = Keys::of([&run], &["device.size".to_owned()]);
        assert_eq!(across.key(&cell), across.key(&limited));
    }

    #[test]
    fn kernels_of_one_run_are_distinguished() {
        let mut run = six_cells();
        let mut old = run.plan.cells[0].clone();
        let mut new = old.clone();
        (old.kernel, new.kernel) = (Some("6.1".into()), Some("6.12".into()));
        old.levels.insert("kernel".into(), "6.1".into());
        new.levels.insert("kernel".into(), "6.12".into());
        run.plan.cells = vec![old.clone(), new.clone()];
        let keys = Keys::of([&run], &[]);
        assert_ne!(keys.key(&old), keys.key(&new));
        run.plan.cells = vec![old.clone()];
        let mut other = run.clone();
        other.plan.cells = vec![new.clone()];
        let keys = Keys::of([&run, &other], &[]);
        assert_eq!(keys.key(&old), keys.key(&new), "a run of each kernel");
    }

    #[test]
    fn cells_with_the_same_parameters_are_distinguished_by_their_levels() {
        let mut run = six_cells();
        let one = run.plan.cells[0].clone();
        let mut two = one.clone();
        two.levels.insert("label".into(), "again".into());
        run.plan.cells = vec![one.clone(), two.clone()];
        let keys = Keys::of([&run], &[]);
        assert_ne!(keys.key(&one), keys.key(&two));
    }
}
