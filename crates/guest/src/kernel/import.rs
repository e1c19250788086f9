//! Kernels that are named by their files rather than by a name: kept under what is in them.
//!
//! A run must find on resume the very kernel that it began in, and `arch/x86/boot/bzImage` is another one after
//! the next build. So an image that is given by its path is added under a name made of what it
//! holds: the same files are one kernel however often they are named, another build is another.
//! Modules count by their paths, sizes and times, since reading hundreds of megabytes at each start
//! would cost seconds; the image and the configuration count byte by byte.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::add::Added;
use super::cache::Cache;
use super::error::{Doing as _, Error, named};
use super::image;
use super::record::Kernel;
use crate::hex::hex;

/// Most files of a folder of modules: a wrong folder (`/`) must not be read for minutes.
const MOST_FILES: usize = 200_000;

impl Cache {
    /// The kernel in these files, copied into the cache if it is not there yet.
    ///
    /// # Errors
    /// As [`Cache::add`].
    pub fn keep(&self, added: &Added, say: &mut dyn FnMut(&str)) -> Result<Kernel, Error> {
        let name = name(added)?;
        let known = |cache: &Cache| cache.named(&name);
        if let Some(kernel) = known(self) {
            return kernel;
        }
        say(&format!("copying {} into the cache", added.image.display()));
        match self.add(&name, added, say) {
            // Another process added it in the meantime.
            Err(Error::Exists { name, dir }) => {
                known(self).unwrap_or(Err(Error::Exists { name, dir }))
            }
            other => other,
        }
    }

    /// The kernel whose folder has exactly this name.
    fn named(&self, name: &str) -> Option<Result<Kernel, Error>> {
        let dir = self.dir().join(name);
        dir.exists().then(|| Kernel::load(&dir))
    }
}

/// `bzImage-0123456789ab`.
fn name(added: &Added) -> Result<String, Error> {
    let mut digest = Sha256::new();
    for path in [Some(&added.image), added.config.as_ref()]
        .into_iter()
        .flatten()
    {
        let bytes = named(path, image::LARGEST)?;
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(&bytes);
    }
    if let Some(folder) = &added.modules {
        let mut files = Vec::new();
        listed(folder, Path::new(""), &mut files)?;
        files.sort();
        for (path, facts) in files {
            digest.update(path.as_os_str().as_encoded_bytes());
            digest.update(facts);
        }
    }
    let digest = digest.finalize();
    let digits = hex(&digest[..6]);
    let stem = added.image.file_name().unwrap_or_default();
    let stem = stem.to_string_lossy();
    let plain = |c: &char| c.is_ascii_alphanumeric() || "._+".contains(*c);
    let stem: String = stem.chars().filter(plain).take(40).collect();
    let stem = stem.trim_start_matches(['.', '-']);
    let stem = if stem.is_empty() { "kernel" } else { stem };
    Ok(format!("{stem}-{digits}"))
}

/// Modules below a folder: path, and size and time of change.
fn listed(folder: &Path, below: &Path, files: &mut Vec<(PathBuf, [u8; 24])>) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt as _;
    let here = folder.join(below);
    for entry in fs::read_dir(&here).doing("read", &here)? {
        let entry = entry.doing("read", &here)?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type().doing("read", &entry.path())?;
        if kind.is_dir() {
            listed(folder, &path, files)?;
        } else if is_module(&path) && files.len() < MOST_FILES {
            let facts = entry.metadata().doing("read", &entry.path())?;
            let numbers = [
                facts.size(),
                facts.mtime() as u64,
                facts.mtime_nsec() as u64,
            ];
            let mut bytes = [0; 24];
            for (slot, number) in bytes.chunks_exact_mut(8).zip(numbers) {
                slot.copy_from_slice(&number.to_le_bytes());
            }
            files.push((path, bytes));
        }
    }
    Ok(())
}

fn is_module(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    super::modules::name_of(&name).is_some() || name == "modules.builtin"
}

#[cfg(test)]
mod tests {
    use super::super::image::tests::vmlinux;
    use super::super::install::write;
    use super::super::modinfo::tests::module;
    use super::*;

    #[test]
    fn the_same_files_are_one_kernel_and_others_another() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(&dir.path().join("cache"))).unwrap();
        let image = dir.path().join("bzImage of me");
        fs::write(&image, vmlinux("6.6.5-mine")).unwrap();
        let tree = dir.path().join("tree");
        let xfs = tree.join("kernel/fs/xfs/xfs.ko");
        write(&xfs, &module(&["vermagic=6.6.5-mine SMP"])).unwrap();
        let added = Added {
            image: image.clone(),
            modules: Some(tree.clone()),
            config: None,
        };
        let mut printed = Vec::new();
        let first = cache.keep(&added, &mut |text| printed.push(text.to_owned()));
        let first = first.unwrap();
        assert!(first.name.starts_with("bzImageofme-") && first.has("xfs"));
        let again = cache.keep(&added, &mut |_| panic!("it is there")).unwrap();
        assert_eq!(
            (again.name.as_str(), printed.len()),
            (first.name.as_str(), 1)
        );
        // A further module, then another build.
        let ext4 = tree.join("kernel/fs/ext4/ext4.ko");
        write(&ext4, &module(&["vermagic=6.6.5-mine SMP"])).unwrap();
        let with = cache.keep(&added, &mut |_| ()).unwrap();
        assert!(with.name != first.name && with.has("ext4"));
        fs::write(&image, [vmlinux("6.6.5-mine"), vec![0]].concat()).unwrap();
        let built = cache.keep(&added, &mut |_| ()).unwrap();
        assert!(built.name != with.name);
        assert_eq!(cache.kernels().unwrap().len(), 3);
        fs::remove_file(&image).unwrap();
        let gone = cache.keep(&added, &mut |_| ()).unwrap_err().to_string();
        assert!(gone.contains("bzImage of me"), "{gone}");
    }
}
