//! mke2fs makes the empty filesystem.
//!
//! The host does not change the result: the configuration is our own, the environment is empty, and UUID, hash seed and time
//! are given. What remains is the version of e2fsprogs, which is reported.
//!
//! mke2fs ends with an fsync, which takes longer than all the rest of it on a small filesystem. So it writes to memory where
//! the metadata of an empty filesystem are small, and what it wrote is copied to the image ([`Scratch`]).

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::ExitStatus;

use progress::Progress;
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};

use super::{FsType, Options};
use crate::Error;
use crate::image_file::ImageFile;
use crate::maker::{Maker, Talk, system_error};

/// The rules for what the options leave open: those of Debian's `mke2fs.conf` in e2fsprogs 1.47.0.
const CONFIGURATION: &str = "
[defaults]
base_features = sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr
default_mntopts = acl,user_xattr
enable_periodic_fsck = 0
blocksize = 4096
inode_size = 256
inode_ratio = 16384
undo_dir = none
[fs_types]
ext3 = {
features = has_journal
}
ext4 = {
features = has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize
}
small = {
blocksize = 1024
inode_ratio = 4096
}
floppy = {
blocksize = 1024
inode_ratio = 8192
}
big = {
inode_ratio = 32768
}
huge = {
inode_ratio = 65536
}
";

/// What identifies a filesystem.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity {
    pub(super) uuid: [u8; 16],
    pub(super) hash_seed: [u8; 16],
}

/// Makes the filesystem of these options in an image that is one hole. Returns the version of mke2fs, `mke2fs 1.47.0`.
pub(super) fn make(
    options: &Options,
    identity: Identity,
    image: &ImageFile,
    progress: &dyn Progress,
) -> Result<String, Error> {
    let scratch = Scratch::new(options);
    let target = scratch.as_ref().map_or(image.file(), |scratch| &scratch.0);
    let version = run("mke2fs", options, identity, target, image.path(), progress)?;
    match &scratch {
        Some(scratch) => scratch.copy(image)?,
        None => image.count(data(target).map(|range| range.end - range.start).sum()),
    }
    Ok(version)
}

/// A file in memory that mke2fs writes to.
struct Scratch(File);

impl Scratch {
    /// Sizes up to which mke2fs writes to memory, in blocks. In a filesystem without uninitialised groups and with blocks of 1 KiB
    /// it then writes 110 MiB, in others less.
    const MOST_BLOCKS: u64 = 1 << 28;

    /// A file of the image's size, or `None` where it would take too much memory or cannot be made.
    fn new(options: &Options) -> Option<Self> {
        let block_size = u64::from(options.block_size.unwrap_or(4096));
        if options.size > block_size * Self::MOST_BLOCKS {
            return None;
        }
        let file = File::from(memfd_create("mke2fs", MemfdFlags::CLOEXEC).ok()?);
        file.set_len(options.size).ok()?;
        Some(Self(file))
    }

    fn copy(&self, image: &ImageFile) -> Result<(), Error> {
        use std::os::unix::fs::FileExt as _;
        let mut buffer = vec![0; 1 << 20];
        for range in data(&self.0) {
            let mut at = range.start;
            while at < range.end {
                let len = buffer.len().min((range.end - at) as usize);
                let bytes = &mut buffer[..len];
                self.0
                    .read_exact_at(bytes, at)
                    .map_err(|source| image.failed("read what mke2fs wrote", source))?;
                image.write(at, bytes)?;
                at += len as u64;
            }
        }
        Ok(())
    }
}

/// The ranges of a file that are not holes.
fn data(file: &File) -> impl Iterator<Item = std::ops::Range<u64>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = seek(file, SeekFrom::Data(at)).ok()?;
        let end = seek(file, SeekFrom::Hole(start)).ok()?;
        at = end;
        Some(start..end)
    })
}

fn run(
    program_name: &str,
    options: &Options,
    identity: Identity,
    target: &File,
    image: &Path,
    progress: &dyn Progress,
) -> Result<String, Error> {
    let maker = Maker {
        program: program_name,
        package: "e2fsprogs",
    };
    let name = format!("/proc/{}/fd/{}", std::process::id(), target.as_raw_fd());
    let mut command = maker.command();
    command
        .args(arguments(options, identity))
        .arg(&name)
        .env("MKE2FS_CONFIG", "/proc/self/fd/0")
        .env("E2FSPROGS_FAKE_TIME", options.time.to_string());
    let (status, talk) = maker.run(&mut command, CONFIGURATION, progress)?;
    if status.success() {
        Ok(program(&talk))
    } else {
        Err(failure(&talk, status, &name, image))
    }
}

/// The options of mke2fs. What is not given is decided by [`CONFIGURATION`].
fn arguments(options: &Options, identity: Identity) -> Vec<String> {
    let mut all: Vec<String> = ["-F", "-t"].map(str::to_owned).into();
    all.push(
        match options.fs_type {
            FsType::Ext2 => "ext2",
            FsType::Ext3 => "ext3",
            FsType::Ext4 => "ext4",
        }
        .to_owned(),
    );
    let mut option = |name: &str, value: Option<String>| {
        all.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    option("-b", options.block_size.map(|value| value.to_string()));
    option("-C", options.cluster_size.map(|value| value.to_string()));
    option("-I", options.inode_size.map(|value| value.to_string()));
    option("-i", options.inode_ratio.map(|value| value.to_string()));
    option("-N", options.inodes.map(|value| value.to_string()));
    option("-G", options.flex_groups.map(|value| value.to_string()));
    option("-J", options.journal_mib.map(|mib| format!("size={mib}")));
    option("-m", Some(options.reserved_percent.to_string()));
    option("-U", Some(uuid(identity.uuid)));
    let features: Vec<&str> = options
        .features
        .names
        .iter()
        .map(String::as_str)
        .filter(|name| name.trim_start_matches('^') != "quota")
        .collect();
    option("-O", (!features.is_empty()).then(|| features.join(",")));
    option(
        "-L",
        (!options.label.is_empty()).then(|| options.label.clone()),
    );
    // The image is one hole: nothing needs to be discarded or zeroed.
    let hash_seed = uuid(identity.hash_seed);
    option(
        "-E",
        Some(format!(
            "hash_seed={hash_seed},lazy_itable_init=1,lazy_journal_init=1,nodiscard"
        )),
    );
    all
}

fn uuid(bytes: [u8; 16]) -> String {
    let number = u128::from_be_bytes(bytes);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        number >> 96,
        number >> 80 & 0xffff,
        number >> 64 & 0xffff,
        number >> 48 & 0xffff,
        number & 0xffff_ffff_ffff
    )
}

/// Name and version, of the line `mke2fs 1.47.0 (5-Feb-2023)`; the name where there is none, as for an invalid number.
fn program(talk: &Talk) -> String {
    let text = String::from_utf8_lossy(&talk.errors);
    let line = text.lines().find(|line| is_version(line));
    let words = line.unwrap_or("mke2fs").split_whitespace();
    words.take(2).collect::<Vec<_>>().join(" ")
}

/// Why it failed, in one line.
fn failure(talk: &Talk, status: ExitStatus, name: &str, image: &Path) -> Error {
    let errors = String::from_utf8_lossy(&talk.errors);
    if let Some(source) = system_error(&errors) {
        return Error::Io {
            path: image.to_path_buf(),
            action: "make the empty filesystem with mke2fs",
            source,
        };
    }
    let texts = [errors, String::from_utf8_lossy(&talk.out)];
    let mut lines = texts.iter().map(|text| one_line(text));
    let why = lines.find(|line| !line.is_empty());
    let why = why.unwrap_or_else(|| status.to_string());
    Error::Option(format!(
        "{} cannot make a filesystem of these options: {}",
        program(talk),
        why.replace(name, &image.display().to_string())
    ))
}

/// What mke2fs printed, as one line without version, warnings and progress.
fn one_line(text: &str) -> String {
    let lines = text.lines().filter(|line| {
        !(is_version(line) || line.starts_with("Warning: ") || line.contains('\u{8}'))
    });
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let line = words.join(" ");
    let line = line.trim_start_matches("mke2fs: ");
    line.trim_end_matches(" Aborting.").to_owned()
}

/// Whether a line names the version.
fn is_version(line: &str) -> bool {
    line.starts_with("mke2fs 1.")
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn refused(program: &str, progress: &dyn Progress) -> Error {
        let folder = tempfile::tempdir().unwrap();
        let image = ImageFile::create(&folder.path().join("image"), 8 << 20).unwrap();
        let identity = Identity {
            uuid: [1; 16],
            hash_seed: [2; 16],
        };
        let options = Options::new(8 << 20, FsType::Ext4);
        run(
            program,
            &options,
            identity,
            image.file(),
            image.path(),
            progress,
        )
        .unwrap_err()
    }

    /// A program that is a script.
    fn script(text: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mke2fs");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        (folder, path.to_str().unwrap().to_owned())
    }

    #[test]
    fn without_mke2fs_the_package_is_named() {
        let error = refused("no-such-mke2fs", &progress::Silent);
        assert!(matches!(error, Error::Start { .. }));
        let text = error.to_string();
        assert!(text.ends_with("install e2fsprogs"), "{text}");
    }

    #[test]
    fn an_old_one_is_named_with_its_version() {
        let (_folder, program) = script(
            "echo 'mke2fs 1.42.9 (28-Dec-2013)' >&2\necho 'Invalid filesystem option set: orphan_file' >&2\nexit 1",
        );
        assert_eq!(
            refused(&program, &progress::Silent).to_string(),
            "mke2fs 1.42.9 cannot make a filesystem of these options: Invalid filesystem option set: orphan_file"
        );
    }

    #[test]
    fn what_it_prints_to_stdout_counts_where_stderr_says_nothing() {
        let (_folder, program) = script(
            "echo 'mke2fs 1.47.0 (5-Feb-2023)' >&2\necho 'Extents MUST be enabled.  Pass -O extents.'\nexit 1",
        );
        assert_eq!(
            refused(&program, &progress::Silent).to_string(),
            "mke2fs 1.47.0 cannot make a filesystem of these options: Extents MUST be enabled. Pass -O extents."
        );
    }

    #[test]
    fn a_full_disk_is_not_the_fault_of_the_options() {
        let (_folder, program) =
            script("echo \"$0: No space left on device while writing\" >&2\nexit 1");
        let Error::Io { source, .. } = refused(&program, &progress::Silent) else {
            panic!("not an I/O error");
        };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn one_that_hangs_is_killed_when_asked_to_stop() {
        struct Stop;
        impl Progress for Stop {
            fn cancelled(&self) -> bool {
                true
            }
        }
        let (_folder, program) = script("exec sleep 1000");
        assert!(matches!(refused(&program, &Stop), Error::Stopped));
    }

    #[test]
    fn a_uuid_is_written_as_mke2fs_takes_it() {
        let bytes = std::array::from_fn(|nth| nth as u8 * 17);
        assert_eq!(uuid(bytes), "00112233-4455-6677-8899-aabbccddeeff");
    }
}
