//! The judgement of what a power cut during a trial has left on its disk.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use progress::Step;
use record::{Crash, Evidence};
use rig::recovery::Recovery;

use super::context::{Context, CrashResult};
use super::cut::{Came, WITNESS};
use super::durability::Kept;
use super::image::Throwaway;
use super::judge::{How, Judge};

use super::{Part, Recover, note};
use crate::error::Error;

/// A disk whose power was cut and that is no longer written to.
#[derive(Clone, Debug)]
pub(crate) struct AfterCut {
    pub(crate) disk: Part,
    /// The file of what was promised.
    pub(crate) promise: PathBuf,
}

/// What the recovered filesystem holds.
#[derive(Default)]
struct RecoveredContent {
    kept: Kept,
    witness: bool,
}

impl AfterCut {
    /// Recovers a copy of the disk, has it judged, and looks for what was promised.
    pub(super) fn judge(&self, context: &Context<'_>) -> Result<CrashResult, Error> {
        let Context {
            cell,
            spec,
            journal,
            interrupt,
            ..
        } = *context;
        let begun = Instant::now();
        let mut came = Came::read(&self.promise)?;
        let kind = cell.filesystem.kind.name();
        rig::fsck::program_present(kind)?;
        let disk = self.disk.open()?;
        let step = Step::new("crash image of the power cut");
        context.watcher.begin(step);
        let image = Throwaway::of(&*disk, journal)?;
        let how = How {
            filesystem: kind,
            recover: Recover::usual(kind),
            timeout: Duration::from_secs(spec.timeout_seconds.into()),
        };
        let mut judge = Judge::new(how, journal, interrupt);
        let judged = judge.judge(&*disk, &image, 1)?;
        let mut crash = Crash {
            filesystem: kind.into(),
            device_bytes: disk.len(),
            boundary: "cut".into(),
            boundaries: 1,
            recovery: how.recover.name().into(),
            ..Crash::default()
        };
        note(&mut crash, judged, &|_| Ok(None))?;
        crash.checker = judge.checker();
        match look(&mut judge, &image, &came) {
            Ok(seen) => {
                came.cut.kept = Some(seen.kept.kept);
                came.cut.lost = seen.kept.lost;
                came.cut.dropped = Some(!seen.witness);
            }
            Err(why) => came.notes.push(format!(
                "it was not checked whether what was synced is there: {why}"
            )),
        }
        let evidence = evidence(&came);
        crash.notes = came.notes;
        crash.cut = Some(came.cut);
        crash.seconds = begun.elapsed().as_secs_f64();
        Ok(CrashResult {
            crash,
            evidence: vec![evidence],
        })
    }
}

/// Mounts what was recovered and judged, and looks.
fn look(judge: &mut Judge<'_>, image: &Throwaway, came: &Came) -> Result<RecoveredContent, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("a mount needs root".into());
    }
    let mut seen = RecoveredContent::default();
    let mounted = judge.mounted(image.path(), &mut |root| {
        seen.kept = came.promise.look(root);
        seen.witness = root.join(WITNESS).exists();
    });
    match mounted {
        Ok(Recovery::Done) => Ok(seen),
        Ok(Recovery::Refused(why)) => Err(format!("it would not be mounted: {why}")),
        Err(error) => Err(error.to_string()),
    }
}

/// That there was a cut at all.
fn evidence(came: &Came) -> Evidence {
    let cut = &came.cut;
    let became = match cut.dropped {
        Some(true) => "is not on the disk",
        Some(false) => "is on the disk: the power was never cut",
        None => "was not looked for",
    };
    Evidence {
        phase: Some(cut.phase.clone()),
        name: "power_cut".into(),
        holds: cut.dropped,
        detail: format!(
            "by {}: a file written after it, whose sync returned {:?}, {became}",
            cut.by, cut.sync_after
        ),
    }
}
