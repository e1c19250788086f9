//! Times in the unit that suits them.

use crate::number::significant;

/// Seconds of something that is waited for: `45 s`, `3 min 20 s`, `5 h 10 min`.
pub fn clock_time(seconds: f64) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 3600;
    let whole = seconds.round().max(0.0) as u64;
    if whole < MINUTE {
        format!("{whole} s")
    } else if whole < HOUR {
        format!("{} min {} s", whole / MINUTE, whole % MINUTE)
    } else {
        format!("{} h {} min", whole / HOUR, whole % HOUR / MINUTE)
    }
}

/// Seconds that were measured, three significant digits: `1.25 s`, `310 ms`, `84 us`.
pub fn short_time(seconds: f64) -> String {
    match seconds.abs() {
        0.0 => "0 s".to_owned(),
        s if s >= 1.0 => format!("{} s", significant(seconds)),
        s if s >= 1e-3 => format!("{} ms", significant(seconds * 1e3)),
        _ => format!("{} us", significant(seconds * 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_counted_in_seconds_minutes_and_hours() {
        let seconds = [-1.0, 0.4, 42.4, 200.0, 7500.0, 18_600.0];
        let written = [
            "0 s",
            "0 s",
            "42 s",
            "3 min 20 s",
            "2 h 5 min",
            "5 h 10 min",
        ];
        assert_eq!(seconds.map(clock_time), written);
    }

    #[test]
    fn measured_times_have_three_digits() {
        let seconds = [0.0, 0.000_084, 0.3104, 1.25, 137.4];
        let written = ["0 s", "84 us", "310 ms", "1.25 s", "137 s"];
        assert_eq!(seconds.map(short_time), written);
    }
}
