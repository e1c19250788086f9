//! Options that only the ext4 checker has.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use blockio::BlockSource;
use ondisk::ext4::Superblock;
use ondisk::ext4::feature::{Compat, Incompat};
use ondisk::ext4::superblock::MAGIC;

use crate::ext4::pass0;
use crate::frame::verdict;

/// The version of e2fsck whose verdict is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reference {
    /// e2fsprogs 1.47.4, the newest, whose source the codes are taken from.
    #[default]
    E2fsck1474,
    /// e2fsprogs 1.47.0, that of Debian 12.
    E2fsck1470,
}

impl Reference {
    /// How reports name it.
    pub(crate) fn program(self) -> verdict::Reference {
        verdict::Reference {
            program: "e2fsck",
            version: match self {
                Reference::E2fsck1474 => "1.47.4",
                Reference::E2fsck1470 => "1.47.0",
            },
            command: "e2fsck -n",
            lenience: "e2fsck does not count what it finds before pass 1",
        }
    }
}

/// The device or file of an external journal (e2fsck's `-j`).
#[derive(Clone)]
pub struct ExternalJournal {
    /// The journal's device or file.
    pub source: Arc<dyn BlockSource>,
    /// Its device number in the encoding of `s_journal_dev`; none for a file.
    pub device: Option<u32>,
}

impl ExternalJournal {
    /// Opens a device or file.
    ///
    /// # Errors
    /// It cannot be opened for reading.
    pub fn open(path: &Path) -> Result<ExternalJournal, blockio::OpenError> {
        let opened = blockio::open(path, blockio::Mode::Buffered)?;
        // new_encode_dev() of the kernel: what s_journal_dev holds.
        let number = |rdev: u64| {
            let (major, minor) = (rustix::fs::major(rdev), rustix::fs::minor(rdev));
            (minor & 0xff) | major << 8 | (minor & !0xff) << 12
        };
        let device = std::fs::metadata(path)
            .ok()
            .filter(|metadata| metadata.file_type().is_block_device());
        Ok(ExternalJournal {
            source: Arc::from(opened.source),
            device: device.map(|metadata| number(metadata.rdev())),
        })
    }

    /// The journal's device for a filesystem whose journal is on another one: e2fsck looks for a block device with the UUID that the
    /// superblock names, and so does this. Devices that cannot be opened are passed over.
    ///
    /// It opens what it was not given, so it is for a caller who checks for a user of this machine.
    pub fn search(filesystem: &dyn BlockSource) -> Option<ExternalJournal> {
        let sb = pass0::primary(filesystem).filter(|sb| sb.s_magic.get() == MAGIC)?;
        let uuid = sb.s_journal_uuid;
        if uuid == [0; 16] || !sb.has_compat(Compat::HAS_JOURNAL) {
            return None;
        }
        let is_it = |sb: &Superblock| {
            sb.s_magic.get() == MAGIC && sb.has_incompat(Incompat::JOURNAL_DEV) && sb.s_uuid == uuid
        };
        // Lines of a major and a minor number, the blocks and the name, after a heading.
        let partitions = fs::read_to_string("/proc/partitions").ok()?;
        let names = partitions
            .lines()
            .filter_map(|line| line.split_whitespace().nth(3));
        names
            .filter(|name| *name != "name")
            // A slash in a name of /dev is an exclamation mark there.
            .filter_map(|name| {
                ExternalJournal::open(&Path::new("/dev").join(name.replace('!', "/"))).ok()
            })
            .find(|journal| pass0::primary(&*journal.source).is_some_and(|sb| is_it(&sb)))
    }
}

impl std::fmt::Debug for ExternalJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ExternalJournal")
            .field(self.source.name())
            .finish()
    }
}

/// Options that only the ext4 checker has.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whose verdict.
    pub reference: Reference,
    /// Block number of the superblock to use instead of the one at byte 1024 (e2fsck's `-b`).
    pub superblock: Option<u64>,
    /// Block size for `superblock`, bytes (e2fsck's `-B`).
    pub block_size: Option<u32>,
    /// Where the journal is, if it is not in the filesystem. A check does not look for it ([`ExternalJournal::search`]).
    pub journal: Option<ExternalJournal>,
}
