//! `/proc/vmstat`: what reclaim and writeback did, in pages and events since boot.

use std::collections::BTreeMap;

/// Counters the sampler follows: column, unit, and the keys that are summed into it.
///
/// `allocstall` was one key before 4.10 and is one for each zone since; both forms are summed.
pub const SAMPLED: [(&str, &str, &[&str]); 11] = [
    ("vm.pgscan_kswapd", "pages", &["pgscan_kswapd"]),
    ("vm.pgscan_direct", "pages", &["pgscan_direct"]),
    ("vm.pgsteal_kswapd", "pages", &["pgsteal_kswapd"]),
    ("vm.pgsteal_direct", "pages", &["pgsteal_direct"]),
    (
        "vm.allocstall",
        "count",
        &[
            "allocstall",
            "allocstall_dma",
            "allocstall_dma32",
            "allocstall_normal",
            "allocstall_movable",
            "allocstall_device",
        ],
    ),
    ("vm.pswpin", "pages", &["pswpin"]),
    ("vm.pswpout", "pages", &["pswpout"]),
    ("vm.nr_dirtied", "pages", &["nr_dirtied"]),
    ("vm.nr_written", "pages", &["nr_written"]),
    ("vm.pgmajfault", "count", &["pgmajfault"]),
    (
        "vm.workingset_refault_file",
        "pages",
        &["workingset_refault_file"],
    ),
];

/// Splits one line: `nr_dirtied 994642`.
pub fn parse_line(line: &str) -> Option<(&str, u64)> {
    let mut words = line.split_ascii_whitespace();
    let key = words.next()?;
    let value = words.next()?.parse().ok()?;
    Some((key, value))
}

/// Every line that parses, by key.
pub fn parse(text: &str) -> BTreeMap<&str, u64> {
    text.lines().filter_map(parse_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sampled_counter_has_a_key_in_a_real_file() {
        let map = parse(include_str!("../tests/data/small/proc/vmstat"));
        for (column, _, keys) in SAMPLED {
            assert!(keys.iter().any(|k| map.contains_key(k)), "{column}");
        }
        assert_eq!(map["nr_dirtied"], 994_642);
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(line in ".{0,100}") {
            let _ = parse_line(&line);
        }
    }
}
