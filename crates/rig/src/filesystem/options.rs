//! What a study may say to mkfs and mount, and what would reach past the target.
//!
//! The safety gate looks at one device. An option that names another one (a second device of btrfs,
//! an external log or journal, an image to write) would go round it, so such options are refused
//! before anything is made: every word that is not an option or an option's value, every word that
//! holds a path, and the keys that name devices. An external log, when it comes, has to pass the
//! gate as a separate device.

use fskind::Kind;

use crate::{Error, Result};

/// Keys that name another device or a file, in mkfs's sub-options and in mount options.
const KEYS: [&str; 8] = [
    "logdev=",
    "rtdev=",
    "device=",
    "journal_path=",
    "journal_dev=",
    "name=",
    "file=",
    "loop=",
];

/// mkfs options that take their value from the next word, by family.
fn takes_value(kind: &str, word: &str) -> bool {
    let Some(mkfs) = Kind::of_name(kind).map(|kind| &kind.properties().mkfs) else {
        return false;
    };
    match word.strip_prefix("--") {
        Some(long) => {
            let flags = mkfs.long_flags.filter(|_| !long.contains('='));
            flags.is_some_and(|flags| !flags.contains(&long))
        }
        None => word.len() == 2 && word.starts_with('-') && mkfs.valued.contains(&word[1..]),
    }
}

/// Refuses mkfs words and mount options that reach past the target.
///
/// # Errors
/// [`Error::Reaches`], which names the word.
pub fn check(kind: &str, mkfs: &[String], mount: &[String]) -> Result<()> {
    let mut value_of: Option<&str> = None;
    for word in mkfs {
        let is_value = value_of
            .take()
            .is_some_and(|option| takes_value(kind, option));
        if is_value {
            refuse_names(kind, "mkfs", word)?;
        } else if !word.starts_with('-') {
            return Err(reaches(
                kind,
                "mkfs",
                word,
                "it is no option, so mkfs takes it for a device",
            ));
        } else {
            refuse_names(kind, "mkfs", word)?;
            value_of = Some(word);
        }
    }
    mount
        .iter()
        .try_for_each(|option| refuse_names(kind, "mount", option))
}

fn refuse_names(kind: &str, program: &'static str, word: &str) -> Result<()> {
    let device_option = Kind::of_name(kind)
        .filter(|_| program == "mkfs")
        .and_then(|kind| kind.properties().mkfs.device_option);
    if device_option.is_some_and(|option| word.starts_with(option)) {
        return Err(reaches(kind, program, word, "it names another device"));
    }
    if word.contains('/') {
        return Err(reaches(kind, program, word, "it holds a path"));
    }
    let lower = word.to_ascii_lowercase();
    let named = KEYS.iter().find(|key| {
        lower
            .split(',')
            .any(|part| part.trim_start_matches('-').starts_with(**key))
            || lower.contains(&format!(",{key}"))
            || (lower.starts_with('-') && lower.contains(**key))
    });
    match named {
        Some(key) => Err(reaches(
            kind,
            program,
            word,
            &format!("{key} names another device or file"),
        )),
        None => Ok(()),
    }
}

fn reaches(kind: &str, program: &'static str, word: &str, why: &str) -> Error {
    Error::Reaches {
        kind: kind.into(),
        program,
        word: word.into(),
        why: why.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_reaches_past_the_target_is_refused() {
        for (kind, mkfs, mount) in [
            ("btrfs", "/dev/sdb", ""),
            ("btrfs", "-f disk.img", ""),
            ("btrfs", "--force disk.img", ""),
            ("btrfs", "-r /home", ""),
            ("xfs", "-l logdev=/dev/sdb,size=64m", ""),
            ("xfs", "-l size=64m,logdev=sdb", ""),
            ("xfs", "-d name=disk.img", ""),
            ("xfs", "-dfile=1,name=x", ""),
            ("xfs", "-r rtdev=sdb", ""),
            ("xfs", "-p proto", ""),
            ("ext4", "-J device=UUID=1234", ""),
            ("ext4", "-Jdevice=LABEL=x", ""),
            ("ext4", "-F disk.img", ""),
            ("ext4", "-z undo", ""),
            ("ext4", "-d tree", ""),
            ("ext4", "disk.img", ""),
            ("f2fs", "-c sdb", ""),
            ("f2fs", "-csdb", ""),
            ("f2fs", "-f 4096", ""),
            ("ocfs2", "-F 4096", ""),
            ("ocfs2", "--nodiscard 4096", ""),
            ("xfs", "", "logdev=sdb"),
            ("ext4", "", "journal_path=x"),
            ("btrfs", "", "device=sdb"),
        ] {
            let checked = check(kind, &words(mkfs), &words(mount));
            assert!(
                matches!(checked, Err(Error::Reaches { .. })),
                "{kind} {mkfs:?} {mount:?}"
            );
        }
    }

    #[test]
    fn what_studies_say_is_let_through() {
        for (kind, mkfs, mount) in [
            (
                "ext4",
                "-O ^has_journal -E lazy_itable_init=0,lazy_journal_init=0",
                "noatime data=writeback",
            ),
            (
                "ext4",
                "-N 262144 -b 4096 -L name -J size=64 -q",
                "commit=30 journal_async_commit",
            ),
            (
                "xfs",
                "-f -d agcount=8,su=64k,sw=4 -l size=64m -m crc=1 -i size=512",
                "logbufs=8",
            ),
            (
                "btrfs",
                "-n 16384 -d single -m dup --csum xxhash -O ^no-holes --nodesize=16384",
                "nodatasum compress=zstd:1",
            ),
            (
                "ocfs2",
                "-b 4096 -C 4k -N 1 -J size=64M --fs-features=noinline-data --fs-feature-level max-compat -q",
                "heartbeat=none data=writeback",
            ),
            (
                "f2fs",
                "-O extra_attr,inode_checksum -o 5 -s 2 -q",
                "mode=lfs nobarrier",
            ),
        ] {
            check(kind, &words(mkfs), &words(mount)).unwrap();
        }
    }
}
