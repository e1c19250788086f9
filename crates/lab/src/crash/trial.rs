//! The crash check of a trial: what the study asks of it, and what it adds to the trial.
//!
//! The writer of the log differs (QEMU beside a guest's disk, dm-log-writes in the kernel of the trial), and
//! so does who judges: the lab in this process, or the lab on the host when the guest has ended. The request and
//! the result are the same, and are here.

use std::time::Duration;

use blockio::log_writes::Boundary;
use record::{Crash, Event, Evidence, FailureKind};
use study::CrashBoundary;

use super::after_cut::AfterCut;
pub(crate) use super::context::{Context, CrashResult};
use super::{Base, From, Part, Recover, Request};
use crate::error::{Class, Error};

/// The mark that the lab puts into dm-log-writes' log when the filesystem is mounted: what is judged begins there.
pub(crate) const MOUNTED: &str = "mounted";

/// The step in which that is done.
pub(crate) const JUDGING: &str = "judging what power cuts would have left";

/// A log of a trial that is no longer written to.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    /// Its writer, in words.
    pub(crate) writer: &'static str,
    pub(crate) log: Part,
    /// The disk as its last write left it.
    pub(crate) disk: Part,
    /// Where the filesystem was mounted.
    pub(crate) from: From,
    /// Entries after which the disk was no longer the filesystem's; none: it was to the end.
    pub(crate) until: Option<usize>,
}

/// What a trial leaves to be judged.
pub(crate) enum Left {
    Log(Finished),
    Cut(AfterCut),
}

impl Left {
    pub(crate) fn judge(&self, context: &Context<'_>) -> Result<CrashResult, Error> {
        match self {
            Left::Log(log) => log.judge(context),
            Left::Cut(cut) => cut.judge(context),
        }
    }
}

/// How a trial fails that could not be judged.
pub(crate) fn unjudged(error: &Error) -> (FailureKind, String) {
    let kind = match error.class() {
        Class::Interrupted => FailureKind::Interrupted,
        _ => FailureKind::Trial,
    };
    (kind, format!("crash check: {error}"))
}

impl Finished {
    /// Judges it as the study asks. The device was blank when the log began.
    fn judge(&self, context: &Context<'_>) -> Result<CrashResult, Error> {
        let Context { cell, spec, .. } = *context;
        if !self.has_begin() {
            return Err(Error::Preflight(format!(
                "the log of {} has no mark where the filesystem was mounted: it was full before, or its disk could not \
                 be written; give the device a larger log_size (--set stack.log_writes.log_size=SIZE)",
                self.writer
            )));
        }
        let kind = cell.filesystem.kind.name();
        let request = Request {
            log: self.log.clone(),
            base: Base::Blank(self.disk.open()?.len()),
            filesystem: kind.into(),
            from: self.from.clone(),
            until: self.until,
            boundary: match spec.boundaries {
                CrashBoundary::Flush => Boundary::Flush,
                CrashBoundary::Fua => Boundary::Fua,
                CrashBoundary::Write => Boundary::Write,
            },
            most: spec.most as usize,
            recover: Recover::usual(kind),
            timeout: Duration::from_secs(spec.timeout_seconds.into()),
            keep: None,
        };
        let mut crash = super::run(
            &request,
            context.journal,
            context.watcher,
            context.interrupt,
        )?;
        self.writer.clone_into(&mut crash.writer);
        let whole = super::is_whole(&self.log, &self.disk)?;
        Ok(CrashResult {
            evidence: vec![log_is_whole(&crash, whole)],
            crash,
        })
    }

    /// Whether what is judged can begin: a log that was full before has no mark, and often not even a superblock.
    fn has_begin(&self) -> bool {
        let From::Mark(mark) = &self.from else {
            return true;
        };
        super::open_log(&self.log).is_ok_and(|log| matches!(log.after_mark(mark), Ok(Some(_))))
    }
}

impl CrashResult {
    /// Adds what came of it to the trial and to its last event.
    pub(crate) fn report(self, emit: &mut dyn FnMut(Event) -> bool, finished: &mut Event) {
        let Event::TrialFinished {
            trial,
            evidence,
            warnings,
            ..
        } = finished
        else {
            return;
        };
        evidence.extend(self.evidence);
        if self.crash.judged == 0 {
            warnings.push("crash check: the log holds no moment to judge".into());
        }
        if self.crash.damaged + self.crash.unjudged > 0 {
            warnings.push(format!(
                "crash check: of {} images {} were damaged and {} without a verdict",
                self.crash.judged, self.crash.damaged, self.crash.unjudged
            ));
        }
        if let Some(cut) = self.crash.cut.as_ref().filter(|cut| cut.missing() > 0) {
            warnings.push(format!(
                "crash check: of {} files and folders that were synced before the power was cut {} are not as they were",
                cut.promised,
                cut.missing()
            ));
        }
        emit(Event::CrashChecked {
            trial: *trial,
            crash: self.crash,
        });
    }
}

fn log_is_whole(crash: &Crash, whole: bool) -> Evidence {
    let Crash {
        entries, writer, ..
    } = crash;
    let outcome = if whole {
        "byte for byte the disk as the trial left it"
    } else {
        "not the disk that the trial left: a write is missing (a log that is full takes none; see log_size)"
    };
    Evidence {
        phase: None,
        name: "write_log_whole".into(),
        holds: Some(whole),
        detail: format!(
            "the {entries} entries of the log of {writer}, upon a blank disk, are {outcome}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use record::Ledger;

    use super::*;

    fn finished(reported: CrashResult) -> (Vec<Event>, Event) {
        let mut event = Event::TrialFinished {
            trial: 3,
            samples: Vec::new(),
            evidence: Vec::new(),
            warnings: Vec::new(),
            ledger: Ledger::default(),
        };
        let mut printed = Vec::new();
        reported.report(
            &mut |event| {
                printed.push(event);
                true
            },
            &mut event,
        );
        (printed, event)
    }

    fn reported(whole: bool, damaged: u64) -> CrashResult {
        let crash = Crash {
            writer: "dm-log-writes".into(),
            entries: 12,
            judged: 4,
            clean: 4 - damaged,
            damaged,
            ..Crash::default()
        };
        CrashResult {
            evidence: vec![log_is_whole(&crash, whole)],
            crash,
        }
    }

    #[test]
    fn the_evidence_names_who_wrote_the_log() {
        let (printed, event) = finished(reported(true, 0));
        assert!(matches!(
            &printed[..],
            [Event::CrashChecked { trial: 3, .. }]
        ));
        let Event::TrialFinished {
            evidence, warnings, ..
        } = event
        else {
            panic!("another event");
        };
        assert!(warnings.is_empty());
        assert_eq!(
            evidence[0].detail,
            "the 12 entries of the log of dm-log-writes, upon a blank disk, are byte for byte the disk as the trial \
             left it"
        );
    }

    #[test]
    fn damage_is_a_warning_and_a_log_with_a_gap_does_not_hold() {
        let (_, event) = finished(reported(false, 1));
        let Event::TrialFinished {
            evidence, warnings, ..
        } = event
        else {
            panic!("another event");
        };
        assert_eq!(evidence[0].holds, Some(false));
        assert!(evidence[0].detail.contains("log_size"));
        assert_eq!(
            warnings,
            ["crash check: of 4 images 1 were damaged and 0 without a verdict"]
        );
    }
}
