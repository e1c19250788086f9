//! Following the busiest tasks without reading every task at every tick.
//!
//! Opening and reading `/proc/<pid>/stat` of all tasks is by far the dearest part of sampling
//! (about 8 microseconds each, against 3 for a file that is kept open). So all tasks are scanned
//! at a lower rate, and only those that used the most CPU since the last scan are kept open and
//! read at every tick. A task that lives and dies between two scans is not seen; its CPU is still
//! in the `cpu.*` columns.
//!
//! Units: a process is counted in ticks of 1/HZ with all its threads; a kernel thread that is kept
//! open is counted in nanoseconds from `schedstat`, which speaks of one thread only and would miss
//! the threads of a process. A kworker changes its name with its work: what it used between two
//! samples is given half to the name before and half to the name after.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use super::{name, stat};

/// Names that get a total; what comes later is not followed. Bounds memory on a machine that
/// starts thousands of differently named programs.
const MAX_NAMES: usize = 256;

/// CPU time added up under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    /// See [`name::aggregate`].
    pub name: String,
    /// Nanoseconds on a CPU since the tracker's first scan.
    pub cpu_ns: u64,
    /// Was among the busiest at some scan.
    pub busiest: bool,
}

struct Task {
    start: u64,
    total: usize,
    kernel_thread: bool,
    worker: bool,
    /// CPU time already given to a name.
    counted_ns: u64,
    /// What it used between the last two scans.
    recent_ns: u64,
    /// The scan that saw it last.
    seen: u32,
}

struct Hot {
    pid: u32,
    stat: File,
    schedstat: Option<File>,
}

/// Follows the tasks of a `/proc`.
pub struct Tracker {
    proc: PathBuf,
    tick_ns: u64,
    busiest: usize,
    tasks: HashMap<u32, Task>,
    totals: Vec<Total>,
    by_comm: HashMap<Vec<u8>, usize>,
    hot: Vec<Hot>,
    scans: u32,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for Tracker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tracker")
            .field("tasks", &self.tasks.len())
            .field("totals", &self.totals)
            .finish_non_exhaustive()
    }
}

impl Tracker {
    /// Follows the `busiest` tasks of the `/proc` at `proc`. Nothing is read yet.
    pub fn new(proc: PathBuf, busiest: usize) -> Tracker {
        Tracker {
            proc,
            tick_ns: 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1),
            busiest,
            tasks: HashMap::new(),
            totals: Vec::new(),
            by_comm: HashMap::new(),
            hot: Vec::new(),
            scans: 0,
            buffer: vec![0; 4096],
        }
    }

    /// Totals by name, in the order of their first appearance; entries are only ever appended.
    pub fn totals(&self) -> &[Total] {
        &self.totals
    }

    /// Reads every task, adds up what it used, and keeps the busiest open. The first scan is the
    /// baseline: what tasks used before it counts for nothing.
    ///
    /// # Errors
    /// When `/proc` itself cannot be listed; a task that vanished is no error.
    pub fn scan(&mut self) -> std::io::Result<()> {
        self.scans += 1;
        let mut path = self.proc.clone();
        for entry in fs::read_dir(&self.proc)? {
            let Some(pid) = entry?.file_name().to_str().and_then(|n| n.parse().ok()) else {
                continue;
            };
            path.push(format!("{pid}/stat"));
            let read = File::open(&path).and_then(|f| f.read_at(&mut self.buffer, 0));
            path.pop();
            path.pop();
            if let Ok(length) = read {
                self.note(pid, length, None);
            }
        }
        let scans = self.scans;
        self.tasks.retain(|_, task| task.seen == scans);
        self.choose();
        Ok(())
    }

    /// Reads the tasks that are kept open.
    pub fn tick(&mut self) {
        let mut hot = std::mem::take(&mut self.hot);
        hot.retain(|task| self.read_hot(task));
        self.hot = hot;
    }

    /// Whether the task is still there.
    fn read_hot(&mut self, hot: &Hot) -> bool {
        let mut nanoseconds = None;
        if let Some(file) = &hot.schedstat {
            let Ok(length) = file.read_at(&mut self.buffer, 0) else {
                return false;
            };
            nanoseconds = stat::parse_schedstat(&self.buffer[..length]);
            let named = self.tasks.get(&hot.pid).is_some_and(|t| !t.worker);
            if let (true, Some(ns)) = (named, nanoseconds) {
                // The name cannot change: the second read is saved.
                self.charge(hot.pid, None, ns);
                return true;
            }
        }
        match hot.stat.read_at(&mut self.buffer, 0) {
            Ok(length) if length > 0 => {
                self.note(hot.pid, length, nanoseconds);
                true
            }
            _ => false,
        }
    }

    /// Takes in the `stat` text in the buffer.
    fn note(&mut self, pid: u32, length: usize, nanoseconds: Option<u64>) {
        let buffer = std::mem::take(&mut self.buffer);
        if let Some(task) = stat::parse(&buffer[..length]) {
            self.meet(pid, &task, nanoseconds);
        }
        self.buffer = buffer;
    }

    fn meet(&mut self, pid: u32, task: &stat::TaskStat<'_>, nanoseconds: Option<u64>) {
        let cpu_ns = nanoseconds.unwrap_or(task.cpu_ticks.saturating_mul(self.tick_ns));
        let Some(total) = self.total_of(task.comm) else {
            return;
        };
        let (scans, known) = (self.scans, self.tasks.get_mut(&pid));
        match known {
            Some(k) if k.start == task.start => k.seen = scans,
            _ => {
                // A task met in the first scan brings its past; one that came later began at 0.
                let counted_ns = if scans == 1 { cpu_ns } else { 0 };
                self.tasks.insert(
                    pid,
                    Task {
                        start: task.start,
                        total,
                        kernel_thread: task.kernel_thread,
                        worker: task.comm.starts_with(b"kworker/"),
                        counted_ns,
                        recent_ns: 0,
                        seen: scans,
                    },
                );
            }
        }
        self.charge(pid, Some(total), cpu_ns);
    }

    /// Gives what a task used since it was last read to its names.
    fn charge(&mut self, pid: u32, now: Option<usize>, cpu_ns: u64) {
        let Some(task) = self.tasks.get_mut(&pid) else {
            return;
        };
        let used = cpu_ns.saturating_sub(task.counted_ns);
        let before = task.total;
        let after = now.unwrap_or(before);
        task.counted_ns += used;
        task.recent_ns += used;
        task.total = after;
        self.totals[before].cpu_ns += used / 2;
        self.totals[after].cpu_ns += used - used / 2;
    }

    fn total_of(&mut self, comm: &[u8]) -> Option<usize> {
        if let Some(&index) = self.by_comm.get(comm) {
            return Some(index);
        }
        let name = name::aggregate(comm);
        let index = match self.totals.iter().position(|t| t.name == name) {
            Some(index) => index,
            None if self.totals.len() < MAX_NAMES => {
                self.totals.push(Total {
                    name,
                    cpu_ns: 0,
                    busiest: false,
                });
                self.totals.len() - 1
            }
            None => return None,
        };
        if self.by_comm.len() < 8 * MAX_NAMES {
            self.by_comm.insert(comm.to_vec(), index);
        }
        Some(index)
    }

    /// Keeps the busiest since the last scan open, and closes the others.
    fn choose(&mut self) {
        let mut ranked: Vec<(u64, u32)> = self
            .tasks
            .iter_mut()
            .map(|(pid, task)| (std::mem::take(&mut task.recent_ns), *pid))
            .filter(|(used, _)| *used > 0)
            .collect();
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        ranked.truncate(self.busiest);
        self.hot
            .retain(|hot| ranked.iter().any(|(_, pid)| *pid == hot.pid));
        for (_, pid) in ranked {
            let task = &self.tasks[&pid];
            self.totals[task.total].busiest = true;
            if self.hot.iter().any(|hot| hot.pid == pid) {
                continue;
            }
            let folder = self.proc.join(pid.to_string());
            if let Ok(stat) = File::open(folder.join("stat")) {
                let schedstat = task
                    .kernel_thread
                    .then(|| File::open(folder.join("schedstat")).ok())
                    .flatten();
                self.hot.push(Hot {
                    pid,
                    stat,
                    schedstat,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn write(proc: &Path, pid: u32, comm: &str, ticks: u64, start: u64) {
        fs::create_dir_all(proc.join(pid.to_string())).unwrap();
        let text =
            format!("{pid} ({comm}) S 1 1 1 0 -1 64 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {start} 0");
        fs::write(proc.join(format!("{pid}/stat")), text).unwrap();
    }

    fn total(tracker: &Tracker, name: &str) -> Option<Total> {
        tracker.totals().iter().find(|t| t.name == name).cloned()
    }

    #[test]
    fn the_past_before_the_first_scan_does_not_count() {
        let proc = tempfile::tempdir().unwrap();
        write(proc.path(), 10, "dd", 500, 7);
        let mut tracker = Tracker::new(proc.path().into(), 4);
        tracker.scan().unwrap();
        assert_eq!(total(&tracker, "dd").unwrap().cpu_ns, 0);
        write(proc.path(), 10, "dd", 530, 7);
        write(proc.path(), 11, "new", 5, 9);
        tracker.scan().unwrap();
        let tick = tracker.tick_ns;
        assert_eq!(total(&tracker, "dd").unwrap().cpu_ns, 30 * tick);
        assert_eq!(total(&tracker, "new").unwrap().cpu_ns, 5 * tick);
        write(proc.path(), 10, "dd", 540, 7);
        tracker.tick();
        assert_eq!(total(&tracker, "dd").unwrap().cpu_ns, 40 * tick);
    }

    #[test]
    fn a_pid_used_again_begins_anew() {
        let proc = tempfile::tempdir().unwrap();
        write(proc.path(), 10, "dd", 500, 7);
        let mut tracker = Tracker::new(proc.path().into(), 4);
        tracker.scan().unwrap();
        write(proc.path(), 10, "cp", 3, 900);
        tracker.scan().unwrap();
        assert_eq!(total(&tracker, "dd").unwrap().cpu_ns, 0);
        assert_eq!(total(&tracker, "cp").unwrap().cpu_ns, 3 * tracker.tick_ns);
    }

    #[test]
    fn a_worker_that_changes_its_work_is_shared_by_both_names() {
        let proc = tempfile::tempdir().unwrap();
        write(proc.path(), 10, "kworker/u8:0-events", 0, 7);
        let mut tracker = Tracker::new(proc.path().into(), 4);
        tracker.scan().unwrap();
        write(proc.path(), 10, "kworker/u8:0+flush-7:3", 10, 7);
        tracker.scan().unwrap();
        let tick = tracker.tick_ns;
        assert_eq!(total(&tracker, "kworker/events").unwrap().cpu_ns, 5 * tick);
        assert_eq!(
            total(&tracker, "kworker/flush-7:3").unwrap().cpu_ns,
            5 * tick
        );
    }

    #[test]
    fn only_the_busiest_are_kept_open_and_the_gone_are_dropped() {
        let proc = tempfile::tempdir().unwrap();
        for pid in 1..=6 {
            write(proc.path(), pid, &format!("task{pid}"), 0, 1);
        }
        let mut tracker = Tracker::new(proc.path().into(), 2);
        tracker.scan().unwrap();
        for pid in 1..=6 {
            write(proc.path(), pid, &format!("task{pid}"), u64::from(pid), 1);
        }
        tracker.scan().unwrap();
        let busiest: Vec<_> = tracker.totals().iter().filter(|t| t.busiest).collect();
        let mut names: Vec<_> = busiest.iter().map(|t| t.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["task5", "task6"]);
        fs::remove_dir_all(proc.path().join("6")).unwrap();
        tracker.scan().unwrap();
        assert_eq!(tracker.tasks.len(), 5);
        assert!(tracker.hot.is_empty(), "none used CPU since");
    }

    #[test]
    fn this_process_shows_up_when_it_works() {
        let mut tracker = Tracker::new("/proc".into(), 8);
        tracker.scan().unwrap();
        let cpu = || clock::thread_cpu_ns() / 1_000_000;
        let end = cpu() + 200;
        while cpu() < end {
            std::hint::black_box(());
        }
        tracker.scan().unwrap();
        let comm = fs::read_to_string("/proc/self/comm").unwrap();
        let mine = total(&tracker, &name::aggregate(comm.trim().as_bytes())).unwrap();
        assert!(mine.busiest && mine.cpu_ns > 100_000_000, "{mine:?}");
    }
}
