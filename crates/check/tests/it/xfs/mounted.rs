//! Images that a kernel mounts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted image; unmounted when dropped.
pub(super) struct Mounted(pub(super) PathBuf);

impl Mounted {
    /// None where the kernel cannot mount it.
    pub(super) fn new(image: &Path) -> Option<Mounted> {
        let at = image.with_extension("mounted");
        fs::create_dir_all(&at).unwrap();
        let mounted = Command::new("mount")
            .args(["-o", "loop"])
            .arg(image)
            .arg(&at)
            .output();
        let mounted = mounted.is_ok_and(|output| output.status.success());
        mounted.then(|| Mounted(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(&self.0).status();
        assert!(status.is_ok_and(|status| status.success()), "umount");
    }
}
