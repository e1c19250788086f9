//! What others do on the machine: a reading before and one after, and the activity between them.
//!
//! The rule for the CPU: what was not idle is what others used, except for what is known. Not idle is
//! the interval on all CPUs less `idle`, `iowait` and `steal` of `/proc/stat`; on a tickless kernel these
//! idle times are exact, where `user` and `system` are counted by the timer tick. Known are this process
//! and its descendants, those that have ended included, and kernel threads. Kernel threads are counted
//! apart as a whole: writeback, loop devices, journals and RAID work for the trial's own device in threads
//! that in part (`kworker`) cannot be attributed to a device, and what they do for other devices
//! shows as I/O or as CPU time of the process that asked for it.
//!
//! `idle` and `iowait` are printed in hundredths of a second, so an interval has an error of some 20 ms of
//! CPU time. Intervals below [`SHORTEST`] are not worth a judgement.
//!
//! A reading scans all tasks once, which takes about a millisecond; it is taken outside every clock.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::tasks::stat;
use crate::{Roots, cpu, diskstats, psi};

/// Seconds below which an interval is too short to be judged.
pub const SHORTEST: f64 = 0.1;

/// Counters of the machine at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// CLOCK_MONOTONIC, nanoseconds.
    pub at_ns: u64,
    /// `/proc/stat`.
    pub cpu: cpu::Stat,
    /// CPU seconds of this process, its threads and the children it has waited for.
    pub own: f64,
    /// CPU seconds of descendants that live, by pid and start time.
    pub descendants: BTreeMap<(u32, u64), f64>,
    /// CPU seconds of kernel threads, by pid and start time.
    pub kernel: BTreeMap<(u32, u64), f64>,
    /// Microseconds of PSI `some`: cpu, io, memory.
    pub psi: [Option<u64>; 3],
    /// Sectors read and written, by device.
    pub disks: BTreeMap<String, u64>,
    /// Thermal throttling events of all CPUs; none where the kernel has no such counter.
    pub throttled: Option<u64>,
    /// Mean frequency of the CPUs, MHz; none where the kernel does not show it.
    pub mhz: Option<f64>,
}

/// What happened between two readings. CPU times are in CPUs: 1 is one CPU for the whole interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// Length of the interval, seconds.
    pub seconds: f64,
    /// CPUs online.
    pub cpus: u32,
    /// This process and its descendants.
    pub own: f64,
    /// Kernel threads.
    pub kernel: f64,
    /// Other processes.
    pub others: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Share of the interval in which some task waited for a CPU, for I/O, for memory.
    pub psi: [Option<f64>; 3],
    /// Thermal throttling events.
    pub throttled: Option<u64>,
    /// Mean frequency of the CPUs before and after, MHz.
    pub mhz: Option<[f64; 2]>,
}

impl Reading {
    /// Reads the counters now; `disks` by their names in sysfs. What cannot be read is left out.
    pub fn now(roots: &Roots, disks: &[String]) -> Reading {
        let mut reading = Reading {
            disks: sectors(roots, disks),
            throttled: throttled(roots),
            mhz: mhz(roots),
            psi: ["cpu", "io", "memory"].map(|resource| pressure(roots, resource)),
            ..Reading::default()
        };
        reading.scan(roots, std::process::id());
        reading.own = own_seconds();
        let text = fs::read_to_string(roots.proc.join("stat")).unwrap_or_default();
        reading.cpu = cpu::parse(&text).unwrap_or_default();
        reading.at_ns = clock::monotonic_ns();
        reading
    }

    /// Takes the CPU time of kernel threads and of `root`'s descendants.
    fn scan(&mut self, roots: &Roots, root: u32) {
        let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
        let mut users: BTreeMap<u32, (u32, u64, f64)> = BTreeMap::new();
        for entry in fs::read_dir(&roots.proc).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let Ok(text) = fs::read(entry.path().join("stat")) else {
                continue;
            };
            let Some(task) = stat::parse(&text) else {
                continue;
            };
            if task.kernel_thread {
                let exact = fs::read(entry.path().join("schedstat")).ok();
                let exact = exact.and_then(|text| stat::parse_schedstat(&text));
                let seconds = exact.map_or(task.cpu_ticks as f64 / ticks, |ns| ns as f64 / 1e9);
                self.kernel.insert((pid, task.start), seconds);
            } else {
                let seconds = (task.cpu_ticks + waited(&text)) as f64 / ticks;
                users.insert(pid, (task.parent, task.start, seconds));
            }
        }
        for pid in descendants(&users, root) {
            if let Some((_, start, seconds)) = users.get(&pid) {
                self.descendants.insert((pid, *start), *seconds);
            }
        }
    }

    /// What happened from this reading to a later one. None: no time passed, or CPUs came or went.
    pub fn until(&self, later: &Reading) -> Option<Activity> {
        let seconds = later.at_ns.checked_sub(self.at_ns)? as f64 / 1e9;
        let cpus = self.cpu.each.len();
        if seconds <= 0.0 || cpus == 0 || cpus != later.cpu.each.len() {
            return None;
        }
        let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
        let passed = self.cpu.all.delta(&later.cpu.all);
        let [_, _, _, idle, iowait, _, _, steal, ..] = passed.0;
        let of_clock = |jiffies: u64| jiffies as f64 / ticks;
        // A descendant that ended is in the time of the children that were waited for.
        let tree = |reading: &Reading| reading.own + reading.descendants.values().sum::<f64>();
        let own = (tree(later) - tree(self)).max(0.0);
        let threads = later.kernel.iter().map(|(task, seconds)| {
            let before = self.kernel.get(task).copied().unwrap_or(0.0);
            (seconds - before).max(0.0)
        });
        let kernel: f64 = threads.sum();
        let busy = seconds * cpus as f64 - of_clock(idle + iowait + steal);
        let others = (busy - own - kernel).max(0.0);
        let share = |at: usize| {
            let passed = later.psi[at]?.saturating_sub(self.psi[at]?);
            Some((passed as f64 / 1e6 / seconds).min(1.0))
        };
        Some(Activity {
            seconds,
            cpus: cpus as u32,
            own: own / seconds,
            kernel: kernel / seconds,
            others: others / seconds,
            steal: of_clock(steal) / seconds,
            psi: [share(0), share(1), share(2)],
            throttled: later
                .throttled
                .zip(self.throttled)
                .map(|(after, before)| after.saturating_sub(before)),
            mhz: self
                .mhz
                .zip(later.mhz)
                .map(|(before, after)| [before, after]),
        })
    }

    /// Bytes that these devices moved from this reading to a later one. None: one of them has no counters.
    pub fn moved<'n>(
        &self,
        later: &Reading,
        mut disks: impl Iterator<Item = &'n str>,
    ) -> Option<u64> {
        disks.try_fold(0_u64, |sum, disk| {
            let passed = later.disks.get(disk)?.checked_sub(*self.disks.get(disk)?)?;
            Some(sum.saturating_add(passed.saturating_mul(512)))
        })
    }
}

/// Fields 16 and 17 of a `stat` file: what a process' own children used that it has waited for.
fn waited(text: &[u8]) -> u64 {
    let after = text.iter().rposition(|byte| *byte == b')');
    let rest = after.and_then(|at| text.get(at + 1..)).unwrap_or_default();
    let fields = rest
        .split(u8::is_ascii_whitespace)
        .filter(|field| !field.is_empty());
    let numbers = fields.skip(13).take(2);
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse::<u64>().ok();
    numbers.filter_map(number).sum()
}

/// All tasks below `root`, without itself.
fn descendants(tasks: &BTreeMap<u32, (u32, u64, f64)>, root: u32) -> BTreeSet<u32> {
    let mut found: BTreeSet<u32> = BTreeSet::new();
    loop {
        let before = found.len();
        for (pid, (parent, ..)) in tasks {
            if *pid != root && (*parent == root || found.contains(parent)) {
                found.insert(*pid);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// CPU seconds of this process and the children it has waited for.
fn own_seconds() -> f64 {
    let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
    let text = fs::read("/proc/self/stat").unwrap_or_default();
    clock::process_cpu_ns() as f64 / 1e9 + waited(&text) as f64 / ticks
}

fn pressure(roots: &Roots, resource: &str) -> Option<u64> {
    let text = fs::read_to_string(roots.proc.join("pressure").join(resource)).ok()?;
    Some(psi::parse(&text)?.some_us)
}

fn sectors(roots: &Roots, disks: &[String]) -> BTreeMap<String, u64> {
    let of = |disk: &String| {
        let file = roots.sys.join("class/block").join(disk).join("stat");
        let counters = diskstats::Counters::parse(&fs::read_to_string(file).ok()?)?;
        let moved = counters
            .sectors_read()
            .saturating_add(counters.sectors_written());
        Some((disk.clone(), moved))
    };
    disks.iter().filter_map(of).collect()
}

/// Numbers in a file of each CPU's folder in sysfs.
fn of_cpus(roots: &Roots, file: &str) -> Vec<u64> {
    let folder = roots.sys.join("devices/system/cpu");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let cpus = entries.filter(|entry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("cpu"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    });
    let number = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path().join(file)).ok()?;
        text.trim().parse::<u64>().ok()
    };
    cpus.filter_map(number).collect()
}

fn throttled(roots: &Roots) -> Option<u64> {
    let counts = of_cpus(roots, "thermal_throttle/core_throttle_count");
    (!counts.is_empty()).then(|| counts.iter().sum())
}

fn mhz(roots: &Roots) -> Option<f64> {
    let khz = of_cpus(roots, "cpufreq/scaling_cur_freq");
    let mean = khz.iter().sum::<u64>() as f64 / khz.len().max(1) as f64;
    (!khz.is_empty()).then_some(mean / 1e3)
}

#[cfg(test)]
mod tests;
