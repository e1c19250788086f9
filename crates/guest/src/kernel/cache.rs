//! The cache: a folder for each kernel, made under another name and moved into place whole.
//!
//! Everything that is fetched can be fetched again, so the cache may be deleted at any time and holds
//! nothing else. A kernel appears in it by one rename: a full disk, a kill or a lost network leave
//! a folder that begins with a dot, which the next fetch removes. One lock, held while
//! something changes, makes two fetches at once one fetch and one wait.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use rustix::fs::RenameFlags;

use super::error::{Doing as _, Error};
use super::kernel_spec::{KernelSpec, numbers};
use super::record::{Kernel, MANIFEST};

const NEW: &str = ".new-";

/// The cache of kernels, and of what is made for guests.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// Held while something in the cache changes; given back when it is dropped, and by the kernel when
/// the process dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Cache {
    /// The cache in a folder; without one `$FSLAB_CACHE`, `$XDG_CACHE_HOME/fslab`, or `~/.cache/fslab` (XDG Base
    /// Directory Specification). Makes nothing.
    ///
    /// # Errors
    /// Neither is known.
    pub fn open(root: Option<&Path>) -> Result<Self, Error> {
        let absolute = |name: &str| {
            let path = PathBuf::from(std::env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let named = std::env::var_os("FSLAB_CACHE").filter(|dir| !dir.is_empty());
        let root = match root.or(named.as_deref().map(Path::new)) {
            Some(root) => std::path::absolute(root).doing("find", root)?,
            None => absolute("XDG_CACHE_HOME")
                .or_else(|| Some(absolute("HOME")?.join(".cache")))
                .ok_or(Error::NoCache)?
                .join("fslab"),
        };
        Ok(Self { root })
    }

    /// Its folder, with `kernels`, `probes`, `initramfs` and `apt`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.root.join("kernels")
    }

    /// All kernels, oldest version first.
    ///
    /// # Errors
    /// The folder cannot be read. Kernels whose folder is damaged are passed by, see [`Cache::broken`].
    pub fn kernels(&self) -> Result<Vec<Kernel>, Error> {
        let mut kernels: Vec<Kernel> = self
            .folders()?
            .iter()
            .filter_map(|dir| Kernel::load(dir).ok())
            .collect();
        kernels.sort_by_key(|kernel| (numbers(&kernel.version), kernel.name.clone()));
        Ok(kernels)
    }

    /// What is wrong with folders that hold no kernel.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn broken(&self) -> Result<Vec<Error>, Error> {
        let folders = self.folders()?;
        Ok(folders
            .iter()
            .filter_map(|dir| Kernel::load(dir).err())
            .collect())
    }

    fn folders(&self) -> Result<Vec<PathBuf>, Error> {
        let dir = self.dir();
        if !dir.exists() {
            return Ok(Vec::new());
        }
        let mut folders = Vec::new();
        for entry in fs::read_dir(&dir).doing("read", &dir)? {
            let entry = entry.doing("read", &dir)?;
            if !entry.file_name().to_string_lossy().starts_with('.') {
                folders.push(entry.path());
            }
        }
        folders.sort();
        Ok(folders)
    }

    /// The kernel of this name; else the newest that the name fits as a version or series does, or "uml".
    ///
    /// # Errors
    /// There is none, or its folder is damaged.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        self.find(name, Kernel::fits)
    }

    /// The same where User-mode Linux was asked for: a version or series is one of UML.
    ///
    /// # Errors
    /// Those of [`Cache::kernel`].
    pub fn uml(&self, name: &str) -> Result<Kernel, Error> {
        self.find(name, Kernel::fits_as_uml)
    }

    fn find(&self, name: &str, fits: fn(&Kernel, &KernelSpec) -> bool) -> Result<Kernel, Error> {
        let plain = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
        let dir = self.dir().join(name);
        if plain && dir.join(MANIFEST).exists() {
            return Kernel::load(&dir);
        }
        let wanted: Option<KernelSpec> = name.parse().ok();
        let kernels = self.kernels()?;
        let fits = |kernel: &&Kernel| wanted.as_ref().is_some_and(|wanted| fits(kernel, wanted));
        kernels.iter().rfind(fits).cloned().ok_or_else(|| {
            let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            Error::NotCached {
                wanted: name.to_owned(),
                next: brings(name, wanted.is_some()),
                cache: self.root.clone(),
                has: if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                },
            }
        })
    }

    /// Takes the lock, and reports when it has to wait for it. Then no other process changes the cache, and
    /// what a killed process left is removed.
    pub(crate) fn lock(&self, say: &mut dyn FnMut(&str)) -> Result<Lock, Error> {
        let dir = self.dir();
        fs::create_dir_all(&dir).doing("make", &dir)?;
        let path = dir.join(".lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .doing("open", &path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                say(&format!(
                    "another fslab is changing {}; waiting for it",
                    dir.display()
                ));
                file.lock().doing("lock", &path)?;
            }
            Err(TryLockError::Error(error)) => return Err(error).doing("lock", &path),
        }
        for entry in fs::read_dir(&dir).doing("read", &dir)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(NEW) {
                fs::remove_dir_all(entry.path()).doing("remove", &entry.path())?;
            }
        }
        Ok(Lock { _file: file })
    }

    /// A folder to make a kernel in; removed when it is dropped.
    pub(crate) fn stage(&self, _lock: &Lock) -> Result<tempfile::TempDir, Error> {
        let dir = self.dir();
        tempfile::Builder::new()
            .prefix(NEW)
            .tempdir_in(&dir)
            .doing("make a folder in", &dir)
    }

    /// Moves a kernel's folder into place. An existing one is replaced in the same rename: the
    /// caller has the lock, and has decided that.
    pub(crate) fn publish(&self, stage: tempfile::TempDir, name: &str) -> Result<Kernel, Error> {
        let to = self.dir().join(name);
        // tempfile makes folders of mode 0700; a kernel is no secret.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(stage.path(), open).doing("open up", stage.path())?;
        // A name must not outlive a power cut that its bytes do not.
        File::open(stage.path())
            .and_then(|folder| Ok(rustix::fs::syncfs(&folder)?))
            .doing("write", stage.path())?;
        if to.exists() {
            let here = rustix::fs::CWD;
            rustix::fs::renameat_with(here, stage.path(), here, &to, RenameFlags::EXCHANGE)
                .map_err(std::io::Error::from)
                .doing("exchange a kernel at", &to)?;
            // The stage is the old kernel now, and is removed.
            drop(stage);
        } else {
            fs::rename(stage.path(), &to).doing("move a kernel to", &to)?;
            // Nothing is there any more to be removed.
            let _ = stage.keep();
        }
        let dir = self.dir();
        File::open(&dir)
            .and_then(|dir| dir.sync_all())
            .doing("write", &dir)?;
        Kernel::load(&to)
    }
}

/// How a kernel of this name comes into the cache: no archive has a person's own names.
fn brings(wanted: &str, is_spec: bool) -> String {
    if is_spec {
        format!("`fslab kernel fetch {wanted}` brings one")
    } else {
        format!("`fslab kernel add {wanted} --kernel FILE` adds one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cache_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(dir.path())).unwrap();
        assert_eq!(cache.kernels().unwrap().len(), 0);
        let error = cache.kernel("6.1").unwrap_err().to_string();
        assert!(
            error.contains("it has none; `fslab kernel fetch 6.1`"),
            "{error}"
        );
        cache.kernel("../../etc").unwrap_err();
    }

    #[test]
    fn what_a_killed_one_left_is_removed_and_damage_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(dir.path())).unwrap();
        let left = cache.dir().join(".new-x");
        fs::create_dir_all(&left).unwrap();
        fs::create_dir_all(cache.dir().join("6.0-broken")).unwrap();
        let lock = cache.lock(&mut |_| ()).unwrap();
        assert!(!left.exists());
        let stage = cache.stage(&lock).unwrap();
        assert_eq!(cache.kernels().unwrap().len(), 0);
        let broken = cache.broken().unwrap();
        assert_eq!(broken.len(), 1);
        assert!(
            broken[0].to_string().contains("6.0-broken"),
            "{}",
            broken[0]
        );
        drop(stage);
        assert_eq!(cache.folders().unwrap().len(), 1);
    }

    #[test]
    fn the_second_waits_for_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(dir.path())).unwrap();
        let lock = cache.lock(&mut |_| panic!("the lock is free")).unwrap();
        let (tell, reported) = std::sync::mpsc::channel();
        let second = {
            let cache = cache.clone();
            std::thread::spawn(move || {
                let lock = cache.lock(&mut |text| tell.send(text.to_owned()).unwrap());
                lock.map(drop)
            })
        };
        let printed = reported.recv().unwrap();
        assert!(printed.contains("waiting for it"), "{printed}");
        assert!(!second.is_finished());
        drop(lock);
        second.join().unwrap().unwrap();
    }
}
