//! Adding a kernel that was built by hand, or another distribution's.

use std::fs;
use std::path::{Path, PathBuf};

use super::cache::Cache;
use super::compression::Compression;
use super::config::{self, Config};
use super::error::{Doing as _, Error, named};
use super::image;
use super::install::Found;
use super::kernel_spec::numbers;
use super::libraries::LIMIT as LIBRARY_LIMIT;
use super::record::{Form, Kernel, LIBRARIES, Parts, Source, store};
use super::release::{check_name, check_release};
use crate::elf_needs::needs;

/// A kernel to add.
#[derive(Clone, Debug, Default)]
pub struct Added {
    /// A vmlinux, a bzImage, or User-mode Linux's `linux`.
    pub image: PathBuf,
    /// `lib/modules/RELEASE`, or a build tree.
    pub modules: Option<PathBuf>,
    /// The configuration; without it the one inside the image (CONFIG_IKCONFIG), if there is one.
    pub config: Option<PathBuf>,
}

impl Cache {
    /// Copies a kernel into the cache. What was given is read only, and may go away afterwards.
    ///
    /// # Errors
    /// A name that is taken or none, an image that is no kernel's, modules of another kernel, a
    /// configuration that is none. The cache is then as it was.
    pub fn add(
        &self,
        name: &str,
        added: &Added,
        say: &mut dyn FnMut(&str),
    ) -> Result<Kernel, Error> {
        check_name(name)?;
        let bytes = named(&added.image, image::LARGEST)?;
        let elf = image::elf(bytes).map_err(|why| no_image(added, why))?;
        let release = image::release(&elf)
            .ok_or_else(|| no_image(added, "no \"Linux version\" is in it".to_owned()))?;
        let mut found = Found {
            config: match &added.config {
                Some(path) => Some(config(path)?),
                None => image::embedded_config(&elf),
            },
            ..Found::default()
        };
        if let Some(folder) = &added.modules {
            found.folder(folder)?;
        }
        let lock = self.lock(say)?;
        if self.dir().join(name).exists() {
            return Err(Error::Exists {
                name: name.to_owned(),
                dir: self.dir().join(name),
            });
        }
        let stage = self.stage(&lock)?;
        let libraries = copy_libraries(added, &elf, &stage.path().join(LIBRARIES))?;
        let (modules, of_modules) = found.install_modules(&stage.path().join("modules"))?;
        check_release(&release, &of_modules)?;
        let version: Vec<String> = numbers(&release)
            .iter()
            .take(3)
            .map(u32::to_string)
            .collect();
        let image = std::path::absolute(&added.image).doing("find", &added.image)?;
        store(
            stage.path(),
            Parts {
                version: version.join("."),
                release,
                form: Form::of(&elf),
                source: Source::Added { image },
                elf: &elf,
                libraries,
                config: found.config.as_deref(),
                modules,
            },
        )?;
        self.publish(stage, name)
    }
}

/// Copies the libraries that a fetched User-mode Linux has beside it, in the folder of its interpreter, which is
/// relative. Whether there are any.
fn copy_libraries(added: &Added, elf: &[u8], to: &Path) -> Result<bool, Error> {
    let interpreter = needs(elf).ok().and_then(|needs| needs.interpreter);
    let Some(interpreter) = interpreter.filter(|path| path.is_relative()) else {
        return Ok(false);
    };
    let beside = added.image.with_file_name(interpreter);
    let from = beside.parent().filter(|_| beside.is_file());
    let Some(from) = from else {
        return Err(no_image(
            added,
            format!(
                "its interpreter is {}, which is not there",
                beside.display()
            ),
        ));
    };
    fs::create_dir_all(to).doing("make", to)?;
    for entry in fs::read_dir(from).doing("read", from)? {
        let path = entry.doing("read", from)?.path();
        let name = path.file_name().unwrap_or_default();
        let found = fs::metadata(&path).doing("read", &path)?;
        let to = to.join(name);
        fs::write(&to, named(&path, LIBRARY_LIMIT)?).doing("write", &to)?;
        // The kernel starts only an interpreter that may be executed.
        fs::set_permissions(&to, found.permissions()).doing("write", &to)?;
    }
    Ok(true)
}

fn no_image(added: &Added, why: String) -> Error {
    Error::Image {
        path: added.image.clone(),
        why,
    }
}

fn config(path: &Path) -> Result<String, Error> {
    let bytes = named(path, config::LARGEST)?;
    // Distributions pack it (/proc/config.gz).
    let plain = Compression::of(&bytes).decompress(&bytes, config::LARGEST);
    let text = String::from_utf8_lossy(&plain.doing("read", path)?).into_owned();
    if Config::parse(&text).is_empty() {
        return Err(Error::BrokenFolder {
            dir: path.to_owned(),
            why: "no kernel configuration: no line is CONFIG_NAME=y".to_owned(),
        });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::image::tests::vmlinux;
    use super::super::install::write;
    use super::super::modinfo::tests::module;
    use super::*;

    #[test]
    fn a_version_is_user_mode_linuxs_where_that_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(&dir.path().join("cache"))).unwrap();
        let image = dir.path().join("linux");
        let mut uml = vmlinux("6.6.5-um");
        uml.extend(b"\0User Mode Linux v%s\0uml_dir=<dir>\0");
        for (name, bytes) in [("own", &uml), ("other", &vmlinux("6.6.9-image"))] {
            std::fs::write(&image, bytes).unwrap();
            let added = Added {
                image: image.clone(),
                modules: None,
                config: None,
            };
            cache.add(name, &added, &mut |_| ()).unwrap();
        }
        for name in ["6.6", "6.6.5", "6", "own", "uml"] {
            let found = cache.uml(name).unwrap();
            assert_eq!((found.name.as_str(), found.form), ("own", Form::Uml));
            assert!(found.is_uml(name), "{name}");
        }
        for name in ["6.6.9", "6.60", "5.10", "other6", ""] {
            assert!(!cache.uml("own").unwrap().is_uml(name), "{name}");
            assert!(cache.uml(name).unwrap_err().is_usage(), "{name}");
        }
        assert_eq!(cache.kernel("6.6").unwrap().name, "other");
        assert!(!cache.kernel("other").unwrap().is_uml("6.6"));
    }

    #[test]
    fn a_kernel_is_added_and_found_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(&dir.path().join("cache"))).unwrap();
        let image = dir.path().join("vmlinux");
        fs::write(&image, vmlinux("6.6.5-mine")).unwrap();
        let tree = dir.path().join("tree");
        write(
            &tree.join("kernel/fs/xfs/xfs.ko"),
            &module(&["vermagic=6.6.5-mine SMP"]),
        )
        .unwrap();
        let mut added = Added {
            image,
            modules: Some(tree.clone()),
            config: None,
        };
        let kernel = cache.add("mine", &added, &mut |_| ()).unwrap();
        assert_eq!(
            (kernel.release.as_str(), kernel.version()),
            ("6.6.5-mine", [6, 6, 5])
        );
        assert!(kernel.config.is_none() && kernel.has("xfs") && !kernel.has("blktrace"));
        let unknown = kernel.modules_for(&["blktrace"]).unwrap_err().to_string();
        assert!(unknown.contains("with --config FILE"), "{unknown}");
        assert_eq!(cache.kernel("mine").unwrap().name, "mine");
        assert_eq!(cache.kernel("6.6").unwrap().name, "mine");

        let again = cache.add("mine", &added, &mut |_| ()).unwrap_err();
        assert!(again.is_usage(), "{again}");
        for bad in ["", ".x", "-x", "a/b", "a b"] {
            assert!(cache.add(bad, &added, &mut |_| ()).unwrap_err().is_usage());
        }
        write(
            &tree.join("kernel/fs/xfs/xfs.ko"),
            &module(&["vermagic=6.7.0 SMP"]),
        )
        .unwrap();
        let other = cache
            .add("other", &added, &mut |_| ())
            .unwrap_err()
            .to_string();
        assert!(
            other.contains("xfs.ko: the module is of 6.7.0, the kernel is 6.6.5-mine"),
            "{other}"
        );
        added.config = Some(added.image.clone());
        cache.add("other", &added, &mut |_| ()).unwrap_err();
        assert_eq!(cache.kernels().unwrap().len(), 1);
    }
}
