//! The ext family. ext2 and ext3 are made by their own mkfs names, and served by the driver that
//! this kernel has for them, which on most current kernels is ext4's (CONFIG_EXT4_USE_FOR_EXT2).

use fskind::Kind;
use probe::superblock::{Fields, Source, ext::Superblock};

use super::{Filesystem, Mounted};
use crate::Result;
use crate::host::Host;
use crate::lazy_init;
use crate::settled::Settled;
use progress::Progress;

/// One member of the family.
#[derive(Clone, Copy, Debug)]
pub struct Ext(Kind);

/// ext2.
pub const EXT2: Ext = Ext(Kind::Ext2);
/// ext3.
pub const EXT3: Ext = Ext(Kind::Ext3);
/// ext4.
pub const EXT4: Ext = Ext(Kind::Ext4);

impl Filesystem for Ext {
    fn kind(&self) -> Kind {
        self.0
    }

    fn superblock(&self, device: &Source) -> std::io::Result<Fields> {
        Superblock::read(device)?.fields(device)
    }

    fn driver(&self, host: &Host, block_name: &str) -> Option<String> {
        // Only the ext4 driver keeps a folder in sysfs for each filesystem it serves.
        let served_by_ext4 = host.path(format!("sys/fs/ext4/{block_name}")).is_dir();
        Some(
            if served_by_ext4 {
                "ext4"
            } else {
                self.0.name()
            }
            .into(),
        )
    }

    fn mounted_facts(&self, host: &Host, block_name: &str, _uuid: &str) -> Fields {
        let mut facts = Fields::new();
        // mountinfo hides options that are at their defaults; this file does not.
        if let Some(options) = host.text(format!("proc/fs/ext4/{block_name}/options")) {
            facts.insert(
                "effective_options".into(),
                options.lines().collect::<Vec<_>>().join(","),
            );
        }
        for item in [
            "lifetime_write_kbytes",
            "errors_count",
            "delayed_allocation_blocks",
        ] {
            if let Some(value) = host.text(format!("sys/fs/ext4/{block_name}/{item}")) {
                facts.insert(format!("kernel_{item}"), value);
            }
        }
        facts
    }

    fn settle(&self, mounted: &Mounted<'_>, progress: &dyn Progress) -> Result<Settled> {
        lazy_init::wait(mounted, lazy_init::TIMEOUT, progress)
    }
}
