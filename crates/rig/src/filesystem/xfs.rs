//! XFS.

use fskind::Kind;
use probe::superblock::{Fields, Source, xfs::Superblock};

use super::Filesystem;
use crate::host::Host;

/// XFS.
#[derive(Clone, Copy, Debug)]
pub struct Xfs;

impl Filesystem for Xfs {
    fn kind(&self) -> Kind {
        Kind::Xfs
    }

    fn superblock(&self, device: &Source) -> std::io::Result<Fields> {
        Ok(Superblock::read(device)?.fields())
    }

    fn driver(&self, host: &Host, block_name: &str) -> Option<String> {
        let known = host.path(format!("sys/fs/xfs/{block_name}")).is_dir();
        known.then(|| "xfs".into())
    }
}
