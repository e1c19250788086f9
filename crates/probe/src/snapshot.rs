//! Two snapshots of the machine, and what iostat and top would have printed between them.
//!
//! The mails that this project started from show, below a throughput, "typical iostat output" and "top
//! output (only %CPU > 0 shown)" from the middle of the run. The telemetry file has the same
//! counters at a finer grain, but not the columns of top (priority, memory of each task, TIME+), and
//! ten rows per second are too many to read. So a phase takes one [`Snapshot`] after a third of its work and
//! one after two thirds, and [`lines`] gives the rows of the interval in both programs' layouts,
//! then and now. Running iostat and top themselves was rejected: their first report is since boot,
//! their interval is not the phase's, and two more processes would be in the table.
//!
//! Every device asked for gets a row. Ask for all levels of a stack, the lowest first: a loop device
//! alone would hide what the disk below it did.

mod task;
mod text;

use std::fs;
use std::io;

use crate::diskstats::{self, Counters, Identity};
use crate::{Roots, cpu, meminfo};
use task::{Task, Users};

/// One snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    at_ns: u64,
    at: jiff::Timestamp,
    cpu: cpu::Times,
    disks: Vec<(Identity, Counters)>,
    tasks: Vec<Task>,
    machine: Machine,
}

/// The values of top's first lines other than CPU time.
#[derive(Clone, Debug, Default)]
struct Machine {
    uptime_s: f64,
    load: [f64; 3],
    users: usize,
    total: u64,
    free: u64,
    available: u64,
    buffers: u64,
    cached: u64,
    swap_total: u64,
    swap_free: u64,
}

/// iostat's and top's rows over the interval between two snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// Seconds between them.
    pub seconds: f64,
    /// `iostat -x` of sysstat 8/9.
    pub iostat_classic: Vec<String>,
    /// `iostat -x` of sysstat 12.
    pub iostat_modern: Vec<String>,
    /// top of procps 3.2, tasks with %CPU > 0.
    pub top_classic: Vec<String>,
    /// top of procps 4, tasks with %CPU > 0.
    pub top_modern: Vec<String>,
}

impl Snapshot {
    /// Looks at `devices` (kernel names, in the order of the rows), at all tasks and at memory.
    /// A device that is not in `/proc/diskstats` gets no row.
    ///
    /// # Errors
    /// `/proc/stat`, `/proc/diskstats` or `/proc/meminfo` cannot be read.
    pub fn take(roots: &Roots, devices: &[String]) -> io::Result<Snapshot> {
        let read = |name: &str| fs::read_to_string(roots.proc.join(name));
        let bad = |name: &str| io::Error::other(format!("/proc/{name} is not as expected"));
        let stat = cpu::parse(&read("stat")?).ok_or_else(|| bad("stat"))?;
        let text = read("diskstats")?;
        let disks = devices
            .iter()
            .filter_map(|name| diskstats::find(&text, name))
            .collect();
        let at_ns = crate::sampler::monotonic_ns();
        Ok(Snapshot {
            at_ns,
            at: jiff::Timestamp::now(),
            cpu: stat.all,
            disks,
            tasks: task::all(roots),
            machine: Machine::read(roots)?,
        })
    }
}

impl Machine {
    fn read(roots: &Roots) -> io::Result<Machine> {
        let memory = fs::read_to_string(roots.proc.join("meminfo"))?;
        let memory = meminfo::parse(&memory);
        let kib = |key: &str| memory.get(key).copied().unwrap_or(0);
        let numbers = |name: &str| -> Vec<f64> {
            let text = fs::read_to_string(roots.proc.join(name)).unwrap_or_default();
            let words = text.split_ascii_whitespace();
            words.map_while(|word| word.parse().ok()).collect()
        };
        let load = numbers("loadavg");
        Ok(Machine {
            uptime_s: numbers("uptime").first().copied().unwrap_or(0.0),
            load: [0, 1, 2].map(|i| load.get(i).copied().unwrap_or(0.0)),
            users: logged_in(),
            total: kib("MemTotal"),
            free: kib("MemFree"),
            available: kib("MemAvailable"),
            buffers: kib("Buffers"),
            cached: kib("Cached"),
            swap_total: kib("SwapTotal"),
            swap_free: kib("SwapFree"),
        })
    }
}

/// Records of logged-in users in `/run/utmp` (utmp(5): 384 bytes each, `ut_type` first); a machine
/// without that file has none.
fn logged_in() -> usize {
    const RECORD: usize = 384;
    const USER_PROCESS: u16 = 7;
    let bytes = fs::read("/run/utmp").unwrap_or_default();
    bytes
        .chunks_exact(RECORD)
        .filter(|record| ondisk::bytes::le16(record, 0) == USER_PROCESS)
        .count()
}

/// The rows between two snapshots; empty when no time passed. Owners of tasks are named by `roots`.
pub fn lines(roots: &Roots, before: &Snapshot, after: &Snapshot) -> Lines {
    let elapsed_ns = after.at_ns.saturating_sub(before.at_ns);
    if elapsed_ns == 0 {
        return Lines::default();
    }
    let seconds = elapsed_ns as f64 / 1e9;
    let cpu = before.cpu.delta(&after.cpu);
    let disks: Vec<(&str, Counters)> = after
        .disks
        .iter()
        .filter_map(|(identity, counters)| {
            let (was, earlier) = before.disks.iter().find(|(was, _)| was == identity)?;
            let delta = earlier.delta(was, counters, identity).ok()?;
            Some((identity.name.as_str(), delta))
        })
        .collect();
    let busy = task::busy(&before.tasks, &after.tasks, elapsed_ns);
    let users = Users::read(roots);
    Lines {
        seconds,
        iostat_classic: text::iostat_classic(&cpu, &disks, seconds),
        iostat_modern: text::iostat_modern(&cpu, &disks, seconds),
        top_classic: text::top_classic(after, &cpu, &busy, &users),
        top_modern: text::top_modern(after, &cpu, &busy, &users),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn made_up(tree: &Path, stat: &str, disks: &str) -> Roots {
        let roots = Roots::under(tree);
        fs::create_dir_all(&roots.proc).unwrap();
        for (name, text) in [
            ("stat", stat),
            ("diskstats", disks),
            ("uptime", "245280.10 1.0\n"),
            ("loadavg", "1.12 1.38 1.33 1/189 80046\n"),
            (
                "meminfo",
                "MemTotal: 66114888 kB\nMemFree: 109228 kB\nMemAvailable: 19000000 kB\n\
                 Buffers: 4196 kB\nCached: 19773724 kB\nSwapTotal: 2040212 kB\nSwapFree: 2036328 kB\n",
            ),
        ] {
            fs::write(roots.proc.join(name), text).unwrap();
        }
        roots
    }

    fn a_task(roots: &Roots, pid: u32, comm: &str, ticks: u64) {
        let folder = roots.proc.join(pid.to_string());
        fs::create_dir_all(&folder).unwrap();
        let stat = format!(
            "{pid} ({comm}) S 1 1 1 0 -1 4194304 7 8 9 10 0 {ticks} 13 14 20 0 1 0 987654 19259392 1199"
        );
        fs::write(folder.join("stat"), stat).unwrap();
        fs::write(folder.join("statm"), "4702 1199 141 1 0 2 0\n").unwrap();
    }

    /// The first footnote of the 2008 message: 8 CPUs, aiod at 86 %, one LUN and the volume.
    #[test]
    fn rows_are_those_of_the_programs() {
        let tree = tempfile::tempdir().unwrap();
        let zeros =
            "8 0 sda 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n254 0 dm-0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let roots = made_up(tree.path(), "cpu  0 0 0 0 0 0 0 0 0 0\n", zeros);
        a_task(&roots, 80046, "aiod", 1000);
        a_task(&roots, 391, "kswapd1", 50);
        a_task(&roots, 7, "idle one", 3);
        let devices = ["sda", "dm-0"].map(String::from);
        let mut before = Snapshot::take(&roots, &devices).unwrap();
        let later = "8 0 sda 4490 560 1293043 15131 0 0 0 0 0 8980 15131 0 0 0 0\n\
                     254 0 dm-0 20203 0 10344343 70306 0 0 0 0 0 9211 70500 0 0 0 0\n";
        let roots = made_up(tree.path(), "cpu  0 0 1048 6786 46 16 96 0 0 0\n", later);
        a_task(&roots, 80046, "aiod", 1860);
        a_task(&roots, 391, "kswapd1", 150);
        let mut after = Snapshot::take(&roots, &devices).unwrap();
        (before.at_ns, after.at_ns) = (0, 10_000_000_000);
        before.machine.users = 0;
        after.machine.users = 0;
        after.at = "2008-06-20T15:07:20Z".parse().unwrap();
        let lines = lines(&roots, &before, &after);
        let whole = [
            lines.iostat_classic,
            lines.iostat_modern,
            lines.top_classic,
            lines.top_modern,
        ]
        .map(|part| part.join("\n"))
        .join("\n\n");
        // The first line of top has the zone's time of day.
        let whole = without_time_of_day(&whole);
        insta::assert_snapshot!(whole);
    }

    fn without_time_of_day(text: &str) -> String {
        text.lines()
            .map(|line| match line.split_once(" up ") {
                Some((_, rest)) if line.starts_with("top - ") => {
                    format!("top - HH:MM:SS up {rest}")
                }
                _ => line.to_owned(),
            })
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn no_time_gives_no_rows() {
        let tree = tempfile::tempdir().unwrap();
        let roots = made_up(tree.path(), "cpu  0 0 0 0\n", "");
        let look = Snapshot::take(&roots, &[]).unwrap();
        assert_eq!(lines(&roots, &look, &look), Lines::default());
    }

    #[test]
    fn a_machine_without_counters_is_an_error() {
        let tree = tempfile::tempdir().unwrap();
        assert!(Snapshot::take(&Roots::under(tree.path()), &[]).is_err());
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let roots = Roots::default();
        let before = Snapshot::take(&roots, &[]).unwrap();
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < 300 {
            std::hint::black_box(0);
        }
        let after = Snapshot::take(&roots, &[]).unwrap();
        let lines = lines(&roots, &before, &after);
        // This test burnt most of a CPU, so at least one task has a row below the header.
        assert!(lines.top_modern.len() > 7, "{:#?}", lines.top_modern);
    }
}
