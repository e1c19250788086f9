//! The study `fsck-io` on a real loop device, small: the three laws of 2011 on the numbers that the run recorded, and
//! what its report says of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Scratch, assert_code, assert_fits_a_mail, is_root, run_in, stderr, stdout};
use record::{Run, Status, TrialRecord};

/// Two groups of inodes in 32, and the cache of a quarter holds neither.
const SMALL: &str = "run fsck-io --profile quick --set files=1500 --set device.size=4g --out out";

fn fslab(scratch: &Scratch, words: &str) -> std::process::Output {
    let words: Vec<&str> = words.split_whitespace().collect();
    run_in(scratch.path(), &words)
}

/// The cells that have these levels, each with its only trial.
struct Readings(Run);

impl Readings {
    fn trials(&self, levels: &[(&str, &str)]) -> Vec<&TrialRecord> {
        let run = &self.0;
        let has = |cell: &study::Cell| {
            let has = |(factor, level): &(&str, &str)| {
                cell.levels.get(*factor).is_some_and(|found| found == level)
            };
            levels.iter().all(has)
        };
        let slots = run.plan.slots.iter();
        let slots = slots.filter(|slot| has(&run.plan.cells[slot.cell as usize]));
        slots.map(|slot| &run.trials[slot.trial as usize]).collect()
    }

    /// A sample of the one cell that has these levels.
    fn of(&self, levels: &[(&str, &str)], phase: &str, metric: &str) -> f64 {
        let trials = self.trials(levels);
        assert_eq!(trials.len(), 1, "{levels:?}");
        sample(trials[0], phase, metric)
    }
}

fn sample(trial: &TrialRecord, phase: &str, metric: &str) -> f64 {
    let mut samples = trial.samples.iter();
    let found = samples.find(|s| s.phase == phase && s.metric == metric);
    found.unwrap_or_else(|| panic!("{phase} {metric}")).value
}

fn switches<'a>(cache: &'a str, precache: &'a str, prefill: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("workload", "switches"),
        ("cache", cache),
        ("precache", precache),
        ("prefill", prefill),
    ]
}

#[test]
fn the_three_laws_hold_on_a_loop_device_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let output = fslab(
        &scratch,
        &format!("{SMALL} --blocks 1 --filter limit=none --set run.reference_seconds=0"),
    );
    assert_code(&output, 0);
    assert_fits_a_mail(&stdout(&output));
    let run = Run::load(&scratch.join("out")).unwrap();
    for trial in &run.trials {
        assert_eq!(trial.status, Status::Finished, "{}", stderr(&output));
        for found in &trial.evidence {
            assert_ne!(found.holds, Some(false), "{}: {}", found.name, found.detail);
        }
        for name in ["cold_cache", "direct_io_honoured", "bytes_on_device"] {
            let mut of_scan = trial.evidence.iter().filter(|found| {
                found.name == name && found.phase.as_deref() == Some("scan_pass_1")
            });
            assert!(of_scan.any(|found| found.holds == Some(true)), "{name}");
        }
    }
    let readings = Readings(run);
    precache(&readings);
    prefill(&readings);
    buffer(&readings);
    batch(&readings);
    says_so(&scratch, &stdout(&output));
    scratch.assert_nothing_left();
}

/// With a cache smaller than the tables, passes 0b and 1 read twice as much; with one larger than all metadata, not a
/// byte more.
fn precache(readings: &Readings) {
    for prefill in ["false", "true"] {
        let both = |cache, precache| {
            let levels = switches(cache, precache, prefill);
            readings.of(&levels, "scan_pass_0b", "disk_bytes")
                + readings.of(&levels, "scan_pass_1", "disk_bytes")
        };
        let tables = readings.of(
            &switches("0.25", "false", prefill),
            "scan_pass_1",
            "disk_bytes",
        );
        // 1500 inodes and their 94 directories, of 4 KiB each.
        assert!(tables >= 1594.0 * 4096.0, "{tables}");
        let again = both("0.25", "true") - both("0.25", "false");
        assert!((again / tables - 1.0).abs() < 0.05, "{again} of {tables}");
        assert!((both("4", "true") / both("4", "false") - 1.0).abs() < 0.01);
        let hits = readings.of(
            &switches("4", "true", prefill),
            "scan_pass_1",
            "cache_bytes",
        );
        assert!((hits / tables - 1.0).abs() < 0.01, "{hits} of {tables}");
    }
}

/// Prefill changes no byte of pass 0a: 32 groups have a block bitmap each.
fn prefill(readings: &Readings) {
    for (cache, precache) in [
        ("0.25", "true"),
        ("0.25", "false"),
        ("4", "true"),
        ("4", "false"),
    ] {
        for prefill in ["false", "true"] {
            let levels = switches(cache, precache, prefill);
            let bytes = readings.of(&levels, "scan_pass_0a", "disk_bytes");
            assert_eq!(bytes, 32.0 * 4096.0, "{levels:?}");
        }
    }
}

/// A larger buffer asks for the same bytes in fewer requests.
fn buffer(readings: &Readings) {
    let of = |buffer: &str, metric: &str| {
        let levels = [("workload", "buffers"), ("scan_buffer", buffer)];
        readings.of(&levels, "scan_pass_1", metric)
    };
    let buffers = ["32k", "128k", "1m", "4m"];
    for pair in buffers.windows(2) {
        let bytes = of(pair[1], "disk_bytes") / of(pair[0], "disk_bytes");
        assert!((bytes - 1.0).abs() < 0.01, "{pair:?}: {bytes}");
        let requests = of(pair[1], "requests") / of(pair[0], "requests");
        assert!(requests < 0.8, "{pair:?}: {requests}");
    }
}

/// Directory blocks together are fewer requests, where the cache has room for them.
fn batch(readings: &Readings) {
    let of = |batch: &str, metric: &str| {
        let levels = [("workload", "batches"), ("batch", batch)];
        readings.of(&levels, "scan_pass_2", metric)
    };
    assert!(of("64", "requests") < of("1", "requests") / 2.0);
    assert_eq!(of("64", "disk_bytes"), of("1", "disk_bytes"));
}

/// The report comes to the same answer, in a mail and as JSON.
fn says_so(scratch: &Scratch, mail: &str) {
    let words = mail.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "Pass 0a: Checking cluster allocation chains",
        "I/O read disk/cache:",
        "Prefill does not change the bytes from disk of pass 0a: holds in 4 of 4 pairs.",
        "Beside Mushran 2011",
    ] {
        assert!(words.contains(text), "{text}: {mail}");
    }
    assert!(!mail.contains("FAILS"), "{mail}");
    let output = fslab(scratch, "report out --format json");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let laws = report["scan"]["laws"].as_array().unwrap();
    assert_eq!(laws.len(), 4);
    for law in laws {
        let cases = law["cases"].as_array().unwrap();
        assert!(cases.len() >= 2, "{law}");
        assert!(cases.iter().all(|case| case["holds"] == true), "{law}");
    }
    let theirs = &report["scan"]["groups"][0]["sets"][0]["passes"][1]["published"];
    assert_eq!(theirs["2011-09-16"]["disk_mb"], 6471.0);
}

/// On a disk of so many reads a second, the set that asks less often is done sooner by as much.
#[test]
fn a_limited_disk_shows_what_a_larger_buffer_is_worth_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let output = fslab(
        &scratch,
        &format!(
            "{SMALL} --blocks 1 --set limit=read=50m,read_iops=200 --set run.reference_seconds=0 \
             --filter workload=set-2,set-3"
        ),
    );
    assert_code(&output, 0);
    let readings = Readings(Run::load(&scratch.join("out")).unwrap());
    let of = |set: &str, metric: &str| readings.of(&[("workload", set)], "scan_pass_1", metric);
    // 200 requests of 32 KiB or more are 6.25 MiB and a second.
    assert!(of("set-2", "requests") >= 190.0);
    assert!(
        of("set-2", "seconds") > 2.0 * of("set-3", "seconds"),
        "{}",
        stdout(&output)
    );
    scratch.assert_nothing_left();
}

#[test]
fn a_directory_has_no_metadata_to_read() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("target")).unwrap();
    let output = fslab(&scratch, &format!("{SMALL} --dir target"));
    assert_code(&output, 2);
    let said = stderr(&output);
    assert!(said.contains("reads the filesystem's own device"), "{said}");
    assert!(!scratch.join("out").exists());
}
