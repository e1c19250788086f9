//! What the running kernel can do: the same names as of kernels in the cache.
//!
//! What works is believed first (`/proc/filesystems`, `/proc/mdstat`), then the configuration
//! (`/proc/config.gz`, `/boot`, `/lib/modules`) together with the modules that are installed. In a container
//! both may be missing: then the answer is unknown, and the caller should try.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::capabilities::{CAPABILITIES, Capability, Has};
use super::compression::Compression;
use super::config::{Config, Setting};
use super::modules::{name_of, parse_builtin};

/// More than a configuration ever has.
const LIMIT: u64 = 16 << 20;

/// The running kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// What `uname -r` prints.
    pub release: String,
    has: BTreeMap<&'static str, Has>,
}

impl Host {
    /// The kernel that runs this process.
    pub fn here() -> Self {
        let release = rustix::system::uname().release().to_string_lossy().into();
        Self::below(Path::new("/"), release)
    }

    /// A kernel of this release whose files are below `root`.
    fn below(root: &Path, release: String) -> Self {
        let files = Files::read(root, &release);
        let has = |one: &'static Capability| (one.name, files.has(one));
        Self {
            release,
            has: CAPABILITIES.iter().map(has).collect(),
        }
    }

    /// How it has the capability of this name; none for a name that is no capability.
    pub fn get(&self, name: &str) -> Option<Has> {
        self.has.get(name).copied()
    }
}

/// The files that describe the running kernel.
struct Files {
    filesystems: BTreeSet<String>,
    /// The line of md's levels, as `[raid0] [raid1]`; none: no md.
    levels: Option<String>,
    device_mapper: bool,
    config: Option<Config>,
    loaded: BTreeSet<String>,
    /// Modules that could be loaded, and those built in; none: their folder is not here.
    modules: Option<(BTreeSet<String>, BTreeSet<String>)>,
}

impl Files {
    fn read(root: &Path, release: &str) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok();
        let words = |path: &str| -> BTreeSet<String> {
            let text = text(path).unwrap_or_default();
            let last = text.lines().filter_map(|l| l.split_whitespace().last());
            last.map(str::to_owned).collect()
        };
        let folder = format!("lib/modules/{release}");
        let loadable = text(&format!("{folder}/modules.dep")).map(|dep| {
            let names = dep.lines().filter_map(|line| line.split(':').next());
            let names = names.filter_map(|path| name_of(path.rsplit('/').next()?));
            let builtin = text(&format!("{folder}/modules.builtin")).unwrap_or_default();
            (names.collect(), parse_builtin(&builtin))
        });
        let loaded = text("proc/modules").unwrap_or_default();
        let loaded = loaded.lines().filter_map(|l| l.split_whitespace().next());
        Self {
            filesystems: words("proc/filesystems"),
            levels: text("proc/mdstat"),
            device_mapper: root.join("sys/class/misc/device-mapper").exists(),
            config: config(root, release),
            loaded: loaded.map(str::to_owned).collect(),
            modules: loadable,
        }
    }

    fn has(&self, one: &Capability) -> Has {
        let module = one.module.unwrap_or_default();
        if self.works(one) || self.loaded.contains(module) {
            return Has::Builtin;
        }
        let there = self.modules.as_ref().map(|(all, _)| all.contains(module));
        let builtin = |(_, builtin): &(_, BTreeSet<String>)| builtin.contains(module);
        match self.config.as_ref().map(|config| config.get(one.symbol)) {
            Some(Some(Setting::Builtin)) => Has::Builtin,
            Some(None) => Has::No,
            // The kernel loads it by itself, from where the machine keeps it.
            Some(Some(Setting::Module)) => match there {
                Some(true) => Has::Module,
                Some(false) => Has::No,
                None => Has::Unknown,
            },
            None if there == Some(true) => Has::Module,
            None if self.modules.as_ref().is_some_and(builtin) => Has::Builtin,
            // A list of all modules and of all that could have been one: it is in neither.
            None if there == Some(false) && one.module.is_some() => Has::No,
            None => Has::Unknown,
        }
    }

    /// Whether it is in use or on offer this moment.
    fn works(&self, one: &Capability) -> bool {
        let level = |name: &str| {
            let name = format!("[{name}]");
            self.levels.as_ref().is_some_and(|all| all.contains(&name))
        };
        match one.name {
            "md" => self.levels.is_some(),
            name if name.starts_with("raid") => level(name),
            "dm-linear" | "dm-stripe" | "dm-error" => self.device_mapper,
            name => self.filesystems.contains(name),
        }
    }
}

fn config(root: &Path, release: &str) -> Option<Config> {
    let places = [
        "proc/config.gz".to_owned(),
        format!("boot/config-{release}"),
        format!("lib/modules/{release}/config"),
    ];
    places.iter().find_map(|place| {
        let bytes = fs::read(root.join(place)).ok()?;
        let plain = Compression::of(&bytes).decompress(&bytes, LIMIT).ok()?;
        let config = Config::parse(&String::from_utf8_lossy(&plain));
        (!config.is_empty()).then_some(config)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn host(files: &[(&str, &str)]) -> Host {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            put(root.path(), path, text);
        }
        Host::below(root.path(), "6.6.5".to_owned())
    }

    #[test]
    fn what_works_is_there_whatever_else_is_known() {
        let host = host(&[
            ("proc/filesystems", "nodev\tproc\n\text4\n\text3\n"),
            (
                "proc/mdstat",
                "Personalities : [raid0] [raid1]\nunused devices: <none>\n",
            ),
            ("proc/modules", "null_blk 40960 0 - Live 0x0\n"),
            (
                "proc/config.gz",
                "CONFIG_XFS_FS=y\nCONFIG_OCFS2_FS=m\nCONFIG_MEMCG=y\n",
            ),
        ]);
        for (name, has) in [
            ("ext4", Has::Builtin),
            ("xfs", Has::Builtin),
            ("md", Has::Builtin),
            ("raid0", Has::Builtin),
            ("null_blk", Has::Builtin),
            ("memcg", Has::Builtin),
            ("raid5", Has::No),
            ("dm-delay", Has::No),
            // m, and the file of the module is not found.
            ("ocfs2", Has::Unknown),
        ] {
            assert_eq!(host.get(name), Some(has), "{name}");
        }
        assert_eq!(host.get("warp"), None);
    }

    #[test]
    fn modules_that_lie_there_can_be_loaded() {
        let host = host(&[
            (
                "lib/modules/6.6.5/modules.dep",
                "kernel/fs/ocfs2/ocfs2.ko.xz: kernel/fs/jbd2/jbd2.ko.xz\n",
            ),
            (
                "lib/modules/6.6.5/modules.builtin",
                "kernel/fs/ext4/ext4.ko\n",
            ),
        ]);
        for (name, has) in [
            ("ocfs2", Has::Module),
            ("ext4", Has::Builtin),
            ("xfs", Has::No),
            ("io-throttle", Has::Unknown),
        ] {
            assert_eq!(host.get(name), Some(has), "{name}");
        }
    }

    #[test]
    fn of_a_machine_that_reports_nothing_nothing_is_known() {
        let host = host(&[]);
        for name in ["ext4", "memcg", "raid5", "dm-linear"] {
            assert_eq!(host.get(name), Some(Has::Unknown), "{name}");
        }
    }

    #[test]
    fn this_machine_has_what_it_mounts() {
        let host = Host::here();
        assert!(!host.release.is_empty());
        let listed = fs::read_to_string("/proc/filesystems").unwrap();
        if listed.lines().any(|line| line.trim() == "ext4") {
            assert_eq!(host.get("ext4"), Some(Has::Builtin));
        }
    }
}
