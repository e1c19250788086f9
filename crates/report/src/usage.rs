//! GNU time's two lines.
//!
//! The mail of 2010 shows `time`'s default output below each dd, and its readers argued from it:
//! 98 % of a CPU, so the writer is the limit; 53 %, so it sleeps. Every timed phase has the same two
//! lines here, in GNU time's own format: `%Uuser %Ssystem %Eelapsed %PCPU (%Xavgtext+%Davgdata
//! %Mmaxresident)k`, newline, `%Iinputs+%Ooutputs (%Fmajor+%Rminor)pagefaults %Wswaps`.
//!
//! Times are cut, not rounded, as GNU time cuts them. The averages and swaps are 0 on Linux, which does
//! not count them; maxresident is KiB as the kernel says it (GNU time up to 1.7 printed four times
//! that), inputs and outputs are blocks of 512 bytes.

use record::Usage;

/// Who the lab's own workloads' usage is recorded of.
pub(crate) const OWN: &str = "fslab";

/// What is inside `elapsed` of the lab's own workloads: more than what the original's clock has.
pub const ELAPSED: &str =
    "elapsed, of fslab's own workloads, goes on to the end of syncfs: clock (c)";

/// GNU time's two lines.
pub fn gnu_time(usage: &Usage) -> [String; 2] {
    [
        format!(
            "{}user {}system {}elapsed {}CPU (0avgtext+0avgdata {}maxresident)k",
            hundredths(usage.user),
            hundredths(usage.system),
            elapsed(usage.elapsed),
            percent(usage),
            usage.max_rss
        ),
        format!(
            "{}inputs+{}outputs ({}major+{}minor)pagefaults 0swaps",
            usage.inputs, usage.outputs, usage.major_faults, usage.minor_faults
        ),
    ]
}

/// What GNU time leaves out and its manual offers as %w and %c: `12 voluntary and 3 involuntary
/// context switches`.
pub fn switches(usage: &Usage) -> String {
    format!(
        "{} voluntary and {} involuntary context switches",
        usage.voluntary_switches, usage.involuntary_switches
    )
}

/// Whole units of `1 / per` s. What was measured is microseconds; half of one mends what the
/// conversion to a float took away.
fn cut(seconds: f64, per: f64) -> u64 {
    // A negative or missing time is 0, one beyond the range the largest: float casts saturate.
    ((seconds + 5e-7) * per) as u64
}

fn hundredths(seconds: f64) -> String {
    let all = cut(seconds, 100.0);
    format!("{}.{:02}", all / 100, all % 100)
}

/// `m:ss.cc`; from one hour on `h:mm:ss`.
fn elapsed(seconds: f64) -> String {
    let all = cut(seconds, 100.0);
    let (whole, rest) = (all / 100, all % 100);
    if whole >= 3600 {
        format!("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
    } else {
        format!("{}:{:02}.{rest:02}", whole / 60, whole % 60)
    }
}

/// Share of the elapsed time on a CPU, in whole per cent, cut; `?%` without a time.
fn percent(usage: &Usage) -> String {
    let busy = u128::from(cut(usage.user, 1000.0)) + u128::from(cut(usage.system, 1000.0));
    match u128::from(cut(usage.elapsed, 1000.0)) {
        0 => "?%".to_owned(),
        elapsed => format!("{}%", busy * 100 / elapsed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(elapsed: f64, user: f64, system: f64) -> Usage {
        Usage {
            elapsed,
            user,
            system,
            max_rss: 7312,
            major_faults: 1,
            minor_faults: 495,
            ..Usage::default()
        }
    }

    #[test]
    fn the_lines_of_2010() {
        assert_eq!(
            gnu_time(&usage(17.99, 0.03, 16.10)),
            [
                "0.03user 16.10system 0:17.99elapsed 89%CPU (0avgtext+0avgdata 7312maxresident)k",
                "0inputs+0outputs (1major+495minor)pagefaults 0swaps",
            ]
        );
    }

    #[test]
    fn elapsed_has_hours_from_one_hour_on() {
        let written = [
            0.0,
            59.999,
            60.0,
            3599.99,
            3600.0,
            11865.245,
            100.0 * 3600.0,
        ]
        .map(elapsed);
        let wanted = [
            "0:00.00",
            "0:59.99",
            "1:00.00",
            "59:59.99",
            "1:00:00",
            "3:17:45",
            "100:00:00",
        ];
        assert_eq!(written, wanted);
    }

    #[test]
    fn per_cent_is_cut_and_needs_a_time() {
        // 16.13 / 17.99 = 89.66 %.
        assert_eq!(percent(&usage(17.99, 0.03, 16.10)), "89%");
        assert_eq!(percent(&usage(0.0, 0.0, 0.0)), "?%");
        assert_eq!(percent(&usage(1.0, 1.5, 0.5)), "200%");
        assert_eq!(percent(&usage(f64::NAN, -1.0, f64::INFINITY)), "?%");
    }

    proptest::proptest! {
        #[test]
        fn hundredths_of_microseconds_are_exact(micros in 0u64..1 << 40) {
            // Every number of microseconds, as a float of seconds, is cut like GNU time cuts it.
            let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
            let wanted = format!("{seconds}.{:02}", rest / 10_000);
            proptest::prop_assert_eq!(hundredths(micros as f64 / 1e6), wanted);
        }
    }
}
