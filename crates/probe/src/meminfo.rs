//! `/proc/meminfo`: where memory is, in KiB.
//!
//! The kernel writes `kB` and means 1024 bytes. Lines without a unit (huge page counts) are kept
//! as the plain numbers they are.

use std::collections::BTreeMap;

/// Keys the sampler follows, with its column names.
pub const SAMPLED: [(&str, &str); 9] = [
    ("MemFree", "mem.free"),
    ("MemAvailable", "mem.available"),
    ("Cached", "mem.cached"),
    ("Active(file)", "mem.active_file"),
    ("Inactive(file)", "mem.inactive_file"),
    ("Dirty", "mem.dirty"),
    ("Writeback", "mem.writeback"),
    ("Slab", "mem.slab"),
    ("Buffers", "mem.buffers"),
];

/// Splits one line: `MemFree:   24111652 kB` to `("MemFree", 24111652)`.
pub fn parse_line(line: &str) -> Option<(&str, u64)> {
    let (key, rest) = line.split_once(':')?;
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some((key.trim(), value))
}

/// Every line that parses, by key.
pub fn parse(text: &str) -> BTreeMap<&str, u64> {
    text.lines().filter_map(parse_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sampled_keys_are_in_a_real_file() {
        let map = parse(include_str!("../tests/data/small/proc/meminfo"));
        assert_eq!(map["MemTotal"], 8_174_288);
        assert_eq!(map["Active(file)"], 30_384);
        for (key, _) in SAMPLED {
            assert!(map.contains_key(key), "{key}");
        }
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(line in ".{0,100}") {
            let _ = parse_line(&line);
        }
    }
}
