//! What is drawn: lines of a meter with a clock of the test's own.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use progress::{Progress, Step, Unit};

use super::meter::Meter;

/// Each line of a sequence, at its second.
struct Drawn {
    meter: Meter,
    zero: Instant,
}

impl Drawn {
    fn new() -> Drawn {
        Drawn {
            meter: Meter::default(),
            zero: Instant::now(),
        }
    }

    fn at(&self, seconds: f64) -> Instant {
        self.zero + Duration::from_secs_f64(seconds)
    }

    fn line(&self, seconds: f64) -> String {
        self.meter.line(self.at(seconds))
    }
}

const MIB: u64 = 1 << 20;

/// A check: the share and the time left are those of all passes, the rate is the pass's.
#[test]
fn a_check_is_bytes_of_the_whole() {
    let drawn = Drawn::new();
    let meter = &drawn.meter;
    assert_eq!(drawn.line(0.0), "");
    let pass = |name| Step::new(name).counted_in(Unit::Bytes);
    meter.begin(pass("pass 0"), drawn.at(0.0));
    assert_eq!(drawn.line(0.0), "pass 0");
    meter.foresee(1000 * MIB, drawn.at(0.0));
    meter.begin(pass("pass 1"), drawn.at(0.0));
    meter.expect(200 * MIB);
    meter.advance(200 * MIB);
    assert_eq!(drawn.line(0.1), "pass 1: 20 % of 1000 MiB");
    meter.begin(pass("pass 2"), drawn.at(4.0));
    meter.advance(50 * MIB);
    assert_eq!(
        drawn.line(5.0),
        "pass 2: 25 % of 1000 MiB, 50.0 MiB/s, 15 s left"
    );
    meter.advance(750 * MIB);
    assert_eq!(drawn.line(14.0), "pass 2: 100 % of 1000 MiB, 80.0 MiB/s");
}

/// A forge: placing has no amount, writing counts inodes.
#[test]
fn a_forge_is_inodes_of_a_step() {
    let drawn = Drawn::new();
    let meter = &drawn.meter;
    meter.begin(Step::new("placing files"), drawn.at(0.0));
    assert_eq!(drawn.line(9.0), "placing files");
    let inodes = Unit::Items("inodes".into());
    let writing = Step::new("writing").counted_in(inodes.clone());
    meter.begin(writing.clone().of(105_000_000), drawn.at(10.0));
    meter.advance(42_000_000);
    assert_eq!(
        drawn.line(24.0),
        "writing: 40 % of 105000000 inodes, 3.00 M/s, 21 s left"
    );
    meter.begin(writing.of(105), drawn.at(30.0));
    assert_eq!(drawn.line(30.0), "writing: 0 % of 105 inodes");
    meter.advance(105);
    assert_eq!(
        drawn.line(31.0),
        "writing: 100 % of 105 inodes, 105 inodes/s"
    );
}

/// A run: the position among the trials, the activity, and the workload's parts with the rate of its bytes.
#[test]
fn a_run_is_trials_activities_and_phases() {
    let drawn = Drawn::new();
    let meter = &drawn.meter;
    meter.count_trials(3, drawn.at(0.0));
    meter.activity("filesystem=ext4: preparing".into());
    assert_eq!(drawn.line(0.0), "[1/3] filesystem=ext4: preparing");
    meter.begin(Step::new("mkfs.ext4"), drawn.at(0.0));
    assert_eq!(
        drawn.line(30.0),
        "[1/3] filesystem=ext4: preparing: mkfs.ext4"
    );
    let groups = Step::new("lazy initialisation").counted_in(Unit::Items("groups".into()));
    meter.begin(groups.of(80), drawn.at(30.0));
    meter.advance(20);
    assert_eq!(
        drawn.line(35.0),
        "[1/3] filesystem=ext4: preparing: lazy initialisation: 25 % of 80 groups, \
         4 groups/s, 15 s left"
    );
    meter.end();
    assert_eq!(drawn.line(36.0), "[1/3] filesystem=ext4: preparing");
    meter.activity("filesystem=ext4: iozone".into());
    meter.foresee(1000, drawn.at(40.0));
    meter.begin(Step::new("write"), drawn.at(40.0));
    meter.advance(500);
    meter.moved(500 * MIB);
    meter.begin(Step::new("rewrite"), drawn.at(60.0));
    meter.advance(250);
    meter.moved(512 * MIB);
    assert_eq!(
        drawn.line(70.0),
        "[1/3] filesystem=ext4: iozone: rewrite: 75 %, 51.2 MiB/s, 10 s left"
    );
    meter.begin(Step::new("iozone"), drawn.at(70.0));
    assert_eq!(
        drawn.line(70.0),
        "[1/3] filesystem=ext4: iozone: 75 %, 10 s left"
    );
    meter.trial_over(drawn.at(100.0));
    meter.activity("filesystem=xfs: iozone".into());
    assert_eq!(
        drawn.line(130.0),
        "[2/3, 2 min 50 s left] filesystem=xfs: iozone"
    );
    meter.trial_over(drawn.at(200.0));
    meter.trial_over(drawn.at(300.0));
    assert_eq!(drawn.line(300.0), "[3/3] filesystem=xfs: iozone");
}

/// With a plan the time left is known from the beginning, and each trial corrects it.
#[test]
fn the_time_left_follows_the_plan_and_then_the_trials() {
    let drawn = Drawn::new();
    let meter = &drawn.meter;
    let study = study::Study::load("journal").unwrap();
    let plan = study::plan(&study, &study::Overrides::default()).unwrap();
    let mut expected = study::forecast::Forecast::of(&plan);
    let cells: Vec<u32> = plan.slots.iter().map(|slot| slot.cell).collect();
    let all = cells.len();
    meter.count_trials(all, drawn.at(0.0));
    meter.forecast(expected.clone(), cells.clone().into(), drawn.at(0.0));
    meter.activity("preparing".into());
    let line = |done: usize, seconds: f64| {
        let left = words::clock_time(seconds);
        format!("[{done}/{all}, {left} left] preparing")
    };
    let whole = expected.of_trials(cells.clone());
    assert_eq!(drawn.line(0.0), line(1, whole));
    meter.trial_began(cells[0], drawn.at(10.0));
    // Half of the first trial is over.
    let half = expected.trial(cells[0]) / 2.0;
    assert_eq!(drawn.line(10.0 + half), line(1, whole - half));
    meter.trial_over(drawn.at(1010.0));
    expected.ended(cells[0], 1000.0);
    let rest = expected.of_trials(cells[1..].iter().copied());
    assert_eq!(drawn.line(1010.0), line(2, rest));
    meter.trial_added(cells[0]);
    let left = words::clock_time(rest + 1000.0);
    let more = all + 1;
    assert_eq!(
        drawn.line(1010.0),
        format!("[2/{more}, {left} left] preparing")
    );
}

/// Steps of different units without a foreseen whole: each has its own share.
#[test]
fn a_step_does_not_count_what_came_before_it() {
    let drawn = Drawn::new();
    let meter = &drawn.meter;
    let bytes = |name| Step::new(name).counted_in(Unit::Bytes);
    meter.begin(bytes("discarding").of(4 * MIB), drawn.at(0.0));
    meter.advance(4 * MIB);
    assert_eq!(drawn.line(0.0), "discarding: 100 % of 4 MiB");
    meter.begin(Step::new("sequential reads").of(5), drawn.at(1.0));
    assert_eq!(drawn.line(1.0), "sequential reads: 0 %");
    meter.advance(1);
    assert_eq!(drawn.line(4.0), "sequential reads: 20 %, 12 s left");
}

/// Records the share of the line at each report.
struct Looking {
    meter: Meter,
    shares: Mutex<Vec<u32>>,
}

impl Looking {
    fn new() -> Looking {
        Looking {
            meter: Meter::default(),
            shares: Mutex::default(),
        }
    }

    fn look(&self) {
        // One at a time: two threads could record their lines in the wrong order.
        let mut shares = self.shares.lock().unwrap();
        let line = self.meter.line(Instant::now());
        if let Some((before, _)) = line.split_once(" %") {
            let percent = before.rsplit(' ').next().unwrap();
            shares.push(percent.parse().unwrap());
        }
    }

    fn shares(self) -> Vec<u32> {
        self.shares.into_inner().unwrap()
    }
}

impl ::check::Observer for Looking {}

impl Progress for Looking {
    fn begin(&self, step: Step) {
        self.meter.begin(step, Instant::now());
        self.look();
    }

    fn foresee(&self, bytes: u64) {
        self.meter.foresee(bytes, Instant::now());
        self.look();
    }

    fn expect(&self, bytes: u64) {
        self.meter.expect(bytes);
        self.look();
    }

    fn advance(&self, bytes: u64) {
        self.meter.advance(bytes);
        self.look();
    }
}

#[test]
fn the_share_is_that_of_the_whole_check_and_never_falls() {
    let looking = Looking::new();
    looking.foresee(1000);
    for (pass, expected) in [("1", 500), ("1B", 500), ("2", 300), ("2", 200), ("5", 100)] {
        looking.begin(Step::new(pass).counted_in(Unit::Bytes));
        looking.expect(expected);
        looking.advance(expected);
    }
    let shares = looking.shares();
    assert!(shares.is_sorted(), "{shares:?}");
    assert_eq!((shares[0], shares[3], shares.last()), (0, 50, Some(&100)));
}

/// A filesystem of mke2fs with directories of more than a block, checked in small pieces.
#[test]
fn the_share_never_falls_while_a_filesystem_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let (image, files) = (folder.path().join("image"), folder.path().join("files"));
    for (directory, file) in (0..20).flat_map(|dir| (0..100).map(move |file| (dir, file))) {
        let directory = files.join(directory.to_string());
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(
            directory.join(format!("a rather long name {file}")),
            [7; 2000],
        )
        .unwrap();
    }
    let made = std::process::Command::new("mke2fs")
        .args(["-q", "-F", "-t", "ext4", "-b", "1024", "-d"])
        .args([&files, &image])
        .arg("32m")
        .status();
    assert!(made.unwrap().success());
    let damage = |name| {
        let file = std::fs::File::options().read(true).write(true).open(&image);
        let mut medium = forge::damage::ImageFile::new(file.unwrap()).unwrap();
        let mut filesystem = forge::damage::Filesystem::open(&mut medium).unwrap();
        let case = forge::damage::case(name).unwrap();
        case.apply(&mut filesystem).unwrap();
    };
    for case in [None, Some("1d-dup-file")] {
        case.into_iter().for_each(damage);
        let looking = Looking::new();
        let mut options = ::check::Options {
            threads: 2,
            ..Default::default()
        };
        options.sweep.request = 4096;
        let source = ::blockio::open(&image, ::blockio::Mode::Buffered).unwrap();
        let report = ::check::for_source(&*source.source)
            .unwrap()
            .check(&*source.source, &options, &looking)
            .unwrap();
        assert_eq!(report.findings.tallies.is_empty(), case.is_none());
        let shares = looking.shares();
        assert!(shares.is_sorted(), "{shares:?}");
        assert!(shares.len() > 100, "{shares:?}");
        let steps = shares.windows(2).map(|pair| pair[1] - pair[0]);
        let largest = steps.max().unwrap();
        // A share that jumps is as misleading as one that falls.
        assert!(case.is_some() || largest <= 20, "{largest}: {shares:?}");
        assert_eq!(shares.last(), Some(&100), "{shares:?}");
    }
}
