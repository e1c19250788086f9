//! The rig of one run: a target, and what is made on it trial by trial.

mod approval;
mod directory;
mod format;
mod image;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use probe::mountinfo;

use progress::Progress;
use workload::Evidence;

use crate::clean::{self, Undone};
use crate::device::Device;
use crate::device::block::Disk;
use crate::device::loop_image::LoopImage;
use crate::device::readahead::{OfFilesystem, Readahead};
use crate::device::stack::{Bases, Stacked, Stacking, hints};
use crate::filesystem::{self, Filesystem};
use crate::gate::{Approved, Gate};
use crate::host::{self, Host};
use crate::limits::{self, Limits};
use crate::mounted::{MOUNT_FOLDER, Mounted};
use crate::prepared::{Facts, Prepared, State, Timings};
use crate::resource_limits::LimitRequest;
use crate::settled::Settled;
use crate::undo::{Journal, actions};
use crate::{Error, Result};

/// Where trials run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A fresh sparse image for each trial, in `folder`.
    LoopImages {
        /// Folder of images; made when missing. Below the run's folder, or [`crate::clean()`] leaves
        /// them alone.
        folder: PathBuf,
    },
    /// A fresh folder for each trial below an existing directory. No filesystem is made.
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// A whole disk, formatted for each trial.
    Block {
        /// Its node.
        device: PathBuf,
        /// Its serial, as the user gave it; none is refused with the serial to give.
        serial: Option<String>,
    },
    /// Whole disks, the members of a stack; none for a device that needs none.
    Disks {
        /// Their nodes and serials.
        disks: Vec<(PathBuf, String)>,
    },
}

/// What one trial needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Bytes of the image (loop images only).
    pub image_size: u64,
    /// Readahead of the device in sectors of 512 bytes; none leaves the kernel's.
    pub readahead_sectors: Option<u32>,
    /// Discard the whole device first. A new image is sparse and needs none.
    pub discard: bool,
    /// `ext2`, `ext3`, `ext4`, `xfs`, `btrfs`, `ocfs2`, `f2fs`.
    pub kind: String,
    /// Options of mkfs, one argument each.
    pub mkfs: Vec<String>,
    /// Mount options.
    pub mount: Vec<String>,
    /// What the device is held to; none is not limited.
    pub limit: Option<Limits>,
    /// Bytes of memory for the lab and its programs from the mount on; none is not limited.
    pub memory: Option<u64>,
    /// The layers between disks and filesystem; `None`: there are none.
    pub stack: Option<Stacking>,
}

/// A rig, open for the trials of one run.
#[derive(Debug)]
pub struct Rig {
    target: Target,
    disk: Option<(Gate, Approved)>,
    disk_is_ours: bool,
    members: Vec<(Gate, Approved)>,
    /// Where the bytes of modelled disks go that are made without a folder for images.
    store: Option<PathBuf>,
    journal: Arc<Journal>,
    host: Host,
    number: u32,
    versions: BTreeMap<&'static str, String>,
    leftovers: Vec<Undone>,
}

impl Rig {
    /// Opens a rig whose undo journal is in `run`, an existing folder. What a killed process of
    /// the same run left is undone first (see [`Rig::leftovers`]). A disk has to pass the gate.
    pub fn open(target: Target, run: &Path) -> Result<Rig> {
        let journal = Journal::open(run)?;
        let leftovers = clean::clean_locked(&journal)?.into_result()?;
        let mut rig = Rig {
            target,
            disk: None,
            disk_is_ours: false,
            members: Vec::new(),
            store: None,
            journal,
            host: Host::default(),
            number: 0,
            versions: BTreeMap::new(),
            leftovers,
        };
        rig.check_target()?;
        Ok(rig)
    }

    /// Has modelled disks keep their bytes on this persistent memory, which is all theirs. A rig for images keeps them in memory or
    /// files as before.
    pub fn store_on(&mut self, device: PathBuf) {
        self.store = Some(device);
    }

    fn check_target(&mut self) -> Result<()> {
        match self.target.clone() {
            Target::LoopImages { folder } => {
                need_root(&folder, "cannot make loop images there")?;
                host::make_folder(&folder)
            }
            Target::Directory { path } => match fs::metadata(&path) {
                Ok(meta) if meta.is_dir() => Ok(()),
                Ok(_) => Err(Error::io(
                    &path,
                    "cannot work there",
                    std::io::ErrorKind::NotADirectory,
                )),
                Err(error) => Err(Error::io(&path, "cannot work there", error)),
            },
            Target::Block { device, serial } => self.approve(&device, serial.as_deref()),
            Target::Disks { disks } => self.approve_members(&disks),
        }
    }

    /// What an earlier, killed process of this run had left, now undone.
    pub fn leftovers(&self) -> &[Undone] {
        &self.leftovers
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Where what a run makes on the host is written down before it is made.
    pub fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// The target in words, for the record.
    pub fn describe(&self) -> String {
        match &self.target {
            Target::LoopImages { folder } => format!("loop images in {}", folder.display()),
            Target::Directory { path } => format!("directory {}", path.display()),
            Target::Block { device, serial } => format!(
                "device {} serial {}",
                device.display(),
                serial.as_deref().unwrap_or_default()
            ),
            Target::Disks { disks } => format!("{} disks", disks.len()),
        }
    }

    /// Makes, formats and mounts what one trial needs. Whatever goes wrong, or when `progress`
    /// asks to stop, everything made so far is undone before this returns.
    pub fn prepare(&mut self, request: &Request, progress: &dyn Progress) -> Result<Prepared> {
        if let Target::Directory { path } = self.target.clone() {
            return self.prepare_directory(&path, request);
        }
        let filesystem = filesystem::of_kind(&request.kind)?;
        filesystem::options::check(&request.kind, &request.mkfs, &request.mount)?;
        let asked = LimitRequest::check(request.limit, request.memory)?;
        // Asked before any clock runs, and once: a missing program also ends it here, unmade.
        let mkfs_version = self.version(filesystem)?;
        let mut timings = Timings::default();
        let begun = Instant::now();
        let device = self.device(request, filesystem, progress)?;
        let node = device.node().map(Path::to_path_buf).unwrap_or_default();
        let mut warnings = device.warnings().to_vec();
        warnings.extend(limits::in_force(&self.host, &node).map(|found| {
            format!(
                "{} has an I/O limit ({found}) that this run did not set",
                node.display()
            )
        }));
        let readahead = match request.readahead_sectors {
            Some(sectors) => {
                let disk = self.disk.as_ref().filter(|_| request.stack.is_none());
                let serial = disk.map(|(_, approved)| approved.serial.as_str());
                let journal = &self.journal;
                Some(Readahead::change(&node, serial, sectors.into(), journal)?)
            }
            None => None,
        };
        timings.device = begun.elapsed().as_secs_f64();
        stop(progress, "preparing the device")?;

        device.still_the_same()?;
        let mkfs = hinted(request, filesystem, &node)?;
        let (noted, options) = self.will_format(filesystem, &mkfs)?;
        let begun = Instant::now();
        let mkfs = filesystem::make(filesystem, &options, &node, progress)
            .map_err(|error| cause(&*device, error))?;
        timings.mkfs = begun.elapsed().as_secs_f64();
        let formatted = self.note_formatted(noted, filesystem, &node)?;
        stop(progress, "making the filesystem")?;

        let bounds = asked.begin(&self.journal)?;
        let begun = Instant::now();
        self.number += 1;
        let mounted = Mounted::mount(
            &self.journal,
            filesystem,
            &node,
            self.number,
            &request.mount,
        )
        .map_err(|error| cause(&*device, error))?;
        timings.mount = begun.elapsed().as_secs_f64();

        // From here on `prepared` undoes everything, in the right order.
        let mut prepared = Prepared {
            work: mounted.point().to_path_buf(),
            state: Mutex::new(State {
                mounted: Some(mounted),
                timings,
            }),
            bounds,
            readahead,
            own_readahead: None,
            device,
            facts: Facts {
                asked_type: request.kind.clone(),
                mkfs,
                mkfs_version,
                ..Facts::default()
            },
            warnings,
            evidence: Vec::new(),
            formatted: formatted.map(|step| (self.journal.clone(), step)),
        };
        prepared.device.still_the_same()?;
        self.after_mount(&mut prepared, request, filesystem, &node, progress)
            .map_err(|error| cause(&*prepared.device, error))?;
        // Last: what the filesystem did by itself until now is no part of any measurement.
        let stale = matches!(self.target, Target::LoopImages { .. });
        asked.hold(&mut prepared.bounds, &self.journal, &node, stale)?;
        prepared.note_bounds();
        Ok(prepared)
    }

    fn version(&mut self, filesystem: &dyn Filesystem) -> Result<String> {
        if let Some(version) = self.versions.get(filesystem.program()) {
            return Ok(version.clone());
        }
        let version = filesystem::version(filesystem)?;
        self.versions.insert(filesystem.program(), version.clone());
        Ok(version)
    }

    fn after_mount(
        &self,
        prepared: &mut Prepared,
        request: &Request,
        filesystem: &dyn Filesystem,
        node: &Path,
        progress: &dyn Progress,
    ) -> Result<()> {
        prepared.facts.read_back(
            &self.host,
            &prepared.work,
            node,
            filesystem,
            &*prepared.device,
        )?;
        if let Some(sectors) = request.readahead_sectors {
            self.own_readahead(prepared, filesystem, sectors)?;
        }
        let settled = filesystem.settle(
            &filesystem::Mounted {
                node,
                point: &prepared.work,
                options: &prepared.facts.options,
            },
            progress,
        )?;
        prepared.state().timings.wait = settled.seconds;
        prepared.settled(settled);
        // The lab drops caches before reads; this makes the first phase begin without dirty pages.
        let work = fs::File::open(&prepared.work)
            .map_err(|error| Error::io(&prepared.work, "cannot open the mount", error))?;
        rustix::fs::syncfs(&work)
            .map_err(|error| Error::io(&prepared.work, "cannot sync it after mkfs", error))
    }

    /// btrfs reads ahead by its own setting, not its disk's.
    fn own_readahead(
        &self,
        prepared: &mut Prepared,
        filesystem: &dyn Filesystem,
        sectors: u32,
    ) -> Result<()> {
        let facts = &mut prepared.facts;
        let uuid = facts.superblock.get("uuid").cloned().unwrap_or_default();
        let Some(file) = filesystem.own_readahead(&self.host, &uuid) else {
            return Ok(());
        };
        let own = OfFilesystem {
            file,
            sectors: sectors.into(),
        };
        own.set()?;
        let shown = (sectors / 2).to_string();
        facts
            .device
            .insert("filesystem_read_ahead_kb".into(), shown);
        prepared.own_readahead = Some(own);
        Ok(())
    }

    fn device(
        &mut self,
        request: &Request,
        filesystem: &dyn Filesystem,
        progress: &dyn Progress,
    ) -> Result<Box<dyn Device>> {
        if let Some(stacking) = &request.stack {
            return self.stacked(stacking, request, progress);
        }
        if let Some((gate, approved)) = &self.disk {
            let disk = Disk::take(gate, approved, self.disk_is_ours, request.discard, progress)?;
            // Its release wipes it; until then what is on it is ours.
            self.disk_is_ours = true;
            return Ok(Box::new(disk));
        }
        let needed = filesystem.least_bytes();
        if request.image_size < needed {
            return Err(Error::ImageTooSmall {
                kind: request.kind.clone(),
                asked: request.image_size,
                needed,
            });
        }
        let Target::LoopImages { folder } = &self.target else {
            return Err(Error::UnknownKind {
                kind: request.kind.clone(),
            });
        };
        let name = format!("fslab-{}-{}.img", std::process::id(), self.number);
        let image = LoopImage::create(folder, &name, request.image_size, &self.journal)?;
        Ok(Box::new(image))
    }
}

impl Rig {
    /// A device of several layers on what the target gives.
    fn stacked(
        &mut self,
        stacking: &Stacking,
        request: &Request,
        progress: &dyn Progress,
    ) -> Result<Box<dyn Device>> {
        let name = format!("fslab-{}-{}", std::process::id(), self.number);
        let one: Vec<(Gate, Approved)> = self.disk.iter().cloned().collect();
        let disks = |disks| Bases::Disks {
            disks,
            ours: self.disk_is_ours,
            discard: request.discard,
            store: self.store.as_deref(),
        };
        let bases = match &self.target {
            Target::LoopImages { folder } => Bases::Images(folder, &name),
            Target::Disks { .. } => disks(&self.members),
            Target::Block { .. } | Target::Directory { .. } => disks(&one),
        };
        let made = Stacked::create(stacking, &bases, &name, &self.journal, progress)?;
        // Its release wipes the disks; until then what is on them is ours.
        self.disk_is_ours = true;
        Ok(Box::new(made))
    }
}

/// mkfs options, with those of the stripe geometry.
fn hinted(request: &Request, filesystem: &dyn Filesystem, node: &Path) -> Result<Vec<String>> {
    match &request.stack {
        Some(stack) => hints::options(stack.hints, stack.geometry, filesystem, &request.mkfs, node),
        None => Ok(request.mkfs.clone()),
    }
}

impl Prepared {
    fn note_bounds(&mut self) {
        let facts = &mut self.facts.device;
        if let Some(limit) = self.bounds.limit_facts() {
            facts.insert("limit".into(), limit.into());
        }
        if let Some(memory) = self.bounds.memory_facts() {
            facts.insert("memory_limit".into(), memory);
        }
    }

    fn settled(&mut self, settled: Settled) {
        if !settled.holds {
            self.warnings
                .push(format!("lazy initialisation: {}", settled.detail));
        }
        self.evidence.push(Evidence {
            name: "lazy_init_finished".into(),
            holds: Some(settled.holds),
            detail: settled.detail,
        });
    }
}

fn need_root(thing: &Path, what: &str) -> Result<()> {
    if host::is_root() {
        return Ok(());
    }
    Err(Error::io(thing, what, std::io::ErrorKind::PermissionDenied))
}

fn stop(progress: &dyn Progress, doing: &str) -> Result<()> {
    if progress.cancelled() {
        return Err(Error::Interrupted {
            doing: doing.into(),
        });
    }
    Ok(())
}

impl Drop for Rig {
    fn drop(&mut self) {
        // The folder of mount points is ours and empty once every trial is over.
        let folder = self.journal.run().join(MOUNT_FOLDER);
        let free = |mounts: Vec<mountinfo::Mount>| {
            !mounts.iter().any(|mount| mount.point.starts_with(&folder))
        };
        if mountinfo::own().is_ok_and(free) {
            let _ = actions::remove_mount_point_of(self.journal.dir(), &folder);
        }
    }
}

/// Why a device failed, where its server can say so; else the error that was met.
fn cause(device: &dyn Device, error: Error) -> Error {
    match device.served() {
        Some(Err(why)) => why,
        _ => error,
    }
}
