//! `/proc/PID/mountinfo`: what is mounted where, and with which options (proc_pid_mountinfo(5)).
//!
//! `/proc/mounts` was rejected: it merges the per-mount and per-superblock options, and a question
//! such as "is relatime the mount's or the filesystem's" cannot be answered from it. Bytes are
//! parsed, not text: one mount point that is not UTF-8 must not hide all the others.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The mount's ID (field 1), as statx(2) reports it with `STATX_MNT_ID`. Unique while the mount
    /// is there; the kernel may give it away again afterwards.
    pub id: u64,
    /// Major and minor number of `st_dev`; major 0 where the filesystem has no device of its own
    /// (btrfs, overlay).
    pub device: (u32, u32),
    /// Path within the filesystem that is mounted.
    pub root: PathBuf,
    /// Where it is mounted, as seen from its mount namespace.
    pub point: PathBuf,
    /// Options of this mount (field 6): `rw`, `relatime`.
    pub mount_options: Vec<String>,
    /// Filesystem type.
    pub kind: String,
    /// What is mounted: a device's path, or any word.
    pub source: PathBuf,
    /// Options of the superblock, shared by all its mounts (last field).
    pub super_options: Vec<String>,
}

/// Every mount of the calling process's namespace, in mounting order.
///
/// # Errors
/// When /proc is not there or cannot be read.
pub fn own() -> io::Result<Vec<Mount>> {
    Ok(parse(&fs::read("/proc/self/mountinfo")?))
}

/// Parses a whole file; lines that do not have mountinfo's shape are left out.
pub fn parse(text: &[u8]) -> Vec<Mount> {
    text.split(|&b| b == b'\n').filter_map(parse_line).collect()
}

/// The mount that serves `path`: the last mounted of the longest mount points above it.
pub fn serving<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    mounts
        .iter()
        .enumerate()
        .filter(|(_, mount)| path.starts_with(&mount.point))
        .max_by_key(|(index, mount)| (mount.point.components().count(), *index))
        .map(|(_, mount)| mount)
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    // ID parent major:minor root point options [optional fields] - type source super-options
    let mut fields = line.split(|&b| b == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let device = fields.nth(1)?;
    let (major, minor) = std::str::from_utf8(device).ok()?.split_once(':')?;
    let root = path(fields.next()?);
    let point = path(fields.next()?);
    let mount_options = options(fields.next()?);
    fields.by_ref().find(|field| *field == b"-")?;
    Some(Mount {
        id,
        device: (major.parse().ok()?, minor.parse().ok()?),
        root,
        point,
        mount_options,
        kind: String::from_utf8_lossy(&unescape(fields.next()?)).into_owned(),
        source: path(fields.next()?),
        super_options: options(fields.next().unwrap_or_default()),
    })
}

fn options(field: &[u8]) -> Vec<String> {
    field
        .split(|&b| b == b',')
        .filter(|option| !option.is_empty())
        .map(|option| String::from_utf8_lossy(&unescape(option)).into_owned())
        .collect()
}

fn path(field: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape(field)))
}

/// The kernel writes space, tab, newline, `#` and backslash as `\` and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = (first == b'\\').then(|| tail.get(..3)).flatten();
        let value = octal.and_then(|digits| {
            digits.iter().try_fold(0u32, |value, digit| {
                (b'0'..=b'7')
                    .contains(digit)
                    .then(|| value * 8 + u32::from(digit - b'0'))
            })
        });
        if let Some(byte) = value.and_then(|value| u8::try_from(value).ok()) {
            plain.push(byte);
            rest = &tail[3..];
        } else {
            plain.push(first);
            rest = tail;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_every_field_of_a_line_with_optional_fields_and_escapes() {
        let line = b"36 35 98:1 /mnt1 /mnt\\0402 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue\n";
        let mounts = parse(line);
        assert_eq!(
            mounts,
            vec![Mount {
                id: 36,
                device: (98, 1),
                root: "/mnt1".into(),
                point: "/mnt 2".into(),
                mount_options: vec!["rw".into(), "noatime".into()],
                kind: "ext3".into(),
                source: "/dev/root".into(),
                super_options: vec!["rw".into(), "errors=continue".into()],
            }]
        );
    }

    #[test]
    fn both_kinds_of_options_are_kept_apart() {
        let mounts = parse(include_bytes!("../tests/data/small/proc/self/mountinfo"));
        let lab = serving(&mounts, Path::new("/lab/a dir/file")).unwrap();
        assert_eq!(lab.device, (7, 3));
        assert_eq!(
            (lab.kind.as_str(), lab.source.as_path()),
            ("ext4", Path::new("/dev/loop3"))
        );
        assert_eq!(lab.mount_options, ["rw", "noatime"]);
        assert_eq!(lab.super_options, ["rw", "data=writeback", "nobarrier"]);
        assert_eq!(lab.point, Path::new("/lab/a dir"));
    }

    #[test]
    fn the_deepest_and_latest_mount_serves_a_path() {
        let mounts = parse(
            b"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:2 / /x rw shared:3 - ext4 /dev/b rw\n3 2 8:3 / /x rw - xfs /dev/c rw\n",
        );
        assert_eq!(serving(&mounts, Path::new("/x/y")).unwrap().kind, "xfs");
        assert_eq!(serving(&mounts, Path::new("/xy")).unwrap().device, (8, 1));
    }

    #[test]
    fn our_own_mountinfo_has_a_root() {
        assert!(own().unwrap().iter().any(|m| m.point == Path::new("/")));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn lines_of_the_right_letters_never_panic(line in "([0-9:/ ,a-z\\\\-]|\\PC){0,120}") {
            let _ = parse_line(line.as_bytes());
            let _ = unescape(line.as_bytes());
        }

        #[test]
        fn an_escaped_path_comes_back(name in proptest::collection::vec(1u8..=255, 1..40)) {
            let mut escaped = Vec::new();
            for &byte in &name {
                if b" \t\n\\#".contains(&byte) {
                    escaped.extend(format!("\\{byte:03o}").bytes());
                } else {
                    escaped.push(byte);
                }
            }
            prop_assert_eq!(unescape(&escaped), name);
        }
    }
}
