//! One huge file, written and read back by one thread: aiod's test and dd's, native.
//!
//! aiod (Dokos, 2008): `aiod -S -B -b4M -I -v -w 3500000 -W|-R` writes N blocks at rising offsets
//! and, after an unmount and a mount, reads them back. dd (Piszcz, 2010): `dd if=/dev/zero
//! of=bigfile bs=1M count=10240`. Both are the same loop; what differs are defaults, which
//! [`StreamSpec`] has as fields, and the line printed at the end, which `report::tool_output` has.
//!
//! The clocks. (a) is dd's, as its source has it: it starts after the file is open and truncated
//! and ends after the flush that conv= asks for and after close, and covers no writeback. Of aiod
//! only the I/O loop is known to be timed; on a fresh file close costs nothing. Close is inside
//! because ext4 and XFS start writing a file that was truncated when it is closed, and dd pays for
//! that. The time of open, with the truncation in it, is the figure `open_seconds`. (b) goes on to
//! the end of an fsync, (c) to the end of syncfs.
//!
//! Where we leave the originals, and why:
//! * dd reads /dev/zero for every block it writes. Here the buffer is filled once; what is measured
//!   is the file.
//! * A short transfer is continued and counted in `short_operations`. dd would write a partial
//!   record; its `N+M` is always `N+0` here.
//! * Between write and read everything is closed and the filesystem really unmounted and mounted,
//!   by [`Observer::remount`]. Where that is impossible (a directory of a filesystem in use) the caches are dropped,
//!   and the evidence states it.
//! * Each 4 KiB can be verified on its own (`verify`): a block that is damaged, in the wrong place, lost,
//!   or left from an earlier run ends the read with its byte offset, and the file is kept for
//!   inspection.
//! * No preallocation, no advice to the kernel: neither original gives any.

mod close;
mod content;
mod evidence;
mod file;
mod phase;
mod preflight;
mod verify;

pub use params::StreamSpec;
pub use params::stream::{Between, Content, Flush, Test, UNIT, WriteThrough};

use std::io;
use std::path::Path;

use params::Parameters;

use serde_json::json;

use crate::cache;
use crate::direct::Alignment;
use crate::engine::Direction;
use crate::memory::total_ram;
use crate::residency;
use crate::{Error, Evidence, Observer, Outcome, PhaseReport, Workload};
use file::{Target, phase_name};
use phase::Phase;

impl Workload for StreamSpec {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn dirs(&self) -> Vec<&Path> {
        vec![&self.dir]
    }

    fn writes(&self) -> bool {
        self.test.writes()
    }

    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error> {
        run(self, observer)
    }
}

/// Runs the phases that `options` names, reporting to `observer`.
///
/// The file is removed at the end unless `keep`, and after an error or an interrupt in any case;
/// only a damaged one stays.
///
/// # Errors
/// [`Error::BadOption`] and [`Error::Unsupported`] before anything is touched;
/// [`Error::NoSpace`] with the bytes that fitted; [`Error::Damaged`] with the byte offset;
/// [`Error::Interrupted`]; [`Error::Io`].
pub fn run(options: &StreamSpec, observer: &dyn Observer) -> Result<Outcome, Error> {
    options.validate()?;
    preflight::memory(options)?;
    let alignment = preflight::target(options)?;
    // Only a writer knows the run's number in advance.
    let run = options.test.writes().then(content::new_run);
    let mut outcome = Outcome {
        workload: "stream".into(),
        parameters: parameters(options, alignment.as_ref(), run),
        warnings: evidence::warnings(options),
        ..Outcome::default()
    };
    let target = Target::new(options);
    let session = Session {
        options,
        observer,
        target: &target,
        alignment: alignment.map_or(4096, |a| a.memory.max(4096)) as usize,
        run,
    };
    let phases = options.test.phases();
    observer.foresee(phases.len() as u64 * options.count);
    for &direction in phases {
        let phase = session.phase(direction, &mut outcome.warnings);
        if matches!(phase, Err(Error::Damaged { .. })) {
            target.spare();
        }
        let phase = phase?;
        observer.phase_finished(&phase);
        outcome.phases.push(phase);
    }
    target.finish()?;
    Ok(outcome)
}

fn parameters(
    options: &StreamSpec,
    alignment: Option<&Alignment>,
    run: Option<u64>,
) -> serde_json::Value {
    let memory = total_ram();
    json!({
        "dir": options.dir,
        "file": options.file,
        "block": options.block,
        "count": options.count,
        "seek": options.seek,
        "skip": options.skip,
        "direct": options.direct,
        "direct_alignment": alignment,
        "engine": options.engine,
        "queue_depth": options.queue_depth,
        "content": options.content,
        "verify": options.verify,
        "verify_run": run.map(|run| format!("{run:016x}")),
        "test": options.test,
        "flush": options.flush,
        "write_through": options.write_through,
        "reuse": options.reuse,
        "between": options.between,
        "keep": options.keep,
        "latency": options.latency,
        "working_set_bytes": options.bytes(),
        "memory_total_bytes": memory,
        "working_set_to_memory": options.bytes() as f64 / memory as f64,
        "began": jiff::Timestamp::now(),
    })
}

struct Session<'a> {
    options: &'a StreamSpec,
    observer: &'a dyn Observer,
    target: &'a Target<'a>,
    alignment: usize,
    run: Option<u64>,
}

impl Session<'_> {
    /// One phase with all that belongs to it.
    fn phase(
        &self,
        direction: Direction,
        warnings: &mut Vec<String>,
    ) -> Result<PhaseReport, Error> {
        let options = self.options;
        let mut gathered = Vec::new();
        if self.observer.cancelled() {
            return Err(Error::Interrupted {
                phase: phase_name(direction).into(),
            });
        }
        if options.engine.capabilities().transfers {
            match direction {
                Direction::Write => gathered.push(self.target.prepare()?),
                Direction::Read => {
                    // Before anything is unmounted for it.
                    self.target.refuse_unreadable()?;
                    gathered.extend(self.make_cold(warnings)?);
                    let before = residency::of_path(self.target.path());
                    gathered.push(cache::state(&before, options.between != Between::Warm));
                }
            }
        }
        let seen = Phase {
            options,
            direction,
            target: self.target,
            alignment: self.alignment,
            observer: self.observer,
            run: self.run,
        }
        .run()?;
        let mut report = phase::report(options, direction, &seen);
        gathered.extend(evidence::direct(options, &seen));
        if options.verify && direction == Direction::Read {
            gathered.push(evidence::verified(report.bytes, seen.found_run));
        }
        report.evidence = gathered;
        Ok(report)
    }

    /// Empties the cache as `between` asks. Nothing of ours is open.
    fn make_cold(&self, warnings: &mut Vec<String>) -> Result<Option<Evidence>, Error> {
        let not_unmounted = match self.options.between {
            Between::Warm => return Ok(None),
            Between::Drop => None,
            Between::Remount => match self.observer.remount() {
                Ok(evidence) => return Ok(Some(evidence::cold(Ok(evidence), warnings))),
                Err(e) if e.kind() == io::ErrorKind::Unsupported => Some(e),
                // Whatever is mounted there now, it is not what was to be read.
                Err(e) => return Err(Error::io("remount", &self.options.dir)(e)),
            },
        };
        let dropped = self.observer.drop_caches(&[self.target.path()]);
        let mut evidence = evidence::cold(dropped, warnings);
        if let Some(reason) = not_unmounted {
            let note = format!("not unmounted ({reason}), caches dropped instead");
            warnings.push(format!("read: {note}"));
            evidence.detail = format!("{note}: {}", evidence.detail);
        }
        Ok(Some(evidence))
    }
}

#[cfg(test)]
mod tests;
