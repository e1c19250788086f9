//! The shape of an entry: what can be known of a kind of filesystem without running anything.

use crate::family::Family;

/// What is known of a kind of filesystem.
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts of a table"
)]
#[derive(Clone, Copy, Debug)]
pub struct Properties {
    /// Its name in studies, records and `mount -t`: `xfs`.
    pub name: &'static str,
    /// Its name in messages and reports: `XFS`.
    pub title: &'static str,
    /// Its on-disk format.
    pub family: Family,
    /// Where its programs come from.
    pub package: Package,
    /// The program that makes it.
    pub mkfs: Mkfs,
    /// The program that checks it.
    pub checker: Checker,
    /// The kernel's driver.
    pub driver: KernelDriver,
    /// The magic number of its superblock.
    pub signature: Signature,
    /// `f_type` of statfs(2).
    pub statfs_magic: u64,
    /// What it divides a device into: `allocation group`.
    pub group: &'static str,
    /// Bytes of the smallest device that mkfs accepts and that leaves room for files.
    pub smallest: u64,
    /// Bytes that a file must stay below, with blocks of 4 KiB.
    pub largest_file: u64,
    /// All inodes are made by mkfs; otherwise they are made as files need them.
    pub fixed_inodes: bool,
    /// It can be written to a zoned device.
    pub zoned: bool,
    /// Its recovery after a power cut is tested; `fslab crash` offers it.
    pub crash_tested: bool,
    /// Its journal.
    pub journal: Journal,
    /// When it allocates the blocks of written data.
    pub delayed_allocation: DelayedAllocation,
    /// How a file's blocks are mapped.
    pub extents: Extents,
    /// Seconds between commits, where the default is fixed and not listed among the mount options.
    pub commit_seconds: Option<u64>,
    /// Mount options that name the compression algorithm; empty: it does not compress.
    pub compression: &'static [&'static str],
    /// The mount option without which the kernel refuses what mkfs made.
    pub mount_option: Option<&'static str>,
    /// Mount options for the recovery of a copy while the original may be mounted.
    pub recovery_options: &'static [&'static str],
    /// It may span devices: its numbers are not its device's, and its readahead is set below
    /// `/sys/fs/NAME/UUID/bdi`.
    pub spans_devices: bool,
}

/// A package of Debian and the programs that are used from it.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    /// Its name for apt.
    pub name: &'static str,
    /// Programs of it that are run, or copied into a guest.
    pub programs: &'static [&'static str],
}

/// A program that makes a filesystem, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Mkfs {
    /// Its name.
    pub program: &'static str,
    /// The option that makes it overwrite without asking.
    pub force: &'static str,
    /// Arguments that are always given, after that.
    pub always: &'static [&'static str],
    /// What it is answered on its standard input, where it asks in spite of `force`.
    pub answer: &'static str,
    /// The option that prints its version.
    pub version_option: &'static str,
    /// Letters of the short options that take a value.
    pub valued: &'static str,
    /// Long options without a value; `None`: none of its long options takes one.
    pub long_flags: Option<&'static [&'static str]>,
    /// The option that sets the UUID, and what precedes the UUID in its value: `-m`, `uuid=`.
    pub uuid: (&'static str, &'static str),
    /// The start of a word that names another device, beyond the keys common to all.
    pub device_option: Option<&'static str>,
}

/// A program that checks a filesystem without writing.
#[derive(Clone, Copy, Debug)]
pub struct Checker {
    /// Its name.
    pub program: &'static str,
    /// Arguments before the device that are always given.
    pub arguments: &'static [&'static str],
    /// The option that prints its version.
    pub version_option: &'static str,
    /// The option that it needs when its target is a file and not a device.
    pub file_option: Option<&'static str>,
    /// The option that takes the MiB of memory that it may use. Such a program plans its caches by the machine's memory, and sees no limit
    /// of a control group.
    pub memory_option: Option<&'static str>,
    /// The key of its extra arguments in a study's `[check]`.
    pub key: &'static str,
}

impl Checker {
    /// Its name in messages, with the subcommand where there is one: `btrfs check`.
    pub fn title(&self) -> String {
        match self.arguments.first() {
            Some(command) if !command.starts_with('-') => format!("{} {command}", self.program),
            _ => self.program.to_owned(),
        }
    }

    /// Its command line before the device: `xfs_repair -n -v`.
    pub fn command(&self) -> String {
        let words: Vec<&str> = [self.program]
            .into_iter()
            .chain(self.arguments.iter().copied())
            .collect();
        words.join(" ")
    }
}

/// The kernel's driver of a filesystem.
#[derive(Clone, Copy, Debug)]
pub struct KernelDriver {
    /// The configuration symbol, without `CONFIG_`.
    pub symbol: &'static str,
    /// The module, where it is one.
    pub module: &'static str,
}

/// A magic number on the device.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// Byte offsets from the start of the device. One of them has the magic number.
    pub offsets: &'static [u64],
    /// The bytes there.
    pub magic: &'static [u8],
}

/// How a filesystem keeps its metadata consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// Not at all.
    None,
    /// jbd2; the mount option `data=` chooses the mode, `ordered` by default.
    DataMode,
    /// A log of metadata that cannot be turned off, by its name in reports.
    Always(&'static str),
}

/// When blocks are allocated for data that was written to the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAllocation {
    /// At writeback.
    Always,
    /// In write(2).
    Never,
    /// `delalloc` or `nodelalloc` decides; this is the default.
    Option(bool),
}

/// How a file's blocks are mapped on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extents {
    /// By extents.
    Always,
    /// By a pointer to each block.
    Never,
    /// By extents when the superblock has the feature of this name.
    Feature(&'static str),
}
