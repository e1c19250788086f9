//! From the files of packages or a build tree to a kernel's folder: the image as ELF, the modules decompressed, the index.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::compression::Compression;
use super::config::{self, Config};
use super::deb;
use super::error::{Doing as _, Error, named};
use super::modinfo;
use super::modules::{Entry, Modules, name_of, parse_builtin};

/// Larger than any module, or compressed image.
const MODULE_LIMIT: u64 = 256 << 20;
/// Most bytes that come out of all compressed modules of a kernel: 20 times what Debian's have that are of use here.
const UNPACKED_LIMIT: u64 = 1 << 30;
/// Longest `modules.builtin`, in bytes.
const BUILTIN_LIMIT: u64 = 16 << 20;

/// Folders and files of modules that a guest of this laboratory can use; what they depend on comes with them.
const USEFUL: &[&str] = &[
    "kernel/arch/",
    "kernel/block/",
    "kernel/crypto/",
    "kernel/fs/",
    "kernel/lib/",
    "kernel/mm/",
    "kernel/net/9p/",
    "kernel/drivers/base/",
    "kernel/drivers/block/",
    "kernel/drivers/char/hw_random/",
    "kernel/drivers/char/virtio_console.ko",
    "kernel/drivers/dax/",
    "kernel/drivers/md/",
    "kernel/drivers/net/virtio_net.ko",
    "kernel/drivers/nvdimm/",
    "kernel/drivers/nvme/",
    "kernel/drivers/scsi/scsi_debug.ko",
    "kernel/drivers/scsi/scsi_mod.ko",
    "kernel/drivers/scsi/sd_mod.ko",
    "kernel/drivers/scsi/sg.ko",
    "kernel/drivers/scsi/virtio_scsi.ko",
    "kernel/drivers/virtio/",
    "kernel/drivers/watchdog/softdog.ko",
];
/// Below those, what is large and of no use: KVM, and network filesystems.
const USELESS: &[&str] = &[
    "kernel/arch/x86/kvm/",
    "kernel/arch/x86/events/",
    "kernel/drivers/block/drbd/",
    "kernel/fs/afs/",
    "kernel/fs/ceph/",
    "kernel/fs/nfs/",
    "kernel/fs/nfsd/",
    "kernel/fs/smb/",
    "kernel/fs/cifs/",
    "kernel/fs/orangefs/",
];

/// Releases that modules are of, each with one of them.
pub(crate) type Releases = BTreeMap<String, PathBuf>;

/// A kernel's files, as they were found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The image, as shipped.
    pub(crate) image: Option<Vec<u8>>,
    /// The text of the configuration.
    pub(crate) config: Option<String>,
    /// The text of `modules.builtin`.
    pub(crate) builtin: Option<String>,
    /// Modules as shipped: path below the folder of modules, and the file.
    pub(crate) modules: Vec<(PathBuf, PathBuf)>,
}

impl Found {
    /// Adds what a package holds of a kernel; modules are put below `raw`.
    pub(crate) fn package(&mut self, package: &Path, raw: &Path) -> Result<(), Error> {
        deb::files(package, |entry| {
            let Some(name) = entry.path.file_name().and_then(|name| name.to_str()) else {
                return Ok(());
            };
            let wanted = Kind::of(&entry.path, name);
            let mut whole = Vec::new();
            if wanted.is_some() {
                let broken = |why: String| Error::Package {
                    path: package.to_owned(),
                    why: format!("{} in it {why}", entry.path.display()),
                };
                (&mut *entry.contents)
                    .take(MODULE_LIMIT + 1)
                    .read_to_end(&mut whole)
                    .map_err(|error| broken(format!("cannot be read: {error}")))?;
                if whole.len() as u64 > MODULE_LIMIT {
                    return Err(broken(format!("has more than {MODULE_LIMIT} bytes")));
                }
            }
            match wanted {
                None => {}
                Some(Kind::Image) => self.image = Some(whole),
                Some(Kind::Builtin) => self.builtin = Some(text(whole)),
                Some(Kind::Config) => {
                    let plain = Compression::of(&whole).decompress(&whole, config::LARGEST);
                    self.config = plain.ok().map(text);
                }
                Some(Kind::Module(below)) => {
                    let to = raw.join(&below);
                    write(&to, &whole)?;
                    self.modules.push((below, to));
                }
            }
            Ok(())
        })
    }

    /// Adds the modules below a folder, `lib/modules/RELEASE` or a build tree's.
    pub(crate) fn folder(&mut self, folder: &Path) -> Result<(), Error> {
        let mut todo = vec![folder.to_owned()];
        while let Some(dir) = todo.pop() {
            for entry in fs::read_dir(&dir).doing("read", &dir)? {
                let entry = entry.doing("read", &dir)?;
                let path = entry.path();
                // Links are not followed: `build` and `source` lead to a kernel's sources.
                let kind = entry.file_type().doing("read", &path)?;
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                if kind.is_dir() {
                    todo.push(path);
                } else if kind.is_file() && name_of(name).is_some() {
                    let below = path.strip_prefix(folder).unwrap_or(&path).to_owned();
                    self.modules.push((in_kernel(below), path));
                } else if name == "modules.builtin" && dir == folder {
                    self.builtin = Some(text(named(&path, BUILTIN_LIMIT)?));
                }
            }
        }
        self.modules.sort();
        Ok(())
    }

    /// The configuration, if what was found is one.
    pub(crate) fn parsed_config(&self) -> Option<Config> {
        let config = Config::parse(self.config.as_deref()?);
        (!config.is_empty()).then_some(config)
    }

    /// Decompresses the useful modules into `to` and indexes them. Also returns the kernel's releases, as
    /// the modules have them: more than one where a tree was built twice.
    pub(crate) fn install_modules(&self, to: &Path) -> Result<(Modules, Releases), Error> {
        let mut index = Modules {
            builtin: self
                .builtin
                .as_deref()
                .map(parse_builtin)
                .unwrap_or_default(),
            ..Modules::default()
        };
        let by_name: BTreeMap<String, &(PathBuf, PathBuf)> = self
            .modules
            .iter()
            .filter_map(|both| Some((name_of(both.0.file_name()?.to_str()?)?, both)))
            .collect();
        let mut todo: VecDeque<String> = by_name
            .iter()
            .filter(|(_, (below, _))| useful(below))
            .map(|(name, _)| name.clone())
            .collect();
        let mut releases = Releases::new();
        let mut unpacked = UNPACKED_LIMIT;
        let mut met: BTreeSet<String> = todo.iter().cloned().collect();
        while let Some(name) = todo.pop_front() {
            let Some((below, file)) = by_name.get(&name) else {
                continue;
            };
            let (module, info) = read_module(file, &mut unpacked)?;
            let below = below.with_file_name(plain_name(below));
            write(&to.join(&below), &module)?;
            if let Some(release) = &info.release {
                let known = releases.entry(release.clone());
                known.or_insert_with(|| below.clone());
            }
            let needed = info.depends.iter().chain(&info.before).chain(&info.after);
            for needed in needed {
                if met.insert(needed.clone()) {
                    todo.push_back(needed.clone());
                }
            }
            index.kept.insert(name, Entry::new(below, info));
        }
        let left_out = by_name
            .into_keys()
            .filter(|name| !index.kept.contains_key(name));
        index.left_out = left_out.collect();
        Ok((index, releases))
    }
}

/// What a file of a package is.
enum Kind {
    Image,
    Config,
    Builtin,
    Module(PathBuf),
}

impl Kind {
    fn of(path: &Path, name: &str) -> Option<Self> {
        let below = below_release(path);
        if name_of(name).is_some() {
            return Some(Self::Module(in_kernel(below?)));
        }
        let in_boot = path.starts_with("boot");
        let at_top = below.is_some_and(|below| below.components().count() == 1);
        match name {
            "linux.uml" => Some(Self::Image),
            _ if in_boot && (name.starts_with("vmlinuz") || name.starts_with("vmlinux")) => {
                Some(Self::Image)
            }
            _ if in_boot && name.starts_with("config-") => Some(Self::Config),
            "vmlinuz" | "vmlinux" if at_top => Some(Self::Image),
            "config" if at_top => Some(Self::Config),
            "config.gz" if path.starts_with("usr/share/doc") => Some(Self::Config),
            "modules.builtin" if at_top => Some(Self::Builtin),
            _ => None,
        }
    }
}

/// The part of a path below `modules/RELEASE/`.
fn below_release(path: &Path) -> Option<PathBuf> {
    let mut parts = path.components();
    parts.find(|part| *part == Component::Normal("modules".as_ref()))?;
    parts.next()?;
    let below = parts.as_path();
    (!below.as_os_str().is_empty()).then(|| below.to_owned())
}

/// A build tree has its modules in place, without the folder `kernel` of an installed one.
fn in_kernel(below: PathBuf) -> PathBuf {
    let installed = ["kernel", "updates", "extra", "weak-updates"];
    if installed.iter().any(|top| below.starts_with(top)) {
        below
    } else {
        Path::new("kernel").join(below)
    }
}

/// What was built for this machine alone, as an `updates` or `extra` folder holds it, is always of use.
fn useful(below: &Path) -> bool {
    let text = below.to_string_lossy();
    let starts = |list: &[&str]| list.iter().any(|prefix| text.starts_with(prefix));
    !text.starts_with("kernel/") || (starts(USEFUL) && !starts(USELESS))
}

/// The name without a compression's ending.
fn plain_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default();
    match name.find(".ko") {
        Some(at) => name[..at + 3].to_owned(),
        None => name.into_owned(),
    }
}

/// A module, and what it says of itself. `left`: bytes that may come out of this and further compressed modules.
fn read_module(file: &Path, left: &mut u64) -> Result<(Vec<u8>, modinfo::ModInfo), Error> {
    let broken = |why: String| Error::Module {
        path: file.to_owned(),
        why,
    };
    let raw = named(file, MODULE_LIMIT)?;
    let module = match Compression::of(&raw) {
        Compression::None => raw,
        kind => {
            let module = kind
                .decompress(&raw, MODULE_LIMIT.min(*left))
                .map_err(|error| broken(format!("it does not decompress: {error}")))?;
            *left -= module.len() as u64;
            module
        }
    };
    let info = modinfo::read(&module).map_err(broken)?;
    Ok((module, info))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}

/// Writes a file and the folders above it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above).doing("make", above)?;
    }
    fs::write(path, bytes).doing("write", path)
}

#[cfg(test)]
mod tests {
    use super::super::image::tests::xz;
    use super::super::modinfo::tests::module;
    use super::*;

    const MAGIC: &str = "vermagic=6.9.1-test SMP";

    fn paths(index: &Modules) -> Vec<String> {
        let paths = index.kept.values();
        paths
            .map(|entry| entry.path.display().to_string())
            .collect()
    }

    #[test]
    fn a_package_becomes_an_image_a_config_and_the_useful_modules() {
        let dir = tempfile::tempdir().unwrap();
        let deb = dir.path().join("k.deb");
        let ext4 = xz(&module(&[MAGIC, "depends=jbd2,odd-helper"]));
        let gpu = module(&[MAGIC]);
        fs::write(
            &deb,
            super::super::deb::tests::package(
                "data.tar.xz",
                &[
                    ("boot/vmlinuz-6.9.1-test", b"image"),
                    ("boot/config-6.9.1-test", b"CONFIG_EXT4_FS=m\n"),
                    ("lib/modules/6.9.1-test/kernel/fs/ext4/ext4.ko.xz", &ext4),
                    ("lib/modules/6.9.1-test/kernel/fs/jbd2/jbd2.ko", &gpu),
                    (
                        "lib/modules/6.9.1-test/kernel/drivers/odd/odd-helper.ko",
                        &gpu,
                    ),
                    ("lib/modules/6.9.1-test/kernel/drivers/gpu/gpu.ko", &gpu),
                    (
                        "lib/modules/6.9.1-test/modules.builtin",
                        b"kernel/fs/xfs.ko\n",
                    ),
                    ("usr/share/doc/x/changelog.gz", b"no"),
                ],
            ),
        )
        .unwrap();
        let mut found = Found::default();
        found.package(&deb, &dir.path().join("raw")).unwrap();
        assert_eq!(found.image.as_deref(), Some(&b"image"[..]));
        assert!(found.parsed_config().is_some());
        let to = dir.path().join("modules");
        let (index, releases) = found.install_modules(&to).unwrap();
        let releases: Vec<String> = releases.into_keys().collect();
        assert_eq!(releases, ["6.9.1-test"]);
        assert_eq!(
            paths(&index),
            [
                "kernel/fs/ext4/ext4.ko",
                "kernel/fs/jbd2/jbd2.ko",
                "kernel/drivers/odd/odd-helper.ko"
            ]
        );
        assert!(index.builtin.contains("xfs") && index.left_out.contains("gpu"));
        let order = index.order(&to, &["ext4"]).unwrap();
        let names: Vec<&str> = order.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["jbd2", "odd_helper", "ext4"]);
        for file in order {
            assert!(
                fs::read(&file.path).unwrap().starts_with(b"\x7fELF"),
                "{file:?}"
            );
        }
    }

    #[test]
    fn a_build_tree_is_read_like_an_installed_one() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        write(&tree.join("fs/xfs/xfs.ko"), &module(&[MAGIC])).unwrap();
        write(&tree.join("updates/mine.ko"), &module(&[MAGIC])).unwrap();
        std::os::unix::fs::symlink("/", tree.join("build")).unwrap();
        let mut found = Found::default();
        found.folder(&tree).unwrap();
        let (index, _) = found.install_modules(&dir.path().join("to")).unwrap();
        assert_eq!(paths(&index), ["updates/mine.ko", "kernel/fs/xfs/xfs.ko"]);
    }

    #[test]
    fn all_that_comes_out_of_compressed_modules_has_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.ko.xz");
        let plain = module(&[MAGIC]);
        write(&path, &xz(&plain)).unwrap();
        let mut left = plain.len() as u64 + 5;
        read_module(&path, &mut left).unwrap();
        assert_eq!(left, 5);
        let error = read_module(&path, &mut left).unwrap_err().to_string();
        assert!(
            error.contains("more than 5 bytes come out of it"),
            "{error}"
        );
    }

    #[test]
    fn a_broken_module_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        let mut packed = xz(&module(&[MAGIC]));
        packed.truncate(60);
        for (name, bytes, says) in [
            ("fs/a/a.ko", b"text".to_vec(), "cannot be read"),
            ("fs/a/a.ko.xz", packed, "does not decompress"),
        ] {
            let path = tree.join(name);
            write(&path, &bytes).unwrap();
            let mut found = Found::default();
            found.folder(&tree).unwrap();
            let error = found.install_modules(&dir.path().join("to")).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(says) && error.contains(name), "{error}");
            fs::remove_file(path).unwrap();
        }
    }
}
