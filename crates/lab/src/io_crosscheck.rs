//! Bytes of a phase against the device's own counters (DESIGN: bytes are cross-checked).
//!
//! Direct I/O and everything that ends with a sync must have reached the device whole. What may rightly
//! never reach it is reported, not judged: a buffered read that the page cache answered, and files that
//! were unlinked again before anything wrote them out. A check reads what its format asks for, which
//! no workload can know, so it has no such evidence at all. A scan reads past every cache: the device must have
//! moved what it asked for, and no more. Where it moved a little more, another program may have caused it, and nothing is shown.

use std::fs;

use probe::diskstats::{self, Counters, Identity};
use record::{Evidence, Sample};
use study::Clock;
use workload::PhaseReport;

/// A reading of the device's counters.
pub(crate) type Reading = (Identity, Counters);

/// The counters of `device`, now.
pub(crate) fn now(device: Option<&str>) -> Option<Reading> {
    let text = fs::read_to_string("/proc/diskstats").ok()?;
    diskstats::find(&text, device?)
}

/// Bytes that other programs may read from a device in that time: libblkid looks at every device when one is mounted
/// anywhere, and was seen to read 1.02 MiB of each.
const LOOKED_AT: u64 = 2 << 20;

/// Holds the bytes of a phase against the device's sector counters; 1 % is allowed for blocks that a
/// neighbour of the phase moved. `kept`: whether what it wrote is still there when it ends.
pub(crate) fn evidence(
    phase: &PhaseReport,
    kept: bool,
    before: Option<Reading>,
    after: Option<Reading>,
) -> Evidence {
    let reported = |holds: Option<bool>, detail: String| Evidence {
        phase: Some(phase.name.clone()),
        name: "bytes_on_device".into(),
        holds,
        detail,
    };
    let scans = phase.name.starts_with("scan");
    if phase.bytes_transferred == 0 && !scans {
        return reported(None, "the phase moved no bytes".into());
    }
    let (Some((was, before)), Some((is, after))) = (before, after) else {
        let why = "no block device of its own: its counters cannot be read";
        return reported(None, why.into());
    };
    let delta = match before.delta(&was, &after, &is) {
        Ok(delta) => delta,
        Err(error) => return reported(None, error.to_string()),
    };
    let (read, written) = (delta.sectors_read() * 512, delta.sectors_written() * 512);
    let asked = phase.bytes_transferred;
    let seen = match phase.name.as_str() {
        MIX => read + written,
        name if writes(name) => written,
        _ => read,
    };
    let more = seen.saturating_sub(asked + asked / 100);
    if scans && (1..=LOOKED_AT).contains(&more) {
        let why = format!(
            "the pass asked for {asked} bytes and the device read {seen}: as much more as a mount of a filesystem \
             reads of every device"
        );
        return reported(None, why);
    }
    let whole = seen * 100 >= asked * 99 && !(scans && more > 0);
    // What may fall short without a fault.
    let may = if writes(&phase.name) {
        !kept
    } else {
        !shown(phase, "direct_io_honoured") && !shown(phase, "cold_cache")
    };
    reported(
        (whole || !may).then_some(whole),
        format!("moved {asked} bytes; the device read {read} and wrote {written}"),
    )
}

/// What the device did in a phase, by its counters: bytes and completed requests. None without a
/// device of its own. They are exact where telemetry has only rows around the phase.
pub(crate) fn samples(
    phase: &PhaseReport,
    before: Option<&Reading>,
    after: Option<&Reading>,
) -> Vec<Sample> {
    let (Some((was, before)), Some((is, after))) = (before, after) else {
        return Vec::new();
    };
    let Ok(delta) = before.delta(was, after, is) else {
        return Vec::new();
    };
    let [reads, _, read, _, writes, _, written, ..] = delta.0;
    let figures = [
        ("device_read", read * 512, "bytes"),
        ("device_written", written * 512, "bytes"),
        ("read_requests", reads, "count"),
        ("write_requests", writes, "count"),
    ];
    let sample = |(metric, value, unit): (&str, u64, &str)| Sample {
        phase: phase.name.clone(),
        metric: metric.into(),
        clock: Clock::Original,
        value: value as f64,
        unit: unit.into(),
    };
    figures.map(sample).into()
}

/// The phase whose bytes go both ways. Buffered, its blocks are read from the page cache and written together.
const MIX: &str = "mix";

/// Whether the bytes of a phase go to the device.
fn writes(phase: &str) -> bool {
    phase.contains("write")
        || phase.starts_with("age_")
        || matches!(phase, "fill" | "initial_create")
}

fn shown(phase: &PhaseReport, name: &str) -> bool {
    let mut found = phase.evidence.iter();
    found.any(|found| found.name == name && found.holds == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(line: &str) -> Option<Reading> {
        diskstats::parse_line(line)
    }

    fn phase(name: &str, bytes: u64, shows: &str) -> PhaseReport {
        PhaseReport {
            name: name.into(),
            bytes_transferred: bytes,
            evidence: vec![workload::Evidence {
                name: shows.into(),
                holds: Some(true),
                detail: String::new(),
            }],
            ..PhaseReport::default()
        }
    }

    /// The device wrote 512 KiB and read nothing.
    fn holds(phase: &PhaseReport, kept: bool) -> Option<bool> {
        let before = reading("7 0 loop0 0 0 100 0 0 0 200 0 0 0 0 0 0 0 0 0 0");
        let after = reading("7 0 loop0 0 0 100 0 0 0 1224 0 0 0 0 0 0 0 0 0 0");
        evidence(phase, kept, before, after).holds
    }

    #[test]
    fn bytes_are_held_against_the_devices_sectors() {
        let direct = "direct_io_honoured";
        assert_eq!(
            holds(&phase("rewrite", 1024 * 512, direct), true),
            Some(true)
        );
        assert_eq!(
            holds(&phase("rewrite", 1100 * 512, direct), true),
            Some(false)
        );
        assert_eq!(
            holds(&phase("read", 1024 * 512, direct), true),
            Some(false),
            "nothing was read"
        );
        assert_eq!(
            holds(&phase("read", 1024 * 512, "file_state"), true),
            None,
            "a warm buffered read proves nothing"
        );
        assert_eq!(
            holds(&phase("read", 1024 * 512, "cold_cache"), true),
            Some(false),
            "a cold one must come from the device"
        );
        let none = evidence(&phase("read", 1, direct), true, None, None);
        assert_eq!(none.holds, None);
    }

    #[test]
    fn a_mixture_has_moved_its_bytes_both_ways() {
        let holds = |sectors: u64, shows| {
            let before = reading("7 0 loop0 0 0 100 0 0 0 200 0 0 0 0 0 0 0 0 0 0");
            let after = reading("7 0 loop0 0 0 1124 0 0 0 1224 0 0 0 0 0 0 0 0 0 0");
            evidence(&phase("mix", sectors * 512, shows), true, before, after).holds
        };
        assert_eq!(holds(2048, "direct_io_honoured"), Some(true));
        assert_eq!(holds(2200, "direct_io_honoured"), Some(false));
        assert_eq!(
            holds(2200, "mixture"),
            None,
            "the page cache may have the rest"
        );
    }

    #[test]
    fn a_scan_has_read_what_it_asked_for_and_no_more() {
        let before = reading("7 0 loop0 0 0 100 0 0 0 200 0 0 0 0 0 0 0 0 0 0");
        let after = reading("7 0 loop0 0 0 16484 0 0 0 200 0 0 0 0 0 0 0 0 0 0");
        let holds = |bytes| {
            let phase = phase("scan_pass_1", bytes, "direct_io_honoured");
            evidence(&phase, true, before.clone(), after.clone()).holds
        };
        assert_eq!(holds(8 << 20), Some(true));
        assert_eq!(holds((8 << 20) - 70_000), Some(true), "a percent more");
        assert_eq!(holds(7 << 20), None, "another process may have read it");
        assert_eq!(holds(6 << 20), None);
        assert_eq!(holds(9 << 20), Some(false), "some came from elsewhere");
        assert_eq!(holds(4 << 20), Some(false), "another process read");
        assert_eq!(
            holds(0),
            Some(false),
            "all from the reader's cache, and the device read"
        );
    }

    #[test]
    fn a_phase_reports_what_the_device_did() {
        let before = reading("7 0 loop0 5 0 100 0 10 0 200 0 0 0 0 0 0 0 0 0 0");
        let after = reading("7 0 loop0 6 0 108 0 14 9 1224 0 0 0 0 0 0 0 0 0 0");
        let found = samples(&phase("write", 1, ""), before.as_ref(), after.as_ref());
        let reported: Vec<(&str, f64)> =
            found.iter().map(|s| (s.metric.as_str(), s.value)).collect();
        assert_eq!(
            reported,
            [
                ("device_read", 4096.0),
                ("device_written", 524_288.0),
                ("read_requests", 1.0),
                ("write_requests", 4.0)
            ]
        );
        assert_eq!(samples(&phase("write", 1, ""), None, None), []);
    }

    #[test]
    fn files_unlinked_again_need_not_have_been_written() {
        for name in ["fill", "age_fill", "age_add"] {
            assert_eq!(holds(&phase(name, 1024 * 512, ""), true), Some(true));
            assert_eq!(holds(&phase(name, 9999 * 512, ""), true), Some(false));
            assert_eq!(holds(&phase(name, 9999 * 512, ""), false), None);
        }
        assert_eq!(holds(&phase("age_remove", 0, ""), true), None);
    }

    #[test]
    fn another_device_of_the_same_name_is_not_compared() {
        let before = reading("7 0 loop0 0 0 100 0 0 0 200 0 0 0 0 0 0 0 0 0 0");
        let after = reading("7 1 loop0 0 0 100 0 0 0 999 0 0 0 0 0 0 0 0 0 0");
        let found = evidence(&phase("rewrite", 1, ""), true, before, after);
        assert_eq!(found.holds, None);
        assert!(
            found.detail.contains("not the device it was"),
            "{}",
            found.detail
        );
    }
}
