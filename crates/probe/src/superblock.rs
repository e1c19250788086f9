//! The facts of a filesystem that its superblock holds: ext2/3/4, XFS, btrfs, OCFS2, f2fs.
//!
//! They are read from the device by `ondisk`'s structures, not from the output of a tool of some
//! version (`blkid`, `dumpe2fs` and `xfs_info` each print a part, in their own terms). Each format
//! gives them twice: as [`Facts`], one shape for all, `None` where the format has no such field, and
//! as [`Fields`], all fields that a report prints, under the format's own names. Checking a superblock
//! is another crate's work.

pub mod btrfs;
pub mod ext;
pub mod f2fs;
pub(crate) mod fields;
pub mod ocfs2;
mod source;
pub mod xfs;

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fskind::Family;

pub use fields::Fields;
pub use source::Source;

/// Where the journal or log is, and how large.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Bytes.
    pub bytes: Option<u64>,
    /// On another device.
    pub external: bool,
    /// XFS: stripe unit of the log, bytes.
    pub stripe_unit: Option<u64>,
    /// XFS: superblock counters are lazy.
    pub lazy_count: Option<bool>,
    /// ext4: the fast_commit feature.
    pub fast_commit: Option<bool>,
}

/// Feature names; unknown bits as `0x...`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Any kernel may mount and write.
    pub compat: Vec<String>,
    /// A kernel must know them to mount.
    pub incompat: Vec<String>,
    /// A kernel must know them to write.
    pub ro_compat: Vec<String>,
}

/// The facts of a superblock. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The format; ext2, ext3 and ext4 share one.
    pub format: Family,
    /// UUID, with hyphens.
    pub uuid: String,
    /// Label; may be empty.
    pub label: String,
    /// Bytes of a block (btrfs: of a sector).
    pub block_size: u64,
    /// Bytes of the whole filesystem.
    pub bytes: u64,
    /// Bytes of a metadata node (btrfs).
    pub node_size: Option<u64>,
    /// Bytes of a device sector as the format was made for.
    pub sector_size: Option<u64>,
    /// Bytes of an inode.
    pub inode_size: Option<u64>,
    /// Inodes made (ext) or allocated so far (XFS).
    pub inodes: Option<u64>,
    /// Block groups or allocation groups.
    pub groups: Option<u64>,
    /// Bytes of a group.
    pub group_bytes: Option<u64>,
    /// Groups packed together (ext4 flex_bg).
    pub flex_groups: Option<u64>,
    /// Features.
    pub features: Features,
    /// Journal or log; `None` without one.
    pub journal: Option<Journal>,
    /// RAID stride (ext) or sunit (XFS), bytes; 0: not set.
    pub stripe_unit: Option<u64>,
    /// RAID stripe width or swidth, bytes; 0: not set.
    pub stripe_width: Option<u64>,
    /// When it was made.
    pub created: Option<u64>,
    /// Last mount.
    pub last_mounted: Option<u64>,
    /// Mounts since the last check.
    pub mount_count: Option<u64>,
    /// Last check.
    pub last_checked: Option<u64>,
    /// KiB written in its life, at the last update of the superblock.
    pub lifetime_kib: Option<u64>,
    /// Errors recorded.
    pub errors: Option<u64>,
    /// `clean`, `not clean`, `errors`: a mounted filesystem is not clean.
    pub state: Option<&'static str>,
}

impl Facts {
    /// A format without facts, to be filled in.
    pub fn of(format: Family) -> Facts {
        Facts {
            format,
            uuid: String::new(),
            label: String::new(),
            block_size: 0,
            bytes: 0,
            node_size: None,
            sector_size: None,
            inode_size: None,
            inodes: None,
            groups: None,
            group_bytes: None,
            flex_groups: None,
            features: Features::default(),
            journal: None,
            stripe_unit: None,
            stripe_width: None,
            created: None,
            last_mounted: None,
            mount_count: None,
            last_checked: None,
            lifetime_kib: None,
            errors: None,
            state: None,
        }
    }
}

/// Reads the facts of a device or image, without a trace in its page cache. `Ok(None)` when no known
/// format is there.
///
/// # Errors
/// When it cannot be opened or read.
pub fn read(path: &Path) -> io::Result<Option<Facts>> {
    facts(&Source::open(path)?)
}

fn facts(device: &impl FileExt) -> io::Result<Option<Facts>> {
    if let Some(superblock) = known(xfs::Superblock::read(device))? {
        return Ok(Some(superblock.facts()));
    }
    if let Some(superblock) = known(btrfs::Superblock::read(device))? {
        return Ok(Some(superblock.facts()));
    }
    // Before OCFS2, whose superblock mke2fs does not overwrite.
    if let Some(superblock) = known(ext::Superblock::read(device))? {
        return Ok(Some(superblock.facts(device)));
    }
    if let Some(superblock) = known(ocfs2::Superblock::read(device))? {
        return Ok(Some(superblock.facts()));
    }
    let superblock = known(f2fs::Superblock::read(device))?;
    Ok(superblock.map(|superblock| superblock.facts()))
}

/// The error of a reader that found another format.
fn absent(family: Family) -> io::Error {
    let message = format!("no {} superblock", family.title());
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// `None` for another format, or for a device too short for this one.
fn known<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    use io::ErrorKind::{InvalidData, UnexpectedEof};
    match read {
        Ok(superblock) => Ok(Some(superblock)),
        Err(error) if matches!(error.kind(), InvalidData | UnexpectedEof) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::process::Command;

    /// An image that the real mkfs made.
    pub(super) fn made(program: &str, arguments: &[&str], size: u64) -> File {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(size).unwrap();
        // The programs are root's, and not on every user's PATH.
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        let output = Command::new(program)
            .env("PATH", path)
            .args(arguments)
            .arg(image.path())
            .output()
            .unwrap_or_else(|e| {
                panic!("{program}: {e} (install e2fsprogs, xfsprogs, btrfs-progs, ocfs2-tools, f2fs-tools)")
            });
        assert!(output.status.success(), "{output:?}");
        image.into_file()
    }

    fn make(program: &str, arguments: &[&str], size: u64) -> Facts {
        facts(&made(program, arguments, size)).unwrap().unwrap()
    }

    const UUID: &str = "12345678-9abc-4def-8123-456789abcdef";

    #[test]
    fn ext4_as_mke2fs_made_it() {
        let facts = make(
            "mkfs.ext4",
            &[
                "-q",
                "-F",
                "-U",
                UUID,
                "-L",
                "lab",
                "-b",
                "4096",
                "-I",
                "256",
                "-N",
                "4096",
                "-J",
                "size=8",
                "-E",
                "stride=16,stripe_width=64",
                "-O",
                "fast_commit",
            ],
            256 << 20,
        );
        assert_eq!(
            (facts.format, facts.uuid.as_str(), facts.label.as_str()),
            (Family::Ext, UUID, "lab")
        );
        assert_eq!((facts.block_size, facts.bytes), (4096, 256 << 20));
        assert_eq!((facts.inode_size, facts.inodes), (Some(256), Some(4096)));
        assert_eq!(
            (facts.groups, facts.group_bytes),
            (Some(2), Some(128 << 20))
        );
        assert_eq!(
            (facts.stripe_unit, facts.stripe_width),
            (Some(65536), Some(262_144))
        );
        let journal = facts.journal.unwrap();
        assert_eq!((journal.external, journal.fast_commit), (false, Some(true)));
        // mke2fs adds 64 blocks for the fast commits.
        assert_eq!(journal.bytes, Some((8 << 20) + 64 * 4096));
        assert!(facts.features.incompat.contains(&"extent".to_owned()));
        assert!(
            facts
                .features
                .ro_compat
                .contains(&"sparse_super".to_owned())
        );
        assert_eq!(facts.state, Some("clean"));
        assert!(facts.created.unwrap() > 1_700_000_000);
    }

    #[test]
    fn ext2_has_no_journal() {
        let facts = make("mkfs.ext2", &["-q", "-F"], 64 << 20);
        assert_eq!(facts.journal, None);
        assert!(!facts.features.incompat.contains(&"extent".to_owned()));
    }

    #[test]
    fn xfs_as_mkfs_made_it() {
        let facts = make(
            "mkfs.xfs",
            &[
                "-q",
                "-m",
                &format!("uuid={UUID}"),
                "-L",
                "lab",
                "-d",
                "su=64k,sw=4,agcount=4",
                "-l",
                "su=32k",
                "-i",
                "size=512",
            ],
            512 << 20,
        );
        assert_eq!(
            (facts.format, facts.uuid.as_str(), facts.label.as_str()),
            (Family::Xfs, UUID, "lab")
        );
        assert_eq!((facts.block_size, facts.groups), (4096, Some(4)));
        assert_eq!(
            (facts.stripe_unit, facts.stripe_width),
            (Some(65536), Some(262_144))
        );
        assert_eq!(facts.inode_size, Some(512));
        let journal = facts.journal.unwrap();
        assert_eq!((journal.external, journal.lazy_count), (false, Some(true)));
        assert_eq!(journal.stripe_unit, Some(32768));
        assert!(journal.bytes.unwrap() >= 8 << 20);
        assert!(facts.features.ro_compat.contains(&"finobt".to_owned()));
    }

    #[test]
    fn btrfs_as_mkfs_made_it() {
        let facts = make(
            "mkfs.btrfs",
            &[
                "-q", "-f", "-U", UUID, "-L", "lab", "-n", "16384", "-s", "4096",
            ],
            256 << 20,
        );
        assert_eq!(
            (facts.format, facts.uuid.as_str(), facts.label.as_str()),
            (Family::Btrfs, UUID, "lab")
        );
        assert_eq!((facts.block_size, facts.node_size), (4096, Some(16384)));
        assert_eq!(facts.bytes, 256 << 20);
        assert!(
            facts
                .features
                .incompat
                .contains(&"extended_iref".to_owned())
        );
    }

    proptest::proptest! {
        #[test]
        fn garbage_after_any_magic_never_panics(
            bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..3000),
            format in 0..5,
        ) {
            let mut device = vec![0xff; (64 << 10) + 4096];
            let n = bytes.len();
            device[1024..1024 + n].copy_from_slice(&bytes);
            device[65536..65536 + n].copy_from_slice(&bytes);
            match format {
                0 => device[1024 + 0x38..][..2].copy_from_slice(&[0x53, 0xef]),
                1 => device[2048..2054].copy_from_slice(b"OCFSV2"),
                2 => device[1024..1028].copy_from_slice(&[0x10, 0x20, 0xf5, 0xf2]),
                3 => { device[..n].copy_from_slice(&bytes); device[..4].copy_from_slice(b"XFSB"); }
                _ => device[65536 + 64..][..8].copy_from_slice(b"_BHRfS_M"),
            }
            for bytes in [device, bytes] {
                let file = tempfile::tempfile().unwrap();
                file.write_all_at(&bytes, 0).unwrap();
                let _ = facts(&file);
            }
        }
    }
}
