//! Limits of the control groups this process lives in: item 11.
//!
//! A limit holds for all groups below it, so each ancestor up to the root is asked, in the unified
//! hierarchy and in the old ones, which may both be mounted.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::collect::Collector;
use super::entry::{Entry, How};
use crate::Roots;
use crate::mountinfo::{self, Mount};

// A table: one item a line.
#[rustfmt::skip]
pub(super) const ENTRIES: &[Entry] = &[
    Entry::new(11, "cgroup.own", How::Computed, "/proc/self/cgroup", "control groups of this process").changing(),
    Entry::new(11, "cgroup.limits.memory", How::Computed, "memory.max, memory.high (v2), memory.limit_in_bytes (v1)", "memory limits in force, own group and ancestors"),
    Entry::new(11, "cgroup.limits.cpu", How::Computed, "cpu.max (v2), cpu.cfs_quota_us (v1)", "CPU limits in force"),
    Entry::new(11, "cgroup.limits.io", How::Computed, "io.max (v2), blkio.throttle.* (v1)", "I/O limits in force"),
];

/// One hierarchy this process is in: `("", "/x")` is the unified one.
fn parse(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            let _hierarchy = parts.next()?;
            Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
        })
        .collect()
}

/// Folder of a group below the mount of its hierarchy, and that mount point.
fn folder(
    mounts: &[Mount],
    controllers: &str,
    group: &str,
    roots: &Roots,
) -> Option<(PathBuf, PathBuf)> {
    let mount = mounts.iter().find(|m| {
        if controllers.is_empty() {
            m.kind == "cgroup2"
        } else {
            m.kind == "cgroup"
                && controllers
                    .split(',')
                    .all(|word| m.super_options.iter().any(|o| o == word))
        }
    })?;
    let root = roots.resolve(mount.point.to_str()?);
    // The mount may show a part of the hierarchy only (a container).
    let below = Path::new(group).strip_prefix(&mount.root).ok()?;
    Some((root.join(below), root))
}

/// The folder of this process's own group in the unified hierarchy, unless it is the root group,
/// which has neither limits nor pressure files.
pub(crate) fn own_unified(roots: &Roots) -> Option<PathBuf> {
    let groups = std::fs::read_to_string(roots.proc.join("self/cgroup")).ok()?;
    let mounts = std::fs::read(roots.proc.join("self/mountinfo")).ok()?;
    let (_, group) = parse(&groups)
        .into_iter()
        .find(|(names, _)| names.is_empty())?;
    let (own, root) = folder(&mountinfo::parse(&mounts), "", &group, roots)?;
    (own != root && own.is_dir()).then_some(own)
}

const FILES: [(&str, &[&str]); 3] = [
    (
        "memory",
        &[
            "memory.max",
            "memory.high",
            "memory.swap.max",
            "memory.limit_in_bytes",
        ],
    ),
    ("cpu", &["cpu.max", "cpu.cfs_quota_us"]),
    (
        "io",
        &[
            "io.max",
            "blkio.throttle.read_bps_device",
            "blkio.throttle.write_bps_device",
            "blkio.throttle.read_iops_device",
            "blkio.throttle.write_iops_device",
        ],
    ),
];

/// Whether a limit file's text sets a limit. v1's "no limit" is -1, or about 2^63 rounded to pages.
fn limits(text: &str) -> bool {
    let first = text.split_ascii_whitespace().next();
    match first {
        None | Some("max" | "-1") => false,
        Some(word) => word.parse::<u64>().map_or(true, |n| n < 1 << 62),
    }
}

pub(super) fn collect(c: &mut Collector<'_>) {
    let groups = match c.read("/proc/self/cgroup") {
        Ok(text) => parse(&text),
        Err(reason) => {
            for entry in ENTRIES {
                c.put::<Value>(entry.name, Err(reason.clone()));
            }
            return;
        }
    };
    let own: serde_json::Map<String, Value> = groups
        .iter()
        .map(|(names, path)| {
            let names = if names.is_empty() { "unified" } else { names };
            (names.to_owned(), Value::from(path.as_str()))
        })
        .collect();
    c.put("cgroup.own", Ok(Value::Object(own)));
    for (resource, files) in FILES {
        let found = in_force(c, &groups, files);
        let name = format!("cgroup.limits.{resource}");
        if found.is_empty() {
            c.put(&name, Ok("none"));
        } else {
            c.put(&name, Ok(found));
        }
    }
}

fn in_force(c: &Collector<'_>, groups: &[(String, String)], files: &[&str]) -> Vec<Value> {
    let mut found = Vec::new();
    for (controllers, group) in groups {
        let Some((own, root)) = folder(&c.mounts, controllers, group, c.roots()) else {
            continue;
        };
        for level in own.ancestors().take_while(|level| level.starts_with(&root)) {
            for file in files {
                let Ok(text) = std::fs::read_to_string(level.join(file)) else {
                    continue;
                };
                if limits(&text) {
                    let depth = own
                        .strip_prefix(level)
                        .map_or(0, |p| p.components().count());
                    found.push(json!({ "file": file, "levels_up": depth, "value": text.trim() }));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_is_written_in_three_ways() {
        for text in ["max\n", "max 100000\n", "-1\n", "9223372036854771712\n", ""] {
            assert!(!limits(text), "{text:?}");
        }
        for text in [
            "1073741824\n",
            "50000 100000\n",
            "254:0 rbps=1048576 wbps=max\n",
        ] {
            assert!(limits(text), "{text:?}");
        }
    }

    #[test]
    fn groups_split_at_the_first_two_colons() {
        assert_eq!(
            parse("4:memory:/a:b\n0::/\n"),
            [
                ("memory".into(), "/a:b".into()),
                (String::new(), "/".into())
            ]
        );
    }
}
