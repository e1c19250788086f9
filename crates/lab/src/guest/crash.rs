//! The crash check of a guest's trial: its disk's writes are logged, and the host judges when the guest is gone.
//!
//! Two write such a log. QEMU logs a disk on the host, as it is asked to. dm-log-writes logs in the guest's own kernel, onto a disk
//! of its own or, in User-mode Linux, onto a slice of the one disk; it is what there is where the machine keeps no
//! log, and it is taken for every cell whose device is one.
//!
//! Either log begins with the blank disk, so nothing has to be copied beforehand. Its first entries are mkfs's, and a
//! power cut in the middle of mkfs is of no interest. What is judged begins where the filesystem was mounted:
//! at a mark that the lab in the guest puts into dm-log-writes' log, or with the entry that was the last of QEMU's when the
//! guest reported it. QEMU's ends with the last flush before the guest unmounts, since the rig then wipes
//! the disk; dm-log-writes' ends with the unmount, and the disk is left as it is. As both the log and the disk are here,
//! the whole log is compared with the disk: a log that lacks a write would judge images that never were.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use guest::machine::Disk;
use record::{Event, FailureKind};
use rig::device::stack::shares;
use rig::undo::Journal;
use rundir::RunDir;
use study::{CrashMethod, CrashSpec, Trial};

use super::account::Stopped;
use super::disks;
use super::job::GuestMessage;
use crate::crash::after_cut::AfterCut;
use crate::crash::cut;
use crate::crash::requirements::{self, Writer};
use crate::crash::trial::{Context, CrashResult, Finished, Left, MOUNTED, unjudged};
use crate::crash::{self, From, Part};
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::local::UNMOUNTING;
use crate::watch::Watcher;

/// A disk whose writes are logged.
pub(super) struct Logged {
    spec: CrashSpec,
    disk: File,
    log: Kept,
}

/// Where the log is.
enum Kept {
    /// Nowhere: the guest cuts the power itself, and the disk is what is judged.
    Nowhere,
    /// On the host, by QEMU.
    Beside(Beside),
    /// On a disk of the guest: the same one where it is cut, else one of its own.
    Inside {
        file: File,
        log: Option<Range<u64>>,
        data: Option<Range<u64>>,
    },
}

/// A log that QEMU writes, and its length at the guest's messages.
struct Beside {
    log: File,
    /// Entries of the log when the filesystem was mounted; 0: it never was.
    ready: AtomicUsize,
    /// Entries when it was about to be unmounted: after that the rig wipes the disk. 0: it never was.
    over: AtomicUsize,
}

impl Logged {
    /// Has the trial's disk logged, if the study asks for a crash check.
    pub(super) fn of(
        trial: &Trial,
        disks: &mut [Disk],
        images: &Path,
    ) -> Result<Option<Logged>, Stopped> {
        let Some(spec) = trial.cell.crash.clone() else {
            return Ok(None);
        };
        let made = if spec.method == CrashMethod::Cut {
            alone(disks)
        } else if requirements::logged_by_itself(&trial.cell.device) {
            inside(trial, disks)
        } else {
            beside(disks, images)
        };
        let made = made.map_err(|error| {
            let message = format!(
                "{}: cannot make the log of the disk: {error}",
                images.display()
            );
            Stopped::new(FailureKind::Trial, message)
        })?;
        let Some((disk, log)) = made else {
            let message = format!(
                "crash check: the device is made of {} disks, and one log is kept of one; choose a plain device",
                disks.len()
            );
            return Err(Stopped::new(FailureKind::Cell, message));
        };
        Ok(Some(Logged { spec, disk, log }))
    }

    /// MidphaseSampler at the log when the filesystem is ready.
    pub(super) fn note(&self, event: &Event) {
        if let Kept::Beside(beside) = &self.log
            && matches!(event, Event::FilesystemReady { .. })
        {
            beside.ready.store(beside.entries(), Ordering::Relaxed);
        }
    }

    /// MidphaseSampler at the log when the filesystem is unmounted.
    pub(super) fn see(&self, message: &GuestMessage) {
        if let Kept::Beside(beside) = &self.log
            && matches!(message, GuestMessage::Activity(activity) if activity == UNMOUNTING)
        {
            beside.over.store(beside.entries(), Ordering::Relaxed);
        }
    }

    /// Judges it. The guest is gone.
    pub(super) fn judge(
        self,
        trial: &Trial,
        folder: &RunDir,
        watcher: &dyn Watcher,
        interrupt: &Interrupt,
    ) -> Result<CrashResult, Stopped> {
        let left = self.left(&folder.path().join(cut::file_of(trial.slot.trial)));
        let judged = Journal::open(folder.path())
            .map_err(Error::from)
            .and_then(|journal| {
                left.judge(&Context {
                    cell: &trial.cell,
                    spec: &self.spec,
                    journal: &journal,
                    watcher,
                    interrupt,
                })
            });
        // A run of guests has no journal otherwise. One with something left in it stays, for clean.
        if Journal::open(folder.path()).is_ok_and(|journal| journal.left().is_empty()) {
            let _ = folder.remove(rig::undo::FILE);
        }
        judged.map_err(|error| {
            let (kind, message) = unjudged(&error);
            Stopped::new(kind, message)
        })
    }

    /// What is judged.
    fn left(&self, promise: &Path) -> Left {
        Left::Log(match &self.log {
            Kept::Nowhere => {
                return Left::Cut(AfterCut {
                    disk: by_number(&self.disk).into(),
                    promise: promise.to_owned(),
                });
            }
            Kept::Beside(beside) => Finished {
                writer: Writer::Qemu.name(),
                log: by_number(&beside.log).into(),
                disk: by_number(&self.disk).into(),
                from: From::Entry(beside.ready.load(Ordering::Relaxed)),
                until: Some(beside.over.load(Ordering::Relaxed)).filter(|over| *over > 0),
            },
            Kept::Inside { file, log, data } => Finished {
                writer: Writer::Kernel.name(),
                log: part(file, log.as_ref()),
                disk: part(&self.disk, data.as_ref()),
                from: From::Mark(MOUNTED.into()),
                until: None,
            },
        })
    }
}

impl Beside {
    /// Entries so far; QEMU counts them at each flush.
    fn entries(&self) -> usize {
        crash::entries(&by_number(&self.log).into()).unwrap_or(0)
    }
}

/// The one disk, whose power the guest's kernel cuts. None where there are more.
fn alone(disks: &[Disk]) -> std::io::Result<Option<(File, Kept)>> {
    match disks {
        [disk] => Ok(Some((disk.file.try_clone()?, Kept::Nowhere))),
        _ => Ok(None),
    }
}

/// QEMU logs the one disk. None where there are more.
fn beside(disks: &mut [Disk], images: &Path) -> std::io::Result<Option<(File, Kept)>> {
    let [disk] = disks else {
        return Ok(None);
    };
    let log = disks::file(images, 0)?;
    disk.log = Some(log.try_clone()?);
    let beside = Beside {
        log,
        ready: AtomicUsize::new(0),
        over: AtomicUsize::new(0),
    };
    Ok(Some((disk.file.try_clone()?, Kept::Beside(beside))))
}

/// The guest's kernel logs one member onto the other. None where there are more.
fn inside(trial: &Trial, disks: &[Disk]) -> std::io::Result<Option<(File, Kept)>> {
    let members: Vec<u64> = trial.cell.device.disks().iter().map(|b| b.get()).collect();
    let (data, log, ranges) = match (disks, &members[..]) {
        ([data, log], _) => (data, log, None),
        // As the rig in the guest cuts it.
        ([one], [_, _]) => (one, one, Some(shares(one.file.metadata()?.len(), &members))),
        _ => return Ok(None),
    };
    let range = |number: usize| ranges.as_ref().and_then(|all| all.get(number).cloned());
    let kept = Kept::Inside {
        file: log.file.try_clone()?,
        log: range(1),
        data: range(0),
    };
    Ok(Some((data.file.try_clone()?, kept)))
}

fn part(file: &File, range: Option<&Range<u64>>) -> Part {
    Part {
        path: by_number(file),
        range: range.cloned(),
    }
}

/// A path to an open file that may have no name.
fn by_number(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
