use blockio::layer::Entry;

use super::*;
use crate::Estimator;

const MS: u64 = 1_000_000;

fn entry(offset: u64, submitted: u64, delivered: u64) -> Entry {
    Entry {
        offset,
        len: 4096,
        thread: 1,
        submitted: submitted * MS,
        called: submitted * MS,
        delivered: delivered * MS,
        is_taken: true,
    }
}

pub(super) fn entries(all: impl Iterator<Item = Entry>) -> Entries {
    let mut entries = Entries::holding(1 << 20);
    for entry in all {
        entries.push(entry).unwrap();
    }
    entries
}

/// A record as it would be in a file.
fn bytes(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    record.write(&mut bytes).unwrap();
    bytes
}

fn pass(name: &str, began: u64) -> Pass {
    Pass {
        name: name.into(),
        began: began * MS,
    }
}

/// A hundred reads, one every 10 ms, in two passes; and a third without any.
fn record() -> Record {
    let all = (0..100).map(|i| entry((i * 37 % 100) << 28, 10 * i + 5, 10 * i + 6));
    Record {
        entries: entries(all),
        passes: vec![pass("1", 1), pass("2", 500), pass("3", 1000)],
        end: 1200 * MS,
    }
}

#[test]
fn passes_have_their_own_rows_and_processor_time_scales() {
    let catalogue = device::Catalogue::shipped().unwrap();
    let at = |cpu: f64| {
        let job = record().job(cpu).unwrap();
        assert_eq!(job.recorded(), Some(1200 * MS));
        let report = Estimator::default()
            .estimate(&catalogue, "cheetah-15k.5", &job)
            .unwrap();
        let nominal = |row: usize| report.rows[row].modelled.nominal_s.unwrap();
        assert_eq!(report.rows.len(), 4);
        assert_eq!(report.rows[1].requests, 50);
        let sum = nominal(1) + nominal(2) + nominal(3);
        assert!((sum - nominal(0)).abs() < 1e-6);
        let limit = |row: usize| report.rows[row].modelled.limit.clone().unwrap();
        assert!(limit(1).starts_with("the host: "), "{}", limit(1));
        let idle = |row: usize| report.rows[row].modelled.idle_percent.unwrap();
        assert!(idle(1) > 50.0 && idle(2) > 50.0);
        assert!((idle(3) - 100.0).abs() < 1e-6, "{}", idle(3));
        let busy = report.rows[1].modelled.busy_percent.unwrap();
        assert!(busy > 5.0 && busy < 50.0, "{busy}");
        assert_eq!(report.rows[3].modelled.busy_percent, Some(0.0));
        (nominal(0), nominal(3))
    };
    let ((one, last), (three, last_of_three)) = (at(1.0), at(3.0));
    // 1.1 s of computing; the third pass has no reads.
    assert!((three - one - 2.2).abs() < 0.1, "{one} {three}");
    assert!((last - 0.2).abs() < 1e-6 && (last_of_three - 0.6).abs() < 1e-6);
}

#[test]
fn what_the_caller_took_between_passes_is_no_time_of_the_check() {
    // The second pass waits 400 ms for its caller; the record ends after another 50.
    let mut late = record();
    let moved = |mut entry: Entry| {
        if entry.submitted >= 500 * MS {
            entry.submitted += 400 * MS;
            entry.called += 400 * MS;
            entry.delivered += 400 * MS;
        }
        entry
    };
    late.entries = late.entries.map(moved).unwrap();
    late.passes[2].began += 400 * MS;
    late.passes[1].began = 700 * MS;
    late.end += 450 * MS;
    let pauses = [(500 * MS, 900 * MS), (1600 * MS, 1800 * MS)];
    assert_eq!(bytes(&late.without(&pauses).unwrap()), bytes(&record()));
    assert_eq!(bytes(&record().without(&[]).unwrap()), bytes(&record()));
    // A pause before everything, and one with no length.
    let moved = record().without(&[(0, MS), (7 * MS, 7 * MS)]).unwrap();
    assert_eq!(moved.passes[0].began, 0);
    let first = moved.entries.iter().next().unwrap().unwrap();
    assert_eq!(first.submitted, 4 * MS);
}
