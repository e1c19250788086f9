//! What others do on the machine while a trial runs, and when that is enough to doubt its numbers.
//!
//! The thresholds are absolute, not shares of the machine: a trial of one thread is slowed by what runs
//! on its CPU, its caches and its disk, however many other CPUs are idle. docs/metrics.md has the
//! definitions, and the shares of trials that the thresholds mark on a quiet and on a busy machine.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use probe::Roots;
use probe::noise::{Reading, SHORTEST};
use record::{DiskNoise, Evidence, Noise, QUIET_MACHINE};

/// CPUs that other processes may use.
pub const OTHERS_CPU: f64 = 0.2;
/// CPUs that the hypervisor may take.
pub const STEAL_CPU: f64 = 0.1;
/// Bytes a second that others may move on the disk under the images,
pub const OTHERS_DISK: f64 = 4.0 * 1_048_576.0;
/// and the share of the trial's own bytes that they may move: journals and allocation of the filesystem
/// that has the images in it are no one else's.
pub const OTHERS_DISK_SHARE: f64 = 0.1;
/// Seconds over which others are judged: the counters of a shorter trial say too little.
pub const WINDOW: f64 = 0.5;
/// Seconds from which a phase is judged by itself; shorter ones are judged with their trial.
pub const LONG_PHASE: f64 = 1.0;

/// Where readings come from: the machine, or a test's script.
pub trait Source: Debug + Send + Sync {
    /// The counters now; `disks` by their names in sysfs.
    fn read(&self, disks: &[String]) -> Reading;
}

/// This machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host;

impl Source for Host {
    fn read(&self, disks: &[String]) -> Reading {
        Reading::now(&Roots::default(), disks)
    }
}

/// The lengths of the run queue that the sampler has seen, each with its time.
pub(crate) type RunQueue = Arc<Mutex<Vec<(u64, i64)>>>;

/// Readings from before the trials that have just been run.
///
/// A trial shorter than [`WINDOW`] is judged with the time before it: with what was done between trials,
/// and with the trials just before. So the trial after a noisy one may be marked, too.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent(VecDeque<Reading>);

impl Recent {
    /// Keeps a reading that was taken later than all kept ones.
    pub(crate) fn keep(&mut self, reading: Reading) {
        self.0.push_back(reading);
    }

    /// The newest kept reading that is a whole window before `end`, or else the oldest. Older ones are dropped.
    pub(crate) fn window_to(&mut self, end: &Reading) -> Option<&Reading> {
        let latest = end.at_ns.saturating_sub((WINDOW * 1e9) as u64);
        while self.0.get(1).is_some_and(|next| next.at_ns <= latest) {
            self.0.pop_front();
        }
        self.0.front()
    }
}

/// Takes readings around a trial and its phases.
#[derive(Clone, Debug)]
pub(crate) struct NoiseMeter {
    source: Arc<dyn Source>,
    /// The disk under the images, and the folder of these; none where the trial has a disk of its own
    /// or runs in a directory.
    disk: Option<(String, PathBuf)>,
    /// Loop devices over the images.
    own: Vec<String>,
    queue: RunQueue,
}

impl NoiseMeter {
    pub(crate) fn new(source: Arc<dyn Source>, disk: Option<(String, PathBuf)>) -> NoiseMeter {
        NoiseMeter {
            source,
            disk,
            own: Vec::new(),
            queue: RunQueue::default(),
        }
    }

    /// The devices of the trial are made.
    pub(crate) fn devices_made(&mut self) {
        if let Some((_, images)) = &self.disk {
            self.own = loops_over(&Roots::default(), images);
        }
    }

    /// Where the sampler puts the length of the run queue.
    pub(crate) fn queue(&self) -> RunQueue {
        Arc::clone(&self.queue)
    }

    pub(crate) fn read(&self) -> Reading {
        let disk = self.disk.iter().map(|(disk, _)| disk);
        let disks: Vec<String> = disk.chain(&self.own).cloned().collect();
        self.source.read(&disks)
    }

    /// Activity between two readings; I/O between two others, in which the trial's devices were there.
    pub(crate) fn between(
        &self,
        phase: Option<&str>,
        [before, after]: [&Reading; 2],
        [first, last]: [&Reading; 2],
    ) -> Option<Noise> {
        let activity = before.until(after)?;
        let [psi_cpu, psi_io, psi_memory] = activity.psi;
        Some(Noise {
            phase: phase.map(str::to_owned),
            seconds: activity.seconds,
            cpus: activity.cpus,
            own_cpu: activity.own,
            kernel_cpu: activity.kernel,
            others_cpu: activity.others,
            steal_cpu: activity.steal,
            run_queue: self.queued(before.at_ns, after.at_ns),
            psi_cpu,
            psi_io,
            psi_memory,
            disk: self.disk_noise(first, last),
            throttled: activity.throttled,
            mhz: activity.mhz,
        })
    }

    fn disk_noise(&self, first: &Reading, last: &Reading) -> Option<DiskNoise> {
        let (disk, _) = self.disk.as_ref()?;
        let seconds = last.at_ns.checked_sub(first.at_ns)? as f64 / 1e9;
        if self.own.is_empty() || seconds <= 0.0 {
            return None;
        }
        let all = first.moved(last, [disk.as_str()].into_iter())?;
        let own = first.moved(last, self.own.iter().map(String::as_str))?;
        Some(DiskNoise {
            device: disk.clone(),
            own: own as f64 / seconds,
            others: all.saturating_sub(own) as f64 / seconds,
        })
    }

    /// Mean length of the run queue, the sampler itself not counted.
    fn queued(&self, begin_ns: u64, end_ns: u64) -> Option<f64> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let within = queue
            .iter()
            .filter(|(at, _)| (begin_ns..=end_ns).contains(at));
        let (sum, count) = within.fold((0.0, 0.0), |(sum, count), (_, length)| {
            (sum + (length - 1).max(0) as f64, count + 1.0)
        });
        (count > 0.0).then(|| sum / count)
    }
}

/// Loop devices whose backing file is in this folder.
fn loops_over(roots: &Roots, images: &Path) -> Vec<String> {
    let images = images.canonicalize().unwrap_or_else(|_| images.to_owned());
    let devices = fs::read_dir(roots.sys.join("class/block"));
    let devices = devices.into_iter().flatten().flatten();
    let over = devices.filter_map(|device| {
        let file = fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
        let inside = Path::new(file.trim_end_matches('\n')).starts_with(&images);
        inside.then(|| device.file_name().to_string_lossy().into_owned())
    });
    let mut names: Vec<String> = over.collect();
    names.sort();
    names
}

/// What exceeds its threshold, in words.
fn excesses(noise: &Noise) -> Vec<String> {
    let cpus = noise.cpus;
    let mut found = Vec::new();
    if noise.others_cpu >= OTHERS_CPU {
        found.push(format!(
            "other processes used {:.2} of {cpus} CPUs (threshold {OTHERS_CPU})",
            noise.others_cpu
        ));
    }
    if noise.steal_cpu >= STEAL_CPU {
        found.push(format!(
            "the hypervisor took {:.2} of {cpus} CPUs (threshold {STEAL_CPU})",
            noise.steal_cpu
        ));
    }
    if let Some(disk) = &noise.disk
        && disk.others >= OTHERS_DISK.max(OTHERS_DISK_SHARE * disk.own)
    {
        found.push(format!(
            "others moved {:.1} MiB/s on {} beside {:.1} MiB/s of the trial (threshold {:.1})",
            disk.others / 1_048_576.0,
            disk.device,
            disk.own / 1_048_576.0,
            OTHERS_DISK.max(OTHERS_DISK_SHARE * disk.own) / 1_048_576.0
        ));
    }
    if let Some(times) = noise.throttled.filter(|times| *times > 0) {
        found.push(format!(
            "the CPUs were throttled {times} times for heat (threshold 1)"
        ));
    }
    found
}

/// The evidence of a quiet machine. Of a trial: always, unless it was too short to tell. Of a phase: only
/// where it does not hold, and the phase was long enough to be judged by itself.
pub(crate) fn evidence(noise: &Noise) -> Option<Evidence> {
    let shortest = if noise.phase.is_some() {
        LONG_PHASE
    } else {
        SHORTEST
    };
    if noise.seconds < shortest {
        return None;
    }
    let excesses = excesses(noise);
    let holds = excesses.is_empty();
    if holds && noise.phase.is_some() {
        return None;
    }
    let detail = if holds {
        format!(
            "other processes used {:.2} of {} CPUs",
            noise.others_cpu, noise.cpus
        )
    } else {
        excesses.join("; ")
    };
    Some(Evidence {
        phase: noise.phase.clone(),
        name: QUIET_MACHINE.into(),
        holds: Some(holds),
        detail,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> Noise {
        Noise {
            seconds: 2.0,
            cpus: 2,
            others_cpu: 0.05,
            disk: Some(DiskNoise {
                device: "vda".into(),
                own: 100e6,
                others: 1e6,
            }),
            throttled: Some(0),
            ..Noise::default()
        }
    }

    fn detail(noise: &Noise) -> String {
        let found = evidence(noise).unwrap();
        assert_eq!(
            (found.name.as_str(), found.holds),
            ("quiet_machine", Some(false))
        );
        found.detail
    }

    #[test]
    fn each_threshold_marks_by_itself_with_its_figure() {
        let found = evidence(&quiet()).unwrap();
        assert_eq!(found.holds, Some(true));
        assert_eq!(found.detail, "other processes used 0.05 of 2 CPUs");
        let busy = Noise {
            others_cpu: 1.6,
            ..quiet()
        };
        assert_eq!(
            detail(&busy),
            "other processes used 1.60 of 2 CPUs (threshold 0.2)"
        );
        let stolen = Noise {
            steal_cpu: 0.3,
            ..quiet()
        };
        assert_eq!(
            detail(&stolen),
            "the hypervisor took 0.30 of 2 CPUs (threshold 0.1)"
        );
        let hot = Noise {
            throttled: Some(3),
            ..quiet()
        };
        assert_eq!(
            detail(&hot),
            "the CPUs were throttled 3 times for heat (threshold 1)"
        );
        let mut disk = quiet();
        let mib = 1_048_576.0;
        disk.disk = Some(DiskNoise {
            device: "vda".into(),
            own: 20.0 * mib,
            others: 6.0 * mib,
        });
        assert_eq!(
            detail(&disk),
            "others moved 6.0 MiB/s on vda beside 20.0 MiB/s of the trial (threshold 4.0)"
        );
        // What the filesystem under the images adds to a fast trial is no one else's.
        disk.disk = Some(DiskNoise {
            device: "vda".into(),
            own: 900.0 * mib,
            others: 60.0 * mib,
        });
        assert_eq!(evidence(&disk).unwrap().holds, Some(true));
    }

    #[test]
    fn phases_are_judged_when_they_are_long() {
        let phase = |seconds, others_cpu| Noise {
            phase: Some("read".into()),
            seconds,
            others_cpu,
            ..quiet()
        };
        assert_eq!(evidence(&phase(0.5, 2.0)), None, "too short to tell");
        assert_eq!(evidence(&phase(5.0, 0.1)), None, "nothing to report");
        let found = evidence(&phase(5.0, 0.9)).unwrap();
        assert_eq!(found.phase.as_deref(), Some("read"));
        let short = Noise {
            seconds: 0.05,
            others_cpu: 2.0,
            ..quiet()
        };
        assert_eq!(evidence(&short), None);
    }

    #[test]
    fn io_of_others_is_what_the_images_do_not_explain() {
        let images = PathBuf::from("/run/images");
        let mut meter = NoiseMeter::new(Arc::new(Host), Some(("vda".into(), images)));
        meter.own = vec!["loop3".into()];
        let reading = |at_ns, vda, loop3| Reading {
            at_ns,
            disks: [("vda".to_owned(), vda), ("loop3".to_owned(), loop3)].into(),
            ..Reading::default()
        };
        let (first, last) = (reading(0, 1000, 0), reading(2_000_000_000, 9000, 6000));
        let found = meter.disk_noise(&first, &last).unwrap();
        assert_eq!((found.own, found.others), (3000.0 * 512.0, 1000.0 * 512.0));
        // Reads that the page cache answered never reach the disk.
        let last = reading(2_000_000_000, 2000, 6000);
        assert_eq!(meter.disk_noise(&first, &last).unwrap().others, 0.0);
        meter.own.clear();
        assert_eq!(meter.disk_noise(&first, &last), None);
    }

    #[test]
    fn a_short_trial_is_judged_with_the_time_before_it() {
        let at = |ms: u64| Reading {
            at_ns: ms * 1_000_000,
            ..Reading::default()
        };
        let mut recent = Recent::default();
        assert_eq!(recent.window_to(&at(100)), None);
        // Of the first trials: as much as there is.
        recent.keep(at(100));
        assert_eq!(recent.window_to(&at(200)), Some(&at(100)));
        for begun in [300, 500, 700] {
            recent.keep(at(begun));
        }
        assert_eq!(recent.window_to(&at(800)), Some(&at(300)));
        assert_eq!(recent.window_to(&at(999)), Some(&at(300)));
        // A long trial is judged by itself.
        assert_eq!(recent.window_to(&at(1200)), Some(&at(700)));
        assert_eq!(recent.0.len(), 1);
    }

    #[test]
    fn the_run_queue_is_a_mean_without_the_sampler() {
        let meter = NoiseMeter::new(Arc::new(Host), None);
        *meter.queue().lock().unwrap() = vec![(5, 9), (10, 3), (20, 5), (31, 9)];
        assert_eq!(meter.queued(10, 30), Some(3.0));
        assert_eq!(meter.queued(11, 19), None);
    }
}
