//! What shows that the numbers mean what they say, and what warns that they may not.

use std::io;

use crate::Evidence;
use crate::cache::{self, First};
use crate::engine::Direction;
use crate::memory::total_ram;
use crate::residency::Residency;
use params::ThroughputSpec;
use params::throughput::Test;

/// What a reader must know before the first test has run.
pub(super) fn warnings(options: &ThroughputSpec) -> Vec<String> {
    let mut warnings = Vec::new();
    let rest = options.size.get() % options.record.get();
    if rest != 0 {
        warnings.push(format!(
            "size {} is not a multiple of record {}: the last {rest} bytes of each file are not \
             transferred, as in iozone",
            options.size.get(),
            options.record.get()
        ));
    }
    let working_set = options.file_bytes() * u64::from(options.threads);
    let ratio = working_set as f64 / total_ram() as f64;
    let reads = options
        .tests
        .iter()
        .any(|t| t.direction() == Direction::Read);
    if reads && !options.direct && options.engine.capabilities().transfers && ratio < 2.0 {
        warnings.push(format!(
            "buffered reads of {working_set} bytes, {ratio:.2} of the memory (less than 2): {}",
            if options.cold_reads {
                "each read test begins cold, but its own readahead stays in memory"
            } else {
                "they come from the page cache, not from the device"
            }
        ));
    }
    if !options.engine.capabilities().transfers {
        warnings.push("engine null moves no data: rates show the generator alone".into());
    }
    warnings
}

/// The observer's answer about dropping the caches.
pub(super) fn cold(
    answer: io::Result<Evidence>,
    test: Test,
    warnings: &mut Vec<String>,
) -> Evidence {
    let evidence = cache::emptied(answer);
    if evidence.holds != Some(true) {
        warnings.push(format!(
            "{}: cold reads were asked for, but {}",
            test.name(),
            evidence.detail
        ));
    }
    evidence
}

/// The page cache as a read test found it.
pub(super) fn cache_state(
    options: &ThroughputSpec,
    before: &io::Result<Residency>,
) -> Option<Evidence> {
    let transfers = options.engine.capabilities().transfers;
    transfers.then(|| cache::state(before, options.cold_reads))
}

/// Whether O_DIRECT kept the files out of the page cache.
pub(super) fn direct(
    options: &ThroughputSpec,
    before: &io::Result<Residency>,
    first: First,
    after: &io::Result<Residency>,
) -> Option<Evidence> {
    let asked = options.direct && options.engine.capabilities().direct;
    asked.then(|| cache::direct(before, first, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use params::Bytes;

    #[allow(clippy::unnecessary_wraps)] // as the code under test takes it
    fn pages(resident: u64) -> io::Result<Residency> {
        Ok(Residency {
            resident,
            dirty: 0,
            pages: 100,
        })
    }

    #[test]
    fn growth_of_the_cache_or_a_peak_in_between_denies_direct_io() {
        let mut options = ThroughputSpec::new("/nowhere");
        let first = |before, most| First { before, most };
        let none = first(0, None);
        assert!(direct(&options, &pages(0), none, &pages(0)).is_none());
        options.direct = true;
        let holds = |before, first, after| {
            direct(&options, &pages(before), first, &pages(after))
                .unwrap()
                .holds
        };
        assert_eq!(holds(0, first(0, Some(0)), 0), Some(true));
        assert_eq!(holds(5, none, 5), Some(true));
        assert_eq!(holds(0, none, 1), Some(false));
        assert_eq!(holds(0, first(0, Some(9)), 0), Some(false));
        // Pages that other files had before excuse none of the first one's.
        assert_eq!(holds(90, first(30, Some(31)), 90), Some(false));
        assert_eq!(holds(90, first(30, Some(30)), 90), Some(true));
        let asked = direct(&options, &pages(0), none, &Err(io::ErrorKind::Other.into()));
        assert_eq!(asked.unwrap().holds, None);
    }

    #[test]
    fn a_cold_read_that_is_warm_does_not_hold_and_warns() {
        let mut options = ThroughputSpec::new("/nowhere");
        let warm = cache_state(&options, &pages(100)).unwrap();
        assert_eq!(warm.holds, Some(true));
        assert_eq!(warm.detail, "warm: 100 of 100 pages resident, 0 dirty");
        options.cold_reads = true;
        assert_eq!(cache_state(&options, &pages(1)).unwrap().holds, Some(false));
        assert_eq!(cache_state(&options, &pages(0)).unwrap().holds, Some(true));
        let mut warnings = Vec::new();
        let evidence = cold(
            Err(io::ErrorKind::PermissionDenied.into()),
            Test::Read,
            &mut warnings,
        );
        assert_eq!(evidence.holds, Some(false));
        assert_eq!(
            warnings,
            [
                "read: cold reads were asked for, but the caches could not be dropped: permission denied"
            ]
        );
    }

    #[test]
    fn warns_of_remainders_small_working_sets_and_the_null_engine() {
        let mut options = ThroughputSpec::new("/nowhere");
        (options.size, options.record) = (Bytes(10_000), Bytes(4096));
        let both = warnings(&options);
        assert!(
            both[0].contains("the last 1808 bytes of each file"),
            "{both:?}"
        );
        assert!(both[1].contains("come from the page cache"), "{both:?}");
        options.tests = vec![Test::InitialWrite];
        options.size = Bytes(8192);
        assert!(warnings(&options).is_empty());
        options.engine = crate::engine::Kind::Null;
        assert_eq!(warnings(&options).len(), 1);
    }
}
