//! How numbers are written, in every format for people.

/// Four significant digits, no exponent: `0.0123`, `1.234`, `12.34`, `1234`, `123456`.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    let decimals = if size >= 1000.0 || size == 0.0 {
        0
    } else if size >= 100.0 {
        1
    } else if size >= 10.0 {
        2
    } else if size >= 1.0 {
        3
    } else if size >= 0.001 {
        4
    } else {
        6
    };
    format!("{value:.decimals$}")
}

/// A ratio: three decimals while it is small. Two blocks give intervals whose ends mean nothing but
/// "wide": they are cut at 100000.
pub(crate) fn ratio(value: f64) -> String {
    if value.abs() >= 1e5 {
        return ">1e5".to_owned();
    }
    let decimals = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// `low..high`, each as `write` writes it.
pub(crate) fn range(low: f64, high: f64, write: fn(f64) -> String) -> String {
    format!("{}..{}", write(low), write(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_whatever_the_size() {
        let written: Vec<String> = [0.0, 0.01234, 1.2344, 12.344, 123.44, 1234.4, -56.6]
            .map(short)
            .into();
        assert_eq!(
            written,
            ["0", "0.0123", "1.234", "12.34", "123.4", "1234", "-56.60"]
        );
        assert_eq!(range(0.99, 12.5, ratio), "0.990..12.50");
    }
}
