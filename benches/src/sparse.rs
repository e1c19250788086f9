//! A filesystem for files larger than the host's filesystem allows.
//!
//! ext4 limits a file to 16 TiB, XFS does not: a sparse image of 72 TiB is put on an XFS that is
//! itself a sparse image on the host, and both use space only for written blocks. The loop device
//! bypasses the host's page cache, so that each byte is cached once.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::loop_device::Loop;
use crate::needs::Missing;
use crate::run::output;

/// How long to retry an unmount: between fork and exec a child of another thread has a copy of every open file.
const PATIENCE: Duration = Duration::from_secs(10);

/// An XFS on a sparse image, mounted; unmounted and removed when dropped.
#[derive(Debug)]
pub struct Sparse {
    /// `None` once it is to be kept.
    folder: Option<tempfile::TempDir>,
    point: PathBuf,
    device: Option<Loop>,
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
        let image = folder.path().join("xfs");
        let mut this = Sparse {
            point: folder.path().join("mnt"),
            folder: Some(folder),
            device: None,
            mounted: false,
        };
        File::create_new(&image)?.set_len(bytes)?;
        let image = image.display().to_string();
        let device = Loop::attach(&image)?;
        let node = device.node().to_owned();
        this.device = Some(device);
        output("mkfs.xfs", &["-q", "-K", &node])?;
        std::fs::create_dir(this.path())?;
        let point = this.path().display().to_string();
        output("mount", &["-t", "xfs", &node, &point])?;
        this.mounted = true;
        Ok(this)
    }

    /// The mount point.
    pub fn path(&self) -> PathBuf {
        self.point.clone()
    }

    /// Writes back all dirty data.
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
        if self.mounted
            && let Err(error) = unmount(&self.point)
        {
            // Removing the folder would go through the mount.
            let folder = self.folder.take().map(tempfile::TempDir::keep);
            eprintln!(
                "{error}; {} and {} are left: unmount, detach and remove them",
                folder.unwrap_or_default().display(),
                self.device.as_ref().map_or("", Loop::node)
            );
            if let Some(device) = self.device.take() {
                device.leave();
            }
            return;
        }
        drop(self.device.take());
    }
}

/// Unmounts; retries while the mount is busy.
fn unmount(point: &Path) -> Result<()> {
    let point = point.display().to_string();
    let began = Instant::now();
    loop {
        match output("umount", &[&point]) {
            Err(error) if error.to_string().contains("busy") && began.elapsed() < PATIENCE => {
                std::thread::sleep(PATIENCE / 200);
            }
            ended => return ended.map(drop),
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
    fn too_little_room_is_reported_before_anything_is_made() {
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
    fn a_file_larger_than_the_host_allows_fits_needs_root() {
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
        // Another process may hold a file for a moment.
        let held = File::open(sparse.path()).unwrap();
        let holder = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            drop(held);
        });
        drop(sparse);
        holder.join().unwrap();
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
