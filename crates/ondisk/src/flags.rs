//! Names of flags: tables of bits and the names that a format's own tools print.

/// Names of the set bits, by their values; a bit without a name is shown as `0x..`. A value of
/// several bits must precede those of its single bits.
pub fn names(mut bits: u64, table: &[(u64, &str)]) -> Vec<String> {
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
