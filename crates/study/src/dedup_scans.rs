//! Readings by a program: OCFS2 is read by fsck.ocfs2, which has one way to do it.
//!
//! A study of how to read turns switches that a program does not have. On OCFS2 cells that differ in those alone
//! would be the same trial under several names, and a table of them would show differences of nothing. One
//! of them is kept: the one whose switches are as fsck.ocfs2 reads since 1.8 (the changes of 2011: no
//! precache, prefill, the buffer of a whole group, directory blocks ahead), or else the first.

use crate::model::{Cell, ScanSpec, WorkloadSpec};
use crate::placed::Placed;
use crate::skipped::Skipped;

/// Takes the others out.
pub(crate) fn once(cells: &mut Vec<Placed>) -> Option<Skipped> {
    let all: Vec<Cell> = cells.iter().map(|placed| placed.cell.clone()).collect();
    let keep = |placed: &Placed| {
        let Some(spec) = by_program(&placed.cell) else {
            return true;
        };
        let same = all
            .iter()
            .filter(|cell| differ_in_switches(cell, &placed.cell));
        let rank = |cell: &Cell, spec: &ScanSpec| (nearness(spec), u32::MAX - cell.id);
        let own = rank(&placed.cell, spec);
        same.filter_map(|cell| Some(rank(cell, by_program(cell)?)))
            .all(|other| other <= own)
    };
    let words =
        "left out: fsck.ocfs2 reads OCFS2 in one way, and has none of the reader's switches";
    Skipped::take(cells, keep, words)
}

/// The parameters of a cell that a program reads.
fn by_program(cell: &Cell) -> Option<&ScanSpec> {
    match &cell.workload {
        WorkloadSpec::Scan(spec) if cell.filesystem.kind.properties().scan_by_checker => Some(spec),
        _ => None,
    }
}

/// How many switches are as fsck.ocfs2 has them, and then how much is asked for at once.
fn nearness(spec: &ScanSpec) -> (u32, u64, u32) {
    let switches = u32::from(!spec.precache) + u32::from(spec.prefill);
    (switches, spec.scan_buffer.get(), spec.batch)
}

/// Whether two cells are one trial to a program: the same but for names and switches.
fn differ_in_switches(a: &Cell, b: &Cell) -> bool {
    let population = |cell: &Cell| by_program(cell).map(ScanSpec::population);
    population(a).is_some()
        && population(a) == population(b)
        && (&a.filesystem, &a.device, &a.memory) == (&b.filesystem, &b.device, &b.memory)
        && (&a.check, &a.layout, &a.crash) == (&b.check, &b.layout, &b.crash)
        && (&a.kernel, a.trace) == (&b.kernel, b.trace)
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Plan, Study};

    fn plan(set: &[&str]) -> Plan {
        let study = Study::load("fsck-io").unwrap();
        let overrides = Overrides {
            set: set.iter().map(|&text| text.to_owned()).collect(),
            ..Overrides::default()
        };
        crate::plan(&study, &overrides).unwrap()
    }

    #[test]
    fn a_program_reads_each_volume_once() {
        let plan = plan(&["filesystem=ocfs2", "limit=none"]);
        let names: Vec<&str> = plan
            .cells
            .iter()
            .map(|cell| cell.workload_name.as_str())
            .collect();
        assert_eq!(names, ["set-4"], "as fsck.ocfs2 reads since 1.8");
        assert!(
            plan.notes
                .iter()
                .any(|note| note.contains("reads OCFS2 in one way"))
        );
    }

    #[test]
    fn other_filesystems_keep_their_sets() {
        let both = plan(&["filesystem=ext4-scattered,ocfs2", "limit=none"]);
        let ext = plan(&["limit=none"]);
        assert_eq!(both.cells.len(), ext.cells.len() + 1);
        let ids: Vec<u32> = both.cells.iter().map(|cell| cell.id).collect();
        assert_eq!(ids, (0..both.cells.len() as u32).collect::<Vec<_>>());
    }

    #[test]
    fn volumes_that_differ_are_read_each() {
        let plan = plan(&["filesystem=ocfs2", "limit=none", "set-1.files=2000"]);
        assert_eq!(plan.cells.len(), 2, "another population is another volume");
    }
}
