//! The crash check of a guest's trial: QEMU logs its disk, and the host judges when the guest is gone.
//!
//! The log begins with the blank disk, so nothing has to be copied beforehand. Its first entries are mkfs's, and a
//! power cut in the middle of mkfs is nobody's question: what is judged begins with the entry that was the log's last
//! when the guest said that its filesystem was mounted, and ends with the last flush before it is unmounted, since the rig
//! then wipes the disk. And as both the log and the disk are here, the whole log
//! is held against the disk: a log that lacks a write would judge images that never were.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use blockio::log_writes::Boundary;
use guest::machine::Disk;
use record::{Crash, Event, Evidence, FailureKind};
use rig::undo::Journal;
use study::{CrashBoundary, CrashSpec, Trial};

use super::account::Stopped;
use super::disks;
use super::job::Said;
use crate::crash::{self, Base, From, Recover, Request};
use crate::error::{Class, Error};
use crate::interrupt::Interrupt;
use crate::local::{UNMOUNTING, kind_name};
use crate::watch::Watcher;

/// A disk whose writes are logged.
pub(super) struct Logged {
    spec: CrashSpec,
    disk: File,
    log: File,
    bytes: u64,
    /// Entries of the log when the filesystem was mounted; 0: it never was.
    ready: AtomicUsize,
    /// Entries when it was about to be unmounted: behind it the rig wipes the disk. 0: it never was.
    over: AtomicUsize,
}

/// What came of it.
pub(super) struct Told {
    crash: Crash,
    whole: bool,
}

impl Logged {
    /// Has the trial's disk logged, if the study asks for a crash check.
    pub(super) fn of(
        trial: &Trial,
        disks: &mut [Disk],
        images: &Path,
    ) -> Result<Option<Logged>, Stopped> {
        let Some(spec) = trial.cell.crash else {
            return Ok(None);
        };
        let [disk] = disks else {
            let message = format!(
                "crash check: the device is made of {} disks, and one log is kept of one; choose a plain device",
                disks.len()
            );
            return Err(Stopped::new(FailureKind::Cell, message));
        };
        let made = disks::file(images, 0).and_then(|log| {
            disk.log = Some(log.try_clone()?);
            Ok(Logged {
                spec,
                disk: disk.file.try_clone()?,
                bytes: disk.file.metadata()?.len(),
                log,
                ready: AtomicUsize::new(0),
                over: AtomicUsize::new(0),
            })
        });
        made.map(Some).map_err(|error| {
            let message = format!(
                "{}: cannot make the log of the disk: {error}",
                images.display()
            );
            Stopped::new(FailureKind::Trial, message)
        })
    }

    /// Looks at the log when the filesystem is ready.
    pub(super) fn note(&self, event: &Event) {
        if matches!(event, Event::FilesystemReady { .. }) {
            self.ready.store(self.entries(), Ordering::Relaxed);
        }
    }

    /// Looks at the log when the filesystem is unmounted.
    pub(super) fn see(&self, said: &Said) {
        if matches!(said, Said::Step(step) if step == UNMOUNTING) {
            self.over.store(self.entries(), Ordering::Relaxed);
        }
    }

    /// Entries so far; QEMU counts them at each flush.
    fn entries(&self) -> usize {
        crash::entries(&by_number(&self.log)).unwrap_or(0)
    }

    /// Judges it. The guest is gone.
    pub(super) fn judge(
        self,
        trial: &Trial,
        folder: &Path,
        watcher: &dyn Watcher,
        interrupt: &Interrupt,
    ) -> Result<Told, Stopped> {
        let kind = kind_name(trial.cell.filesystem.kind);
        let request = Request {
            log: by_number(&self.log),
            base: Base::Blank(self.bytes),
            filesystem: kind.into(),
            from: From::Entry(self.ready.load(Ordering::Relaxed)),
            until: Some(self.over.load(Ordering::Relaxed)).filter(|over| *over > 0),
            boundary: match self.spec.boundaries {
                CrashBoundary::Flush => Boundary::Flush,
                CrashBoundary::Fua => Boundary::Fua,
                CrashBoundary::Write => Boundary::Write,
            },
            most: self.spec.most as usize,
            recover: Recover::usual(kind),
            timeout: Duration::from_secs(self.spec.timeout_seconds.into()),
            keep: None,
        };
        let judged = Journal::open(folder)
            .map_err(Error::from)
            .and_then(|journal| crash::run(&request, &journal, watcher, interrupt))
            .and_then(|crash| {
                let whole = crash::is_whole(&request.log, &by_number(&self.disk))?;
                Ok(Told { crash, whole })
            });
        // A run of guests has no journal otherwise. One with something left in it stays, for clean.
        if Journal::open(folder).is_ok_and(|journal| journal.left().is_empty()) {
            let _ = std::fs::remove_file(folder.join(rig::undo::FILE));
        }
        judged.map_err(|error| {
            let kind = match error.class() {
                Class::Interrupted => FailureKind::Interrupted,
                _ => FailureKind::Trial,
            };
            Stopped::new(kind, format!("crash check: {error}"))
        })
    }
}

impl Told {
    /// Adds what came of it to the trial and to its last event.
    pub(super) fn tell(self, emit: &mut dyn FnMut(Event) -> bool, finished: &mut Event) {
        let Event::TrialFinished {
            trial,
            evidence,
            warnings,
            ..
        } = finished
        else {
            return;
        };
        evidence.push(Evidence {
            phase: None,
            name: "write_log_whole".into(),
            holds: Some(self.whole),
            detail: format!(
                "the {} entries of the log upon a blank disk are {} the disk that the guest left",
                self.crash.entries,
                if self.whole { "byte for byte" } else { "not" }
            ),
        });
        if self.crash.judged == 0 {
            warnings.push("crash check: the log holds no moment to judge".into());
        }
        if self.crash.damaged + self.crash.unjudged > 0 {
            warnings.push(format!(
                "crash check: of {} images {} were damaged and {} without a verdict",
                self.crash.judged, self.crash.damaged, self.crash.unjudged
            ));
        }
        emit(Event::CrashChecked {
            trial: *trial,
            crash: self.crash,
        });
    }
}

/// A path to an open file that may have no name.
fn by_number(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
