//! f2fs, the filesystem for flash.

use fskind::Kind;
use probe::superblock::{Fields, Source, f2fs::Superblock};

use super::Filesystem;
use crate::host::Host;

/// f2fs.
#[derive(Clone, Copy, Debug)]
pub struct F2fs;

/// What the kernel reports of a mounted one, in the files of its folder in sysfs
/// (Documentation/ABI/testing/sysfs-fs-f2fs).
const KERNEL: [&str; 3] = [
    "features",
    "lifetime_write_kbytes",
    "current_reserved_blocks",
];

impl Filesystem for F2fs {
    fn kind(&self) -> Kind {
        Kind::F2fs
    }

    fn superblock(&self, device: &Source) -> std::io::Result<Fields> {
        Ok(Superblock::read(device)?.fields())
    }

    fn driver(&self, host: &Host, block_name: &str) -> Option<String> {
        let served = host.path(format!("sys/fs/f2fs/{block_name}")).is_dir();
        served.then(|| "f2fs".into())
    }

    fn mounted_facts(&self, host: &Host, block_name: &str, _uuid: &str) -> Fields {
        let facts = KERNEL.iter().filter_map(|item| {
            let value = host.text(format!("sys/fs/f2fs/{block_name}/{item}"))?;
            Some((format!("kernel_{item}"), value))
        });
        facts.collect()
    }
}
