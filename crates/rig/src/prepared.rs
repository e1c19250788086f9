//! A filesystem ready for one trial, and the facts of it as it really is.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use probe::mountinfo;
use probe::superblock::{Fields, Source};
use serde::{Deserialize, Serialize};

use workload::Evidence;

use crate::cache::{self, ColdProof};
use crate::device::readahead::{OfFilesystem, Readahead};
use crate::device::stack::{Served, dm};
use crate::device::{ClosedLog, Device, PowerSwitch};
use crate::filesystem::{self, Filesystem};
use crate::host::Host;
use crate::memory::GroupReading;
use crate::mounted::Mounted;
use crate::resource_limits::Bounds;
use crate::undo::{Journal, actions};
use crate::{Error, Result};

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
    /// The version line that mkfs printed.
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
    pub superblock: Fields,
    /// What the device reports: backing file, direct I/O, write cache, scheduler, readahead.
    pub device: Fields,
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
        let source = Source::open(node)
            .map_err(|error| Error::io(node, "cannot open it to read its superblock", error))?;
        self.superblock = filesystem
            .superblock(&source)
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

    /// The facts of a filesystem that another program made and mounted.
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
            if let Ok(found) = Source::open(&Path::new("/dev").join(name))
                .and_then(|source| filesystem.superblock(&source))
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
        (self.mounted_type, self.options) = shown(path, accept)?;
        Ok(())
    }
}

/// Type and effective options, the mount's and the superblock's, of the mount that serves `path`.
fn shown(path: &Path, accept: impl Fn(&mountinfo::Mount) -> bool) -> Result<(String, Vec<String>)> {
    let mounts = actions::mounts()?;
    let mount = mountinfo::serving(&mounts, path).filter(|mount| accept(mount));
    let mount = mount.ok_or_else(|| {
        Error::io(
            path,
            "mountinfo does not show it",
            std::io::ErrorKind::NotFound,
        )
    })?;
    let mut options = mount.mount_options.clone();
    for option in &mount.super_options {
        if !options.contains(option) {
            options.push(option.clone());
        }
    }
    Ok((mount.kind.clone(), options))
}

/// A filesystem (or a folder) ready for one trial. Dropping it undoes everything, quietly;
/// [`Prepared::finish`] does so and reports what went wrong and how long it took.
pub struct Prepared {
    pub(crate) work: PathBuf,
    pub(crate) state: Mutex<State>,
    /// Lifted after the umount and before the device goes: a limit must not hit its next user.
    pub(crate) bounds: Bounds,
    /// Given back when this is dropped, while the device is still ours.
    pub(crate) readahead: Option<Readahead>,
    /// Readahead of the filesystem's own, set again after each mount.
    pub(crate) own_readahead: Option<OfFilesystem>,
    pub(crate) device: Box<dyn Device>,
    pub(crate) facts: Facts,
    pub(crate) warnings: Vec<String>,
    pub(crate) evidence: Vec<Evidence>,
    /// The journal's line on a formatted disk.
    pub(crate) formatted: Option<(Arc<Journal>, u64)>,
}

/// What changes during a trial.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) mounted: Option<Mounted>,
    pub(crate) timings: Timings,
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

    /// `loop image`, `block device`, `stacked device` or `directory`.
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

    /// sysfs names of the devices directly below a stacked one, in the order of its members; none for
    /// any other.
    pub fn members(&self) -> &[String] {
        self.device.members()
    }

    /// Puts a mark into the log of writes (`dm-log-writes`). A device that logs nothing takes none.
    ///
    /// # Errors
    /// What dmsetup says.
    pub fn mark_log(&self, mark: &str) -> Result<()> {
        match self.device.logs_as() {
            Some(name) => dm::message(name, &format!("mark {mark}")),
            None => Ok(()),
        }
    }

    /// Unmounts, and takes away the layer that logs the writes, so that the log is whole; none where nothing is
    /// logged. Both nodes stay until [`Prepared::finish`], and with [`Prepared::leave`] for longer.
    ///
    /// # Errors
    /// See [`Prepared::finish`].
    pub fn close_log(&mut self) -> Result<Option<ClosedLog>> {
        self.without_top(|device| device.close_log())
    }

    /// What the server of a modelled disk has done so far; none for any other device.
    ///
    /// # Errors
    /// It does not answer.
    pub fn served(&self) -> Option<Result<Served>> {
        self.device.served()
    }

    /// The switch by which the device's power is cut; none where it has none (all but `dm-flakey`).
    pub fn power_switch(&self) -> Option<PowerSwitch> {
        self.device.power_switch()
    }

    /// Unmounts, and takes away the layer whose power was cut: the node of what reached the disk. It stays as
    /// [`Prepared::close_log`] says; none where there is no such layer.
    ///
    /// # Errors
    /// See [`Prepared::finish`].
    pub fn uncover(&mut self) -> Result<Option<PathBuf>> {
        self.without_top(|device| device.uncover())
    }

    /// Unmounts for good and has the device take off its upper layer.
    fn without_top<T>(&mut self, take: impl FnOnce(&mut dyn Device) -> Result<T>) -> Result<T> {
        self.unmount_for_good(actions::PATIENCE)?;
        let begun = Instant::now();
        self.free_device()?;
        let taken = take(&mut *self.device);
        self.state().timings.device += begun.elapsed().as_secs_f64();
        taken
    }

    /// Ends without undoing what is on the disks: for a guest, whose machine ends next, and whose disks its host
    /// then reads.
    pub fn leave(mut self) -> Timings {
        self.device.abandon();
        self.timings()
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
        self.state().timings
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The control group that limits the trial's memory, read now; none when memory is not limited
    /// (or the group's files cannot be read).
    pub fn memory_group(&self) -> Option<GroupReading> {
        self.bounds.reading()
    }

    /// Makes the caches cold and proves it for `files` and for the image below, if there is one.
    /// After [`Prepared::unmount`] it is [`Prepared::drop_device_caches`].
    pub fn drop_caches(&self, files: &[&Path]) -> Result<ColdProof> {
        if self.state().mounted.as_ref().is_some_and(|m| !m.is_up()) {
            return self.drop_device_caches();
        }
        let below = self.device.backing_files();
        // An image alone proves nothing about the workload's files.
        let mut proof = cache::drop_and_prove(&self.work, files, &below)?;
        if files.is_empty() && proof.resident_pages == 0 {
            proof.holds = None;
        }
        Ok(proof)
    }

    /// Drops what the page cache holds of the unmounted device and of the image below it, and proves
    /// it by counting what is left. Its time is in no [`Timings`]: the caller asks for it when it
    /// likes, and times it itself.
    ///
    /// # Errors
    /// A directory has no device of its own. A proof that does not hold is no error.
    pub fn drop_device_caches(&self) -> Result<ColdProof> {
        let node = self.device.node().ok_or_else(|| Error::Cannot {
            thing: self.work.display().to_string(),
            what: "cannot drop a device's caches".into(),
            why: "a directory has no device of its own".into(),
            next: "use a loop image or a disk (no --dir)".into(),
        })?;
        cache::drop_device(node, &self.device.backing_files())
    }

    /// Unmounts the filesystem and mounts it again: same device, place and options. Nothing of it is
    /// cached then but what mounting itself reads, and the proof says so. The device's caches are
    /// dropped and counted in between. `None`: not possible here, a directory is not ours to unmount.
    ///
    /// # Errors
    /// [`Error::Busy`] with the holders when a process uses it for longer than a few seconds (it is
    /// mounted still); [`Error::Cannot`] when its effective options are not the first mount's.
    pub fn remount(&self) -> Result<Option<ColdProof>> {
        let mut state = self.state();
        let State { mounted, timings } = &mut *state;
        let Some(mounted) = mounted else {
            return Ok(None);
        };
        if !mounted.is_up() {
            return Err(mounted.not_mounted());
        }
        let begun = Instant::now();
        mounted.down(actions::PATIENCE)?;
        timings.umount += begun.elapsed().as_secs_f64();
        // Whatever this says, the filesystem is wanted back.
        let proof = self.drop_device_caches();
        self.device.still_the_same()?;
        let begun = Instant::now();
        mounted.again()?;
        timings.mount += begun.elapsed().as_secs_f64();
        self.same_options()?;
        if let Some(own) = &self.own_readahead {
            own.set()?;
        }
        if let Some(readahead) = &self.readahead {
            readahead.verify()?;
        }
        let mut proof = proof?;
        proof.method = format!(
            "umount, {}; then mounted again with the same effective options",
            proof.method
        );
        Ok(Some(proof))
    }

    fn same_options(&self) -> Result<()> {
        let (_, now) = shown(&self.work, |mount| mount.point == self.work)?;
        let lacks = |one: &[String], other: &[String]| {
            let missing = one.iter().filter(|option| !other.contains(option));
            missing.cloned().collect::<Vec<_>>().join(",")
        };
        let (gone, new) = (
            lacks(&self.facts.options, &now),
            lacks(&now, &self.facts.options),
        );
        if gone.is_empty() && new.is_empty() {
            return Ok(());
        }
        Err(Error::Cannot {
            thing: self.work.display().to_string(),
            what: "cannot mount it again as it was".into(),
            why: format!("effective options lost: \"{gone}\", new: \"{new}\""),
            next: "name these options in the study's mount list, or do not remount".into(),
        })
    }

    /// Syncs and unmounts. The device stays, for a checker; [`Prepared::finish`] does the rest. Called
    /// again, and in a directory, it does nothing.
    ///
    /// # Errors
    /// [`Error::Busy`] with the holders; it is mounted still.
    pub fn unmount(&mut self) -> Result<()> {
        let begun = Instant::now();
        let mut state = self.state();
        if let Some(mounted) = state.mounted.as_mut().filter(|mounted| mounted.is_up()) {
            mounted.down(actions::PATIENCE)?;
            state.timings.umount += begun.elapsed().as_secs_f64();
        }
        Ok(())
    }

    /// Sync, umount, detach, remove. Returns all timings, the umount's included.
    ///
    /// # Errors
    /// The first thing that could not be undone; `clean` can try again later.
    pub fn finish(mut self) -> Result<Timings> {
        self.unmount_for_good(actions::PATIENCE)?;
        let begun = Instant::now();
        let lifted = self.free_device();
        self.device.release()?;
        if let Some((journal, step)) = self.formatted.take() {
            journal.note_undone(step);
        }
        let mut timings = self.timings();
        timings.device += begun.elapsed().as_secs_f64();
        lifted.map(|()| timings)
    }

    /// Takes back what was set on the device.
    fn free_device(&mut self) -> Result<()> {
        let lifted = self.bounds.lift();
        drop(self.readahead.take());
        lifted
    }

    /// Unmounts and removes the mount point. A device below a mount that would not go stays for
    /// `clean`, which undoes both in order; without a mount above, dropping `self` releases it.
    fn unmount_for_good(&mut self, patience: Duration) -> Result<()> {
        let begun = Instant::now();
        let Prepared { state, device, .. } = self;
        let state = state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(mounted) = &mut state.mounted else {
            return Ok(());
        };
        let answer = mounted.undo(patience);
        if answer.is_err() {
            if mounted.is_stuck() {
                device.abandon_in_use();
            }
            mounted.abandon();
        } else {
            state.timings.umount += begun.elapsed().as_secs_f64();
        }
        answer
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Err(error) = self.unmount_for_good(Duration::from_secs(1)) {
            tracing::warn!("{error}");
        }
        if let Err(error) = self.bounds.lift() {
            tracing::warn!("{error}");
        }
    }
}
