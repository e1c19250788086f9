//! LEB128 and zigzag.

/// Appends a varint.
pub(crate) fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Appends a zigzag varint.
pub(crate) fn put_signed(out: &mut Vec<u8>, n: i64) {
    put(out, ((n << 1) ^ (n >> 63)) as u64);
}

/// Takes a varint off the front; `None` when it is cut off or longer than 64 bits.
pub(crate) fn take(input: &mut &[u8]) -> Option<u64> {
    let mut n = 0_u64;
    for shift in (0..70).step_by(7) {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        n |= bits << shift;
        if byte < 0x80 {
            return Some(n);
        }
    }
    None
}

/// Takes a zigzag varint off the front.
pub(crate) fn take_signed(input: &mut &[u8]) -> Option<i64> {
    take(input).map(|n| (n >> 1) as i64 ^ -((n & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_bytes() {
        let mut out = Vec::new();
        put(&mut out, 300);
        put_signed(&mut out, -1);
        put_signed(&mut out, 1);
        assert_eq!(out, [0xac, 0x02, 0x01, 0x02]);
        assert_eq!(take(&mut [0xff; 11].as_slice()), None);
        assert_eq!(take(&mut [0x80].as_slice()), None);
    }

    proptest! {
        #[test]
        fn put_and_take_are_inverse(n in any::<u64>(), s in any::<i64>()) {
            let mut out = Vec::new();
            put(&mut out, n);
            put_signed(&mut out, s);
            let mut input = out.as_slice();
            prop_assert_eq!(take(&mut input), Some(n));
            prop_assert_eq!(take_signed(&mut input), Some(s));
            prop_assert!(input.is_empty());
        }
    }
}
