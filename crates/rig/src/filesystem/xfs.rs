//! XFS.

use probe::superblock::{Source, Words, xfs::Superblock};

use super::Filesystem;
use crate::host::Host;

/// XFS.
#[derive(Clone, Copy, Debug)]
pub struct Xfs;

impl Filesystem for Xfs {
    fn kind(&self) -> &'static str {
        "xfs"
    }

    fn program(&self) -> &'static str {
        "mkfs.xfs"
    }

    fn package(&self) -> &'static str {
        "xfsprogs"
    }

    fn force(&self) -> &'static str {
        "-f"
    }

    fn version_option(&self) -> &'static str {
        "-V"
    }

    fn least_bytes(&self) -> u64 {
        // mkfs.xfs since 5.19 makes nothing smaller.
        300 << 20
    }

    fn superblock(&self, device: &Source) -> std::io::Result<Words> {
        Ok(Superblock::read(device)?.words())
    }

    fn driver(&self, host: &Host, block_name: &str) -> Option<String> {
        let known = host.path(format!("sys/fs/xfs/{block_name}")).is_dir();
        known.then(|| "xfs".into())
    }
}
