//! Undoes what a killed run left on the host.
//!
//! Idempotent, and careful in both directions: it believes the journal only where the kernel or the
//! filesystem agrees (a loop device is ours when its backing file is, whatever number it has), and
//! it asks the kernel for what the journal does not know. It touches nothing of a run that lives.

mod bounds;
mod trace;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use probe::mountinfo::Mount;

use crate::device::stack;
use crate::host::{Host, Loop};
use crate::undo::{self, Journal, Step};
use crate::{Error, Result, reversal};

/// One thing undone, or to be undone in a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// `block trace`, `device limit`, `mount`, `mapped device`, `md array`, `null_blk device`, `loop device`, `image`, `mount point`,
    /// `working folder`, `readahead`, `control group`.
    pub what: &'static str,
    /// Which.
    pub thing: PathBuf,
}

impl std::fmt::Display for Undone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.what, self.thing.display())
    }
}

/// Undoes everything of the run in `run`. A dry run changes nothing and tells what it would do.
///
/// # Errors
/// [`Error::StillRunning`] when the run's process lives; the first thing that cannot be undone,
/// after all others were.
pub fn clean(run: &Path, dry_run: bool) -> Result<Vec<Undone>> {
    let run = run
        .canonicalize()
        .map_err(|error| Error::io(run, "cannot clean the run", error))?;
    if let Some(pid) = undo::living_owner(&run)? {
        return Err(Error::StillRunning { run, pid });
    }
    let known = undo::peek(&run)?;
    if dry_run {
        let mut left = trace::traces(&known);
        left.extend(bounds::limits(&run, &known));
        left.extend(Leftovers::find(&run, &known)?.list());
        left.extend(bounds::groups(&known));
        return Ok(left);
    }
    if known.is_empty() && Leftovers::find(&run, &known)?.list().is_empty() {
        return Ok(Vec::new());
    }
    let journal = Journal::open(&run)?;
    clean_locked(&journal)
}

/// The same under a journal that is already held: a new run begins where a killed one left.
pub(crate) fn clean_locked(journal: &Arc<Journal>) -> Result<Vec<Undone>> {
    let known = journal.left();
    let run = journal.run().to_path_buf();
    let mut undone = Vec::new();
    // It has nothing to do with the rest, and slows it down.
    let traced = trace::undo(&known, &mut undone);
    // First of all: a sync at a trickle would take long, and the device's number is still ours.
    let limit = bounds::undo_limits(&run, &known, &mut undone);
    // Mounts and loops may be nested in any way (a loop device on an image inside a mount), so
    // rounds go on for as long as they get something undone.
    loop {
        let left = Leftovers::find(&run, &known)?;
        let before = undone.len();
        let mut failure = left.undo_mounts(&run, &mut undone);
        failure = left.undo_stacks(&mut undone).or(failure);
        failure = left.undo_loops(&mut undone).or(failure);
        if undone.len() == before {
            if let Some(error) = failure {
                return Err(error);
            }
            break;
        }
    }
    let left = Leftovers::find(&run, &known)?;
    let failure = left.undo_files(&mut undone).or_else(|| left.strange());
    let failure = failure.or_else(|| undo_readahead(&known, &mut undone));
    let failure = traced.or(limit).or(failure);
    let failure = failure.or_else(|| bounds::undo_groups(&known, &mut undone));
    for (number, step) in known {
        let unfinished =
            failure.is_some() && !matches!(step, Step::Loop { .. } | Step::Mount { .. });
        // A formatted disk stays formatted; its line is what lets the run go on with it.
        if !unfinished && !matches!(step, Step::Formatted { .. }) {
            journal.undone(number)?;
        }
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(undone),
    }
}

/// Gives disks their readahead back. A loop device that was ours is gone, and its number may be
/// somebody else's by now.
fn undo_readahead(known: &[(u64, Step)], undone: &mut Vec<Undone>) -> Option<Error> {
    let was_ours = |node: &Path| {
        known
            .iter()
            .any(|(_, step)| matches!(step, Step::Loop { device, .. } if device == node))
    };
    for (_, step) in known {
        let Step::Readahead { device, sectors } = step else {
            continue;
        };
        if was_ours(device) {
            continue;
        }
        if let Err(error) = crate::device::readahead::set(device, *sectors) {
            return Some(error);
        }
        undone.push(Undone {
            what: "readahead",
            thing: device.clone(),
        });
    }
    None
}

/// What is left of a run, by the journal and the kernel.
struct Leftovers {
    host: Host,
    mounts: Vec<Mount>,
    /// Devices of several layers, the upper ones first.
    stacks: Vec<Step>,
    loops: Vec<Loop>,
    images: BTreeSet<PathBuf>,
    strange: BTreeSet<PathBuf>,
    points: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
}

impl Leftovers {
    fn find(run: &Path, known: &[(u64, Step)]) -> Result<Leftovers> {
        let host = Host::default();
        let mut images = BTreeSet::new();
        let mut points = BTreeSet::new();
        let mut folders = BTreeSet::new();
        for (_, step) in known {
            match step {
                Step::Image { path } => images.insert(path.clone()),
                Step::MountPoint { path } => points.insert(path.clone()),
                Step::Folder { path } => folders.insert(path.clone()),
                Step::Loop { image, .. } => images.insert(image.clone()),
                Step::Opened { .. }
                | Step::Mount { .. }
                | Step::Readahead { .. }
                | Step::Limit { .. }
                | Step::Group { .. }
                | Step::Trace { .. }
                | Step::Mapped { .. }
                | Step::Array { .. }
                | Step::NullBlk { .. }
                | Step::Formatted { .. } => false,
            };
        }
        let loops: Vec<Loop> = host
            .loops()
            .into_iter()
            .filter(|lo| lo.backing.starts_with(run))
            .collect();
        let mounts = our_mounts(&host, known, &loops)?;
        images.retain(|path| path.symlink_metadata().is_ok());
        let (images, strange) = images.into_iter().partition(|path| lies_in(run, path));
        let folder = run.join(crate::mounted::MOUNT_FOLDER);
        // Also those that no journal knows; only empty ones can be removed anyway.
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        points.extend(entries.map(|entry| entry.path()));
        points.insert(folder);
        points.retain(|path| lies_in(run, path) && path.symlink_metadata().is_ok());
        folders.retain(|path| path.symlink_metadata().is_ok());
        let stacks = known.iter().rev().map(|(_, step)| step.clone());
        let stacks = stacks.filter(|step| stack::is_left(&host, step)).collect();
        Ok(Leftovers {
            host,
            mounts,
            stacks,
            loops,
            images,
            strange,
            points,
            folders,
        })
    }

    fn list(&self) -> Vec<Undone> {
        let mounts = self.mounts.iter().map(|m| ("mount", m.point.clone()));
        let stacks = self.stacks.iter().filter_map(stacked);
        let loops = self.loops.iter().map(|lo| ("loop device", lo.node()));
        let images = self.images.iter().map(|path| ("image", path.clone()));
        // The deepest first.
        let points = self
            .points
            .iter()
            .rev()
            .map(|path| ("mount point", path.clone()));
        let folders = self
            .folders
            .iter()
            .map(|path| ("working folder", path.clone()));
        let all = mounts
            .chain(stacks)
            .chain(loops)
            .chain(images)
            .chain(points)
            .chain(folders);
        all.map(|(what, thing)| Undone { what, thing }).collect()
    }

    /// Images that the journal names and that lie elsewhere: nobody vouches for those.
    fn strange(&self) -> Option<Error> {
        self.strange.first().map(|path| Error::NotUndone {
            thing: path.display().to_string(),
            why: "the journal says image, but it lies outside of the run's folder".into(),
            next: "look at it and remove it by hand".into(),
        })
    }

    fn undo_mounts(&self, run: &Path, undone: &mut Vec<Undone>) -> Option<Error> {
        let mut failure = None;
        for mount in &self.mounts {
            match reversal::unmount(&mount.point, mount.id, run, Duration::from_secs(1)) {
                Ok(()) => undone.push(Undone {
                    what: "mount",
                    thing: mount.point.clone(),
                }),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure
    }

    fn undo_stacks(&self, undone: &mut Vec<Undone>) -> Option<Error> {
        let mut failure = None;
        for step in &self.stacks {
            match (stack::undo(&self.host, step), stacked(step)) {
                (Ok(()), Some((what, thing))) => undone.push(Undone { what, thing }),
                (Ok(()), None) => {}
                (Err(error), _) => failure = failure.or(Some(error)),
            }
        }
        failure
    }

    fn undo_loops(&self, undone: &mut Vec<Undone>) -> Option<Error> {
        let mut failure = None;
        for lo in self.loops.iter().rev() {
            // A mounted loop device would only be marked for later; its mount has to go first.
            match our_mounts(&self.host, &[], std::slice::from_ref(lo)) {
                Ok(mounts) if mounts.is_empty() => {}
                Ok(_) => continue,
                Err(error) => {
                    failure = failure.or(Some(error));
                    continue;
                }
            }
            match reversal::detach(&self.host, lo) {
                Ok(()) => undone.push(Undone {
                    what: "loop device",
                    thing: lo.node(),
                }),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure
    }

    fn undo_files(&self, undone: &mut Vec<Undone>) -> Option<Error> {
        let mut failure = None;
        for thing in self.list() {
            let answer = match thing.what {
                "image" => reversal::remove_image(&thing.thing),
                "mount point" => reversal::remove_mount_point(&thing.thing),
                "working folder" => reversal::remove_work_folder(&thing.thing),
                _ => continue,
            };
            match answer {
                Ok(()) => undone.push(thing),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure
    }
}

/// What a device of several layers is called in lists.
fn stacked(step: &Step) -> Option<(&'static str, PathBuf)> {
    match step {
        Step::Mapped { name } => Some(("mapped device", name.into())),
        Step::Array { device, .. } => Some(("md array", device.clone())),
        Step::NullBlk { name } => Some(("null_blk device", name.into())),
        _ => None,
    }
}

/// Whether a path lies below the run's folder, links followed.
fn lies_in(run: &Path, path: &Path) -> bool {
    let above = path.parent().and_then(|folder| folder.canonicalize().ok());
    above.is_some_and(|folder| folder.starts_with(run)) && path.file_name().is_some()
}

/// Mounts of the run in our namespace, the latest first: of its loop devices, wherever they are
/// mounted, and those of the journal's mounts that show the journal's device. Another mount on one
/// of our mount points is somebody else's.
fn our_mounts(host: &Host, known: &[(u64, Step)], loops: &[Loop]) -> Result<Vec<Mount>> {
    let mut mounts = reversal::mounts()?;
    mounts.reverse();
    mounts.retain(|mount| {
        let of_loop = loops
            .iter()
            .any(|lo| host.number_of(&lo.name) == Some(mount.device) || mount.source == lo.node());
        of_loop
            || known.iter().any(|(_, step)| {
                matches!(step, Step::Mount { device, point }
                    if *point == mount.point && same_device(host, device, &mount.source))
            })
    });
    Ok(mounts)
}

/// The same node, or two names of one device (`/dev/disk/by-id/...`).
fn same_device(host: &Host, one: &Path, other: &Path) -> bool {
    let name = host.number_of_node(one);
    one == other || (name.is_some() && name == host.number_of_node(other))
}
