//! The User-mode Linux kernels of this machine: those of the cache, and the installed program.

use std::path::{Path, PathBuf};

use super::add::Added;
use super::cache::Cache;
use super::error::Error;
use super::record::{Form, Kernel, Source};
use crate::machine;

/// Where Debian puts User-mode Linux's modules and configuration.
const UML_MODULES: &str = "/usr/lib/uml/modules";
const UML_CONFIG: &str = "/usr/share/doc/user-mode-linux/config.gz";

impl Cache {
    /// The User-mode Linux kernels that a run may use without naming one, in the order in which they are tried:
    /// those that were fetched and the installed program, the newest first, then those that were added by hand. The
    /// installed program is copied into the cache under a name made of its content. Which of them runs on this
    /// machine is found by [`crate::boot_probe`].
    ///
    /// # Errors
    /// The cache cannot be read, or the installed program cannot be copied into it.
    pub fn uml_kernels(&self) -> Result<Vec<Kernel>, Error> {
        let installed = match machine::installed_uml() {
            Ok(program) => Some(self.keep_installed(program)?.name),
            Err(_) => None,
        };
        let mut all = self.kernels()?;
        all.retain(|kernel| kernel.form == Form::Uml);
        all.reverse();
        let usual = |kernel: &Kernel| {
            matches!(kernel.source, Source::Debian { .. })
                || installed.as_deref() == Some(kernel.name.as_str())
        };
        let (mut first, added): (Vec<Kernel>, Vec<Kernel>) = all.into_iter().partition(usual);
        first.extend(added);
        Ok(first)
    }

    fn keep_installed(&self, image: PathBuf) -> Result<Kernel, Error> {
        let config = Path::new(UML_CONFIG);
        let mut added = Added {
            image,
            modules: newest_folder(Path::new(UML_MODULES)),
            config: config.is_file().then(|| config.to_owned()),
        };
        match self.keep(&added, &mut |_| ()) {
            // A build of one's own on the PATH, and the modules of the package.
            Err(Error::Mismatch { .. }) => {
                added.modules = None;
                added.config = None;
                self.keep(&added, &mut |_| ())
            }
            other => other,
        }
    }
}

fn newest_folder(below: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(below).ok()?.flatten();
    let folders = folders
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    folders.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
}
