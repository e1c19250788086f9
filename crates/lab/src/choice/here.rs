//! What a choice asks of the machine beside its cache of kernels. The choice's tests answer it otherwise: no one machine
//! lacks everything in turn.

use std::path::{Path, PathBuf};

use guest::kernel::{Added, Cache, Host, Kernel};
use guest::machine;

use crate::error::Error;
use crate::needs::Needs;
use crate::target::GuestMachine;

/// Where Debian puts User-mode Linux's modules and configuration.
const UML_MODULES: &str = "/usr/lib/uml/modules";
const UML_CONFIG: &str = "/usr/share/doc/user-mode-linux/config.gz";

/// A machine.
pub(super) trait Here {
    /// The release of its kernel, and what that lacks of these needs.
    fn host(&self, needs: &Needs) -> (String, Vec<String>);

    /// Whether what runs such guests is installed.
    ///
    /// # Errors
    /// The program that is missing.
    fn present(&self, machine: GuestMachine) -> Result<(), machine::Error>;

    /// Its User-mode Linux.
    ///
    /// # Errors
    /// None is installed, nor in the cache; the cache cannot be written.
    fn uml(&self, cache: &Cache) -> Result<Kernel, Error>;
}

/// The machine that this process runs on.
pub(super) struct ThisMachine;

impl Here for ThisMachine {
    fn host(&self, needs: &Needs) -> (String, Vec<String>) {
        let host = Host::here();
        let lacks = needs.lacking_here(&host);
        (host.release, lacks)
    }

    fn present(&self, machine: GuestMachine) -> Result<(), machine::Error> {
        crate::guest::present(machine)
    }

    fn uml(&self, cache: &Cache) -> Result<Kernel, Error> {
        user_mode_linux(cache)
    }
}

/// User-mode Linux as it is installed, kept under its content with the modules and the configuration of its
/// package; where none is installed, that of the cache.
pub(crate) fn user_mode_linux(cache: &Cache) -> Result<Kernel, Error> {
    let image = match machine::installed_uml() {
        Ok(image) => image,
        Err(missing) => return cache.kernel("uml").map_err(|_| Error::Guest(missing)),
    };
    let config = Path::new(UML_CONFIG);
    let mut added = Added {
        image,
        modules: newest_folder(Path::new(UML_MODULES)),
        config: config.is_file().then(|| config.to_owned()),
    };
    match cache.keep(&added, &mut |_| ()) {
        // An own build on the PATH, and modules of the package.
        Err(guest::kernel::Error::Mismatch { .. }) => {
            added.modules = None;
            added.config = None;
            Ok(cache.keep(&added, &mut |_| ())?)
        }
        other => Ok(other?),
    }
}

fn newest_folder(below: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(below).ok()?.flatten();
    let folders = folders
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    folders.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
}
