//! What can go wrong with kernels and archives, each in one line with the next step.

use std::io;
use std::path::{Path, PathBuf};

/// Why a kernel could not be fetched, added, found or used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read, written or made.
    #[error("cannot {doing} {path}: {source}; {next}", path = path.display(), next = next_step(source))]
    Io {
        /// The verb: "read", "write", "make".
        doing: &'static str,
        /// What it was done to.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file that the user named cannot be read.
    #[error("cannot read {path}: {why}; {next}", path = path.display(), next = after(why))]
    Input {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: input::Error,
    },
    /// There is no home for a cache.
    #[error(
        "no folder for kernels: neither XDG_CACHE_HOME nor HOME is set; name one with --cache DIR"
    )]
    NoCache,
    /// What was asked for is no version.
    #[error(
        "`{text}` names no kernel: give a series (6.1, 6.12-cloud, 7.x), a version (6.1.0-56-amd64) or uml"
    )]
    BadName {
        /// As typed.
        text: String,
    },
    /// A name for an added kernel that could not be a folder's.
    #[error(
        "`{name}` is no name for a kernel: letters, digits and . _ + - only, and none of . or - in front"
    )]
    BadLabel {
        /// As typed.
        name: String,
    },
    /// The cache has no such kernel.
    #[error("no kernel {wanted} in {cache}; it has {has}; {next}", cache = cache.display())]
    NotCached {
        /// What was asked for.
        wanted: String,
        /// Where it was looked for.
        cache: PathBuf,
        /// The names there, or "none".
        has: String,
        /// The command that brings it.
        next: String,
    },
    /// The archive has no such kernel.
    #[error(
        "no kernel {wanted} in {suites}; there is {has}; `fslab kernel list --available` shows them, --suite NAME looks elsewhere"
    )]
    NotOffered {
        /// What was asked for.
        wanted: String,
        /// The suites that were read.
        suites: String,
        /// The series that they have.
        has: String,
    },
    /// A kernel of that name is there already.
    #[error("a kernel named {name} is in the cache already; remove {dir} or choose another name", dir = dir.display())]
    Exists {
        /// The name.
        name: String,
        /// Its folder.
        dir: PathBuf,
    },
    /// A folder of the cache does not hold what it should.
    #[error("{dir}: {why}; remove the folder and fetch or add the kernel again", dir = dir.display())]
    BrokenFolder {
        /// The folder.
        dir: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// apt is not here.
    #[error(
        "cannot run {program}: {source}; kernels are fetched with apt; elsewhere use `fslab kernel add`"
    )]
    NoApt {
        /// The program.
        program: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// apt failed.
    #[error("apt-get {what}: {printed}; is the network up, and the mirror right (--mirror URL)?")]
    Apt {
        /// What it was to do.
        what: String,
        /// Its first error.
        printed: String,
    },
    /// The machine's sources name no mirror of Debian.
    #[error(
        "no mirror of Debian in this machine's apt sources; name one: --mirror URL (a folder with dists/ in it)"
    )]
    NoMirror,
    /// A mirror that apt would not understand.
    #[error("`{text}` is no mirror: a URL that begins with http:, https:, file: or mirror+file:")]
    BadMirror {
        /// As typed.
        text: String,
    },
    /// A suite that apt would not understand.
    #[error("`{text}` is no suite: a name as in trixie-backports")]
    BadSuite {
        /// As typed.
        text: String,
    },
    /// No keys to check an archive with.
    #[error(
        "no keys of Debian's archive on this machine; apt-get install debian-archive-keyring, or name them with --keyring FILE"
    )]
    NoKeyring,
    /// A path that cannot be written into a configuration.
    #[error(
        "{path:?}: apt's configuration cannot hold such a path; name another with --cache DIR or --keyring FILE"
    )]
    BadPath {
        /// The path.
        path: PathBuf,
    },
    /// A machine for which no kernel images are known.
    #[error("guest kernels are known for x86-64 only, this machine is {arch}")]
    Architecture {
        /// As the compiler names it.
        arch: &'static str,
    },
    /// A package that is none.
    #[error("{path}: not a Debian package: {why}; remove it and fetch again", path = path.display())]
    Package {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Neither a vmlinux nor a bzImage, or a damaged one.
    #[error("{path}: no kernel image: {why}; give a vmlinux or a bzImage of x86", path = path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A module that cannot be read.
    #[error("{path}: no kernel module: {why}; build or fetch the modules again", path = path.display())]
    Module {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The modules belong to another kernel.
    #[error(
        "{module}: the module is of {modules}, the kernel is {kernel}: it will not load; give those that were built with it"
    )]
    Mismatch {
        /// One of them, below the folder of modules.
        module: PathBuf,
        /// Release in the modules.
        modules: String,
        /// Release in the image.
        kernel: String,
    },
    /// A kernel lacks something that was asked of it.
    #[error("kernel {kernel} has no {what}; {hint}")]
    Lacks {
        /// The kernel.
        kernel: String,
        /// The capability or module.
        what: String,
        /// What to do.
        hint: String,
    },
    /// A name that is no capability.
    #[error("`{name}` is no capability that fslab knows; `fslab kernel list` prints all of them")]
    UnknownCapability {
        /// As asked.
        name: String,
    },
    /// A program of the host is missing.
    #[error("no program {name} on this machine's PATH for the guest; install it{package}")]
    NoTool {
        /// The program.
        name: String,
        /// Where it comes from, as " (apt-get install mdadm)", or empty.
        package: String,
    },
    /// A program needs a library that is not found.
    #[error("{program} needs {library}, which is in none of the linker's folders; install it", program = program.display())]
    NoLibrary {
        /// The program or library.
        program: PathBuf,
        /// The soname.
        library: String,
    },
    /// A program that cannot be read as one.
    #[error("{path}: no program for a guest: {why}; name an ELF program of x86-64 or a script", path = path.display())]
    Program {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Something that a cpio archive of this kind cannot hold.
    #[error("{path} does not fit an initramfs: {why}", path = path.display())]
    Archive {
        /// The entry.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

impl Error {
    /// Whether the command line is at fault, and not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Input { .. }
                | Self::BadName { .. }
                | Self::BadLabel { .. }
                | Self::NotCached { .. }
                | Self::NotOffered { .. }
                | Self::Exists { .. }
                | Self::BadMirror { .. }
                | Self::BadSuite { .. }
                | Self::BadPath { .. }
                | Self::UnknownCapability { .. }
        )
    }
}

/// What to do about a file that the user named.
const fn after(why: &input::Error) -> &'static str {
    match why {
        input::Error::Io(_) | input::Error::Dangling => "check the path",
        _ => "name another file",
    }
}

fn next_step(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some room, or name another folder with --cache DIR"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "name a folder that is yours with --cache DIR"
        }
        io::ErrorKind::NotFound => "check the path",
        _ => "check the path and the disk below it",
    }
}

/// Adds what was done to what, to an error of the operating system.
pub(crate) trait Doing<T> {
    /// `doing` is a verb, as in "read".
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T> Doing<T> for Result<T, io::Error> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io {
            doing,
            path: path.to_owned(),
            source,
        })
    }
}

/// The bytes of a file that the user named, of at most `most` bytes.
///
/// # Errors
/// [`Error::Input`].
pub(crate) fn named(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    input::bytes(path, most).map_err(|why| Error::Input {
        path: path.to_owned(),
        why,
    })
}
