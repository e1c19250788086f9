//! What a kernel can do for a filesystem laboratory.
//!
//! Read from its configuration, and from the modules that are really there: a symbol set to `m` whose module
//! the package leaves out (Debian's cloud kernels and OCFS2) is not a capability. Without a configuration
//! the modules and `modules.builtin` answer for everything that can be a module; the rest is reported as not known.

use std::collections::BTreeMap;

use fskind::Kind;
use serde::Serialize;

use super::config::{Config, Setting};
use super::modules::Modules;

/// One thing that a kernel has or lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Its heading in tables.
    pub group: &'static str,
    /// What it is called here, in studies and on the command line.
    pub name: &'static str,
    /// The symbol of the configuration.
    pub(super) symbol: &'static str,
    /// The module, where it can be one.
    pub(super) module: Option<&'static str>,
}

const fn with(
    group: &'static str,
    name: &'static str,
    symbol: &'static str,
    module: &'static str,
) -> Capability {
    Capability {
        group,
        name,
        symbol,
        module: Some(module),
    }
}

const fn fixed(group: &'static str, name: &'static str, symbol: &'static str) -> Capability {
    Capability {
        group,
        name,
        symbol,
        module: None,
    }
}

const FS: &str = "filesystems";
const MD: &str = "md";
const DM: &str = "device-mapper";
const DEV: &str = "devices";
const SEE: &str = "tracing";
const ACT: &str = "control";

/// All that is known, in the order of the tables. Symbols are of Linux 5.10 to 7.3.
pub const CAPABILITIES: &[Capability] = &KNOWN;

const KNOWN: [Capability; Kind::ALL.len() + OTHERS.len()] = {
    let mut all = [OTHERS[0]; Kind::ALL.len() + OTHERS.len()];
    let mut at = 0;
    while at < Kind::ALL.len() {
        let filesystem = Kind::ALL[at].properties();
        let driver = filesystem.driver;
        all[at] = with(FS, filesystem.name, driver.symbol, driver.module);
        at += 1;
    }
    while at < all.len() {
        all[at] = OTHERS[at - Kind::ALL.len()];
        at += 1;
    }
    all
};

/// What no kind of filesystem brings.
const OTHERS: &[Capability] = &[
    with(FS, "nilfs2", "NILFS2_FS", "nilfs2"),
    with(FS, "jfs", "JFS_FS", "jfs"),
    with(FS, "bcachefs", "BCACHEFS_FS", "bcachefs"),
    with(FS, "9p", "9P_FS", "9p"),
    with(FS, "virtiofs", "VIRTIO_FS", "virtiofs"),
    with(FS, "hostfs", "HOSTFS", "hostfs"),
    with(MD, "md", "BLK_DEV_MD", "md_mod"),
    with(MD, "raid0", "MD_RAID0", "raid0"),
    with(MD, "raid1", "MD_RAID1", "raid1"),
    with(MD, "raid5", "MD_RAID456", "raid456"),
    with(MD, "raid6", "MD_RAID456", "raid456"),
    with(MD, "raid10", "MD_RAID10", "raid10"),
    with(DM, "dm-linear", "BLK_DEV_DM", "dm_mod"),
    with(DM, "dm-stripe", "BLK_DEV_DM", "dm_mod"),
    with(DM, "dm-error", "BLK_DEV_DM", "dm_mod"),
    with(DM, "dm-delay", "DM_DELAY", "dm_delay"),
    with(DM, "dm-flakey", "DM_FLAKEY", "dm_flakey"),
    with(DM, "dm-log-writes", "DM_LOG_WRITES", "dm_log_writes"),
    with(DM, "dm-dust", "DM_DUST", "dm_dust"),
    with(DM, "dm-snapshot", "DM_SNAPSHOT", "dm_snapshot"),
    with(DM, "dm-thin", "DM_THIN_PROVISIONING", "dm_thin_pool"),
    with(DM, "dm-cache", "DM_CACHE", "dm_cache"),
    with(DM, "dm-crypt", "DM_CRYPT", "dm_crypt"),
    with(DEV, "loop", "BLK_DEV_LOOP", "loop"),
    with(DEV, "null_blk", "BLK_DEV_NULL_BLK", "null_blk"),
    with(DEV, "brd", "BLK_DEV_RAM", "brd"),
    with(DEV, "scsi_debug", "SCSI_DEBUG", "scsi_debug"),
    with(DEV, "zram", "ZRAM", "zram"),
    with(DEV, "fuse", "FUSE_FS", "fuse"),
    with(DEV, "ublk", "BLK_DEV_UBLK", "ublk_drv"),
    with(DEV, "nvme", "BLK_DEV_NVME", "nvme"),
    with(DEV, "virtio_pci", "VIRTIO_PCI", "virtio_pci"),
    with(DEV, "virtio_blk", "VIRTIO_BLK", "virtio_blk"),
    with(DEV, "virtio_pmem", "VIRTIO_PMEM", "virtio_pmem"),
    with(DEV, "pmem", "BLK_DEV_PMEM", "nd_pmem"),
    with(DEV, "virtio_console", "VIRTIO_CONSOLE", "virtio_console"),
    fixed(DEV, "ubd", "BLK_DEV_UBD"),
    fixed(SEE, "blktrace", "BLK_DEV_IO_TRACE"),
    fixed(SEE, "ftrace", "FTRACE"),
    fixed(SEE, "debugfs", "DEBUG_FS"),
    fixed(SEE, "bpf", "BPF_SYSCALL"),
    fixed(SEE, "btf", "DEBUG_INFO_BTF"),
    fixed(SEE, "psi", "PSI"),
    fixed(SEE, "task-io", "TASK_IO_ACCOUNTING"),
    with(ACT, "configfs", "CONFIGFS_FS", "configfs"),
    fixed(ACT, "memcg", "MEMCG"),
    fixed(ACT, "io-throttle", "BLK_DEV_THROTTLING"),
    fixed(ACT, "io-cost", "BLK_CGROUP_IOCOST"),
    fixed(ACT, "io-latency", "BLK_CGROUP_IOLATENCY"),
    with(ACT, "mq-deadline", "MQ_IOSCHED_DEADLINE", "mq_deadline"),
    with(ACT, "kyber", "MQ_IOSCHED_KYBER", "kyber_iosched"),
    with(ACT, "bfq", "IOSCHED_BFQ", "bfq"),
    fixed(ACT, "io_uring", "IO_URING"),
    fixed(ACT, "aio", "AIO"),
];

/// Other ways to the same: User-mode Linux has ext2 by its own driver.
const ALSO: &[Capability] = &[with(FS, "ext2", "EXT2_FS", "ext2")];

/// How a kernel has a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Has {
    /// In the image.
    Builtin,
    /// As a module, which has to be loaded.
    Module,
    /// Not at all.
    No,
    /// Not known: there is no configuration.
    Unknown,
}

/// The capabilities of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities(BTreeMap<&'static str, (Has, Option<&'static str>)>);

impl Capabilities {
    pub(crate) fn read(config: Option<&Config>, modules: &Modules) -> Self {
        let mut all = BTreeMap::new();
        for capability in CAPABILITIES.iter().chain(ALSO) {
            let has = has(capability, config, modules);
            let known = all.get(capability.name);
            if !matches!(known, Some((Has::Builtin | Has::Module, _))) {
                all.insert(capability.name, (has, capability.module));
            }
        }
        Self(all)
    }

    /// How the kernel has the capability of this name; none for a name that is no capability.
    pub fn get(&self, name: &str) -> Option<Has> {
        self.0.get(name).map(|(has, _)| *has)
    }

    /// The module that gives it, where it is one.
    pub(crate) fn module(&self, name: &str) -> Option<&'static str> {
        match self.0.get(name) {
            Some((Has::Module, module)) => *module,
            _ => None,
        }
    }
}

fn has(capability: &Capability, config: Option<&Config>, modules: &Modules) -> Has {
    let there = capability
        .module
        .is_some_and(|module| modules.kept.contains_key(module));
    let builtin = capability
        .module
        .is_some_and(|module| modules.builtin.contains(module));
    match config.map(|config| config.get(capability.symbol)) {
        // ext2 by ext4's module is a switch: y, whatever ext4 itself is.
        Some(Some(_)) if there => Has::Module,
        Some(Some(Setting::Builtin)) => Has::Builtin,
        Some(Some(Setting::Module) | None) => Has::No,
        None => match capability.module {
            Some(_) if there => Has::Module,
            Some(_) if builtin => Has::Builtin,
            Some(_) if !modules.builtin.is_empty() => Has::No,
            _ => Has::Unknown,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::super::modinfo::ModInfo;
    use super::super::modules::Entry;
    use super::*;

    fn modules(names: &[&str], builtin: &[&str]) -> Modules {
        let entry = |name: &&str| {
            let path = PathBuf::from(format!("{name}.ko"));
            ((*name).to_owned(), Entry::new(path, ModInfo::default()))
        };
        Modules {
            kept: names.iter().map(entry).collect(),
            builtin: builtin.iter().map(|n| (*n).to_owned()).collect(),
            left_out: BTreeSet::new(),
        }
    }

    #[test]
    fn the_config_answers_and_the_modules_prove_it() {
        let config = Config::parse(
            "CONFIG_EXT4_FS=m\nCONFIG_EXT4_USE_FOR_EXT2=y\nCONFIG_XFS_FS=y\nCONFIG_OCFS2_FS=m\n\
             CONFIG_BLK_DEV_IO_TRACE=y\nCONFIG_BLK_DEV_DM=m\n",
        );
        let can = Capabilities::read(Some(&config), &modules(&["ext4", "dm_mod"], &[]));
        for (name, has) in [
            ("ext4", Has::Module),
            ("ext2", Has::Module),
            ("xfs", Has::Builtin),
            ("ocfs2", Has::No),
            ("dm-stripe", Has::Module),
            ("blktrace", Has::Builtin),
            ("btf", Has::No),
        ] {
            assert_eq!(can.get(name), Some(has), "{name}");
        }
        assert_eq!(can.get("warp"), None);
        assert_eq!(
            (can.module("dm-stripe"), can.module("xfs")),
            (Some("dm_mod"), None)
        );
    }

    #[test]
    fn ext2_is_ext4s_or_its_own() {
        let config = Config::parse("CONFIG_EXT4_FS=y\nCONFIG_EXT2_FS=m\n");
        let can = Capabilities::read(Some(&config), &modules(&["ext2"], &[]));
        assert_eq!(
            (can.get("ext2"), can.module("ext2")),
            (Some(Has::Module), Some("ext2"))
        );
        assert_eq!(can.get("ext4"), Some(Has::Builtin));
    }

    #[test]
    fn without_a_config_what_cannot_be_a_module_is_not_known() {
        let can = Capabilities::read(None, &modules(&["raid456"], &["ext4"]));
        for (name, has) in [
            ("raid5", Has::Module),
            ("ext4", Has::Builtin),
            ("xfs", Has::No),
            ("blktrace", Has::Unknown),
        ] {
            assert_eq!(can.get(name), Some(has), "{name}");
        }
        // With neither, nothing is known of what could be built in.
        let can = Capabilities::read(None, &modules(&[], &[]));
        assert_eq!(can.get("ext4"), Some(Has::Unknown));
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = CAPABILITIES.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), CAPABILITIES.len());
    }
}
