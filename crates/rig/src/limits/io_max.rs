//! Limits by `io.max` (version 2 of the control groups).
//!
//! The root group has no `io.max`, so the process moves into its own group, and the limit goes
//! with that group. What the process submits itself is held. Buffered writes are held as far as the
//! kernel can tell whose pages they are: that needs the memory and io controllers in the same group
//! and a filesystem with cgroup writeback (ext2, ext4, btrfs, XFS). What journal threads and other
//! kernel workers write of their own accord belongs to the root group and is not held; the facts
//! say so. (Documentation/admin-guide/cgroup-v2.rst, "Writeback".)

use std::fs;
use std::path::Path;

use super::{Limits, cannot};
use crate::cgroup::{Group, Hierarchy};
use crate::{Error, Result};

/// Sets the limit in `group`; returns what was read back, in words.
pub(crate) fn set(group: &Group, node: &Path, number: &str, limits: &Limits) -> Result<String> {
    group.set("io.max", &line(number, limits))?;
    let file = group.file("io.max");
    let text = fs::read_to_string(&file)
        .map_err(|error| Error::io(&file, "cannot read the limit back", error))?;
    let seen = parse(&text, number);
    if seen != *limits {
        let why = format!("{} shows {seen} instead of {limits}", file.display());
        return Err(cannot(
            node,
            why,
            "see the kernel log (dmesg) for the cause",
        ));
    }
    Ok(format!(
        "by cgroup v2 io.max in {}; read back for {number}: {seen}; buffered writes are held where the filesystem \
         attributes writeback to the group that dirtied it, what journal threads write is not",
        group.folder().display()
    ))
}

/// `7:0 rbps=1048576 wbps=max riops=max wiops=max`.
fn line(number: &str, limits: &Limits) -> String {
    let mut words = vec![number.to_string()];
    for (_, key, rate) in limits.items() {
        let rate = rate.map_or_else(|| "max".into(), |rate| rate.to_string());
        words.push(format!("{key}={rate}"));
    }
    words.join(" ")
}

/// The limits of a device in an `io.max` file.
fn parse(text: &str, number: &str) -> Limits {
    let mut limits = Limits::default();
    let found = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(device, _)| *device == number);
    for word in found.map_or("", |(_, words)| words).split_whitespace() {
        let Some((key, rate)) = word.split_once('=') else {
            continue;
        };
        let rate = rate.parse().ok();
        match key {
            "rbps" => limits.read_bytes = rate,
            "wbps" => limits.write_bytes = rate,
            "riops" => limits.read_ops = rate,
            "wiops" => limits.write_ops = rate,
            _ => {}
        }
    }
    limits
}

/// Limits of this process's group and those above, in words.
pub(crate) fn in_force(tree: &Hierarchy, number: &str) -> Option<String> {
    let found: Vec<String> = tree
        .own
        .ancestors()
        .take_while(|folder| folder.starts_with(&tree.top))
        .filter_map(|folder| {
            let file = folder.join("io.max");
            let limits = parse(&fs::read_to_string(&file).ok()?, number);
            (!limits.is_empty()).then(|| format!("{} shows {limits}", file.display()))
        })
        .collect();
    (!found.is_empty()).then(|| found.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::Version;

    #[test]
    fn a_limit_is_written_as_it_is_read() {
        let limits = Limits {
            read_bytes: Some(1 << 20),
            write_ops: Some(200),
            ..Limits::default()
        };
        let line = line("7:0", &limits);
        assert_eq!(line, "7:0 rbps=1048576 wbps=max riops=max wiops=200");
        assert_eq!(parse(&format!("8:0 rbps=1\n{line}\n"), "7:0"), limits);
        assert_eq!(parse(&line, "7:1"), Limits::default());
        assert_eq!(parse("7:0\n7:0 rbps\n", "7:0"), Limits::default());
    }

    #[test]
    fn limits_of_groups_above_are_found() {
        let top = tempfile::tempdir().unwrap();
        let own = top.path().join("slice/scope");
        fs::create_dir_all(&own).unwrap();
        let above = top.path().join("slice/io.max");
        fs::write(&above, "7:0 rbps=5 wbps=max riops=max wiops=max\n").unwrap();
        let tree = Hierarchy {
            version: Version::V2,
            top: top.path().into(),
            own,
        };
        let found = in_force(&tree, "7:0").unwrap();
        assert_eq!(found, format!("{} shows read 5 B/s", above.display()));
        assert_eq!(in_force(&tree, "7:1"), None);
    }
}
