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

/// A number of things: whole numbers have no decimals.
pub(crate) fn whole(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        short(value)
    }
}

/// How values of a unit are written.
pub(crate) fn writer(unit: &str) -> fn(f64) -> String {
    match unit {
        "count" => whole,
        _ => short,
    }
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

/// A ratio in a matrix: two decimals where they are significant, three below 0.1.
pub(crate) fn brief_ratio(value: f64) -> String {
    match value.abs() {
        v if v >= 1e5 => ">1e5".to_owned(),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 || v == 0.0 => format!("{value:.2}"),
        v if v >= 0.001 => format!("{value:.3}"),
        _ => "<.001".to_owned(),
    }
}

/// `low-high` in a matrix. A minus sign would look like the hyphen: then two full stops.
pub(crate) fn brief_range(low: f64, high: f64, write: fn(f64) -> String) -> String {
    if low < 0.0 || high < 0.0 {
        return range(low, high, write);
    }
    format!("{}-{}", write(low), write(high))
}

/// Three significant digits: the ends of an interval in a matrix.
pub(crate) fn three(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v if v >= 0.1 => 3,
        v if v >= 0.01 => 4,
        _ => 5,
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
        assert_eq!(
            [7.0, 7.5, 20_000.0].map(writer("count")),
            ["7", "7.500", "20000"]
        );
        assert_eq!(writer("secs")(7.0), "7.000");
    }

    #[test]
    fn a_matrix_is_brief() {
        let ratios = [0.0, 0.0004, 0.0794, 0.512, 1.0, 12.34, 123.4, 2e5].map(brief_ratio);
        let wanted = [
            "0.00", "<.001", "0.079", "0.51", "1.00", "12.3", "123", ">1e5",
        ];
        assert_eq!(ratios, wanted);
        assert_eq!(brief_range(370.4, 1234.5, three), "370-1234");
        assert_eq!(brief_range(0.03101, 4.567, three), "0.0310-4.57");
        assert_eq!(brief_range(-1.0, 2.0, three), "-1.00..2.00");
    }
}
