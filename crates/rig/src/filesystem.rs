//! Filesystems: how each is made, what serves it, what is true of it once mounted.
//!
//! The rig knows kinds, not variants: `ext4-nojournal` is a kind with mkfs options, and is data of
//! the study. Names, programs and their fixed arguments are in the table of `fskind`; here is what
//! needs code. mkfs is always the distribution's own program, because what it makes is part of what
//! users run.

pub mod btrfs;
pub mod ext;
pub mod f2fs;
pub(crate) mod mount;
pub mod ocfs2;
pub mod options;
pub(crate) mod uuid;
pub mod xfs;

use std::path::Path;

use fskind::Kind;
use probe::superblock::{Fields, Source};

use crate::host::Host;
use crate::settled::Settled;
use crate::{Error, Result, command};
use progress::{Progress, Silent, Step};

/// One kind of filesystem.
pub trait Filesystem: Sync {
    /// Its kind: the type that is asked of the kernel, and its entry in the table.
    fn kind(&self) -> Kind;

    /// The program that makes it.
    fn program(&self) -> &'static str {
        self.kind().properties().mkfs.program
    }

    /// Debian's package of the program.
    fn package(&self) -> &'static str {
        self.kind().properties().package.name
    }

    /// The option that makes the program overwrite without asking.
    fn force(&self) -> &'static str {
        self.kind().properties().mkfs.force
    }

    /// Arguments that are always given, after that.
    fn always(&self) -> &'static [&'static str] {
        self.kind().properties().mkfs.always
    }

    /// What the program is answered on its standard input, where it asks in spite of `force`.
    fn answer(&self) -> &'static str {
        self.kind().properties().mkfs.answer
    }

    /// The mount option without which the kernel refuses what the program made.
    fn mount_option(&self) -> Option<&'static str> {
        self.kind().properties().mount_option
    }

    /// The option that prints the program's version.
    fn version_option(&self) -> &'static str {
        self.kind().properties().mkfs.version_option
    }

    /// The smallest device it is made on, bytes.
    fn least_bytes(&self) -> u64 {
        self.kind().properties().smallest
    }

    /// Facts from the superblock on the device.
    fn superblock(&self, device: &Source) -> std::io::Result<Fields>;

    /// The driver that serves the mounted device, by sysfs; none when sysfs does not tell.
    fn driver(&self, host: &Host, block_name: &str) -> Option<String>;

    /// Facts that only the mounted filesystem reports.
    fn mounted_facts(&self, _host: &Host, _block_name: &str, _uuid: &str) -> Fields {
        Fields::new()
    }

    /// Waits for work that the filesystem does by itself after its first mount.
    fn settle(&self, _mounted: &Mounted<'_>, _progress: &dyn Progress) -> Result<Settled> {
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
    Ok(match Kind::of_name(kind) {
        Some(Kind::Ext2) => &ext::EXT2,
        Some(Kind::Ext3) => &ext::EXT3,
        Some(Kind::Ext4) => &ext::EXT4,
        Some(Kind::Xfs) => &xfs::Xfs,
        Some(Kind::Btrfs) => &btrfs::Btrfs,
        Some(Kind::Ocfs2) => &ocfs2::Ocfs2,
        Some(Kind::F2fs) => &f2fs::F2fs,
        None => return Err(Error::UnknownKind { kind: kind.into() }),
    })
}

/// Whether the program that makes `kind` is here, without running it: for plans.
pub fn program_present(kind: &str) -> Result<()> {
    let filesystem = of_kind(kind)?;
    locate(filesystem).map(|_| ())
}

/// Whether the kernel has a driver for `kind`, loading it where it is a module: for plans. Needs root.
///
/// # Errors
/// [`Error::NoDriver`]; without the right to ask, none: the mount will say it.
pub fn driver_present(kind: &str) -> Result<()> {
    mount::driver_present(kind)
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
    progress: &dyn Progress,
) -> Result<Vec<String>> {
    let mut argv = vec![locate(filesystem)?, filesystem.force().into()];
    argv.extend(filesystem.always().iter().map(ToString::to_string));
    argv.extend(options.iter().cloned());
    argv.push(node.display().to_string());
    progress.begin(Step::new(filesystem.program()));
    command::run(&argv, filesystem.answer(), progress)?;
    progress.end();
    Ok(argv)
}

/// The first line that the program prints of itself; empty when it does not.
pub(crate) fn version(filesystem: &dyn Filesystem) -> Result<String> {
    let argv = [locate(filesystem)?, filesystem.version_option().into()];
    Ok(command::first_line(&argv, &Silent))
}

/// A study's mount options, with what the kernel needs besides.
pub(crate) fn mount_options(filesystem: &dyn Filesystem, given: &[String]) -> Vec<String> {
    let key = |option: &str| option.split('=').next().unwrap_or_default().to_owned();
    let is_given = |needed: &str| {
        let words = given.iter().flat_map(|list| list.split(','));
        words.map(str::trim).any(|word| key(word) == key(needed))
    };
    let needed = filesystem.mount_option().filter(|needed| !is_given(needed));
    needed
        .map(str::to_owned)
        .into_iter()
        .chain(given.iter().cloned())
        .collect()
}

/// Whether flushes reach the medium: the mount's word and the device's.
///
/// `write through` in sysfs means that the block layer drops flushes, because the device claims to
/// have no volatile cache.
pub(crate) fn barriers(options: &[String], queue: &Fields) -> String {
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
        fn kind(&self) -> Kind {
            Kind::Ext4
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
        fn superblock(&self, _: &Source) -> std::io::Result<Fields> {
            Ok(Fields::new())
        }
        fn driver(&self, _: &Host, _: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let missing = Played("mkfs.no-such-filesystem");
        let error = make(&missing, &[], Path::new("/dev/null"), &Silent).unwrap_err();
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
        let made = make(&Played("echo"), &options, Path::new("/dev/x y"), &Silent).unwrap();
        assert!(made[0].ends_with("/echo"));
        assert_eq!(made[1..], ["-f", "-O", "^has_journal", "/dev/x y"]);
        let version = version(&Played("echo")).unwrap();
        assert_eq!(version, "-V", "echo prints what it is asked");
    }

    #[test]
    fn what_the_kernel_needs_is_mounted_with_unless_the_study_says_it() {
        let ocfs2 = of_kind("ocfs2").unwrap();
        let words = |text: &[&str]| text.iter().map(ToString::to_string).collect::<Vec<_>>();
        let options = |given: &[&str]| mount_options(ocfs2, &words(given));
        assert_eq!(options(&["noatime"]), words(&["heartbeat=none", "noatime"]));
        let own = ["noatime,heartbeat=local"];
        assert_eq!(options(&own), words(&own));
        let xfs = of_kind("xfs").unwrap();
        assert_eq!(
            mount_options(xfs, &words(&["noatime"])),
            words(&["noatime"])
        );
    }

    #[test]
    fn unknown_kinds_are_refused_with_the_known_ones() {
        let error = of_kind("ext5").map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("ext5") && error.contains("btrfs"), "{error}");
    }

    #[test]
    fn barriers_are_reported_from_both_sides() {
        let mut queue = Fields::new();
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
