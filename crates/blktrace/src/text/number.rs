//! Numbers as text, by hand: `format!` costs more than all the rest of a line.

/// Two digits of each number below a hundred.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// Writes a number so that it ends before `end`; where it begins.
#[inline]
pub(super) fn backwards(text: &mut [u8], end: usize, mut number: u64) -> usize {
    let mut at = end;
    while number >= 100 {
        at -= 2;
        text[at..at + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number >= 10 {
        at -= 2;
        text[at..at + 2].copy_from_slice(&PAIRS[number as usize]);
    } else {
        at -= 1;
        text[at] = b'0' + number as u8;
    }
    at
}

/// Writes nine digits, with zeros in front.
#[inline]
pub(super) fn nine_digits(text: &mut [u8], number: u32) {
    let (high, low) = (number / 10_000, number % 10_000);
    text[0] = b'0' + (high / 10_000) as u8;
    let high = high % 10_000;
    for (at, pair) in [
        (1, high / 100),
        (3, high % 100),
        (5, low / 100),
        (7, low % 100),
    ] {
        text[at..at + 2].copy_from_slice(&PAIRS[pair as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_read_as_format_writes_them(
            number in any::<u64>(), shift in 0_u32..64, nanos in 0_u32..1_000_000_000
        ) {
            let mut text = [0; 20];
            let at = backwards(&mut text, 20, number >> shift);
            let expected = format!("{}", number >> shift);
            prop_assert_eq!(std::str::from_utf8(&text[at..]).unwrap(), expected);
            let mut digits = [0; 9];
            nine_digits(&mut digits, nanos);
            prop_assert_eq!(String::from_utf8(digits.to_vec()).unwrap(), format!("{nanos:09}"));
        }
    }
}
