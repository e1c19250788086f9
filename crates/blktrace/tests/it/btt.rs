//! Our tables against btt's, line by line, on forged traces.

use crate::common;

use std::fs;
use std::path::Path;

use common::{present, run_in, stacked};

use blktrace::btt::{self, FileOptions, Interval};
use blktrace::{Trace, analysis::Kind, merged};
use fixtures::block_trace::Forge;

fn run(folder: &Path, options: &btt::Options, files: Option<&FileOptions>) -> btt::Outcome {
    let mut trace = Trace::open(&folder.join("sda")).unwrap();
    btt::run(&mut trace, options, files).unwrap()
}

/// btt on our merged file, in `folder`.
fn theirs(folder: &Path, arguments: &[&str]) -> String {
    let mut trace = Trace::open(&folder.join("sda")).unwrap();
    let mut file = fs::File::create(folder.join("merged")).unwrap();
    merged::write(&mut trace, &mut file).unwrap();
    let arguments = [&["-i", "merged"], arguments].concat();
    String::from_utf8(run_in(folder, "btt", &arguments)).unwrap()
}

fn same(ours: &str, theirs: &str, what: &str) {
    for (number, (a, b)) in ours.lines().zip(theirs.lines()).enumerate() {
        if a != b {
            // Only the choice among equally frequent distances may differ.
            assert_eq!(
                without_mode(a),
                without_mode(b),
                "{what}: line {number}: {a}, {b}"
            );
        }
    }
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{what}");
}

/// A row of seeks without the distances that are equally frequent: those of `| 16(10) 24`. Other lines
/// as they are.
fn without_mode(line: &str) -> String {
    let parts: Vec<&str> = line.split(" | ").collect();
    match parts[..] {
        [device, seeks, modes] if modes.contains('(') => {
            let count = modes.split(['(', ')']).nth(1).unwrap_or_default();
            format!("{device} | {seeks} | {count}")
        }
        _ => line.to_owned(),
    }
}

/// Lines and their words in order: of the bios of one request btt writes those first that lie high in
/// its tree, and ours those that lie first on the disk.
fn unordered(text: &str) -> String {
    let words = |line: &str| {
        let mut words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        words.sort_unstable();
        words.join(" ")
    };
    let mut lines: Vec<String> = text.lines().map(words).collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Pairs of numbers that are equal to 10 %, and as many.
fn close(ours: &str, theirs: &str, what: &str) {
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{what}");
    for (a, b) in ours.lines().zip(theirs.lines()) {
        for (a, b) in a.split(' ').zip(b.split(' ')) {
            let (a, b): (f64, f64) = (a.parse().unwrap(), b.parse().unwrap());
            assert!((a - b).abs() <= 0.1 * b.max(0.0005), "{what}: {a}, {b}");
        }
    }
}

#[test]
fn every_table_is_btts_needs_btt() {
    if !present("btt") {
        return;
    }
    for seed in 0..16 {
        for forge in [Forge::plain(seed, 1500), stacked(seed)] {
            let folder = tempfile::tempdir().unwrap();
            forge.write(folder.path(), "sda").unwrap();
            let outcome = run(folder.path(), &btt::Options::btt(), None);
            let what = format!("seed {seed}, {} devices", forge.devices.len());
            let ours = outcome.tables(true) + &outcome.ranges();
            same(&ours, &theirs(folder.path(), &["--all-data"]), &what);
            let ours = outcome.tables(false) + &outcome.ranges();
            same(&ours, &theirs(folder.path(), &[]), &what);
        }
    }
}

#[test]
fn every_file_is_btts_needs_btt() {
    if !present("btt") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    stacked(7).write(folder.path(), "sda").unwrap();
    let prefix = |text: &str| Some(text.to_owned());
    let files = FileOptions {
        folder: folder.path().join("ours"),
        per_io: prefix("steps"),
        per_request: true,
        q2d: prefix("z"),
        d2c: prefix("l"),
        q2c: prefix("q"),
        blocks: prefix("b"),
        depth: prefix("a"),
        unplugs: prefix("u"),
        seeks: prefix("s"),
        seeks_per_second: prefix("m"),
        periodic: Some(0.001),
        rates: true,
        live: true,
        ..FileOptions::default()
    };
    run(folder.path(), &btt::Options::btt(), Some(&files));
    fs::create_dir(folder.path().join("theirs")).unwrap();
    let inner = folder.path().join("theirs");
    for cpu in 0..3 {
        let name = format!("sda.blktrace.{cpu}");
        fs::copy(folder.path().join(&name), inner.join(&name)).unwrap();
    }
    let arguments = "-p steps -P x -z z -l l -q q -B b -Q a -u u -s s -m m -L 0.001 -Z";
    theirs(&inner, &arguments.split(' ').collect::<Vec<_>>());
    let mut compared = 0;
    for entry in fs::read_dir(&inner).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name == "merged" || name.starts_with("sda.") {
            continue;
        }
        let ours = fs::read_to_string(files.folder.join(&name)).unwrap_or_default();
        let theirs = fs::read_to_string(inner.join(&name)).unwrap();
        // An issue that was not seen.
        let theirs = theirs.replace("1266874889.709551615", "-");
        if name.ends_with("q2c_plat.dat") {
            // Its periods end with the last bio of a request, whichever that is.
            close(&ours, &theirs, &name);
        } else {
            same(&unordered(&ours), &unordered(&theirs), &name);
        }
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}

/// The options that say what counts, and what has rows.
#[test]
fn every_choice_is_btts_needs_btt() {
    if !present("btt") {
        return;
    }
    let devices = btt::Options {
        devices: vec![(8 << 20) | 16, 8 << 20],
        ..btt::Options::btt()
    };
    let processes = btt::Options {
        processes: vec!["fio".into(), "dd".into(), "nobody".into()],
        ..btt::Options::btt()
    };
    let window = btt::Options {
        from_seconds: Some(0.002),
        to_seconds: Some(0.006),
        ..btt::Options::btt()
    };
    let remaps = btt::Options {
        ignore_remaps: true,
        ..btt::Options::btt()
    };
    let absolute = btt::Options {
        absolute_seeks: true,
        ..btt::Options::btt()
    };
    let cases: [(_, &[&str]); 5] = [
        (devices, &["-D", "8,16;8,0"]),
        (processes, &["-e", "fio,dd,nobody"]),
        (window, &["-t", "0.002", "-T", "0.006"]),
        (remaps, &["-r"]),
        (absolute, &["-a"]),
    ];
    for seed in 20..24 {
        let folder = tempfile::tempdir().unwrap();
        stacked(seed).write(folder.path(), "sda").unwrap();
        for (options, arguments) in &cases {
            let outcome = run(folder.path(), options, None);
            let ours = outcome.tables(true) + &outcome.ranges();
            let theirs = theirs(folder.path(), &[&["-A"], *arguments].concat());
            same(&ours, &theirs, &format!("seed {seed}, {arguments:?}"));
        }
    }
}

/// What -o and -X write: words for programs, histograms of sizes, ranges, messages.
#[test]
fn the_files_of_an_output_name_are_btts_needs_btt() {
    if !present("btt") {
        return;
    }
    for seed in 30..38 {
        for forge in [stacked(seed), Forge::plain(seed, 900)] {
            let folder = tempfile::tempdir().unwrap();
            forge.write(folder.path(), "sda").unwrap();
            let files = FileOptions {
                folder: folder.path().join("ours"),
                histograms: Some("out".into()),
                ..FileOptions::default()
            };
            let outcome = run(folder.path(), &btt::Options::btt(), Some(&files));
            assert_eq!(theirs(folder.path(), &["-o", "out", "-X"]), "");
            let theirs = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
            let what = format!("seed {seed}");
            same(&outcome.tables(false), &theirs("out.avg"), &what);
            same(&outcome.ranges(), &theirs("out.dat"), &what);
            let easy = |text: &str| text.lines().map(without_distances).collect::<Vec<_>>();
            assert_eq!(easy(&outcome.easy()), easy(&theirs("out.xvg")), "{what}");
            for name in ["out_qhist.dat", "out_dhist.dat"] {
                let ours = fs::read_to_string(files.folder.join(name)).unwrap();
                assert!(ours == theirs(name), "{what}: {name}");
            }
        }
    }
}

/// A line of seeks up to the median, and how often the most frequent distance is there. Which of the
/// equally frequent ones comes first, and how many are listed, is btt's tree's affair.
fn without_distances(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["QSK" | "DSK", device, count, mean, median, _, often, ..] => {
            format!("{device} {count} {mean} {median} {often}")
        }
        _ => line.to_owned(),
    }
}

/// A row of iostat's: the device and the figures.
fn iostat_rows(text: &str) -> Vec<(String, Vec<f64>)> {
    let rows = text.lines().filter(|line| line.starts_with('('));
    rows.map(|line| {
        let (device, figures) = line.split_at(11);
        let figures = figures.split_whitespace();
        (
            device.to_owned(),
            figures.map(|word| word.parse().unwrap_or(-1.0)).collect(),
        )
    })
    .collect()
}

/// btt -I. Column 9 (avgqu-sz) sinks in btt with each bio of a request, column 12 (%util) forgets
/// a request that is in flight when an interval ends; both only agree where nothing merges and
/// nothing is in flight then. The rows TOTAL of several devices hold other columns than their
/// heads say in btt, and zeros in an interval. All other figures agree.
#[test]
fn iostats_columns_are_btts_needs_btt() {
    if !present("btt") {
        return;
    }
    for (seed, merges) in [(40, true), (41, true), (42, false), (43, false)] {
        let folder = tempfile::tempdir().unwrap();
        let forge = Forge {
            merges,
            pause: 3_000_000,
            ..stacked(seed)
        };
        forge.write(folder.path(), "sda").unwrap();
        let files = FileOptions {
            folder: folder.path().join("ours"),
            iostat: Some("iostat".into()),
            ..FileOptions::default()
        };
        run(folder.path(), &btt::Options::btt(), Some(&files));
        theirs(folder.path(), &["-I", "iostat"]);
        let read = |path: &Path| iostat_rows(&fs::read_to_string(path).unwrap());
        let ours = read(&files.folder.join("iostat"));
        let theirs = read(&folder.path().join("iostat"));
        assert!(
            ours.len() > 9 && ours.len() == theirs.len(),
            "{}",
            ours.len()
        );
        for ((device, ours), (other, theirs)) in ours.iter().zip(&theirs) {
            assert_eq!((device, ours.len()), (other, theirs.len()));
            for (column, (a, b)) in ours.iter().zip(theirs).enumerate() {
                let differs = column == 9 && merges || column == 12;
                assert!(
                    differs || (a - b).abs() < 0.011,
                    "seed {seed}: {device}, column {column}: {a}, {b}"
                );
            }
            assert!(ours[9] >= 0.0 && (0.0..=100.0).contains(&ours[12]));
        }
    }
}

#[test]
fn an_analysis_survives_json_and_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    Forge::hostile(5, 2000).write(folder.path(), "sda").unwrap();
    let analysis = run(folder.path(), &btt::Options::default(), None).analysis();
    let text = serde_json::to_string(&analysis).unwrap();
    let back: blktrace::Analysis = serde_json::from_str(&text).unwrap();
    assert_eq!(back.directions, analysis.directions);
    assert_eq!(back.processes, analysis.processes);
    let bios: u64 = analysis.directions.iter().map(|d| d.bios).sum();
    let by_process: u64 = analysis
        .processes
        .iter()
        .map(blktrace::analysis::ProcessSummary::bios)
        .sum();
    let by_kind = analysis.kinds.iter().flat_map(|kind| kind.directions);
    let by_size: u64 = analysis.bio_sizes.iter().map(|size| size.count).sum();
    assert_eq!(bios, by_process);
    assert_eq!(bios, by_kind.map(|traffic| traffic.bios).sum::<u64>());
    assert_eq!(bios, by_size);
    assert!(analysis.losses.missing > 0 && analysis.losses.strays > 0);
    let journal = analysis.kinds.iter().find(|k| k.kind == Kind::Journal);
    assert!(journal.unwrap().directions[1].bios > 0);
    let all = |interval| {
        let found = analysis.intervals.iter();
        *found
            .filter(|summary| summary.direction.is_none())
            .find(|summary| summary.interval == interval)
            .unwrap()
    };
    let d2c = all(Interval::D2C);
    assert!(d2c.p50 <= d2c.p90 && d2c.p90 <= d2c.p99 && d2c.p99 <= d2c.p999);
    let heat: u64 = analysis.timeline.heat.iter().map(|cell| cell.count).sum();
    assert_eq!(heat, d2c.average.n);
    assert!(analysis.depth.mean <= analysis.depth.mean_busy);
    assert!(analysis.depth.mean_busy <= f64::from(analysis.depth.max));
}
