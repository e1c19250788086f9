//! Numbers of a job file: sizes and times with fio's suffixes.

/// fio's `kb_base`: what `k` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum KbBase {
    /// `k`, `kb` and `ki` are 1024 and `kib` is 1000: fio's default, for old job files.
    #[default]
    Binary,
    /// `k`, `kb` and `ki` are 1000 and `kib` is 1024.
    Decimal,
}

impl KbBase {
    /// The unit to the power of which a suffix multiplies: `k` or `kib`.
    const fn unit(self, ib: bool) -> u64 {
        match (self, ib) {
            (KbBase::Binary, false) | (KbBase::Decimal, true) => 1024,
            (KbBase::Binary, true) | (KbBase::Decimal, false) => 1000,
        }
    }
}

/// A size: `4096`, `0x1000`, `4k`, `1m`, `2G`. `None`: it is none, or too large.
///
/// Suffixes are those of fio 3.33 as it was seen to read them, either case.
pub(super) fn bytes(text: &str, base: KbBase) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let end = lower
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(lower.len());
    let (digits, suffix) = lower.split_at(end);
    let number: u64 = digits.parse().ok()?;
    let (unit, ib) = match suffix {
        "" | "b" => return Some(number),
        _ => (suffix.chars().next()?, suffix.ends_with("ib")),
    };
    let power = "kmgtp".find(unit)? + 1;
    if !matches!(&suffix[1..], "" | "b" | "i" | "ib") {
        return None;
    }
    let factor = base.unit(ib).checked_pow(power as u32)?;
    number.checked_mul(factor)
}

/// A number of seconds: `30`, `30s`, `5m`, `500ms`, `2h`, `1d`, `10us`.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let end = lower
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(lower.len());
    let (digits, suffix) = lower.split_at(end);
    let number: u64 = digits.parse().ok()?;
    let unit = match suffix {
        "us" | "usec" => 1e-6,
        "ms" | "msec" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Some(number as f64 * unit)
}

/// A number without a suffix.
pub(super) fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

/// A switch; the key alone is on.
pub(super) fn switch(text: Option<&str>) -> Option<bool> {
    match text {
        None | Some("1" | "true") => Some(true),
        Some("0" | "false") => Some(false),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fio 3.33 transferred for each of these as `size`.
    #[test]
    fn suffixes_mean_what_fio_was_seen_to_read() {
        let both = |text| (bytes(text, KbBase::Binary), bytes(text, KbBase::Decimal));
        for text in ["16k", "16K", "16kb", "16ki", "16KB"] {
            assert_eq!(both(text), (Some(16_384), Some(16_000)), "{text}");
        }
        for text in ["16kib", "16KiB"] {
            assert_eq!(both(text), (Some(16_000), Some(16_384)), "{text}");
        }
        for text in ["0x4000", "16384", "16384b"] {
            assert_eq!(both(text), (Some(16_384), Some(16_384)), "{text}");
        }
        assert_eq!(both("2g").0, Some(2 << 30));
        assert_eq!(both("1p").0, Some(1 << 50));
        for text in [
            "",
            "k",
            "x",
            "1x",
            "1.5k",
            "-4k",
            "4ki2",
            "1 k",
            "0x",
            "4k-8k",
            "50%",
            "99999999p",
            "ä",
            "1é",
            "1e3",
        ] {
            assert_eq!(both(text), (None, None), "{text}");
        }
    }

    #[test]
    fn times_are_seconds_without_a_suffix() {
        let known = [
            ("30", 30.0),
            ("30s", 30.0),
            ("5m", 300.0),
            ("2h", 7200.0),
            ("1d", 86_400.0),
        ];
        for (text, value) in known {
            assert_eq!(seconds(text), Some(value), "{text}");
        }
        assert!((seconds("500ms").unwrap() - 0.5).abs() < 1e-12);
        for text in ["", "s", "-1", "0.5", "5min", "1w"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
