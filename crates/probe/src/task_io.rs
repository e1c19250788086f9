//! `/proc/<pid>/io`: the bytes a process asked for, and those that reached the block layer.
//!
//! `cancelled_write_bytes` is dirty data that was deleted before it was written: what `rm` of a
//! fresh file saves, and what makes bytes on the device fewer than bytes written.

/// Keys with the sampler's columns; all in bytes but the two counts of system calls.
pub const SAMPLED: [(&str, &str, &str); 7] = [
    ("rchar", "self.rchar", "bytes"),
    ("wchar", "self.wchar", "bytes"),
    ("syscr", "self.read_calls", "count"),
    ("syscw", "self.write_calls", "count"),
    ("read_bytes", "self.read_bytes", "bytes"),
    ("write_bytes", "self.write_bytes", "bytes"),
    (
        "cancelled_write_bytes",
        "self.cancelled_write_bytes",
        "bytes",
    ),
];

/// Splits one line: `rchar: 3201`.
pub fn parse_line(line: &str) -> Option<(&str, u64)> {
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sampled_key_is_in_this_process_file() {
        let text = std::fs::read_to_string("/proc/self/io").unwrap();
        for (key, _, _) in SAMPLED {
            assert!(
                text.lines().filter_map(parse_line).any(|(k, _)| k == key),
                "{key}"
            );
        }
        assert_eq!(parse_line("wchar: 7"), Some(("wchar", 7)));
        assert_eq!(parse_line("wchar 7"), None);
    }
}
