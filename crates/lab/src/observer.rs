//! What a running workload sees of the lab: a log for its phases, proof of cold caches, a flag.
//!
//! Each phase is bracketed by two readings of the device's counters, outside every clock, so that
//! the bytes a phase says it moved can be held against the bytes the device moved (DESIGN rule 4).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use probe::diskstats::{self, Counters, Identity};
use record::{Event, Evidence};
use rig::Prepared;
use workload::{Observer, PhaseReport, Progress};

use crate::executor::Emit;
use crate::interrupt::Interrupt;
use crate::watch::Watcher;

/// A reading of the device's counters.
type Reading = (Identity, Counters);

/// What a phase began with.
struct Begin {
    at_ns: u64,
    disk: Option<Reading>,
}

pub(crate) struct TrialObserver<'a> {
    trial: u32,
    device: Option<String>,
    prepared: &'a Prepared,
    interrupt: &'a Interrupt,
    watcher: &'a dyn Watcher,
    emit: Mutex<&'a mut Emit<'a>>,
    unrecorded: AtomicBool,
    begins: Mutex<BTreeMap<String, Begin>>,
    evidence: Mutex<Vec<Evidence>>,
}

impl<'a> TrialObserver<'a> {
    pub(crate) fn new(
        trial: u32,
        prepared: &'a Prepared,
        interrupt: &'a Interrupt,
        watcher: &'a dyn Watcher,
        emit: &'a mut Emit<'a>,
    ) -> Self {
        TrialObserver {
            trial,
            device: prepared.block_name().map(str::to_owned),
            prepared,
            interrupt,
            watcher,
            emit: Mutex::new(emit),
            unrecorded: AtomicBool::new(false),
            begins: Mutex::default(),
            evidence: Mutex::default(),
        }
    }

    /// What was seen besides what the workload itself reports.
    pub(crate) fn into_evidence(self) -> Vec<Evidence> {
        self.evidence.into_inner().unwrap_or_default()
    }

    fn disk(&self) -> Option<Reading> {
        let device = self.device.as_deref()?;
        let text = fs::read_to_string("/proc/diskstats").ok()?;
        diskstats::find(&text, device)
    }

    fn note(&self, evidence: Evidence) {
        if let Ok(mut all) = self.evidence.lock() {
            all.push(evidence);
        }
    }
}

impl Observer for TrialObserver<'_> {
    fn phase_started(&self, name: &str) {
        self.watcher.phase(name);
        let begin = Begin {
            at_ns: workload::clock::now_ns(),
            disk: self.disk(),
        };
        if let Ok(mut begins) = self.begins.lock() {
            // A phase made of many operations begins with its first.
            begins.entry(name.to_owned()).or_insert(begin);
        }
    }

    fn phase_finished(&self, phase: &PhaseReport) {
        let end_ns = workload::clock::now_ns();
        let begin = self
            .begins
            .lock()
            .ok()
            .and_then(|mut all| all.remove(&phase.name));
        let (begin_ns, before) = begin.map_or((end_ns, None), |begin| (begin.at_ns, begin.disk));
        // Operations of several phases interleave where the original averages over runs; the
        // device's counters then belong to no single phase.
        if phase.runs.is_empty() {
            self.note(bytes_on_device(phase, before, self.disk()));
        }
        let event = Event::PhaseFinished {
            trial: self.trial,
            phase: phase.name.clone(),
            begin_ns,
            end_ns,
            detail: serde_json::to_value(phase).unwrap_or_default(),
            usage: None,
            memory: None,
            middle: None,
        };
        let kept = self.emit.lock().is_ok_and(|mut emit| emit(event));
        if !kept {
            self.unrecorded.store(true, Ordering::Relaxed);
        }
    }

    fn progress(&self, progress: &Progress) {
        self.watcher.progress(progress);
    }

    fn drop_caches(&self, files: &[&Path]) -> io::Result<workload::Evidence> {
        self.prepared
            .drop_caches(files)
            .map(|proof| cold(&proof))
            .map_err(io::Error::other)
    }

    fn cancelled(&self) -> bool {
        self.interrupt.is_raised() || self.unrecorded.load(Ordering::Relaxed)
    }
}

/// The rig's proof as a workload's evidence.
pub(crate) fn cold(proof: &rig::cache::ColdProof) -> workload::Evidence {
    workload::Evidence {
        name: "cold_cache".into(),
        holds: proof.holds,
        detail: proof.detail(),
    }
}

/// Holds the bytes of a phase against the device's sector counters.
///
/// Direct I/O and whatever ends with a sync must have reached the device whole; 1 % is allowed for
/// blocks that a neighbour of the phase moved. A buffered read from warm caches reaches it not at
/// all, so there the figure is told, not judged.
fn bytes_on_device(
    phase: &PhaseReport,
    before: Option<Reading>,
    after: Option<Reading>,
) -> Evidence {
    let name = "bytes_on_device".to_owned();
    let unknown = |detail: String| Evidence {
        phase: Some(phase.name.clone()),
        name: name.clone(),
        holds: None,
        detail,
    };
    if phase.bytes_transferred == 0 {
        return unknown("the phase moved no bytes".into());
    }
    let (Some((was, before)), Some((is, after))) = (before, after) else {
        return unknown("no block device of its own: its counters cannot be read".into());
    };
    let delta = match before.delta(&was, &after, &is) {
        Ok(delta) => delta,
        Err(error) => return unknown(error.to_string()),
    };
    let (read, written) = (delta.sectors_read() * 512, delta.sectors_written() * 512);
    let asked = phase.bytes_transferred;
    let writes = phase.name.contains("write");
    let seen = if writes { written } else { read };
    let cached_read = !writes && seen * 100 < asked * 99;
    let direct = phase
        .evidence
        .iter()
        .any(|found| found.name == "direct_io_honoured" && found.holds == Some(true));
    Evidence {
        phase: Some(phase.name.clone()),
        name,
        holds: if cached_read && !direct {
            None
        } else {
            Some(seen * 100 >= asked * 99)
        },
        detail: format!("moved {asked} bytes; the device read {read} and wrote {written}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(line: &str) -> Option<Reading> {
        diskstats::parse_line(line)
    }

    fn phase(name: &str, bytes: u64, direct: Option<bool>) -> PhaseReport {
        PhaseReport {
            name: name.into(),
            bytes_transferred: bytes,
            evidence: vec![workload::Evidence {
                name: "direct_io_honoured".into(),
                holds: direct,
                detail: String::new(),
            }],
            ..PhaseReport::default()
        }
    }

    #[test]
    fn bytes_are_held_against_the_devices_sectors() {
        let before = || reading("7 0 loop0 0 0 100 0 0 0 200 0 0 0 0 0 0 0 0 0 0");
        let after = || reading("7 0 loop0 0 0 100 0 0 0 1224 0 0 0 0 0 0 0 0 0 0");
        let holds = |name, bytes, direct| {
            bytes_on_device(&phase(name, bytes, direct), before(), after()).holds
        };
        assert_eq!(holds("rewrite", 1024 * 512, Some(true)), Some(true));
        assert_eq!(holds("rewrite", 1100 * 512, Some(true)), Some(false));
        assert_eq!(
            holds("read", 1024 * 512, Some(true)),
            Some(false),
            "nothing was read"
        );
        assert_eq!(
            holds("read", 1024 * 512, None),
            None,
            "a warm buffered read proves nothing"
        );
        let none = bytes_on_device(&phase("read", 1, None), None, after());
        assert_eq!(none.holds, None);
    }

    #[test]
    fn another_device_of_the_same_name_is_not_compared() {
        let before = reading("7 0 loop0 0 0 100 0 0 0 200 0 0 0 0 0 0 0 0 0 0");
        let after = reading("7 1 loop0 0 0 100 0 0 0 999 0 0 0 0 0 0 0 0 0 0");
        let found = bytes_on_device(&phase("rewrite", 1, Some(true)), before, after);
        assert_eq!(found.holds, None);
        assert!(
            found.detail.contains("not the device it was"),
            "{}",
            found.detail
        );
    }
}
