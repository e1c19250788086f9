//! When a fact is equal on both sides.
//!
//! Most facts are equal when their text is. Three kinds are compared with a tolerance, or every comparison
//! of trials in a guest would be called unfair, since each trial there is its own boot:
//!
//! - **Values derived from the memory size.** A kernel computes MemTotal without its image and tables, and
//!   derives limits of processes and signals, reserves and the inodes of a tmpfs from it. Over 174 boots
//!   of guests with 2 GiB it varied by 0.01 % under QEMU, and by 0.94 % (19 MiB) in User-mode Linux, which
//!   places its memory at a random address after its image. Such items are equal within 1 % or, where
//!   that is more, within the share that 32 MiB are of the smaller memory.
//! - **Words of the kernel's command line that name a descriptor** (`initrd=/proc/self/fd/6`): this is how
//!   the lab passes a disk or an archive to User-mode Linux. The number of disks is in the device's facts.
//! - **Numbers of loop devices in limits of I/O** (`7:0 36700160`): each trial attaches its image to the first loop
//!   device that is free. The same limit on another one is the same limit.
//!
//! Rejected: to mark such items volatile. A side with 2 GiB and one with 4 would then look equal.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::evidence::CellEvidence;

/// Share by which items of memory may differ.
const SHARE: f64 = 0.01;
/// Difference in KiB that a boot may make, where that is more.
const BOOT_KIB: f64 = 32.0 * 1024.0;

const MEMORY: &str = "context.memory.total_kib";
const COMMAND_LINE: &str = "context.system.kernel.command_line";
const IO_LIMITS: &str = "context.cgroup.limits.io";
/// Major number of loop devices (Documentation/admin-guide/devices.txt).
const LOOP: &str = "7";

/// Items that the kernel derives from the memory it found; `<node>` is any one word.
const OF_MEMORY: [&str; 6] = [
    MEMORY,
    "context.numa.node.<node>.memory_kib",
    "context.process.limits.pending_signals",
    "context.process.limits.processes",
    "context.vm.min_free_kbytes",
    "context.filesystem.host.inodes",
];

/// Whether a fact is equal on both sides: each value of one has its equal on the other, in any order.
/// `None` where a side does not have it.
pub(crate) fn alike(name: &str, one: &CellEvidence, other: &CellEvidence) -> Option<bool> {
    let (a, b) = (one.facts.get(name)?, other.facts.get(name)?);
    let like: &dyn Fn(&str, &str) -> bool = if is_of_memory(name) {
        let share = allowance(&one.facts, &other.facts);
        &move |a, b| near(&parsed(a), &parsed(b), share)
    } else if name == COMMAND_LINE {
        &|a, b| words(a).eq(words(b))
    } else if name == IO_LIMITS {
        &|a, b| without_loop_numbers(a) == without_loop_numbers(b)
    } else {
        &|a, b| a == b
    };
    let within = |few: &[String], many: &[String]| {
        (few.iter()).all(|value| many.iter().any(|known| like(value, known)))
    };
    Some(within(a, b) && within(b, a))
}

fn is_of_memory(name: &str) -> bool {
    OF_MEMORY
        .iter()
        .any(|known| match known.split_once("<node>") {
            None => *known == name,
            Some((begin, end)) => (name.strip_prefix(begin))
                .and_then(|rest| rest.strip_suffix(end))
                .is_some_and(|node| !node.contains('.')),
        })
}

/// The share by which items of memory of these two may differ.
fn allowance(one: &BTreeMap<String, Vec<String>>, other: &BTreeMap<String, Vec<String>>) -> f64 {
    let all = [one, other]
        .into_iter()
        .filter_map(|facts| facts.get(MEMORY));
    let least = all
        .flatten()
        .filter_map(|text| text.parse::<f64>().ok())
        .filter(|kib| *kib > 0.0)
        .reduce(f64::min);
    least.map_or(SHARE, |kib| SHARE.max(BOOT_KIB / kib))
}

/// The value that a fact's text was made of.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Whether two values are the same, numbers in them within a share of the larger.
fn near(one: &Value, other: &Value, share: f64) -> bool {
    if let (Some(a), Some(b)) = (one.as_object(), other.as_object()) {
        let like = |(key, value)| b.get(key).is_some_and(|other| near(value, other, share));
        return a.len() == b.len() && a.iter().all(like);
    }
    let numbers = number(one).zip(number(other));
    one == other || numbers.is_some_and(|(a, b)| (a - b).abs() <= share * a.abs().max(b.abs()))
}

/// Limits are numbers in quotes, beside `unlimited`.
fn number(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
    number.is_finite().then_some(number)
}

/// The words of a command line that name no descriptor.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let all = line.split_ascii_whitespace();
    all.filter(|word| !word.contains("=/proc/self/fd/"))
}

/// A text in which every loop device has the same number.
fn without_loop_numbers(text: &str) -> String {
    let parts = text.split_inclusive(|c: char| !c.is_ascii_digit() && c != ':');
    let parts = parts.map(|part| {
        let device = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        match device.split_once(':') {
            Some((LOOP, minor)) if !minor.is_empty() => {
                format!("{LOOP}:{}", &part[device.len()..])
            }
            _ => part.to_owned(),
        }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_on_another_loop_device_is_the_same_limit() {
        let limits = |device: &str, rate: &str| {
            format!(r#"[{{"file":"io.max","levels_up":0,"value":"{device} rbps={rate}"}}]"#)
        };
        let one = limits("7:0", "36700160");
        assert_eq!(
            same(IO_LIMITS, &one, &limits("7:12", "36700160")),
            Some(true)
        );
        assert_eq!(
            same(IO_LIMITS, &one, &limits("7:0", "70000000")),
            Some(false)
        );
        // A disk is another disk, and a number in another place is no device.
        assert_eq!(
            same(IO_LIMITS, &limits("8:0", "1"), &limits("8:16", "1")),
            Some(false)
        );
        assert_eq!(same(IO_LIMITS, "17:0 5", "17:1 5"), Some(false));
        assert_eq!(same(IO_LIMITS, "7: 5", "7: 6"), Some(false));
    }

    fn side(facts: &[(&str, &[&str])]) -> CellEvidence {
        let mut side = CellEvidence::default();
        for (name, values) in facts {
            for value in *values {
                side.add_fact(name, value);
            }
        }
        side
    }

    fn same(name: &str, one: &str, other: &str) -> Option<bool> {
        alike(name, &side(&[(name, &[one])]), &side(&[(name, &[other])]))
    }

    #[test]
    fn memory_is_alike_within_what_a_boot_takes() {
        // Two boots of User-mode Linux with 2 GiB.
        assert_eq!(same(MEMORY, "2031024", "2050292"), Some(true));
        assert_eq!(same(MEMORY, "2021440", "2021308"), Some(true));
        assert_eq!(same(MEMORY, "2021440", "4118592"), Some(false));
        assert_eq!(same(MEMORY, "2021440", "2097152"), Some(false), "3.6 %");
        // The same 19 MiB of a small guest; of a large one 1 % is what counts.
        assert_eq!(same(MEMORY, "500000", "519268"), Some(true));
        assert_eq!(same(MEMORY, "66114888", "65500000"), Some(true));
        assert_eq!(same(MEMORY, "66114888", "65000000"), Some(false));
    }

    #[test]
    fn limits_that_follow_from_memory_have_its_allowance() {
        let limits = "context.process.limits.processes";
        let of = |hard, soft| format!(r#"{{"hard":"{hard}","soft":"{soft}"}}"#);
        let same = |a: &str, b: &str| same(limits, a, b);
        assert_eq!(same(&of("7717", "7717"), &of("7716", "7716")), Some(true));
        assert_eq!(same(&of("7717", "7717"), &of("15400", "7717")), Some(false));
        assert_eq!(
            same(&of("7717", "7717"), &of("unlimited", "7717")),
            Some(false)
        );
        // In a small guest as much as its memory: 19 of 488 MiB are 3.9 %.
        let small = |memory: &str, limit| side(&[(MEMORY, &[memory]), (limits, &[limit])]);
        let (a, b) = (of("1900", "1900"), of("1973", "1973"));
        let (one, other) = (small("500000", &a), small("519268", &b));
        assert_eq!(alike(limits, &one, &other), Some(true));
        assert_eq!(same(&a, &b), Some(false), "nothing is known of the memory");
    }

    #[test]
    fn other_items_are_alike_word_for_word() {
        assert_eq!(same("context.vm.dirty_ratio", "1000", "1001"), Some(false));
        assert_eq!(
            same("context.numa.node.node0.memory_kib", "1000", "1001"),
            Some(true)
        );
        assert_eq!(
            same("context.numa.node.node0.distance", "1000", "1001"),
            Some(false)
        );
        assert_eq!(same("device.size", "1000", "1000"), Some(true));
        assert_eq!(
            alike("device.size", &side(&[("device.size", &["1"])]), &side(&[])),
            None
        );
    }

    #[test]
    fn the_order_of_trials_is_no_difference() {
        let (one, other) = (side(&[("x", &["a", "b"])]), side(&[("x", &["b", "a"])]));
        assert_eq!(alike("x", &one, &other), Some(true));
        let (one, other) = (side(&[("x", &["a", "b"])]), side(&[("x", &["b"])]));
        assert_eq!(alike("x", &one, &other), Some(false));
    }

    #[test]
    fn descriptors_of_a_guest_are_no_difference_of_its_command_line() {
        let one = "mem=2048M initrd=/proc/self/fd/6 ubda=/proc/self/fd/5,,disk0 root=98:0";
        let other = "mem=2048M initrd=/proc/self/fd/5 root=98:0";
        assert_eq!(same(COMMAND_LINE, one, other), Some(true));
        let more = "mem=4096M initrd=/proc/self/fd/5 root=98:0";
        assert_eq!(same(COMMAND_LINE, one, more), Some(false));
    }
}
