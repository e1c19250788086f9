//! The reading of 2011: all metadata of an unmounted filesystem, once, by a reader with a strategy.
//!
//! The workload has filled the filesystem through the kernel; what is measured begins when it is unmounted. The
//! reader is [`::check::reading`], a model with his switches (`fslab check` itself has one way to read), on O_DIRECT: through the page
//! cache, the second reading of precache would find there what the reader's own cache had lost, and nothing of the experiment would
//! be left.
//!
//! How large its cache is, is a share of the metadata, which only a reading knows: directories are found in
//! inodes. So there is one before, with nobody's clock running, and the caches below (the image under a loop
//! device has one) are dropped and proven cold after it. Rejected: bytes as the parameter, which every change of the
//! population would put into the other regime.
//!
//! The passes are phases of the trial like any other, with the device's counters around each: the bytes that the
//! reader asked for are held against those.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ::check::reading::{self, Figures, Moment, Reading, Step, Strategy};
use blockio::Direct;
use record::{Event, FailureKind, Sample};
use rig::Prepared;
use study::ScanSpec;
use workload::{Clocks, Evidence, Observer, PhaseReport, residency};

use crate::convert;
use crate::executor::Emit;
use crate::interrupt::Interrupt;
use crate::observer::{self, Asked, TrialObserver};
use crate::watch::Watcher;

/// The phase of all passes together.
const WHOLE: &str = "scan";
/// Pages of the device that somebody else may bring into the page cache during a pass: libblkid was seen to put 261 of them there when
/// a filesystem was mounted anywhere.
const LOOKED_AT: u64 = 512;

/// Why there is no reading in a directory.
pub(crate) const NO_DEVICE: &str = "a workload of kind \"scan\" reads the filesystem's own device; let images be made, \
     or give a disk (no --dir)";

/// A reading to do.
pub(crate) struct Job<'a> {
    /// What is unmounted.
    pub(crate) prepared: &'a Prepared,
    pub(crate) spec: &'a ScanSpec,
    /// The trial's number.
    pub(crate) trial: u32,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) watcher: &'a dyn Watcher,
}

/// What it gives to its trial.
pub(crate) struct Scanned {
    pub(crate) samples: Vec<Sample>,
    pub(crate) evidence: Vec<record::Evidence>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// Nothing was made that could be read.
    #[error("{}: {NO_DEVICE}", .0.display())]
    NoDevice(PathBuf),
    /// Caches could not be dropped.
    #[error(transparent)]
    Rig(#[from] rig::Error),
    /// The device cannot be read past the page cache.
    #[error(transparent)]
    Open(#[from] blockio::OpenError),
    /// It cannot be read, or holds nothing to read; or somebody asked to stop.
    #[error(transparent)]
    Reading(#[from] reading::Error),
}

impl Stop {
    /// What it means for the trials to come.
    pub(crate) fn kind(&self, interrupt: &Interrupt) -> FailureKind {
        match self {
            _ if interrupt.is_raised() => FailureKind::Interrupted,
            // Another trial's device would refuse as well.
            Stop::NoDevice(_) | Stop::Open(_) => FailureKind::Cell,
            Stop::Rig(_) | Stop::Reading(_) => FailureKind::Trial,
        }
    }
}

/// Reads all metadata of what is unmounted; each pass, and all of them as the last phase.
pub(crate) fn run(job: &Job<'_>, emit: &mut Emit<'_>) -> Result<Scanned, Stop> {
    let asked = Asked {
        looker: None,
        traced: None,
        kept: true,
    };
    let observer = TrialObserver::new(
        job.trial,
        asked,
        job.prepared,
        job.interrupt,
        job.watcher,
        &mut *emit,
    );
    let read = read(job, &observer);
    let seen = observer.into_seen();
    let (phases, whole) = read?;
    emit(whole);
    let mut samples = convert::samples(&phases);
    samples.extend(seen.samples);
    let mut evidence: Vec<_> = phases.iter().flat_map(convert::phase_evidence).collect();
    evidence.extend(seen.evidence);
    Ok(Scanned { samples, evidence })
}

/// Measures the metadata, makes everything cold, and reads: the phases, and the event of the whole.
fn read(job: &Job<'_>, observer: &dyn Observer) -> Result<(Vec<PhaseReport>, Event), Stop> {
    let missing = || Stop::NoDevice(job.prepared.mount_point().to_owned());
    let device = job.prepared.device_node().ok_or_else(missing)?;
    let source = Direct::open(device)?;
    let metadata = measure(&source, job.interrupt)?;
    let cold = observer::cold(&job.prepared.drop_device_caches()?);
    let strategy = strategy(job.spec, metadata);
    let mut passes = Passes {
        device,
        cold: &cold,
        observer,
        resident: resident(device),
        phases: Vec::new(),
    };
    let begin_ns = workload::clock::now_ns();
    let reading = reading::read_watched(&source, &strategy, &mut |moment| {
        passes.hear(moment);
        go_on(job.interrupt)
    })?;
    let end_ns = workload::clock::now_ns();
    let mut phases = passes.phases;
    let whole = whole(&phases, &reading, cold);
    let event = Event::PhaseFinished {
        trial: job.trial,
        phase: WHOLE.into(),
        begin_ns,
        end_ns,
        detail: serde_json::to_value(&whole).unwrap_or_default(),
        usage: None,
        memory: None,
        middle: None,
    };
    phases.push(whole);
    Ok((phases, event))
}

/// Bytes of all metadata: what a reading meets, in the way that costs least.
fn measure(source: &Direct, interrupt: &Interrupt) -> Result<u64, reading::Error> {
    const CACHE: u64 = 64 << 20;
    let strategy = Strategy::improved(CACHE);
    let reading = reading::read_watched(source, &strategy, &mut |_| go_on(interrupt))?;
    Ok(reading.metadata_bytes)
}

fn go_on(interrupt: &Interrupt) -> ControlFlow<()> {
    if interrupt.is_raised() {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// The study's parameters as the reader's.
fn strategy(spec: &ScanSpec, metadata: u64) -> Strategy {
    Strategy {
        precache: spec.precache,
        prefill: spec.prefill,
        scan_buffer: u32::try_from(spec.scan_buffer.get()).unwrap_or(u32::MAX),
        batch: spec.batch,
        cache: (metadata as f64 * spec.cache) as u64,
        chains: spec.chains,
    }
}

/// Turns steps into phases.
struct Passes<'a> {
    device: &'a Path,
    cold: &'a Evidence,
    observer: &'a dyn Observer,
    /// Pages of the device in the page cache when the pass began.
    resident: Result<u64, String>,
    phases: Vec<PhaseReport>,
}

impl Passes<'_> {
    fn hear(&mut self, moment: Moment<'_>) {
        match moment {
            Moment::Begins(step) => {
                forget_peak();
                self.observer.phase_started(&phase_of(step));
            }
            Moment::Goes(_) => {}
            Moment::Ended(figures) => {
                let now = resident(self.device);
                let before = std::mem::replace(&mut self.resident, now);
                let direct = direct(&before, &self.resident, figures.disk_bytes);
                let report = pass(figures, vec![self.cold.clone(), direct]);
                self.observer.phase_finished(&report);
                self.phases.push(report);
            }
        }
    }
}

fn phase_of(step: Step) -> String {
    format!("scan_pass_{}", step.name())
}

/// Pages of a device in the page cache.
fn resident(device: &Path) -> Result<u64, String> {
    match residency::of_path(device) {
        Ok(found) => Ok(found.resident),
        Err(error) => Err(format!("the page cache cannot be seen: {error}")),
    }
}

/// Whether a pass that read so many bytes left the page cache out: a pass through it would have left its pages there. A few
/// hundred can be somebody else's; a pass that read no more than those cannot be told from them, and is not judged.
fn direct(before: &Result<u64, String>, after: &Result<u64, String>, bytes: u64) -> Evidence {
    let (holds, detail) = match (before, after) {
        (Ok(before), Ok(after)) => {
            let read = bytes / rustix::param::page_size() as u64;
            let grown = after.saturating_sub(*before);
            let holds = match grown {
                0 => Some(true),
                grown if grown * 2 < read => Some(true),
                grown if grown > LOOKED_AT => Some(false),
                _ => None,
            };
            let detail = format!(
                "{read} pages were read with O_DIRECT and {grown} came into the page cache"
            );
            let why = "; too few to tell them from those of whoever else looks at the device";
            let doubt = if holds.is_none() { why } else { "" };
            (holds, format!("{detail}{doubt}"))
        }
        (Err(why), _) | (_, Err(why)) => (None, format!("opened with O_DIRECT; {why}")),
    };
    Evidence {
        name: "direct_io_honoured".into(),
        holds,
        detail,
    }
}

/// A step as a phase. Operations are objects: descriptors, inodes, directory blocks.
fn pass(figures: &Figures, evidence: Vec<Evidence>) -> PhaseReport {
    let mut report = PhaseReport {
        name: phase_of(figures.step),
        operations: figures.objects,
        seconds: figures.real_s,
        user_seconds: figures.user_s,
        system_seconds: figures.system_s,
        evidence,
        ..PhaseReport::default()
    };
    let counts = [
        ("cache_bytes", figures.cache_bytes),
        ("requests", figures.requests),
        ("seeks", figures.seeks),
        ("seek_bytes", figures.seek_bytes),
        ("batched", figures.batched),
        ("objects", figures.objects),
        ("verified", figures.verified),
        ("faults", figures.faults),
    ];
    for (name, value) in counts {
        report.figures.insert(name.into(), value as f64);
    }
    if let Some(peak) = peak() {
        report.figures.insert("peak_rss".into(), peak as f64);
    }
    derive(&mut report, figures.disk_bytes, figures.cache_bytes);
    report
}

/// All passes as one phase.
fn whole(phases: &[PhaseReport], reading: &Reading, cold: Evidence) -> PhaseReport {
    let sum = |of: fn(&PhaseReport) -> f64| phases.iter().map(of).sum::<f64>();
    let figure = |name: &'static str| {
        let figures = phases.iter();
        figures.filter_map(move |phase| phase.figures.get(name))
    };
    let mut report = PhaseReport {
        name: WHOLE.into(),
        operations: phases.iter().map(|phase| phase.operations).sum(),
        seconds: sum(|phase| phase.seconds),
        user_seconds: sum(|phase| phase.user_seconds),
        system_seconds: sum(|phase| phase.system_seconds),
        evidence: vec![cold, sound(reading)],
        ..PhaseReport::default()
    };
    for name in [
        "cache_bytes",
        "requests",
        "seeks",
        "seek_bytes",
        "objects",
        "verified",
        "faults",
    ] {
        let sum = figure(name).sum();
        report.figures.insert(name.into(), sum);
    }
    if let Some(peak) = figure("peak_rss").copied().reduce(f64::max) {
        report.figures.insert("peak_rss".into(), peak);
    }
    let bounds = [
        ("cache_size", reading.strategy.cache),
        ("metadata_bytes", reading.metadata_bytes),
        ("chain_links", reading.links),
    ];
    for (name, bytes) in bounds {
        report.figures.insert(name.into(), bytes as f64);
    }
    let disk = reading.steps.iter().map(|step| step.disk_bytes).sum();
    let cache = reading.steps.iter().map(|step| step.cache_bytes).sum();
    derive(&mut report, disk, cache);
    report
}

/// A filesystem that was just made has nothing damaged.
fn sound(reading: &Reading) -> Evidence {
    let faults: u64 = reading.steps.iter().map(|step| step.faults).sum();
    Evidence {
        name: "metadata_sound".into(),
        holds: Some(faults == 0),
        detail: format!(
            "{faults} descriptors, inodes or directory blocks are damaged or unreadable"
        ),
    }
}

/// Bytes, and what follows from them: the mean request, and three rates. fsck.ocfs2 printed the one with the
/// bytes of its cache in 2011 and prints the one without its own processor time today.
fn derive(report: &mut PhaseReport, disk: u64, cache: u64) {
    report.bytes_asked = disk;
    report.bytes = disk;
    report.bytes_transferred = disk;
    report.clock_seconds = Clocks {
        original: Some(report.seconds),
        ..Clocks::default()
    };
    let disk = disk as f64;
    let requests = report.figures.get("requests").copied().unwrap_or(0.0);
    let waited = report.seconds - report.user_seconds;
    let rate = |bytes: f64, seconds: f64| (seconds > 0.0).then(|| bytes / seconds);
    report.bytes_per_s.original = rate(disk, report.seconds);
    let figures = [
        ("disk_bytes", Some(disk)),
        ("user_seconds", Some(report.user_seconds)),
        ("system_seconds", Some(report.system_seconds)),
        ("request_mean", rate(disk, requests)),
        ("rate_with_cache", rate(disk + cache as f64, report.seconds)),
        ("rate_without_user", rate(disk, waited)),
    ];
    for (name, value) in figures {
        if let Some(value) = value {
            report.figures.insert(name.into(), value);
        }
    }
}

/// From here on the peak of resident memory is that of what follows (proc(5): `clear_refs`, 5). Where the kernel
/// does not know that, the peak is the process's.
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Peak of resident memory, bytes: this process's, the lab in it included.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        Figures {
            step: Step::Scan,
            real_s: 2.0,
            user_s: 0.5,
            system_s: 0.25,
            disk_bytes: 3 << 20,
            cache_bytes: 1 << 20,
            requests: 96,
            seeks: 4,
            seek_bytes: 8 << 20,
            batched: 1,
            objects: 768,
            verified: 768,
            faults: 0,
        }
    }

    #[test]
    fn a_pass_has_the_rates_of_2011_of_today_and_of_the_disk() {
        let report = pass(&figures(), Vec::new());
        assert_eq!(
            (report.name.as_str(), report.operations),
            ("scan_pass_1", 768)
        );
        let mib = f64::from(1 << 20);
        assert_eq!(report.figures["rate_with_cache"], 2.0 * mib);
        assert_eq!(report.figures["rate_without_user"], 2.0 * mib);
        assert_eq!(report.bytes_per_s.original, Some(1.5 * mib));
        assert_eq!(report.figures["request_mean"], 32768.0);
        assert!(report.figures["peak_rss"] > 1e6);
    }

    #[test]
    fn a_pass_without_a_request_has_no_mean() {
        let idle = Figures {
            disk_bytes: 0,
            requests: 0,
            ..figures()
        };
        let report = pass(&idle, Vec::new());
        assert!(!report.figures.contains_key("request_mean"));
        assert_eq!(report.bytes_per_s.original, Some(0.0));
    }

    #[test]
    fn the_whole_is_the_sum_and_its_peak_the_highest() {
        let one = pass(&figures(), Vec::new());
        let mut two = one.clone();
        two.figures.insert("peak_rss".into(), 9e9);
        let reading = Reading {
            strategy: Strategy::vanilla(1 << 20),
            steps: vec![figures(), figures()],
            links: 6,
            metadata_bytes: 4 << 20,
        };
        let cold = Evidence {
            name: "cold_cache".into(),
            holds: Some(true),
            detail: String::new(),
        };
        let whole = whole(&[one, two], &reading, cold);
        assert_eq!((whole.bytes, whole.seconds), (6 << 20, 4.0));
        assert_eq!(
            (whole.figures["requests"], whole.figures["peak_rss"]),
            (192.0, 9e9)
        );
        assert_eq!(whole.figures["cache_size"], 1_048_576.0);
        assert_eq!(whole.figures["chain_links"], 6.0);
        assert_eq!(whole.figures["seek_bytes"], 16_777_216.0);
        assert!(!whole.figures.contains_key("batched"));
        assert_eq!(whole.evidence[1].holds, Some(true));
    }

    #[test]
    fn a_pass_too_small_to_tell_is_not_judged() {
        let holds = |before, after, pages: u64| {
            let bytes = pages * rustix::param::page_size() as u64;
            direct(&Ok(before), &Ok(after), bytes).holds
        };
        // A pass of 128 pages: nothing came, all of it came, libblkid's 261 came.
        assert_eq!(holds(300, 300, 128), Some(true));
        assert_eq!(holds(0, 128, 128), None);
        assert_eq!(holds(0, 261, 128), None);
        // One of 8192 pages.
        assert_eq!(holds(0, 261, 8192), Some(true));
        assert_eq!(holds(0, 8192, 8192), Some(false));
        assert_eq!(holds(300, 200, 0), Some(true));
        let unseen = direct(&Ok(0), &Err("no such call".to_owned()), 1 << 20);
        assert_eq!(unseen.holds, None);
        assert!(unseen.detail.ends_with("no such call"));
    }

    /// A reader that goes through the page cache after all is found out.
    #[test]
    fn a_buffered_reader_is_seen() {
        use blockio::{BlockSource, Buffered};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("device");
        let bytes = vec![7; 8 << 20];
        fs::write(&path, &bytes).unwrap();
        let file = fs::File::open(&path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let before = resident(&path);
        assert!(before.clone().unwrap() < 64, "{before:?}");
        let mut read = vec![0; bytes.len()];
        Buffered::open(&path)
            .unwrap()
            .read_at(&mut read, 0)
            .unwrap();
        let found = direct(&before, &resident(&path), read.len() as u64);
        assert_eq!(found.holds, Some(false), "{}", found.detail);
    }

    #[test]
    fn a_share_of_the_metadata_is_the_cache() {
        let spec = ScanSpec {
            cache: 0.25,
            ..ScanSpec::default()
        };
        assert_eq!(strategy(&spec, 4000).cache, 1000);
        assert_eq!(strategy(&spec, 4000).scan_buffer, 32 << 10);
    }
}
