//! What is left of a run, by the journal and the kernel.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use probe::mountinfo::Mount;
use rundir::RunDir;

use super::{Undone, files, owned};
use crate::device::stack;
use crate::host::{Host, Loop};
use crate::mounted::MOUNT_FOLDER;
use crate::undo::{self, Beneath, OwnFolder, Task, actions};
use crate::{Error, Result};

/// What is left of a run.
pub(super) struct Leftovers {
    host: Host,
    /// The run's folder.
    run: PathBuf,
    /// Mounts below the run's folder of devices of the run, the latest first.
    mounts: Vec<Mount>,
    /// Devices of several layers, the upper ones first.
    stacks: Vec<Task>,
    loops: Vec<Loop>,
    images: BTreeSet<Beneath>,
    points: BTreeSet<Beneath>,
    folders: Vec<OwnFolder>,
    /// Entries of the folder that are not what the journal says.
    pub(super) refused: Vec<Error>,
}

/// The folder of a run that holds its images.
const IMAGE_FOLDER: &str = "images";

impl Leftovers {
    pub(super) fn find(dir: &RunDir, known: &[(u64, Task)]) -> Result<Leftovers> {
        let host = Host::default();
        let loops = owned::loops(&host, dir);
        let mut left = Leftovers {
            mounts: own_mounts(&host, dir, known, &loops)?,
            stacks: known
                .iter()
                .rev()
                .filter(|(_, task)| stack::is_left(&host, task))
                .map(|(_, task)| task.clone())
                .collect(),
            loops,
            images: BTreeSet::new(),
            points: BTreeSet::new(),
            folders: Vec::new(),
            refused: Vec::new(),
            run: dir.path().to_owned(),
            host,
        };
        let mut points = BTreeSet::new();
        let mut images: BTreeSet<Beneath> = BTreeSet::new();
        for (_, task) in known {
            match task {
                Task::Image(image) | Task::Loop { image, .. } => drop(images.insert(image.clone())),
                Task::MountPoint(point) => drop(points.insert(point.clone())),
                Task::Folder(folder) => match files::is_there(folder) {
                    Ok(true) => left.folders.push(folder.clone()),
                    Ok(false) => {}
                    Err(error) => left.refused.push(error),
                },
                _ => {}
            }
        }
        left.find_images(dir, images);
        left.find_points(dir, points);
        Ok(left)
    }

    /// Images of the journal, and those that no journal knows: a crash of the filesystem that holds the run may keep
    /// the image and lose the last lines of the journal. These are known by where they are and by their names.
    fn find_images(&mut self, dir: &RunDir, mut images: BTreeSet<Beneath>) {
        for folder in ["", IMAGE_FOLDER] {
            match dir.names(folder) {
                Ok(names) => {
                    let names = names.iter().filter_map(|name| name.to_str().ok());
                    let own = names.filter(|name| is_own_image(folder, name));
                    images
                        .extend(own.filter_map(|n| Beneath::relative(&Path::new(folder).join(n))));
                }
                Err(error) => self.refuse(undo::unusable(error)),
            }
        }
        for image in images {
            if self.exists(dir, &image) {
                self.images.insert(image);
            }
        }
    }

    /// Mount points of the journal, and those that no journal knows; only empty ones can be removed anyway.
    fn find_points(&mut self, dir: &RunDir, mut points: BTreeSet<Beneath>) {
        match dir.names(MOUNT_FOLDER) {
            Ok(names) => {
                let below = |name: &OsStr| Beneath::relative(&Path::new(MOUNT_FOLDER).join(name));
                let found = names.iter().map(|name| OsStr::from_bytes(name.to_bytes()));
                points.extend(found.filter_map(below));
                points.extend(Beneath::relative(Path::new(MOUNT_FOLDER)));
            }
            Err(error) => self.refuse(undo::unusable(error)),
        }
        for point in points {
            if self.exists(dir, &point) {
                self.points.insert(point);
            }
        }
    }

    /// Whether an entry exists; one that a link leads to is refused.
    fn exists(&mut self, dir: &RunDir, entry: &Beneath) -> bool {
        match dir.status(entry.path()) {
            Ok(status) => status.is_some(),
            Err(error @ rundir::Error::Refused { .. }) => {
                self.refuse(undo::unusable(error));
                false
            }
            // The root of a filesystem that has shut down gives no status.
            Err(error) => error.is_unanswered(),
        }
    }

    /// Keeps a reason once.
    fn refuse(&mut self, error: Error) {
        let same = |other: &Error| other.to_string() == error.to_string();
        if !self.refused.iter().any(same) {
            self.refused.push(error);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list().is_empty()
    }

    pub(super) fn list(&self) -> Vec<Undone> {
        let mounts = self.mounts.iter().map(|m| ("mount", m.point.clone()));
        let stacks = self.stacks.iter().filter_map(stacked);
        let loops = self.loops.iter().map(|lo| ("loop device", lo.node()));
        let all = mounts.chain(stacks).chain(loops);
        let mut all: Vec<Undone> = all.map(|(what, thing)| Undone { what, thing }).collect();
        all.extend(self.files().into_iter().map(|(undone, _)| undone));
        all
    }

    /// Files and folders, in the order in which they are removed.
    fn files(&self) -> Vec<(Undone, Entry<'_>)> {
        let entry = |what, thing: &Path, entry| {
            let thing = self.run.join(thing);
            (Undone { what, thing }, entry)
        };
        let images = self.images.iter();
        let images = images.map(|image| entry("image", image.path(), Entry::Image(image)));
        // The deepest first.
        let points = self.points.iter().rev();
        let points = points.map(|point| entry("mount point", point.path(), Entry::Point(point)));
        let folders = self.folders.iter();
        let folders =
            folders.map(|folder| entry("working folder", &folder.path(), Entry::Folder(folder)));
        images.chain(points).chain(folders).collect()
    }

    /// What the kernel has of the run, in words.
    pub(super) fn of_kernel(&self) -> Vec<String> {
        let mounts = self.mounts.iter();
        let mounts = mounts.map(|mount| format!("the mount on {}", mount.point.display()));
        let loops = self.loops.iter();
        let loops = loops.map(|lo| format!("{} on {}", lo.node().display(), lo.backing.display()));
        mounts.chain(loops).collect()
    }

    pub(super) fn undo_mounts(&self, dir: &RunDir, undone: &mut Vec<Undone>) -> Vec<Error> {
        let mut problems = Vec::new();
        for mount in &self.mounts {
            match actions::unmount_of(dir, &mount.point, mount.id, actions::PATIENCE) {
                Ok(()) => undone.push(Undone {
                    what: "mount",
                    thing: mount.point.clone(),
                }),
                Err(error) => problems.push(error),
            }
        }
        problems
    }

    pub(super) fn undo_stacks(&self, undone: &mut Vec<Undone>) -> Vec<Error> {
        let mut problems = Vec::new();
        for task in &self.stacks {
            match (stack::undo_task(&self.host, task), stacked(task)) {
                (Ok(()), Some((what, thing))) => undone.push(Undone { what, thing }),
                (Ok(()), None) => {}
                (Err(error), _) => problems.push(error),
            }
        }
        problems
    }

    pub(super) fn undo_loops(&self, dir: &RunDir, undone: &mut Vec<Undone>) -> Vec<Error> {
        let mut problems = Vec::new();
        for lo in self.loops.iter().rev() {
            // A mounted loop device would only be marked for later; its mount has to go first.
            match self.mounts_of(lo) {
                Ok(mounts) if mounts.is_empty() => {}
                Ok(_) => continue,
                Err(error) => {
                    problems.push(error);
                    continue;
                }
            }
            match owned::detach(&self.host, dir, lo) {
                Ok(()) => undone.push(Undone {
                    what: "loop device",
                    thing: lo.node(),
                }),
                Err(error) => problems.push(error),
            }
        }
        problems
    }

    fn mounts_of(&self, lo: &Loop) -> Result<Vec<Mount>> {
        let mut mounts = actions::mounts()?;
        let number = self.host.number_of(&lo.name);
        mounts.retain(|mount| number == Some(mount.device) || mount.source == lo.node());
        Ok(mounts)
    }

    /// What is left when no round undoes anything more.
    pub(super) fn stays(&self, dir: &RunDir) -> Vec<Error> {
        let again = format!("then: fslab clean {}", dir.path().display());
        let loops = self.loops.iter().map(|lo| {
            let mounts = self.mounts_of(lo).unwrap_or_default();
            let points: Vec<String> = (mounts.iter())
                .map(|mount| mount.point.display().to_string())
                .collect();
            Error::NotUndone {
                thing: lo.node().display().to_string(),
                why: format!(
                    "it is mounted on {}, which this run did not make",
                    points.join(", ")
                ),
                next: format!("umount that, {again}"),
            }
        });
        let mounts = self.mounts.iter().map(|mount| Error::NotUndone {
            thing: mount.point.display().to_string(),
            why: "it is still mounted".into(),
            next: format!("umount it, {again}"),
        });
        mounts.chain(loops).collect()
    }

    /// Removes images, mount points and working folders.
    pub(super) fn undo_files(&self, dir: &RunDir, cleaning: &mut super::Cleaning) {
        for (thing, entry) in self.files() {
            let answer = match entry {
                Entry::Image(image) => actions::beneath::remove_image(dir, image),
                Entry::Point(point) => actions::beneath::remove_mount_point(dir, point),
                Entry::Folder(folder) => files::remove_work_folder(folder),
            };
            match answer {
                Ok(()) => cleaning.undone.push(thing),
                Err(error) => cleaning.problem(error),
            }
        }
    }
}

/// Whether a file of this name in this folder of the run is an image that a run makes: of a trial or of a member of
/// its device (`fslab-PID-N.img`, `fslab-PID-N-M.img`), of the reference (`reference-PID.img`), or a copy that a crash
/// check recovers (`crash-PID-N.img`, in the run's folder itself).
fn is_own_image(folder: &str, name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".img") else {
        return false;
    };
    let mut parts = stem.split('-');
    let kind = parts.next().unwrap_or_default();
    let mut numbers = 0;
    for part in parts {
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return false;
        }
        numbers += 1;
    }
    match (folder, kind) {
        (IMAGE_FOLDER, "fslab") => numbers == 2 || numbers == 3,
        (IMAGE_FOLDER, "reference") => numbers == 1,
        ("", "crash") => numbers == 2,
        _ => false,
    }
}

/// An entry to remove.
enum Entry<'a> {
    Image(&'a Beneath),
    Point(&'a Beneath),
    Folder(&'a OwnFolder),
}

/// What a device of several layers is called in lists.
fn stacked(task: &Task) -> Option<(&'static str, PathBuf)> {
    match task {
        Task::Mapped(name) => Some(("mapped device", name.as_str().into())),
        Task::Array { device, .. } => Some(("md array", device.node())),
        Task::NullBlk(name) => Some(("null_blk device", name.as_str().into())),
        Task::Served { device, .. } => Some(("modelled disk", device.node())),
        _ => None,
    }
}

/// Mounts of the run in our namespace, the latest first: below the run's folder, and of a device that the run made or
/// formatted. Another mount on one of its mount points is not the run's.
fn own_mounts(
    host: &Host,
    dir: &RunDir,
    known: &[(u64, Task)],
    loops: &[Loop],
) -> Result<Vec<Mount>> {
    let mut mounts = actions::mounts()?;
    mounts.reverse();
    mounts.retain(|mount| {
        let below = mount.point.strip_prefix(dir.path()).ok();
        let Some(point) = below.and_then(Beneath::relative) else {
            return false;
        };
        let of_loop = loops
            .iter()
            .any(|lo| host.number_of(&lo.name) == Some(mount.device) || mount.source == lo.node());
        of_loop
            || known.iter().any(|(_, task)| {
                matches!(task, Task::Mount { device, point: ours }
                    if *ours == point && same_device(host, device, &mount.source))
            }) && match host.number_of_node(&mount.source) {
                Some(name) => owned::is_own(host, loops, known, &name),
                None => owned::was_served(host, known, &mount.source),
            }
    });
    Ok(mounts)
}

/// The same node, or two names of one device (`/dev/disk/by-id/...`).
fn same_device(host: &Host, one: &Path, other: &Path) -> bool {
    let name = host.number_of_node(one);
    one == other || (name.is_some() && name == host.number_of_node(other))
}
