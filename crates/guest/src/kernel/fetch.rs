//! Fetching a kernel: lists, choice, download, unpacking, one rename.

use std::fs;
use std::path::{Path, PathBuf};

use super::apt::Apt;
use super::cache::Cache;
use super::collect::Found;
use super::error::{Doing as _, Error};
use super::image;
use super::mirror::Mirrors;
use super::packages::{self, Offer, by_age};
use super::record::{Form, Kernel, Parts, Source, store};
use super::suites;
use super::wanted::Wanted;

/// Where to fetch from, if not where the machine's apt does.
#[derive(Clone, Debug, Default)]
pub struct FetchOptions {
    /// A mirror's URL, with `dists/` below it.
    pub mirror: Option<String>,
    /// Suites to look into instead of those known to have the series.
    pub suites: Vec<String>,
}

/// A kernel that was asked for.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The kernel.
    pub kernel: Kernel,
    /// Whether it was brought in now; else it was there already.
    pub new: bool,
}

impl Cache {
    /// Brings a kernel into the cache, if the newest that fits is not there already. `say` hears what is
    /// being done, a line for each step.
    ///
    /// # Errors
    /// No such kernel, no network, no apt, a signature that does not hold, a broken package, a full disk. The
    /// cache is then as it was.
    pub fn fetch(
        &self,
        wanted: &Wanted,
        options: &FetchOptions,
        say: &mut dyn FnMut(&str),
    ) -> Result<Fetched, Error> {
        let apt = self.apt(options)?;
        let lock = self.lock(say)?;
        let offer = find(&apt, wanted, options, say)?;
        let name = match wanted {
            Wanted::Uml => format!("uml-{}", offer.release),
            Wanted::Image { .. } => offer.release.clone(),
        };
        let there = self.dir().join(&name);
        if there.exists() {
            let kernel = Kernel::load(&there)?;
            return Ok(Fetched { kernel, new: false });
        }
        let stage = self.stage(&lock)?;
        let packages = download(&apt, &offer, stage.path(), say)?;
        say(&format!("unpacking {name}"));
        unpack(&packages, &offer, stage.path())?;
        let kernel = self.publish(stage, &name)?;
        Ok(Fetched { kernel, new: true })
    }

    /// What can be fetched: every kernel of the suites, oldest first.
    ///
    /// # Errors
    /// As for [`Cache::fetch`].
    pub fn available(
        &self,
        options: &FetchOptions,
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<Offer>, Error> {
        let apt = self.apt(options)?;
        let _lock = self.lock(say)?;
        let suites = if options.suites.is_empty() {
            suites::LISTED
                .iter()
                .map(|suite| (*suite).to_owned())
                .collect()
        } else {
            suites::checked(&options.suites)?
        };
        offers(&apt, &suites, say)
    }

    fn apt(&self, options: &FetchOptions) -> Result<Apt, Error> {
        if std::env::consts::ARCH != "x86_64" {
            return Err(Error::Architecture {
                arch: std::env::consts::ARCH,
            });
        }
        let mirrors = match &options.mirror {
            Some(url) => Mirrors::named(url)?,
            None => Mirrors::of_machine(Path::new("/etc/apt"))?,
        };
        Apt::open(&self.root().join("apt"), mirrors, options.mirror.is_none())
    }
}

fn offers(apt: &Apt, suites: &[String], say: &mut dyn FnMut(&str)) -> Result<Vec<Offer>, Error> {
    say(&format!("reading the lists of {}", suites.join(", ")));
    apt.update(suites)?;
    let mut all = Vec::new();
    for (suite, list) in apt.lists()? {
        all.extend(packages::offers(&list, &suite));
    }
    all.sort_by(by_age);
    Ok(all)
}

fn find(
    apt: &Apt,
    wanted: &Wanted,
    options: &FetchOptions,
    say: &mut dyn FnMut(&str),
) -> Result<Offer, Error> {
    let mut missing = None;
    for suites in suites::suites(wanted, &options.suites)? {
        match packages::choose(&offers(apt, &suites, say)?, wanted) {
            Ok(offer) => return Ok(offer.clone()),
            Err(has) => missing = Some((suites.join(", "), has)),
        }
    }
    let (suites, has) = missing.unwrap_or_default();
    Err(Error::NotOffered {
        wanted: wanted.to_string(),
        suites,
        has,
    })
}

fn download(
    apt: &Apt,
    offer: &Offer,
    stage: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>, Error> {
    say(&format!(
        "downloading {} from {}, {} MB",
        offer.packages.join(", "),
        offer.suite,
        offer.bytes.div_ceil(1_000_000)
    ));
    let to = stage.join("packages");
    fs::create_dir(&to).doing("make", &to)?;
    let names: Vec<String> = offer
        .packages
        .iter()
        .map(|name| format!("{name}={}", offer.package_version))
        .collect();
    apt.download(&names, &to)
}

/// Makes a kernel's folder out of packages, which are removed.
fn unpack(packages: &[PathBuf], offer: &Offer, stage: &Path) -> Result<(), Error> {
    let raw = stage.join("raw");
    let mut found = Found::default();
    for package in packages {
        found.package(package, &raw)?;
    }
    let first = packages.first().cloned().unwrap_or_default();
    let Some(image) = found.image.take() else {
        return Err(Error::Package {
            path: first,
            why: "no kernel image is in it".to_owned(),
        });
    };
    let elf = image::elf(image).map_err(|why| Error::Image { path: first, why })?;
    let release = image::release(&elf).unwrap_or_else(|| offer.release.clone());
    let (modules, of_modules) = found.install_modules(&stage.join("modules"))?;
    check_release(&release, of_modules)?;
    let leftovers = [raw, stage.join("packages")];
    for dir in leftovers.iter().filter(|dir| dir.exists()) {
        fs::remove_dir_all(dir).doing("remove", dir)?;
    }
    let form = if image::is_uml(&elf) {
        Form::Uml
    } else {
        Form::Vmlinux
    };
    store(
        stage,
        Parts {
            release,
            version: offer.version.clone(),
            form,
            source: Source::Debian {
                version: offer.package_version.clone(),
                suite: offer.suite.clone(),
            },
            elf: &elf,
            config: found.parsed_config().and(found.config.as_deref()),
            modules,
        },
    )
}

/// Modules of another kernel do not load, and say so only in a guest's console.
pub(crate) fn check_release(kernel: &str, modules: Option<String>) -> Result<(), Error> {
    match modules {
        Some(modules) if modules != kernel => Err(Error::Mismatch {
            modules,
            kernel: kernel.to_owned(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::deb::tests::package;
    use super::super::image::tests::{bzimage, vmlinux, xz};
    use super::super::modinfo::tests::module;
    use super::*;

    fn offer() -> Offer {
        Offer {
            series: "6.9".into(),
            release: "6.9.1-test".into(),
            version: "6.9.1".into(),
            package_version: "6.9.1-1".into(),
            suite: "tests".into(),
            bytes: 1,
            packages: vec!["linux-image-6.9.1-test".into()],
        }
    }

    fn unpacked(files: &[(&str, &[u8])]) -> Result<Kernel, Error> {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(dir.path())).unwrap();
        let lock = cache.lock(&mut |_| ())?;
        let stage = cache.stage(&lock)?;
        let deb = stage.path().join("packages/k.deb");
        super::super::collect::write(&deb, &package("data.tar.xz", files))?;
        unpack(&[deb], &offer(), stage.path())?;
        let kernel = cache.publish(stage, "6.9.1-test")?;
        assert!(!cache.dir().join("6.9.1-test/raw").exists());
        assert_eq!(cache.kernel("6.9")?.name, kernel.name);
        assert!(fs::read(&kernel.image).unwrap().starts_with(b"\x7fELF"));
        Ok(kernel)
    }

    #[test]
    fn a_package_becomes_a_kernel_with_capabilities() {
        let elf = vmlinux("6.9.1-test");
        let image = bzimage(&xz(&elf), elf.len() as u32);
        let ext4 = xz(&module(&["vermagic=6.9.1-test SMP", "depends=jbd2"]));
        let jbd2 = xz(&module(&["vermagic=6.9.1-test SMP"]));
        let kernel = unpacked(&[
            ("boot/vmlinuz-6.9.1-test", &image),
            (
                "boot/config-6.9.1-test",
                b"CONFIG_EXT4_FS=m\nCONFIG_XFS_FS=y\n",
            ),
            ("lib/modules/6.9.1-test/kernel/fs/ext4/ext4.ko.xz", &ext4),
            ("lib/modules/6.9.1-test/kernel/fs/jbd2/jbd2.ko.xz", &jbd2),
            ("lib/modules/6.9.1-test/kernel/drivers/gpu/gpu.ko.xz", &jbd2),
        ])
        .unwrap();
        assert_eq!(kernel.release, "6.9.1-test");
        assert_eq!(kernel.version(), [6, 9, 1]);
        assert_eq!(kernel.form, Form::Vmlinux);
        assert!(kernel.has("ext4") && kernel.has("xfs") && !kernel.has("btrfs"));
        assert_eq!(kernel.modules_for(&["ext4", "xfs"]).unwrap(), ["ext4"]);
        let lacks = kernel.modules_for(&["btrfs"]).unwrap_err().to_string();
        assert!(lacks.contains("kernel 6.9.1-test has no btrfs"), "{lacks}");
        kernel.modules_for(&["warp"]).unwrap_err();
        let order = kernel.load_order(&["ext4"]).unwrap();
        assert_eq!(order.len(), 2);
        let gpu = kernel.load_order(&["gpu"]).unwrap_err().to_string();
        assert!(
            gpu.contains("the package has it, but the cache keeps only"),
            "{gpu}"
        );
    }

    #[test]
    fn packages_that_make_no_kernel_say_why() {
        let elf = vmlinux("6.9.1-test");
        let other = module(&["vermagic=6.9.2-other SMP"]);
        for (files, says) in [
            (
                vec![("boot/config-6.9.1-test", &b"CONFIG_X=y"[..])],
                "no kernel image is in it",
            ),
            (
                vec![("boot/vmlinuz-6.9.1-test", b"junk")],
                "no kernel image: it begins neither",
            ),
            (
                vec![
                    ("boot/vmlinuz-6.9.1-test", &elf[..]),
                    ("lib/modules/6.9.1-test/kernel/fs/a.ko", &other),
                ],
                "the modules are of 6.9.2-other, the kernel is 6.9.1-test",
            ),
        ] {
            let error = unpacked(&files).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
