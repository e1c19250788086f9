//! A plan for a directory that is there: nothing is made or mounted, so the factors of the rig
//! (filesystem, mkfs and mount options, readahead) have one level each, and cells that differed
//! only in them are one.

use std::collections::BTreeMap;

use crate::model::{Cell, Plan};
use crate::{order, validate::RIG_FACTORS};

/// The one level of the factor `filesystem` in a directory.
pub const AS_FOUND: &str = "as-found";

impl Plan {
    /// The same plan without what only a device can vary. Order and trial seeds are drawn for the
    /// cells that remain, from the plan's seed.
    #[must_use]
    pub fn in_directory(mut self) -> Plan {
        let mut cells: Vec<Cell> = Vec::new();
        for mut cell in std::mem::take(&mut self.cells) {
            cell.levels.retain(|factor, _| {
                factor == "filesystem" || !RIG_FACTORS.contains(&factor.as_str())
            });
            if let Some(level) = cell.levels.get_mut("filesystem") {
                AS_FOUND.clone_into(level);
            }
            cell.filesystem.mkfs.clear();
            cell.filesystem.mount.clear();
            "the directory's own filesystem, as found".clone_into(&mut cell.filesystem.about);
            cell.id = cells.len() as u32;
            if !cells.iter().any(|known| known.levels == cell.levels) {
                cells.push(cell);
            }
        }
        self.filesystems = cells
            .first()
            .map(|cell| BTreeMap::from([(AS_FOUND.to_owned(), cell.filesystem.clone())]))
            .unwrap_or_default();
        self.factors
            .retain(|(name, _)| name == "filesystem" || !RIG_FACTORS.contains(&name.as_str()));
        for (name, levels) in &mut self.factors {
            if name == "filesystem" {
                *levels = vec![AS_FOUND.to_owned()];
            }
        }
        self.slots = order::slots(cells.len() as u32, self.blocks, self.order, self.seed);
        self.cells = cells;
        self
    }
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
}
