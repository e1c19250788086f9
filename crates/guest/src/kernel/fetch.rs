//! Fetching a kernel: lists, choice, download, unpacking, one rename.

use std::fs;
use std::path::{Path, PathBuf};

use super::apt::{self, Apt};
use super::cache::Cache;
use super::error::{Doing as _, Error};
use super::image;
use super::install::Found;
use super::kernel_spec::KernelSpec;
use super::libraries;
use super::mirror::Mirrors;
use super::packages::{self, Offer, by_age};
use super::record::{Form, Kernel, LIBRARIES, Parts, Source, store};
use super::release::{check_name, check_release};
use super::suites;

/// Where to fetch from, if not where the machine's apt does.
#[derive(Clone, Debug, Default)]
pub struct FetchOptions {
    /// A mirror's URL, with `dists/` below it.
    pub mirror: Option<String>,
    /// Suites to look into instead of those known to have the series.
    pub suites: Vec<String>,
    /// The keys that sign the archive, if not Debian's or those that the machine's sources name.
    pub keyring: Option<PathBuf>,
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
    /// Brings a kernel into the cache, if the newest that fits is not there already. `say` gets a
    /// line for each step.
    ///
    /// # Errors
    /// No such kernel, no network, no apt, a signature that does not hold, a broken package, a full disk. The
    /// cache is then as it was.
    pub fn fetch(
        &self,
        wanted: &KernelSpec,
        options: &FetchOptions,
        say: &mut dyn FnMut(&str),
    ) -> Result<Fetched, Error> {
        let apt = self.apt(options)?;
        let lock = self.lock(say)?;
        let offer = find(&apt, wanted, options, say)?;
        let name = match wanted {
            KernelSpec::Uml => format!("uml-{}", offer.release),
            KernelSpec::Image { .. } => offer.release.clone(),
        };
        // It came out of a list of packages, and becomes a folder's name.
        check_name(&name)?;
        let there = self.dir().join(&name);
        if there.exists() {
            let kernel = Kernel::load(&there)?;
            // Debian rebuilds a kernel under the same release.
            if matches!(&kernel.source, Source::Debian { version, .. } if *version == offer.package_version)
                || matches!(kernel.source, Source::Added { .. })
            {
                return Ok(Fetched { kernel, new: false });
            }
            say(&format!("{name} is in the cache as an older package"));
        }
        let stage = self.stage(&lock)?;
        let packages = download(&apt, &offer, stage.path(), say)?;
        say(&format!("unpacking {name}"));
        let mut libraries =
            |program: &mut [u8]| libraries::install(&apt, &offer, program, stage.path(), &mut *say);
        unpack(&packages, &offer, stage.path(), &mut libraries)?;
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
        if !options.suites.is_empty() {
            return offers(&apt, &suites::checked(&options.suites)?, say);
        }
        let suites: Vec<String> = (suites::LISTED.iter())
            .map(|suite| (*suite).to_owned())
            .collect();
        let mut all = offers(&apt, &suites, say)?;
        // Other kernels of the unstable suite are not what a series is fetched from.
        all.retain(|offer| offer.series == "uml" || offer.suite != suites::UML[0]);
        Ok(all)
    }

    fn apt(&self, options: &FetchOptions) -> Result<Apt, Error> {
        if std::env::consts::ARCH != "x86_64" {
            return Err(Error::Architecture {
                arch: std::env::consts::ARCH,
            });
        }
        let mirrors = match &options.mirror {
            Some(url) => Mirrors::named(url)?,
            None => Mirrors::of_targets(&apt::own_targets()?)?,
        };
        let keyring = options.keyring.as_deref();
        Apt::open(&self.root().join("apt"), mirrors, keyring)
    }
}

fn offers(apt: &Apt, suites: &[String], say: &mut dyn FnMut(&str)) -> Result<Vec<Offer>, Error> {
    say(&format!("reading the lists of {}", suites.join(", ")));
    let mut all = match apt.update(suites).and_then(|()| listed(apt)) {
        // A suite that the mirror does not have any more hides none that it has.
        Err(Error::Apt { .. }) if suites.len() > 1 => one_by_one(apt, suites, say)?,
        other => other?,
    };
    all.sort_by(by_age);
    Ok(all)
}

fn listed(apt: &Apt) -> Result<Vec<Offer>, Error> {
    let lists = apt.lists()?;
    let offers = lists
        .iter()
        .flat_map(|(suite, list)| packages::offers(list, suite));
    Ok(offers.collect())
}

/// What the suites have that can be read; the first error when there is none.
fn one_by_one(
    apt: &Apt,
    suites: &[String],
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Offer>, Error> {
    let (mut all, mut read, mut failed) = (Vec::new(), 0, None);
    for suite in suites {
        match apt
            .update(std::slice::from_ref(suite))
            .and_then(|()| listed(apt))
        {
            Ok(offers) => {
                read += 1;
                all.extend(offers);
            }
            Err(error) => {
                say(&format!("{suite}: {error}"));
                failed.get_or_insert(error);
            }
        }
    }
    match failed {
        Some(error) if read == 0 => Err(error),
        _ => Ok(all),
    }
}

fn find(
    apt: &Apt,
    wanted: &KernelSpec,
    options: &FetchOptions,
    say: &mut dyn FnMut(&str),
) -> Result<Offer, Error> {
    let (mut missing, mut failed) = (None, None);
    for suites in suites::suites(wanted, &options.suites)? {
        let offers = match offers(apt, &suites, say) {
            Ok(offers) => offers,
            // A mirror without this suite may have the next.
            Err(error @ Error::Apt { .. }) => {
                say(&format!("{}: {error}", suites.join(", ")));
                failed.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        match packages::choose(&offers, wanted) {
            Ok(offer) => return Ok(offer.clone()),
            Err(has) => missing = Some((suites.join(", "), has)),
        }
    }
    let (suites, has) = match (missing, failed) {
        (Some(missing), _) => missing,
        (None, Some(error)) => return Err(error),
        (None, None) => Default::default(),
    };
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

/// Makes a kernel's folder out of packages, which are removed. `libraries` brings those of User-mode Linux.
fn unpack(
    packages: &[PathBuf],
    offer: &Offer,
    stage: &Path,
    libraries: &mut dyn FnMut(&mut [u8]) -> Result<(), Error>,
) -> Result<(), Error> {
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
    let mut elf = image::elf(image).map_err(|why| Error::Image { path: first, why })?;
    let release = image::release(&elf).unwrap_or_else(|| offer.release.clone());
    let (modules, of_modules) = found.install_modules(&stage.join("modules"))?;
    check_release(&release, &of_modules)?;
    let leftovers = [raw, stage.join("packages")];
    for dir in leftovers.iter().filter(|dir| dir.exists()) {
        fs::remove_dir_all(dir).doing("remove", dir)?;
    }
    let form = Form::of(&elf);
    if form == Form::Uml {
        libraries(&mut elf)?;
    }
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
            libraries: stage.join(LIBRARIES).is_dir(),
            config: found.parsed_config().and(found.config.as_deref()),
            modules,
        },
    )
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
        super::super::install::write(&deb, &package("data.tar.xz", files))?;
        unpack(&[deb], &offer(), stage.path(), &mut |_| Ok(()))?;
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
                "kernel/fs/a.ko: the module is of 6.9.2-other, the kernel is 6.9.1-test",
            ),
        ] {
            let error = unpacked(&files).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
