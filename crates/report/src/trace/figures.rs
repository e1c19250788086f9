//! How the figures of a trace are written: whole numbers plain, times in microseconds, sizes in the
//! unit that suits the column.

/// Microseconds from seconds: two decimals below 10, one below 1,000, none above; from 100 s on with
/// their unit. A damaged record can be off by centuries, and the column shall bear it.
pub(super) fn micros(seconds: f64) -> String {
    match seconds * 1e6 {
        us if us < 9.995 => format!("{us:.2}"),
        us if us < 999.95 => format!("{us:.1}"),
        us if us < 99_999_999.5 => format!("{us:.0}"),
        us if us < 1e13 => format!("{:.0} s", us / 1e6),
        us => format!("{:.0e} s", us / 1e6),
    }
}

/// Microseconds from ns.
pub(super) fn micros_of(ns: u64) -> String {
    micros(ns as f64 / 1e9)
}

/// KiB: one decimal below 1,000.
pub(super) fn kib(bytes: f64) -> String {
    fixed(bytes / 1024.0)
}

/// MiB: one decimal below 1,000.
pub(super) fn mib(bytes: f64) -> String {
    fixed(bytes / 1_048_576.0)
}

/// One decimal below 1,000, none above.
pub(super) fn fixed(value: f64) -> String {
    match value.abs() {
        size if size < 999.95 => format!("{value:.1}"),
        size if size < 1e8 => format!("{value:.0}"),
        _ => format!("{value:.1e}"),
    }
}

/// `12.3 %`; a dash where there is nothing to have a share of.
pub(super) fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 {
        format!("{:.1} %", 100.0 * part / whole)
    } else {
        "-".into()
    }
}

/// A quotient with one decimal; a dash without a divisor.
pub(super) fn over(part: f64, whole: f64) -> String {
    if whole > 0.0 {
        fixed(part / whole)
    } else {
        "-".into()
    }
}

/// A distance in sectors, as bytes of three digits at most: `0`, `512 B`, `64 KiB`, `1.2 GiB`.
pub(super) fn distance(sectors: f64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = sectors * 512.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match value {
        0.0 => "0".into(),
        v if unit > 0 && v < 9.95 && v.fract() != 0.0 => format!("{v:.1} {}", UNITS[unit]),
        v => format!("{v:.0} {}", UNITS[unit]),
    }
}

/// A power of two of bytes: `4 KiB`, `512 B`.
pub(super) fn power(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 => format!("{} GiB", b >> 30),
        b if b >= 1 << 20 => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_count() {
        let found = [0.000_000_5, 0.000_009_996, 0.000_999_96, 12.0].map(micros);
        assert_eq!(found, ["0.50", "10.0", "1000", "12000000"]);
        assert_eq!([120.0, 1e10].map(micros), ["120 s", "1e10 s"]);
        assert_eq!([999.96, 1e12].map(fixed), ["1000", "1.0e12"]);
        assert_eq!([4096.0, 2_000_000.0].map(kib), ["4.0", "1953"]);
        assert_eq!(
            [512, 4096, 1 << 20, 1 << 32].map(power),
            ["512 B", "4 KiB", "1 MiB", "4 GiB"]
        );
        assert_eq!(
            (percent(1.0, 8.0), percent(0.0, 0.0)),
            ("12.5 %".into(), "-".into())
        );
        assert_eq!(over(3.0, 2.0), "1.5");
        let found = [0.0, 1.0, 2.0, 3.0, 2_100_000.0, 4e19].map(distance);
        assert_eq!(
            found,
            ["0", "512 B", "1 KiB", "1.5 KiB", "1.0 GiB", "17764 EiB"]
        );
    }
}
