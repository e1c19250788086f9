//! A plan for an existing directory: nothing is made or mounted, so what only a device has
//! (filesystem, mkfs and mount options, readahead, limit, size, a check) has one level or none, and
//! cells that differed only in them are one. A limit of memory is the trial's own and stays, as does a
//! block trace, which is then that of the disk below.

use std::collections::BTreeMap;

use crate::file::CHECK_PHASES;
use crate::model::{Cell, GridColumn, Hints, Plan};
use crate::{order, validate::RIG_FACTORS};

/// The one level of the factor `filesystem` in a directory.
pub const AS_FOUND: &str = "as-found";

impl Plan {
    /// The same plan without what only a device can vary. Order and trial seeds are drawn for the
    /// cells that remain, from the plan's seed.
    #[must_use]
    pub fn in_directory(mut self) -> Plan {
        self.notes.extend(left_out(&self));
        let mut cells: Vec<Cell> = Vec::new();
        for mut cell in std::mem::take(&mut self.cells) {
            cell.levels.retain(|factor, _| stays(factor));
            if let Some(level) = cell.levels.get_mut("filesystem") {
                AS_FOUND.clone_into(level);
            }
            cell.filesystem.mkfs.clear();
            cell.filesystem.mount.clear();
            "the directory's own filesystem, as found".clone_into(&mut cell.filesystem.about);
            cell.device.readahead = None;
            cell.device.limit = None;
            cell.device.stack = None;
            cell.device.hints = Hints::Auto;
            cell.check = None;
            cell.crash = None;
            cell.estimate = None;
            cell.id = cells.len() as u32;
            if !cells.iter().any(|known| known.levels == cell.levels) {
                cells.push(cell);
            }
        }
        self.devices_file = None;
        self.filesystems = cells
            .first()
            .map(|cell| BTreeMap::from([(AS_FOUND.to_owned(), cell.filesystem.clone())]))
            .unwrap_or_default();
        self.factors.retain(|(name, _)| stays(name));
        for (name, levels) in &mut self.factors {
            if name == "filesystem" {
                *levels = vec![AS_FOUND.to_owned()];
            }
        }
        for grid in &mut self.grids {
            grid.rows
                .retain(|row| !RIG_FACTORS.contains(&row.factor.as_str()) || stays(&row.factor));
            grid.filter.retain(|factor, _| stays_varied(factor));
            for column in &mut grid.columns {
                column.filter.retain(|factor, _| stays_varied(factor));
            }
        }
        self.grids.retain(|grid| !grid.rows.is_empty());
        for law in &mut self.growth {
            law.by.retain(|factor| stays(factor));
            law.filter.retain(|factor, _| stays_varied(factor));
        }
        self.slots = order::slots(cells.len() as u32, self.blocks, self.order, self.seed);
        self.cells = cells;
        self.without_checks().without_idle_asks()
    }

    /// Without columns and laws of a check that is not run, and columns that became the same.
    fn without_checks(mut self) -> Plan {
        for grid in &mut self.grids {
            let mut kept: Vec<GridColumn> = Vec::new();
            for column in std::mem::take(&mut grid.columns) {
                let key =
                    |c: &GridColumn| (c.phase.clone(), c.metric.clone(), c.clock, c.filter.clone());
                let same = kept.iter().any(|known| key(known) == key(&column));
                if !same && !CHECK_PHASES.contains(&column.phase.as_str()) {
                    kept.push(column);
                }
            }
            grid.columns = kept;
        }
        self.growth
            .retain(|law| !CHECK_PHASES.contains(&law.phase.as_str()));
        self
    }
}

/// Factors that a directory leaves as they are, or with one level (`filesystem`).
fn stays(factor: &str) -> bool {
    matches!(factor, "filesystem" | "memory" | "trace") || !RIG_FACTORS.contains(&factor)
}

/// Factors whose levels stay.
fn stays_varied(factor: &str) -> bool {
    factor != "filesystem" && stays(factor)
}

/// One line on what of this plan a directory cannot give.
fn left_out(plan: &Plan) -> Option<String> {
    let some = |has: &dyn Fn(&Cell) -> bool| plan.cells.iter().any(has);
    let asked = [
        ("mount options", some(&|c| c.levels.contains_key("mount"))),
        ("mkfs arguments", some(&|c| c.levels.contains_key("mkfs"))),
        ("readahead", some(&|c| c.device.readahead.is_some())),
        ("limit", some(&|c| c.device.limit.is_some())),
        ("the device", some(&|c| c.device.stack.is_some())),
        (
            "device_size",
            some(&|c| c.levels.contains_key("device_size")),
        ),
        ("the check", some(&|c| c.check.is_some())),
        ("the crash check", some(&|c| c.crash.is_some())),
        ("the estimates", some(&|c| c.estimate.is_some())),
    ];
    let names: Vec<&str> = asked
        .iter()
        .filter(|(_, is)| *is)
        .map(|(name, _)| *name)
        .collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!(
            "a directory has no device of its own: {names} {are} left out (give a disk, or let \
             images be made)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, Study, plan};

    #[test]
    fn cells_that_differ_only_in_the_filesystem_are_one() {
        let study = Study::load("journal").unwrap();
        let overrides = Overrides {
            profile: Some("quick".into()),
            ..Overrides::default()
        };
        let whole = plan(&study, &overrides).unwrap();
        let there = whole.clone().in_directory();
        assert_eq!((whole.cells.len(), there.cells.len()), (18, 3));
        assert_eq!(there.slots.len(), 3 * there.blocks as usize);
        assert!(
            there
                .cells
                .iter()
                .enumerate()
                .all(|(n, cell)| cell.id == n as u32)
        );
        assert!(
            there
                .cells
                .iter()
                .all(|cell| cell.levels["filesystem"] == AS_FOUND)
        );
        assert_eq!(
            there.factors[0],
            ("filesystem".to_owned(), vec![AS_FOUND.to_owned()])
        );
        assert!(!there.tables.is_empty());
    }

    #[test]
    fn what_only_a_device_has_is_left_out_with_a_line_and_memory_stays() {
        let study = Study::load("journal").unwrap();
        let set = [
            "factors.readahead=[0, 256]",
            "limit=70m",
            "memory=[\"none\", \"128m\"]",
            "check.enabled=true",
        ];
        let overrides = Overrides {
            profile: Some("quick".into()),
            set: set.map(str::to_owned).to_vec(),
            ..Overrides::default()
        };
        let there = plan(&study, &overrides).unwrap().in_directory();
        assert_eq!(there.cells.len(), 2 * 3);
        for cell in &there.cells {
            assert!(cell.check.is_none() && cell.device.limit.is_none());
            assert_eq!(cell.device.readahead, None);
            let held = cell.levels["memory"] == "128m";
            assert_eq!(cell.memory.is_some(), held);
        }
        let line = "a directory has no device of its own: readahead, limit, the check are left out \
                    (give a disk, or let images be made)";
        assert_eq!(there.notes, [line]);
    }
}
