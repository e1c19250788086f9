//! The modules of a kernel: an index of them, and the order in which a set of them loads.
//!
//! The index is made from the modules themselves. `modules.dep` has the same, but Debian's packages
//! do not hold it (depmod writes it when they are installed, which never happens here), and the strings in
//! `.modinfo` say more: soft dependencies and aliases, without which libcrc32c finds no crc32c.
//!
//! A distribution's kernel has 4 000 modules, most of them drivers of hardware that no guest has. Those
//! that a filesystem laboratory can use are kept, with all that they depend on (20 of 450 MB for Debian's 6.1);
//! the names of the others are remembered, so that a message can explain why one is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::modinfo::{ModInfo, normal};

/// A module of a kernel, as the index has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Below the folder of modules, as `kernel/fs/ext4/ext4.ko`.
    pub(crate) path: PathBuf,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) depends: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) before: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) after: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) aliases: Vec<String>,
}

impl Entry {
    pub(crate) fn new(path: PathBuf, info: ModInfo) -> Self {
        Self {
            path,
            depends: info.depends,
            before: info.before,
            after: info.after,
            aliases: info.aliases,
        }
    }
}

/// The index of a kernel's modules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Modules {
    /// By name, with underscores.
    pub(crate) kept: BTreeMap<String, Entry>,
    /// Names of what is built in, by `modules.builtin`.
    pub(crate) builtin: BTreeSet<String>,
    /// Names of what the kernel came with and the cache does not keep.
    pub(crate) left_out: BTreeSet<String>,
}

/// A module to load, as a file of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleFile {
    /// Its name, with underscores.
    pub name: String,
    /// The file, decompressed.
    pub path: PathBuf,
    /// Only a soft dependency asks for it, as for crc32c by the processor's own instruction: a
    /// machine without it refuses (ENODEV), and the rest works all the same. In a guest's list such
    /// a module is marked, and its message goes to the console.
    pub soft: bool,
}

/// Why a module cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The kernel has none of that name.
    Unknown(String),
    /// It has, but the cache does not keep it.
    LeftOut(String),
}

/// The name of the module in a file, by the file's name: `dm-mod.ko.xz` is dm_mod.
pub(crate) fn name_of(file: &str) -> Option<String> {
    let stem = file
        .split_once(".ko")
        .filter(|(_, rest)| matches!(*rest, "" | ".xz" | ".gz" | ".zst"))?;
    Some(normal(stem.0))
}

/// Names out of `modules.builtin`: one path of each line, as kernel/fs/ext4/ext4.ko.
pub(crate) fn parse_builtin(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| name_of(line.trim().rsplit('/').next()?))
        .collect()
}

impl Modules {
    /// Loading order of a set of modules: what each needs comes before it, soft dependencies where they
    /// are to be had, nothing twice, nothing that is built in.
    pub(crate) fn order(&self, dir: &Path, wanted: &[&str]) -> Result<Vec<ModuleFile>, Missing> {
        let mut walk = Walk {
            modules: self,
            dir,
            aliases: self.by_alias(),
            seen: BTreeMap::new(),
            order: Vec::new(),
        };
        for name in wanted {
            walk.hard(&normal(name), false)?;
        }
        let Walk {
            seen, mut order, ..
        } = walk;
        for file in &mut order {
            file.soft = seen.get(&file.name).copied().unwrap_or(false);
        }
        Ok(order)
    }

    /// Modules by the other names they go by.
    fn by_alias(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, entry) in &self.kept {
            for alias in &entry.aliases {
                by.entry(alias).or_default().push(name);
            }
        }
        by
    }
}

/// The walk over dependencies, depth first.
struct Walk<'a> {
    modules: &'a Modules,
    dir: &'a Path,
    aliases: BTreeMap<&'a str, Vec<&'a str>>,
    /// The modules met, and whether only softly so far.
    seen: BTreeMap<String, bool>,
    order: Vec<ModuleFile>,
}

impl Walk<'_> {
    /// A module that must be there. `soft`: what asks for it is itself only wished for.
    fn hard(&mut self, name: &str, soft: bool) -> Result<(), Missing> {
        if let Some(before) = self.seen.get_mut(name) {
            let upgraded = *before && !soft;
            *before &= soft;
            if upgraded {
                // What it needs is needed now, too; it is in the list already.
                for needed in self.depends(name) {
                    self.hard(&needed, false)?;
                }
            }
            return Ok(());
        }
        let modules = self.modules;
        let Some(entry) = modules.kept.get(name) else {
            return match modules {
                m if m.builtin.contains(name) => Ok(()),
                m if m.left_out.contains(name) => Err(Missing::LeftOut(name.to_owned())),
                _ => self.aliased(name, soft),
            };
        };
        self.seen.insert(name.to_owned(), soft);
        let entered = self.enter(name, entry, soft);
        if entered.is_err() {
            // A second request must get the same answer.
            self.seen.remove(name);
        }
        entered
    }

    fn enter(&mut self, name: &str, entry: &Entry, soft: bool) -> Result<(), Missing> {
        for wished in &entry.before {
            self.wished(wished);
        }
        for needed in &entry.depends {
            self.hard(needed, soft)?;
        }
        self.order.push(ModuleFile {
            name: name.to_owned(),
            path: self.dir.join(&entry.path),
            soft,
        });
        for wished in &entry.after {
            self.wished(wished);
        }
        Ok(())
    }

    fn depends(&self, name: &str) -> Vec<String> {
        let entry = self.modules.kept.get(name);
        entry.map(|entry| entry.depends.clone()).unwrap_or_default()
    }

    /// All modules that go by another name.
    fn aliased(&mut self, alias: &str, soft: bool) -> Result<(), Missing> {
        let named: Vec<String> = self
            .aliases
            .get(alias)
            .map(|names| names.iter().map(|name| (*name).to_owned()).collect())
            .unwrap_or_default();
        if named.is_empty() {
            return Err(Missing::Unknown(alias.to_owned()));
        }
        // Where several answer to it, one of them is enough (crc32c, with the processor's help or without).
        let soft = soft || named.len() > 1;
        named.iter().try_for_each(|name| self.hard(name, soft))
    }

    /// A module or alias that is loaded if it is there, as modprobe does. One that lacks what it
    /// needs is left away, with what was put in the list for it: that does no harm, and loads.
    fn wished(&mut self, name: &str) {
        let named: Vec<String> = match self.aliases.get(name) {
            _ if self.modules.kept.contains_key(name) => vec![name.to_owned()],
            Some(names) => names.iter().map(|name| (*name).to_owned()).collect(),
            None => Vec::new(),
        };
        for name in named {
            let _ = self.hard(&name, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(path: &str, depends: &[&str], before: &[&str], aliases: &[&str]) -> Entry {
        let list = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        Entry {
            path: path.into(),
            depends: list(depends),
            before: list(before),
            after: Vec::new(),
            aliases: list(aliases),
        }
    }

    fn some() -> Modules {
        let modules = [
            (
                "ext4",
                entry(
                    "kernel/fs/ext4.ko",
                    &["jbd2", "mbcache"],
                    &["crc32c"],
                    &["fs_ext4"],
                ),
            ),
            ("jbd2", entry("kernel/fs/jbd2.ko", &[], &[], &[])),
            ("mbcache", entry("kernel/fs/mbcache.ko", &[], &[], &[])),
            (
                "crc32c_generic",
                entry("kernel/crypto/crc32c.ko", &[], &[], &["crc32c"]),
            ),
            (
                "crc32c_intel",
                entry("kernel/arch/crc32c.ko", &[], &[], &["crc32c"]),
            ),
            ("gpu", entry("kernel/drivers/gpu.ko", &["jbd2"], &[], &[])),
            (
                "broken",
                entry("kernel/fs/broken.ko", &["nowhere"], &[], &[]),
            ),
            (
                "wishful",
                entry(
                    "kernel/fs/wishful.ko",
                    &["crc32c_generic"],
                    &["broken", "crc32c"],
                    &[],
                ),
            ),
        ];
        Modules {
            kept: modules.map(|(n, e)| (n.to_owned(), e)).into(),
            builtin: parse_builtin("kernel/lib/libcrc32c.ko\nkernel/drivers/md/dm-mod.ko\n"),
            left_out: BTreeSet::from(["amdgpu".into()]),
        }
    }

    fn names(wanted: &[&str]) -> Vec<(String, bool)> {
        let order = some().order(Path::new("/m"), wanted).unwrap();
        order
            .into_iter()
            .map(|file| (file.name, file.soft))
            .collect()
    }

    #[test]
    fn what_is_needed_loads_first_and_soft_is_listed() {
        let want = [
            ("crc32c_generic", true),
            ("crc32c_intel", true),
            ("jbd2", false),
            ("mbcache", false),
            ("ext4", false),
        ];
        assert_eq!(names(&["ext4"]), want.map(|(n, s)| (n.to_owned(), s)));
        assert_eq!(names(&["fs-ext4", "ext4", "dm-mod"]).len(), 5);
        let order = some().order(Path::new("/m"), &["jbd2"]).unwrap();
        assert_eq!(order[0].path, Path::new("/m/kernel/fs/jbd2.ko"));
    }

    #[test]
    fn a_wish_that_becomes_a_need_is_one() {
        assert_eq!(
            names(&["wishful"]),
            [
                ("crc32c_generic".into(), false),
                ("crc32c_intel".into(), true),
                ("wishful".into(), false)
            ]
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let order = |name| some().order(Path::new("/m"), &[name]).unwrap_err();
        assert_eq!(order("no-such"), Missing::Unknown("no_such".into()));
        assert_eq!(order("amdgpu"), Missing::LeftOut("amdgpu".into()));
        assert_eq!(order("broken"), Missing::Unknown("nowhere".into()));
    }

    #[test]
    fn files_name_modules() {
        assert_eq!(name_of("dm-mod.ko.xz").as_deref(), Some("dm_mod"));
        assert_eq!(name_of("ext4.ko").as_deref(), Some("ext4"));
        assert_eq!(name_of("modules.order"), None);
        assert_eq!(name_of("x.kopie"), None);
    }

    proptest! {
        /// With any dependencies, circular ones too, an order names no module twice and, where
        /// there is no circle, none before what it needs.
        #[test]
        fn orders_hold(edges in proptest::collection::vec((0_usize..12, 0_usize..12, any::<bool>()), 0..40)) {
            let name = |n: usize| format!("m{n}");
            let mut modules = Modules::default();
            for n in 0..12 {
                modules.kept.insert(name(n), entry(&name(n), &[], &[], &[]));
            }
            for (from, to, hard) in &edges {
                let entry = modules.kept.get_mut(&name(*from)).unwrap();
                if *hard && to < from {
                    entry.depends.push(name(*to));
                } else if !hard {
                    entry.before.push(name(*to));
                }
            }
            let wanted: Vec<String> = (0..12).map(name).collect();
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            let order = modules.order(Path::new("/"), &wanted).unwrap();
            let place: BTreeMap<&str, usize> =
                order.iter().enumerate().map(|(at, file)| (file.name.as_str(), at)).collect();
            prop_assert_eq!(place.len(), 12);
            prop_assert_eq!(order.len(), 12);
            prop_assert!(order.iter().all(|file| !file.soft));
            let soft_circles = edges.iter().any(|(_, _, hard)| !hard);
            for (name, entry) in &modules.kept {
                for needed in &entry.depends {
                    prop_assert!(soft_circles || place[needed.as_str()] < place[name.as_str()]);
                }
            }
        }
    }
}
