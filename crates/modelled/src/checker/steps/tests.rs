use device::replay::{Program, Ran, Sent};
use device::{Catalogue, Variation};
use proptest::prelude::*;

use super::*;

/// Threads that read several at once, compute, and wait: in three phases, some of them of one phase only.
fn entries(reads: &[(u16, u64, u64, bool)]) -> (Entries, u64) {
    let mut clocks = [0_u64; 16];
    let mut entries = Entries::holding(1 << 20);
    for (number, (thread, computes, waits, is_taken)) in reads.iter().enumerate() {
        let clock = &mut clocks[usize::from(*thread)];
        let submitted = *clock + computes;
        let entry = Entry {
            offset: (number as u64 * 7919 % 1000) << 20,
            len: 4096,
            thread: *thread,
            submitted,
            called: submitted + computes / 2,
            delivered: submitted + computes / 2 + waits,
            is_taken: *is_taken,
        };
        // The next of some is asked for before this one has come.
        *clock = if number.is_multiple_of(3) {
            submitted
        } else {
            entry.delivered
        };
        entries.push(entry).unwrap();
    }
    let end = clocks.into_iter().max().unwrap_or(0) + 1_000_000;
    (entries, end)
}

fn replayed(most: usize, entries: &Entries, end: u64) -> (Ran, Vec<(Sent, u64, u64)>) {
    let phases = vec![0, end / 3, end / 2];
    let (outline, steps) = planned_in(most, entries, phases, end).unwrap();
    let catalogue = Catalogue::shipped().unwrap();
    let mut model = catalogue
        .model("cheetah-15k.5", Variation::Nominal)
        .unwrap();
    let mut sent = Vec::new();
    let mut each = |what: Sent, from: u64, to: u64| sent.push((what, from, to));
    let program = Program::new(outline, steps);
    let ran = program.run(&mut *model, 1.5, &mut each).unwrap();
    (ran, sent)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_goes_through_files_is_replayed_as_what_is_in_memory(
        reads in prop::collection::vec((0..16_u16, 1..3_000_000_u64, 1..9_000_000_u64, prop::bool::weighted(0.95)), 1..400),
        most in 1..60_usize,
    ) {
        let (entries, end) = entries(&reads);
        let (one, sent) = replayed(1 << 20, &entries, end);
        prop_assert_eq!(sent.len(), reads.len());
        let (other, again) = replayed(most, &entries, end);
        prop_assert_eq!(sent, again);
        prop_assert_eq!((&one.ends, one.idle), (&other.ends, other.idle));
        prop_assert_eq!(one.ends.len(), 3);
    }
}
