//! A plan for a machine that cannot hold a device to a rate.

use crate::model::{Cell, Plan};
use crate::{filter, forged, order};

impl Plan {
    /// The same plan without the cells whose device is held to a limit, and a note that says so; unchanged where no cell would be left. Order and
    /// trial seeds are drawn for the cells that remain, from the plan's seed.
    #[must_use]
    pub fn without_limits(mut self, why: &str) -> Plan {
        let limited = |cell: &Cell| cell.device.limit.is_some();
        let left_out = self.cells.iter().filter(|cell| limited(cell)).count();
        if left_out == 0 || left_out == self.cells.len() {
            return self;
        }
        self.cells.retain(|cell| !limited(cell));
        for (id, cell) in (0..).zip(&mut self.cells) {
            cell.id = id;
        }
        let slots = order::slots(self.cells.len() as u32, self.blocks, self.order, self.seed);
        self.slots = forged::together(&self.cells, self.order, slots);
        self.factors = filter::present(self.factors, &self.cells);
        self.notes.push(format!(
            "{left_out} cells on a limited disk are left out: {why}"
        ));
        self
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Study};

    #[test]
    fn what_is_left_is_a_whole_plan() {
        let study = Study::load("fsck-io").unwrap();
        let all = crate::plan(&study, &Overrides::default()).unwrap();
        let plan = all.clone().without_limits("no controller");
        assert!(plan.cells.len() < all.cells.len());
        assert!(plan.cells.iter().all(|cell| cell.device.limit.is_none()));
        assert_eq!(plan.slots.len(), plan.cells.len() * plan.blocks as usize);
        let ids = plan.cells.iter().map(|cell| cell.id);
        assert!(ids.eq(0..plan.cells.len() as u32));
        let limits = plan
            .factors
            .iter()
            .find(|(name, _)| name == "limit")
            .unwrap();
        assert_eq!(limits.1, ["none"]);
        let note = plan.notes.last().unwrap();
        assert!(
            note.ends_with("on a limited disk are left out: no controller"),
            "{note}"
        );
        // A plan of limited cells alone stays, and is refused later.
        let overrides = Overrides {
            set: vec!["limit=70m".into()],
            ..Overrides::default()
        };
        let limited = crate::plan(&study, &overrides).unwrap();
        assert_eq!(limited.clone().without_limits("x"), limited);
    }
}
