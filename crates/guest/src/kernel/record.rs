//! A kernel of the cache: its manifest, and what it can do.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::capabilities::{Capabilities, Has};
use super::config::Config;
use super::error::{Doing as _, Error, named};
use super::image;
use super::kernel_spec::{KernelSpec, numbers};
use super::modules::{Missing, ModuleFile, Modules};
use crate::hex::hex;

/// The file that makes a folder a kernel's.
pub(crate) const MANIFEST: &str = "kernel.json";
const INDEX: &str = "modules.json";
const MODULES: &str = "modules";
const CONFIG: &str = "config";
/// The folder of a program's own interpreter and libraries.
pub(crate) const LIBRARIES: &str = "lib";
const SCHEMA: u32 = 1;
/// Longest manifest and longest index of modules, in bytes.
const LARGEST: u64 = 64 << 20;

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// An ELF image for a machine, which QEMU starts by its PVH entry.
    Vmlinux,
    /// User-mode Linux: a program of the host.
    Uml,
}

impl Form {
    /// The form of an ELF image.
    pub(crate) fn of(elf: &[u8]) -> Form {
        if image::is_uml(elf) {
            Form::Uml
        } else {
            Form::Vmlinux
        }
    }
}

/// Where a kernel came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Source {
    /// A package of Debian.
    Debian {
        /// The package's version.
        version: String,
        /// The suite it was in.
        suite: String,
    },
    /// Files that were given to `kernel add` or `--kernel`.
    Added {
        /// The image that was given.
        image: PathBuf,
    },
}

/// The manifest, `kernel.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) schema: u32,
    pub(crate) release: String,
    pub(crate) version: String,
    pub(crate) form: Form,
    pub(crate) source: Source,
    pub(crate) image: String,
    /// Bytes of the image; none in what an older fslab wrote.
    #[serde(default)]
    pub(crate) image_bytes: Option<u64>,
    /// SHA-256 of the image and of the libraries, in hexadecimal; absent in what older versions wrote.
    #[serde(default)]
    pub(crate) sha256: Option<String>,
    /// Whether the image is a program whose interpreter and libraries are in the folder `lib`.
    #[serde(default)]
    pub(crate) libraries: bool,
    pub(crate) bytes: u64,
}

/// A kernel of the cache.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The name of its folder, which finds it again.
    pub name: String,
    /// What `uname -r` prints in it.
    pub release: String,
    /// Upstream's version, as 6.1.192; of a kernel that was added the release's numbers.
    pub version: String,
    /// What the image is.
    pub form: Form,
    /// Where it came from.
    pub source: Source,
    /// The image.
    pub image: PathBuf,
    /// The folder of the interpreter and the libraries that the image, a program, is started with; without one,
    /// those of this machine.
    pub libraries: Option<PathBuf>,
    /// The configuration, where there is one.
    pub config: Option<PathBuf>,
    /// Bytes of the folder.
    pub bytes: u64,
    /// What it can do.
    pub capabilities: Capabilities,
    modules: Modules,
    sha256: Option<String>,
    dir: PathBuf,
}

impl Kernel {
    /// Reads a kernel's folder. Capabilities are derived each time: what they
    /// are made of is kept, so a newer fslab knows more of an old cache.
    pub(crate) fn load(dir: &Path) -> Result<Self, Error> {
        let broken = |why: String| Error::BrokenFolder {
            dir: dir.to_owned(),
            why,
        };
        let read = |name: &str| {
            input::text(&dir.join(name), LARGEST)
                .map_err(|error| broken(format!("{name}: {error}")))
        };
        let manifest: Manifest = serde_json::from_str(&read(MANIFEST)?)
            .map_err(|error| broken(format!("{MANIFEST}: {error}")))?;
        if manifest.schema != SCHEMA {
            return Err(broken(format!(
                "{MANIFEST} is of schema {}, this fslab reads {SCHEMA}",
                manifest.schema
            )));
        }
        let modules: Modules = serde_json::from_str(&read(INDEX)?)
            .map_err(|error| broken(format!("{INDEX}: {error}")))?;
        let image = dir.join(&manifest.image);
        let found = fs::metadata(&image).ok().filter(fs::Metadata::is_file);
        let Some(found) = found else {
            return Err(broken(format!("{} is missing", manifest.image)));
        };
        if let Some(bytes) = manifest.image_bytes.filter(|bytes| *bytes != found.len()) {
            let has = found.len();
            return Err(broken(format!(
                "{} has {has} of {bytes} bytes",
                manifest.image
            )));
        }
        let libraries = manifest.libraries.then(|| dir.join(LIBRARIES));
        if libraries.as_ref().is_some_and(|folder| !folder.is_dir()) {
            return Err(broken(format!("{LIBRARIES} is missing")));
        }
        let path = dir.join(CONFIG);
        let config = path.exists().then_some(path);
        let parsed = match config {
            Some(_) => Some(Config::parse(&read(CONFIG)?)),
            None => None,
        };
        Ok(Self {
            name: dir
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            release: manifest.release,
            version: manifest.version,
            form: manifest.form,
            source: manifest.source,
            image,
            libraries,
            config,
            bytes: manifest.bytes,
            capabilities: Capabilities::read(parsed.as_ref(), &modules),
            modules,
            sha256: manifest.sha256,
            dir: dir.to_owned(),
        })
    }

    /// SHA-256 of the image and of its libraries, in hexadecimal: it identifies a kernel whatever its
    /// name is.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn sha256(&self) -> Result<String, Error> {
        match &self.sha256 {
            Some(known) => Ok(known.clone()),
            None => digest(&self.image, self.libraries.as_deref()),
        }
    }

    /// Upstream's version as numbers: [6, 1, 192], with 0 for missing parts.
    pub fn version(&self) -> [u32; 3] {
        let mut version = [0; 3];
        for (slot, number) in version.iter_mut().zip(numbers(&self.version)) {
            *slot = number;
        }
        version
    }

    pub(crate) fn fits(&self, wanted: &KernelSpec) -> bool {
        match (wanted, self.form) {
            (KernelSpec::Uml, Form::Uml) => true,
            (KernelSpec::Image { .. }, Form::Vmlinux) => wanted.fits(&self.release, &self.version),
            _ => false,
        }
    }

    /// Whether a version or series means this one, where User-mode Linux is asked for.
    pub(crate) fn fits_as_uml(&self, wanted: &KernelSpec) -> bool {
        self.form == Form::Uml
            && (*wanted == KernelSpec::Uml || wanted.fits(&self.release, &self.version))
    }

    /// Whether a name of the command line means this one, where User-mode Linux is asked for: its own, a
    /// version, a series, or "uml".
    pub fn is_uml(&self, name: &str) -> bool {
        self.form == Form::Uml
            && (self.name == name || name.parse().is_ok_and(|wanted| self.fits_as_uml(&wanted)))
    }

    /// Whether it is known to have a capability ("ext4", "raid5", "dm-delay", "blktrace"; all of them are in
    /// [`super::CAPABILITIES`]).
    pub fn has(&self, capability: &str) -> bool {
        let has = self.capabilities.get(capability);
        matches!(has, Some(Has::Builtin | Has::Module))
    }

    /// The modules to load for these capabilities. What is built in needs none.
    ///
    /// # Errors
    /// A name that is no capability, or one that the kernel lacks, or is not known to have.
    pub fn modules_for(&self, wanted: &[&str]) -> Result<Vec<String>, Error> {
        let mut modules = Vec::new();
        for name in wanted {
            let lacks = |hint: &str| Error::Lacks {
                kernel: self.name.clone(),
                what: (*name).to_owned(),
                hint: hint.to_owned(),
            };
            match self.capabilities.get(name) {
                None => {
                    return Err(Error::UnknownCapability {
                        name: (*name).to_owned(),
                    });
                }
                Some(Has::Module) => {
                    modules.extend(self.capabilities.module(name).map(str::to_owned));
                }
                Some(Has::Builtin) => {}
                Some(Has::Unknown) => {
                    return Err(lacks(
                        "or it is not known: it was added without a configuration, add it again with --config FILE",
                    ));
                }
                Some(Has::No) => {
                    return Err(lacks("`fslab kernel list` shows which kernels have it"));
                }
            }
        }
        Ok(modules)
    }

    /// The files to load, in order, for these modules: what each needs comes before it. Built-in ones load
    /// nothing. Names may have - for _.
    ///
    /// # Errors
    /// The kernel has no such module, or none that one of them needs.
    pub fn load_order(&self, modules: &[&str]) -> Result<Vec<ModuleFile>, Error> {
        let order = self.modules.order(&self.dir.join(MODULES), modules);
        order.map_err(|missing| {
            let (name, hint) = match missing {
                Missing::Unknown(name) => (name, "`fslab kernel list` shows what each kernel has"),
                Missing::LeftOut(name) => (
                    name,
                    "the package has it, but the cache keeps only modules for storage and filesystems; add the kernel with its folder: `fslab kernel add`",
                ),
            };
            Error::Lacks {
                kernel: self.name.clone(),
                what: format!("module {name}"),
                hint: hint.to_owned(),
            }
        })
    }

    /// How many modules are kept of it.
    pub fn modules(&self) -> usize {
        self.modules.kept.len()
    }
}

/// What a kernel's folder is made of.
pub(crate) struct Parts<'a> {
    pub(crate) release: String,
    pub(crate) version: String,
    pub(crate) form: Form,
    pub(crate) source: Source,
    pub(crate) elf: &'a [u8],
    /// Whether its libraries are in `dir/lib` already.
    pub(crate) libraries: bool,
    pub(crate) config: Option<&'a str>,
    pub(crate) modules: Modules,
}

/// Writes a kernel's folder; the modules are in `dir/modules` already.
pub(crate) fn store(dir: &Path, parts: Parts<'_>) -> Result<(), Error> {
    let image = match parts.form {
        Form::Vmlinux => "vmlinux",
        Form::Uml => "linux",
    };
    let path = dir.join(image);
    fs::write(&path, parts.elf).doing("write", &path)?;
    if parts.form == Form::Uml {
        let run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, run).doing("make executable", &path)?;
    }
    if let Some(config) = parts.config {
        let path = dir.join(CONFIG);
        fs::write(&path, config).doing("write", &path)?;
    }
    save(&dir.join(INDEX), &parts.modules)?;
    let libraries = parts.libraries.then(|| dir.join(LIBRARIES));
    let manifest = Manifest {
        schema: SCHEMA,
        release: parts.release,
        version: parts.version,
        form: parts.form,
        source: parts.source,
        image: image.to_owned(),
        image_bytes: Some(parts.elf.len() as u64),
        sha256: Some(digest(&path, libraries.as_deref())?),
        libraries: parts.libraries,
        bytes: size(dir)?,
    };
    save(&dir.join(MANIFEST), &manifest)
}

/// SHA-256 of an image, and of the libraries in the order of their names.
fn digest(image: &Path, libraries: Option<&Path>) -> Result<String, Error> {
    let mut files = vec![image.to_owned()];
    if let Some(folder) = libraries {
        let mut found: Vec<PathBuf> = fs::read_dir(folder)
            .doing("read", folder)?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        found.sort();
        files.extend(found);
    }
    let mut digest = Sha256::new();
    for file in files {
        let bytes = named(&file, image::LARGEST)?;
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(&bytes);
    }
    Ok(hex(&digest.finalize()))
}

fn save(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_vec(value).map_err(std::io::Error::from);
    fs::write(path, text.doing("write", path)?).doing("write", path)
}

fn size(dir: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir).doing("read", dir)? {
        let entry = entry.doing("read", dir)?;
        let metadata = entry.metadata().doing("read", &entry.path())?;
        bytes += if metadata.is_dir() {
            size(&entry.path())?
        } else {
            metadata.len()
        };
    }
    Ok(bytes)
}
