//! Counting: extents as filefrag counts them, and runs.

use crate::extent::Extent;

/// The byte at which a row would have to begin to continue the previous one, as filefrag counts: `None`
/// when it continues it, or begins the file.
///
/// A row continues at two places: the one that keeps the distance in the file (a hole may be between)
/// and the one directly after the previous row (a hole takes no space on the disk). Filefrag compares
/// rows without a location, too, as if they were at byte 0. The expected place is the first of the two.
/// (e2fsprogs, misc/filefrag.c; before 1.42.10 there was only the first test.)
pub fn expected(last: &Extent, row: &Extent) -> Option<u64> {
    let expected = last
        .physical
        .wrapping_add(row.logical.wrapping_sub(last.logical));
    let dense = last.physical.wrapping_add(last.length);
    let broken = row.logical != 0 && row.physical != expected && row.physical != dense;
    broken.then_some(expected)
}

/// The number of extents that filefrag finds: 0 without rows, else at least 1.
pub fn extents(rows: &[Extent]) -> u64 {
    let mut last = Extent::default();
    let mut found = 0;
    for row in rows {
        if expected(&last, row).is_some() {
            found += 1;
        } else {
            found = found.max(1);
        }
        last = *row;
    }
    found
}

/// Calls `see` with each run: rows that continue one another both in the file and on the disk,
/// with the same flags, taken together. Rows without a location belong to no run.
pub(crate) fn each_run(rows: &[Extent], mut see: impl FnMut(&Extent)) {
    let mut run: Option<Extent> = None;
    for row in rows.iter().filter(|row| row.flags.has_location()) {
        match &mut run {
            Some(run) if continues(run, row) => {
                run.length = run.length.saturating_add(row.length);
                run.flags = row.flags;
            }
            _ => {
                if let Some(run) = run.replace(*row) {
                    see(&run);
                }
            }
        }
    }
    if let Some(run) = run {
        see(&run);
    }
}

/// All runs of a file.
pub fn runs(rows: &[Extent]) -> Vec<Extent> {
    let mut runs = Vec::new();
    each_run(rows, |run| runs.push(*run));
    runs
}

fn continues(run: &Extent, row: &Extent) -> bool {
    run.logical_end() == row.logical
        && run.physical_end() == row.physical
        && run.flags.kind() == row.flags.kind()
}

/// Pieces of a file without a hole between them: what xfs_db calls the ideal number of extents.
pub(crate) fn pieces(rows: &[Extent]) -> u64 {
    let breaks = rows
        .windows(2)
        .filter(|pair| pair[0].logical_end() != pair[1].logical);
    breaks.count() as u64 + u64::from(!rows.is_empty())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::extent::Flags;
    use proptest::prelude::*;

    pub(crate) fn row(logical: u64, physical: u64, length: u64, flags: u32) -> Extent {
        Extent {
            logical,
            physical,
            length,
            flags: Flags(flags),
        }
    }

    #[test]
    fn a_hole_is_no_break_in_either_form() {
        let kept = [row(0, 100, 10, 0), row(30, 130, 10, 1)];
        let dense = [row(0, 100, 10, 0), row(30, 110, 10, 1)];
        let broken = [row(0, 100, 10, 0), row(30, 131, 10, 1)];
        assert_eq!(
            [extents(&kept), extents(&dense), extents(&broken)],
            [1, 1, 2]
        );
        assert_eq!(expected(&broken[0], &broken[1]), Some(130));
        assert_eq!([runs(&kept).len(), runs(&dense).len()], [2, 2]);
        assert_eq!(pieces(&kept), 2);
    }

    #[test]
    fn a_file_that_begins_with_a_hole_has_one_extent() {
        assert_eq!(extents(&[row(50, 100, 10, 1)]), 1);
        assert_eq!(extents(&[]), 0);
    }

    #[test]
    fn rows_cut_at_128_mib_are_one_run() {
        let rows = [row(0, 64, 8, 0), row(8, 72, 8, 0), row(16, 80, 3, 1)];
        assert_eq!(runs(&rows), [row(0, 64, 19, 1)]);
        assert_eq!((extents(&rows), pieces(&rows)), (1, 1));
    }

    #[test]
    fn unwritten_blocks_are_a_run_of_their_own_and_delayed_ones_none() {
        let rows = [row(0, 64, 8, 0), row(8, 72, 8, 0x800), row(16, 0, 8, 0x7)];
        assert_eq!(runs(&rows).len(), 2);
        assert_eq!(pieces(&rows), 1);
    }

    /// A map with the given steps: (hole before, jump on the disk, length, flags).
    fn any_rows() -> impl Strategy<Value = Vec<Extent>> {
        let step = (0_u64..3, 0_i64..4, 1_u64..5, 0_usize..3);
        proptest::collection::vec(step, 0..40).prop_map(|steps| {
            let (mut logical, mut physical) = (0, 1000);
            let mut rows = Vec::new();
            for (hole, jump, length, kind) in steps {
                logical += hole;
                physical += [0, hole, 7, 100][jump as usize];
                rows.push(row(logical, physical, length, [0, 0x800, 0x2000][kind]));
                logical += length;
                physical += length;
            }
            rows
        })
    }

    proptest! {
        #[test]
        fn runs_keep_every_byte_and_rows_bound_everything(rows in any_rows()) {
            let runs = runs(&rows);
            let bytes = |list: &[Extent]| list.iter().map(|row| row.length).sum::<u64>();
            prop_assert_eq!(bytes(&runs), bytes(&rows));
            prop_assert!(runs.len() <= rows.len());
            prop_assert!(extents(&rows) <= rows.len() as u64);
            prop_assert!(pieces(&rows) <= runs.len() as u64);
            prop_assert_eq!(extents(&rows) == 0, rows.is_empty());
            // Runs cannot be merged again.
            for pair in runs.windows(2) {
                prop_assert!(!continues(&pair[0], &pair[1]));
            }
        }

        #[test]
        fn cutting_rows_changes_no_count(rows in any_rows(), at in 1_u64..4) {
            let mut cut = Vec::new();
            for row in &rows {
                if row.length > at {
                    cut.push(Extent { length: at, ..*row });
                    cut.push(Extent {
                        logical: row.logical + at,
                        physical: row.physical + at,
                        length: row.length - at,
                        flags: row.flags,
                    });
                } else {
                    cut.push(*row);
                }
            }
            prop_assert_eq!(runs(&cut), runs(&rows));
            prop_assert_eq!(pieces(&cut), pieces(&rows));
        }

        #[test]
        fn extents_are_the_breaks_and_one(rows in any_rows()) {
            // The rule written the other way round: one extent, and one more at each place where
            // neither of both positions is met.
            let breaks = rows.windows(2).filter(|pair| {
                let kept = pair[1].physical - pair[0].physical == pair[1].logical - pair[0].logical;
                !kept && pair[0].physical_end() != pair[1].physical
            }).count() as u64;
            if !rows.is_empty() {
                prop_assert_eq!(extents(&rows), breaks + 1);
            }
        }
    }
}
