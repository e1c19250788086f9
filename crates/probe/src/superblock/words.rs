//! Facts as names and values in words, so that a record need not know formats.

use std::collections::BTreeMap;

use super::Features;

/// Names and values in words: `block_size` = `4096`.
pub type Words = BTreeMap<String, String>;

/// Names of the set bits, by their values; a bit without a name is shown as `0x..`. A value of
/// several bits stands before those of its single bits.
pub(super) fn names(mut bits: u64, table: &[(u64, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    for &(bit, name) in table {
        if bits & bit == bit {
            found.push(name.to_string());
            bits &= !bit;
        }
    }
    if bits != 0 {
        found.push(format!("0x{bits:x}"));
    }
    found
}

/// Puts a value under a name.
#[allow(clippy::needless_pass_by_value)] // callers pass numbers and fresh strings
pub(super) fn put(words: &mut Words, name: &str, value: impl ToString) {
    words.insert(name.into(), value.to_string());
}

/// Puts the three sets of feature names.
pub(super) fn put_features(words: &mut Words, features: &Features) {
    put(words, "features_compat", features.compat.join(" "));
    put(words, "features_ro_compat", features.ro_compat.join(" "));
    put(words, "features_incompat", features.incompat.join(" "));
}

/// Seconds since 1970 as RFC 3339; `None` beyond the year 9999.
pub(crate) fn time(seconds: u64) -> Option<String> {
    let seconds = i64::try_from(seconds).ok()?;
    let time = jiff::Timestamp::from_second(seconds).ok()?;
    Some(time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_bits_are_shown() {
        assert_eq!(names(0b101, &[(1, "one")]), ["one", "0x4"]);
        assert_eq!(names(0b1011, &[(1, "a"), (2, "b")]), ["a", "b", "0x8"]);
    }

    #[test]
    fn a_value_of_two_bits_is_not_two_values() {
        let modes = [(0x60, "writeback"), (0x20, "data"), (0x40, "ordered")];
        assert_eq!(names(0x60, &modes), ["writeback"]);
        assert_eq!(names(0x40, &modes), ["ordered"]);
    }
}
