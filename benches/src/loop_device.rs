//! A loop device that is detached when it is dropped.

use anyhow::Result;

use crate::run::output;

/// A file or a device under a loop device.
#[derive(Debug)]
pub(crate) struct Loop {
    node: String,
}

impl Loop {
    /// Attaches a file or a device.
    ///
    /// # Errors
    /// What losetup says.
    pub(crate) fn attach(path: &str) -> Result<Loop> {
        Loop::with(path, &["--direct-io=on"])
    }

    /// Attaches it for reading only.
    ///
    /// # Errors
    /// What losetup says.
    pub(crate) fn read_only(path: &str) -> Result<Loop> {
        Loop::with(path, &["--direct-io=on", "--read-only"])
    }

    /// Attaches a file that may be in memory, where not every kernel reads past the page cache.
    ///
    /// # Errors
    /// What losetup says.
    pub(crate) fn buffered(path: &str) -> Result<Loop> {
        Loop::with(path, &[])
    }

    fn with(path: &str, more: &[&str]) -> Result<Loop> {
        let words = [more, &["--find", "--show", path]].concat();
        let node = output("losetup", &words)?.trim().to_owned();
        Ok(Loop { node })
    }

    /// The device.
    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// Leaves it attached.
    pub(crate) fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Err(error) = output("losetup", &["--detach", &self.node]) {
            eprintln!("{error}");
        }
    }
}
