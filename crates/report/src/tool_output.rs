//! The original tools' own lines, so that people and programs that read their output can read ours.
//!
//! aiod's layout is not known; its line here gives both units, because the "MB/s" that Dokos
//! mailed in 2008 were MiB/s. dd's lines are GNU dd's, of 2010 (coreutils 8.4) and of today (since
//! 8.26, which adds the binary unit). Sizes and rates are rounded by gnulib's `human_readable`,
//! whose two ways differ: a size has one decimal below 10 (`1.1 GB`, `11 GB`), a rate, which is
//! computed in floating point, has one below 100 (`99.9 MB/s`, `597 MB/s`).

pub mod ior;
pub mod mdtest;
mod spread;

use std::fmt::Write;

/// Version of dd whose words are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// `10737418240 bytes (11 GB) copied, 17.9816 s, 597 MB/s`.
    Of2010,
    /// `10737418240 bytes (11 GB, 10 GiB) copied, 17.9816 s, 597 MB/s`.
    #[default]
    Today,
}

/// `<op> <bytes> bytes in <s> s: <MiB/s> MiB/s (<MB/s> MB/s)`, with a newline.
pub fn aiod_line(operation: &str, bytes: u64, seconds: f64) -> String {
    let rate = if seconds > 0.0 {
        bytes as f64 / seconds
    } else {
        0.0
    };
    format!(
        "{operation} {bytes} bytes in {} s: {:.2} MiB/s ({:.2} MB/s)\n",
        general(seconds),
        rate / 1_048_576.0,
        rate / 1e6
    )
}

/// dd's three lines for a number of whole records.
pub fn dd_lines(records: u64, bytes: u64, seconds: f64, era: Era) -> String {
    let last = dd_last(bytes, seconds, era);
    format!("{records}+0 records in\n{records}+0 records out\n{last}\n")
}

/// The last of them, without its newline.
pub fn dd_last(bytes: u64, seconds: f64, era: Era) -> String {
    let mut text = String::new();
    let si = size(bytes, 1000, "");
    let iec = size(bytes, 1024, "i");
    // A number of bytes below the first prefix is not printed twice.
    let plain = |abbreviation: &str| {
        abbreviation
            .rsplit(' ')
            .next()
            .is_some_and(|unit| unit == "B")
    };
    let noun = if bytes == 1 { "byte" } else { "bytes" };
    // Writing to a String cannot fail.
    let _ = match era {
        Era::Of2010 => write!(text, "{bytes} {noun} ({si}) copied"),
        Era::Today if plain(&si) => write!(text, "{bytes} {noun} copied"),
        Era::Today if plain(&iec) => write!(text, "{bytes} bytes ({si}) copied"),
        Era::Today => write!(text, "{bytes} bytes ({si}, {iec}) copied"),
    };
    let rate = if seconds > 0.0 {
        rate(bytes as f64 / seconds)
    } else {
        "Infinity B".to_owned()
    };
    let _ = write!(text, ", {} s, {rate}/s", general(seconds));
    text
}

const PREFIXES: [&str; 9] = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"];

fn prefix(power: usize, binary: &str) -> String {
    let letter = PREFIXES.get(power).copied().unwrap_or("Y");
    match (letter, binary) {
        ("k", "i") => "Ki".into(),
        ("", _) => String::new(),
        _ => format!("{letter}{binary}"),
    }
}

/// A size as `human_readable` rounds it in integers: to nearest, one decimal below 10.
fn size(bytes: u64, base: u64, binary: &str) -> String {
    let mut power = 0;
    let mut unit = 1_u128;
    while u128::from(bytes) >= unit * u128::from(base) {
        unit *= u128::from(base);
        power += 1;
    }
    if power == 0 {
        return format!("{bytes} B");
    }
    let nearest = |n: u128, unit: u128| {
        let (whole, rest) = (n / unit, n % unit);
        // Ties go to the even one.
        whole + u128::from(2 * rest > unit || (2 * rest == unit && whole % 2 == 1))
    };
    let tenths = nearest(u128::from(bytes) * 10, unit);
    if tenths < 100 {
        return format!("{}.{} {}B", tenths / 10, tenths % 10, prefix(power, binary));
    }
    let whole = nearest(u128::from(bytes), unit);
    if whole == u128::from(base) {
        return format!("1.0 {}B", prefix(power + 1, binary));
    }
    format!("{whole} {}B", prefix(power, binary))
}

/// A rate as `human_readable` rounds it in floating point: at least kB, one decimal below 100.
fn rate(bytes_per_s: f64) -> String {
    let mut power = 1;
    let mut unit = 1000.0;
    while unit * 1000.0 <= bytes_per_s && power + 1 < PREFIXES.len() {
        unit *= 1000.0;
        power += 1;
    }
    let amount = bytes_per_s / unit;
    let decimal = format!("{amount:.1}");
    let digits = if decimal.len() > 4 {
        format!("{amount:.0}")
    } else {
        decimal
    };
    format!("{digits} {}B", prefix(power, ""))
}

/// C's `%g`: six significant digits, no zeros at the end, an exponent for the very small and large.
fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    // The exponent after rounding to six digits.
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trimmed = |digits: &str| {
        if digits.contains('.') {
            digits
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        } else {
            digits.to_owned()
        }
    };
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(digits), exponent.abs());
    }
    let decimals = (5 - exponent) as usize;
    trimmed(&format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_GIB: u64 = 10_737_418_240;

    #[test]
    fn dds_lines_of_both_eras_are_the_mails() {
        // Piszcz, 2010: the XFS run.
        assert_eq!(
            dd_lines(10240, TEN_GIB, 17.9816, Era::Of2010),
            "10240+0 records in\n10240+0 records out\n\
             10737418240 bytes (11 GB) copied, 17.9816 s, 597 MB/s\n"
        );
        assert_eq!(
            dd_lines(10240, TEN_GIB, 17.9816, Era::Today),
            "10240+0 records in\n10240+0 records out\n\
             10737418240 bytes (11 GB, 10 GiB) copied, 17.9816 s, 597 MB/s\n"
        );
    }

    /// What dd 9.1 printed for these bytes and seconds.
    #[test]
    fn dds_last_line_is_dds() {
        for line in [
            "0 bytes copied, 4.1972e-05 s, 0.0 kB/s",
            "999 bytes copied, 0.00142302 s, 702 kB/s",
            "1000 bytes (1.0 kB) copied, 0.00125505 s, 797 kB/s",
            "1024 bytes (1.0 kB, 1.0 KiB) copied, 0.00142404 s, 719 kB/s",
            "99999 bytes (100 kB, 98 KiB) copied, 0.111187 s, 899 kB/s",
            "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.00215863 s, 486 MB/s",
            "512 bytes copied, 0.0003917 s, 1.3 MB/s",
        ] {
            let bytes: u64 = line.split(' ').next().unwrap().parse().unwrap();
            let seconds = line.split("copied, ").nth(1).unwrap();
            let seconds: f64 = seconds.split(' ').next().unwrap().parse().unwrap();
            let text = dd_lines(1, bytes, seconds, Era::Today);
            assert_eq!(text.lines().last(), Some(line));
        }
        assert!(dd_lines(1, 1, 1.0, Era::Of2010).contains("1 byte (1 B) copied, 1 s, 0.0 kB/s"));
        assert!(dd_lines(1, 1, 0.0, Era::Today).ends_with("1 byte copied, 0 s, Infinity B/s\n"));
    }

    /// The dd that is installed, on a file of a size that no table has.
    #[test]
    fn the_installed_dd_rounds_the_same_way() {
        let dir = tempfile::tempdir().unwrap();
        for bytes in [1_u64, 999_499, 1_000_000, 10_239_999, 12_345_678] {
            let output = std::process::Command::new("dd")
                .args(["if=/dev/zero", "bs=64k", "iflag=count_bytes"])
                .arg(format!("count={bytes}"))
                .arg(format!("of={}", dir.path().join("file").display()))
                .env("LC_ALL", "C")
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stderr).unwrap();
            let line = printed.lines().last().unwrap();
            let (theirs, _) = line.split_once(" copied").unwrap();
            let ours = dd_lines(1, bytes, 1.0, Era::Today);
            let (ours, _) = ours.lines().last().unwrap().split_once(" copied").unwrap();
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn sizes_and_rates_round_each_their_way() {
        assert_eq!(size(9_949_999, 1000, ""), "9.9 MB");
        assert_eq!(size(9_950_000, 1000, ""), "10 MB");
        assert_eq!(size(999_500, 1000, ""), "1.0 MB");
        assert_eq!(size(1 << 40, 1024, "i"), "1.0 TiB");
        assert_eq!(size(u64::MAX, 1000, ""), "18 EB");
        assert_eq!(rate(99.94e6), "99.9 MB");
        assert_eq!(rate(99.96e6), "100 MB");
        assert_eq!(rate(1.06e9), "1.1 GB");
        assert_eq!(rate(12.0), "0.0 kB");
    }

    #[test]
    fn seconds_are_printed_by_percent_g() {
        for (value, text) in [
            (17.981_63, "17.9816"),
            (0.0, "0"),
            (1.0, "1"),
            (0.0001, "0.0001"),
            (0.000_041_972, "4.1972e-05"),
            (999_999.6, "1e+06"),
            (49_762.94, "49762.9"),
            (123_456_789.0, "1.23457e+08"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn aiods_line_has_both_units() {
        // Dokos, 2008: 295 and 509 "MB/s", which are MiB/s.
        assert_eq!(
            aiod_line("write", 14_680_064_000_000, 47_457.6),
            "write 14680064000000 bytes in 47457.6 s: 295.00 MiB/s (309.33 MB/s)\n"
        );
        assert_eq!(
            aiod_line("read", 14_680_064_000_000, 27_504.2),
            "read 14680064000000 bytes in 27504.2 s: 509.01 MiB/s (533.74 MB/s)\n"
        );
        assert_eq!(
            dd_last(14_680_064_000_000, 27_504.2, Era::Today),
            "14680064000000 bytes (15 TB, 13 TiB) copied, 27504.2 s, 534 MB/s"
        );
    }
}
