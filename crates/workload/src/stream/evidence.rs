//! What shows that the numbers mean what they say, and what warns that they may not.

use std::io;

use super::phase::PhaseResult;
use crate::Evidence;
use crate::cache;
use crate::memory::total_ram;
use params::StreamSpec;
use params::stream::{Between, UNIT};

/// What a reader must know before the first phase has run.
pub(super) fn warnings(options: &StreamSpec) -> Vec<String> {
    let mut warnings = Vec::new();
    let ratio = options.bytes() as f64 / total_ram() as f64;
    let transfers = options.engine.capabilities().transfers;
    if options.test.reads() && !options.direct && transfers && ratio < 2.0 {
        warnings.push(format!(
            "a buffered read of {} bytes, {ratio:.2} of the memory (less than 2): {}",
            options.bytes(),
            if options.between == Between::Warm {
                "it comes from the page cache, not from the device"
            } else {
                "it begins cold, but the caches below (controller, host) may hold a file this small"
            }
        ));
    }
    if options.reuse && options.test.writes() {
        warnings.push("the write goes into the file as it is: it may allocate nothing".into());
    }
    if !transfers {
        warnings.push("engine null moves no data: rates show the generator alone".into());
    }
    warnings
}

/// The observer's answer about an unmount or about dropping the caches.
pub(super) fn cold(answer: io::Result<Evidence>, warnings: &mut Vec<String>) -> Evidence {
    let evidence = cache::emptied(answer);
    if evidence.holds != Some(true) {
        warnings.push(format!(
            "read: a cold cache was asked for, but {}",
            evidence.detail
        ));
    }
    evidence
}

/// Whether O_DIRECT kept the file out of the page cache: no more pages during the phase and after
/// it than before (a fallback to buffered I/O may drop its pages again, hence the looks between).
pub(super) fn direct(options: &StreamSpec, seen: &PhaseResult) -> Option<Evidence> {
    if !options.direct || !options.engine.capabilities().direct {
        return None;
    }
    let (holds, detail) = match (&seen.before, &seen.after) {
        (Ok(before), Ok(after)) => (
            Some(after.resident.max(seen.most_resident.unwrap_or(0)) <= before.resident),
            format!(
                "pages resident: {} before, {} after, at most {} seen during the phase",
                before.resident,
                after.resident,
                seen.most_resident
                    .map_or("none".into(), |most| most.to_string())
            ),
        ),
        (Err(error), _) | (_, Err(error)) => {
            (None, format!("the page cache could not be asked: {error}"))
        }
    };
    Some(Evidence {
        name: "direct_io_honoured".into(),
        holds,
        detail,
    })
}

/// What a verified read has shown.
pub(super) fn verified(bytes: u64, run: u64) -> Evidence {
    Evidence {
        name: "content_verified".into(),
        holds: Some(true),
        detail: format!(
            "{} blocks of {} bytes in their places with their checksums, written by run {run:016x}",
            bytes / UNIT,
            UNIT
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::residency::Residency;

    fn pages(resident: u64) -> Residency {
        Residency {
            resident,
            dirty: 0,
            pages: 100,
        }
    }

    fn seen(before: u64, most: Option<u64>, after: u64) -> PhaseResult {
        PhaseResult {
            before: Ok(pages(before)),
            after: Ok(pages(after)),
            most_resident: most,
            ..PhaseResult::default()
        }
    }

    #[test]
    fn growth_of_the_cache_or_a_peak_in_between_denies_direct_io() {
        let mut options = StreamSpec::new("/nowhere");
        assert!(direct(&options, &seen(0, None, 0)).is_none());
        options.direct = true;
        let holds = |b, m, a| direct(&options, &seen(b, m, a)).unwrap().holds;
        assert_eq!(holds(0, Some(0), 0), Some(true));
        assert_eq!(holds(5, None, 5), Some(true));
        assert_eq!(holds(0, None, 1), Some(false));
        assert_eq!(holds(0, Some(9), 0), Some(false));
        let mut unknown = seen(0, None, 0);
        unknown.after = Err(io::ErrorKind::Other.into());
        assert_eq!(direct(&options, &unknown).unwrap().holds, None);
    }

    #[test]
    fn a_cold_read_that_is_warm_does_not_hold() {
        let state = cache::state(&Ok(pages(100)), true);
        assert_eq!(state.holds, Some(false));
        assert_eq!(state.detail, "warm: 100 of 100 pages resident, 0 dirty");
        assert_eq!(cache::state(&Ok(pages(0)), true).holds, Some(true));
        assert_eq!(cache::state(&Ok(pages(100)), false).holds, Some(true));
        let mut warnings = Vec::new();
        let evidence = cold(Err(io::ErrorKind::PermissionDenied.into()), &mut warnings);
        assert_eq!(evidence.holds, Some(false));
        assert_eq!(
            warnings,
            [
                "read: a cold cache was asked for, but the caches could not be dropped: permission denied"
            ]
        );
    }
}
