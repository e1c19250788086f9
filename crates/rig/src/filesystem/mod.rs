//! Filesystems: how each is made, what serves it, what is true of it once mounted.
//!
//! The rig knows kinds (`ext2`, `ext3`, `ext4`, `xfs`, `btrfs`), not variants: `ext4-nojournal` is
//! a kind with mkfs options, and lives in the study. mkfs is always the distribution's own
//! program, because what it makes is part of what users run.

pub mod btrfs;
pub mod ext;
pub(crate) mod mount;
pub mod options;
pub(crate) mod uuid;
pub mod xfs;

use std::path::Path;

use probe::superblock::{Source, Words};

use crate::host::Host;
use crate::lazy_init::Settled;
use crate::{Error, Result, command};

/// One kind of filesystem.
pub trait Filesystem: Sync {
    /// The type that is asked of the kernel, and the kind's name in studies.
    fn kind(&self) -> &'static str;

    /// The program that makes it.
    fn program(&self) -> &'static str;

    /// Debian's package of the program.
    fn package(&self) -> &'static str;

    /// The option that makes the program ask nothing and overwrite what is there.
    fn force(&self) -> &'static str;

    /// The option that prints the program's version.
    fn version_option(&self) -> &'static str;

    /// The smallest device it is made on, bytes.
    fn least_bytes(&self) -> u64;

    /// Facts from the superblock on the device.
    fn superblock(&self, device: &Source) -> std::io::Result<Words>;

    /// The driver that serves the mounted device, by sysfs; none when sysfs does not tell.
    fn driver(&self, host: &Host, block_name: &str) -> Option<String>;

    /// Facts that only the mounted filesystem tells.
    fn mounted_facts(&self, _host: &Host, _block_name: &str, _uuid: &str) -> Words {
        Words::new()
    }

    /// Waits for work that the filesystem does by itself after its first mount.
    fn settle(&self, _mounted: &Mounted<'_>, _cancelled: &dyn Fn() -> bool) -> Result<Settled> {
        Ok(Settled::nothing_to_wait_for())
    }

    /// The sysfs file of readahead (KiB), where the filesystem does not use its device's.
    fn own_readahead(&self, _host: &Host, _uuid: &str) -> Option<std::path::PathBuf> {
        None
    }
}

/// A mounted filesystem, for [`Filesystem::settle`].
#[derive(Clone, Copy, Debug)]
pub struct Mounted<'a> {
    /// The device.
    pub node: &'a Path,
    /// Where it is mounted.
    pub point: &'a Path,
    /// Its effective options.
    pub options: &'a [String],
}

/// The filesystem of a kind.
pub fn of_kind(kind: &str) -> Result<&'static dyn Filesystem> {
    match kind {
        "ext2" => Ok(&ext::EXT2),
        "ext3" => Ok(&ext::EXT3),
        "ext4" => Ok(&ext::EXT4),
        "xfs" => Ok(&xfs::Xfs),
        "btrfs" => Ok(&btrfs::Btrfs),
        _ => Err(Error::UnknownKind { kind: kind.into() }),
    }
}

/// Whether the program that makes `kind` is here, without running it: for plans.
pub fn program_present(kind: &str) -> Result<()> {
    let filesystem = of_kind(kind)?;
    locate(filesystem).map(|_| ())
}

fn locate(filesystem: &dyn Filesystem) -> Result<String> {
    command::locate(filesystem.program())
        .map(|path| path.display().to_string())
        .ok_or_else(|| Error::MissingProgram {
            program: filesystem.program().into(),
            package: filesystem.package().into(),
        })
}

/// Makes a filesystem on `node` and returns the command line as it ran.
pub(crate) fn make(
    filesystem: &dyn Filesystem,
    options: &[String],
    node: &Path,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<String>> {
    let mut argv = vec![locate(filesystem)?, filesystem.force().into()];
    argv.extend(options.iter().cloned());
    argv.push(node.display().to_string());
    command::run(&argv, cancelled)?;
    Ok(argv)
}

/// The first line that the program prints of itself; empty when it does not.
pub(crate) fn version(filesystem: &dyn Filesystem) -> Result<String> {
    let argv = [locate(filesystem)?, filesystem.version_option().into()];
    let Ok(output) = command::run(&argv, &|| false) else {
        return Ok(String::new());
    };
    let text = output.stdout + &output.stderr;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    Ok(line.unwrap_or_default().to_string())
}

/// Whether flushes reach the medium: the mount's word and the device's.
///
/// `write through` in sysfs means that the block layer drops flushes, because the device claims to
/// have no volatile cache.
pub(crate) fn barriers(options: &[String], queue: &Words) -> String {
    let off = ["nobarrier", "barrier=0"];
    let mount = match options.iter().find(|option| off.contains(&option.as_str())) {
        Some(option) => format!("off by {option}"),
        None => "on".into(),
    };
    let device = match queue.get("write_cache").map(String::as_str) {
        Some("write back") => "write back: flushes are sent",
        Some("write through") => "write through: flushes are dropped",
        _ => "unknown",
    };
    let fua = match queue.get("fua").map(String::as_str) {
        Some("1") => "yes",
        Some(_) => "no",
        None => "unknown",
    };
    format!("mount {mount}; device {device}; fua {fua}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filesystem whose program is any program: the test double of this trait.
    struct Played(&'static str);

    impl Filesystem for Played {
        fn kind(&self) -> &'static str {
            "played"
        }
        fn program(&self) -> &'static str {
            self.0
        }
        fn package(&self) -> &'static str {
            "playedfs-progs"
        }
        fn force(&self) -> &'static str {
            "-f"
        }
        fn version_option(&self) -> &'static str {
            "-V"
        }
        fn least_bytes(&self) -> u64 {
            0
        }
        fn superblock(&self, _: &Source) -> std::io::Result<Words> {
            Ok(Words::new())
        }
        fn driver(&self, _: &Host, _: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let missing = Played("mkfs.no-such-filesystem");
        let error = make(&missing, &[], Path::new("/dev/null"), &|| false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "mkfs.no-such-filesystem: not found on PATH, /usr/sbin or /sbin; \
             install it: apt install playedfs-progs"
        );
        assert_eq!(error.class(), crate::Class::Cell);
    }

    #[test]
    fn the_command_line_is_kept_as_it_ran() {
        let options = ["-O".to_string(), "^has_journal".into()];
        let made = make(&Played("echo"), &options, Path::new("/dev/x y"), &|| false).unwrap();
        assert!(made[0].ends_with("/echo"));
        assert_eq!(made[1..], ["-f", "-O", "^has_journal", "/dev/x y"]);
        let version = version(&Played("echo")).unwrap();
        assert_eq!(version, "-V", "echo prints what it is asked");
    }

    #[test]
    fn unknown_kinds_are_refused_with_the_known_ones() {
        let error = of_kind("ext5").map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("ext5") && error.contains("btrfs"), "{error}");
    }

    #[test]
    fn barriers_are_said_from_both_sides() {
        let mut queue = Words::new();
        queue.insert("write_cache".into(), "write back".into());
        queue.insert("fua".into(), "0".into());
        assert_eq!(
            barriers(&["rw".into()], &queue),
            "mount on; device write back: flushes are sent; fua no"
        );
        queue.insert("write_cache".into(), "write through".into());
        assert_eq!(
            barriers(&["rw".into(), "nobarrier".into()], &queue),
            "mount off by nobarrier; device write through: flushes are dropped; fua no"
        );
    }
}
