//! A filesystem for files that the host's own cannot hold.
//!
//! ext4 ends a file at 16 TiB, XFS does not care: a sparse image of 72 TiB lies on an XFS that is itself a sparse image on the
//! host, and both take what is written and no more. The loop device goes around the host's page cache, so that each byte
//! is cached once.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::needs::Missing;
use crate::run::output;

/// An XFS on a sparse image, mounted; unmounted and removed when dropped.
#[derive(Debug)]
pub struct Sparse {
    folder: tempfile::TempDir,
    device: Option<String>,
    mounted: bool,
}

impl Sparse {
    /// Makes and mounts one that can take `bytes`, in a new folder under `parent`.
    ///
    /// # Errors
    ///
    /// [`Missing`] when the host has less room, before anything is made.
    pub fn new(parent: &Path, bytes: u64) -> Result<Sparse> {
        let room = room(parent)?;
        if room < bytes {
            let gib = |bytes: u64| bytes.div_ceil(1 << 30);
            return Err(Missing(format!(
                "{}: {} GiB are free and {} GiB are needed; free some, choose another folder with --dir, or a smaller --scale",
                parent.display(),
                gib(room),
                gib(bytes)
            ))
            .into());
        }
        let folder = tempfile::Builder::new()
            .prefix("fslab-bench-")
            .tempdir_in(parent)?;
        let mut this = Sparse {
            folder,
            device: None,
            mounted: false,
        };
        let image = this.folder.path().join("xfs");
        File::create_new(&image)?.set_len(bytes)?;
        let image = image.display().to_string();
        let words = ["--direct-io=on", "--find", "--show", &image];
        let device = output("losetup", &words)?.trim().to_owned();
        this.device = Some(device.clone());
        output("mkfs.xfs", &["-q", "-K", &device])?;
        std::fs::create_dir(this.path())?;
        let point = this.path().display().to_string();
        output("mount", &["-t", "xfs", &device, &point])?;
        this.mounted = true;
        Ok(this)
    }

    /// Where it is mounted.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }

    /// Writes back what is in memory alone.
    ///
    /// # Errors
    ///
    /// The first write that failed.
    pub fn sync(&self) -> Result<()> {
        let root = File::open(self.path())?;
        rustix::fs::syncfs(&root).context("cannot write back")
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        let point = self.path().display().to_string();
        if self.mounted
            && let Err(error) = output("umount", &[&point])
        {
            eprintln!("{error}");
        }
        if let Some(device) = &self.device
            && let Err(error) = output("losetup", &["--detach", device])
        {
            eprintln!("{error}");
        }
    }
}

/// Bytes that may still be written below a folder.
fn room(folder: &Path) -> Result<u64> {
    let about = rustix::fs::statvfs(folder).with_context(|| folder.display().to_string())?;
    Ok(about.f_bavail * about.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_is_said_before_anything_is_made() {
        let parent = tempfile::tempdir().unwrap();
        let error = Sparse::new(parent.path(), 1 << 60).unwrap_err();
        assert!(error.is::<Missing>(), "{error}");
        assert!(
            error.to_string().contains("1073741824 GiB are needed"),
            "{error}"
        );
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_larger_than_the_host_holds_lies_on_it_needs_root() {
        if crate::needs::root("loop devices").is_err() {
            println!("skipped: needs root");
            return;
        }
        let parent = tempfile::tempdir().unwrap();
        let sparse = Sparse::new(parent.path(), 400 << 20).unwrap();
        let file = File::create_new(sparse.path().join("large")).unwrap();
        file.set_len(72 << 40).unwrap();
        drop(file);
        sparse.sync().unwrap();
        drop(sparse);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
