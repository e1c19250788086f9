//! The sampler on this machine: pace, columns, trouble.

// Helpers of tests may fail loudly, as the tests themselves.
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use probe::Roots;
use probe::sampler::{Options, Sampler, SamplerError, Sink, monotonic_ns};

#[derive(Default)]
struct Table {
    columns: Vec<(String, String)>,
    rows: Vec<(u64, HashMap<u32, i64>)>,
    finished: bool,
}

impl Table {
    fn column(&self, name: &str) -> Vec<i64> {
        let id = self.columns.iter().position(|(n, _)| n == name);
        let id = id.unwrap_or_else(|| panic!("no column {name}")) as u32;
        self.rows
            .iter()
            .filter_map(|(_, r)| r.get(&id).copied())
            .collect()
    }
}

/// Keeps everything; fails at a row when asked to.
#[derive(Clone, Default)]
struct Memory {
    table: Arc<Mutex<Table>>,
    fail_at: Option<usize>,
}

impl Sink for Memory {
    fn column(&mut self, name: &str, unit: &str) -> u32 {
        let mut table = self.table.lock().unwrap();
        assert!(table.columns.iter().all(|(n, _)| n != name), "{name} twice");
        table.columns.push((name.to_owned(), unit.to_owned()));
        table.columns.len() as u32 - 1
    }

    fn row(&mut self, at_ns: u64, values: &[(u32, i64)]) -> io::Result<()> {
        let mut table = self.table.lock().unwrap();
        if self.fail_at == Some(table.rows.len()) {
            return Err(io::Error::other("disk full"));
        }
        table.rows.push((at_ns, values.iter().copied().collect()));
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.table.lock().unwrap().finished = true;
        Ok(())
    }
}

fn a_device() -> String {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap();
    let line = text.lines().next().expect("a block device");
    line.split_ascii_whitespace().nth(2).unwrap().to_owned()
}

/// Uses the CPU for a time of CPU, however busy the machine is.
fn spin(time: Duration) {
    let cpu = || Duration::from_nanos(clock::thread_cpu_ns());
    let end = cpu() + time;
    let mut x = 1_u64;
    while cpu() < end {
        x = std::hint::black_box(x.wrapping_mul(3));
    }
}

#[test]
fn a_second_at_fifty_milliseconds() {
    let device = a_device();
    let options = Options {
        interval: Duration::from_millis(50),
        devices: vec![device.clone()],
        ..Options::default()
    };
    let sink = Memory::default();
    let begin = monotonic_ns();
    let sampler = Sampler::start(&options, Box::new(sink.clone())).unwrap();
    spin(Duration::from_millis(600));
    std::thread::sleep(Duration::from_millis(400));
    assert!(!sampler.failed());
    let (stats, _sink) = sampler.stop().unwrap();
    let end = monotonic_ns();
    println!(
        "{} rows, {} missed, {:.2} ms late at most, own CPU {:.3} ms = {:.2} % of a core, absent {:?}",
        stats.rows,
        stats.missed,
        stats.max_late_ns as f64 / 1e6,
        stats.own_cpu_ns as f64 / 1e6,
        stats.own_percent(),
        stats.absent
    );
    let table = sink.table.lock().unwrap();
    assert!(table.finished);
    assert_eq!(stats.rows as usize, table.rows.len());
    // One row at the start, one each 50 ms that was not missed, one at the end.
    let ticks = (end - begin) / 50_000_000;
    assert!(ticks >= 19, "{ticks}");
    let times: Vec<u64> = table.rows.iter().map(|(at, _)| *at).collect();
    // A busy machine may begin and end the sampling late.
    let sampled = (times[times.len() - 1] - times[0]) / 50_000_000;
    assert!(stats.rows + stats.missed + 1 >= sampled, "{stats:?}");
    assert!(stats.rows + stats.missed <= ticks + 3, "{stats:?}");
    assert!(stats.own_cpu_ns > 0 && stats.own_cpu_ns < 500_000_000);
    assert!(times.windows(2).all(|w| w[0] < w[1]));
    assert!(times[0] >= begin && times[times.len() - 1] <= end);

    for (name, unit) in [
        (format!("disk.{device}.reads"), "count"),
        (format!("disk.{device}.sectors_written"), "sectors"),
        (format!("disk.{device}.in_flight"), "count"),
        (format!("disk.{device}.flush_ms"), "ms"),
        ("cpu.user".into(), "jiffies"),
        ("cpu0.busy".into(), "jiffies"),
        ("mem.dirty".into(), "KiB"),
        ("vm.allocstall".into(), "count"),
        ("vm.nr_dirtied".into(), "pages"),
        ("self.write_bytes".into(), "bytes"),
    ] {
        let declared = table.columns.iter().find(|(n, _)| *n == name);
        assert_eq!(declared.map(|(_, u)| u.as_str()), Some(unit), "{name}");
        assert_eq!(
            table.column(&name).len(),
            table.rows.len(),
            "{name} is in every row"
        );
    }
    let user = table.column("cpu.user");
    assert!(
        user[user.len() - 1] > user[0],
        "the spinning shows: {user:?}"
    );
    assert!(table.column("mem.free").iter().all(|kib| *kib > 0));
    let mine = table
        .columns
        .iter()
        .filter(|(n, _)| n.starts_with("task."))
        .map(|(n, _)| table.column(n).last().copied().unwrap_or(0))
        .max();
    assert!(mine >= Some(200), "a task used most of 600 ms: {mine:?}");
}

#[test]
fn a_sink_that_fails_ends_the_sampling_and_says_so() {
    let options = Options {
        interval: Duration::from_millis(5),
        tasks: 0,
        ..Options::default()
    };
    let sink = Memory {
        fail_at: Some(3),
        ..Memory::default()
    };
    let sampler = Sampler::start(&options, Box::new(sink)).unwrap();
    let begin = Instant::now();
    while !sampler.failed() && begin.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(sampler.failed());
    let error = sampler.stop().map(|_| ()).unwrap_err();
    assert!(matches!(error, SamplerError::Sink(_)));
    assert!(error.to_string().contains("disk full"), "{error}");
}

#[test]
fn a_device_that_is_not_there_is_refused_at_the_start() {
    let options = Options {
        devices: vec!["nosuchdisk".into()],
        ..Options::default()
    };
    let error = Sampler::start(&options, Box::new(Memory::default())).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("/sys/class/block/nosuchdisk/stat"),
        "{error}"
    );
    let options = Options {
        interval: Duration::ZERO,
        ..Options::default()
    };
    let error = Sampler::start(&options, Box::new(Memory::default())).unwrap_err();
    assert!(matches!(error, SamplerError::Interval(_)));
}

/// A counter file that no longer says anything keeps its last values, and the rows go on.
#[test]
fn a_file_that_falls_silent_stands_still() {
    let tree = tempfile::tempdir().unwrap();
    let folder = tree.path().join("sys/class/block/loop9");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::create_dir_all(tree.path().join("proc")).unwrap();
    std::fs::write(
        folder.join("stat"),
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n",
    )
    .unwrap();
    let options = Options {
        interval: Duration::from_millis(5),
        devices: vec!["loop9".into()],
        roots: Roots::under(tree.path()),
        ..Options::default()
    };
    let sink = Memory::default();
    let sampler = Sampler::start(&options, Box::new(sink.clone())).unwrap();
    std::fs::write(folder.join("stat"), "").unwrap();
    // The second sample from here on has read the empty file.
    let rows = || sink.table.lock().unwrap().rows.len();
    let (before, until) = (rows(), Instant::now() + Duration::from_secs(30));
    while rows() < before + 2 {
        assert!(Instant::now() < until, "no sample in 30 s");
        std::thread::sleep(Duration::from_millis(1));
    }
    let (stats, _) = sampler.stop().unwrap();
    let table = sink.table.lock().unwrap();
    assert!(table.column("disk.loop9.reads").iter().all(|v| *v == 1));
    assert_eq!(table.column("disk.loop9.flush_ms").last(), Some(&17));
    assert!(
        stats.absent.iter().any(|a| a.starts_with("cpu:")),
        "{stats:?}"
    );
}
