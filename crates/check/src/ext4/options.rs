//! Options that only the ext4 checker has.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use blockio::BlockSource;

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
    /// Where the journal is, if it is not in the filesystem. It is not searched for.
    pub journal: Option<ExternalJournal>,
}
