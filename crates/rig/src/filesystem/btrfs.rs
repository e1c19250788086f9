//! btrfs.

use std::path::PathBuf;

use fskind::Kind;
use probe::superblock::{Fields, Source, btrfs::Superblock};

use super::Filesystem;
use crate::host::Host;

/// btrfs.
#[derive(Clone, Copy, Debug)]
pub struct Btrfs;

impl Filesystem for Btrfs {
    fn kind(&self) -> Kind {
        Kind::Btrfs
    }

    fn superblock(&self, device: &Source) -> std::io::Result<Fields> {
        Ok(Superblock::read(device)?.fields())
    }

    fn driver(&self, host: &Host, block_name: &str) -> Option<String> {
        let serves = host.names("sys/fs/btrfs").iter().any(|uuid| {
            host.path(format!("sys/fs/btrfs/{uuid}/devices/{block_name}"))
                .exists()
        });
        serves.then(|| "btrfs".into())
    }

    fn mounted_facts(&self, host: &Host, _block_name: &str, uuid: &str) -> Fields {
        let folder = format!("sys/fs/btrfs/{uuid}");
        let mut facts = Fields::new();
        // The kernel's own list of features, and how each kind of chunk is laid out.
        facts.insert(
            "features".into(),
            host.names(format!("{folder}/features")).join(" "),
        );
        for chunk in ["data", "metadata", "system"] {
            let profile = host
                .names(format!("{folder}/allocation/{chunk}"))
                .into_iter()
                .find(|name| name == "single" || name == "dup" || name.starts_with("raid"));
            if let Some(profile) = profile {
                facts.insert(format!("{chunk}_profile"), profile);
            }
        }
        facts
    }

    fn own_readahead(&self, host: &Host, uuid: &str) -> Option<PathBuf> {
        // btrfs has a backing device info of its own, at least 4 MiB whatever its disks have.
        Some(host.path(format!("sys/fs/btrfs/{uuid}/bdi/read_ahead_kb")))
    }
}
