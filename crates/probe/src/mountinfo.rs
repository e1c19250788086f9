//! `/proc/self/mountinfo`: what is mounted where, and with which options (proc(5)).
//!
//! `/proc/mounts` was rejected: it merges the per-mount and per-superblock options, and a question
//! such as "is relatime the mount's or the filesystem's" cannot be answered from it.

use std::path::{Path, PathBuf};

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Device number of the files in it. Anonymous (major 0) for btrfs.
    pub device: (u32, u32),
    /// Path within the filesystem that is mounted.
    pub root: PathBuf,
    /// Where.
    pub point: PathBuf,
    /// Field 6: options of this mount (`rw`, `relatime`).
    pub per_mount: Vec<String>,
    /// Filesystem type, as in `ext4`.
    pub kind: String,
    /// Source, as in `/dev/loop3`.
    pub source: String,
    /// Options of the superblock, shared by all its mounts.
    pub per_superblock: Vec<String>,
}

/// Undoes the octal escapes of blanks, tabs, newlines and backslashes.
fn unescape(field: &str) -> String {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        let octal = tail.get(..3).and_then(|d| {
            d.iter().try_fold(0_u16, |value, digit| {
                (b'0'..=b'7')
                    .contains(digit)
                    .then(|| value * 8 + u16::from(digit - b'0'))
            })
        });
        match octal.map(u8::try_from) {
            Some(Ok(code)) if byte == b'\\' => {
                out.push(code);
                rest = &tail[3..];
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn options(field: &str) -> Vec<String> {
    field.split(',').map(unescape).collect()
}

/// Parses one line.
pub fn parse_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let mut right = right.split(' ');
    let (major, minor) = left.get(2)?.split_once(':')?;
    Some(Mount {
        device: (major.parse().ok()?, minor.parse().ok()?),
        root: PathBuf::from(unescape(left.get(3)?)),
        point: PathBuf::from(unescape(left.get(4)?)),
        per_mount: options(left.get(5)?),
        kind: unescape(right.next()?),
        source: unescape(right.next()?),
        per_superblock: options(right.next().unwrap_or_default()),
    })
}

/// Parses every line, in mount order.
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// The mount that holds a path: the deepest mount point above it, and the last of those.
pub fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|m| path.starts_with(&m.point))
        .max_by_key(|m| m.point.components().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../tests/data/small/proc/self/mountinfo");

    #[test]
    fn both_kinds_of_options_are_kept_apart() {
        let mounts = parse(TEXT);
        let lab = holding(&mounts, Path::new("/lab/a dir/file")).unwrap();
        assert_eq!(lab.device, (7, 3));
        assert_eq!(
            (lab.kind.as_str(), lab.source.as_str()),
            ("ext4", "/dev/loop3")
        );
        assert_eq!(lab.per_mount, ["rw", "noatime"]);
        assert_eq!(lab.per_superblock, ["rw", "data=writeback", "nobarrier"]);
        assert_eq!(lab.point, Path::new("/lab/a dir"));
    }

    #[test]
    fn the_last_of_stacked_mounts_holds_the_path() {
        let text = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
                    2 1 7:0 / /m rw shared:3 - xfs /dev/loop0 rw\n\
                    3 2 7:1 / /m rw - ext2 /dev/loop1 rw\n";
        let mounts = parse(text);
        assert_eq!(holding(&mounts, Path::new("/m/x")).unwrap().kind, "ext2");
        assert_eq!(holding(&mounts, Path::new("/mx")).unwrap().kind, "ext4");
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(line in "([0-9:/ ,a-z\\\\-]|\\PC){0,120}") {
            let _ = parse_line(&line);
            let _ = unescape(&line);
        }
    }
}
