//! What is made and checked: the study, and the rows of the full pass.

use anyhow::{Result, bail};

/// Files of a trial, as the study has them.
pub(crate) const FILES: f64 = 300.0;

const FILESYSTEMS: [&str; 5] = ["ext4", "xfs", "btrfs", "ocfs2", "f2fs"];
const DEVICES: [&str; 12] = [
    "plain",
    "raid0x11",
    "raid1",
    "raid5",
    "raid6",
    "raid10",
    "stripe8",
    "lvm8",
    "delay",
    "flakey",
    "log_writes",
    "null_blk",
];
/// Memory in zones, which btrfs alone of these writes in sequence.
const ZONED: [&str; 2] = ["null_blk-zoned", "btrfs"];

/// Combinations that the short pass leaves out.
const SHORT: &str = r#"
exclude = [
    { filesystem = ["ocfs2", "f2fs"], device = [
        "raid0x11", "raid1", "raid5", "raid6", "raid10", "stripe8", "lvm8", "delay", "flakey", "log_writes", "null_blk",
    ], why = "they are shown on a plain disk" },
    { filesystem = "xfs", device = [
        "raid1", "raid5", "raid6", "raid10", "stripe8", "lvm8", "delay", "flakey", "log_writes", "null_blk",
    ], why = "it is shown on a plain disk and on RAID-0" },
]

[factors]
filesystem = ["ext4", "xfs", "ocfs2", "f2fs"]
device = [
    "plain", "raid0x11", "raid1", "raid5", "raid6", "raid10", "stripe8", "lvm8", "delay", "flakey", "log_writes", "null_blk",
]
"#;

const HEAD: &str = r#"
include = ["defaults.toml"]
name = "guest-pass"
title = "Every device and filesystem in a guest"
question = "Is each made, mounted, filled and checked?"
"#;

/// XFS uses the geometry of an array only from 1 GiB on.
const BODY: &str = r#"
[device]
size = "1g"

[run]
blocks = 1
reference_seconds = 0

[[workload]]
name = "fill"
kind = "fill"
files = 300
processes = 1
size = "1k"
directories = 10
per_directory = 30
keep = true
"#;

const CHECK: &str = "
[check]
enabled = true
";

/// The power of the device is cut when all is filled and synced.
const CUT: &str = r#"
[factors]
filesystem = ["ext4", "xfs", "btrfs"]

[crash]
enabled = true
method = "cut"
"#;

/// The study of the short pass: all its rows.
pub(crate) fn short() -> String {
    [HEAD, SHORT, BODY, CHECK].concat()
}

/// The study of the power cuts.
pub(crate) fn cut() -> String {
    [HEAD, CUT, BODY].concat()
}

/// A device and a filesystem on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// A name of `defaults.toml`, or `plain`.
    pub(crate) device: &'static str,
    /// A filesystem of `defaults.toml`.
    pub(crate) filesystem: &'static str,
}

impl Row {
    /// All that are not refused: every filesystem on every device, and zones where they can be. Those that
    /// show a layer alone come first, so that an interrupted pass covers the most.
    pub(crate) fn all() -> Vec<Row> {
        let mut rows = Vec::new();
        for filesystem in FILESYSTEMS {
            let on = DEVICES.map(|device| Row { device, filesystem });
            rows.extend(on);
        }
        let [device, filesystem] = ZONED;
        rows.push(Row { device, filesystem });
        rows.sort_by_key(|row| !row.shows_a_layer());
        rows
    }

    /// Whether it is one of those that show each layer once, and both geometries.
    pub(crate) fn shows_a_layer(&self) -> bool {
        matches!(
            (self.filesystem, self.device),
            ("ext4", _) | (_, "plain") | ("xfs", "raid0x11") | ("btrfs", "null_blk-zoned")
        )
    }

    /// Its name in tables, and of its folder.
    pub(crate) fn name(self) -> String {
        format!("{} {}", self.device, self.filesystem)
    }

    /// Its place in a table: device by device.
    pub(crate) fn place(self) -> (usize, usize) {
        let at = |names: &[&str], name| names.iter().position(|one| *one == name);
        let last = DEVICES.len();
        (
            at(&DEVICES, self.device).unwrap_or(last),
            at(&FILESYSTEMS, self.filesystem).unwrap_or(last),
        )
    }

    /// A study of this row alone.
    pub(crate) fn study(self) -> String {
        let Row { device, filesystem } = self;
        format!(
            "{HEAD}\n[factors]\nfilesystem = [\"{filesystem}\"]\ndevice = [\"{device}\"]\n{BODY}{CHECK}"
        )
    }
}

/// Rows that filters leave, each `device=NAME[,NAME]` or `filesystem=NAME[,NAME]`.
///
/// # Errors
/// Unknown factor, a name that no row has, or no row left.
pub(crate) fn filtered(filters: &[String]) -> Result<Vec<Row>> {
    let mut rows = Row::all();
    for filter in filters {
        let of: fn(&Row) -> &str = match filter.split_once('=') {
            Some(("device", _)) => |row| row.device,
            Some(("filesystem", _)) => |row| row.filesystem,
            _ => bail!("--filter {filter}: say device=NAME[,NAME] or filesystem=NAME[,NAME]"),
        };
        let (_, names) = filter.split_once('=').unwrap_or_default();
        let names: Vec<&str> = names.split(',').collect();
        let all = Row::all();
        if let Some(name) = names
            .iter()
            .find(|name| !all.iter().any(|row| of(row) == **name))
        {
            let mut known: Vec<&str> = all.iter().map(of).collect();
            known.sort_unstable();
            known.dedup();
            bail!(
                "--filter {filter}: no row has {name}; there are {}",
                known.join(", ")
            );
        }
        rows.retain(|row| names.contains(&of(row)));
    }
    if rows.is_empty() {
        bail!("the filters leave no row: null_blk-zoned is btrfs's alone");
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_comes_before_the_crossings_and_once() {
        let rows = Row::all();
        assert_eq!(rows.len(), 61);
        let mut names: Vec<String> = rows.iter().map(|row| row.name()).collect();
        assert_eq!(
            names[..4],
            ["plain ext4", "raid0x11 ext4", "raid1 ext4", "raid5 ext4"]
        );
        let first = &names[..18];
        for name in [
            "plain ocfs2",
            "plain btrfs",
            "raid0x11 xfs",
            "null_blk-zoned btrfs",
        ] {
            assert!(first.contains(&name.to_owned()), "{name}");
        }
        assert_eq!(rows.iter().filter(|row| row.shows_a_layer()).count(), 18);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 61);
    }

    #[test]
    fn a_row_can_be_had_alone() {
        let filters =
            |words: &[&str]| filtered(&words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>());
        let one = filters(&["device=raid5,raid6", "filesystem=xfs", "device=raid6"]).unwrap();
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].name(), "raid6 xfs");
        for (words, says) in [
            (&["raid5"][..], "say device=NAME"),
            (&["kernel=6.1"], "say device=NAME"),
            (&["device=raid7"], "no row has raid7; there are delay,"),
            (
                &["device=null_blk-zoned", "filesystem=ext4"],
                "leave no row",
            ),
        ] {
            let message = filters(words).unwrap_err().to_string();
            assert!(message.contains(says), "{message}");
        }
    }

    #[test]
    fn every_study_is_one_that_fslab_takes() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("study.toml");
        let cells = |text: String| {
            std::fs::write(&file, text).unwrap();
            let study = study::Study::load(file.to_str().unwrap()).unwrap();
            let plan = study::plan(&study, &study::Overrides::default()).unwrap();
            plan.cells.len()
        };
        for row in Row::all() {
            assert_eq!(cells(row.study()), 1, "{}", row.name());
        }
        assert_eq!(cells(short()), 16);
        assert_eq!(cells(cut()), 3);
    }
}
