//! A filesystem ready for one trial, and the facts of it as it really is.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe::mountinfo;
use probe::superblock::Words;
use serde::{Deserialize, Serialize};

use workload::Evidence;

use crate::cache::{self, ColdProof};
use crate::device::{Device, Readahead};
use crate::filesystem::{self, Filesystem};
use crate::host::Host;
use crate::undo::Journal;
use crate::{Error, Result, reversal};

/// Seconds that preparing and undoing took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// Image, loop device, discard, readahead; and taking them down again at the end.
    pub device: f64,
    /// mkfs.
    pub mkfs: f64,
    /// Mounting.
    pub mount: f64,
    /// Waiting for lazy initialisation.
    pub wait: f64,
    /// sync and umount.
    pub umount: f64,
}

/// The filesystem as asked and as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The mkfs command line as run; empty for a directory.
    pub mkfs: Vec<String>,
    /// What mkfs said of its version.
    pub mkfs_version: String,
    /// The type asked of the kernel.
    pub asked_type: String,
    /// The type that mountinfo shows.
    pub mounted_type: String,
    /// The driver that serves it (`ext4` for an ext2 on most kernels).
    pub driver: String,
    /// Effective options, per mount and per superblock, from mountinfo.
    pub options: Vec<String>,
    /// What the superblock and the mounted filesystem tell, in words.
    pub superblock: Words,
    /// What the device tells: backing file, direct I/O, write cache, scheduler, readahead.
    pub device: Words,
}

impl Facts {
    /// Reads everything back after the mount.
    pub(crate) fn read_back(
        &mut self,
        host: &Host,
        point: &Path,
        node: &Path,
        filesystem: &dyn Filesystem,
        device: &dyn Device,
    ) -> Result<()> {
        self.read_mount(point, |mount| mount.point == point)?;
        let file = File::open(node)
            .map_err(|error| Error::io(node, "cannot open it to read its superblock", error))?;
        self.superblock = filesystem
            .superblock(&file)
            .map_err(|error| Error::io(node, "cannot read its superblock", error))?;
        let name = device.block_name().unwrap_or_default();
        let uuid = self.superblock.get("uuid").cloned().unwrap_or_default();
        let by_kernel = filesystem.mounted_facts(host, name, &uuid);
        self.superblock.extend(by_kernel);
        self.driver = filesystem
            .driver(host, name)
            .unwrap_or_else(|| self.mounted_type.clone());
        self.device = device.facts();
        let barriers = filesystem::barriers(&self.options, &self.device);
        self.superblock.insert("barriers".into(), barriers);
        Ok(())
    }

    /// The facts of a filesystem that somebody else made and mounted.
    pub(crate) fn of_directory(host: &Host, folder: &Path, device: &dyn Device) -> Result<Facts> {
        let mut facts = Facts {
            device: device.facts(),
            ..Facts::default()
        };
        facts.read_mount(folder, |_| true)?;
        facts.asked_type.clone_from(&facts.mounted_type);
        facts.driver.clone_from(&facts.mounted_type);
        if let (Some(name), Ok(filesystem)) = (
            device.block_name(),
            filesystem::of_kind(&facts.mounted_type),
        ) {
            if let Some(driver) = filesystem.driver(host, name) {
                facts.driver = driver;
            }
            // Without root the device cannot be read: the kernel's words are what is left.
            if let Ok(found) = File::open(Path::new("/dev").join(name))
                .and_then(|file| filesystem.superblock(&file))
            {
                facts.superblock = found;
            }
            let uuid = facts.superblock.get("uuid").cloned().unwrap_or_default();
            facts
                .superblock
                .extend(filesystem.mounted_facts(host, name, &uuid));
        }
        let barriers = filesystem::barriers(&facts.options, &facts.device);
        facts.superblock.insert("barriers".into(), barriers);
        Ok(facts)
    }

    fn read_mount(
        &mut self,
        path: &Path,
        accept: impl Fn(&mountinfo::Mount) -> bool,
    ) -> Result<()> {
        let mounts = reversal::mounts()?;
        let mount = mountinfo::serving(&mounts, path).filter(|mount| accept(mount));
        let mount = mount.ok_or_else(|| {
            Error::io(
                path,
                "mountinfo does not show it",
                std::io::ErrorKind::NotFound,
            )
        })?;
        self.mounted_type.clone_from(&mount.kind);
        self.options.clone_from(&mount.mount_options);
        for option in &mount.super_options {
            if !self.options.contains(option) {
                self.options.push(option.clone());
            }
        }
        Ok(())
    }
}

/// A mount of ours and its mount point.
#[derive(Debug)]
pub(crate) struct Mounted {
    pub(crate) journal: Arc<Journal>,
    pub(crate) point: PathBuf,
    pub(crate) point_step: Option<u64>,
    pub(crate) mount_step: Option<u64>,
    /// The mount's ID; none before it is mounted.
    pub(crate) id: Option<u64>,
}

impl Mounted {
    fn undo(&mut self, patience: Duration) -> Result<()> {
        if let Some(step) = self.mount_step {
            if let Some(id) = self.id {
                reversal::unmount(&self.point, id, self.journal.run(), patience)?;
            }
            self.mount_step = None;
            self.journal.note_undone(step);
        }
        if let Some(step) = self.point_step {
            reversal::remove_mount_point(&self.point)?;
            self.point_step = None;
            self.journal.note_undone(step);
        }
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = self.undo(Duration::from_secs(1)) {
            tracing::warn!("{error}");
        }
    }
}

/// A filesystem (or a folder) ready for one trial. Dropping it undoes everything, quietly;
/// [`Prepared::finish`] does so and tells what went wrong and how long it took.
pub struct Prepared {
    pub(crate) work: PathBuf,
    pub(crate) mounted: Option<Mounted>,
    /// Given back when this is dropped, while the device is still ours.
    pub(crate) readahead: Option<Readahead>,
    pub(crate) device: Box<dyn Device>,
    pub(crate) facts: Facts,
    pub(crate) warnings: Vec<String>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) timings: Timings,
    /// The journal's line on a formatted disk.
    pub(crate) formatted: Option<(Arc<Journal>, u64)>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("work", &self.work)
            .field("device", &self.device.kind())
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl Prepared {
    /// Where the workload works: the mount point, or the folder made in the directory.
    pub fn mount_point(&self) -> &Path {
        &self.work
    }

    /// `loop image`, `block device` or `directory`.
    pub fn device_kind(&self) -> &'static str {
        self.device.kind()
    }

    /// The device's node; none for a directory.
    pub fn device_node(&self) -> Option<&Path> {
        self.device.node()
    }

    /// sysfs name of the block device whose counters count this trial's bytes (a directory's too,
    /// where one can be named).
    pub fn block_name(&self) -> Option<&str> {
        self.device.block_name()
    }

    /// Bytes of the device; none for a directory.
    pub fn device_size(&self) -> Option<u64> {
        self.device.size()
    }

    /// The filesystem as it is.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What a reader must know.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What shows that the filesystem is ready.
    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// Seconds so far.
    pub fn timings(&self) -> Timings {
        self.timings
    }

    /// Makes the caches cold and proves it for `files` and for the image below, if there is one.
    pub fn drop_caches(&self, files: &[&Path]) -> Result<ColdProof> {
        let below: Vec<&Path> = self.device.backing_file().into_iter().collect();
        // An image alone proves nothing about the workload's files.
        let mut proof = cache::drop_and_prove(&self.work, files, &below)?;
        if files.is_empty() && proof.resident_pages == 0 {
            proof.holds = None;
        }
        Ok(proof)
    }

    /// Sync, umount, detach, remove. Returns all timings, the umount's included.
    ///
    /// # Errors
    /// The first thing that could not be undone; `clean` can try again later.
    pub fn finish(mut self) -> Result<Timings> {
        let begun = Instant::now();
        if let Some(mounted) = &mut self.mounted {
            if let Ok(folder) = fs::File::open(&mounted.point) {
                // A sync that fails (a full or broken image) must not stop the umount.
                if let Err(error) = rustix::fs::syncfs(&folder) {
                    tracing::warn!("{}: sync before umount: {error}", mounted.point.display());
                }
            }
            if let Err(error) = mounted.undo(reversal::PATIENCE) {
                if mounted.mount_step.is_some() {
                    self.device.abandon();
                }
                // Without a mount above, dropping `self` releases the device.
                return Err(error);
            }
        }
        self.timings.umount = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        drop(self.readahead.take());
        self.device.release()?;
        self.timings.device += begun.elapsed().as_secs_f64();
        if let Some((journal, step)) = self.formatted.take() {
            journal.note_undone(step);
        }
        Ok(self.timings)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some(mounted) = &mut self.mounted
            && let Err(error) = mounted.undo(Duration::from_secs(1))
        {
            tracing::warn!("{error}");
            // A device below a living mount stays for `clean`, which undoes both in order.
            if mounted.mount_step.is_some() {
                self.device.abandon();
            }
            mounted.mount_step = None;
            mounted.point_step = None;
        }
    }
}
