//! Names under which tasks are added up.
//!
//! A kworker's name changes with the work it does (`kworker/u8:0-flush-254:0`), and the worker that
//! writes back a disk now may run timers a second later. What a reader asks is how much CPU the
//! flush of that disk took, so workers are added up by the suffix after the pool, and threads that
//! exist once for each CPU or node are added up under one name. Threads of one filesystem or device
//! (`jbd2/loop3-8`, `xfsaild/loop3`, `loop3`) keep their own.

/// Threads whose final number is the node, not the device.
const BY_NODE: [&str; 2] = ["kswapd", "kcompactd"];

/// The name under which a task's CPU time is added up; never empty, without dots, blanks or
/// control characters, so that it can be part of a column name.
pub fn aggregate(comm: &[u8]) -> String {
    let text = String::from_utf8_lossy(comm);
    clean(&reduce(&text))
}

fn reduce(comm: &str) -> String {
    if let Some(rest) = comm.strip_prefix("kworker/") {
        return kworker(rest);
    }
    if let Some((stem, cpu)) = comm.rsplit_once('/')
        && !cpu.is_empty()
        && cpu.bytes().all(|b| b.is_ascii_digit())
    {
        return stem.to_owned();
    }
    let stem = comm.trim_end_matches(|c: char| c.is_ascii_digit());
    if BY_NODE.contains(&stem) {
        return stem.to_owned();
    }
    comm.to_owned()
}

/// `u8:0-flush-254:0` and `1:1H-kblockd` (last work) or `u8:0+flush-254:0` (running it now).
fn kworker(rest: &str) -> String {
    if rest.starts_with("R-") {
        return format!("kworker/{rest}");
    }
    match rest.split_once(['-', '+']) {
        Some((_, queue)) if !queue.is_empty() => format!("kworker/{queue}"),
        _ => "kworker".to_owned(),
    }
}

fn clean(name: &str) -> String {
    let cleaned: String = name
        .chars()
        .map(|c| {
            if c == '.' || c.is_whitespace() || c.is_control() {
                '_'
            } else {
                c
            }
        })
        .collect();
    if cleaned.is_empty() {
        "_".to_owned()
    } else {
        cleaned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_added_up_by_their_queue() {
        for (comm, name) in [
            ("kworker/u8:0-flush-254:0", "kworker/flush-254:0"),
            ("kworker/u9:13+flush-254:0", "kworker/flush-254:0"),
            ("kworker/1:1H-kblockd", "kworker/kblockd"),
            ("kworker/0:2", "kworker"),
            ("kworker/R-xfsalloc", "kworker/R-xfsalloc"),
            (
                "kworker/u8:1-ext4-rsv-conversion",
                "kworker/ext4-rsv-conversion",
            ),
            ("kswapd3", "kswapd"),
            ("ksoftirqd/1", "ksoftirqd"),
            ("migration/0", "migration"),
            ("jbd2/loop3-8", "jbd2/loop3-8"),
            ("xfsaild/loop3", "xfsaild/loop3"),
            ("loop3", "loop3"),
            ("kdamond.0", "kdamond_0"),
            ("my prog", "my_prog"),
            ("", "_"),
        ] {
            assert_eq!(aggregate(comm.as_bytes()), name, "{comm}");
        }
    }

    proptest::proptest! {
        #[test]
        fn names_can_stand_in_columns(comm in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..64)) {
            let name = aggregate(&comm);
            proptest::prop_assert!(!name.is_empty());
            proptest::prop_assert!(!name.contains(['.', ' ', '\n']));
        }
    }
}
