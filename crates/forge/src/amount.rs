//! Numbers as people write them: `72T`, `400000`, `105M`.

/// Bytes: `k`, `M`, `G`, `T`, `P` stand for powers of 1024, as in mke2fs.
///
/// # Errors
///
/// What is wrong with the text.
pub fn bytes(text: &str) -> Result<u64, String> {
    parse(text, 1024, "72T, 512M or 4096")
}

/// How many: `k`, `M`, `G` stand for powers of 1000, because a hundred million files are not counted in powers of two.
///
/// # Errors
///
/// What is wrong with the text.
pub fn count(text: &str) -> Result<u64, String> {
    parse(text, 1000, "105M, 250k or 3000")
}

fn parse(text: &str, unit: u64, such_as: &str) -> Result<u64, String> {
    let text = text.trim();
    let (digits, power) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1),
        Some((at, 'm' | 'M')) => (&text[..at], 2),
        Some((at, 'g' | 'G')) => (&text[..at], 3),
        Some((at, 't' | 'T')) => (&text[..at], 4),
        Some((at, 'p' | 'P')) => (&text[..at], 5),
        _ => (text, 0),
    };
    let wrong = || format!("{text:?} is not an amount; give one as {such_as}");
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(unit.pow(power)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        assert_eq!(bytes("72T"), Ok(72 << 40));
        assert_eq!(bytes("4k"), Ok(4096));
        assert_eq!(bytes("0"), Ok(0));
        assert_eq!(count("105M"), Ok(105_000_000));
        assert_eq!(count("3k"), Ok(3000));
        for bad in ["", "k", "-1", "1.5M", "1e6", "99999999P", "4é", "+3", "4 k"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
