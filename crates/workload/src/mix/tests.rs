use std::io;
use std::path::Path;
use std::sync::Mutex;

use params::Bytes;
use params::engine::Kind;
use serde_json::Value;

use super::*;
use crate::{Evidence, PhaseReport, Progress, Silent};

const BLOCKS: u64 = 512;

fn spec(dir: &Path) -> MixSpec {
    MixSpec {
        size: Bytes(BLOCKS * 4096),
        ..MixSpec::new(dir)
    }
}

fn figure(phase: &PhaseReport, name: &str) -> f64 {
    *phase
        .figures
        .get(name)
        .unwrap_or_else(|| panic!("{name}: {:?}", phase.figures))
}

fn evidence<'a>(phase: &'a PhaseReport, name: &str) -> &'a Evidence {
    let found = phase.evidence.iter().find(|evidence| evidence.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", phase.evidence))
}

fn files_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn every_pattern_on_every_engine_moves_each_byte_once_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    for rw in Rw::ALL {
        for (engine, queue_depth) in [(Kind::Sync, 1), (Kind::IoUring, 16), (Kind::Aio, 4)] {
            let spec = MixSpec {
                rw,
                engine,
                queue_depth,
                threads: 2,
                fsync: 100,
                ..spec(dir.path())
            };
            let outcome = spec
                .run(&Silent)
                .unwrap_or_else(|e| panic!("{rw:?} {engine:?}: {e}"));
            let [phase] = outcome.phases.as_slice() else {
                panic!("{outcome:?}");
            };
            assert_eq!(phase.operations, 2 * BLOCKS, "{rw:?} {engine:?}");
            assert_eq!(phase.bytes, 2 * BLOCKS * 4096);
            assert_eq!(phase.bytes_transferred, phase.bytes);
            let rates = phase.figures.get("read_rate").unwrap_or(&0.0)
                + phase.figures.get("write_rate").unwrap_or(&0.0);
            let all = phase.bytes_per_s.original.unwrap();
            assert!((rates / all - 1.0).abs() < 1e-9, "{rates} {all}");
            let iops = figure(phase, "iops") * 4096.0;
            assert!((iops / all - 1.0).abs() < 1e-9);
            assert_eq!(phase.figures.contains_key("read_iops"), rw.reads());
            assert_eq!(phase.figures.contains_key("fsync_p99"), rw.writes());
            assert!(figure(phase, "cpu_per_request") > 0.0);
            let clocks = phase.clock_seconds;
            assert!(clocks.original <= clocks.fsync && clocks.fsync <= clocks.syncfs);
            assert!(
                phase.evidence.iter().all(|e| e.holds != Some(false)),
                "{phase:?}"
            );
            assert!(files_in(dir.path()).is_empty());
        }
    }
}

#[test]
fn the_null_engine_makes_no_file_and_moves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let spec = MixSpec {
        engine: Kind::Null,
        ..spec(dir.path())
    };
    let outcome = spec.run(&Silent).unwrap();
    let phase = &outcome.phases[0];
    assert_eq!((phase.operations, phase.bytes_transferred), (BLOCKS, 0));
    assert!(outcome.warnings.iter().any(|w| w.contains("moves no data")));
}

#[test]
fn a_rate_limit_and_a_runtime_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    for (engine, queue_depth) in [(Kind::Sync, 1), (Kind::IoUring, 4)] {
        let spec = MixSpec {
            engine,
            queue_depth,
            rate_read: Bytes(4096 * 400),
            rate_write: Bytes(4096 * 100),
            time_based: true,
            runtime: 0.5,
            ..spec(dir.path())
        };
        let outcome = spec.run(&Silent).unwrap();
        let phase = &outcome.phases[0];
        assert!(phase.seconds >= 0.4, "{}", phase.seconds);
        // No more than the rate; on a busy machine it can be less.
        let reads = figure(phase, "read_iops") * phase.seconds;
        let writes = figure(phase, "write_iops") * phase.seconds;
        let most = 400.0 * (phase.seconds + 0.05) + 5.0;
        assert!((10.0..most).contains(&reads), "{reads} {most}");
        assert!((3.0..most / 4.0 + 5.0).contains(&writes), "{writes}");
        for name in ["read_rate_limited", "write_rate_limited"] {
            assert_eq!(evidence(phase, name).holds, Some(true));
        }
    }
}

#[test]
fn a_file_of_someone_else_is_read_but_never_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("precious");
    std::fs::write(&path, vec![7; 512 * 4096]).unwrap();
    let before = std::fs::read(&path).unwrap();
    let named = |rw| MixSpec {
        rw,
        file: Some("precious".into()),
        ..spec(dir.path())
    };
    let error = named(Rw::RandRw).run(&Silent).unwrap_err().to_string();
    assert!(error.contains("would be overwritten"), "{error}");
    assert!(!error.contains('\n'));
    let read = named(Rw::Read).run(&Silent).unwrap();
    assert_eq!(read.phases[0].operations, BLOCKS);
    assert!(
        evidence(&read.phases[0], "file_state")
            .detail
            .contains("1 used as found")
    );
    let long = MixSpec {
        size: Bytes(1 << 30),
        ..named(Rw::Read)
    };
    for reuse in [false, true] {
        let long = MixSpec {
            reuse,
            ..long.clone()
        };
        let error = long.run(&Silent).unwrap_err().to_string();
        assert!(error.contains("too short"), "{error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // Asked for, it is written; it stays, since the run did not make it.
    let reuse = MixSpec {
        reuse: true,
        ..named(Rw::Write)
    };
    reuse.run(&Silent).unwrap();
    assert_ne!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn leftovers_are_replaced_and_files_are_kept_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mix.0.0"), "short").unwrap();
    let kept = MixSpec {
        keep: true,
        ..spec(dir.path())
    };
    let outcome = kept.run(&Silent).unwrap();
    assert!(
        evidence(&outcome.phases[0], "file_state")
            .detail
            .contains("1 leftovers removed")
    );
    assert_eq!(files_in(dir.path()), ["mix.0.0"]);
    let size = std::fs::metadata(dir.path().join("mix.0.0")).unwrap().len();
    assert_eq!(size, BLOCKS * 4096);
    std::fs::remove_file(dir.path().join("mix.0.0")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("mix.0.0")).unwrap();
    let error = kept.run(&Silent).unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
}

fn job(name: &str, spec: MixSpec) -> Job {
    Job {
        name: name.into(),
        options: vec![("rw".into(), spec.rw.name().into())],
        group_reporting: false,
        spec: MixSpec {
            name: name.into(),
            ..spec
        },
    }
}

fn groups(dir: &Path) -> Jobs {
    let writer = MixSpec {
        rw: Rw::Write,
        threads: 2,
        file: None,
        ..spec(dir)
    };
    let shared = |rw| MixSpec {
        rw,
        file: Some("shared".into()),
        ..spec(dir)
    };
    Jobs {
        groups: vec![
            vec![job("one", shared(Rw::RandWrite)), job("two", writer)],
            vec![job("one", shared(Rw::Read))],
        ],
        global: vec![("size".into(), "2m".into())],
        notes: vec!["a note".into()],
    }
}

#[test]
fn groups_run_one_after_another_on_each_others_files() {
    let dir = tempfile::tempdir().unwrap();
    let outcome = groups(dir.path()).run(&Silent).unwrap();
    let names: Vec<&str> = outcome.phases.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "one-2"]);
    assert!(
        evidence(&outcome.phases[2], "file_state")
            .detail
            .contains("1 used as found")
    );
    assert!(outcome.warnings.contains(&"a note".to_owned()));
    assert!(files_in(dir.path()).is_empty());
}

/// Cancels when the first phase has begun.
#[derive(Default)]
struct Cancelling(Mutex<bool>);

impl Progress for Cancelling {
    fn inner(&self) -> &dyn Progress {
        &Silent
    }

    fn cancelled(&self) -> bool {
        *self.0.lock().unwrap()
    }
}

impl Observer for Cancelling {
    fn phase_started(&self, _name: &str) {
        *self.0.lock().unwrap() = true;
    }

    fn drop_caches(&self, _files: &[&Path]) -> io::Result<Evidence> {
        panic!("nothing is dropped");
    }
}

#[test]
fn a_run_that_is_cancelled_ends_soon_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    for engine in [Kind::Sync, Kind::IoUring] {
        let endless = MixSpec {
            engine,
            time_based: true,
            runtime: 600.0,
            rate_read: Bytes(4096),
            rate_write: Bytes(4096),
            ..spec(dir.path())
        };
        let begun = std::time::Instant::now();
        let error = endless.run(&Cancelling::default()).unwrap_err();
        assert!(matches!(error, Error::Interrupted { .. }), "{error}");
        assert!(begun.elapsed() < testkit::HANGS);
        assert!(files_in(dir.path()).is_empty());
    }
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&fio_json(outcome, "1.2.3")).unwrap()
}

#[test]
fn fios_json_has_an_entry_for_each_thread_or_group_and_agrees_with_itself() {
    let dir = tempfile::tempdir().unwrap();
    let mut jobs = groups(dir.path());
    let document = json(&jobs.run(&Silent).unwrap());
    assert_eq!(document["fio version"], "fslab-1.2.3");
    assert_eq!(document["global options"]["size"], "2m");
    let named = |document: &Value| -> Vec<(String, u64)> {
        let all = document["jobs"].as_array().unwrap().iter();
        all.map(|job| {
            let name = job["jobname"].as_str().unwrap().to_owned();
            (name, job["groupid"].as_u64().unwrap())
        })
        .collect()
    };
    let name = |name: &str, group| (name.to_owned(), group);
    let each = [
        name("one", 0),
        name("two", 0),
        name("two", 0),
        name("one", 1),
    ];
    assert_eq!(named(&document), each);
    for group in &mut jobs.groups {
        for job in group {
            job.group_reporting = true;
        }
    }
    let document = json(&jobs.run(&Silent).unwrap());
    assert_eq!(named(&document), [name("one", 0), name("one", 1)]);
    let first = &document["jobs"][0];
    let write = &first["write"];
    assert_eq!(write["total_ios"], 3 * BLOCKS);
    assert_eq!(write["io_bytes"], 3 * BLOCKS * 4096);
    let (bytes, runtime) = (3 * BLOCKS * 4096, write["runtime"].as_u64().unwrap());
    assert_eq!(write["bw_bytes"], bytes * 1000 / runtime);
    assert_eq!(first["job options"]["rw"], "randwrite");
    let latency = &write["clat_ns"];
    let at = |key: &str| latency[key].as_f64().unwrap();
    assert!(at("min") <= at("mean") && at("mean") <= at("max"));
    assert_eq!(at("N"), 3.0 * BLOCKS as f64);
    let percentiles: Vec<u64> = (latency["percentile"].as_object().unwrap().values())
        .map(|value| value.as_u64().unwrap())
        .collect();
    assert_eq!(percentiles.len(), 17);
    for shares in ["iodepth_level", "iodepth_submit", "iodepth_complete"] {
        let sum: f64 = first[shares]
            .as_object()
            .unwrap()
            .values()
            .map(|v| v.as_f64().unwrap())
            .sum();
        assert!((sum - 100.0).abs() < 1e-3, "{shares}: {sum}");
    }
    let spread: f64 = ["latency_ns", "latency_us", "latency_ms"]
        .iter()
        .flat_map(|key| first[*key].as_object().unwrap().values())
        .map(|value| value.as_f64().unwrap())
        .sum();
    assert!((spread - 100.0).abs() < 1e-3, "{spread}");
    assert_eq!(document["jobs"][0]["read"]["total_ios"], 0);
    assert!(
        document["jobs"][0]["read"]["clat_ns"]
            .get("percentile")
            .is_none()
    );
}

#[test]
fn bad_parameters_and_places_are_refused_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |change: &dyn Fn(&mut MixSpec)| {
        let mut spec = spec(dir.path());
        change(&mut spec);
        let error = spec.run(&Silent).unwrap_err().to_string();
        assert!(files_in(dir.path()).is_empty());
        error
    };
    assert!(refused(&|o| o.dir = "/nowhere".into()).contains("/nowhere"));
    assert!(refused(&|o| o.threads = 0).starts_with("threads = 0"));
    assert!(refused(&|o| o.dir = "/etc/passwd".into()).contains("not a directory"));
}
