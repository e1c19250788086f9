//! Readings of recorded `/proc` and `/sys` trees; times are those of the trees, not of a clock.

use std::path::Path;

use super::*;

/// Recorded on a machine with two CPUs: each line as the kernel printed it, times adjusted.
struct Tree {
    idle: u64,
    iowait: u64,
    steal: u64,
    psi_cpu_us: u64,
    sectors: [u64; 2],
    kworker_ns: u64,
    child_ticks: u64,
    throttles: u64,
}

impl Tree {
    fn write(&self, folder: &Path) -> Roots {
        let roots = Roots::under(folder);
        let write = |path: &str, text: String| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let (idle, iowait, steal) = (self.idle, self.iowait, self.steal);
        write(
            "proc/stat",
            format!(
                "cpu  700 0 300 {idle} {iowait} 0 10 {steal} 0 0\n\
                 cpu0 350 0 150 0 0 0 5 0 0 0\ncpu1 350 0 150 0 0 0 5 0 0 0\nintr 1 2\n\
                 procs_running 3\n"
            ),
        );
        let total = self.psi_cpu_us;
        write(
            "proc/pressure/cpu",
            format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n"),
        );
        for (disk, sectors) in ["vda", "loop3"].iter().zip(self.sectors) {
            let line = format!("10 0 {sectors} 5 7 0 0 3 0 8 8 0 0 0 0 0 0\n");
            write(&format!("sys/class/block/{disk}/stat"), line);
        }
        let me = std::process::id();
        let child = self.child_ticks;
        write(
            "proc/77/stat",
            "77 (kworker/u4:1-flush-7:3) I 2 0 0 0 -1 69238880 0 0 0 0 0 9 0 0 20 0 1 0 50 0"
                .into(),
        );
        write("proc/77/schedstat", format!("{} 5 9\n", self.kworker_ns));
        write(
            "proc/900/stat",
            format!("900 (sh) S {me} 0 0 0 -1 64 0 0 0 0 0 0 10 5 20 0 1 0 80 0"),
        );
        write(
            "proc/901/stat",
            format!("901 (e2fsck) R 900 0 0 0 -1 64 0 0 0 0 {child} 0 0 0 20 0 1 0 81 0"),
        );
        write(
            "proc/555/stat",
            "555 (rustc) R 1 0 0 0 -1 64 0 0 0 0 9999 0 0 0 20 0 1 0 60 0".into(),
        );
        for cpu in 0..2 {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            let count = self.throttles;
            write(
                &format!("{folder}/thermal_throttle/core_throttle_count"),
                format!("{count}\n"),
            );
            write(
                &format!("{folder}/cpufreq/scaling_cur_freq"),
                format!("{}\n", 2_000_000 + 200_000 * cpu),
            );
        }
        write("sys/devices/system/cpu/cpuidle/x", String::new());
        roots
    }
}

fn before() -> Tree {
    Tree {
        idle: 10_000,
        iowait: 500,
        steal: 20,
        psi_cpu_us: 1_000_000,
        sectors: [1000, 400],
        kworker_ns: 3_000_000_000,
        child_ticks: 100,
        throttles: 4,
    }
}

/// Two readings of trees, 2 s apart, in which this process itself used 0.5 s.
fn readings(after: &Tree) -> (Reading, Reading) {
    let folder = tempfile::tempdir().unwrap();
    let disks = ["vda".to_owned(), "loop3".to_owned()];
    let roots = before().write(folder.path());
    let first = Reading {
        at_ns: 5_000_000_000,
        own: 1.0,
        ..Reading::now(&roots, &disks)
    };
    let roots = after.write(folder.path());
    let second = Reading {
        at_ns: 7_000_000_000,
        own: 1.5,
        ..Reading::now(&roots, &disks)
    };
    (first, second)
}

#[test]
fn what_is_not_idle_and_not_known_is_of_others() {
    // 2 s on 2 CPUs are 4 s, of which 1 s idle, 0.2 s iowait and 0.1 s stolen: 2.7 s busy. Known are
    // 0.5 s of this process, 0.4 s of its grandchild and 0.3 s of a kworker.
    let (first, second) = readings(&Tree {
        idle: 10_100,
        iowait: 520,
        steal: 30,
        psi_cpu_us: 1_500_000,
        sectors: [9000, 4400],
        kworker_ns: 3_300_000_000,
        child_ticks: 140,
        throttles: 5,
    });
    let activity = first.until(&second).unwrap();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b} {activity:?}");
    assert_eq!(activity.cpus, 2);
    close(activity.seconds, 2.0);
    close(activity.own, 0.45);
    close(activity.kernel, 0.15);
    close(activity.others, 0.75);
    close(activity.steal, 0.05);
    close(activity.psi[0].unwrap(), 0.25);
    assert_eq!(activity.psi[1], None, "the tree has no such file");
    assert_eq!(activity.throttled, Some(2));
    let [mhz, _] = activity.mhz.unwrap();
    close(mhz, 2100.0);
    assert_eq!(first.moved(&second, ["vda"].into_iter()), Some(8000 * 512));
    assert_eq!(
        first.moved(&second, ["vda", "loop3"].into_iter()),
        Some(12_000 * 512)
    );
    assert_eq!(first.moved(&second, ["sda"].into_iter()), None);
}

#[test]
fn a_quiet_machine_shows_no_others() {
    // 4 s on the clock, all idle but 0.5 s of this process.
    let (first, second) = readings(&Tree {
        idle: 10_350,
        ..before()
    });
    let activity = first.until(&second).unwrap();
    assert!(activity.others < 1e-9, "{activity:?}");
    assert_eq!((activity.kernel, activity.steal), (0.0, 0.0));
    // Idle times that are rounded up must not make others negative.
    let (first, second) = readings(&Tree {
        idle: 10_360,
        ..before()
    });
    assert_eq!(first.until(&second).unwrap().others, 0.0);
}

#[test]
fn readings_that_do_not_fit_give_nothing() {
    let (first, mut second) = readings(&before());
    assert_eq!(second.until(&first), None, "time does not run back");
    second.cpu.each.pop();
    assert_eq!(first.until(&second), None, "a CPU went offline");
    let nothing = Reading::default();
    assert_eq!(nothing.until(&first), None);
}

#[test]
fn a_tree_without_any_file_is_no_fault() {
    let folder = tempfile::tempdir().unwrap();
    let reading = Reading::now(&Roots::under(folder.path()), &["vda".to_owned()]);
    assert_eq!((reading.throttled, reading.mhz), (None, None));
    assert!(reading.disks.is_empty() && reading.kernel.is_empty());
    assert!(reading.at_ns > 0 && reading.own > 0.0);
}

#[test]
fn only_tasks_below_the_root_are_descendants() {
    let tasks = [(5, 1), (6, 5), (7, 6), (8, 1), (9, 8)];
    let tasks = tasks.map(|(pid, parent)| (pid, (parent, 0, 0.0))).into();
    assert_eq!(descendants(&tasks, 5), [6, 7].into());
    assert!(descendants(&tasks, 9).is_empty());
}
