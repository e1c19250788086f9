//! The reading of 2011: all metadata of an unmounted filesystem, once, by a reader with a strategy.
//!
//! The workload has filled the filesystem through the kernel; what is measured begins when it is unmounted. The
//! reader is [`::check::reading`], which has his switches, on O_DIRECT: through the page cache, the second reading of precache
//! would find there what the reader's own cache had lost, and nothing of the experiment would be left.
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
use std::path::Path;

use ::check::reading::{self, Figures, Moment, Reading, Step, Strategy};
use blockio::Direct;
use record::Event;
use rig::Prepared;
use study::ScanSpec;
use workload::{Clocks, Evidence, Observer, PhaseReport, residency};

use crate::interrupt::Interrupt;
use crate::observer;

/// The phase of all passes together.
const WHOLE: &str = "scan";
/// Pages of the device that may be in the page cache after a direct reading: libblkid puts 261 of them there when
/// somebody mounts a filesystem anywhere.
const LOOKED_AT: u64 = 512;

/// Why there is no reading in a directory.
pub(crate) const NO_DEVICE: &str = "a workload of kind \"scan\" reads the filesystem's own device; let images be made, \
     or give a disk (no --dir)";

/// A reading to do.
pub(crate) struct Job<'a> {
    /// What is unmounted.
    pub(crate) prepared: &'a Prepared,
    /// Its device.
    pub(crate) device: &'a Path,
    pub(crate) spec: &'a ScanSpec,
    pub(crate) interrupt: &'a Interrupt,
}

/// What it gives to its trial, besides what the observer of its passes saw.
pub(crate) struct Scanned {
    /// Each pass, and all of them as the last.
    pub(crate) phases: Vec<PhaseReport>,
    /// The event of the last.
    pub(crate) whole: Event,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
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

/// Measures the metadata, makes everything cold, and reads.
pub(crate) fn run(job: &Job<'_>, trial: u32, observer: &dyn Observer) -> Result<Scanned, Stop> {
    let source = Direct::open(job.device)?;
    let metadata = measure(&source, job.interrupt)?;
    let cold = observer::cold(&job.prepared.drop_device_caches()?);
    let strategy = strategy(job.spec, metadata);
    let mut passes = Passes {
        device: job.device,
        cold: &cold,
        observer,
        phases: Vec::new(),
        begin_ns: workload::clock::now_ns(),
    };
    let begin_ns = passes.begin_ns;
    let reading = reading::read_watched(&source, &strategy, &mut |moment| {
        passes.hear(moment);
        go_on(job.interrupt)
    })?;
    let end_ns = workload::clock::now_ns();
    let mut phases = passes.phases;
    let whole = whole(&phases, &reading, cold);
    let event = Event::PhaseFinished {
        trial,
        phase: WHOLE.into(),
        begin_ns,
        end_ns,
        detail: serde_json::to_value(&whole).unwrap_or_default(),
        usage: None,
        memory: None,
        middle: None,
    };
    phases.push(whole);
    Ok(Scanned {
        phases,
        whole: event,
    })
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
    phases: Vec<PhaseReport>,
    begin_ns: u64,
}

impl Passes<'_> {
    fn hear(&mut self, moment: Moment<'_>) {
        match moment {
            Moment::Begins(step) => {
                forget_peak();
                self.observer.phase_started(&phase_of(step));
            }
            Moment::Ended(figures) => {
                let direct = direct(self.device);
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

/// Whether the page cache was left out: nothing of the device lies in it.
fn direct(device: &Path) -> Evidence {
    let found = residency::of_path(device);
    Evidence {
        name: "direct_io_honoured".into(),
        holds: found.as_ref().ok().map(|found| found.resident <= LOOKED_AT),
        detail: match found {
            Ok(found) => format!(
                "opened with O_DIRECT; {} pages of the device in the page cache afterwards",
                found.resident
            ),
            Err(error) => format!("opened with O_DIRECT; the page cache cannot be seen: {error}"),
        },
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
        ("objects", figures.objects),
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
    for name in ["cache_bytes", "requests", "seeks", "objects", "faults"] {
        let sum = figure(name).sum();
        report.figures.insert(name.into(), sum);
    }
    if let Some(peak) = figure("peak_rss").copied().reduce(f64::max) {
        report.figures.insert("peak_rss".into(), peak);
    }
    let bounds = [
        ("cache_size", reading.strategy.cache),
        ("metadata_bytes", reading.metadata_bytes),
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
            objects: 768,
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
        assert_eq!(whole.evidence[1].holds, Some(true));
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
