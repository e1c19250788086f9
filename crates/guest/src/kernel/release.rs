//! Checks of names and releases that fetching and adding a kernel share.

use super::error::Error;
use super::install::Releases;

/// Whether a folder of the cache may have this name.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    if name.is_empty()
        || name.len() > 100
        || name.starts_with(['.', '-'])
        || !name.chars().all(plain)
    {
        return Err(Error::BadLabel {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// Modules of another kernel do not load, and the reason would only be on a guest's console.
pub(crate) fn check_release(kernel: &str, modules: &Releases) -> Result<(), Error> {
    match modules.iter().find(|(release, _)| *release != kernel) {
        Some((release, module)) => Err(Error::Mismatch {
            module: module.clone(),
            modules: release.clone(),
            kernel: kernel.to_owned(),
        }),
        None => Ok(()),
    }
}
