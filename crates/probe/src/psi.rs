//! Pressure stall information: `/proc/pressure/*` and a cgroup's `*.pressure`.
//!
//! Source: Documentation/accounting/psi.rst. Only `total` is used, microseconds since boot; the
//! averages lag by their window. `io full` that is high while the device is little busy means tasks
//! throttled in writeback or waiting for locks.

/// Totals of one resource, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// At least one task stalled.
    pub some_us: u64,
    /// All non-idle tasks stalled; `None` where the kernel has no such line (cpu before 5.13).
    pub full_us: Option<u64>,
}

/// Parses a pressure file. `None` without a `some` line that has a total.
pub fn parse(text: &str) -> Option<Pressure> {
    let mut some = None;
    let mut full = None;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let slot = match words.next() {
            Some("some") => &mut some,
            Some("full") => &mut full,
            _ => continue,
        };
        *slot = words
            .find_map(|w| w.strip_prefix("total="))
            .and_then(|t| t.parse().ok());
    }
    Some(Pressure {
        some_us: some?,
        full_us: full,
    })
}

/// Share of an interval that was stalled, in percent: d(total) / T / 10^4.
pub fn percent(before_us: u64, after_us: u64, seconds: f64) -> f64 {
    if seconds <= 0.0 {
        return 0.0;
    }
    after_us.saturating_sub(before_us) as f64 / seconds / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lines_parse() {
        let text = "some avg10=0.88 avg60=0.35 avg300=0.24 total=12563832\n\
                    full avg10=0.88 avg60=0.35 avg300=0.22 total=12063274\n";
        let p = parse(text).unwrap();
        assert_eq!((p.some_us, p.full_us), (12_563_832, Some(12_063_274)));
        assert_eq!(parse("full avg10=0 total=3"), None);
    }

    #[test]
    fn a_whole_second_stalled_in_two_is_half() {
        assert_eq!(percent(5, 1_000_005, 2.0), 50.0);
        assert_eq!(percent(5, 4, 2.0), 0.0);
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(text in "(some|full|avg10=|total=|[0-9 =\n])*") {
            let _ = parse(&text);
        }
    }
}
